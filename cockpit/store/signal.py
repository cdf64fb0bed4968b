"""One coalesced signal: at once, then at most one an interval, silent when nothing moved."""

from collections.abc import Callable
from typing import Any

from cockpit.clock import Clock


class Signal:
    """Tells subscribers that something moved.

    `notify` fires at once when the last firing is an interval ago (the leading edge). Within the interval
    it books one firing for its end, however often it is called. `call_later(delay_seconds, fn)` is the
    event loop's; nothing is booked unless somebody notified.
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
        self._fired_at: float | None = None
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

    def _remaining(self) -> float:
        if self._fired_at is None:
            return 0.0
        return self._fired_at + self._interval_seconds - self._clock.monotonic()

    def _due(self) -> None:
        self._is_booked = False
        self._fire()

    def _fire(self) -> None:
        self._fired_at = self._clock.monotonic()
        for fn in tuple(self._subscribers.values()):
            fn()
