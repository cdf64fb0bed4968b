"""One coalesced signal: at once, then at most one an interval, silent when nothing moved.

The interval grows with what the subscribers cost. A projection of 50,000 rows takes tens of milliseconds,
on a busy machine hundreds; four a second would take the time from the very list they show.
"""

from collections.abc import Callable
from typing import Any

from cockpit.clock import Clock

SHARE_OF_TIME = 0.0625
"""Subscribers get at most this share of the time, as long as the screen is renewed every `LONGEST_SECONDS`
that way; beyond that they get half of it."""
LONGEST_SECONDS = 2.0


class Signal:
    """Tells subscribers that something moved.

    `notify` fires at once when the last firing is an interval ago (the leading edge). Within the interval
    it books one firing for its end, however often it is called. The interval lasts `interval_seconds` from
    one firing to the next, and longer when the subscribers were slow. `call_later(delay_seconds, fn)` is the
    event loop's; nothing is scheduled without a notification.
    """

    def __init__(
        self,
        clock: Clock,
        call_later: Callable[[float, Callable[[], None]], Any],
        interval_seconds: float = 0.25,
    ) -> None:
        self._clock = clock
        self._call_later = call_later
        self._interval_seconds = interval_seconds
        self._subscribers: dict[int, Callable[[], None]] = {}
        self._next_id = 0
        self._rests_until: float | None = None
        self._is_booked = False

    def subscribe(self, fn: Callable[[], None]) -> Callable[[], None]:
        """Call `fn` at every firing; the answer ends the subscription."""
        ticket = self._next_id
        self._next_id += 1
        self._subscribers[ticket] = fn

        def leave() -> None:
            self._subscribers.pop(ticket, None)

        return leave

    def notify(self) -> None:
        """Something moved."""
        if self._is_booked:
            return
        wait_seconds = self._remaining()
        if wait_seconds <= 0:
            self._fire()
            return
        self._is_booked = True
        self._call_later(wait_seconds, self._due)

    def at_once(self) -> None:
        """Something moved that a person waits for, such as the end of a list: the interval does not count."""
        self._fire()

    def _remaining(self) -> float:
        return 0.0 if self._rests_until is None else self._rests_until - self._clock.monotonic()

    def _due(self) -> None:
        self._is_booked = False
        self._fire()

    def _fire(self) -> None:
        began = self._clock.monotonic()
        self._rests_until = began + self._interval_seconds
        for fn in tuple(self._subscribers.values()):
            fn()
        cost = self._clock.monotonic() - began
        self._rests_until = began + max(
            self._interval_seconds, min(cost / SHARE_OF_TIME, LONGEST_SECONDS), 2 * cost
        )
