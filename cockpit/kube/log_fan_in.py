"""The logs of all members of a job, read together: first what is there, by time, then what comes.

What holds: memory is bounded by what the sink keeps; at most 64 streams are open at once, further members are
read anew every ten seconds from where they were left; after a break each log goes on behind its last line
(`log_lines.Resume` says where a line can be lost all the same, and then a note stands in its place).
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import aclosing

from cockpit.errors import CockpitError, NoConnection, Refused
from cockpit.kube.log_lines import Cutter, LogPiece, Resume
from cockpit.kube.log_streams import STREAMS
from cockpit.kube.refusal import refused
from cockpit.kube.resource import PODS
from cockpit.kube.session import ApiSession
from cockpit.model.log import STREAM_SINCE_SECONDS, Life, LogLine, LogSource, LogWish

MOST_STREAMS = 64
"""Streams held open at once: each is a connection of the API server's to a node."""
READERS = 16
"""Logs read at once for what is there already."""
HISTORY_BYTES = 32 << 20
"""Of all members together; more of what is there already comes with following."""
LEAST_BYTES = 64 << 10
PIECE_BYTES = 16 << 10
"""Worked off in one go, with what shows it: a few milliseconds. A chunk of a log that pours has 256 KiB."""
REST_SECONDS = 0.02
AGAIN_SECONDS = (1.0, 2.0, 4.0, 8.0, 15.0)
POLL_SECONDS = 10.0
POLLS_PER_SECOND = 10
"""Of hundreds of members that have no stream each waits longer, so that the API server is not kept busy."""

Sink = Callable[[list[LogLine]], None]


class LogFanIn:
    """Reads many logs until `run` ends or is cancelled. `sink` is called with new lines, often.

    `life` tells what is known of a pod now; `troubles` names the members whose log cannot be read at the
    moment, with one sentence each; `when_read` is called once what is there already was read.
    """

    def __init__(
        self,
        session: Callable[[], ApiSession],
        wish: LogWish,
        sink: Sink,
        life: Callable[[str], Life],
        *,
        nap: Callable[[float], Awaitable[object]] = asyncio.sleep,
        most_streams: int = MOST_STREAMS,
    ) -> None:
        self.troubles: dict[str, str] = {}
        self.following = 0
        self.when_read: Callable[[], None] = lambda: None
        self._session = session
        self._wish = wish
        self._sink = sink
        self._life = life
        self._nap = nap
        self._most_streams = most_streams
        self._sources: dict[tuple[str, str], LogSource] = {}
        self._new: asyncio.Event = asyncio.Event()
        self._waiting: list[LogSource] = []
        self._limited: set[tuple[str, str]] = set()
        self._open = 0

    def want(self, sources: Iterable[LogSource]) -> None:
        """Read these, too; those that are read already stay as they are."""
        for source in sources:
            if (source.uid, source.container) not in self._sources:
                self._sources[source.uid, source.container] = source
                self._waiting.append(source)
                self._new.set()

    @property
    def is_idle(self) -> bool:
        """True once every log that is wanted was followed to its end."""
        return not self._open and not self._waiting

    async def run(self) -> None:
        """What is there, then what comes. Without following it ends once everything was read."""
        first, self._waiting = self._waiting, []
        self._new.clear()
        resumes = await self._history(first)
        self.when_read()
        if not self._wish.is_following or self._wish.is_previous:
            for source in first:
                await self._rest(source, resumes[source.uid, source.container])
            return
        async with asyncio.TaskGroup() as group:
            for source in first:
                group.create_task(self._follow(source, resumes[source.uid, source.container]))
            while True:
                await self._new.wait()
                self._new.clear()
                late, self._waiting = self._waiting, []
                for source in late:
                    group.create_task(self._follow(source, Resume()))

    # ---- what is there already

    async def _history(self, sources: list[LogSource]) -> dict[tuple[str, str], Resume]:
        gate = asyncio.Semaphore(READERS)
        found: list[LogLine] = []
        resumes = {(source.uid, source.container): Resume() for source in sources}
        limit_bytes = max(LEAST_BYTES, HISTORY_BYTES // max(1, len(sources)))

        async def read(source: LogSource) -> None:
            resume = resumes[source.uid, source.container]
            async with gate:
                try:
                    async for lines in self._lines(source, resume, limit_bytes=limit_bytes):
                        found.extend(lines)
                except CockpitError as error:
                    self._trouble(source, error)

        async with asyncio.TaskGroup() as group:
            for source in sources:
                group.create_task(read(source))
        place = {(one.uid, one.container): at for at, one in enumerate(sources)}
        found.sort(key=lambda line: (line.at_nanoseconds, place[line.source.uid, line.source.container]))
        if found:
            self._sink(found)
        return resumes

    async def _rest(self, source: LogSource, resume: Resume) -> None:
        """What was beyond the bound of the first read; it comes after all, in pieces, not by time."""
        if (source.uid, source.container) not in self._limited:
            return
        try:
            async with aclosing(self._lines(source, resume)) as batches:
                async for batch in batches:
                    self._sink(batch)
        except CockpitError as error:
            self._trouble(source, error)

    def _trouble(self, source: LogSource, error: CockpitError) -> None:
        self.troubles[source.label] = error.sentence

    # ---- what comes

    async def _follow(self, source: LogSource, resume: Resume) -> None:
        """Attempt after attempt until the pod has ended and its log was read to the end."""
        self._open += 1
        try:
            await self._follow_on(source, resume)
        finally:
            self._open -= 1

    async def _follow_on(self, source: LogSource, resume: Resume) -> None:
        attempt, restarts = 0, self._life(source.uid).restarts
        is_cut = False
        while True:
            life = self._life(source.uid)
            before = resume.newest_nanoseconds
            # a stream may end, even without an error, before the container has written its last words
            if life.restarts != restarts and resume.since_time:
                is_cut = not await self._rest_of_former_run(source, resume) and is_cut
            is_next = not is_cut and life.restarts == restarts + 1
            restarts = life.restarts
            is_streaming = self.following < self._most_streams
            try:
                await self._attempt(source, resume, is_streaming=is_streaming, is_next=is_next)
                is_cut = False
                if life.is_over:
                    return
            except NoConnection as error:
                is_cut = True
                self._trouble(source, error)
            except Refused as error:
                is_cut = False
                self._trouble(source, error)
                if life.is_over:
                    return
            attempt = 0 if resume.newest_nanoseconds != before else min(attempt + 1, len(AGAIN_SECONDS) - 1)
            await self._nap(AGAIN_SECONDS[attempt] if is_streaming or is_cut else self._poll_seconds)

    @property
    def _poll_seconds(self) -> float:
        return max(POLL_SECONDS, len(self._sources) / POLLS_PER_SECOND)

    async def _attempt(self, source: LogSource, resume: Resume, *, is_streaming: bool, is_next: bool) -> None:
        self.following += is_streaming
        try:
            lines = self._lines(source, resume, is_streaming=is_streaming, is_next=is_next)
            async with aclosing(lines) as batches:
                async for batch in batches:
                    self.troubles.pop(source.label, None)
                    if batch:
                        self._sink(batch)
            self.troubles.pop(source.label, None)
        finally:
            self.following -= is_streaming

    async def _rest_of_former_run(self, source: LogSource, resume: Resume) -> bool:
        """The container restarted since the last attempt: what its former run wrote last.

        False where that is thrown away already; then the note of the gap tells it.
        """
        try:
            async with aclosing(self._lines(source, resume, is_previous=True)) as batches:
                async for batch in batches:
                    if batch:
                        self._sink(batch)
        except CockpitError:
            return False
        return True

    async def _lines(
        self,
        source: LogSource,
        resume: Resume,
        *,
        is_streaming: bool = False,
        is_previous: bool = False,
        is_next: bool = False,
        limit_bytes: int | None = None,
    ) -> AsyncGenerator[list[LogLine]]:
        """Lines that were not read before, chunk by chunk; first the note of a gap where there is one."""
        before = resume.newest_nanoseconds
        resume.begin()
        wish = self._wish
        query = query_of(source, wish, resume, is_streaming=is_streaming, limit_bytes=limit_bytes)
        if is_previous:
            query.append(("previous", "true"))
        # What has no end yet comes again, whole, with the next attempt: until then it is not a line.
        is_last = is_streaming or is_previous or wish.is_previous or not wish.is_following
        is_last = is_last or self._life(source.uid).is_over
        key = (source.uid, source.container)
        asked = told_by(
            self._session(),
            source,
            query,
            limit_bytes=limit_bytes,
            is_last=is_last,
            limited=lambda: self._limited.add(key),
        )
        now = asyncio.get_running_loop().time
        async with aclosing(asked) as chunks:
            async for told in chunks:
                began = now()
                lines: list[LogLine] = []
                for item in told:
                    if resume.take(item):
                        if resume.has_gap:
                            resume.has_gap = False
                            lines.append(_note(source, NEXT_RUN if is_next else GAP, before, item))
                        lines.append(_line(source, item))
                yield lines
                # Half of the time is left to keys: one takes several rounds of the loop to the screen.
                await asyncio.sleep(min(now() - began, REST_SECONDS))


def query_of(
    source: LogSource,
    wish: LogWish,
    resume: Resume,
    *,
    is_streaming: bool = False,
    limit_bytes: int | None = None,
) -> list[tuple[str, str]]:
    """The query of one attempt: the wish at first, then from where it was left."""
    query = [("timestamps", "true")]
    if source.container:
        query.append(("container", source.container))
    if wish.stream:
        query.append(("stream", STREAMS[wish.stream]))
    if wish.is_previous:
        query.append(("previous", "true"))
    elif is_streaming:
        query.append(("follow", "true"))
    if resume.since_time:
        query.append(("sinceTime", resume.since_time))
        return query
    since = wish.since_seconds
    if since is None and wish.stream and not wish.is_previous:
        since = STREAM_SINCE_SECONDS
    if since is not None:
        query.append(("sinceSeconds", str(max(1, since))))
    if wish.tail_lines is not None and not wish.stream:
        query.append(("tailLines", str(wish.tail_lines)))
    if limit_bytes is not None:
        query.append(("limitBytes", str(limit_bytes)))
    return query


async def told_by(
    session: ApiSession,
    source: LogSource,
    query: list[tuple[str, str]],
    *,
    limit_bytes: int | None = None,
    is_last: bool = True,
    limited: Callable[[], None] = lambda: None,
) -> AsyncGenerator[list[LogPiece]]:
    """One request for a log with time stamps. Raises Refused with the server's sentence, NoConnection.

    The unfinished line at the end is told where the log `is_last` read to its end, and not cut by the limit.
    """
    path = PODS.path(source.namespace, source.pod, "log")
    async with session.stream(path, query=query, accept="*/*") as answer:
        if answer.status >= 300:
            raise refused(f"No log of {source.namespace}/{source.pod}", await answer.answer(), path)
        cutter, length = Cutter(), 0
        async for chunk in answer.chunks:
            length += len(chunk)
            for at in range(0, len(chunk), PIECE_BYTES):
                yield cutter.feed(chunk[at : at + PIECE_BYTES])
        if limit_bytes is not None and length >= limit_bytes:
            limited()
        elif is_last and (rest := cutter.end()):
            yield rest


GAP = "earlier lines may be missing: the container restarted, or its log was rotated, in the meantime"
NEXT_RUN = "the container ended; this is its next run"


def _note(source: LogSource, text: str, before_nanoseconds: int, after: LogPiece) -> LogLine:
    return LogLine(source, text, max(before_nanoseconds, after.at_nanoseconds), is_note=True)


def _line(source: LogSource, piece: LogPiece) -> LogLine:
    return LogLine(source, piece.text, piece.at_nanoseconds, overwritten=piece.overwritten)


async def read_once(
    session: ApiSession,
    source: LogSource,
    *,
    tail_lines: int | None = None,
    limit_bytes: int | None = None,
    is_previous: bool = False,
) -> list[LogLine]:
    """The last lines of one log, or with `limit_bytes` alone its first ones, as far as the node keeps them.

    Raises Refused with the server's sentence, NoConnection.
    """
    wish = LogWish(tail_lines, None, is_previous, is_following=False)
    query = query_of(source, wish, Resume(), limit_bytes=limit_bytes)
    found: list[LogLine] = []
    async with aclosing(told_by(session, source, query, limit_bytes=limit_bytes)) as chunks:
        async for told in chunks:
            found += (_line(source, item) for item in told)
    return found
