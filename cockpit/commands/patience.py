"""How long a command waits for the cluster in all: `--timeout`, over all its requests."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from cockpit.errors import NoConnection

T = TypeVar("T")
Sleep = Callable[[float], Any]
"""Waits this many seconds: `asyncio.sleep`, or what a test has in its place."""
_MARGIN_SECONDS = 0.25
"""Margin for waits for one part, whose error is more precise: they time out first."""
_limit: ContextVar[asyncio.Timeout | None] = ContextVar("limit", default=None)


async def within(seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """What `work` answers. Raises NoConnection where it waits longer, unless `wait_on` was called in it."""
    async with limited(seconds):
        return await work


@asynccontextmanager
async def limited(seconds: float) -> AsyncIterator[None]:
    """The same around a block."""
    try:
        async with asyncio.timeout(seconds + _MARGIN_SECONDS) as limit:
            token = _limit.set(limit)
            try:
                yield
            finally:
                _limit.reset(token)
    except TimeoutError:
        if not limit.expired():
            raise
        said = f"no answer from the cluster within {seconds:g} s; give a longer --timeout"
        raise NoConnection(said) from None


@contextmanager
def paused() -> Iterator[None]:
    """What a person answers meanwhile (a login) takes nothing of the time: it goes on after it."""
    limit = _limit.get()
    ends_seconds = None if limit is None or limit.expired() else limit.when()
    if limit is None or ends_seconds is None:
        yield
        return
    loop = asyncio.get_running_loop()
    left_seconds = ends_seconds - loop.time()
    limit.reschedule(None)
    try:
        yield
    finally:
        limit.reschedule(loop.time() + left_seconds)


def wait_on() -> None:
    """What follows waits for a person, for a job or for a change that was sent: it has no limit."""
    if (limit := _limit.get()) is not None and not limit.expired():
        limit.reschedule(None)
