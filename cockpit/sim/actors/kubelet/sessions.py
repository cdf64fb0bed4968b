"""What an exec speaks with in the process runtime: a child with pipes, or one on a pty."""

import asyncio
import contextlib
import fcntl
import os
import struct
import termios
from collections import deque

from cockpit.sim.actors.kubelet.children import Child
from cockpit.sim.actors.kubelet.runtime import STDERR, STDOUT, Piece

_MOST_PIECES = 64


class PipeSession:
    """A child with three pipes."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self._pieces: asyncio.Queue[Piece | None] = asyncio.Queue(maxsize=_MOST_PIECES)
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

    async def drain(self) -> None:
        """Wait until the command has read most of its input."""
        if self._child.process.stdin is not None:
            with contextlib.suppress(ConnectionError, RuntimeError):
                await self._child.process.stdin.drain()

    def close_input(self) -> None:
        """No more input."""
        if self._child.process.stdin is not None:
            self._child.process.stdin.close()

    def resize(self, width: int, height: int) -> None:
        """There is no terminal."""

    @property
    def is_over(self) -> bool:
        """True when the command has ended."""
        return self._child.process.returncode is not None

    async def wait(self) -> int:
        """The exit code."""
        return await self._child.wait()

    async def end(self) -> None:
        """End the command and what it started."""
        for task in self._tasks:
            task.cancel()
        await self._child.end()
        if self._open:
            if self._pieces.full():
                self._pieces.get_nowait()
            self._pieces.put_nowait(None)


class TerminalSession:
    """A child on a pty; `master` is our side of it. Both directions are bounded."""

    def __init__(self, child: Child, master: int) -> None:
        self._child = child
        self._master: int | None = master
        self._pieces: deque[bytes] = deque()
        self._typed = bytearray()
        self._has_pieces = asyncio.Event()
        self._is_drained = asyncio.Event()
        self._is_drained.set()
        self._is_reading = True
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
        if not data:
            self._close()
            return
        self._pieces.append(data)
        self._has_pieces.set()
        if len(self._pieces) >= _MOST_PIECES:
            self._loop.remove_reader(self._master)
            self._is_reading = False

    def _close(self) -> None:
        if self._master is not None:
            self._loop.remove_reader(self._master)
            self._loop.remove_writer(self._master)
            os.close(self._master)
            self._master = None
            self._has_pieces.set()
            self._is_drained.set()

    async def read(self) -> Piece | None:
        """The next output."""
        while not self._pieces:
            if self._master is None:
                return None
            self._has_pieces.clear()
            await self._has_pieces.wait()
        piece = self._pieces.popleft()
        if not self._is_reading and self._master is not None:
            self._loop.add_reader(self._master, self._readable)
            self._is_reading = True
        return STDOUT, piece

    def write(self, data: bytes) -> None:
        """Input, as typed."""
        if self._master is not None:
            self._typed += data
            self._flush()

    def _flush(self) -> None:
        if self._master is None:
            return
        try:
            del self._typed[: os.write(self._master, self._typed)]
        except BlockingIOError:
            pass
        except OSError:
            self._typed.clear()
        if self._typed:
            self._is_drained.clear()
            self._loop.add_writer(self._master, self._flush)
        else:
            self._is_drained.set()
            self._loop.remove_writer(self._master)

    async def drain(self) -> None:
        """Wait until the terminal has taken everything."""
        await self._is_drained.wait()

    def close_input(self) -> None:
        """Ctrl-D."""
        self.write(b"\x04")

    def resize(self, width: int, height: int) -> None:
        """The terminal has another size; the kernel tells the foreground process."""
        if self._master is not None:
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    @property
    def is_over(self) -> bool:
        """True when the command has ended."""
        return self._child.process.returncode is not None

    async def wait(self) -> int:
        """The exit code."""
        return await self._child.wait()

    async def end(self) -> None:
        """Hang up."""
        self._close()
        await self._child.end()
