"""A pause that something may end before its time."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

Wake = Callable[[], Coroutine[Any, Any, object]]


async def nap(seconds: float, wake: Wake | None, sleep: Callable[[float], Awaitable[None]]) -> None:
    """Wait `seconds` by `sleep`, or until `wake` ends; the other one is cancelled."""
    if wake is None:
        await sleep(seconds)
        return
    naps = {asyncio.ensure_future(sleep(seconds)), asyncio.ensure_future(wake())}
    try:
        await asyncio.wait(naps, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for item in naps:
            item.cancel()
        await asyncio.gather(*naps, return_exceptions=True)


@contextmanager
def from_now(wake: Wake | None) -> Iterator[Wake | None]:
    """`wake` for a pause inside that comes later: it is over at once where `wake` is over by then."""
    if wake is None:
        yield None
        return
    waiting = asyncio.ensure_future(wake())

    async def over() -> None:
        await asyncio.wait([waiting])

    try:
        yield over
    finally:
        waiting.cancel()
