"""The clock that is passed in everywhere; nothing else in the code asks the machine for the time.

Two times meet in a cockpit. Ages and thresholds of what the cluster stamped (objects, events, GPU samples)
are differences of the cluster's time: `cluster_now`. What happens between us and the cluster (time-outs,
pauses, latency, time without an answer) and on this host (audit lines, certificates) is ours: `now`,
`monotonic`.
"""

import math
import time
from dataclasses import dataclass
from typing import Protocol

_SLACK_SECONDS = 0.001
"""Our readings are no better than this: the line does not tremble by less."""


@dataclass(frozen=True, slots=True)
class ClusterTime:
    """What time a server said it was, in seconds since the Unix epoch.

    The moment lay between `seconds` and `within_seconds` later (an HTTP date names whole seconds). `pace` is
    how many seconds pass there in one of ours: 1, but in a demo that runs faster.
    """

    seconds: float
    within_seconds: float = 0.0
    pace: float = 1.0


class Clock(Protocol):
    """Readings of time, all in seconds."""

    def now(self) -> float:
        """Wall time of this machine: seconds since the Unix epoch."""

    def monotonic(self) -> float:
        """Seconds of this machine that never run backwards; only differences mean anything."""

    def cluster_now(self) -> float:
        """The attached cluster's time: seconds since the Unix epoch. Ours, until a server said another."""

    def cluster_pace(self) -> float:
        """Seconds of the cluster's time in one of ours."""

    def hear(self, said: ClusterTime, asked_seconds: float, heard_seconds: float) -> None:
        """A server said what time it is, between `asked_seconds` and `heard_seconds` of `now`."""


class _Learning:
    """The cluster's time as a line over ours, which moves no more than what was heard asks for.

    Answers take their time and dates name whole seconds, so each bounds the server's time from both sides; a
    line within the bounds stays. So clocks that agree are never corrected, and of many answers the tightest
    bounds hold.
    """

    def __init__(self) -> None:
        self._at = self._then = 0.0  # (ours, the cluster's) of one moment
        self._pace = 1.0

    def now(self) -> float:
        """Ours."""
        raise NotImplementedError

    def cluster_now(self) -> float:
        return self._line(self.now())

    def cluster_pace(self) -> float:
        return self._pace

    def hear(self, said: ClusterTime, asked_seconds: float, heard_seconds: float) -> None:
        if heard_seconds < asked_seconds or not _is_sane(said):
            return  # our own clock was set meanwhile; the next answer tells
        if said.pace != self._pace:
            self._at = self._then = heard_seconds
            self._pace = said.pace
        slack = _SLACK_SECONDS * self._pace
        behind = said.seconds - self._line(heard_seconds)
        ahead = self._line(asked_seconds) - said.seconds - said.within_seconds
        if behind > slack:
            self._then += behind
        elif ahead > slack:
            self._then -= ahead

    def _line(self, ours: float) -> float:
        return self._then + (ours - self._at) * self._pace


def _is_sane(said: ClusterTime) -> bool:
    """False for a time or pace that no clock has."""
    return math.isfinite(said.seconds) and 0 < said.seconds < 1e11 and 0 < said.pace < 1e6


class SystemClock(_Learning):
    """The machine's own clock, and what it heard of the cluster's."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


class ManualClock(_Learning):
    """A clock that stands still until it is moved: for tests and screenshots."""

    def __init__(self, now: float = 1_790_000_000.0) -> None:
        super().__init__()
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
