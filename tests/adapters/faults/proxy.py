"""A proxy that stands before a server and misbehaves on request: one rule, one fault, counted.

It terminates HTTP (plain, or TLS with a certificate of its own) and speaks to the server over TLS. Every
request is written down, so that a test can say how many were made, and when by the reader's own clock.
"""

import asyncio
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import aiohttp
from aiohttp import web

from cockpit.clock import Clock, SystemClock
from cockpit.sim.faults.exchange import (
    HOP_BY_HOP,
    Each,
    Exchange,
    Fault,
    OriginAnswer,
    SeenRequest,
    is_socket,
)
from tests.adapters.faults.sockets import pass_socket

_PIECE_BYTES = 64 * 1024


@dataclass
class InjectedFault:
    """`fault` happens to the next `times` requests that `matches` (None: to all of them, for ever)."""

    fault: Fault
    matches: Callable[[SeenRequest], bool]
    times: int | None = None
    used: int = field(default=0)

    def takes(self, seen: SeenRequest) -> bool:
        """Whether the fault happens to this request, too."""
        return (self.times is None or self.used < self.times) and self.matches(seen)


@dataclass
class ProxiedExchange(Exchange):
    """An exchange whose server is asked over HTTP."""

    proxy: "FaultProxy" = field(kw_only=True)

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

    async def forward(self, each: Each | None = None, *, content_type: str | None = None) -> None:
        if is_socket(self.seen.headers):
            url = self.proxy.upstream_url + self.request.path_qs
            self.response = await pass_socket(self.request, self.proxy.session, url, self.proxy.upstream_ssl)
            return
        async with self.upstream() as answer:
            kept = {k: v for k, v in answer.headers.items() if k.lower() not in HOP_BY_HOP}
            told = answer.headers.get("Content-Type", "") if content_type is None else content_type
            await self.begin(answer.status, told, kept)
            async for piece in answer.content.iter_chunked(_PIECE_BYTES):
                await (each or self.write)(piece)

    async def whole(self) -> OriginAnswer:
        async with self.upstream() as answer:
            kept = {k: v for k, v in answer.headers.items() if k.lower() not in HOP_BY_HOP}
            return OriginAnswer(
                answer.status, answer.headers.get("Content-Type", ""), kept, await answer.read()
            )


class FaultProxy:
    """`async with FaultProxy(url, ca_file) as proxy`: the server as seen through `proxy.url`.

    Rules come by `plan`, or from a script by `choose` (a `Script.choose`), which is asked where no rule takes
    a request. Without `upstream_ca` the authorities that the machine trusts are asked. `users` names the user
    behind each bearer token, for scripts that speak of users.
    """

    def __init__(
        self,
        upstream_url: str,
        upstream_ca: Path | None,
        *,
        clock: Clock | None = None,
        certificate: tuple[Path, Path] | None = None,
        users: Mapping[str, str] | None = None,
    ) -> None:
        self.upstream_url = upstream_url.rstrip("/")
        # True is the machine's own authorities, which aiohttp has loaded once.
        self.upstream_ssl: ssl.SSLContext | bool = (
            True if upstream_ca is None else ssl.create_default_context(cafile=str(upstream_ca))
        )
        self.seen: list[SeenRequest] = []
        self.rules: list[InjectedFault] = []
        self.clock: Clock = clock or SystemClock()
        self.url = ""
        self._certificate = certificate
        self.choose: Callable[[SeenRequest], Fault | None] | None = None
        self._users = dict(users or {})
        self._runner: web.ServerRunner | None = None
        self._session: aiohttp.ClientSession | None = None
        self._arrived = asyncio.Event()
        self._live: list[web.Request] = []

    @property
    def session(self) -> aiohttp.ClientSession:
        """The client that asks the server. Raises RuntimeError before the proxy is started."""
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
        only: Callable[[SeenRequest], bool] = lambda seen: True,
    ) -> InjectedFault:
        """The fault for the next `times` requests with `path` in their path that are (not) watches, lists."""

        def matches(seen: SeenRequest) -> bool:
            return (
                path in seen.path
                and (watch is None or seen.is_watch == watch)
                and (listing is None or seen.is_list == listing)
                and method in ("", seen.method)
                and only(seen)
            )

        rule = InjectedFault(fault, matches, times)
        self.rules.append(rule)
        return rule

    def heal(self) -> None:
        """Forgets every rule and the script; streams under a fault stay as they are until cut."""
        self.rules.clear()
        self.choose = None

    def cut_all(self) -> None:
        """Drops every connection that is in the middle of an answer."""
        for request in list(self._live):
            if request.transport is not None:
                request.transport.abort()

    # ---- what was seen

    def requests(
        self, path: str = "", *, watch: bool | None = None, listing: bool | None = None
    ) -> list[SeenRequest]:
        """Those with `path` in their path that were (not) watches, lists."""
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
        user = self._users.get(request.headers.get("Authorization", "").removeprefix("Bearer "), "")
        now = self.clock.monotonic()
        query = dict(request.query)
        seen = SeenRequest(request.method, request.path, query, dict(request.headers), now, user)
        self.seen.append(seen)
        self._arrived.set()
        exchange = ProxiedExchange(
            request,  # type: ignore[arg-type]  # a low-level server makes BaseRequest; StreamResponse takes either
            seen,
            dict(query),
            {k: v for k, v in request.headers.items() if k.lower() not in HOP_BY_HOP},
            await request.read(),
            proxy=self,
        )
        live = exchange.request
        self._live.append(live)
        try:
            fault = self._fault_for(seen)
            await (exchange.forward() if fault is None else fault(exchange))
        except (ConnectionError, aiohttp.ClientError):
            exchange.abort()
        finally:
            self._live.remove(live)
        return exchange.response or web.Response(status=502)

    def _fault_for(self, seen: SeenRequest) -> Fault | None:
        rule = next((one for one in self.rules if one.takes(seen)), None)
        if rule is not None:
            rule.used += 1
            return rule.fault
        return self.choose(seen) if self.choose is not None else None
