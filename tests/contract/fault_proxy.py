"""A proxy that stands before a server and misbehaves on request: one rule, one fault, counted.

It terminates HTTP (plain, or TLS with a certificate of its own) and speaks to the server over TLS. Every
request is written down, so that a case can say how many were made, and when by the reader's own clock.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import aiohttp
from aiohttp import web

from cockpit.clock import Clock, SystemClock

_HOP_BY_HOP = frozenset(
    {"connection", "keep-alive", "transfer-encoding", "content-length", "host", "upgrade"}
)
_PIECE_BYTES = 64 * 1024


@dataclass(frozen=True)
class Seen:
    """One request as it reached the proxy; `at_seconds` is monotonic time of the proxy's clock."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    at_seconds: float

    @property
    def is_watch(self) -> bool:
        return self.query.get("watch") in ("1", "true")

    @property
    def is_list(self) -> bool:
        """A plain list, or the streaming list that replaces it."""
        return not self.is_watch or self.query.get("sendInitialEvents") == "true"


@dataclass
class Exchange:
    """One request under a fault. `query` and `headers` may be changed before `forward` is called."""

    request: web.Request
    seen: Seen
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    proxy: "FaultProxy"
    response: web.StreamResponse | None = None

    async def begin(
        self, status: int, content_type: str, headers: Mapping[str, str] | None = None
    ) -> web.StreamResponse:
        """Sends the head of a chunked answer; its body follows through `write`."""
        self.response = web.StreamResponse(status=status, headers=dict(headers or {}))
        self.response.headers["Content-Type"] = content_type
        self.response.enable_chunked_encoding()
        await self.response.prepare(self.request)
        return self.response

    async def write(self, data: bytes) -> None:
        if self.response is None:
            raise RuntimeError("begin() comes before write()")
        await self.response.write(data)

    async def answer(
        self, status: int, content_type: str, body: bytes, headers: Mapping[str, str] | None = None
    ) -> None:
        """A whole answer made here; the server is not asked."""
        await self.begin(status, content_type, headers)
        await self.write(body)

    def abort(self) -> None:
        """Drops the reader's connection without an end of the body."""
        if self.request.transport is not None:
            self.request.transport.abort()

    def upstream(self) -> "aiohttp.client._RequestContextManager":
        """The same request to the server; use as `async with`."""
        return self.proxy.session.request(
            self.seen.method,
            self.proxy.upstream_url + self.seen.path,
            params=self.query,
            headers=self.headers,
            data=self.body or None,
            ssl=self.proxy.upstream_ssl,
            allow_redirects=False,
            auto_decompress=False,
        )

    async def forward(self, each: Callable[[bytes], Awaitable[None]] | None = None) -> None:
        """The server's own answer; `each` takes the pieces of the body in place of `write`."""
        async with self.upstream() as answer:
            kept = {k: v for k, v in answer.headers.items() if k.lower() not in _HOP_BY_HOP}
            await self.begin(answer.status, answer.headers.get("Content-Type", ""), kept)
            async for piece in answer.content.iter_chunked(_PIECE_BYTES):
                await (each or self.write)(piece)


Fault = Callable[[Exchange], Awaitable[None]]


@dataclass
class Rule:
    """`fault` happens to the next `times` requests that `matches` (None: to all of them, for ever)."""

    fault: Fault
    matches: Callable[[Seen], bool]
    times: int | None = None
    used: int = field(default=0)

    def takes(self, seen: Seen) -> bool:
        return (self.times is None or self.used < self.times) and self.matches(seen)


class FaultProxy:
    """`async with FaultProxy(url, ca_file) as proxy`: the server as seen through `proxy.url`."""

    def __init__(
        self,
        upstream_url: str,
        upstream_ca: Path,
        *,
        clock: Clock | None = None,
        certificate: tuple[Path, Path] | None = None,
    ) -> None:
        self.upstream_url = upstream_url.rstrip("/")
        self.upstream_ssl = ssl.create_default_context(cafile=str(upstream_ca))
        self.seen: list[Seen] = []
        self.rules: list[Rule] = []
        self.clock: Clock = clock or SystemClock()
        self.url = ""
        self._certificate = certificate
        self._runner: web.ServerRunner | None = None
        self._session: aiohttp.ClientSession | None = None
        self._arrived = asyncio.Event()
        self._live: list[web.Request] = []

    @property
    def session(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise RuntimeError("the proxy is not started")
        return self._session

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=None), connector=aiohttp.TCPConnector(limit=0)
        )
        # A reader that leaves ends the exchange, and with it the request to the server.
        served = web.Server(self._handle, handler_cancellation=True)
        self._runner = web.ServerRunner(served, handle_signals=False, shutdown_timeout=0.1)
        await self._runner.setup()
        context = None
        if self._certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*map(str, self._certificate))
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        port = self._runner.addresses[0][1]
        self.url = f"{'https' if context else 'http'}://127.0.0.1:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cut_all()
        if self._runner is not None:
            await self._runner.cleanup()
        await self.session.close()

    # ---- rules

    def plan(
        self,
        fault: Fault,
        *,
        times: int | None = 1,
        path: str = "",
        watch: bool | None = None,
        listing: bool | None = None,
        method: str = "",
        only: Callable[[Seen], bool] = lambda seen: True,
    ) -> Rule:
        """The fault for the next `times` requests with `path` in their path that are (not) watches, lists."""

        def matches(seen: Seen) -> bool:
            return (
                path in seen.path
                and (watch is None or seen.is_watch == watch)
                and (listing is None or seen.is_list == listing)
                and method in ("", seen.method)
                and only(seen)
            )

        rule = Rule(fault, matches, times)
        self.rules.append(rule)
        return rule

    def heal(self) -> None:
        """Forgets every rule; streams under a fault stay as they are until cut."""
        self.rules.clear()

    def cut_all(self) -> None:
        """Drops every connection that is in the middle of an answer."""
        for request in list(self._live):
            if request.transport is not None:
                request.transport.abort()

    # ---- what was seen

    def requests(
        self, path: str = "", *, watch: bool | None = None, listing: bool | None = None
    ) -> list[Seen]:
        return [
            one
            for one in self.seen
            if path in one.path
            and (watch is None or one.is_watch == watch)
            and (listing is None or one.is_list == listing)
        ]

    @property
    def answering(self) -> int:
        """Requests that are being answered now."""
        return len(self._live)

    async def arrival(self) -> None:
        """Until one more request reaches the proxy."""
        self._arrived.clear()
        await self._arrived.wait()

    # ---- serving

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        seen = Seen(
            request.method, request.path, dict(request.query), dict(request.headers), self.clock.monotonic()
        )
        self.seen.append(seen)
        self._arrived.set()
        exchange = Exchange(
            request,  # type: ignore[arg-type]  # a low-level server makes BaseRequest; StreamResponse takes either
            seen,
            dict(request.query),
            {k: v for k, v in request.headers.items() if k.lower() not in _HOP_BY_HOP},
            await request.read(),
            self,
        )
        rule = next((one for one in self.rules if one.takes(seen)), None)
        live = exchange.request
        self._live.append(live)
        try:
            if rule is None:
                await exchange.forward()
            else:
                rule.used += 1
                await rule.fault(exchange)
        except (ConnectionError, aiohttp.ClientError):
            exchange.abort()
        finally:
            self._live.remove(live)
        return exchange.response or web.Response(status=502)
