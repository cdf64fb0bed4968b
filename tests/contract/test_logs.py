"""Logs of many members: what goes on behind a break is asked for as the API server understands it."""

import asyncio
import datetime
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest
from aiohttp import web

from cockpit.errors import Refused
from cockpit.kube.log_fan_in import LogFanIn, query_of, told_by
from cockpit.kube.log_lines import LogPiece, Resume
from cockpit.kube.log_streams import refuse_unsplit
from cockpit.model.log import Life, LogLine, LogSource, LogWish
from tests.adapters.faults.proxy import FaultProxy
from tests.bed.api import Api
from tests.contract.asking import in_space
from tests.contract.conftest import Connect, needs
from tests.contract.faults import cut
from tests.contract.kubelet import Kubelet, serving
from tests.contract.mirror import eventually
from tests.contract.server import Capability
from tests.contract.shapes import pod
from tests.reliability.figures import Tell

NANO = 1_000_000_000
BEGUN = 1_790_000_000


class Writing(Kubelet):
    """A kubelet whose container has written five lines, a second apart; it heeds what is asked of it."""

    async def log(self, request: web.Request) -> web.StreamResponse:
        self._note(request)
        if request.query.get("previous") == "true":
            text = 'previous terminated container "main" in pod "p" not found'
            return web.Response(status=400, text=text)
        since = request.query.get("sinceTime", "")
        begin = datetime.datetime.fromisoformat(since).timestamp() if since else 0.0
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await response.prepare(request)
        for number in range(5):
            if BEGUN + number >= begin:
                moment = datetime.datetime.fromtimestamp(BEGUN + number, datetime.UTC)
                stamp = f"{moment:%Y-%m-%dT%H:%M:%S}.500000000Z "
                text = (stamp if request.query.get("timestamps") == "true" else "") + f"line {number}\n"
                await response.write(text.encode())
        if request.query.get("follow") == "true":
            await asyncio.Event().wait()
        return response


@pytest.fixture
async def kubelet(space: str, admin: Api, own_certificate: tuple[Path, Path]) -> AsyncIterator[Writing]:
    """A node of the case's name whose kubelet answers, and the pod `p` on it."""
    async with serving(Writing(), own_certificate) as made:
        await asyncio.to_thread(admin.create, "/api/v1/nodes", made.node(space))
        await asyncio.to_thread(admin.create, in_space(space, "pods"), pod("p", node=space))
        yield made
        await asyncio.to_thread(admin.delete, in_space(space, "pods", "p"), {"gracePeriodSeconds": 0})
        await asyncio.to_thread(admin.delete, f"/api/v1/nodes/{space}")


def source(space: str) -> LogSource:
    return LogSource("uid", space, "p", "worker 0", container="main")


async def test_what_is_asked_for_reaches_the_node(space: str, kubelet: Writing, connect: Connect) -> None:
    session = await connect("viewer")
    wish = LogWish(tail_lines=7, since_seconds=9)
    query = query_of(source(space), wish, Resume(), limit_bytes=4_096)
    async with aclosing(told_by(session, source(space), query)) as chunks:
        told = [one async for chunk in chunks for one in chunk]
    assert told[0] == LogPiece(BEGUN * NANO + NANO // 2, "line 0") and len(told) == 5
    ((path, asked),) = kubelet.asked
    assert path == f"/containerLogs/{space}/p/main"
    assert asked == {"timestamps": "true", "tailLines": "7", "sinceSeconds": "9", "limitBytes": "4096"}


async def test_going_on_is_asked_for_in_whole_seconds(space: str, kubelet: Writing, connect: Connect) -> None:
    """Going on behind line 2 repeats it, as its second is what can be asked for; it is left out here."""
    session = await connect("viewer")
    resume = Resume()
    resume.begin()
    for number in range(3):
        assert resume.take(LogPiece((BEGUN + number) * NANO + NANO // 2, f"line {number}"))
    query = query_of(source(space), LogWish(), resume)
    resume.begin()
    found: list[LogPiece] = []
    async with aclosing(told_by(session, source(space), query)) as chunks:
        async for chunk in chunks:
            found += chunk
    assert [one.text for one in found] == ["line 2", "line 3", "line 4"]
    assert [one.text for one in found if resume.take(one)] == ["line 3", "line 4"]
    assert not resume.has_gap
    assert kubelet.asked[-1][1] == {"timestamps": "true", "sinceTime": "2026-09-21T14:13:22Z"}


async def test_a_run_before_that_is_not_there_is_the_kubelets_sentence(
    space: str, kubelet: Writing, connect: Connect
) -> None:
    session = await connect("viewer")
    query = query_of(source(space), LogWish(is_previous=True), Resume())
    with pytest.raises(Refused, match='previous terminated container "main" in pod "p" not found'):
        async with aclosing(told_by(session, source(space), query)) as chunks:
            async for _ in chunks:
                raise AssertionError("a line")
    assert kubelet.asked[-1][1]["previous"] == "true"


@pytest.mark.row(46, "double lines", most=0)
async def test_a_followed_log_that_is_cut_goes_on_without_a_line_twice(
    space: str, kubelet: Writing, connect: Connect, proxy: FaultProxy, figure: Tell
) -> None:
    """The connection breaks in the middle of the line that comes again."""
    proxy.plan(cut(20), path="/log", only=lambda seen: seen.query.get("follow") == "true")
    session = await connect("viewer", through=proxy)
    told: list[LogLine] = []
    wish = LogWish(tail_lines=None)
    fan_in = LogFanIn(lambda: session, wish, told.extend, lambda uid: Life(), nap=no_nap)
    fan_in.want([source(space)])
    running = asyncio.create_task(fan_in.run())
    try:
        await eventually(
            lambda: len(proxy.requests("/log")) == 3 and fan_in.following == 1, "the third attempt"
        )
        await eventually(lambda: not fan_in.troubles, "the third answer")
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert [one.text for one in told] == [f"line {number}" for number in range(5)]
    figure("double lines", len(told) - len({one.text for one in told}))
    assert [seen.query.get("sinceTime") for seen in proxy.requests("/log")] == [
        None,
        "2026-09-21T14:13:24Z",
        "2026-09-21T14:13:24Z",
    ]


async def no_nap(seconds: float) -> None:
    await asyncio.sleep(0)


def source_of(space: str) -> LogSource:
    return LogSource(uid="u", namespace=space, pod="p", label="rank 0", container="main")


@needs(Capability.WHOLE_STREAMS)
async def test_without_its_gate_one_stream_alone_is_refused_in_a_sentence(
    space: str, kubelet: Writing, connect: Connect
) -> None:
    session = await connect("admin")
    with pytest.raises(Refused, match=r"only together \(feature gate PodLogsQuerySplitStreams is off\)"):
        await refuse_unsplit(session, source_of(space))
    assert kubelet.asked == []


@needs(Capability.SPLIT_STREAMS)
async def test_with_its_gate_one_stream_alone_is_read_without_a_number_of_lines(
    space: str, kubelet: Writing, connect: Connect
) -> None:
    session = await connect("admin")
    await refuse_unsplit(session, source_of(space))
    wish = LogWish(tail_lines=20, stream="stderr", is_following=False)
    query = query_of(source_of(space), wish, Resume())
    async with aclosing(told_by(session, source_of(space), query)) as chunks:
        told = [one.text async for chunk in chunks for one in chunk]
    assert told == [f"line {number}" for number in range(5)]
    asked = kubelet.asked[-1][1]
    assert (asked["stream"], asked["sinceSeconds"], "tailLines" in asked) == ("Stderr", "3600", False)
    both = await session.request(
        "GET", in_space(space, "pods", "p") + "/log", query=[("stream", "Stderr"), ("tailLines", "1")]
    )
    assert both.status == 422 and "mutually exclusive" in both.message()
