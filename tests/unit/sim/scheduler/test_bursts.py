"""Bursts of like pods on a filled cluster: each is placed, or none (what one costs: tests/bench/rooms.py)."""

from collections.abc import Callable
from random import Random

import pytest

from cockpit.sim.actors.scheduler.cycle import Cycle
from cockpit.sim.actors.scheduler.podinfo import PodInfo
from cockpit.sim.actors.scheduler.world import World
from cockpit.sim.port import Tree
from tests.differential.scheduling_situations import ZONE, near, node, pod, spread

NODES = 400


@pytest.fixture(scope="module")
def world() -> World:
    one = World()
    for number in range(NODES):
        labels = {ZONE: "abc"[number % 3]}
        one.put_node(node(f"n{number:04}", cpu="96", memory="768Gi", gpus=8, labels=labels))
    for number in range(4 * NODES):
        one.put_pod(_named(pod(cpu="8", gpus=1, on=f"n{number % NODES:04}"), f"filler-{number}"))
    return one


def _named(tree: Tree, name: str) -> PodInfo:
    metadata = {**tree["metadata"], "name": name, "uid": name}
    return PodInfo({**tree, "metadata": metadata})


BURSTS: dict[str, Callable[[], Tree]] = {
    "plain": lambda: pod(cpu="8", gpus=1),
    "fits nowhere": lambda: pod(cpu="8", gpus=8),
    "spread over zones": lambda: pod(labels={"app": "s"}, topologySpreadConstraints=spread("s")),
    "away from its like": lambda: pod(labels={"app": "w"}, affinity=near("w", away=True)),
    "near its like": lambda: pod(labels={"app": "z"}, affinity=near("z", ZONE)),
}


@pytest.mark.parametrize("burst", BURSTS)
def test_every_pod_of_a_burst_is_placed_or_none(world: World, burst: str) -> None:
    cycle = Cycle(world, Random(1))
    trees = [BURSTS[burst]() for _ in range(300)]
    placed: list[str] = []
    for number, tree in enumerate(trees):
        asked = _named(tree, f"{burst}-{number}")
        if node_name := cycle.decide(asked).node:
            world.put_pod(asked.on(node_name))
            placed.append(asked.uid)
    for uid in placed:
        world.drop_pod(uid)
    assert len(placed) == (0 if burst == "fits nowhere" else len(trees))
