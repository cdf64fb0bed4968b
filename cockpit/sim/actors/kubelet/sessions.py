"""What an exec speaks with in the process runtime: a child with pipes, or one on a pty."""

import asyncio
import contextlib
import fcntl
import os
import struct
import termios

from cockpit.sim.actors.kubelet.children import Child
from cockpit.sim.actors.kubelet.runtime import STDERR, STDOUT, Piece


class PipeSession:
    """A child with three pipes."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self._pieces: asyncio.Queue[Piece | None] = asyncio.Queue(maxsize=64)
        self._open = 2
        process = child.process
        self._tasks = [
            asyncio.create_task(self._pump(process.stdout, STDOUT)),
            asyncio.create_task(self._pump(process.stderr, STDERR)),
        ]

    async def _pump(self, reader: asyncio.StreamReader | None, stream: str) -> None:
        while reader is not None:
            data = await reader.read(32768)
            if not data:
                break
            await self._pieces.put((stream, data))
        self._open -= 1
        if self._open == 0:
            await self._pieces.put(None)

    async def read(self) -> Piece | None:
        """The next output."""
        return await self._pieces.get()

    def write(self, data: bytes) -> None:
        """Input."""
        if self._child.process.stdin is not None:
            with contextlib.suppress(ConnectionError, RuntimeError):
                self._child.process.stdin.write(data)

    def close_input(self) -> None:
        """No more input."""
        if self._child.process.stdin is not None:
            self._child.process.stdin.close()

    def resize(self, width: int, height: int) -> None:
        """There is no terminal."""

    async def wait(self) -> int:
        """The exit code."""
        return await self._child.wait()

    async def end(self) -> None:
        """End the command and what it started."""
        for task in self._tasks:
            task.cancel()
        await self._child.end()


class TerminalSession:
    """A child on a pty; `master` is our side of it."""

    def __init__(self, child: Child, master: int) -> None:
        self._child = child
        self._master: int | None = master
        self._pieces: asyncio.Queue[Piece | None] = asyncio.Queue()
        os.set_blocking(master, False)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(master, self._readable)

    def _readable(self) -> None:
        if self._master is None:
            return
        try:
            data = os.read(self._master, 32768)
        except BlockingIOError:
            return
        except OSError:  # EIO: the last one who had the other side has closed it
            data = b""
        if data:
            self._pieces.put_nowait((STDOUT, data))
        else:
            self._close()

    def _close(self) -> None:
        if self._master is not None:
            self._loop.remove_reader(self._master)
            os.close(self._master)
            self._master = None
            self._pieces.put_nowait(None)

    async def read(self) -> Piece | None:
        """The next output."""
        return await self._pieces.get()

    def write(self, data: bytes) -> None:
        """Input, as typed."""
        if self._master is not None:
            with contextlib.suppress(OSError):
                os.write(self._master, data)

    def close_input(self) -> None:
        """Ctrl-D."""
        self.write(b"\x04")

    def resize(self, width: int, height: int) -> None:
        """The terminal has another size; the kernel tells the foreground process."""
        if self._master is not None:
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    async def wait(self) -> int:
        """The exit code."""
        return await self._child.wait()

    async def end(self) -> None:
        """Hang up."""
        self._close()
        await self._child.end()
