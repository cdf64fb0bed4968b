"""One request under a fault: what was asked, and the answer as the fault lets it through."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from aiohttp import web

HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length", "host", "upgrade"})
Each = Callable[[bytes], Awaitable[None]]
"""Takes the pieces of a body."""


def is_socket(headers: Mapping[str, str]) -> bool:
    """Whether a request asks to become a WebSocket."""
    return any(name.lower() == "upgrade" and value.lower() == "websocket" for name, value in headers.items())


@dataclass(frozen=True)
class SeenRequest:
    """One request as it arrived; `at_seconds` is monotonic time of the layer's clock.

    `user` is the name behind its token, "" where that is not known.
    """

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    at_seconds: float
    user: str = ""

    @property
    def is_watch(self) -> bool:
        """A stream of changes, also the one that begins with a list."""
        return self.query.get("watch") in ("1", "true")

    @property
    def is_list(self) -> bool:
        """A plain list, or the streaming list that replaces it."""
        return not self.is_watch or self.query.get("sendInitialEvents") == "true"


@dataclass(frozen=True)
class OriginAnswer:
    """A whole answer of the server behind, as it was."""

    status: int
    content_type: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Exchange:
    """One request under a fault. `query` and `headers` may be changed before the server is asked.

    `body` is the request's in a proxy, and empty inside a server (whose handler reads it).
    """

    request: web.Request
    seen: SeenRequest
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
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
        """A piece of the body. Raises RuntimeError before `begin`."""
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

    async def forward(self, each: Each | None = None, *, content_type: str | None = None) -> None:
        """The server's own answer; `each` takes the pieces of the body in place of `write`, `content_type`
        stands in for the real one. A request for a WebSocket gets it, untouched."""
        raise NotImplementedError

    async def whole(self) -> OriginAnswer:
        """The server's own answer, read to its end; the reader hears nothing of it yet."""
        raise NotImplementedError


Fault = Callable[[Exchange], Awaitable[None]]
