"""A reflector under test: a sink that keeps a table, a sleeper that moves the clock."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

from cockpit.clock import ManualClock
from cockpit.kube.decode import decoders
from cockpit.kube.decode.decoders import Decoder
from cockpit.kube.reflector import Reflector
from cockpit.kube.resource import PODS, Resource
from cockpit.kube.session import ApiSession
from cockpit.model.batch import Batch, ListMark, Phase
from tests.unit.kube.builders import bookmark, event, pod

PATH = "/api/v1/pods"
INITIAL = (event("ADDED", pod("a")), event("ADDED", pod("b")), bookmark("10", ends_list=True))


class Watcher:
    """Runs one reflector until a condition holds; sleeping moves the clock instead."""

    def __init__(
        self,
        session: ApiSession,
        clock: ManualClock,
        resource: Resource = PODS,
        decoder: Decoder = decoders.POD,
        **options: Any,
    ) -> None:
        self.batches: list[Batch] = []
        self.waits: list[float] = []
        self.table: dict[str, Any] = {}
        self.slept_at: list[float] = []
        self._clock = clock
        self._moved = asyncio.Event()
        self._told = asyncio.Event()
        self.reflector = Reflector(
            session,
            resource,
            decoder,
            self._sink,
            kind=decoder.kind,
            clock=clock,
            rng=random.Random(7),
            sleep=self._sleep,
            **options,
        )
        self._seen: set[str] | None = None

    def _sink(self, batch: Batch) -> None:
        self.batches.append(batch)
        if batch.mark is ListMark.BEGIN:
            self._seen = set()
        for record in batch.changed:
            self.table[record.uid] = record
            if self._seen is not None:
                self._seen.add(record.uid)
        for uid in batch.removed:
            self.table.pop(uid, None)
        if batch.mark is ListMark.END and self._seen is not None:
            self.table = {uid: record for uid, record in self.table.items() if uid in self._seen}
            self._seen = None
        self._moved.set()
        self._told.set()

    async def version_of(self, uid: str, version: str) -> None:
        """Wait until the record has this version."""
        while uid not in self.table or self.table[uid].resource_version != version:
            self._told.clear()
            await self._told.wait()

    async def heard_at(self, seconds: float) -> None:
        """Wait until a status says that the server was heard at that time."""
        while not (self.batches and (last := self.batches[-1].status) and last.heard_seconds == seconds):
            self._told.clear()
            await self._told.wait()

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self._clock.advance(seconds)
        self._moved.set()
        await asyncio.sleep(0)

    @property
    def versions(self) -> dict[str, str]:
        """uid -> version of every row."""
        return {uid: record.resource_version for uid, record in self.table.items()}

    async def until(self, holds: Callable[[], bool], *, seconds: float = 10) -> None:
        task = asyncio.create_task(self.reflector.run())
        try:
            async with asyncio.timeout(seconds):
                while not holds():
                    if task.done():
                        task.result()
                    self._moved.clear()
                    moved = asyncio.create_task(self._moved.wait())
                    await asyncio.wait({moved, task}, return_when=asyncio.FIRST_COMPLETED, timeout=0.02)
                    moved.cancel()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    @property
    def names(self) -> list[str]:
        return sorted(record.name for record in self.table.values())

    @property
    def phases(self) -> list[Phase]:
        out: list[Phase] = []
        for batch in self.batches:
            if batch.status is not None and (not out or out[-1] is not batch.status.phase):
                out.append(batch.status.phase)
        return out

    @property
    def phase(self) -> Phase | None:
        return self.phases[-1] if self.batches else None

    @property
    def message(self) -> str:
        return next((b.status.message for b in reversed(self.batches) if b.status is not None), "")

    @property
    def skipped(self) -> int:
        return next((b.status.skipped for b in reversed(self.batches) if b.status is not None), 0)

    @property
    def objects(self) -> int:
        return next((b.status.objects for b in reversed(self.batches) if b.status is not None), 0)

    def marks(self) -> list[ListMark]:
        return [batch.mark for batch in self.batches if batch.mark is not ListMark.NONE]


def ended(watcher: Watcher) -> bool:
    """True when a list was complete."""
    return ListMark.END in watcher.marks()
