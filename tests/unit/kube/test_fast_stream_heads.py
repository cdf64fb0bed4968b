"""Heads of streamed answers, cut anywhere, and an intake whose transport is played: no network."""

import asyncio
from typing import Any

import aiohttp
import pytest

from cockpit.kube.fast_stream import WAITING_BYTES, BodyReader, _Handler
from tests.unit.kube.raw_http import END, HEAD, chunk

PATIENCE_SECONDS = 60.0


class Line(asyncio.Transport):
    """A transport without a network: what is sent goes to whoever is the protocol now."""

    def __init__(self) -> None:
        super().__init__()
        self.protocol: asyncio.BaseProtocol | None = None
        self.is_paused = self.is_aborted = False

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def is_closing(self) -> bool:
        return self.is_aborted

    def close(self) -> None:
        self.abort()

    def abort(self) -> None:
        self.is_aborted = True

    def send(self, data: bytes) -> None:
        protocol = self.protocol
        if isinstance(protocol, asyncio.BufferedProtocol):
            while data:
                buffer = memoryview(protocol.get_buffer(-1))
                size = min(len(buffer), len(data))
                buffer[:size] = data[:size]
                protocol.buffer_updated(size)
                data = data[size:]
        elif data:
            assert isinstance(protocol, asyncio.Protocol)
            protocol.data_received(data)


def connected() -> tuple[_Handler, Line]:
    loop = asyncio.get_running_loop()
    handler, line = _Handler(loop), Line()
    line.protocol = handler
    handler.connection_made(line)
    handler.set_response_params(read_timeout=PATIENCE_SECONDS, read_until_eof=True)
    return handler, line


async def read_end(handler: _Handler) -> tuple[int, bytes]:
    """Status and body of the last answer."""
    while True:
        message, payload = await handler.read()
        if not 100 <= message.code < 200:
            break
    if handler.intake is not None:
        return message.code, b"".join([part async for part in handler.intake.blocks()])
    return message.code, await payload.read()


EARLY = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
BARE = b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n"


@pytest.mark.parametrize("before", [b"", EARLY, b"HTTP/1.1 100 Continue\r\n\r\n" + EARLY])
async def test_a_head_that_is_cut_anywhere(before: bytes) -> None:
    data = before + HEAD + chunk(b"abc") + chunk(b"\r\n\r\n") + END
    for at in range(len(data) + 1):
        handler, line = connected()
        line.send(data[:at])
        line.send(data[at:])
        assert handler.intake is not None, at
        assert await read_end(handler) == (200, b"abc\r\n\r\n"), at
    handler, line = connected()
    for at in range(len(data)):
        line.send(data[at : at + 1])
    assert handler.intake is not None
    assert await read_end(handler) == (200, b"abc\r\n\r\n")


async def test_a_head_that_goes_on_in_the_body_is_aiohttps() -> None:
    """Lines without a carriage return: the first empty line that we see is in the body."""
    data = BARE + chunk(b"a\r\n\r\nb") + END
    for at in range(len(data) + 1):
        handler, line = connected()
        line.send(data[:at])
        line.send(data[at:])
        assert handler.intake is None
        if handler.exception() is None:  # aiohttp may refuse such a head
            assert await read_end(handler) == (200, b"a\r\n\r\nb")


async def test_a_head_that_cannot_be_read_is_aiohttps_error() -> None:
    handler, line = connected()
    line.send(b"no HTTP at all\r\n\r\nand more")
    assert handler.intake is None
    with pytest.raises(aiohttp.http_exceptions.HttpProcessingError):
        await handler.read()


async def test_a_connection_that_ends_is_told_to_aiohttp() -> None:
    handler, line = connected()
    line.send(HEAD + chunk(b"abc"))
    taken: Any = handler.intake
    assert isinstance(taken, BodyReader)
    assert handler.connected
    taken.connection_lost(None)
    assert not handler.connected
    assert handler.should_close
    with pytest.raises(aiohttp.ClientPayloadError):
        await read_end(handler)


async def test_silence_of_ours_is_not_the_servers() -> None:
    handler, line = connected()
    line.send(HEAD)
    taken: Any = handler.intake
    line.send(chunk(bytes(WAITING_BYTES)))
    assert line.is_paused
    taken._heard_at -= 10 * PATIENCE_SECONDS
    taken._watch_silence()
    body = taken.blocks()
    assert await anext(body) == bytes(WAITING_BYTES)
    assert not line.is_paused
    taken._watch_silence()  # counted from the moment when reading went on
    line.send(chunk(b"more"))
    assert await anext(body) == b"more"
    taken._heard_at -= 10 * PATIENCE_SECONDS
    taken._watch_silence()
    with pytest.raises(aiohttp.SocketTimeoutError):
        await anext(body)
    assert taken._timer is None


async def test_what_waits_is_dropped_with_the_stream() -> None:
    handler, line = connected()
    line.send(HEAD + chunk(b"abc"))
    taken: Any = handler.intake
    taken.close(aiohttp.ClientConnectionError("left"))
    assert line.is_aborted
    line.send(chunk(b"more"))
    assert taken._blocks == []
    with pytest.raises(aiohttp.ClientConnectionError, match="left"):
        await read_end(handler)
