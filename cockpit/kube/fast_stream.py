"""Streams of answers, read past aiohttp once it has read the answer's head.

A list of 50,000 pods is 324 MB in 79,000 TLS records. aiohttp's way of them (a fresh quarter of a MiB for
each record, a parser, a queue) costs 0.15 to 0.2 s of CPU more than one buffer that asyncio fills in place.
aiohttp still dials, does TLS and proxies, sends the request and judges the head. An answer that is plain
(200, chunked, not compressed) is taken over then by asyncio's public means: `transport.set_protocol` with a
`BufferedProtocol`. Every other answer stays with aiohttp, as do all of them where its connector is not made
as expected: what we lean on is that a connector's `_factory` makes the protocol of each connection.
"""

import asyncio
import functools
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler

from cockpit.kube.chunked import ChunkError, Dechunker
from cockpit.kube.transport import SocketBuffer

FIRST_BUFFER_BYTES = 16 << 10
"""Of a stream that is quiet, as most are."""
BUFFER_BYTES = 256 << 10
"""Of one that once had more to say than the first buffer holds; asyncio's TLS hands over no more at once."""
WAITING_BYTES = 1 << 20
"""So much waits for a slow reader at most, and one buffer more; then the server waits."""
_HEAD_END = b"\r\n\r\n"


class BodyReader(asyncio.BufferedProtocol):
    """The body of one answer, from the moment its head was read until the connection is gone.

    `above` is aiohttp's protocol of the same connection: it is told of the connection's end, and closes it.
    """

    def __init__(
        self, transport: asyncio.Transport, above: ResponseHandler, idle_seconds: float | None
    ) -> None:
        self._transport = transport
        self._above = above
        self._idle = idle_seconds
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray(FIRST_BUFFER_BYTES)
        self._view = memoryview(self._buffer)  # asyncio's TLS slices what it is given: no copy may come of it
        self._dechunker = Dechunker()
        self._lumps = SocketBuffer(transport)
        self._blocks: list[bytes] = []
        self._waiting_bytes = 0
        self._is_paused = False
        self._error: Exception | None = None
        self._reader: asyncio.Future[None] | None = None
        self._heard_at = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None
        self._watch_silence()

    # ---- what the transport tells

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._view

    def buffer_updated(self, nbytes: int) -> None:
        self._heard_at = self._loop.time()
        self._lumps.came(nbytes)
        self._take(self._buffer, nbytes)
        if nbytes == len(self._buffer) < BUFFER_BYTES:
            self._buffer = bytearray(BUFFER_BYTES)
            self._view = memoryview(self._buffer)

    def eof_received(self) -> None:
        self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()
        self._above.connection_lost(exc)

    def pause_writing(self) -> None:
        self._above.pause_writing()

    def resume_writing(self) -> None:
        self._above.resume_writing()

    # ---- what the reader asks for

    async def blocks(self) -> AsyncIterator[bytes]:
        """Bytes as they came, all that wait at once. Raises aiohttp's errors: silence, a cut, rubbish."""
        while True:
            if self._blocks:
                yield self._hand_over()
            elif self._error is not None:
                raise self._error
            elif self._dechunker.is_done:
                return
            else:
                self._reader = self._loop.create_future()
                try:
                    await self._reader
                finally:
                    self._reader = None

    def begin(self, data: bytes) -> None:
        """Bytes that came together with the head."""
        self._take(data, len(data))

    def fail(self, error: Exception) -> None:
        """Raise `error` in the reader after the buffered bytes; read no more."""
        if self._error is None:
            self._error = error
        self._stop_watching()
        self._wake()

    def close(self, error: Exception) -> None:
        """Drop the buffered bytes; a reader that still waits gets the error."""
        self._blocks, self._waiting_bytes = [], 0
        self.fail(error)
        if not self._dechunker.is_done:
            # A polite end would first take in all that the server has to say.
            self._transport.abort()

    # ---- inside

    def _take(self, data: bytes | bytearray, size: int) -> None:
        if self._error is not None or self._dechunker.is_done:
            return
        try:
            block = self._dechunker.feed(data, size)
        except ChunkError as error:
            self.fail(aiohttp.ClientConnectionError(str(error)))
            return
        if block:
            self._blocks.append(block)
            self._waiting_bytes += len(block)
            if self._waiting_bytes >= WAITING_BYTES and not self._is_paused:
                self._is_paused = True
                self._transport.pause_reading()
        if self._dechunker.is_done:
            self._stop_watching()
            self._wake()
        elif block:
            self._wake()

    def _hand_over(self) -> bytes:
        blocks, self._blocks, self._waiting_bytes = self._blocks, [], 0
        if self._is_paused:
            self._is_paused = False
            self._heard_at = self._loop.time()  # the silence so far was ours
            if not self._transport.is_closing():
                self._transport.resume_reading()
        return blocks[0] if len(blocks) == 1 else b"".join(blocks)

    def _end(self) -> None:
        """No more bytes will come: right behind the body's end, or in its middle."""
        if not self._dechunker.is_done:
            self.fail(aiohttp.ClientPayloadError("the connection ended before the answer did"))
        self._stop_watching()
        self._wake()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def _watch_silence(self) -> None:
        """One timer that looks when bytes came last: one for each block would cost more than reading it."""
        self._timer = None
        if not self._idle:
            return
        now = self._loop.time()
        if self._is_paused:
            self._heard_at = now
        if now - self._heard_at >= self._idle:
            self.fail(aiohttp.SocketTimeoutError("nothing came for too long"))
            return
        self._timer = self._loop.call_at(self._heard_at + self._idle, self._watch_silence)

    def _stop_watching(self) -> None:
        self._lumps.stop()
        self._idle = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _Handler(ResponseHandler):
    """aiohttp's protocol of one connection; hands a stream over to an Intake once it knows the head."""

    intake: BodyReader | None = None

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._head = b""
        self._is_head_over = False
        self._message: Any = None

    def feed_data(self, data: Any, size: int = 0) -> None:
        """An answer's head as aiohttp's parser read it, on its way to the response."""
        self._message = data[0]
        super().feed_data(data, size)

    def data_received(self, data: bytes) -> None:
        if self._is_head_over or not data:
            super().data_received(data)
            return
        known = len(self._head)
        seam = self._head + data
        found = seam.find(_HEAD_END, max(known - len(_HEAD_END), 0))
        if found < 0:
            self._head = seam
            super().data_received(data)
            self._is_head_over = self._message is not None or self.exception() is not None
            return
        head, self._head = seam[: found + len(_HEAD_END)], b""
        rest = seam[len(head) :]
        super().data_received(head[known:])
        message, transport = self._message, self.transport
        # An interim answer (1xx) is none for aiohttp, either: another head follows.
        self._is_head_over = message is not None and not 100 <= message.code < 200
        if self.exception() is not None:
            self._is_head_over, rest = True, b""
        elif not self._is_head_over:
            self._message = None
        elif transport is not None and _is_ours(message, head):
            self.intake = intake = BodyReader(transport, self, self.read_timeout)
            self.read_timeout = None
            self.start_timeout()  # without a time: the intake watches from now on
            transport.set_protocol(intake)
            intake.begin(rest)
            return
        if rest:
            self.data_received(rest)


def _is_ours(message: Any, head: bytes) -> bool:
    """True for a plain chunked answer whose head ends where the first empty line is."""
    return bool(
        message.code == 200
        and message.chunked
        and not message.upgrade
        and message.compression is None
        and message.headers.getall("Transfer-Encoding", []) == ["chunked"]
        and "Content-Encoding" not in message.headers
        and head.count(b"\n") == head.count(b"\r\n")
    )


def take_streams(connector: aiohttp.BaseConnector | None) -> bool:
    """Let an Intake read the streams of this connector; False where aiohttp is not made as known here."""
    made = getattr(connector, "_factory", None)
    if not isinstance(made, functools.partial) or made.func is not ResponseHandler or made.args:
        return False
    connector._factory = functools.partial(_Handler, **made.keywords)  # type: ignore[union-attr]
    return True


def intake_of(response: aiohttp.ClientResponse) -> BodyReader | None:
    """Who reads the body of this answer, None for aiohttp itself."""
    connection = response.connection
    return getattr(connection.protocol, "intake", None) if connection is not None else None
