"""Watches: lines of JSON over a response that stays open."""

import asyncio
from collections import deque
from collections.abc import Callable

from aiohttp import web

from cockpit.sim.port import PortError, Tree
from cockpit.sim.server.http.answers import COMMON, JSON
from cockpit.sim.server.http.query import number, watch_options
from cockpit.sim.server.http.representation import Representation, encode
from cockpit.sim.server.http.server_context import ApiRequest, ServerContext
from cockpit.sim.server.http.statuses import failure
from cockpit.sim.server.storage import Stored

_BOOKMARK_SECONDS = 60.0
_BEFORE_END_SECONDS = 2.0
_LEAST_SECONDS, _MOST_SECONDS = 1800.0, 3600.0
"""How long a watch without `timeoutSeconds` lasts: drawn in between, as kube-apiserver does."""
_PIECE_BYTES = 1024 * 1024


class WatchStream:
    """Events on their way to one reader.

    They wait as the objects that they are about, which all readers share; lines are made when they are sent.
    """

    def __init__(self, shown: Representation) -> None:
        self._shown = shown
        self._lines: deque[tuple[str, Stored] | bytes] = deque()
        self._stirred = asyncio.Event()
        self.is_ended = False

    def take(self, type_: str, stored: Stored) -> None:
        """One event."""
        self._add((type_, stored))

    def line(self, data: bytes) -> None:
        """One line as it is."""
        self._add(data)

    def _add(self, line: tuple[str, Stored] | bytes) -> None:
        if not self.is_ended:
            self._lines.append(line)
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
            line = self._lines.popleft()
            data = line if isinstance(line, bytes) else self._shown.event(*line)
            pieces.append(data)
            size += len(data)
        return b"".join(pieces)


def _error(error: PortError) -> bytes:
    return encode({"type": "ERROR", "object": failure(error)}) + b"\n"


def _bookmark(context: ServerContext, asked: ApiRequest) -> Stored:
    resource = asked.kind.resource
    version = context.operations.storage.version
    tree: Tree = {
        "kind": resource.kind,
        "apiVersion": resource.api_version,
        "metadata": {"resourceVersion": str(version), "creationTimestamp": None},
    }
    return Stored("", tree, version)


class _Timers:
    """The end of a watch, and its bookmarks: every minute and shortly before the end."""

    def __init__(self, stream: WatchStream, seconds: float, bookmark: Callable[[], Stored] | None) -> None:
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


async def watch(context: ServerContext, asked: ApiRequest, shown: Representation) -> web.StreamResponse:
    """Serves a watch until it ends, the kind goes, or the reader leaves."""
    options = watch_options(asked.query)
    given = number(asked.query, "timeoutSeconds")
    seconds = float(given) if given > 0 else context.random.uniform(_LEAST_SECONDS, _MOST_SECONDS)
    request = asked.request(name="", verb="watch")
    stream = WatchStream(shown)
    stop: Callable[[], None] = _nothing
    try:
        stop = context.operations.watch(request, options, stream.take)
    except PortError as error:
        # What is too old is told in the stream: that is where a reader looks for it.
        if error.status != 410:
            raise
        stream.line(_error(error))
        stream.end()
    response = web.StreamResponse(headers={**COMMON, "Content-Type": JSON})
    response.enable_chunked_encoding()
    number_ = id(stream)
    context.ends[number_] = lambda: _end_if_gone(context, asked, stream)
    timers = _Timers(stream, seconds, (lambda: _bookmark(context, asked)) if options.bookmarks else None)
    try:
        await response.prepare(asked.http)
        await stream.send(response)
        await response.write_eof()
    except ConnectionError:
        pass
    finally:
        timers.cancel()
        context.ends.pop(number_, None)
        stop()
    return response


def _nothing() -> None:
    """Nothing to stop."""


def _end_if_gone(context: ServerContext, asked: ApiRequest, stream: WatchStream) -> None:
    """Called when kinds change and at the end of the server."""
    if context.stopping.is_set() or context.operations.kinds.of(asked.kind.resource) is None:
        stream.end()
