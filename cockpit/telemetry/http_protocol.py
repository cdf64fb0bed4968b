"""Protocols of the HTTP clients that telemetry is given; it knows no transport."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

Query = Sequence[tuple[str, str]]


class HttpAnswer(Protocol):
    """One complete response, of any HTTP status, unpacked. `cockpit.kube.answer.ApiAnswer` is one."""

    @property
    def status(self) -> int: ...
    @property
    def content_type(self) -> str: ...
    @property
    def body(self) -> bytes | bytearray: ...
    @property
    def retry_after_seconds(self) -> float | None: ...


Get = Callable[[str, Query, int], Awaitable[HttpAnswer]]
"""(path, query, most bytes) -> answer. Redirects are not followed. Raises CockpitError where no answer comes
or it is longer; a caller that stops waiting cancels it, which closes its connection."""


class Http(Protocol):
    """One server that answers GET. `close` lets go of its connections."""

    async def get(self, path: str, query: Query, limit_bytes: int) -> HttpAnswer: ...
    async def close(self) -> None: ...


class Through:
    """A server below a path of another one: the API server's service proxy."""

    def __init__(self, get: Get, root: str) -> None:
        self._get = get
        self._root = root.rstrip("/")

    async def get(self, path: str, query: Query, limit_bytes: int) -> HttpAnswer:
        """As `Http.get`."""
        return await self._get(self._root + path, query, limit_bytes)

    async def close(self) -> None:
        """Do nothing: the connection belongs to the API session."""
