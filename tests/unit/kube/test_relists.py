"""A version that has expired, at the size of a large cluster: one list, soon, and the rows stand."""

import time

import pytest
from aiohttp import web

from cockpit.clock import ManualClock
from cockpit.kube.decode.wire import PROTOBUF
from cockpit.kube.proto import core_pb2, meta_pb2
from cockpit.model.batch import ListMark, Phase
from tests.reliability.figures import Tell, whole
from tests.unit.kube.builders import (
    FakeServer,
    envelope,
    event,
    fill,
    pod,
    protobuf_event,
    protobuf_stream,
    refuse,
    reply,
    status,
    stream,
)
from tests.unit.kube.watching import PATH, Watcher

SECONDS = 120.0
PAGE = 500
GONE = event("ERROR", status(410, "Expired", "too old resource version"))


def numbered(template: bytes, count: int) -> list[bytes]:
    """The same bytes with other names of the same length."""
    return [template.replace(b"p00000", b"p%05d" % number) for number in range(count)]


def whole_stream(count: int) -> bytes:
    """The initial events of `count` pods, with their end."""
    mark = core_pb2.Pod()
    mark.metadata.resource_version = "10"
    mark.metadata.annotations["k8s.io/initial-events-end"] = "true"
    pods = numbered(protobuf_event("ADDED", fill(core_pb2.Pod(), pod("p00000"))), count)
    return b"".join(pods) + protobuf_event("BOOKMARK", mark)


def page_of(pods: list[bytes], token: str) -> bytes:
    """A page of a list in protobuf."""
    page = meta_pb2.AnyList(items=pods)
    page.metadata.resource_version = "10"
    setattr(page.metadata, "continue", token)
    return envelope(page.SerializeToString())


@pytest.mark.row(3, "objects", least=50_000, unit="cases")
@pytest.mark.row(3, "relists of a kind", most=1, least=1)
@pytest.mark.row(3, "rows that went away meanwhile", most=0)
@pytest.mark.row(3, "fresh after", most=2, unit="s")
@pytest.mark.parametrize("in_pages", [False, True], ids=["streaming list", "pages"])
async def test_an_expired_version_costs_one_list(
    server: FakeServer, watcher: Watcher, clock: ManualClock, figure: Tell, in_pages: bool
) -> None:
    count, lists = whole(50_000, 1_000), 0
    pods = numbered(fill(core_pb2.Pod(), pod("p00000")).SerializeToString(), count)
    pages = [
        page_of(pods[at : at + PAGE], str(at + PAGE) if at + PAGE < count else "")
        for at in range(0, count, PAGE)
    ]
    streamed = whole_stream(count)
    seconds: list[float] = []

    def now() -> float:
        """Ours and that of the naps, which pass at once."""
        return time.perf_counter() + clock.monotonic()

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal lists
        if "sendInitialEvents" in request.query:
            if in_pages:
                return await refuse(422, "Invalid", "no")(request)
            lists += 1
            return await protobuf_stream(streamed, stays=lists == 2)(request)
        if "limit" in request.query:
            at = int(request.query.get("continue", 0))
            lists += at == 0
            return await reply(pages[at // PAGE], content_type=PROTOBUF)(request)
        if lists == 2:
            return await stream(stays=True)(request)
        clock.advance(400)  # the stream before lived so long
        seconds.append(now())
        return await stream(GONE)(request)

    server.on(PATH, answer)
    fewest, has_all = count, False

    def is_fresh() -> bool:
        nonlocal fewest, has_all
        has_all = has_all or len(watcher.table) == count
        if has_all:
            fewest = min(fewest, len(watcher.table))
        return watcher.marks().count(ListMark.END) == 2

    await watcher.until(is_fresh, seconds=SECONDS)
    seconds.append(now())
    figure("objects", len(watcher.table))
    figure("relists of a kind", lists - 1)
    figure("rows that went away meanwhile", count - fewest)
    figure("fresh after", seconds[1] - seconds[0])
    assert Phase.STALE in watcher.phases
    again = [query for query in server.queries(PATH) if "limit" in query and "continue" not in query][1:]
    assert [query["resourceVersionMatch"] for query in again] == ["NotOlderThan"] * in_pages
