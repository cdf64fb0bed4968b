"""A custom kind that is absent, installed in two versions, removed, installed in one: how soon it is told."""

import asyncio
import time
from typing import Any

import pytest
from aiohttp import web

from cockpit.clock import ManualClock
from cockpit.kube.session import ApiSession
from cockpit.model.batch import Phase
from cockpit.model.record import Kind
from tests.reliability.figures import Tell
from tests.unit.kube.builders import FakeServer, event, meta, refuse, reply
from tests.unit.kube.test_discovery import aggregated, entry, group
from tests.unit.kube.test_feed import END, Hearing, feed_of, serve_core

MPI = [entry("mpijobs", "MPIJob")]
PATHS = {version: f"/apis/kubeflow.org/{version}/mpijobs" for version in ("v1", "v2beta1")}


class Changing:
    """A server on which one kind is installed in `versions`; it tells by ETag when that has not changed."""

    def __init__(self, server: FakeServer) -> None:
        self.versions: tuple[str, ...] = ()
        self.whole_answers = 0  # to looks after which nothing had changed
        self._told: tuple[str, ...] | None = None
        self._removed = asyncio.Event()
        serve_core(server)
        server.on("/apis", self._groups)
        for version, path in PATHS.items():
            server.on(path, self._kind(version))

    def install(self, *versions: str) -> None:
        """None: the kind is removed, and its streams end, as the API server does."""
        self.versions = versions
        self._removed.set()
        self._removed = asyncio.Event()

    async def _groups(self, request: web.Request) -> web.StreamResponse:
        tag = f'"{"-".join(self.versions)}"'
        if request.headers.get("If-None-Match") == tag:
            return web.Response(status=304)
        self.whole_answers += self._told == self.versions
        self._told = self.versions
        served = [group("kubeflow.org", **dict.fromkeys(self.versions, MPI))] if self.versions else []
        return await reply(aggregated(*served), ETag=tag)(request)

    def _kind(self, version: str) -> Any:
        async def answer(request: web.Request) -> web.StreamResponse:
            if version not in self.versions:
                return await refuse(404, "NotFound", "the server could not find it")(request)
            response = web.StreamResponse(headers={"Content-Type": "application/json"})
            await response.prepare(request)
            await response.write(event("ADDED", {"metadata": meta(version)}) + END)
            await self._removed.wait()
            return response

        return answer


@pytest.mark.row(
    38, "told after it was installed, removed or installed in another version", most=60, unit="s"
)
@pytest.mark.row(38, "requests for the kind while it was not served", most=0)
@pytest.mark.row(38, "looks that cost more than a line while nothing had changed", most=0)
async def test_a_kind_that_comes_and_goes_is_told_within_a_minute_and_not_polled(
    server: FakeServer, session: ApiSession, clock: ManualClock, figure: Tell
) -> None:
    changing = Changing(server)
    hearing = Hearing()
    looks = 0

    async def sleep(seconds: float) -> None:
        nonlocal looks
        looks += 1
        clock.advance(seconds)
        await asyncio.sleep(0.002)

    def names() -> list[str]:
        return [item.name for batch in hearing.batches if batch.kind == Kind.MPIJOB for item in batch.changed]

    def is_absent() -> bool:
        told = [batch.status for batch in hearing.batches if batch.kind == Kind.MPIJOB and batch.status]
        return bool(told) and told[-1].phase is Phase.ABSENT

    def asked() -> int:
        return sum(map(server.count, PATHS.values()))

    feed = asyncio.create_task(feed_of(session, hearing, clock, sleep=sleep).run())

    async def until(holds: Any) -> float:
        """Seconds until it holds, by the clock that the looks wait by."""
        before = clock.monotonic()
        async with asyncio.timeout(20):
            while not holds():
                await asyncio.sleep(0.002)
                assert not feed.done()
        return clock.monotonic() - before

    async def ten_looks() -> None:
        wanted = looks + 10
        await until(lambda: looks >= wanted)

    took: list[float] = []
    try:
        await until(is_absent)
        await ten_looks()
        needless = asked()
        changing.install("v1", "v2beta1")
        took.append(await until(lambda: names() == ["v2beta1"]))
        await ten_looks()
        removed = time.monotonic()
        changing.install()
        await until(is_absent)
        figure("told after it was removed", time.monotonic() - removed)  # a stream waits by no clock of ours
        gone = asked()
        await ten_looks()
        needless += asked() - gone
        changing.install("v1")
        took.append(await until(lambda: names()[-1] == "v1"))
    finally:
        feed.cancel()
        await asyncio.gather(feed, return_exceptions=True)
    figure("told after it was installed", max(took))
    figure("requests for the kind while it was not served", needless)
    figure("looks that cost more than a line while nothing had changed", changing.whole_answers)
