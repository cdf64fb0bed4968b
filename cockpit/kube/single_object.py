"""One object that is read by its name, again and again: for an object among many of its kind, which
the user may not be allowed to list."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Never

import msgspec

from cockpit.clock import Clock
from cockpit.errors import CockpitError
from cockpit.kube.decode.decoders import Decoder
from cockpit.kube.decode.wire import UndecodableError
from cockpit.kube.pulse import within
from cockpit.kube.session import ApiSession
from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.right import Right, cannot

READ_SECONDS = 20.0
"""Between two reads while it is there."""
FAILED_SECONDS = 8.0
"""After a read that failed; less where the server returns from an outage."""
AWAY_SECONDS = 120.0
"""While it is not, or may not be read."""
SOON_SECONDS = (1.0, 2.0, 4.0)
"""After a refusal of what was read before: a server that starts refuses until its caches are warm."""
GONE_SECONDS = 600.0
"""An object that is not found any more is kept this long, with its age: its writer may be restarting."""


class SingleObject:
    """Keeps one object current and tells a sink. A record with `read_seconds` is told when it was read."""

    def __init__(  # noqa: PLR0917 - where it is, how it is read, who hears of it
        self,
        session: ApiSession,
        path: str,
        right: Right,
        decoder: Decoder,
        sink: Callable[[Batch], None],
        clock: Clock,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._session, self._path, self._right = session, path, right
        self._decoder, self._sink, self._clock, self._sleep = decoder, sink, clock, sleep
        self._uid = ""
        self._last: Any = None
        self._gone_seconds: float | None = None
        self._refusals = 0  # in a row, of what was read before
        self._status: StreamStatus | None = None

    async def run(self) -> Never:
        """Read until cancelled; soon where the server returns from an outage, or a person asks again."""
        while True:
            try:
                seconds = await self._read()
            except CockpitError as error:
                seconds = self._failed(error.sentence)
            await within(seconds, self._session.pulse.returned(), self._sleep)

    async def _read(self) -> float:
        """Read it once; seconds until the next time."""
        answer = await self._session.request("GET", self._path)
        if answer.status == 401:
            self._tell(Phase.NOT_LOGGED_IN, self._session.login_refused)
            return FAILED_SECONDS
        if answer.status == 403:
            return self._refused()
        self._refusals = 0
        if answer.status == 404:
            return self._missed()
        self._gone_seconds = None
        if not answer.ok:
            return self._failed(f"The server answers {answer.status} to {self._path}.")
        try:
            record: Any = self._decoder.from_json(answer.body)
        except UndecodableError:
            return self._failed(f"The answer to {self._path} cannot be read.")
        if self._uid != record.uid:
            self._forget()
        self._uid = record.uid
        self._last = record
        self._tell(Phase.LIVE, "", (self._as_read(record),))
        return READ_SECONDS

    def _failed(self, sentence: str) -> float:
        self._tell(Phase.BACKING_OFF, sentence)
        return FAILED_SECONDS

    def _refused(self) -> float:
        """It may not be read: asked again soon where it was, and forgotten then."""
        sentence = f"{cannot(self._right)}."
        if self._uid and self._refusals < len(SOON_SECONDS):
            self._tell(Phase.STALE, sentence)
            self._refusals += 1
            return SOON_SECONDS[self._refusals - 1]
        self._forget()
        self._tell(Phase.DENIED, sentence)
        return AWAY_SECONDS

    def _missed(self) -> float:
        """It is not there. Where it was until lately its record says how old it is."""
        now = self._clock.cluster_now()
        self._gone_seconds = now if self._gone_seconds is None else self._gone_seconds
        kept = now - self._gone_seconds < GONE_SECONDS and self._uid != ""
        if not kept:
            self._forget()
        again = (self._as_read(self._last),) if kept else ()
        self._tell(Phase.ABSENT, f"There is no {self._right.name} in {self._right.namespace}.", again)
        return READ_SECONDS if kept else AWAY_SECONDS

    def _as_read(self, record: Any) -> Any:
        if "read_seconds" not in record.__struct_fields__:
            return record
        return msgspec.structs.replace(record, read_seconds=self._clock.cluster_now())

    def _forget(self) -> None:
        if self._uid:
            self._sink(Batch(kind=self._decoder.kind, removed=(self._uid,)))
            self._uid = ""

    def _tell(self, phase: Phase, message: str, changed: tuple[Any, ...] = ()) -> None:
        kind, before = self._decoder.kind, self._status
        if before is None or (before.phase, before.message) != (phase, message):
            self._status = StreamStatus(
                kind=kind,
                phase=phase,
                message=message,
                objects=int(bool(self._uid)),
                since_seconds=self._clock.cluster_now(),
            )
        if changed or self._status is not before:
            self._sink(Batch(kind=kind, changed=changed, status=self._status))
