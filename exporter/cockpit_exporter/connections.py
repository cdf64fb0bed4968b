"""Connections to clients that are slow, half open or too many.

A deadline holds for a whole request head and for a whole answer: no byte extends it. Where all places are
taken, the connection that has waited longest for its client makes room for a new one. A scraper sends its
request at once, so half-open connections cannot keep it out, however many there are.
"""

import io
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import LineTooLong
from typing import Any

LEAVE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Limits:
    """What clients may take. `scrapes` is how many pages are made at a time; beyond it the answer is 503."""

    connections: int = 64
    scrapes: int = 4
    head_seconds: float = 5.0  # from accept: TLS handshake, request line and headers together
    head_bytes: int = 16 * 1024
    answer_seconds: float = 10.0
    stop_seconds: float = 2.0  # for answers on their way when the server stops


class ClientConnection(io.RawIOBase):
    """A client's socket as a stream that gives up at its deadline (TimeoutError)."""

    def __init__(self, sock: socket.socket, limits: Limits, clock: Callable[[], float]) -> None:
        super().__init__()
        self._socket = sock
        self._limits = limits
        self._clock = clock
        self._until = clock() + limits.head_seconds
        self._bytes_left = limits.head_bytes
        self._lock = threading.Lock()  # cut() comes from another thread
        self._is_cut = False
        self.is_answered = False

    def handshake(self, context: ssl.SSLContext) -> None:
        """Speak TLS from here on. Raises OSError (TimeoutError and ssl.SSLError are such)."""
        with self._lock:
            if self._is_cut:
                raise ConnectionAbortedError
            wrapped = context.wrap_socket(self._socket, server_side=True, do_handshake_on_connect=False)
            self._socket = wrapped
        wrapped.settimeout(self._left())
        wrapped.do_handshake()

    def has_certificate(self) -> bool:
        """Whether the client showed a certificate; TLS has checked it then."""
        found = self._socket
        return isinstance(found, ssl.SSLSocket) and found.getpeercert(binary_form=True) is not None

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Raises TimeoutError at the deadline and LineTooLong where the head is larger than its limit."""
        if self._bytes_left <= 0:
            raise LineTooLong("header line")
        self._socket.settimeout(self._left())
        count = self._socket.recv_into(memoryview(buffer)[: self._bytes_left])
        self._bytes_left -= count
        return count

    def begin_answer(self) -> None:
        """The head is read: from here on the deadline is the answer's."""
        self.is_answered = True
        self._until = self._clock() + self._limits.answer_seconds

    def write(self, data: Any, /) -> int:
        """All of it. Raises TimeoutError at the deadline, however the client reads."""
        rest = memoryview(data).cast("B")
        size = len(rest)
        while rest:
            self._socket.settimeout(self._left())
            rest = rest[self._socket.send(rest) :]
        return size

    def cut(self) -> None:
        """End it from another thread: a thread that waits for the client wakes."""
        with self._lock, suppress(OSError):
            self._is_cut = True
            # not the TLS socket's own shutdown, which takes its state from under a thread that reads
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def close(self) -> None:
        with suppress(OSError):
            socket.socket.shutdown(self._socket, socket.SHUT_WR)
        self._socket.close()
        super().close()

    def _left(self) -> float:
        left = self._until - self._clock()
        if left <= 0:
            raise TimeoutError
        return left


class ConnectionSlots:
    """Who is connected. Those that wait for their client are in the order in which they began to."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._changed = threading.Condition()
        self._all: set[ClientConnection] = set()
        self._waiting: dict[ClientConnection, None] = {}

    def enter(self, one: ClientConnection) -> bool:
        """Take a place, if need be that of the one that has waited longest for its client. False where every
        place is one that is being worked for."""
        with self._changed:
            if len(self._all) >= self._most:
                self._cut_oldest()
            if not self._changed.wait_for(lambda: len(self._all) < self._most, LEAVE_SECONDS):
                return False
            self._all.add(one)
            self._waiting[one] = None
            return True

    def leave(self, one: ClientConnection) -> None:
        with self._changed:
            self._all.discard(one)
            self._waiting.pop(one, None)
            self._changed.notify_all()

    @contextmanager
    def work(self, one: ClientConnection) -> Iterator[None]:
        """While its response is built no connection replaces it. Raises ConnectionAbortedError if one has."""
        with self._changed:
            if one not in self._waiting:
                raise ConnectionAbortedError
            del self._waiting[one]
        try:
            yield
        finally:
            with self._changed:
                self._waiting[one] = None

    def end(self, seconds: float) -> None:
        """Close connections without a request, and wait for the responses of the others, with a timeout."""
        with self._changed:
            for one in [item for item in self._waiting if not item.is_answered]:
                del self._waiting[one]
                one.cut()
            self._changed.wait_for(lambda: not self._all, seconds)

    def _cut_oldest(self) -> None:
        oldest = next(iter(self._waiting), None)
        if oldest is not None:
            del self._waiting[oldest]
            oldest.cut()
