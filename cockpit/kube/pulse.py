"""Does the API server answer? One probe asks for a whole session, so that its streams need not.

While it does not answer nothing else has to be asked: streams wait for `returned`, and go on spread over
`SPREAD_SECONDS`. A connection over which nothing came since before an outage is given up then: it may be
half-open, and its peer would be missed for another minute.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Never

from cockpit.clock import Clock
from cockpit.errors import CockpitError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from cockpit.kube.answer import ApiAnswer

ALIVE_SECONDS = 5.0
"""Between two probes while the server answers; 0.2 a second."""
DARK_SECONDS = 3.5
"""From one probe to the next while it does not: 0.29 requests a second for all streams together, so that all
of them go on within 5 s of its return."""
DARK_ANSWER_SECONDS = 3.0
KEPT_SECONDS = 2.0
"""How long a kept connection may take before a fresh one is tried beside it."""
FRESH_SECONDS = 5.0
LATE_SECONDS = 1.0
"""How much longer than the fresh connection the kept one may take: a slow server is not a dead connection."""
SUSPICION_SECONDS = 1.0
"""Minimum interval between two probes."""
SPREAD_SECONDS = 1.4
"""All streams go on within this time after the server has returned."""
_GOLDEN = (5.0**0.5 - 1.0) / 2.0

Sleep = Callable[[float], Awaitable[None]]
Ask = Callable[[float, bool], Awaitable["ApiAnswer"]]
"""(patience in seconds, whether on a fresh connection) -> the server's version. Raises NoConnection."""


class Flight:
    """One read under way. `heard_at` is the event loop's time of its last byte, in seconds."""

    def __init__(self, guard: asyncio.Timeout, now_seconds: float) -> None:
        self.heard_at = now_seconds
        self._guard = guard

    def hears(self) -> None:
        """Bytes came."""
        self.heard_at = asyncio.get_running_loop().time()

    def give_up(self, now_seconds: float) -> None:
        """End it as if it had timed out."""
        if not self._guard.expired():
            self._guard.reschedule(now_seconds)


class Pulse:
    """Whether the server answers, for one session. `run` probes until cancelled; without it only what the
    session's own requests meet is known."""

    def __init__(self, ask: Ask, clock: Clock, *, sleep: Sleep = asyncio.sleep) -> None:
        self.api_seconds: float | None = None
        """How long the last answer took; None while there is none."""
        self.unanswered_since_seconds: float | None = None
        """Since when the server does not answer, by this machine's clock; None while it does."""
        self._ask = ask
        self._clock = clock
        self._sleep = sleep
        self._flights: set[Flight] = set()
        self._is_lost = False  # a request met no server; the next answer tells that it is back
        self._returned = asyncio.Event()
        self._asked_again = asyncio.Event()
        self._doubt = asyncio.Event()
        self._place = 0.0  # of the last stream that asked, in the spread
        self._quiet_since = 0.0  # loop time at which the unanswered probe was sent

    @property
    def is_dark(self) -> bool:
        """True while probes get no answer: nothing else has to be asked."""
        return self.unanswered_since_seconds is not None

    # ---- what the session tells

    @asynccontextmanager
    async def flying(self) -> "AsyncGenerator[Flight]":
        """A read that is given up when the server returns from an outage through which it heard nothing.
        Raises TimeoutError then."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(None) as guard:
            flight = Flight(guard, loop.time())
            self._flights.add(flight)
            try:
                yield flight
            finally:
                self._flights.discard(flight)

    def failed(self) -> None:
        """A request met no server."""
        self._is_lost = True
        self.suspect()

    def suspect(self) -> None:
        """Something failed that may be the server's outage: probe soon."""
        self._doubt.set()

    def answered(self) -> None:
        """A request was answered."""
        if self._is_lost and not self.is_dark:
            self.has_returned()

    def has_returned(self) -> None:
        """Wake all tasks that wait for the server."""
        self._is_lost = False
        returned, self._returned = self._returned, asyncio.Event()
        returned.set()

    def ask_again(self) -> None:
        """A person wants to know now: denied and absent kinds are asked for again."""
        asked, self._asked_again = self._asked_again, asyncio.Event()
        asked.set()
        returned, self._returned = self._returned, asyncio.Event()
        returned.set()
        self.suspect()

    # ---- waiting

    async def returned(self) -> None:
        """Until the server answers again after it could not be reached, or a person asks again."""
        await self._returned.wait()

    def place_seconds(self) -> float:
        """How long a stream waits once the server has returned: each another time, evenly over
        `SPREAD_SECONDS` however many they are, as multiples of the golden ratio fill a circle."""
        self._place = (self._place + _GOLDEN) % 1.0
        return SPREAD_SECONDS * self._place

    async def asked_again(self) -> None:
        """Until a person asks again."""
        await self._asked_again.wait()

    # ---- the probe

    async def run(self, changed: Callable[[], None]) -> Never:
        """Probe until cancelled; `changed` is called after each probe."""
        while True:
            began = self._clock.monotonic()
            self._doubt.clear()
            await self.beat()
            changed()
            spent = self._clock.monotonic() - began
            if self.is_dark:
                await within(max(DARK_SECONDS - spent, 0.0), self._asked_again.wait(), self._sleep)
                continue
            await self._sleep(SUSPICION_SECONDS)
            await within(ALIVE_SECONDS - SUSPICION_SECONDS, self._doubt.wait(), self._sleep)

    async def beat(self) -> None:
        """One probe, and what follows from it."""
        loop = asyncio.get_running_loop()
        began, asked_seconds, sent_at = self._clock.monotonic(), self._clock.now(), loop.time()
        was_dark = self.is_dark
        if was_dark:
            is_there, is_kept_dead = await self._is_answered(DARK_ANSWER_SECONDS, is_fresh=True), False
        else:
            self._quiet_since = sent_at
            is_there, is_kept_dead = await self._on_both()
        if not is_there:
            self.api_seconds = None
            self._is_lost = True
            if self.unanswered_since_seconds is None:
                self.unanswered_since_seconds = asked_seconds
            return
        self.api_seconds = self._clock.monotonic() - began
        self.unanswered_since_seconds = None
        if was_dark or is_kept_dead:
            for flight in [item for item in self._flights if item.heard_at < self._quiet_since]:
                flight.give_up(loop.time())
        if self._is_lost or is_kept_dead:  # who failed over a dead connection need not wait either
            self.has_returned()

    async def _on_both(self) -> tuple[bool, bool]:
        """(whether the server answers, whether only on a fresh connection)."""
        patience = KEPT_SECONDS + FRESH_SECONDS + LATE_SECONDS
        kept = asyncio.ensure_future(self._is_answered(patience, is_fresh=False))
        try:
            if await within(KEPT_SECONDS, kept, self._sleep):
                return kept.result(), False
            if not await self._is_answered(FRESH_SECONDS, is_fresh=True):
                return kept.done() and kept.result(), False
            is_late = await within(LATE_SECONDS, kept, self._sleep) and kept.result()
            return True, not is_late
        finally:
            kept.cancel()

    async def _is_answered(self, seconds: float, *, is_fresh: bool) -> bool:
        """False without an answer, for a gateway's words that there is none, and for a page of HTML."""
        try:
            answer = await self._ask(seconds, is_fresh)
        except CockpitError:
            return False
        if answer.ok:
            return answer.content_type.startswith("application/json")
        return answer.status < 500


async def within(seconds: float, wait: Awaitable[object], sleep: Sleep) -> bool:
    """True as soon as `wait` is over, False after `seconds`. A future that was handed in goes on."""
    is_ours = not isinstance(wait, asyncio.Future)
    waiting = asyncio.ensure_future(wait)
    sleeping = asyncio.ensure_future(sleep(seconds))
    try:
        await asyncio.wait({waiting, sleeping}, return_when=asyncio.FIRST_COMPLETED)
        return waiting.done()
    finally:
        sleeping.cancel()
        if is_ours:
            waiting.cancel()
