"""Watches: lines of JSON over a response that stays open."""

import asyncio
from collections import deque
from collections.abc import Callable

from aiohttp import web

from cockpit.sim.port import PortError, Tree
from cockpit.sim.server.http.answers import COMMON, JSON
from cockpit.sim.server.http.face import Asked, Face
from cockpit.sim.server.http.query import number, watch_options
from cockpit.sim.server.http.shown import Shown, encode
from cockpit.sim.server.http.statuses import failure
from cockpit.sim.server.storage import Stored

_BOOKMARK_SECONDS = 60.0
_BEFORE_END_SECONDS = 2.0
_LEAST_SECONDS, _MOST_SECONDS = 1800.0, 3600.0
"""How long a watch without `timeoutSeconds` lasts: drawn in between, as kube-apiserver does."""
_MOST_WAITING_BYTES = 256 * 1024 * 1024
_PIECE_BYTES = 1024 * 1024


class Stream:
    """Lines on their way to one reader. Too many of them end the watch: the reader then begins anew."""

    def __init__(self, shown: Shown) -> None:
        self._shown = shown
        self._lines: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._stirred = asyncio.Event()
        self.is_ended = False

    def take(self, type_: str, stored: Stored) -> None:
        """One event."""
        self.line(self._shown.event(type_, stored))

    def line(self, data: bytes) -> None:
        """One line as it is."""
        if self.is_ended:
            return
        self._lines.append(data)
        self._waiting_bytes += len(data)
        if self._waiting_bytes > _MOST_WAITING_BYTES:
            self._lines.clear()
            self.is_ended = True
        self._stirred.set()

    def end(self) -> None:
        """No more lines; those that wait are still sent."""
        self.is_ended = True
        self._stirred.set()

    async def send(self, response: web.StreamResponse) -> None:
        """Until the end."""
        while True:
            while self._lines:
                await response.write(self._piece())
            if self.is_ended:
                return
            self._stirred.clear()
            await self._stirred.wait()

    def _piece(self) -> bytes:
        pieces, size = [], 0
        while self._lines and size < _PIECE_BYTES:
            data = self._lines.popleft()
            pieces.append(data)
            size += len(data)
        self._waiting_bytes -= size
        return b"".join(pieces)


def _error(error: PortError) -> bytes:
    return encode({"type": "ERROR", "object": failure(error)}) + b"\n"


def _bookmark(face: Face, asked: Asked) -> Stored:
    resource = asked.kind.resource
    version = face.operations.storage.version
    tree: Tree = {
        "kind": resource.kind,
        "apiVersion": resource.api_version,
        "metadata": {"resourceVersion": str(version), "creationTimestamp": None},
    }
    return Stored("", tree, version)


class _Timers:
    """The end of a watch, and its bookmarks: every minute and shortly before the end."""

    def __init__(self, stream: Stream, seconds: float, bookmark: Callable[[], Stored] | None) -> None:
        loop = asyncio.get_running_loop()
        self._handles = [loop.call_later(seconds, stream.end)]
        if bookmark is None:
            return
        times = [max(0.0, seconds - _BEFORE_END_SECONDS)]
        at = _BOOKMARK_SECONDS
        while at < times[0]:
            times.append(at)
            at += _BOOKMARK_SECONDS

        def mark() -> None:
            stream.take("BOOKMARK", bookmark())

        self._handles += [loop.call_later(one, mark) for one in times]

    def cancel(self) -> None:
        for handle in self._handles:
            handle.cancel()


async def watch(face: Face, asked: Asked, shown: Shown) -> web.StreamResponse:
    """Serves a watch until it ends, the kind goes, or the reader leaves."""
    options = watch_options(asked.query)
    given = number(asked.query, "timeoutSeconds")
    seconds = float(given) if given > 0 else face.random.uniform(_LEAST_SECONDS, _MOST_SECONDS)
    request = asked.request(name="", verb="watch")
    stream = Stream(shown)
    stop: Callable[[], None] = _nothing
    try:
        stop = face.operations.watch(request, options, stream.take)
    except PortError as error:
        # What is too old is told in the stream: that is where a reader looks for it.
        if error.status != 410:
            raise
        stream.line(_error(error))
        stream.end()
    response = web.StreamResponse(headers={**COMMON, "Content-Type": JSON})
    response.enable_chunked_encoding()
    number_ = id(stream)
    face.ends[number_] = lambda: _end_if_gone(face, asked, stream)
    timers = _Timers(stream, seconds, (lambda: _bookmark(face, asked)) if options.bookmarks else None)
    try:
        await response.prepare(asked.http)
        await stream.send(response)
        await response.write_eof()
    except ConnectionError:
        pass
    finally:
        timers.cancel()
        face.ends.pop(number_, None)
        stop()
    return response


def _nothing() -> None:
    """Nothing to stop."""


def _end_if_gone(face: Face, asked: Asked, stream: Stream) -> None:
    """Called when kinds change and at the end of the server."""
    if face.stopping.is_set() or face.operations.kinds.of(asked.kind.resource) is None:
        stream.end()
