"""The signal: leading edge, at most one an interval, silent otherwise."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.clock import ManualClock
from cockpit.store.signal import LONGEST_SECONDS, SHARE_OF_TIME, Signal


class Loop:
    """`call_later` on a manual clock."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.booked: list[tuple[float, Callable[[], None]]] = []

    def call_later(self, delay_seconds: float, fn: Callable[[], None]) -> None:
        assert delay_seconds > 0
        self.booked.append((self.clock.monotonic() + delay_seconds, fn))

    def run(self, seconds: float) -> None:
        end = self.clock.monotonic() + seconds
        while self.booked and min(self.booked, key=lambda one: one[0])[0] <= end:
            self.booked.sort(key=lambda one: one[0])
            due, fn = self.booked.pop(0)
            self.clock.advance(max(0.0, due - self.clock.monotonic()))
            fn()
        self.clock.advance(max(0.0, end - self.clock.monotonic()))


def build() -> tuple[Signal, Loop, list[float]]:
    clock = ManualClock()
    loop = Loop(clock)
    signal = Signal(clock, loop.call_later, interval_seconds=0.25)
    fired: list[float] = []
    signal.subscribe(lambda: fired.append(clock.monotonic()))
    return signal, loop, fired


def test_the_first_change_fires_at_once_and_a_burst_fires_once_more() -> None:
    signal, loop, fired = build()
    start = loop.clock.monotonic()
    for _ in range(100):
        signal.notify()
    assert fired == [start]
    loop.run(1.0)
    assert fired == [start, start + 0.25]
    assert loop.booked == []


def test_after_a_quiet_interval_the_next_change_fires_at_once_again() -> None:
    signal, loop, fired = build()
    signal.notify()
    loop.run(0.3)
    signal.notify()
    assert len(fired) == 2
    assert loop.booked == []


def test_who_left_hears_nothing() -> None:
    signal, loop, fired = build()
    leave = signal.subscribe(lambda: fired.append(-1.0))
    leave()
    leave()
    signal.notify()
    assert -1.0 not in fired and loop.booked == []


def test_a_subscriber_that_notifies_does_not_recurse() -> None:
    signal, loop, fired = build()
    signal.subscribe(signal.notify)
    signal.notify()
    assert len(fired) == 1
    loop.run(1.0)
    assert 4 <= len(fired) <= 5


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0.0, 0.6), max_size=40))
def test_never_closer_than_the_interval_and_no_change_is_lost(pauses: list[float]) -> None:
    signal, loop, fired = build()
    for pause in pauses:
        loop.run(pause)
        told = loop.clock.monotonic()
        signal.notify()
        assert fired[-1] == told or loop.booked
    loop.run(1.0)
    assert all(later - earlier >= 0.25 - 1e-9 for earlier, later in pairwise(fired))
    assert loop.booked == []
    assert bool(fired) == bool(pauses)


def test_slow_subscribers_get_a_bounded_share_of_the_time() -> None:
    clock = ManualClock()
    booked: list[float] = []
    signal = Signal(clock, lambda seconds, fn: booked.append(seconds), interval_seconds=0.25)
    signal.subscribe(lambda: clock.advance(0.1))
    signal.notify()
    signal.notify()
    assert booked == [pytest.approx(0.1 / SHARE_OF_TIME - 0.1)]


def test_however_slow_they_get_half_of_it() -> None:
    clock = ManualClock()
    booked: list[float] = []
    signal = Signal(clock, lambda seconds, fn: booked.append(seconds))
    signal.subscribe(lambda: clock.advance(1.5))
    signal.notify()
    signal.notify()
    assert booked == [pytest.approx(1.5)]


def test_the_screen_is_renewed_every_two_seconds_where_half_the_time_allows() -> None:
    clock = ManualClock()
    booked: list[float] = []
    signal = Signal(clock, lambda seconds, fn: booked.append(seconds))
    signal.subscribe(lambda: clock.advance(0.8))
    signal.notify()
    signal.notify()
    assert booked == [pytest.approx(LONGEST_SECONDS - 0.8)]


def test_what_cannot_wait_fires_within_the_interval_and_what_was_booked_still_comes() -> None:
    signal, loop, fired = build()
    start = loop.clock.monotonic()
    signal.notify()
    signal.notify()
    loop.run(0.1)
    signal.at_once()
    assert fired == [start, start + 0.1]
    loop.run(1.0)
    assert fired == [start, start + 0.1, start + 0.25]
