"""The ladder: lists, watches, and every way in which they end."""

from typing import Any

import pytest
from aiohttp import web

from cockpit.clock import ManualClock
from cockpit.kube.decode import decoders
from cockpit.kube.decode.frames import LONGEST_BYTES
from cockpit.kube.proto import core_pb2
from cockpit.kube.reflector import GAP_SECONDS
from cockpit.kube.resource import MPIJOBS
from cockpit.kube.session import ApiSession
from cockpit.model.batch import ListMark, Phase
from tests.reliability.figures import Tell
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
from tests.unit.kube.watching import INITIAL, PATH, Watcher, ended


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


async def test_a_json_kind_offers_json_only(
    server: FakeServer, session: ApiSession, clock: ManualClock
) -> None:
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


@pytest.mark.row(11, "extra requests of a kind", most=1)
@pytest.mark.row(11, "lists after it", least=2)
async def test_the_missing_streaming_list_is_remembered(
    server: FakeServer, watcher: Watcher, figure: Tell
) -> None:
    server.on(
        PATH,
        refuse(422, "Invalid", "no"),
        reply(listing(version="20")),
        stream(event("ERROR", status(410, "Expired", "too old"))),
        reply(listing(pod("a"), version="30")),
        stream(stays=True),
    )
    await watcher.until(lambda: watcher.names == ["a"] and watcher.phase is Phase.LIVE)
    asked = server.queries(PATH)
    figure("extra requests of a kind", sum("sendInitialEvents" in query for query in asked))
    figure("lists after it", sum("limit" in query for query in asked))
    again = asked[3]
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


@pytest.mark.parametrize("nameless", [{"metadata": {"uid": 5}}, {"metadata": {}}, {"kind": "Pod"}])
async def test_what_is_gone_and_cannot_be_named_costs_a_list(
    server: FakeServer, watcher: Watcher, nameless: dict[str, Any]
) -> None:
    server.on(
        PATH,
        stream(*INITIAL, event("DELETED", nameless), event("MODIFIED", pod("late")), stays=True),
        stream(event("ADDED", pod("b")), bookmark("30", ends_list=True), stays=True),
    )
    await watcher.until(lambda: watcher.marks().count(ListMark.END) == 2)
    assert watcher.names == ["b"]
    assert "resourceVersion" not in server.queries(PATH)[-1]
    assert Phase.LIVE is watcher.phase


async def test_after_a_watch_with_an_unreadable_frame_all_is_listed(
    server: FakeServer, watcher: Watcher
) -> None:
    server.on(
        PATH,
        stream(*INITIAL, b"garbage where a deletion was\n", event("MODIFIED", pod("b", version="16"))),
        stream(event("ADDED", pod("b")), bookmark("30", ends_list=True), stays=True),
    )
    await watcher.until(lambda: watcher.marks().count(ListMark.END) == 2)
    assert watcher.names == ["b"]
    assert Phase.LIVE is watcher.phase


UNREAD = {"garbage": b"garbage where a deletion was\n", "too long": b"x" * (LONGEST_BYTES + 9) + b"\n"}


@pytest.mark.parametrize("unread", UNREAD)
async def test_an_event_that_cannot_be_read_costs_a_list_while_the_watch_goes_on(
    server: FakeServer, watcher: Watcher, clock: ManualClock, unread: str
) -> None:
    """But one in half a minute at most: what comes soon after a list waits until then."""
    bad = UNREAD[unread]

    async def later(request: web.Request) -> web.StreamResponse:
        clock.advance(GAP_SECONDS)
        return await stream(bad, event("MODIFIED", pod("b", version="16")), stays=True)(request)

    last = event("MODIFIED", pod("b", version="31"))
    server.on(
        PATH,
        stream(*INITIAL),
        later,
        stream(event("ADDED", pod("b")), bookmark("30", ends_list=True), bad, last, stays=True),
    )
    await watcher.until(lambda: set(watcher.versions.values()) == {"31"})
    assert watcher.names == ["b"]
    assert server.count(PATH) == 3
    assert "resourceVersion" not in server.queries(PATH)[-1]


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
