"""Time that a test moves: that of the event loop and ours together, from one timer to the next."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from cockpit.clock import ManualClock

CALM_TURNS = 6
"""Turns of the loop in a row in which nothing else had to be done: what came over loopback is read then."""
MOST_TURNS = 5_000
MOST_STEP_SECONDS = 5.0


class LeapingTime:
    """Everything in this loop that sleeps or waits for a time-out does so in this time."""

    def __init__(self, clock: ManualClock) -> None:
        self.seconds = asyncio.get_running_loop().time()
        self._loop: Any = asyncio.get_running_loop()
        self._clock = clock

    async def settle(self) -> None:
        """Until everything waits for a time, or for somebody else."""
        calm = 0
        for _ in range(MOST_TURNS):
            await asyncio.sleep(0)
            calm = 0 if self._loop._ready else calm + 1
            if calm == CALM_TURNS:
                return

    async def until(self, holds: Callable[[], Any], *, seconds: float) -> float:
        """Leaps until it holds; how many seconds that took. Raises TimeoutError after `seconds`."""
        began = self.seconds
        while True:
            await self.settle()
            if holds():
                return self.seconds - began
            if self.seconds - began >= seconds:
                raise TimeoutError(f"not within {seconds:g} s of the test's time")
            self._leap(began + seconds)

    async def passes(self, seconds: float) -> None:
        """Leaps so far."""
        end = self.seconds + seconds
        while self.seconds < end:
            await self.settle()
            self._leap(end)
        await self.settle()

    def _leap(self, end: float) -> None:
        waiting = [timer.when() for timer in self._loop._scheduled if not timer.cancelled()]
        due = min(waiting, default=end)
        to = min(max(due, self.seconds + 0.001), end, self.seconds + MOST_STEP_SECONDS)
        self._clock.advance(to - self.seconds)
        self.seconds = to


@asynccontextmanager
async def leaping(clock: ManualClock) -> AsyncIterator[LeapingTime]:
    """The loop's time stands still but for leaps, until the block ends."""
    loop: Any = asyncio.get_running_loop()
    time, made = loop.time, LeapingTime(clock)
    loop.time = lambda: made.seconds
    try:
        yield made
    finally:
        loop.time = time
