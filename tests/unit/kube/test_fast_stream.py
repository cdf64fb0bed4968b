"""Streams behind the answer's head: who reads them, how they end, and how much may wait."""

import asyncio
import contextlib
import gzip
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cockpit.clock import ManualClock
from cockpit.kube import fast_stream
from cockpit.kube.failures import Silent, Unreachable
from cockpit.kube.fast_stream import BUFFER_BYTES, WAITING_BYTES
from cockpit.kube.session import ApiSession, SessionOptions, open_session
from tests.unit.kube.builders import FakeServer, kubeconfig, server_side, stream
from tests.unit.kube.raw_http import END, HEAD, Wire, chunk
from tests.waiting import until

PODS = "/api/v1/pods"
PATIENCE_SECONDS = 60.0


@pytest.fixture(params=["http", "https"])
async def wire(request: pytest.FixtureRequest, tls: tuple[str, str]) -> AsyncIterator[Wire]:
    made = Wire()
    context = server_side(tls) if request.param == "https" else None
    server = await asyncio.start_server(made.answer, "127.0.0.1", 0, ssl=context)
    made.url = f"{request.param}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    yield made
    server.close()
    await made.close()


@pytest.fixture
async def session(
    wire: Wire, tls: tuple[str, str], tmp_path: Path, clock: ManualClock
) -> AsyncIterator[ApiSession]:
    more = {"certificate-authority": tls[0]} if wire.url.startswith("https") else None
    path = kubeconfig(tmp_path, wire.url, more)
    opened = await open_session(SessionOptions(kubeconfig=path, check=False), clock)
    yield opened
    await opened.close()


async def read_all(session: ApiSession, *, idle_seconds: float | None = PATIENCE_SECONDS) -> bytes:
    async with session.stream(PODS, idle_seconds=idle_seconds) as answer:
        return b"".join([part async for part in answer.chunks])


async def stay(reader: asyncio.StreamReader, wire: Wire) -> None:
    """Until the client is gone."""
    with contextlib.suppress(ConnectionError):
        await reader.read()
    wire.left.set()


# ---- whole streams


async def test_a_big_stream_arrives_whole(wire: Wire, session: ApiSession) -> None:
    parts = [bytes([number % 251]) * (number * 37 % 9000 + 1) for number in range(1000)]

    async def script(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunk(b"first"))
        for part in parts:
            writer.write(chunk(part))
            await writer.drain()
        writer.write(END)
        await writer.drain()

    wire.script = script
    async with session.stream(PODS, idle_seconds=PATIENCE_SECONDS) as answer:
        assert (answer.status, answer.content_type) == (200, "application/json")
        assert answer._intake is not None
        assert b"".join([part async for part in answer.chunks]) == b"first" + b"".join(parts)


async def test_what_comes_is_handed_on_at_once(wire: Wire, session: ApiSession) -> None:
    more = asyncio.Event()

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        await writer.drain()
        await more.wait()
        writer.write(chunk(b"one"))
        await stay(reader, wire)

    wire.script = script
    async with (
        session.stream(PODS, idle_seconds=PATIENCE_SECONDS) as answer,
        asyncio.timeout(PATIENCE_SECONDS),
    ):
        more.set()
        assert await anext(aiter(answer.chunks)) == b"one"
    await asyncio.wait_for(wire.left.wait(), PATIENCE_SECONDS)  # the stream was left, and so was the server


async def test_a_little_behind_a_lot_is_not_kept(wire: Wire, session: ApiSession) -> None:
    """The kernel wakes us for many bytes at once: the last few come all the same, and the next few."""
    lot, asked = bytes(3 << 20), asyncio.Event()

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunk(lot))
        await writer.drain()
        writer.write(chunk(b"a little"))
        await asked.wait()
        writer.write(chunk(b"more"))
        await stay(reader, wire)

    wire.script = script
    async with session.stream(PODS, idle_seconds=PATIENCE_SECONDS) as answer:
        got = b""
        async for part in answer.chunks:
            got += part
            if len(got) == len(lot) + 8:
                asked.set()
            if len(got) == len(lot) + 12:
                break
        assert got == lot + b"a littlemore"


@pytest.mark.parametrize("is_taken", [True, False])
async def test_aiohttps_way_and_ours_are_one(
    wire: Wire, session: ApiSession, monkeypatch: pytest.MonkeyPatch, is_taken: bool
) -> None:
    if not is_taken:
        monkeypatch.setattr("cockpit.kube.session.take_streams", lambda _connector: False)

    async def script(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunk(b"a") + chunk(b"b") + END)
        await writer.drain()

    wire.script = script
    async with session.stream(PODS) as answer:
        assert (answer._intake is not None) is is_taken
        assert b"".join([part async for part in answer.chunks]) == b"ab"


def test_another_aiohttp_keeps_its_own_way() -> None:
    class Odd:
        _factory = staticmethod(lambda: None)

    assert not fast_stream.take_streams(Odd())  # type: ignore[arg-type]
    assert not fast_stream.take_streams(object())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", b"abc"),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc", b"abc"),
        (b"HTTP/1.1 410 Gone\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(b"abc") + END, b"abc"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
            + chunk(gzip.compress(b"abc"))
            + END,
            b"abc",
        ),
    ],
)
async def test_other_answers_stay_with_aiohttp(
    wire: Wire, session: ApiSession, answer: bytes, body: bytes
) -> None:
    async def script(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()

    wire.script = script
    async with session.stream(PODS) as got:
        assert got._intake is None
        assert b"".join([part async for part in got.chunks]) == body


# ---- ends


async def test_a_cut_stream_gives_what_came_and_says_so(wire: Wire, session: ApiSession) -> None:
    async def script(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunk(b"came") + b"400\r\nhalf a chunk")
        await writer.drain()

    wire.script = script
    got = b""
    with pytest.raises(Unreachable, match="was cut"):
        async with session.stream(PODS, idle_seconds=PATIENCE_SECONDS) as answer:
            async for part in answer.chunks:
                got += part
    assert got == b"camehalf a chunk"


async def test_a_reset_connection_is_told(wire: Wire, session: ApiSession) -> None:
    is_read = asyncio.Event()

    async def script(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunk(b"came"))
        await writer.drain()
        await is_read.wait()
        writer.transport.abort()

    wire.script = script
    with pytest.raises(Unreachable, match="was cut"):
        async with session.stream(PODS, idle_seconds=PATIENCE_SECONDS) as answer:
            async for part in answer.chunks:
                assert part == b"came"
                is_read.set()


async def test_bytes_that_are_no_chunks_are_told(wire: Wire, session: ApiSession) -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunk(b"came") + b"no chunk\r\n")
        await stay(reader, wire)

    wire.script = script
    with pytest.raises(Unreachable, match="no chunk begins with"):
        await read_all(session)
    await asyncio.wait_for(wire.left.wait(), PATIENCE_SECONDS)


async def test_silence_is_told(wire: Wire, session: ApiSession) -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunk(b"came"))
        await stay(reader, wire)

    wire.script = script
    with pytest.raises(Silent, match=r"silent for 0\.2 s"):
        await read_all(session, idle_seconds=0.2)
    await asyncio.wait_for(wire.left.wait(), PATIENCE_SECONDS)


async def test_a_reader_that_is_called_off_leaves_the_server(wire: Wire, session: ApiSession) -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunk(b"came"))
        await stay(reader, wire)

    wire.script = script
    reading = asyncio.create_task(read_all(session))
    await until(lambda: any(one._intake and one._intake._reader for one in session._streams), "it waits")
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    await asyncio.wait_for(wire.left.wait(), PATIENCE_SECONDS)
    assert session._streams == []


async def test_closing_the_session_wakes_who_reads(wire: Wire, session: ApiSession) -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunk(b"came"))
        await stay(reader, wire)

    wire.script = script
    reading = asyncio.create_task(read_all(session))
    await until(lambda: any(one._intake and one._intake._reader for one in session._streams), "it waits")
    await session.close()
    with pytest.raises(Unreachable, match="the session was closed"):
        await asyncio.wait_for(reading, PATIENCE_SECONDS)
    await asyncio.wait_for(wire.left.wait(), PATIENCE_SECONDS)


async def test_a_server_waits_for_a_slow_reader(wire: Wire, session: ApiSession) -> None:
    count, size = 24, 1 << 20

    async def script(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        for number in range(count):
            writer.write(chunk(bytes([number]) * size))
            await writer.drain()
        writer.write(END)
        await writer.drain()

    wire.script = script
    async with session.stream(PODS, idle_seconds=PATIENCE_SECONDS) as answer:
        taken = answer._intake
        assert taken is not None
        got: list[bytes] = []
        async for part in answer.chunks:
            got.append(part)
            if len(got) < 4:
                await until(lambda: taken._is_paused or taken._dechunker.is_done, "nothing more is taken")
                assert taken._is_paused
                assert not taken._transport.is_reading()
            assert taken._waiting_bytes <= WAITING_BYTES + BUFFER_BYTES
        assert b"".join(got) == b"".join(bytes([number]) * size for number in range(count))


async def test_a_stream_that_is_left_while_it_waits_leaves_the_server(
    wire: Wire, session: ApiSession
) -> None:
    async def script(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        while not writer.is_closing():
            writer.write(chunk(bytes(1 << 16)))
            await writer.drain()
            await asyncio.sleep(0)  # drain alone does not let others run, so nobody would notice the end
        wire.left.set()

    wire.script = script
    async with session.stream(PODS, idle_seconds=PATIENCE_SECONDS) as answer:
        taken = answer._intake
        assert taken is not None
        await until(lambda: taken._is_paused, "nothing more is taken")
    await asyncio.wait_for(wire.left.wait(), PATIENCE_SECONDS)


async def test_through_a_proxy(wire: Wire, tls: tuple[str, str], tmp_path: Path, clock: ManualClock) -> None:
    """CONNECT for https, a whole URL for http."""
    passed: list[bytes] = []

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        wire.joins(writer)
        head = await reader.readuntil(b"\r\n\r\n")
        passed.append(head.split(b" ")[0])
        far_reader, far_writer = await asyncio.open_connection(*wire.url.rpartition("/")[2].split(":"))
        wire.joins(far_writer)
        if head.startswith(b"CONNECT"):
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            far_writer.write(head)
        await asyncio.gather(carry(reader, far_writer), carry(far_reader, writer))

    async def script(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunk(b"a" * 300_000) + END)
        await writer.drain()

    wire.script = script
    between = await asyncio.start_server(proxy, "127.0.0.1", 0)
    cluster = {"proxy-url": f"http://127.0.0.1:{between.sockets[0].getsockname()[1]}"}
    if wire.url.startswith("https"):
        cluster["certificate-authority"] = tls[0]
    path = kubeconfig(tmp_path, wire.url, cluster)
    session = await open_session(SessionOptions(kubeconfig=path, check=False), clock)
    async with session.stream(PODS, idle_seconds=PATIENCE_SECONDS) as answer:
        assert answer._intake is not None
        assert b"".join([part async for part in answer.chunks]) == b"a" * 300_000
    assert passed == [b"CONNECT" if wire.url.startswith("https") else b"GET"]
    await session.close()
    between.close()


async def test_a_server_of_aiohttps_own(tmp_path: Path, clock: ManualClock) -> None:
    """The embedded cluster's kind of server sends chunks, too."""
    from tests.unit.kube.builders import serving

    async with serving(FakeServer()) as server:
        server.on(PODS, stream(b"a", b"b"))
        path = kubeconfig(tmp_path, server.url)
        session = await open_session(SessionOptions(kubeconfig=path, check=False), clock)
        async with session.stream(PODS) as answer:
            assert answer._intake is not None
            assert b"".join([part async for part in answer.chunks]) == b"ab"
        await session.close()
