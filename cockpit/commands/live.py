"""One attachment for the length of one command: attach, wait until the lists are whole, leave."""

import asyncio
import contextlib
import random
from collections.abc import AsyncGenerator, Sequence

from cockpit.attach import Attachment, AttachOptions, Link
from cockpit.clock import Clock
from cockpit.errors import NoConnection, Refused
from cockpit.model.batch import Phase
from cockpit.model.record import Kind

QUIET_SECONDS = 0.3
"""Lists that follow from other lists (owners of pods) have come when nothing changed for this long."""
LONGEST_QUIET_SECONDS = 2.0
TELEMETRY_SECONDS = 5.0
"""Patience for GPU samples once everything else is there."""


class Live:
    """A running attachment and the one thing a command waits for: that its lists are whole."""

    def __init__(self, attachment: Attachment, task: asyncio.Task[None], moved: asyncio.Event) -> None:
        self.attachment = attachment
        self._task = task
        self._moved = moved

    async def settle(
        self, kinds: Sequence[str], timeout_seconds: float, *, with_gpus: bool = False
    ) -> tuple[str, ...]:
        """Wait until each kind is listed, denied or not served; a note comes back for each that is not live.

        Raises NoConnection when the cluster cannot be reached or is not done in time, and Refused when the
        first kind, the one that is asked for, may not be listed.
        """
        clock = self.attachment.clock
        end = clock.monotonic() + timeout_seconds
        while not self.attachment.is_settled(tuple(kinds)):
            self._refuse_failure()
            if not await self._next(end - clock.monotonic()):
                raise NoConnection(self._late(kinds, timeout_seconds))
        self._refuse_failure()
        if with_gpus:
            samples_end = min(end, clock.monotonic() + TELEMETRY_SECONDS)
            while not self.attachment.is_settled((Kind.GPU,)) and await self._next(
                samples_end - clock.monotonic()
            ):
                continue
        # A busy cluster is never quiet: what follows from the lists gets a bounded time to come.
        quiet_end = min(end, clock.monotonic() + LONGEST_QUIET_SECONDS)
        while await self._next(min(QUIET_SECONDS, quiet_end - clock.monotonic())):
            continue
        self.attachment.absorb()
        return (*self._notes(kinds), *(self._telemetry_notes() if with_gpus else ()))

    async def _next(self, seconds: float) -> bool:
        if seconds <= 0:
            return False
        self._moved.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._moved.wait()
        except TimeoutError:
            return False
        return True

    def _refuse_failure(self) -> None:
        if self.attachment.link in (Link.FAILED, Link.WAITING):
            raise NoConnection(self.attachment.sentence)
        if self._task.done():
            error = None if self._task.cancelled() else self._task.exception()
            if error is not None:
                raise error
            raise NoConnection(self.attachment.sentence or "the attachment ended before its lists were whole")

    def _late(self, kinds: Sequence[str], timeout_seconds: float) -> str:
        if self.attachment.link is not Link.ATTACHED:
            return f"no answer from the cluster within {timeout_seconds:g} s; give --timeout"
        open_ = [
            kind
            for kind in kinds
            if (status := self.attachment.store.status(kind)) is None
            or status.phase in (Phase.CONNECTING, Phase.LISTING)
        ]
        return f"not listed within {timeout_seconds:g} s: {', '.join(open_)}; give a longer --timeout"

    def _notes(self, kinds: Sequence[str]) -> tuple[str, ...]:
        notes: list[str] = []
        for kind in kinds:
            status = self.attachment.store.status(kind)
            if status is None or status.phase in (Phase.LIVE, Phase.ABSENT):
                continue
            sentence = f"{kind}: {status.message or status.phase.value}"
            if kind == kinds[0] and status.phase is Phase.DENIED:
                raise Refused(sentence)
            if kind == kinds[0] and status.phase is Phase.BACKING_OFF and not status.objects:
                raise NoConnection(sentence)
            notes.append(sentence)
        return tuple(notes)

    def _telemetry_notes(self) -> tuple[str, ...]:
        """Why GPU readings are missing; a command that prints `n/c` must say where that comes from."""
        status = self.attachment.store.status(Kind.GPU)
        if status is None or status.phase in (Phase.CONNECTING, Phase.LISTING):
            return (f"gpus: no readings within {TELEMETRY_SECONDS:g} s",)
        return (f"gpus: {status.message}",) if status.message else ()


@contextlib.asynccontextmanager
async def attached(options: AttachOptions, clock: Clock) -> AsyncGenerator[Live]:
    """An attachment that runs while the block runs, and is gone after it."""
    moved = asyncio.Event()
    attachment = Attachment(options, clock, random.Random(), moved.set)
    task = asyncio.create_task(attachment.run(), name="attachment")
    task.add_done_callback(lambda _done: moved.set())
    try:
        yield Live(attachment, task, moved)
    finally:
        task.cancel()
        # What it raised was either told already or is the cancelling itself.
        await asyncio.gather(task, return_exceptions=True)
