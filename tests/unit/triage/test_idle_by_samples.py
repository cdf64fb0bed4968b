"""Idle told from what exporters and kubelets sample: kernels between two samples show in the pod's counters.

Not all do: of 100 servers with few requests one (seed 59) is called idle for a while, as all its kernels fell
between samples.
"""

import random
from collections.abc import Callable

import pytest

from cockpit.triage.idle_jobs import IDLE_FOR_SECONDS
from cockpit.triage.idleness import IdleStanding, judge
from tests.unit.triage.sampled_traces import Sampled, cells, left, requests

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


def test_what_is_left_behind_is_found_and_not_before() -> None:
    found = 0
    for seed in range(TRACES):
        one = left(random.Random(f"left/{seed}"))
        called = _called(one)
        assert one.idle_from is not None
        assert all(at >= one.idle_from + IDLE_FOR_SECONDS - LOOK_SECONDS for at in called), seed
        found += bool(called)
    assert found >= 0.95 * TRACES
