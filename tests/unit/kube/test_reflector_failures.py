"""What goes wrong with a stream, and how little the server is asked meanwhile."""

import asyncio
import random
from collections.abc import Mapping
from typing import Any

import pytest
from aiohttp import web

from cockpit.clock import ManualClock
from cockpit.kube.decode.decoders import POD
from cockpit.kube.pulse import SPREAD_SECONDS
from cockpit.kube.reflector import Reflector
from cockpit.kube.resource import PODS
from cockpit.kube.session import ApiSession
from cockpit.model.batch import ListMark, Phase
from tests.reliability.figures import Tell
from tests.unit.kube.builders import (
    FakeServer,
    event,
    listing,
    meta,
    pod,
    protobuf_stream,
    refuse,
    reply,
    status,
    stream,
)
from tests.unit.kube.watching import INITIAL, PATH, Watcher, ended


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
@pytest.mark.row(2, "requests in the first 10 s", most=5)
@pytest.mark.row(2, "requests a second after that", most=0.25)
async def test_no_failure_asks_more_than_promised(
    server: FakeServer, watcher: Watcher, clock: ManualClock, steps: tuple[Any, ...], figure: Tell
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
    soon = sum(at - start <= 10 for at in times)
    figure("requests in the first 10 s", soon)
    figure("requests a second after that", (len(times) - soon) / (clock.monotonic() - start - 10))
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
    ("code", "reason", "phase", "words", "seconds"),
    [
        (403, "Forbidden", Phase.DENIED, "You cannot list and watch pods in all namespaces", 300),
        (401, "Unauthorized", Phase.NOT_LOGGED_IN, "log in again", 30),
        (404, "NotFound", Phase.ABSENT, "does not serve pods", 60),
    ],
)
async def test_denied_and_absent_wait_long(
    server: FakeServer, watcher: Watcher, code: int, reason: str, *, phase: Phase, words: str, seconds: float
) -> None:
    server.on(PATH, refuse(code, reason, "no"), stream(*INITIAL, stays=True))
    await watcher.until(lambda: ended(watcher))
    assert phase in watcher.phases
    told = [b.status for b in watcher.batches if b.status is not None and b.status.phase is phase]
    assert words in told[0].message
    assert told[0].retry_seconds is not None
    assert watcher.waits == [seconds]
    assert watcher.phase is Phase.LIVE


async def test_silence_is_noticed(server: FakeServer, session: ApiSession, clock: ManualClock) -> None:
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


FORBIDDEN = 'pods is forbidden: User "v" cannot {} resource "pods" in API group "" at the cluster scope'


async def test_who_may_list_but_not_watch_reads_now_and_then(server: FakeServer, watcher: Watcher) -> None:
    async def answer(request: Any) -> Any:
        if "watch" in request.query:
            return await refuse(403, "Forbidden", FORBIDDEN.format("watch"))(request)
        return await reply(listing(pod("a"), version="5"))(request)

    server.on(PATH, answer)
    await watcher.until(lambda: len(watcher.waits) >= 12)
    assert watcher.names == ["a"]
    told = [b.status for b in watcher.batches if b.status is not None and b.status.phase is Phase.POLLED]
    assert any("You cannot watch pods in all namespaces" in one.message for one in told)
    assert min(wait for wait in watcher.waits if wait > 13) >= 60
    assert not {Phase.DENIED, Phase.LIVE} & set(watcher.phases)
    assert sum("watch" in query for query in server.queries(PATH)) == 2  # tried again after ten readings


@pytest.mark.parametrize("verb", ["list", "watch"])
async def test_the_missing_verb_is_named(server: FakeServer, watcher: Watcher, verb: str) -> None:
    server.on(PATH, refuse(403, "Forbidden", FORBIDDEN.format(verb)))
    await watcher.until(lambda: len(watcher.waits) >= 8)
    told = {
        b.status.message for b in watcher.batches if b.status is not None and b.status.phase is Phase.DENIED
    }
    verbs = "list" if verb == "list" else "list or watch"
    assert told == {f"You cannot {verbs} pods in all namespaces: ask for that right, or choose a namespace."}
    assert server.count(PATH) <= 1 + sum(wait >= 60 for wait in watcher.waits) + 1


async def test_the_first_expiry_is_followed_by_a_list_soon(
    server: FakeServer, watcher: Watcher, clock: ManualClock
) -> None:
    """After a long outage the back-off is long; a version that expired meanwhile must not wait for it."""
    gone = stream(event("ERROR", status(410, "Expired", "too old")))
    server.on(
        PATH, stream(*INITIAL), *[refuse(500, "InternalError", "no")] * 6, gone, stream(*INITIAL, stays=True)
    )
    await watcher.until(lambda: watcher.marks().count(ListMark.END) == 2)
    assert watcher.waits[-1] <= 1.6 or watcher.waits[-2] <= 1.6
    assert max(watcher.waits) > 4


async def test_streams_return_together_when_the_server_does(session: ApiSession) -> None:
    """One that is asleep for long is woken by the first answer to anybody."""
    session.pulse.failed()
    asleep = asyncio.Event()
    naps: list[float] = []

    async def sleep(seconds: float) -> None:
        naps.append(seconds)
        asleep.set()
        if len(naps) == 1:
            await asyncio.Event().wait()

    reflector = Reflector(
        session,
        PODS,
        POD,
        lambda _batch: None,
        kind="pods",
        clock=ManualClock(),
        rng=random.Random(1),
        sleep=sleep,
    )
    waiting = asyncio.create_task(reflector._wait(Phase.BACKING_OFF, "", 30.0, ends_early=True))
    await asleep.wait()
    assert (await session.request("GET", "/version")).ok
    async with asyncio.timeout(5):
        await waiting
    assert naps[0] == 30.0
    assert 0 <= naps[1] <= SPREAD_SECONDS


@pytest.mark.parametrize(("code", "reason"), [(403, "Forbidden"), (404, "NotFound")])
async def test_what_was_allowed_before_is_asked_for_again_after_1_2_and_4_seconds(
    server: FakeServer, watcher: Watcher, code: int, reason: str
) -> None:
    """A server that starts refuses until its caches are warm; the watch goes on from its version."""
    refusals = [refuse(code, reason, "no")] * 3
    server.on(PATH, stream(*INITIAL, cut=True), *refusals, stream(stays=True))
    await watcher.until(lambda: watcher.phase is Phase.LIVE and server.count(PATH) == 5)
    assert watcher.waits[-3:] == [1.0, 2.0, 4.0]
    assert not {Phase.DENIED, Phase.ABSENT} & set(watcher.phases)
    assert all(query.get("resourceVersion") == "10" for query in server.queries(PATH)[1:])
    assert watcher.names == ["a", "b"]


@pytest.mark.parametrize(
    ("code", "reason", "phase", "later"),
    [
        (403, "Forbidden", Phase.DENIED, [15, 30, 60, 120, 300, 300]),
        (404, "NotFound", Phase.ABSENT, [15, 30, 60, 60, 60]),
    ],
)
async def test_what_is_gone_is_asked_for_soon_then_rarely_and_the_rows_stand(
    server: FakeServer,
    watcher: Watcher,
    clock: ManualClock,
    code: int,
    reason: str,
    phase: Phase,
    later: list[float],
) -> None:
    server.on(PATH, stream(*INITIAL, cut=True), refuse(code, reason, "no"))
    start = clock.monotonic()
    await watcher.until(lambda: clock.monotonic() - start > 3600)
    waits = [wait for wait in watcher.waits if wait >= 15]
    assert waits[: len(later)] == later and set(waits[len(later) :]) == {later[-1]}
    assert watcher.phase is phase
    assert watcher.names == ["a", "b"]


async def test_a_person_who_asks_again_need_not_wait(server: FakeServer, session: ApiSession) -> None:
    watcher = Watcher(session, ManualClock())
    server.on(PATH, refuse(403, "Forbidden", "no"), stream(*INITIAL, stays=True))
    naps: list[float] = []
    asleep = asyncio.Event()

    async def sleep(seconds: float) -> None:
        naps.append(seconds)
        asleep.set()
        await asyncio.Event().wait()

    watcher.reflector._sleep = sleep
    asked = asyncio.create_task(watcher.until(lambda: ended(watcher)))
    await asleep.wait()
    session.pulse.ask_again()
    await asked
    assert naps == [300.0]


async def test_a_stream_that_waits_for_a_login_goes_on_with_the_others(
    server: FakeServer, session: ApiSession
) -> None:
    watcher = Watcher(session, ManualClock())
    server.on(PATH, refuse(401, "Unauthorized", "no"), stream(*INITIAL, stays=True))
    naps: list[float] = []
    asleep = asyncio.Event()

    async def sleep(seconds: float) -> None:
        naps.append(seconds)
        asleep.set()
        if len(naps) == 1:
            await asyncio.Event().wait()

    watcher.reflector._sleep = sleep
    asked = asyncio.create_task(watcher.until(lambda: ended(watcher)))
    await asleep.wait()
    assert session.pulse._doubt.is_set(), "whether all are refused is asked at once"
    session.pulse.has_returned()
    await asked
    assert naps[0] == 30.0


async def test_a_stream_is_live_only_while_a_watch_stands(server: FakeServer, watcher: Watcher) -> None:
    """A list in pages is no watch, nor is one that the server has closed."""
    phases: list[Phase | None] = []

    async def answer(request: Any) -> Any:
        phases.append(watcher.phase)
        if "sendInitialEvents" in request.query:
            return await refuse(422, "Invalid", "no")(request)
        if "limit" in request.query:
            return await reply(listing(pod("a"), version="5"))(request)
        return await stream(stays=len(phases) > 3)(request)

    server.on(PATH, answer)
    await watcher.until(lambda: len(phases) == 4 and watcher.phase is Phase.LIVE)
    assert phases[2] is Phase.POLLED
    assert phases[3] is Phase.BACKING_OFF


@pytest.mark.parametrize("piece", [b"\n", b" \r\n", b'{"type":'], ids=["blanks", "spaces", "drips"])
async def test_blanks_and_drips_are_no_life(
    server: FakeServer, session: ApiSession, clock: ManualClock, piece: bytes
) -> None:
    watcher = Watcher(session, clock, idle_seconds=0.2)
    heard = clock.now()

    async def dripping(request: Any) -> Any:
        answer = web.StreamResponse(headers={"Content-Type": "application/json"})
        await answer.prepare(request)
        await answer.write(b"".join(INITIAL))
        for _ in range(200):
            clock.advance(60.0)
            await answer.write(piece[:1] if piece.startswith(b"{") else piece)
            await asyncio.sleep(0.02)
        return answer

    server.on(PATH, dripping, stream(event("ADDED", pod("c", version="11")), stays=True))
    await watcher.until(lambda: "c" in watcher.names)
    stale = [b.status for b in watcher.batches if b.status is not None and b.status.phase is Phase.STALE]
    assert "has been silent for 0.2 s" in stale[0].message
    assert stale[0].heard_seconds is not None
    assert stale[0].heard_seconds - heard <= 60.0, "what is no life does not make old data young"
