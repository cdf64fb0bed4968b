"""Half-open requests, readers who do not read, and how many there may be: by a clock that is passed in."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import pytest

from cockpit.clock import ManualClock
from cockpit.sim.port import PatchType
from cockpit.sim.resources import CONFIG_MAPS
from cockpit.sim.server import limits
from cockpit.sim.server.http import connections
from cockpit.sim.server.http.connections import ANSWER_SECONDS, HALF_OPEN_SECONDS, Connections
from cockpit.sim.server.http.representation import Representation
from cockpit.sim.server.http.watches import WatchStream
from cockpit.sim.server.request import Request
from cockpit.sim.server.run import Embedded, serving
from cockpit.sim.server.storage import Stored
from tests.unit.sim.http.conftest import Client, pod

MAPS = "/api/v1/namespaces/default/configmaps"


class Ground:
    """A server, and the clock by which it waits for clients."""

    def __init__(self, server: Embedded, clock: ManualClock, client: Client) -> None:
        self.server = server
        self.clock = clock
        self.client = client

    @property
    def connections(self) -> Connections:
        return self.server.context.connections

    async def raw(self, *, tls: bool = True) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection of one's own."""
        port = int(self.server.url.rpartition(":")[2])
        context = self.client.tls if tls else None
        return await asyncio.open_connection("127.0.0.1", port, ssl=context)

    async def pass_time(self, seconds: float) -> None:
        """Time goes by, and the server looks."""
        self.clock.advance(seconds)
        self.connections.sweep()

    def head(self, method: str, path: str, more: str = "") -> bytes:
        """A request up to its body."""
        token = self.server.tokens["admin"]
        return f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n{more}\r\n".encode()


@pytest.fixture
async def ground(tmp_path: Path) -> AsyncIterator[Ground]:
    clock = ManualClock()
    async with (
        serving(tmp_path, ManualClock(), Random(1), machine=clock) as server,
        aiohttp.ClientSession() as http,
    ):
        yield Ground(server, clock, Client(server, http))


async def until(holds: Callable[[], bool]) -> None:
    """Lets the loop work until something holds."""
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110 - what the server sees has no event
            await asyncio.sleep(0)


async def is_cut(reader: asyncio.StreamReader) -> bool:
    """Whether the server ends the connection."""
    async with asyncio.timeout(20):
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            return await reader.read(1) == b""
        return True


@pytest.mark.parametrize(
    "begin",
    [b"", b"GET / HT", b"GET /version HTTP/1.1\r\nHost: x\r\nX: y"],
    ids=["nothing", "a line", "a header"],
)
async def test_a_half_open_head_is_cut_off_after_32_seconds(ground: Ground, begin: bytes) -> None:
    reader, writer = await ground.raw()
    writer.write(begin)
    await until(lambda: len(ground.connections) == 1)
    await ground.pass_time(HALF_OPEN_SECONDS - 1)
    assert len(ground.connections) == 1
    await ground.pass_time(1)
    assert len(ground.connections) == 0
    assert await is_cut(reader)
    writer.close()


async def test_a_half_open_handshake_is_cut_off_after_32_seconds(ground: Ground) -> None:
    reader, writer = await ground.raw(tls=False)
    writer.write(b"\x16\x03\x01")
    await until(lambda: len(ground.connections) == 1)
    await ground.pass_time(HALF_OPEN_SECONDS)
    assert await is_cut(reader)
    writer.close()


async def test_a_half_open_body_is_cut_off_after_32_seconds(ground: Ground) -> None:
    reader, writer = await ground.raw()
    writer.write(
        ground.head("POST", MAPS, "Content-Type: application/json\r\nContent-Length: 100\r\n") + b"{"
    )
    await until(lambda: any(one.body is not None for one in ground.connections._all))
    await ground.pass_time(HALF_OPEN_SECONDS)
    assert await is_cut(reader)
    writer.close()


async def test_who_dripped_a_byte_a_second_is_cut_off_as_well(ground: Ground) -> None:
    reader, writer = await ground.raw()
    await until(lambda: len(ground.connections) == 1)
    for _ in range(int(HALF_OPEN_SECONDS)):
        writer.write(b"G")
        await writer.drain()
        await ground.pass_time(1)
    assert await is_cut(reader)
    writer.close()


async def test_who_is_idle_between_two_requests_is_left_alone(ground: Ground) -> None:
    assert (await ground.client.ask("GET", "/version", who=""))[0] == 200
    await ground.pass_time(HALF_OPEN_SECONDS + 10)
    assert len(ground.connections) == 1
    assert (await ground.client.ask("GET", "/version", who=""))[0] == 200
    assert len(ground.connections) == 1


async def test_a_watch_may_be_silent_for_an_hour(ground: Ground) -> None:
    async with ground.client.open("GET", f"{MAPS}?watch=1") as answer:
        await ground.pass_time(3600)
        await ground.client.make(MAPS, {"metadata": {"name": "a"}})
        async with asyncio.timeout(20):
            assert b"ADDED" in await answer.content.readline()


async def test_raw_bytes_and_plain_http_end_nothing(ground: Ground) -> None:
    for data in (b"GET / HTTP/1.1\r\n\r\n", bytes(range(256)), b""):
        reader, writer = await ground.raw(tls=False)
        writer.write(data)
        if data:
            await is_cut(reader)
        writer.close()
    assert (await ground.client.ask("GET", "/version", who=""))[0] == 200


async def test_what_is_no_http_is_answered_before_all_of_it_is_there(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "REFUSED_SECONDS", 3600)
    reader, writer = await ground.raw()
    writer.write(b"GET /version?a=b c HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n")
    await until(lambda: [one.phase for one in ground.connections._all] == [connections.REFUSED])
    writer.write(bytes(60_000))  # where the server had closed, this would reset the connection
    async with asyncio.timeout(20):
        assert b" 400 " in await reader.readuntil(b"^")
    writer.close()


async def test_packed_bodies_are_not_unpacked(ground: Ground) -> None:
    import gzip

    packed = gzip.compress(b" " * (4 << 20))
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    status, told = await ground.client.ask("POST", MAPS, data=packed, headers=headers)
    assert (status, told["reason"]) == (400, "BadRequest")


def test_the_longest_idle_makes_room() -> None:
    clock = ManualClock()
    connections = Connections(clock, most=2)
    first, second = _idle(connections, clock), _idle(connections, clock)
    assert connections._evict()
    assert (first["is_cut"], second["is_cut"]) == (True, False)
    assert len(connections) == 1


def _idle(connections: Connections, clock: ManualClock) -> dict[str, bool]:
    from cockpit.sim.server.http.connections import IDLE, HttpConnection

    told = {"is_cut": False}
    one = HttpConnection(connections, lambda: told.update(is_cut=True))
    connections._all[one] = None
    one.enter(IDLE)
    clock.advance(1)
    return told


async def test_too_many_bodies_at_once_are_told_to_come_back(ground: Ground) -> None:
    opened = []
    head = ground.head("POST", MAPS, "Content-Type: application/json\r\nContent-Length: 3000000\r\n")
    for _ in range(20):
        reader, writer = await ground.raw()
        writer.write(head + b"{")
        opened.append((reader, writer))
    async with asyncio.timeout(20):
        line = b""
        while not line:
            for reader, _ in opened:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(0.05):
                        line = line or await reader.readline()
    assert line == b"HTTP/1.1 429 Too Many Requests\r\n"
    # what has no body goes on
    assert (await ground.client.ask("GET", MAPS))[0] == 200
    for _, writer in opened:
        writer.close()


async def test_who_does_not_take_an_answer_is_cut_off(ground: Ground) -> None:
    for at in range(20):
        await ground.client.make(MAPS, {"metadata": {"name": f"m{at}"}, "data": {"a": "x" * 1_000_000}})
    port = int(ground.server.url.rpartition(":")[2])
    plain = socket.create_connection(("127.0.0.1", port))
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    tls = await asyncio.to_thread(ground.client.tls.wrap_socket, plain, server_hostname="127.0.0.1")
    tls.sendall(ground.head("GET", MAPS))
    await until(lambda: any(one.is_paused for one in ground.connections._all))
    before = len(ground.connections)
    await ground.pass_time(ANSWER_SECONDS)
    assert len(ground.connections) == before - 1
    tls.close()


class Cut:
    """Notes that a connection was broken off."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


def _stored(at: int, count: int) -> Stored:
    metadata = {"name": "a", "resourceVersion": str(at)}
    return Stored("a", {"kind": "ConfigMap", "metadata": metadata, "data": {"a": "x" * count}}, at)


async def test_a_watcher_who_does_not_read_is_ended_and_keeps_nothing(ground: Ground) -> None:
    cut = Cut()
    operations = ground.server.operations
    kind = operations.kind(Request(resource=CONFIG_MAPS))
    from cockpit.sim.server.http.accept import PLAIN

    stream = WatchStream(Representation(kind, operations.storage, PLAIN, "", 0.0), cut)
    for at in range(40):  # what a watch begins with is there anyhow
        stream.take("ADDED", _stored(at, 1_000_000))
    stream.begun()
    assert not stream.is_ended
    for at in range(40):
        stream.take("MODIFIED", _stored(100 + at, 1_000_000))
    assert (stream.is_ended, cut.count, len(stream._lines)) == (True, 1, 0)


async def test_a_watcher_who_reads_is_told_everything(ground: Ground) -> None:
    await ground.client.make(MAPS, {"metadata": {"name": "a"}, "data": {"a": ""}})
    count = 2 * limits.MOST_WATCH_BYTES // 1_000_000
    async with ground.client.open("GET", f"{MAPS}?watch=1&timeoutSeconds=600") as answer:
        for at in range(count):
            tree = {"data": {"a": f"{at:03}" + "x" * 1_000_000}}
            request = Request(resource=CONFIG_MAPS, namespace="default", name="a")
            ground.server.operations.patch(request, tree, PatchType.MERGE)
            async with asyncio.timeout(20):
                while f'{{"a":"{at:03}xx'.encode() not in await _line(answer):
                    continue


async def _line(answer: Any) -> bytes:
    pieces = []
    while True:
        piece: bytes = await answer.content.readany()
        pieces.append(piece)
        if piece.endswith(b"\n") or not piece:
            return b"".join(pieces)


async def test_warnings_of_an_answer_are_bounded(ground: Ground) -> None:
    body = {"metadata": {"name": "w"}, **{f"unknown-{at:05}-{'x' * 300}": 1 for at in range(500)}}
    async with ground.client.open("POST", MAPS, json=body) as answer:
        warned = answer.headers.getall("Warning")
    assert 1 <= len(warned) <= 100
    assert sum(map(len, warned)) < 8000


async def test_a_pod_is_still_made_after_all_this(ground: Ground) -> None:
    made = await ground.client.make("/api/v1/namespaces/default/pods", pod("a"))
    assert made["metadata"]["name"] == "a"
