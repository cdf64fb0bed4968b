"""The one way to an API server: credentials, TLS, the guard, answers and streams.

Slow to import, and with it aiohttp and the `kubernetes` package: `cockpit.attach` does so in a thread.
"""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import msgspec
from yarl import URL

from cockpit import __version__
from cockpit.clock import Clock
from cockpit.daemon_thread import resolver
from cockpit.errors import LoginExpired, NoConnection, Refused
from cockpit.kube import guard
from cockpit.kube.answer import ApiAnswer
from cockpit.kube.authorities import aiohttp
from cockpit.kube.credentials import prepare
from cockpit.kube.failures import Distrusted, Silent, Unreachable, explain, host_of
from cockpit.kube.fast_stream import take_streams
from cockpit.kube.logins import Logins
from cockpit.kube.pulse import Flight, Pulse
from cockpit.kube.refusal import refusal_of
from cockpit.kube.server_time import CLUSTER_TIME, said_time
from cockpit.kube.sockets import SocketRequest, dial
from cockpit.kube.stream_answer import StreamAnswer, retry_after
from cockpit.kube.transport import headers_for, open_socket, proxy_for
from cockpit.model.refusal import By
from cockpit.model.trust import Trust

if TYPE_CHECKING:
    import aiohttp
    from multidict import CIMultiDict

    from cockpit.kube.credentials import Credentials
    from cockpit.kube.sockets import Socket

__all__ = ["ApiAnswer", "ApiSession", "SessionOptions", "StreamAnswer", "open_session"]

Query = Sequence[tuple[str, str]]

CONNECT_SECONDS = 10.0
BODY_BYTES = 512 << 20
"""Longest answer that is kept: a page of 500 objects at etcd's limit."""
READ_BYTES = 1 << 18


class SessionOptions(msgspec.Struct, frozen=True):
    """What a person chose; None means: as the kubeconfig or the environment says."""

    kubeconfig: str | None = None
    context: str | None = None
    read_only: bool = True
    user_agent: str = f"gpu-cockpit/{__version__}"
    check: bool = True  # ask for /version before the session is handed out
    logins: Logins | None = None  # None: a plugin has no terminal, and what it gives is not kept
    named: Callable[[str], None] = lambda _name: None  # called with the context's name, before it is used


class _Request(msgspec.Struct):
    """What leaves: `headers` get the Authorization header at the last moment."""

    method: str
    path: str
    query: Query
    headers: dict[str, str]
    body: bytes | None
    timeout: Any
    is_stream: bool = False
    is_fresh: bool = False  # over a new connection
    is_probe: bool = False  # over the connection that only probes use


@contextmanager
def _before_sending() -> Iterator[None]:
    """What fails in it fails before the request leaves, or after a refusal of it."""
    try:
        yield
    except NoConnection as error:
        error.is_unsent = True
        raise


def _proves_unread(request: _Request, response: "aiohttp.ClientResponse") -> bool:
    """Whether a 401 proves that a write was not done: the API server's own, which is no page of a proxy."""
    return request.method in guard.READS or "json" in response.headers.get("Content-Type", "")


class ApiSession:
    """One user on one cluster. Each request passes through `_check`, and so through the guard."""

    def __init__(self, credentials: "Credentials", options: SessionOptions, clock: Clock) -> None:
        self.context = credentials.context
        self.namespace = credentials.namespace
        self.server = credentials.server
        self.user = credentials.user
        self.acts_as = credentials.acts_as
        self.notes = credentials.notes
        self._credentials = credentials
        self._options = options
        self._clock = clock
        self._read_only = options.read_only
        self._client: aiohttp.ClientSession | None = None
        self._probe_client: aiohttp.ClientSession | None = None
        self._once_client: aiohttp.ClientSession | None = None
        self._proxy: str | None = None
        self._stream_client: aiohttp.ClientSession | None = None
        self._streams: list[StreamAnswer] = []
        self._sockets: list[Socket] = []
        self._is_closed = False
        self._refused_header: str | None = None  # that of the last 401
        self._is_probe_refused = False
        self.pulse = Pulse(self._version, clock)
        self.forbidden: Callable[[str], None] = _overlook
        """Called with the path of each write or tunnel that the server answered with 403."""
        self.server_version: tuple[int, int] | None = None
        """Major and minor of the version that the server told last; None where it told none."""

    @property
    def read_only(self) -> bool:
        """True: the guard lets only reading through."""
        return self._read_only

    @property
    def trust(self) -> Trust:
        """Whether the server's certificate is checked; where it is not, that is shown as long as it holds."""
        if self.server.startswith("http://"):
            return Trust.PLAIN
        return Trust.VERIFIED if self._credentials.configuration.verify_ssl else Trust.UNVERIFIED

    @property
    def login_refused(self) -> str:
        """The sentence for a 401: whose login the server does not accept, why, and what to do."""
        return (
            f"{host_of(self.server)} rejected the credentials of {self.user} (401):"
            f" {self._credentials.why_refused}."
        )

    def unlock(self) -> None:
        """Let writes through from now on."""
        self._read_only = False

    def lock(self) -> None:
        """Let only reading through from now on."""
        self._read_only = True

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        body: Any = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        timeout_seconds: float = 30.0,
        headers: Query = (),
        limit_bytes: int = BODY_BYTES,
        is_fresh: bool = False,
        is_probe: bool = False,
    ) -> ApiAnswer:
        """Send one request; an answer for every HTTP status.

        `body` is a tree of dicts, lists and scalars (sent as JSON for every patch type). Raises Refused
        where the guard forbids it and NoConnection where no answer comes or it is longer than `limit_bytes`.
        Nothing is retried, except once after a 401 with renewed credentials: a 401 of the API server proves
        that nothing was done. `is_fresh` opens a connection for this request alone; `is_probe` keeps one that
        no other request takes.
        """
        extra = dict(headers)
        extra["Accept"] = accept
        data: bytes | None = None
        if body is not None:
            data = json.dumps(body).encode()
            extra["Content-Type"] = content_type
        timeout = aiohttp.ClientTimeout(total=timeout_seconds, sock_connect=CONNECT_SECONDS)
        sent = _Request(
            method.upper(), path, query, extra, data, timeout, is_fresh=is_fresh, is_probe=is_probe
        )
        try:
            async with self._guarded(sent) as flight, self._send(sent) as response:
                if response.status == 403 and method.upper() not in guard.READS:
                    self.forbidden(path)
                return ApiAnswer(
                    response.status,
                    response.headers.get("Content-Type", ""),
                    await self._body(response, limit_bytes, flight),
                    retry_after(response.headers.get("Retry-After")),
                    response.headers.get("Audit-Id", ""),
                    response.headers.get("ETag", ""),
                    response.headers.get("Date", ""),
                    response.headers.get(CLUSTER_TIME, ""),
                )
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise explain(error, self.server, self._proxy or "") from None

    @asynccontextmanager
    async def _guarded(self, request: "_Request") -> AsyncGenerator[Flight | None, None]:
        """What of a write became of an outage is not known: only reads are given up for it."""
        if request.method not in guard.READS:
            yield None
            return
        async with self.pulse.flying() as flight:
            yield flight

    async def version(self, timeout_seconds: float) -> ApiAnswer:
        """Ask the server for its version: is it there, and what time is it there. Raises as `request`.

        Only here the server speaks of its own time: answers through a proxy carry another machine's date.
        """
        return await self._version(timeout_seconds, is_fresh=False)

    async def _version(self, timeout_seconds: float, is_fresh: bool) -> ApiAnswer:
        asked_seconds = self._clock.now()
        answer = await self.request(
            "GET", "/version", timeout_seconds=timeout_seconds, is_fresh=is_fresh, is_probe=not is_fresh
        )
        said = said_time(answer.date, answer.demo_time)
        if said is not None:
            self._clock.hear(said, asked_seconds, self._clock.now())
        self.server_version = _version_in(answer) or self.server_version
        return answer

    @asynccontextmanager
    async def stream(
        self,
        path: str,
        *,
        query: Query = (),
        accept: str = "application/json",
        idle_seconds: float | None = None,
    ) -> AsyncGenerator[StreamAnswer, None]:
        """A GET whose body is read as it comes. Raises as `request`; Silent when the head is late."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=idle_seconds)
        request = _Request("GET", path, query, {"Accept": accept}, None, timeout, is_stream=True)
        try:
            async with self.pulse.flying() as flight, self._send(request) as response:
                answer = StreamAnswer(response, self.server, idle_seconds, flight)
                self._streams.append(answer)
                try:
                    yield answer
                finally:
                    self._streams.remove(answer)
                    answer.close("the stream was left")
        except aiohttp.SocketTimeoutError:
            raise Silent(f"{host_of(self.server)} did not answer within {idle_seconds or 0:g} s.") from None
        except (aiohttp.ClientError, OSError) as error:
            raise explain(error, self.server, self._proxy or "") from None

    @asynccontextmanager
    async def socket(
        self, path: str, *, query: Query = (), protocols: Sequence[str]
    ) -> AsyncGenerator["Socket", None]:
        """A WebSocket that speaks one of `protocols`; it is closed with the block, or with the session.

        Raises Refused with the guard's or the server's sentence, NoConnection where no answer comes.
        """
        self._check("GET", path, query)
        call = SocketRequest(
            url=self.server + path,
            query=query,
            protocols=tuple(protocols),
            headers=self._headers(),
            server_name=self._credentials.configuration.tls_server_name or None,
            proxy=proxy_for(self.server, self._credentials.configuration.proxy),
        )
        try:
            made = await dial(call, self._credentials)
        except Refused as error:
            if error.said.status == 403:
                self.forbidden(path)
            raise
        self._sockets.append(made)
        try:
            yield made
        finally:
            self._sockets.remove(made)
            await made.close()

    async def _body(
        self, response: "aiohttp.ClientResponse", limit_bytes: int, flight: Flight | None
    ) -> bytes:
        parts: list[bytes] = []
        length = 0
        async for chunk in response.content.iter_any():
            if flight is not None:
                flight.hears()
            parts.append(chunk)
            length += len(chunk)
            if length > limit_bytes:
                response.close()
                raise NoConnection(
                    f"The answer of {host_of(self.server)} is longer than {limit_bytes} bytes."
                )
        return b"".join(parts)

    @asynccontextmanager
    async def _send(self, request: "_Request") -> AsyncGenerator["aiohttp.ClientResponse", None]:
        """The only place where a request leaves; renews credentials once after a 401."""
        self._check(request.method, request.path, request.query, request.body)
        response = await self._once(request)
        if response.status == 401 and _proves_unread(request, response):
            with _before_sending():
                is_new = await self._credentials.renew(request.headers.get("Authorization", ""))
            if is_new:
                response.close()
                response = await self._once(request)
        self._judge_login(request, response.status)
        async with response:
            yield response

    def _judge_login(self, request: "_Request", status: int) -> None:
        """A login that is accepted again lets those go on that wait for it: another one than was refused, or
        the same where a probe was refused (one kind alone may be refused for ever)."""
        header = request.headers.get("Authorization", "")
        if status == 401:
            self._refused_header = header
            self._is_probe_refused |= request.is_probe
        elif self._refused_header not in (None, header) or (request.is_probe and self._is_probe_refused):
            self._refused_header, self._is_probe_refused = None, False
            self.pulse.has_returned()

    def _check(self, method: str, path: str, query: Query, body: bytes | None = None) -> None:
        """Raises Refused where the guard forbids it, NoConnection after the session's end."""
        refusal = guard.refusal(method, path, query, read_only=self._read_only, body=body)
        if refusal:
            raise Refused(refusal)
        if self._is_closed:
            told = f"The session with {host_of(self.server)} was closed; attach again."
            raise NoConnection(told, is_unsent=True)

    async def _once(self, request: "_Request") -> "aiohttp.ClientResponse":
        with _before_sending():
            header = await self._credentials.authorization()
        request.headers.pop("Authorization", None)
        if header:
            request.headers["Authorization"] = header
        client = self._client_for(request)
        url = URL(self.server + request.path, encoded=True)
        if request.query:
            url = url.with_query(list(request.query))
        try:
            response = await client.request(
                request.method,
                url,
                headers=request.headers,
                data=request.body,
                timeout=request.timeout,
                ssl=self._credentials.tls_context or True,
                server_hostname=self._credentials.configuration.tls_server_name or None,
                proxy=self._proxy,
                allow_redirects=False,
            )
        except (aiohttp.ClientConnectionError, OSError) as error:
            self.pulse.failed()
            if isinstance(explain(error, self.server), Distrusted):
                await self._credentials.reload_trust()
            raise
        self.pulse.answered()
        return response

    def _client_for(self, request: "_Request") -> "aiohttp.ClientSession":
        """The client for short reads, or those that never repeat.

        aiohttp sends a GET, PUT or DELETE a second time when the connection breaks before the answer. Nobody
        knows then whether a write was done, and a stream has its own pace, which must not be doubled. So both
        have a client that opens a fresh connection for each: a kept one may have been closed meanwhile.

        A probe has one that stands as long as the streams do: what befell their connections befell it, while
        of those that reads share it may be given one that was opened since.
        """
        if request.is_probe:
            if self._probe_client is None:
                self._probe_client = self._open_client(is_repeating=True)
            return self._probe_client
        if request.is_stream:
            if self._stream_client is None:
                self._stream_client = self._open_client(is_repeating=False)
                take_streams(self._stream_client.connector)
            return self._stream_client
        if request.method in guard.READS and not request.is_fresh:
            if self._client is None:
                self._client = self._open_client(is_repeating=True)
            return self._client
        if self._once_client is None:
            self._once_client = self._open_client(is_repeating=False)
        return self._once_client

    def _open_client(self, *, is_repeating: bool) -> "aiohttp.ClientSession":
        self._proxy = proxy_for(self.server, self._credentials.configuration.proxy)
        client = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0, socket_factory=open_socket, force_close=not is_repeating, resolver=resolver()
            ),
            headers=self._headers(),
            read_bufsize=READ_BYTES,
            auto_decompress=True,
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        client._retry_connection = is_repeating
        return client

    def _headers(self) -> "CIMultiDict[str]":
        """What every client of this session is made with: no request leaves without whom it acts as."""
        return headers_for(
            self._options.user_agent,
            self.server,
            self.acts_as,
            is_compressed=self._credentials.is_compressed,
        )

    async def close(self) -> None:
        """Close every connection; readers of streams get an error, and nothing is sent any more."""
        self._is_closed = True
        for answer in self._streams:  # aiohttp's own close leaves a waiting reader asleep for ever
            answer.close("the session was closed")
        for made in tuple(self._sockets):
            await made.close()
        clients = (self._client, self._probe_client, self._once_client, self._stream_client)
        self._client = self._probe_client = self._once_client = self._stream_client = None
        for client in clients:
            if client is not None:
                await client.close()


async def open_session(options: SessionOptions, clock: Clock) -> ApiSession:
    """A session for the chosen context.

    Raises NoConnection with one sentence: kubeconfig missing or broken, context unknown, plugin failed, and
    with `options.check` also server unreachable, TLS failed, credentials refused. Files are read in a
    thread, so the event loop is never held up.
    """
    logins = options.logins or Logins()
    credentials = await asyncio.to_thread(
        prepare, clock, options.kubeconfig, options.context, logins, options.named
    )
    await credentials.first_load()
    session = ApiSession(credentials, options, clock)
    if options.check:
        try:
            await _check(session)
        except BaseException:
            await session.close()
            raise
    return session


async def _check(session: ApiSession) -> None:
    answer = await session.version(CONNECT_SECONDS)
    if answer.status == 401:
        refused = LoginExpired(session.login_refused)
        refused.can_retry = not session._credentials.asks  # a file may get a token that is accepted
        raise refused
    if answer.status == 403 and session.acts_as is not None:
        refusal = refusal_of(answer, "/version")
        if refusal.by is By.IMPERSONATION:
            raise NoConnection(
                f"{session.user} may not act as {session.acts_as.user} (403): {refusal.message};"
                f" ask for the right to impersonate, or remove `as` from user {session.user}."
            )
    if answer.ok and not answer.content_type.startswith("application/json"):
        raise Unreachable(
            f"{host_of(session.server)} does not answer like a Kubernetes API server; check the server URL."
        )


def _version_in(answer: ApiAnswer) -> tuple[int, int] | None:
    """(1, 36) from `{"major": "1", "minor": "36+"}`; None for any other shape."""
    try:
        told = answer.json() if answer.ok else None
    except Refused:
        return None
    if not isinstance(told, dict):
        return None
    major, minor = (re.match(r"\d{1,9}", str(told.get(part))) for part in ("major", "minor"))
    return (int(major[0]), int(minor[0])) if major and minor else None


def _overlook(_path: str) -> None:
    """Ignore the notification."""
