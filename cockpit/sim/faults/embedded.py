"""The fault layer inside the embedded server: a middleware; no second port, no second TLS."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

from cockpit.clock import Clock
from cockpit.sim.faults.exchange import (
    HOP_BY_HOP,
    Each,
    Exchange,
    Fault,
    OriginAnswer,
    SeenRequest,
    is_socket,
)

if TYPE_CHECKING:
    from aiohttp.typedefs import Middleware
    from multidict import CIMultiDict

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Choose = Callable[[SeenRequest], Fault | None]
Begin = Callable[[int, Mapping[str, str]], Awaitable[None]]


class _Tap(AbstractStreamWriter):
    """Stands where the connection would be, and hands on what a handler writes.

    `stopped` is what the fault raised to end the answer: handlers take that for a reader who left, and end
    in peace, so it has to be raised again behind them.
    """

    def __init__(self, begin: Begin, each: Each) -> None:
        self._begin = begin
        self._each = each
        self.stopped: Exception | None = None
        self.buffer_size = 0
        self.output_size = 0
        self.length = None

    async def write(self, chunk: bytes | bytearray | memoryview) -> None:
        data = bytes(chunk)
        self.output_size += len(data)
        if self.stopped is not None:
            raise self.stopped
        try:
            if data:
                await self._each(data)
        except Exception as error:
            self.stopped = error
            raise

    async def write_eof(self, chunk: bytes = b"") -> None:
        await self.write(chunk)

    async def drain(self) -> None:
        pass

    def enable_compression(self, encoding: str = "deflate", strategy: int | None = None) -> None:
        raise RuntimeError(
            f"a stream under a fault was to be compressed as {encoding}, which was not asked for"
        )

    def enable_chunking(self) -> None:
        pass

    async def write_headers(self, status_line: str, headers: "CIMultiDict[str]") -> None:
        kept = {name: value for name, value in headers.items() if name.lower() not in HOP_BY_HOP}
        await self._begin(int(status_line.split()[1]), kept)


@dataclass
class EmbeddedExchange(Exchange):
    """An exchange whose server is the handler behind the middleware."""

    handler: Handler = field(kw_only=True)

    async def forward(self, each: Each | None = None, *, content_type: str | None = None) -> None:
        if is_socket(self.seen.headers):
            self.response = await self.handler(self.request)
            return

        async def begin(status: int, headers: Mapping[str, str]) -> None:
            told = headers.get("Content-Type", "") if content_type is None else content_type
            await self.begin(status, told, headers)

        await self._run(begin, each or self.write)

    async def whole(self) -> OriginAnswer:
        heads: list[tuple[int, Mapping[str, str]]] = []
        pieces: list[bytes] = []

        async def begin(status: int, headers: Mapping[str, str]) -> None:
            heads.append((status, headers))

        async def keep(piece: bytes) -> None:
            pieces.append(piece)

        await self._run(begin, keep)
        status, headers = heads[0]
        return OriginAnswer(status, headers.get("Content-Type", ""), headers, b"".join(pieces))

    async def _run(self, begin: Begin, each: Each) -> None:
        """Run the handler on a copy of the request whose answer goes into a tap."""
        url = self.request.rel_url
        if self.query != dict(self.request.query):
            url = url.with_query(self.query)
        # Bytes are what faults count and change: they must not be compressed.
        headers = {name: value for name, value in self.headers.items() if name.lower() != "accept-encoding"}
        inner = self.request.clone(rel_url=url, headers=headers)
        tap = _Tap(begin, each)
        inner._payload_writer = tap
        try:
            answered = await self.handler(inner)
        except web.HTTPException as error:
            answered = error
        finally:
            if tap.stopped is not None:
                raise tap.stopped
        await answered.prepare(inner)
        await answered.write_eof()


class FaultLayer:
    """`app.middlewares.append(layer.middleware)`: every request is shown to `choose`, and takes its fault.

    `user_of` names the user of a request ("" where it cannot). What a request without fault costs is one
    call of `choose`; a request that switches protocols (exec) meets what happens before its answer, and
    is then left alone.
    """

    def __init__(
        self, clock: Clock, choose: Choose | None = None, user_of: Callable[[web.Request], str] | None = None
    ) -> None:
        self.clock = clock
        self.choose = choose
        self._user_of = user_of or (lambda request: "")

    @property
    def middleware(self) -> "Middleware":
        """For `web.Application.middlewares`."""

        @web.middleware
        async def take(request: web.Request, handler: Handler) -> web.StreamResponse:
            return await self._take(request, handler)

        return take

    async def _take(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if self.choose is None:
            return await handler(request)
        query, headers = dict(request.query), dict(request.headers)
        now = self.clock.monotonic()
        seen = SeenRequest(request.method, request.path, query, headers, now, self._user_of(request))
        fault = self.choose(seen)
        if fault is None:
            return await handler(request)
        # The body is left to the handler: it can be read once only.
        exchange = EmbeddedExchange(request, seen, dict(query), dict(headers), b"", handler=handler)
        try:
            await fault(exchange)
        except ConnectionError:
            exchange.abort()
        return exchange.response or web.Response(status=502)
