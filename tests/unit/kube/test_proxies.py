"""Row 28 of the reliability table: proxies of one cluster each, and one that keeps answers back."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import pytest
from aiohttp import web

from cockpit.clock import ManualClock
from cockpit.kube.reflector import SLOW_SECONDS
from cockpit.kube.session import ApiSession, SessionOptions, open_session
from cockpit.model.batch import Phase
from tests.contract.mirror import eventually
from tests.reliability.figures import Tell, whole
from tests.unit.kube.builders import FakeServer, event, kubeconfig, pod
from tests.unit.kube.watching import INITIAL, PATH, Watcher

SLOW = SLOW_SECONDS / whole(1, 400)


class ForwardProxy:
    """An HTTP proxy that hands on what comes, or keeps answers back until a block is full."""

    def __init__(self, block_bytes: int = 1) -> None:
        self.block_bytes = block_bytes
        self.asked: list[str] = []
        self.url = ""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            target = head.split(b" ")[1].decode()
            self.asked.append(target)
            where = urlsplit(target)
            far_reader, far_writer = await asyncio.open_connection(where.hostname, where.port)
            path = where._replace(scheme="", netloc="").geturl()
            far_writer.write(head.replace(target.encode(), path.encode(), 1))
            held = b""
            while piece := await far_reader.read(1 << 16):
                held += piece
                ready = len(held) // self.block_bytes * self.block_bytes
                writer.write(held[:ready])
                held = held[ready:]
            writer.write(held)
            far_writer.close()
        writer.close()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()


def by(proxy: ForwardProxy, server: FakeServer, folder: Path) -> str:
    """A kubeconfig whose cluster has the proxy."""
    return kubeconfig(folder, server.url, {"proxy-url": proxy.url})


@contextlib.asynccontextmanager
async def opened(path: str, clock: ManualClock) -> AsyncIterator[ApiSession]:
    session = await open_session(SessionOptions(kubeconfig=path, check=False), clock)
    yield session
    await session.close()


class Pods:
    """A watch that tells one more pod when it is told to."""

    def __init__(self, server: FakeServer) -> None:
        self.more = asyncio.Event()
        self.over = server.over
        server.on(PATH, self.stream)

    async def stream(self, request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": "application/json"})
        await answer.prepare(request)
        await answer.write(b"".join(INITIAL))
        await self.more.wait()
        await answer.write(event("ADDED", pod("late", version="12")))
        await self.over.wait()
        return answer


@contextlib.asynccontextmanager
async def watching(watcher: Watcher) -> AsyncIterator[None]:
    task = asyncio.create_task(watcher.reflector.run())
    yield
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.row(28, "watch latency", most=1, unit="s")
@pytest.mark.row(28, "requests of another cluster by that proxy", most=0)
async def test_each_cluster_has_its_own_proxy_and_events_come_at_once(
    server: FakeServer, tmp_path: Path, clock: ManualClock, figure: Tell
) -> None:
    pods = Pods(server)
    async with (
        ForwardProxy() as proxy,
        opened(by(proxy, server, tmp_path), clock) as session,
        opened(kubeconfig(tmp_path, server.url), clock) as other,
    ):
        watcher = Watcher(session, clock)
        async with watching(watcher):
            await eventually(lambda: watcher.names == ["a", "b"], "the list")
            asked = len(proxy.asked)
            assert asked == 1
            assert (await other.request("GET", "/version")).ok
            figure("requests of another cluster by that proxy", len(proxy.asked) - asked)
            began = time.monotonic()
            pods.more.set()
            await watcher.version_of("uid-late", "12")
            figure("watch latency", time.monotonic() - began)


@pytest.mark.row(28, "warning of a proxy that keeps answers back", most=30, unit="s")
@pytest.mark.parametrize("block_bytes", [1 << 20, 700], ids=["all of it", "the end of the list"])
async def test_a_proxy_that_keeps_a_list_back_is_told(
    server: FakeServer, tmp_path: Path, clock: ManualClock, block_bytes: int, figure: Tell
) -> None:
    Pods(server)
    async with (
        ForwardProxy(block_bytes) as proxy,
        opened(by(proxy, server, tmp_path), clock) as session,
    ):
        watcher = Watcher(session, clock, slow_seconds=SLOW)
        began = time.monotonic()
        async with watching(watcher):
            await eventually(lambda: "response buffering" in watcher.message, "a warning", seconds=60)
            figure("warning of a proxy that keeps answers back", time.monotonic() - began)
            assert watcher.phase is Phase.LISTING, "it is not called live"
