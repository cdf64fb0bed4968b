"""One kind of objects in namespaces: read everywhere where that is allowed, else in each of some namespaces.

What is allowed is learned from the answer: a cluster-wide list that is refused is confirmed by one access
review, so that credentials which the server rejects narrow nothing. While the kind is read by namespace only
reviews ask whether that is still so; the refused list is not sent again.
"""

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Never

import msgspec

from cockpit.errors import CockpitError
from cockpit.kube.access import read_verdict
from cockpit.kube.pulse import within
from cockpit.kube.resource import Resource
from cockpit.kube.session import ApiSession
from cockpit.model.batch import Batch, ListMark, Phase
from cockpit.model.right import Permission, Right

REVIEW_SECONDS = (5.0, 15.0, 60.0, 280.0)
"""Pauses between reviews of the right to read everywhere while it is missing, the last one again and again:
a server that has just started refuses until its caches are warm, and a right may be granted later."""

Sink = Callable[[Batch], None]
OpenStream = Callable[[str, Sink], Coroutine[Any, Any, None]]
"""(namespace, or "" for all; where batches go) -> a stream that runs until it is cancelled."""


class NamespacedStreams:
    """The streams of one kind. `run` is one task; cancelling it ends them all.

    A denial of the cluster-wide list is handed on only where there is no namespace to read instead, or where
    a review does not confirm it. What was read the other way before stays until its replacement is listed.
    """

    def __init__(
        self,
        session: ApiSession,
        resource: Resource,
        kind: str,
        open_stream: OpenStream,
        sink: Sink,
        *,
        namespaces: Sequence[str],
        is_narrow: bool,
        scope_of: Callable[[str], str],
        rng: random.Random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`is_narrow`: never read more than `namespaces`. `scope_of`: the scope of a namespace's batches."""
        self._session = session
        self._right = Right("list", resource.group, resource.plural)
        self._version = resource.version
        self._kind = kind
        self._open = open_stream
        self._sink = sink
        self._namespaces = tuple(namespaces)
        self._is_narrow = is_narrow
        self._is_wide = not is_narrow
        self._scope_of = scope_of
        self._rng = rng
        self._sleep = sleep
        self._leaving: set[str] = {""} if is_narrow else set()
        self._has_listed = False

    @property
    def scopes(self) -> tuple[str, ...]:
        """Scopes that are read now."""
        return tuple(map(self._scope_of, ("",) if self._is_wide else self._namespaces))

    async def run(self) -> Never:
        """Read until cancelled."""
        while True:
            await (self._everywhere() if self._is_wide else self._in_each())
            self._is_wide = not self._is_wide

    async def _everywhere(self) -> None:
        """Returns when the server has confirmed that this is not allowed."""
        self._leaving.discard("")
        denials: asyncio.Queue[Batch] = asyncio.Queue()

        def passed(batch: Batch) -> None:
            if batch.status is not None and batch.status.phase is Phase.DENIED:
                denials.put_nowait(batch)
                batch = msgspec.structs.replace(batch, status=None)
            self._sink(batch)
            if batch.mark is ListMark.END:
                self._has_listed = True
                self._leave()

        async with asyncio.TaskGroup() as group:
            reading = group.create_task(self._open("", passed))
            while True:
                denial = await denials.get()
                if self._namespaces and await self._may_read_all() is Permission.DENIED:
                    break
                self._sink(denial)
            reading.cancel()
        self._leaving.add("")

    async def _in_each(self) -> None:
        """Returns when the server allows to read everywhere."""
        self._leaving.difference_update(self._namespaces)
        waited = set(self._namespaces)
        if not self._has_listed:
            self._leave()

        def passed(namespace: str) -> Sink:
            def sink(batch: Batch) -> None:
                self._sink(batch)
                is_over = batch.status is not None and batch.status.phase in (Phase.DENIED, Phase.ABSENT)
                if batch.mark is ListMark.END or is_over:
                    waited.discard(namespace)
                    if not waited:
                        self._leave()

            return sink

        async with asyncio.TaskGroup() as group:
            reading = [group.create_task(self._open(name, passed(name))) for name in self._namespaces]
            await self._until_allowed()
            for task in reading:
                task.cancel()
        self._leaving.update(self._namespaces)

    async def _until_allowed(self) -> None:
        if self._is_narrow:
            await asyncio.Event().wait()
        for seconds in itertools.chain(REVIEW_SECONDS, itertools.repeat(REVIEW_SECONDS[-1])):
            wait = seconds * (1.0 + 0.07 * self._rng.random())
            await within(wait, self._session.pulse.asked_again(), self._sleep)
            if await self._may_read_all() is Permission.ALLOWED:
                return

    async def _may_read_all(self) -> Permission:
        try:
            return await read_verdict(self._session, self._right, self._version)
        except CockpitError:
            return Permission.UNKNOWN

    def _leave(self) -> None:
        """Let go of what was read the other way."""
        for namespace in sorted(self._leaving):
            self._sink(Batch(kind=self._kind, scope=self._scope_of(namespace), mark=ListMark.DROP))
        self._leaving.clear()
