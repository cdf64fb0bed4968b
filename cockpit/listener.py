"""A loopback port of this machine, forwarded to a peer: each connection opens its own."""

import asyncio
import contextlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from cockpit.errors import BadInput, CockpitError

LOOPBACK = "127.0.0.1"
MOST_CONNECTIONS = 64
"""More wait for their turn: each one is a connection to the API server."""
LINGER_SECONDS = 5.0
"""A client that has sent everything may still read; a half-closed connection ends after this silence."""
_PIECE_BYTES = 32 << 10


class Peer(Protocol):
    """The other end of one connection (cockpit.kube.forward.PodTunnel)."""

    async def read(self) -> bytes | None:
        """The next bytes, None at the end. Raises CockpitError."""

    async def write(self, data: bytes) -> None:
        """Send bytes. Raises CockpitError."""


Dial = Callable[[], AbstractAsyncContextManager[Peer]]


class Listener:
    """Listens until `stop`; `changed` is called when a number or the trouble moved."""

    def __init__(self, dial: Dial, changed: Callable[[], None] = lambda: None) -> None:
        self.port = 0
        self.open_count = 0
        self.served_count = 0
        self.trouble = ""  # why the last connection failed, "" when it did not
        self._dial = dial
        self._changed = changed
        self._server: asyncio.Server | None = None
        self._slots = asyncio.Semaphore(MOST_CONNECTIONS)
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, port: int = 0) -> int:
        """Listen; 0 lets the system choose. Raises BadInput where the port cannot be had."""
        try:
            self._server = await asyncio.start_server(self._take, LOOPBACK, port)
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", "") or str(error)
            raise BadInput(f"{LOOPBACK}:{port} cannot be bound ({why}): choose another port") from None
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self.port

    async def stop(self) -> None:
        """Stop listening and cut every connection. Safe to call again."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._server is None:
            writer.close()
            return
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with self._slots:
            self.open_count += 1
            self._changed()
            trouble = ""
            try:
                async with self._dial() as far:
                    await _carry(reader, writer, far)
            except CockpitError as error:
                trouble = error.sentence
            finally:
                writer.close()
                self.open_count -= 1
                self.served_count += 1
                self.trouble = trouble
                self._changed()


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, far: Peer) -> None:
    """Both directions until the far side has said all, or this one is gone. Raises CockpitError."""
    heard = 0

    async def up() -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(_PIECE_BYTES):
                await far.write(data)

    async def down() -> None:
        nonlocal heard
        with contextlib.suppress(ConnectionError):
            while (data := await far.read()) is not None:
                heard += len(data)
                writer.write(data)
                await writer.drain()

    tasks = (asyncio.create_task(up()), asyncio.create_task(down()))
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        before = -1
        while not tasks[1].done() and tasks[0].exception() is None and heard != before:
            before = heard
            await asyncio.wait(tasks[1:], timeout=LINGER_SECONDS)
        for task in reversed(tasks):
            if task.done():
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
