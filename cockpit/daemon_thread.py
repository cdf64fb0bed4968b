"""Blocking work in a daemon thread, which does not delay the exit.

Threads of an executor are joined when the loop or the interpreter ends: a name server that does not answer,
or a long answer that is being parsed, would hold `q` as long. Here the thread is a daemon.
"""

import asyncio
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


async def apart(work: Callable[[], T]) -> T:
    """What `work` answers, or raises; cancelling stops the waiting at once, not the work."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def tell(settle: Callable[[Any], None], outcome: Any) -> None:
        def settle_once() -> None:
            if not done.done():
                settle(outcome)

        with suppress(RuntimeError):  # the loop is closed: no task waits any more
            loop.call_soon_threadsafe(settle_once)

    def run() -> None:
        try:
            answer = work()
        except BaseException as error:  # noqa: BLE001 - raised in the task that waits
            tell(done.set_exception, error)
        else:
            tell(done.set_result, answer)

    threading.Thread(target=run, name="apart", daemon=True).start()
    return await done


class NameLookUp:
    """Stands in for the loop where aiohttp's resolver looks names up."""

    async def getaddrinfo(self, host: str, port: int, **options: Any) -> Any:
        """As the loop's."""
        return await apart(partial(socket.getaddrinfo, host, port, **options))

    async def getnameinfo(self, address: Any, flags: int = 0) -> Any:
        """As the loop's."""
        return await apart(partial(socket.getnameinfo, address, flags))


def resolver() -> Any:
    """A resolver for an aiohttp connector, with look-ups in daemon threads. Imports aiohttp."""
    from aiohttp import ThreadedResolver

    made: Any = ThreadedResolver()
    made._loop = NameLookUp()
    return made
