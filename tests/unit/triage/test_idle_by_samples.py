"""Idle told from what exporters and kubelets sample: kernels between two samples show in the pod's counters.

Not all do: of 100 servers with few requests one (seed 59) is called idle for a while, as all its kernels fell
between samples; not where the engine's mean or the counter of energy is collected.
"""

import random
from collections.abc import Callable

import pytest

from cockpit.triage.idle_jobs import IDLE_FOR_SECONDS
from cockpit.triage.idleness import IdleStanding, judge
from tests.unit.triage.sampled_traces import Sampled, by_the_clock, cells, left, requests, short_requests

TRACES = 12
LOOK_SECONDS = 600


def _called(one: Sampled) -> list[int]:
    """The seconds at which it was called idle."""
    looks = range(3_900, len(one.seconds), LOOK_SECONDS)
    judged = ((at, judge(one.trace(at), IDLE_FOR_SECONDS).standing) for at in looks)
    return [at for at, standing in judged if standing is IdleStanding.IDLE]


@pytest.mark.parametrize("draw", [cells, requests])
def test_who_comes_back_every_few_minutes_is_never_idle(draw: Callable[[random.Random], Sampled]) -> None:
    for seed in range(TRACES):
        assert _called(draw(random.Random(f"{draw.__name__}/{seed}"))) == [], seed


def _traces_called(draw: Callable[[random.Random], Sampled], *collects: str) -> int:
    drawn = (draw(random.Random(f"{draw.__name__}/{seed}")) for seed in range(TRACES))
    return sum(bool(_called(one._replace(collects=frozenset(collects)))) for one in drawn)


def test_kernels_that_no_sample_saw_are_seen_by_the_engine() -> None:
    assert _traces_called(by_the_clock) == TRACES
    assert _traces_called(by_the_clock, "engine") == 0
    assert _traces_called(short_requests) >= 0.9 * TRACES
    assert _traces_called(short_requests, "engine") == 0


def test_without_the_engine_energy_sees_kernels_that_stand_out_in_their_minute() -> None:
    """A second at half power does not: less than a twelfth of what the card draws at rest in a minute."""
    assert _traces_called(by_the_clock, "energy") == 0
    assert _traces_called(short_requests, "energy") <= TRACES / 6


@pytest.mark.parametrize("collects", [(), ("engine", "energy")])
def test_what_is_left_behind_is_found_and_not_before(collects: tuple[str, ...]) -> None:
    found = 0
    for seed in range(TRACES):
        one = left(random.Random(f"left/{seed}"))._replace(collects=frozenset(collects))
        called = _called(one)
        assert one.idle_from is not None
        assert all(at >= one.idle_from + IDLE_FOR_SECONDS - LOOK_SECONDS for at in called), seed
        found += bool(called)
    assert found >= 0.95 * TRACES
