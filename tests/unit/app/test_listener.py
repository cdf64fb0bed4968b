"""A local port joined to something far: bytes both ways, many at once, refusals, and a whole end."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from cockpit.errors import BadInput, NoConnection, Refused
from cockpit.listener import LOOPBACK, MOST_CONNECTIONS, Listener
from tests.reliability.figures import Tell
from tests.waiting import until

SECONDS = 60


class Echo:
    """Says everything back; `bye` ends it."""

    def __init__(self) -> None:
        self.pieces: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def read(self) -> bytes | None:
        return await self.pieces.get()

    async def write(self, data: bytes) -> None:
        await self.pieces.put(None if data == b"bye" else data)


class House:
    """Dials echoes, or refuses."""

    def __init__(self) -> None:
        self.refusal: Exception | None = None
        self.now = self.most = self.dialled = 0

    @asynccontextmanager
    async def dial(self) -> AsyncIterator[Echo]:
        if self.refusal is not None:
            raise self.refusal
        self.dialled += 1
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            yield Echo()
        finally:
            self.now -= 1


@asynccontextmanager
async def listening(house: House) -> AsyncIterator[Listener]:
    listener = Listener(house.dial)
    await listener.start()
    try:
        async with asyncio.timeout(SECONDS):
            yield listener
    finally:
        await listener.stop()


async def test_bytes_go_both_ways_until_the_far_side_ends() -> None:
    house = House()
    async with listening(house) as listener:
        reader, writer = await asyncio.open_connection(LOOPBACK, listener.port)
        data = bytes(range(256)) * 2_000
        writer.write(data)
        assert await reader.readexactly(len(data)) == data
        assert (listener.open_count, listener.served_count) == (1, 0)
        writer.write(b"bye")
        assert await reader.read() == b""
        await until(lambda: listener.served_count == 1)
        assert (listener.open_count, listener.trouble, house.now) == (0, "", 0)


async def test_who_leaves_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser that closes its connection does not hold the far one; nor does it wait for what is silent."""
    monkeypatch.setattr("cockpit.listener.LINGER_SECONDS", 0.01)
    house = House()
    async with listening(house) as listener:
        _, writer = await asyncio.open_connection(LOOPBACK, listener.port)
        await until(lambda: house.now == 1)
        writer.close()
        await until(lambda: house.now == 0)


async def test_who_said_all_still_hears_the_answer() -> None:
    class Slow(Echo):
        """Answers only after its reader's end of input could have cut it."""

        async def write(self, data: bytes) -> None:
            async def later() -> None:
                for _ in range(50):
                    await asyncio.sleep(0)
                await self.pieces.put(data)
                await self.pieces.put(None)

            self.task = asyncio.create_task(later())

    @asynccontextmanager
    async def dial() -> AsyncIterator[Slow]:
        yield Slow()

    listener = Listener(dial)
    await listener.start()
    async with asyncio.timeout(SECONDS):
        reader, writer = await asyncio.open_connection(LOOPBACK, listener.port)
        writer.write(b"question")
        writer.write_eof()
        assert await reader.read() == b"question"
    await listener.stop()


async def test_more_than_the_most_wait_for_their_turn() -> None:
    house = House()
    async with listening(house) as listener:
        pairs = [await asyncio.open_connection(LOOPBACK, listener.port) for _ in range(MOST_CONNECTIONS + 3)]
        await until(lambda: house.now == MOST_CONNECTIONS)
        for reader, writer in pairs:
            writer.write(b"x")
            assert await reader.readexactly(1) == b"x"
            writer.write(b"bye")
            assert await reader.read() == b""
        assert house.most == MOST_CONNECTIONS
        assert house.dialled == len(pairs)


@pytest.mark.parametrize("error", [Refused("you may not"), NoConnection("cut")])
async def test_a_refusal_is_told_and_forgotten_once_one_goes_through(error: Exception) -> None:
    house = House()
    house.refusal = error
    async with listening(house) as listener:
        reader, _ = await asyncio.open_connection(LOOPBACK, listener.port)
        assert await reader.read() == b""
        await until(lambda: listener.served_count == 1)
        assert listener.trouble == str(error)
        house.refusal = None
        reader, writer = await asyncio.open_connection(LOOPBACK, listener.port)
        writer.write(b"bye")
        assert await reader.read() == b""
        await until(lambda: listener.served_count == 2)
        assert listener.trouble == ""


def sockets() -> int:
    """Of this process, by its open files."""
    found = 0
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found += entry.readlink().name.startswith("socket:")
    return found


@pytest.mark.row(47, "sockets left of a forwarded port", most=0)
async def test_the_end_cuts_everything_and_frees_the_port(figure: Tell) -> None:
    before = sockets()
    house = House()
    listener = Listener(house.dial)
    port = await listener.start()
    pairs = [await asyncio.open_connection(LOOPBACK, port) for _ in range(5)]
    await until(lambda: house.now == len(pairs))
    assert sockets() == before + 1 + 2 * len(pairs)
    await listener.stop()
    assert house.now == 0
    for reader, writer in pairs:
        async with asyncio.timeout(SECONDS):
            assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
    figure("sockets left of a forwarded port", sockets() - before)
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(LOOPBACK, port)
    await listener.stop()


@pytest.mark.row(47, "sockets that another machine can reach", most=0)
async def test_a_port_that_is_taken_is_one_sentence_and_only_loopback_is_listened_at(figure: Tell) -> None:
    with socket.create_server((LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BadInput, match=rf"127\.0\.0\.1:{port} cannot be bound .*another port"):
            await Listener(House().dial).start(port)
    async with listening(House()) as listener:
        assert listener._server is not None
        addresses = [one.getsockname()[0] for one in listener._server.sockets]
        figure("sockets that another machine can reach", len(addresses) - addresses.count(LOOPBACK))
        assert addresses == [LOOPBACK]
