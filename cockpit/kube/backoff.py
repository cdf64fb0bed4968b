"""Rate limit for reconnecting watches."""

import random

from cockpit.clock import Clock

FIRST_SECONDS = 0.8
LONGEST_SECONDS = 4.0
"""Limit of the doubling; 8 s with jitter, so a stream is back within 10 s of its end."""
HEALTHY_SECONDS = 120.0
STEADY_SECONDS = 30.0
BURST = 3
PER_SECOND = 0.25


class Backoff:
    """Exponential back-off with jitter, and behind it a hard limit.

    Delays: 0.8 s doubling to 4 s, times 1..2 at random, forgotten after 120 s of health (client-go doubles to
    30 s: tools/cache/reflector.go). The limit: never more than `BURST` + 0.25 a second x time requests,
    whatever the back-off says.
    """

    def __init__(self, clock: Clock, rng: random.Random) -> None:
        self._clock = clock
        self._rng = rng
        self._failures = 0
        self._tokens = float(BURST)
        self._filled_at = clock.monotonic()

    @property
    def failures(self) -> int:
        """Failures in a row."""
        return self._failures

    def lived(self, seconds: float) -> None:
        """A stream worked for that long before it ended."""
        if seconds >= HEALTHY_SECONDS:
            self._failures = 0
        elif seconds >= STEADY_SECONDS:
            self._failures = min(self._failures, 1)

    def eased(self) -> None:
        """Reset the delays: the error is a different one now, e.g. the server answers again."""
        self._failures = min(self._failures, 1)

    def back_off(self, at_least: float = 0.0) -> float:
        """Seconds to wait after one more failure; `at_least` is the server's Retry-After."""
        step = min(FIRST_SECONDS * 2.0**self._failures, LONGEST_SECONDS)
        self._failures = min(self._failures + 1, 16)
        wait = step * (1.0 + self._rng.random())
        if at_least > 0:
            wait = max(wait, at_least * (1.0 + 0.2 * self._rng.random()))
        return wait

    def charge(self, requests: int) -> None:
        """Requests that were sent in vain beside the admitted one, e.g. pages of a list that broke off.

        Counted up to the burst: a long list that fails late must not wait for minutes.
        """
        self._tokens -= min(requests, BURST)

    def admit(self) -> float:
        """Take the right to one request; the seconds to wait before it may be sent."""
        now = self._clock.monotonic()
        self._tokens = min(float(BURST), self._tokens + (now - self._filled_at) * PER_SECOND)
        self._filled_at = now
        self._tokens -= 1.0
        return 0.0 if self._tokens >= 0 else -self._tokens / PER_SECOND
