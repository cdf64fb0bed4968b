"""Bursts of like pods on a filled cluster: each is placed, or none (what one costs: tests/bench/rooms.py)."""

from random import Random

import pytest

from cockpit.sim.actors.scheduler.cache import SchedulerCache
from cockpit.sim.actors.scheduler.cycle import Cycle
from tests.unit.sim.scheduler.bursts import BURSTS, FITS_NOWHERE, filled, named


@pytest.fixture(scope="module")
def cache() -> SchedulerCache:
    return filled(400)


@pytest.mark.parametrize("burst", BURSTS)
def test_every_pod_of_a_burst_is_placed_or_none(cache: SchedulerCache, burst: str) -> None:
    cycle = Cycle(cache, Random(1))
    placed: list[str] = []
    for number in range(300):
        asked = named(BURSTS[burst](), f"{burst}-{number}")
        if node_name := cycle.decide(asked).node:
            cache.put_pod(asked.on(node_name))
            placed.append(asked.uid)
    for uid in placed:
        cache.drop_pod(uid)
    assert len(placed) == (0 if burst == FITS_NOWHERE else 300)
