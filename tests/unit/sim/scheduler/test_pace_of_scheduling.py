"""How long one pod takes at 2,500 nodes with 10,000 pods on them; printed, and bounded by processor time."""

import time
from collections.abc import Callable
from random import Random

import pytest

from cockpit.sim.actors.scheduler.cycle import Cycle
from cockpit.sim.actors.scheduler.podinfo import PodInfo
from cockpit.sim.actors.scheduler.world import World
from cockpit.sim.port import Tree
from tests.differential.scheduling_situations import ZONE, near, node, pod, spread

NODES = 2500
WANTED_MILLISECONDS = 5.0


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
def test_a_pod_of_a_burst_takes_less_than_wanted(world: World, burst: str) -> None:
    cycle = Cycle(world, Random(1))
    trees = [BURSTS[burst]() for _ in range(300)]
    begun = time.process_time()
    placed: list[str] = []
    for number, tree in enumerate(trees):
        asked = _named(tree, f"{burst}-{number}")
        if node_name := cycle.decide(asked).node:
            world.put_pod(asked.on(node_name))
            placed.append(asked.uid)
    milliseconds = (time.process_time() - begun) * 1000 / len(trees)
    for uid in placed:
        world.drop_pod(uid)
    print(f"{burst}: {milliseconds:.2f} ms for each of {len(trees)} pods at {NODES} nodes")
    assert len(placed) == (0 if burst == "fits nowhere" else len(trees))
    assert milliseconds < WANTED_MILLISECONDS
