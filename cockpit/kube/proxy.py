"""Reading what runs in the cluster through the API server's proxy, under the session's rules."""

from collections.abc import Awaitable, Callable, Sequence

from cockpit.kube.answer import ApiAnswer
from cockpit.kube.session import ApiSession

LONGEST_SECONDS = 120.0
"""Callers have shorter timeouts and cancel."""


def reader(session: ApiSession) -> Callable[[str, Sequence[tuple[str, str]], int], Awaitable[ApiAnswer]]:
    """A function that asks a path of the API server: (path, query, most bytes) -> answer of any status.
    It raises as `Session.request` does: Refused where the guard forbids it, NoConnection without an
    answer."""

    async def get(path: str, query: Sequence[tuple[str, str]], limit_bytes: int) -> ApiAnswer:
        return await session.request(
            "GET", path, query=query, accept="*/*", timeout_seconds=LONGEST_SECONDS, limit_bytes=limit_bytes
        )

    return get
