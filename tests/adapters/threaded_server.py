"""The embedded server in a thread of its own, for callers that have no loop."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from random import Random
from typing import TypeVar

from cockpit.clock import Clock
from cockpit.sim.server.run import Embedded, serving

T = TypeVar("T")
_BEGIN_SECONDS = 30.0
_END_SECONDS = 10.0

Around = Callable[[Embedded], AbstractAsyncContextManager[None]]
"""Runs within the server's thread while it serves: engines, kubelets, whatever lives beside it."""


@asynccontextmanager
async def alone(server: Embedded) -> AsyncIterator[None]:
    """Nothing beside the server."""
    yield


class Threaded:
    """A server in a thread; `call` runs something there, where all of its state may be touched."""

    def __init__(self) -> None:
        self._begun = threading.Event()
        self._server: Embedded | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over: asyncio.Event | None = None
        self._fault: BaseException | None = None

    @property
    def server(self) -> Embedded:
        """The server that runs. Raises what kept it from running."""
        if self._fault is not None:
            raise self._fault
        if self._server is None:
            raise TimeoutError(f"the embedded server did not start within {_BEGIN_SECONDS:.0f} s")
        return self._server

    def call(self, function: Callable[[], T]) -> T:
        """What `function` answers, called in the server's thread."""
        if self._loop is None:
            raise RuntimeError("the embedded server does not run")

        async def inside() -> T:
            return function()

        return asyncio.run_coroutine_threadsafe(inside(), self._loop).result(_END_SECONDS)

    def run(self, serve: Callable[[], AbstractAsyncContextManager[Embedded]], around: Around) -> None:
        """The body of the thread."""
        try:
            asyncio.run(self._serve(serve, around))
        except BaseException as fault:
            self._fault = fault
        finally:
            self._begun.set()

    async def _serve(
        self, serve: Callable[[], AbstractAsyncContextManager[Embedded]], around: Around
    ) -> None:
        over = self._over = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        async with serve() as server, around(server):
            self._server = server
            self._begun.set()
            await over.wait()

    def wait_begun(self) -> None:
        """Until it serves, or has failed to."""
        self._begun.wait(_BEGIN_SECONDS)

    def end(self) -> None:
        """Ask the thread to end."""
        if self._loop is not None and self._over is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._over.set)


@contextmanager
def threaded(
    folder: Path,
    clock: Clock,
    random: Random,
    *,
    port: int = 0,
    has_accounts: bool = True,
    around: Around = alone,
) -> Iterator[Threaded]:
    """Serves beside the caller until the block ends; arguments and errors are those of `serving`."""
    work = Threaded()

    def serve() -> AbstractAsyncContextManager[Embedded]:
        return serving(folder, clock, random, port=port, has_accounts=has_accounts)

    thread = threading.Thread(target=work.run, args=(serve, around), name="embedded-server", daemon=True)
    thread.start()
    work.wait_begun()
    try:
        work.server  # noqa: B018 - raises what kept it from starting
        yield work
    finally:
        work.end()
        thread.join(_END_SECONDS)
    if work._fault is not None:
        raise work._fault
