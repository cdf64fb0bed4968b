"""A failing stream never asks more often than promised."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.clock import ManualClock
from cockpit.kube.backoff import BURST, LONGEST_SECONDS, PER_SECOND, Backoff


@settings(deadline=None, max_examples=200)
@given(st.lists(st.floats(0, 20), max_size=200), st.integers(0, 99))
def test_never_above_the_promised_rate(pauses: list[float], seed: int) -> None:
    clock = ManualClock()
    pace = Backoff(clock, random.Random(seed))
    sent: list[float] = []
    for pause in pauses:
        clock.advance(pause)
        clock.advance(pace.admit())
        sent.append(clock.monotonic())
    for first in range(len(sent)):
        for last in range(first, len(sent)):
            assert last - first + 1 <= BURST + PER_SECOND * (sent[last] - sent[first]) + 1 + 1e-6


def test_back_off_doubles_to_thirty_seconds_with_jitter() -> None:
    pace = Backoff(ManualClock(), random.Random(1))
    waits = [pace.back_off() for _ in range(10)]
    for number, wait in enumerate(waits):
        step = min(0.8 * 2**number, LONGEST_SECONDS)
        assert step <= wait <= 2 * step
    assert len({round(wait / min(0.8 * 2**n, 30), 6) for n, wait in enumerate(waits)}) > 5


def test_retry_after_is_a_floor() -> None:
    pace = Backoff(ManualClock(), random.Random(2))
    for _ in range(20):
        assert 20 <= pace.back_off(20.0) <= 60


def test_two_minutes_of_health_forget_the_failures() -> None:
    pace = Backoff(ManualClock(), random.Random(3))
    for _ in range(8):
        pace.back_off()
    pace.lived(119)
    assert pace.failures == 1
    pace.lived(5)
    assert pace.failures == 1
    pace.lived(120)
    assert pace.failures == 0
    assert pace.back_off() <= 1.6
