"""Connections of clients: none waits for ever, and together they hold no more memory than the server has.

Each is in one phase: its TLS handshake, the head of a request, its body or answer, a stream (a watch, a log),
idle between two requests, or refused because what came was no HTTP. Who leaves a request half open is cut off
after 32 s, as Go's server does for kube-apiserver; who does not take an answer, after the 60 s that a request
may last.
"""

import asyncio
import resource
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from cockpit.clock import Clock
from cockpit.sim.server.http.statuses import RetryLater
from cockpit.sim.server.limits import MIB, MOST_BODY_BYTES

if TYPE_CHECKING:
    from aiohttp import StreamReader, web

HALF_OPEN_SECONDS = 32.0
"""For a handshake, a head and a body (kube-apiserver: ReadHeaderTimeout)."""
ANSWER_SECONDS = 60.0
"""To take a whole answer (kube-apiserver: --request-timeout)."""
MOST_CONNECTIONS = 400
"""Each holds 256 KiB for TLS."""
MOST_BODIES_BYTES = 48 * MIB
"""Of all bodies that are being read."""
MOST_UNTAKEN_BYTES = 128 * MIB
"""Of all answers that clients have not taken yet."""
REFUSED_SECONDS = 0.5
"""To read the answer to what is no HTTP (Go's net/http: rstAvoidanceDelay)."""
_SWEEP_SECONDS = 1.0
_EMFILE_SECONDS = 0.1

HANDSHAKE, HEAD, REQUEST, STREAM, IDLE, REFUSED = range(6)
_EVICTED_FIRST = (HANDSHAKE, HEAD, IDLE)


class _Transport:
    """The transport as HTTP sees it: it closes by way of its connection."""

    def __init__(self, connection: "HttpConnection", transport: asyncio.Transport) -> None:
        self._transport = transport
        self.close = connection.close
        self.write = transport.write

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class HttpConnection(asyncio.Protocol):
    """One connection; hands everything on to the protocol that speaks HTTP."""

    __slots__ = (
        "_abort",
        "_home",
        "_inner",
        "_transport",
        "body",
        "body_bytes",
        "held_bytes",
        "is_paused",
        "paused_at",
        "phase",
        "since",
    )

    def __init__(self, home: "Connections", abort: Callable[[], object]) -> None:
        self._home = home
        self._abort = abort
        self._inner: asyncio.Protocol | None = None
        self._transport: asyncio.Transport | None = None
        self.phase = HANDSHAKE
        self.since = home.clock.monotonic()
        self.body: StreamReader | None = None
        self.body_bytes = 0
        self.held_bytes = 0
        self.is_paused = False
        self.paused_at = 0.0

    def enter(self, phase: int) -> None:
        """From now on it is in this phase."""
        self.phase = phase
        self.since = self._home.clock.monotonic()

    def abort(self) -> None:
        """Cut it off."""
        self._abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """TLS stands."""
        stands = cast(asyncio.Transport, transport)
        self._transport, self._abort = stands, stands.abort
        self.enter(HEAD)
        self._inner = self._home.make(self)
        self._inner.connection_made(cast(asyncio.BaseTransport, _Transport(self, stands)))

    def close(self) -> None:
        """Nothing more is sent. What is no HTTP may go on behind its head: where nobody reads that, the
        connection is reset before the client has its answer."""
        if self._transport is None or self.phase == REFUSED:
            return
        if self.phase != HEAD or self._home.is_ending:
            self._transport.close()
            return
        self.enter(REFUSED)
        asyncio.get_running_loop().call_later(REFUSED_SECONDS, self._transport.close)

    def data_received(self, data: bytes) -> None:
        """Bytes of the client; the first after a request begin another one."""
        if self.phase == IDLE:
            self.enter(HEAD)
        if self._inner is not None and self.phase != REFUSED:
            self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        """The client says no more."""
        return self._inner.eof_received() if self._inner is not None else None

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        self._home.forget(self)
        if self._inner is not None:
            self._home.unmake(self._inner)
            self._inner.connection_lost(exc)

    def pause_writing(self) -> None:
        """The client does not take what is sent."""
        self.is_paused, self.paused_at = True, self._home.clock.monotonic()
        if self._inner is not None:
            self._inner.pause_writing()

    def resume_writing(self) -> None:
        """It does again."""
        self.is_paused = False
        if self._inner is not None:
            self._inner.resume_writing()

    @property
    def has_body(self) -> bool:
        """Whether all of the request is there."""
        return self.body is None or self.body.is_eof()

    def is_overdue(self, now: float) -> bool:
        """Whether it has been waited for long enough."""
        if self.phase in (HANDSHAKE, HEAD) or (self.phase == REQUEST and not self.has_body):
            return now - self.since >= HALF_OPEN_SECONDS
        return self.phase != STREAM and self.is_paused and now - self.paused_at >= ANSWER_SECONDS


class Connections:
    """All connections of one server. `clock` is the machine's; `speak` makes what speaks HTTP on one."""

    def __init__(self, clock: Clock, most: int = MOST_CONNECTIONS) -> None:
        self.clock = clock
        self.speak: Callable[[], asyncio.Protocol] | None = None
        self.is_ending = False
        self._most = min(most, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
        self._all: dict[HttpConnection, None] = {}
        self._by_inner: dict[object, HttpConnection] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._all)

    def make(self, connection: HttpConnection) -> asyncio.Protocol:
        """What speaks HTTP on a connection."""
        if self.speak is None:
            raise RuntimeError("nobody speaks HTTP here yet")
        inner = self.speak()
        self._by_inner[inner] = connection
        return inner

    def unmake(self, inner: asyncio.Protocol) -> None:
        """It speaks no more."""
        self._by_inner.pop(inner, None)

    def forget(self, connection: HttpConnection) -> None:
        """A connection is gone."""
        self._all.pop(connection, None)

    @contextmanager
    def request(self, http: "web.Request") -> Iterator[None]:
        """While a request is handled. Raises PortError 429 where too much is on its way already."""
        connection = self._by_inner.get(http.protocol)
        if connection is None:
            yield
            return
        self._check_room(http)
        connection.held_bytes = 0
        connection.enter(REQUEST)
        if http.can_read_body:
            connection.body = http.content
            connection.body_bytes = min(http.content_length or MOST_BODY_BYTES, MOST_BODY_BYTES)
        try:
            yield
        finally:
            connection.body, connection.body_bytes = None, 0
            connection.enter(IDLE)

    def streams(self, http: "web.Request") -> None:
        """The answer goes on until one side ends it: its reader may take all time."""
        connection = self._by_inner.get(http.protocol)
        if connection is not None:
            connection.body_bytes = 0
            connection.enter(STREAM)

    def holds(self, http: "web.Request", response: "web.StreamResponse") -> None:
        """The answer is to be taken."""
        connection = self._by_inner.get(http.protocol)
        if connection is not None:
            connection.held_bytes = response.content_length or 0

    def sweep(self) -> None:
        """Cuts off who has been waited for long enough."""
        now = self.clock.monotonic()
        for connection in [one for one in self._all if one.is_overdue(now)]:
            connection.abort()
            self.forget(connection)

    async def serve(self, listening: socket.socket, context: ssl.SSLContext) -> None:
        """Takes connections until it is cancelled."""
        listening.setblocking(False)
        loop = asyncio.get_running_loop()
        sweeping = asyncio.create_task(self._sweep_again_and_again())
        try:
            while True:
                try:
                    accepted, _ = await loop.sock_accept(listening)
                except OSError:  # no descriptor is left, or the client is already gone
                    self._evict()
                    await asyncio.sleep(_EMFILE_SECONDS)
                    continue
                if len(self._all) >= self._most and not self._evict():
                    accepted.close()
                    continue
                task = asyncio.create_task(self._greet(accepted, context))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        finally:
            self.is_ending = True
            sweeping.cancel()
            listening.close()
            for connection in [one for one in self._all if one.phase == REFUSED]:
                connection.abort()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(sweeping, *self._tasks, return_exceptions=True)

    async def _greet(self, accepted: socket.socket, context: ssl.SSLContext) -> None:
        task = asyncio.current_task()
        connection = HttpConnection(self, task.cancel if task is not None else accepted.close)
        self._all[connection] = None
        loop = asyncio.get_running_loop()
        try:
            await loop.connect_accepted_socket(lambda: connection, accepted, ssl=context)
        except asyncio.CancelledError:
            accepted.close()
            self.forget(connection)
        except OSError:  # what came was no TLS, or it broke off
            self.forget(connection)

    async def _sweep_again_and_again(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            self.sweep()

    def _evict(self) -> bool:
        """Cuts off who waits longest: in a handshake, else in a head, else idle. False where all are busy."""
        for phase in _EVICTED_FIRST:
            waiting = [one for one in self._all if one.phase == phase and not one.is_paused]
            if waiting:
                oldest = min(waiting, key=lambda one: one.since)
                oldest.abort()
                self.forget(oldest)
                return True
        return False

    def _check_room(self, http: "web.Request") -> None:
        bodies = sum(one.body_bytes for one in self._all)
        untaken = sum(one.held_bytes for one in self._all if one.is_paused)
        if (http.can_read_body and bodies > MOST_BODIES_BYTES) or untaken > MOST_UNTAKEN_BYTES:
            raise RetryLater(429, "TooManyRequests", "Too many requests, please try again later.", 1)
