"""Row 20 of the reliability table: what an hour costs the API server, beside client-go's informers.

An informer opens a stream for its kind, and another one whenever the server ends it (client-go
tools/cache/reflector.go). The server ends each when the time is over that was asked for.
"""

import asyncio
from collections import Counter
from typing import Any

import pytest
from aiohttp import web

from cockpit.clock import ManualClock
from cockpit.kube.session import ApiSession
from tests.reliability.figures import Tell
from tests.unit.kube.builders import FakeServer, bookmark, reply
from tests.unit.kube.test_discovery import aggregated, entry, group
from tests.unit.kube.test_feed import CORE_PATHS, Hearing, feed_of

HOUR = 3600.0
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
PATHS = (*CORE_PATHS, f"{KUEUE}/workloads", f"{KUEUE}/localqueues", f"{KUEUE}/clusterqueues")
SERVED = aggregated(
    group(
        "kueue.x-k8s.io",
        v1beta2=[
            entry("workloads", "Workload"),
            entry("localqueues", "LocalQueue"),
            entry("clusterqueues", "ClusterQueue", scope="Cluster"),
        ],
    )
)


class Hour:
    """Streams that end by the manual clock, and which of them are open."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.open: dict[tuple[str, float], asyncio.Event] = {}
        self.begun: Counter[str] = Counter()
        self.ended = 0
        self.most_open = 0
        self.asked_seconds: list[int] = []
        self._opened = asyncio.Event()

    async def stream(self, request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": "application/json"})
        await answer.prepare(request)
        await answer.write(bookmark("9", ends_list="sendInitialEvents" in request.query))
        seconds = int(request.query["timeoutSeconds"])
        self.asked_seconds.append(seconds)
        end = asyncio.Event()
        self.open[request.path, self.clock.monotonic() + seconds] = end
        self.begun[request.path] += 1
        self.most_open = max(self.most_open, sum(path == request.path for path, _ in self.open))
        self._opened.set()
        await end.wait()
        return answer

    async def pass_by(self) -> None:
        """An hour: each stream ends in its turn, and the kind's next one is waited for."""
        end = self.clock.monotonic() + HOUR
        while True:
            while len({path for path, _ in self.open}) < len(PATHS):
                self._opened.clear()
                await self._opened.wait()
            path, due = min(self.open, key=lambda it: it[1])
            if due > end:
                return
            self.clock.advance(due - self.clock.monotonic())
            self.open.pop((path, due)).set()
            self.ended += 1


@pytest.mark.row(20, "requests for objects, times those of informers", most=1.0)
@pytest.mark.row(20, "streams of a kind at a time", most=1)
@pytest.mark.row(20, "lists without a limit", most=0)
@pytest.mark.row(20, "lists beside the streams", most=0)
@pytest.mark.row(20, "looks at what is served", most=0.2, unit="/s")
async def test_an_hour_costs_no_more_than_informers(
    server: FakeServer, session: ApiSession, clock: ManualClock, figure: Tell
) -> None:
    hour = Hour(clock)
    for path in PATHS:
        server.on(path, hour.stream)

    async def served(request: web.Request) -> Any:
        if request.headers.get("If-None-Match"):
            return web.Response(status=304)
        return await reply(SERVED if request.path == "/apis" else aggregated(), ETag='"1"')(request)

    server.on("/api", served)
    server.on("/apis", served)
    naps: list[float] = []
    looked = asyncio.Event()

    async def sleep(seconds: float) -> None:
        naps.append(seconds)
        if sum(naps) >= HOUR:
            looked.set()
            await asyncio.Event().wait()

    feed = asyncio.create_task(feed_of(session, Hearing(), clock, sleep=sleep).run())
    await asyncio.gather(hour.pass_by(), looked.wait())
    feed.cancel()
    await asyncio.gather(feed, return_exceptions=True)
    asked = [seen for seen in server.seen if seen.path in PATHS]
    lists = [seen for seen in asked if "watch" not in seen.query]
    assert set(hour.begun) == set(PATHS)
    assert all(300 <= seconds <= 600 for seconds in hour.asked_seconds), "as long as client-go asks for"
    figure("requests for objects, times those of informers", len(asked) / (len(PATHS) + hour.ended))
    figure("streams of a kind at a time", hour.most_open)
    figure("lists without a limit", sum("limit" not in seen.query for seen in lists))
    figure("lists beside the streams", len(lists))
    figure("looks at what is served", (len(server.seen) - len(asked)) / HOUR)
