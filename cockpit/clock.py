"""The clock that is passed in everywhere; nothing else in the code asks the machine for the time."""

import time
from typing import Protocol


class Clock(Protocol):
    """Two readings of time, both in seconds."""

    def now(self) -> float:
        """Wall time: seconds since the Unix epoch."""

    def monotonic(self) -> float:
        """Seconds that never run backwards; only differences mean anything."""


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


class ManualClock:
    """A clock that stands still until it is moved: for tests and screenshots."""

    def __init__(self, now: float = 1_790_000_000.0) -> None:
        self._now = now
        self._monotonic = 1_000.0

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Move both readings forward by `seconds` (not negative)."""
        if seconds < 0:
            raise ValueError(f"a clock runs forward only, got {seconds} s")
        self._now += seconds
        self._monotonic += seconds
