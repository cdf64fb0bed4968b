"""Bursts of like pods on a filled cluster: each is placed, or none (what one costs: tests/bench/rooms.py)."""

from random import Random

import pytest

from cockpit.sim.actors.scheduler.cycle import Cycle
from cockpit.sim.actors.scheduler.world import World
from tests.unit.sim.scheduler.bursts import BURSTS, FITS_NOWHERE, filled, named


@pytest.fixture(scope="module")
def world() -> World:
    return filled(400)


@pytest.mark.parametrize("burst", BURSTS)
def test_every_pod_of_a_burst_is_placed_or_none(world: World, burst: str) -> None:
    cycle = Cycle(world, Random(1))
    placed: list[str] = []
    for number in range(300):
        asked = named(BURSTS[burst](), f"{burst}-{number}")
        if node_name := cycle.decide(asked).node:
            world.put_pod(asked.on(node_name))
            placed.append(asked.uid)
    for uid in placed:
        world.drop_pod(uid)
    assert len(placed) == (0 if burst == FITS_NOWHERE else 300)
