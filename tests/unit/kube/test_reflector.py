"""The ladder: lists, watches, and every way in which they end."""

import asyncio
import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from aiohttp import web

from cockpit.clock import ManualClock
from cockpit.kube.decode import decoders
from cockpit.kube.decode.decoders import Decoder
from cockpit.kube.proto import core_pb2
from cockpit.kube.reflector import Reflector
from cockpit.kube.resource import MPIJOBS, PODS, Resource
from cockpit.kube.session import Session
from cockpit.model.batch import Batch, ListMark, Phase
from tests.unit.kube.builders import (
    FakeServer,
    bookmark,
    event,
    fill,
    listing,
    meta,
    pod,
    protobuf_event,
    protobuf_stream,
    refuse,
    reply,
    status,
    stream,
)

PATH = "/api/v1/pods"
INITIAL = (event("ADDED", pod("a")), event("ADDED", pod("b")), bookmark("10", ends_list=True))


class Watcher:
    """Runs one reflector until a condition holds; sleeping moves the clock instead."""

    def __init__(
        self,
        session: Session,
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

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self._clock.advance(seconds)
        self._moved.set()
        await asyncio.sleep(0)

    async def until(self, holds: Callable[[], bool]) -> None:
        task = asyncio.create_task(self.reflector.run())
        try:
            async with asyncio.timeout(10):
                while not holds():
                    if task.done():
                        task.result()
                    self._moved.clear()
                    moved = asyncio.create_task(self._moved.wait())
                    await asyncio.wait({moved, task}, return_when=asyncio.FIRST_COMPLETED)
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


@pytest.fixture
def watcher(session: Session, clock: ManualClock) -> Watcher:
    return Watcher(session, clock)


def ended(watcher: Watcher) -> bool:
    return ListMark.END in watcher.marks()


async def test_streaming_list(server: FakeServer, watcher: Watcher) -> None:
    server.on(PATH, stream(*INITIAL, event("MODIFIED", pod("a", version="11")), stays=True))
    await watcher.until(lambda: any(r.resource_version == "11" for r in watcher.table.values()))
    assert watcher.names == ["a", "b"]
    assert watcher.marks() == [ListMark.BEGIN, ListMark.END]
    assert watcher.phases == [Phase.LISTING, Phase.LIVE]
    asked = server.queries(PATH)[0]
    assert asked["sendInitialEvents"] == "true"
    assert asked["resourceVersionMatch"] == "NotOlderThan"
    assert asked["allowWatchBookmarks"] == "true"
    assert "resourceVersion" not in asked
    assert 300 <= int(asked["timeoutSeconds"]) <= 600


async def test_protobuf_is_asked_for_and_read(server: FakeServer, watcher: Watcher) -> None:
    mark = core_pb2.Pod()
    mark.metadata.resource_version = "10"
    mark.metadata.annotations["k8s.io/initial-events-end"] = "true"
    parts = [
        protobuf_event("ADDED", fill(core_pb2.Pod(), pod("a"))),
        protobuf_event("BOOKMARK", mark),
        protobuf_event("ADDED", fill(core_pb2.Pod(), pod("b", version="11"))),
        protobuf_event("DELETED", fill(core_pb2.Pod(), pod("a", version="12"))),
    ]
    server.on(PATH, protobuf_stream(*parts, stays=True))
    await watcher.until(lambda: watcher.names == ["b"])
    accept = server.seen[-1].headers["Accept"]
    assert accept.startswith("application/vnd.kubernetes.protobuf;stream=watch,application/json")
    assert watcher.objects == 1 or watcher.batches[-1].status is None


async def test_an_empty_list_is_complete(server: FakeServer, watcher: Watcher) -> None:
    server.on(PATH, stream(bookmark("3", ends_list=True), stays=True))
    await watcher.until(lambda: ended(watcher))
    assert watcher.phase is Phase.LIVE
    assert watcher.objects == 0


async def test_a_json_kind_offers_json_only(server: FakeServer, session: Session, clock: ManualClock) -> None:
    watcher = Watcher(session, clock, MPIJOBS, decoders.MPIJOB, namespace="team-a")
    path = "/apis/kubeflow.org/v2beta1/namespaces/team-a/mpijobs"
    server.on(
        path, stream(event("ADDED", {"metadata": meta("llm")}), bookmark("2", ends_list=True), stays=True)
    )
    await watcher.until(lambda: ended(watcher))
    assert server.seen[-1].headers["Accept"] == "application/json"
    assert watcher.batches[-1].scope == "team-a"


@pytest.mark.parametrize("code", [400, 422])
async def test_without_streaming_lists_it_pages(server: FakeServer, watcher: Watcher, code: int) -> None:
    server.on(
        PATH,
        refuse(code, "Invalid", "sendInitialEvents is forbidden for watch"),
        reply(listing(pod("a"), version="20", token="next")),
        reply(listing(pod("b"), version="20")),
        stream(event("ADDED", pod("c", version="21")), stays=True),
    )
    await watcher.until(lambda: watcher.names == ["a", "b", "c"])
    first, page_one, page_two, watch = server.queries(PATH)
    assert "sendInitialEvents" in first
    assert page_one == {"limit": "500"}
    assert page_two == {"limit": "500", "continue": "next"}
    assert watch["resourceVersion"] == "20"
    assert watcher.marks() == [ListMark.BEGIN, ListMark.END]


async def test_the_missing_streaming_list_is_remembered(server: FakeServer, watcher: Watcher) -> None:
    server.on(
        PATH,
        refuse(422, "Invalid", "no"),
        reply(listing(version="20")),
        stream(event("ERROR", status(410, "Expired", "too old"))),
        reply(listing(pod("a"), version="30")),
        stream(stays=True),
    )
    await watcher.until(lambda: watcher.names == ["a"] and watcher.phase is Phase.LIVE)
    assert sum("sendInitialEvents" in query for query in server.queries(PATH)) == 1
    again = server.queries(PATH)[3]
    assert again["resourceVersion"] == "20"
    assert again["resourceVersionMatch"] == "NotOlderThan"


async def test_a_page_token_that_expires_restarts_a_consistent_list(
    server: FakeServer, watcher: Watcher
) -> None:
    server.on(
        PATH,
        refuse(422, "Invalid", "no"),
        reply(listing(pod("a"), pod("gone"), version="20", token="next")),
        refuse(410, "Expired", "the provided continue parameter is too old"),
        reply(listing(pod("a"), version="25", token="other")),
        reply(listing(pod("b"), version="25")),
        stream(stays=True),
    )
    await watcher.until(lambda: ended(watcher))
    assert watcher.names == ["a", "b"]
    assert watcher.marks() == [ListMark.BEGIN, ListMark.BEGIN, ListMark.END]
    assert server.queries(PATH)[3] == {"limit": "500"}


@pytest.mark.parametrize("as_event", [True, False])
async def test_410_lists_again(server: FakeServer, watcher: Watcher, as_event: bool) -> None:
    gone = stream(*INITIAL, event("ERROR", status(410, "Expired", "too old resource version")))
    steps = [gone] if as_event else [stream(*INITIAL), refuse(410, "Expired", "too old resource version")]
    server.on(
        PATH,
        *steps,
        stream(
            event("ADDED", pod("b")), event("ADDED", pod("c")), bookmark("30", ends_list=True), stays=True
        ),
    )
    await watcher.until(lambda: watcher.marks().count(ListMark.END) == 2)
    assert watcher.names == ["b", "c"]
    assert watcher.objects == 2
    assert "resourceVersion" not in server.queries(PATH)[-1]
    assert Phase.LIVE is watcher.phase


async def test_a_clean_end_goes_on_at_the_last_version(
    server: FakeServer, watcher: Watcher, clock: ManualClock
) -> None:
    server.on(
        PATH,
        stream(*INITIAL, event("MODIFIED", pod("a", version="15"))),
        stream(bookmark("40")),
        stream(event("DELETED", pod("b", version="44"))),
        stream(stays=True),
    )
    await watcher.until(lambda: server.count(PATH) == 4)
    versions = [query.get("resourceVersion") for query in server.queries(PATH)]
    assert versions == [None, "15", "40", "44"]
    assert watcher.marks() == [ListMark.BEGIN, ListMark.END]
    assert watcher.names == ["a"]


async def test_after_minutes_of_health_it_reconnects_without_waiting(
    server: FakeServer, watcher: Watcher, clock: ManualClock
) -> None:
    def long_lived(version: str) -> Any:
        async def answer(request: Any) -> Any:
            response = web.StreamResponse(headers={"Content-Type": "application/json"})
            await response.prepare(request)
            first = b"".join(INITIAL) if version == "11" else b""
            await response.write(first + event("MODIFIED", pod("a", version=version)))
            await watcher.version_of("uid-a", version)
            clock.advance(400)
            return response

        return answer

    server.on(PATH, long_lived("11"), long_lived("12"), long_lived("13"), stream(stays=True))
    await watcher.until(lambda: server.count(PATH) == 4)
    assert watcher.waits == []
    assert Phase.BACKING_OFF not in watcher.phases


@pytest.mark.parametrize(
    "steps",
    [
        (stream(),),
        (stream(b'{"type":"ADDED","obj'),),
        (stream(*INITIAL, cut=True),),
        (refuse(500, "InternalError", "boom"),),
        (refuse(503, "ServiceUnavailable", "later"),),
        (refuse(504, "Timeout", "Too large resource version: 99, current: 10"),),
        (stream(event("ERROR", status(410, "Expired", "too old"))),),
        (refuse(410, "Expired", "too old"),),
        (refuse(422, "Invalid", "no"), refuse(410, "Expired", "too old")),
        (refuse(422, "Invalid", "no"), reply(listing(pod("a"), token="t")), refuse(410, "Expired", "old")),
        (reply("<html>log in</html>", content_type="text/html"),),
        (reply("<html>log in</html>"),),
        (stream(b"{}\n{}\n{}\n{}\n"),),
        (refuse(403, "Forbidden", "no"),),
        (refuse(404, "NotFound", "no"),),
        (refuse(401, "Unauthorized", "no"),),
    ],
)
async def test_no_failure_asks_more_than_promised(
    server: FakeServer, watcher: Watcher, clock: ManualClock, steps: tuple[Any, ...]
) -> None:
    """At most five requests in the first ten seconds, then a quarter a second, whatever goes wrong."""
    times: list[float] = []

    def timed(step: Any) -> Any:
        async def answer(request: Any) -> Any:
            times.append(clock.monotonic())
            return await step(request)

        return answer

    server.on(PATH, *(timed(step) for step in steps))
    start = clock.monotonic()
    await watcher.until(lambda: clock.monotonic() - start > 600)
    assert sum(at - start <= 10 for at in times) <= 5
    for first in range(0, len(times), 3):
        for last in range(first, len(times)):
            assert last - first + 1 <= 5 + 0.25 * (times[last] - times[first])


async def test_429_waits_as_long_as_the_server_says(server: FakeServer, watcher: Watcher) -> None:
    server.on(
        PATH,
        stream(*INITIAL, event("MODIFIED", pod("a", version="12"))),
        refuse(429, "TooManyRequests", "please wait", Retry_After="17"),
        stream(stays=True),
    )
    await watcher.until(lambda: server.count(PATH) == 3)
    assert any(17 <= wait <= 17 * 1.2 + 4 for wait in watcher.waits)
    assert server.queries(PATH)[-1]["resourceVersion"] == "12"
    assert watcher.marks() == [ListMark.BEGIN, ListMark.END]


@pytest.mark.parametrize(
    ("code", "reason", "phase", "words"),
    [
        (403, "Forbidden", Phase.DENIED, "You cannot list and watch pods"),
        (401, "Unauthorized", Phase.DENIED, "log in again"),
        (404, "NotFound", Phase.ABSENT, "does not serve pods"),
    ],
)
async def test_denied_and_absent_wait_long(
    server: FakeServer, watcher: Watcher, code: int, reason: str, *, phase: Phase, words: str
) -> None:
    server.on(PATH, refuse(code, reason, "no"), stream(*INITIAL, stays=True))
    await watcher.until(lambda: ended(watcher))
    assert phase in watcher.phases
    told = [b.status for b in watcher.batches if b.status is not None and b.status.phase is phase]
    assert words in told[0].message
    assert told[0].retry_seconds is not None
    assert max(watcher.waits) >= 60
    assert watcher.phase is Phase.LIVE


async def test_silence_is_noticed(server: FakeServer, session: Session, clock: ManualClock) -> None:
    watcher = Watcher(session, clock, idle_seconds=0.05)
    server.on(PATH, stream(*INITIAL, stays=True), stream(event("ADDED", pod("c", version="11")), stays=True))
    await watcher.until(lambda: "c" in watcher.names)
    assert Phase.STALE in watcher.phases
    stale = next(b.status for b in watcher.batches if b.status is not None and b.status.phase is Phase.STALE)
    assert "silent for 0.05 s" in stale.message
    assert server.queries(PATH)[1]["resourceVersion"] == "10"


BAD_POD: Mapping[str, Any] = {"metadata": meta("bad"), "spec": {"containers": "none"}}


async def test_one_bad_object_costs_one_row(server: FakeServer, watcher: Watcher) -> None:
    server.on(
        PATH,
        stream(
            event("ADDED", pod("a")),
            event("ADDED", dict(BAD_POD)),
            event("ADDED", pod("b")),
            INITIAL[-1],
            stays=True,
        ),
    )
    await watcher.until(lambda: ended(watcher))
    assert watcher.names == ["a", "b"]
    assert watcher.skipped == 1
    assert server.count(PATH) == 1


async def test_nulls_where_lists_belong_cost_nothing(server: FakeServer, watcher: Watcher) -> None:
    odd = {"metadata": meta("odd") | {"labels": None}, "spec": {"containers": None}, "status": None}
    server.on(PATH, stream(event("ADDED", odd), INITIAL[-1], stays=True))
    await watcher.until(lambda: ended(watcher))
    assert watcher.names == ["odd"]
    assert watcher.skipped == 0


async def test_a_bad_line_does_not_end_the_stream(server: FakeServer, watcher: Watcher) -> None:
    bad = b"not json\n" + b"\xff\xfe\n"
    server.on(
        PATH, stream(event("ADDED", pod("a")), bad, event("ADDED", pod("b")), bad, INITIAL[-1], stays=True)
    )
    await watcher.until(lambda: ended(watcher))
    assert watcher.names == ["a", "b"]
    assert watcher.skipped == 4
    assert server.count(PATH) == 1


async def test_a_half_line_at_the_end_is_a_cut(server: FakeServer, watcher: Watcher) -> None:
    server.on(PATH, stream(*INITIAL, event("ADDED", pod("c"))[:-20]), stream(stays=True))
    await watcher.until(lambda: server.count(PATH) == 2)
    assert watcher.names == ["a", "b"]
    told = [b.status for b in watcher.batches if b.status is not None and b.status.phase is Phase.BACKING_OFF]
    assert "cut" in told[0].message


async def test_invalid_utf8_is_shown_as_replaced(server: FakeServer, watcher: Watcher) -> None:
    line = event("ADDED", pod("a", metadata=meta("a") | {"labels": {"ray.io/cluster": "XX"}})).replace(
        b"XX", b"\xff"
    )
    server.on(PATH, stream(line, INITIAL[-1], stays=True))
    await watcher.until(lambda: ended(watcher))
    assert watcher.table["uid-a"].job_label == "\ufffd"


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (reply("<html>", content_type="text/html; charset=utf-8"), "text/html"),
        (stream(b"<html>\n<body>\nplease log in\n</body>\n"), "cannot be read"),
        (protobuf_stream(b"<html><body>please log in"), "not a protobuf watch stream"),
        (stream(b"", content_type="application/x-lies"), "application/x-lies"),
    ],
)
async def test_lying_answers_are_named(server: FakeServer, watcher: Watcher, step: Any, words: str) -> None:
    server.on(PATH, step, stream(*INITIAL, stays=True))
    await watcher.until(lambda: ended(watcher))
    told = [
        b.status.message
        for b in watcher.batches
        if b.status is not None and b.status.phase is Phase.BACKING_OFF
    ]
    assert words in told[0]
    assert watcher.names == ["a", "b"]


async def test_a_list_that_never_ends_falls_back_to_pages(server: FakeServer, watcher: Watcher) -> None:
    """An old or lying server sends initial events without the closing bookmark."""

    async def answer(request: Any) -> Any:
        if "limit" in request.query:
            return await reply(listing(pod("a"), version="5"))(request)
        if "sendInitialEvents" in request.query:
            return await stream(event("ADDED", pod("a")))(request)
        return await stream(stays=True)(request)

    server.on(PATH, answer)
    await watcher.until(lambda: ended(watcher))
    assert watcher.names == ["a"]
    assert sum("sendInitialEvents" in query for query in server.queries(PATH)) == 3


async def test_unreachable_server_backs_off_and_keeps_the_data(server: FakeServer, watcher: Watcher) -> None:
    server.on(PATH, stream(*INITIAL, cut=True), stream(cut=True), stream(stays=True))
    await watcher.until(lambda: server.count(PATH) == 3)
    assert watcher.names == ["a", "b"]
    assert watcher.marks() == [ListMark.BEGIN, ListMark.END]


async def test_batches_are_bounded(server: FakeServer, watcher: Watcher) -> None:
    many = [event("ADDED", pod(f"p{i}")) for i in range(1700)]
    server.on(PATH, stream(b"".join(many), INITIAL[-1], stays=True))
    await watcher.until(lambda: ended(watcher))
    assert len(watcher.table) == 1700
    assert max(len(batch.changed) for batch in watcher.batches) <= 500


async def test_deleted_and_unknown_event_types(server: FakeServer, watcher: Watcher) -> None:
    server.on(
        PATH,
        stream(
            *INITIAL,
            event("DELETED", pod("a")),
            event("DELETED", pod("never")),
            event("SURPRISE", pod("x")),
            stays=True,
        ),
    )
    await watcher.until(lambda: watcher.names == ["b"])
