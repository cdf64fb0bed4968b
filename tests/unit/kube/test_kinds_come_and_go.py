"""A custom kind that is absent, installed in two versions, removed, installed in one: how soon it is told."""

import asyncio
import heapq
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from aiohttp import web

from cockpit.clock import ManualClock
from cockpit.kube.reflector import Reflector
from cockpit.kube.session import ApiSession
from cockpit.model.batch import Phase
from cockpit.model.record import Kind
from tests.reliability.figures import Tell
from tests.unit.kube.builders import FakeServer, event, meta, refuse, reply
from tests.unit.kube.test_discovery import aggregated, entry, group
from tests.unit.kube.test_feed import END, Hearing, feed_of, serve_core

MPI = [entry("mpijobs", "MPIJob")]
QUIET_SECONDS = 0.003
"""For answers on loopback, before the clock moves on."""
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
class Sleepers:
    """Who sleeps wakes in the order of the clock, which moves on once nothing else happens."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._asleep: list[tuple[float, int, asyncio.Future[None]]] = []
        self._counted = 0

    async def sleep(self, seconds: float) -> None:
        self._counted += 1
        woken = asyncio.get_running_loop().create_future()
        heapq.heappush(self._asleep, (self._clock.monotonic() + seconds, self._counted, woken))
        await woken

    async def until(self, holds: Callable[[], bool]) -> float:
        """Seconds of the clock until it holds."""
        before = self._clock.monotonic()
        async with asyncio.timeout(20):
            while True:
                await asyncio.sleep(QUIET_SECONDS)
                if holds():
                    return self._clock.monotonic() - before
                if self._asleep:
                    at, _, woken = heapq.heappop(self._asleep)
                    self._clock.advance(max(0.0, at - self._clock.monotonic()))
                    if not woken.done():
                        woken.set_result(None)

    async def minutes(self, minutes: float) -> None:
        wanted = self._clock.monotonic() + minutes * 60
        await self.until(lambda: self._clock.monotonic() >= wanted)


@pytest.mark.row(38, "told after it was installed or removed", most=60, unit="s")
@pytest.mark.row(38, "requests for a kind that was never served", most=0)
@pytest.mark.row(38, "requests a minute for a kind that was removed", most=1)
@pytest.mark.row(38, "looks that cost more than a line while nothing had changed", most=0)
async def test_a_kind_that_comes_and_goes_is_told_within_a_minute_and_not_polled(
    server: FakeServer,
    session: ApiSession,
    clock: ManualClock,
    figure: Tell,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    changing, hearing, sleepers = Changing(server), Hearing(), Sleepers(clock)
    monkeypatch.setattr("cockpit.kube.feed.Reflector", partial(Reflector, sleep=sleepers.sleep))

    def names() -> list[str]:
        return [item.name for batch in hearing.batches if batch.kind == Kind.MPIJOB for item in batch.changed]

    def is_absent() -> bool:
        told = [batch.status for batch in hearing.batches if batch.kind == Kind.MPIJOB and batch.status]
        return bool(told) and told[-1].phase is Phase.ABSENT

    def asked() -> int:
        return sum(map(server.count, PATHS.values()))

    feed = asyncio.create_task(feed_of(session, hearing, clock, sleep=sleepers.sleep).run())
    took = []
    try:
        await sleepers.until(is_absent)
        await sleepers.minutes(5)
        needless = asked()  # before it was served for the first time
        changing.install("v1", "v2beta1")
        took.append(await sleepers.until(lambda: names() == ["v2beta1"]))
        await sleepers.minutes(5)
        changing.install()
        took.append(await sleepers.until(is_absent))
        gone = asked()
        await sleepers.minutes(10)
        a_minute = (asked() - gone) / 10  # its stream looks itself, between two looks at all that is served
        changing.install("v1")
        took.append(await sleepers.until(lambda: names()[-1] == "v1"))
    finally:
        feed.cancel()
        await asyncio.gather(feed, return_exceptions=True)
    figure("told after it was installed or removed", max(took))
    figure("requests for a kind that was never served", needless)
    figure("requests a minute for a kind that was removed", a_minute)
    figure("looks that cost more than a line while nothing had changed", changing.whole_answers)
