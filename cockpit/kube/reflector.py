"""One kind, kept current: list, watch, and what to do when either fails. A ladder of small steps.

One attempt climbs: streaming list (or pages where the server has none), then the watch, until it ends.
How it ended (`Ended`) decides the next attempt: go on from the last version, list again, wait, wait long.
Sources: client-go tools/cache/reflector.go; kubernetes.io API concepts (streaming lists, bookmarks, 410).
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Never

import msgspec

from cockpit.clock import Clock
from cockpit.errors import CockpitError, LoginExpired, NoConnection
from cockpit.kube.backoff import STEADY_SECONDS, Backoff
from cockpit.kube.batcher import Batcher
from cockpit.kube.decode.decoders import Decode, Decoder
from cockpit.kube.decode.frames import FramingError
from cockpit.kube.decode.wire import ListPage, ServerStatus, UndecodableError, Wire, wire_of
from cockpit.kube.event_dispatch import EventDispatcher
from cockpit.kube.failures import Silent, host_of
from cockpit.kube.pulse import within
from cockpit.kube.resource import Resource
from cockpit.kube.session import ApiSession, StreamAnswer
from cockpit.kube.stream_end import REFUSALS, Ended, How, judge, where
from cockpit.model.batch import Batch, Phase

IDLE_SECONDS = 75.0
"""Servers send a bookmark about every minute; a longer time without a whole frame is silence."""
LIFE_BYTES = 4096
"""Bytes of one big frame that count as a sign of life."""
HEAD_SECONDS = 10.0
"""Patience for the head of a watch that goes on from a version. A list may wait its turn for longer."""
SLOW_SECONDS = 20.0
"""A list of which nothing comes for this long is told: a proxy on the way may keep it back."""
NEARLY = 0.98
"""Left of a period, its timer stays: setting one again for each chunk costs 3 % of a list."""
PAGE_OBJECTS = 500
PAGE_SECONDS = 90.0
SOON_SECONDS = (1.0, 2.0, 4.0)
"""When what was allowed, or served, before is asked for again: the caches of a starting server are cold."""
AGAIN_SECONDS = (15.0, 30.0, 60.0, 120.0)
"""Then, as long as the refusal holds: a role that is made again is seen soon."""
EXPIRED_SECONDS = 0.4
"""Times 1..2 at random, before what has expired is listed again: 50,000 objects are fresh within 2 s."""
GAP_SECONDS = 30.0
"""After a list, before another one for an event that could not be read: it may have been a deletion."""
DENIED_SECONDS = 300.0
ABSENT_SECONDS = 60.0
REJECTED_SECONDS = 30.0
POLL_SECONDS = 60.0
POLLS = 10
"""Polls of a kind that may be listed but not watched before the watch is tried again."""
UNFINISHED_LISTS = 3
"""Incomplete streaming lists before the reflector falls back to pages."""
WATCH_SECONDS = (300, 600)  # asked of the server, at random, as client-go does: not all streams end at once

Sink = Callable[[Batch], None]
Sleep = Callable[[float], Awaitable[None]]


class Reflector:
    """Keeps one resource of one scope current and tells a sink in batches.

    `scope` defaults to the namespace; kinds that gather several resources (pools) give each its own scope,
    because the end of a list removes what it did not name in that kind and scope.
    """

    def __init__(
        self,
        session: ApiSession,
        resource: Resource,
        decoder: Decoder,
        sink: Sink,
        *,
        kind: str,
        clock: Clock,
        rng: random.Random,
        namespace: str = "",
        scope: str | None = None,
        sleep: Sleep = asyncio.sleep,
        idle_seconds: float = IDLE_SECONDS,
        slow_seconds: float = SLOW_SECONDS,
        page_objects: int = PAGE_OBJECTS,
        streaming_list: bool = True,
    ) -> None:
        self.resource = resource
        self._session = session
        self._pulse = session.pulse
        self._decoder = decoder
        self._path = resource.path(namespace)
        self._clock = clock
        self._rng = rng
        self._sleep = sleep
        self._idle = idle_seconds
        self._slow = slow_seconds
        self._slow_timer: asyncio.TimerHandle | None = None
        self._page_objects = page_objects
        self._has_streaming_list = streaming_list
        self._is_consistent_list_due = False
        self._unfinished_lists = 0
        self._poll_message = ""
        self._has_expired = False
        self._was_cut = False
        self._version = ""
        self._known_version = ""  # of the data that stands, also after it expired
        self._gaps = 0  # events that could not be read since the last list began
        self._listed_at = 0.0
        self._pace = Backoff(clock, rng)
        self._where = where(resource, namespace)
        self._polls_left = 0
        self._is_list_denied = False
        self._pages = 0  # of a list that is not complete
        self._refusals = 0  # in a row, of what was answered before
        self._batcher = Batcher(sink, clock, kind, namespace if scope is None else scope)

    async def run(self) -> Never:
        """Keep going until cancelled. Expected failures become statuses."""
        self._batcher.phase(Phase.LISTING)
        try:
            while True:
                await self._admitted()
                ended = await self._attempt()
                await self._recover(ended)
        finally:
            self._batcher.falls_silent()

    # ---- one attempt, rung by rung

    async def _attempt(self) -> Ended:
        try:
            if self._polls_left:
                return await self._paged_list() or Ended(How.POLLED, self._poll_message)
            if self._version:
                return await self._watch()
            if self._has_streaming_list:
                return await self._streaming_list()
            listed = await self._paged_list()
            if listed is not None:
                return listed
            await self._admitted()
            return await self._watch()
        except Silent as error:
            return Ended(How.SILENT, error.sentence, lived_seconds=self._batcher.lived())
        except LoginExpired as error:
            return Ended(How.REJECTED, error.sentence, lived_seconds=self._batcher.lived())
        except NoConnection as error:
            return Ended(How.CUT, error.sentence, lived_seconds=self._batcher.lived())
        except FramingError as error:
            return Ended(How.UNREADABLE, error.reason, lived_seconds=self._batcher.lived())
        except CockpitError as error:
            return Ended(How.DENIED, error.sentence)

    async def _streaming_list(self) -> Ended:
        """List and watch in one request: the list ends with a bookmark that says so."""
        query = [
            ("watch", "1"),
            ("sendInitialEvents", "true"),
            ("resourceVersionMatch", "NotOlderThan"),
            ("allowWatchBookmarks", "true"),
            ("timeoutSeconds", self._watch_seconds()),
        ]
        return await self._stream(query, is_listing=True)

    async def _watch(self) -> Ended:
        """Changes since the version we have."""
        query = [
            ("watch", "1"),
            ("resourceVersion", self._version),
            ("allowWatchBookmarks", "true"),
            ("timeoutSeconds", self._watch_seconds()),
        ]
        return await self._stream(query, is_listing=False)

    async def _stream(self, query: Sequence[tuple[str, str]], *, is_listing: bool) -> Ended:
        patience = self._idle if is_listing else min(self._idle, HEAD_SECONDS)
        life = asyncio.timeout(patience)
        self._expect(is_listing=is_listing)
        try:
            async with (
                life,
                self._session.stream(self._path, query=query, accept=self._decoder.accept_watch) as answer,
            ):
                patience = self._idle
                self._lives(life)
                if answer.status != 200:
                    return self._refused(await self._refusal(answer), answer, is_listing=is_listing)
                wire = wire_of(answer.content_type)
                self._answered()
                if is_listing:
                    self._batcher.begin()
                else:
                    self._batcher.heard()
                    self._batcher.phase(Phase.LIVE)
                self._poll_message = ""
                return await self._events(answer, wire, life, is_listing=is_listing)
        except TimeoutError:
            words = "has been silent" if patience == self._idle else "did not answer"
            raise Silent(f"{host_of(self._session.server)} {words} for {patience:g} s.") from None
        finally:
            self._expect(is_listing=False)

    def _expect(self, *, is_listing: bool) -> None:
        """Something comes soon while a list does; where nothing does, that is told."""
        timer, loop = self._slow_timer, asyncio.get_running_loop()
        if timer is not None:
            if is_listing and timer.when() > loop.time() + NEARLY * self._slow:
                return
            timer.cancel()
        self._slow_timer = loop.call_later(self._slow, self._tell_slow) if is_listing else None

    def _tell_slow(self) -> None:
        host = host_of(self._session.server)
        words = f"{host} has sent nothing for {self._slow:g} s: it is busy, or a proxy on the way keeps"
        self._batcher.phase(self._batcher.resting_phase(), f"{words} its answers back (response buffering).")

    def _lives(self, life: asyncio.Timeout) -> None:
        now = asyncio.get_running_loop().time()
        if not life.expired() and (life.when() or 0.0) < now + NEARLY * self._idle:
            life.reschedule(now + self._idle)

    def _answered(self) -> None:
        self._batcher.answered()
        self._refusals = 0

    async def _events(
        self, answer: StreamAnswer, wire: Wire, life: asyncio.Timeout, *, is_listing: bool
    ) -> Ended:
        frames = wire.frames()
        decode = self._decode_for(answer.content_type)
        dispatcher = EventDispatcher(self, wire, decode, is_listing=is_listing)
        known, gaps = (0, 0), self._gaps
        async for chunk in answer.chunks:
            self._batcher.chunk_begins()
            frames.add(chunk)
            while ended := dispatcher.work(frames):
                self._batcher.flush()
                if isinstance(ended, Ended):
                    return ended
                await asyncio.sleep(0)
                self._batcher.slice_begins()
            if frames.oversized:
                self._batcher.skipped(frames.oversized)
                self._gaps += frames.oversized
                frames.oversized = 0
            self._batcher.chunk_ends()
            if dispatcher.is_listing:
                gaps = self._gaps
            elif self._gaps > gaps and self._clock.monotonic() - self._listed_at >= GAP_SECONDS:
                self._batcher.flush()
                return Ended(How.EXPIRED, "an event cannot be read; all are listed again")
            if dispatcher.frames != known[0] or frames.leftover() - known[1] >= LIFE_BYTES:
                known = (dispatcher.frames, frames.leftover())
                self._lives(life)
                self._expect(is_listing=dispatcher.is_listing)
        self._batcher.flush()
        if dispatcher.is_listing or frames.leftover():
            return Ended(How.CUT, "the stream was cut in the middle", lived_seconds=self._batcher.lived())
        return Ended(How.CLOSED, "the server closed the stream", lived_seconds=self._batcher.lived())

    async def _paged_list(self) -> Ended | None:
        """The list in pages; None when it is complete and the watch may begin."""
        token = ""
        self._pages = 0
        while True:
            answer = await self._session.request(
                "GET",
                self._path,
                query=self._page_query(token),
                accept=self._decoder.accept_list,
                timeout_seconds=PAGE_SECONDS,
                is_fresh=True,  # a read over a kept connection is sent twice where that was dropped
            )
            if not answer.ok:
                self._is_consistent_list_due = True
                said = answer.server_status()
                return judge(self._where, answer.status, said, answer.retry_after_seconds)
            try:
                page = wire_of(answer.content_type).page(answer.body)
            except UndecodableError as error:
                raise FramingError(str(error)) from None
            if not self._pages:
                self._answered()
                self._batcher.begin()
            self._pages += 1
            await self._take_page(page, self._decode_for(answer.content_type))
            token = page.continue_token
            if not token:
                self._pages = 0
                self._is_consistent_list_due = False
                self.listed(page.version, Phase.POLLED)
                return None

    def _page_query(self, token: str) -> list[tuple[str, str]]:
        """After an expired version first "not older than what we had", only then a consistent list: a
        consistent list is read from etcd, and a thousand clients doing so at once bring it down."""
        query = [("limit", str(self._page_objects))]
        if token:
            query.append(("continue", token))
        elif self._known_version and not self._is_consistent_list_due:
            query += [("resourceVersion", self._known_version), ("resourceVersionMatch", "NotOlderThan")]
        return query

    async def _take_page(self, page: ListPage, decode: Decode) -> None:
        for item in page.items:
            self.decoded(decode, item, is_new=True, is_listing=True)
            if self._batcher.is_full():
                self._batcher.flush()
                await asyncio.sleep(0)
                self._batcher.slice_begins()
        self._batcher.flush()

    # ---- what the dispatcher tells

    def decoded(self, decode: Decode, raw: bytes, *, is_new: bool, is_listing: bool) -> None:
        """Decode one object and hand it on; one that cannot be decoded is counted.

        Objects of a list come in no order of versions, so only a watch moves the version on.
        """
        try:
            record = decode(raw)
        except UndecodableError:
            self._batcher.skipped(1)
        except (TypeError, ValueError, AttributeError, KeyError, IndexError, OverflowError):
            self._batcher.skipped(1)  # an invalid value costs this object only
        else:
            if record is not None:
                self._batcher.changed(record, is_new=is_new)
                if not is_listing and record.resource_version:
                    self._version = self._known_version = record.resource_version

    def listing(self, records: Sequence[Any]) -> None:
        """Hand on records of a list, which are all new."""
        self._batcher.listing(records)

    def is_full(self) -> bool:
        """True when it is time to hand over and to let others run."""
        return self._batcher.is_full()

    def removed(self, wire: Wire, raw: bytes) -> Ended | None:
        """Hand on that an object is gone. Where it is not said which, the watch ends: a list tells."""
        try:
            uid, version = wire.identity(raw)
        except UndecodableError:
            uid = version = ""
        if not uid:
            self._batcher.skipped(1)
            return Ended(How.EXPIRED, "which object is gone cannot be read; all are listed again")
        self._batcher.removed(uid)
        if version and self._version:
            self._version = self._known_version = version
        return None

    def bookmark(self, version: str) -> None:
        """The server says how far we are."""
        if version:
            self._version = self._known_version = version
        self._batcher.heartbeat()

    def listed(self, version: str, phase: Phase = Phase.LIVE) -> None:
        """The list is complete; `phase` says whether a watch stands behind it."""
        self._version = self._known_version = version
        self._unfinished_lists = 0
        self._listed_at = self._clock.monotonic()
        self._batcher.end(phase)

    def skipped_frame(self) -> None:
        """A frame was no event: a list tells what it would have."""
        self._batcher.skipped(1)
        self._gaps += 1

    def error_event(self, status: ServerStatus) -> Ended:
        """The server ended the stream with a Status."""
        return msgspec.structs.replace(
            judge(self._where, status.code or 500, status, None), lived_seconds=self._batcher.lived()
        )

    # ---- judging

    def _decode_for(self, content_type: str) -> Decode:
        try:
            return self._decoder.for_type(content_type)
        except UndecodableError as error:
            raise FramingError(str(error)) from None

    async def _refusal(self, answer: StreamAnswer) -> ServerStatus:
        return (await answer.answer()).server_status()

    def _refused(self, said: ServerStatus, answer: StreamAnswer, *, is_listing: bool) -> Ended:
        # A server without streaming lists says 400 or 422 about the parameter (API concepts page).
        if is_listing and answer.status in (400, 406, 422):
            return Ended(How.NO_STREAMING_LIST, said.message)
        return judge(self._where, answer.status, said, answer.retry_after_seconds)

    # ---- between attempts

    def _watch_seconds(self) -> str:
        return str(self._rng.randint(*WATCH_SECONDS))

    async def _admitted(self) -> None:
        """Until one more request may be sent: there is a server, and the pace allows it."""
        if self._pulse.is_dark:
            await self._pulse.returned()
            await self._spread()
        wait = self._pace.admit()
        if wait > 0:
            await self._sleep(wait)

    async def _recover(self, ended: Ended) -> None:
        """Decide what stands and when to try again."""
        self._batcher.interrupted()
        self._pace.lived(ended.lived_seconds)
        self._pace.charge(self._pages)
        self._pages = 0
        if ended.lived_seconds >= STEADY_SECONDS:
            self._has_expired = False
        how = ended.how
        if self._was_cut and how is not How.CUT:
            self._pace.eased()
        self._was_cut = how is How.CUT
        if not self._version and self._has_streaming_list:
            self._unfinished_lists += 1
            if self._unfinished_lists >= UNFINISHED_LISTS:
                self._has_streaming_list = False
        if self._gaps:  # what could not be read may have been a deletion
            self._gaps = 0
            self._version = ""
        if how is How.NO_STREAMING_LIST:
            self._has_streaming_list = False
        elif how in REFUSALS:
            await self._refusal_stands(ended)
        elif how is How.REJECTED:
            message = ended.message or self._session.login_refused
            self._pulse.suspect()
            await self._wait(Phase.NOT_LOGGED_IN, message, REJECTED_SECONDS, ends_early=True)
        elif how is How.POLLED:
            self._polls_left -= 1
            self._is_list_denied = False
            words = f"{ended.message.rstrip('.')}; polling every {POLL_SECONDS:g} s."
            await self._wait_long(Phase.POLLED, words, POLL_SECONDS)
        elif how is How.EXPIRED and not self._has_expired:
            self._version = ""
            self._has_expired = True  # a fresh list is wanted soon; a second one waits as others do
            await self._wait(Phase.STALE, ended.message, EXPIRED_SECONDS * (1.0 + self._rng.random()))
        elif how is How.CLOSED and ended.lived_seconds >= STEADY_SECONDS and self._pace.failures == 0:
            self._batcher.phase(Phase.STALE, "the watch is being renewed")  # the server's own time limit
        elif how is How.SILENT:
            self._pulse.suspect()
            self._batcher.phase(Phase.STALE, ended.message)  # the silence itself was the pause
        else:
            if how is How.EXPIRED:
                self._version = ""
            self._pulse.suspect()
            phase, seconds = Phase.BACKING_OFF, self._pace.back_off(ended.retry_after_seconds)
            await self._wait(phase, ended.message, seconds, ends_early=not ended.retry_after_seconds)

    async def _refusal_stands(self, ended: Ended) -> None:
        """What was allowed before is asked for again soon; then the refusal holds, or the kind is polled."""
        how = ended.how
        is_old = how is How.NO_WATCH and bool(self._poll_message)  # it was polled for that reason before
        if self._batcher.has_listed and not is_old and self._refusals < len(SOON_SECONDS):
            seconds = SOON_SECONDS[self._refusals]
            self._refusals += 1
            await self._wait(Phase.STALE, ended.message, seconds, ends_early=True)
            return
        if how is How.NO_WATCH and not self._polls_left:
            self._polls_left, self._poll_message = POLLS, ended.message
            if self._is_list_denied:
                await self._wait_long(Phase.DENIED, self._where.denied("list or watch"), DENIED_SECONDS)
            return
        self._is_list_denied = self._polls_left > 0
        message = self._where.denied("list or watch") if self._is_list_denied else ended.message
        self._polls_left = 0
        self._version = ""
        phase, seconds = (
            (Phase.ABSENT, ABSENT_SECONDS) if how is How.ABSENT else (Phase.DENIED, DENIED_SECONDS)
        )
        if self._batcher.has_listed and (how is not How.ABSENT or self.resource.is_built_in):
            waits = (*SOON_SECONDS, *AGAIN_SECONDS, DENIED_SECONDS)
            seconds = min(waits[min(self._refusals, len(waits) - 1)], seconds)
            self._refusals += 1
        await self._wait_long(phase, message, seconds)

    async def _wait_long(self, phase: Phase, message: str, seconds: float) -> None:
        """Ends early where a person asks again."""
        self._batcher.phase(phase, message, retry_in_seconds=seconds)
        await within(seconds, self._pulse.asked_again(), self._sleep)

    async def _wait(self, phase: Phase, message: str, seconds: float, *, ends_early: bool = False) -> None:
        """Where it `ends_early`, it does when the server answers again, or accepts the login again."""
        self._batcher.phase(phase, message, retry_in_seconds=seconds)
        if not ends_early:
            await self._sleep(seconds)
        elif await within(seconds, self._pulse.returned(), self._sleep):
            await self._spread()

    async def _spread(self) -> None:
        await self._sleep(self._pulse.place_seconds())
