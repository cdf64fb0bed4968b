"""A terminal joined to a command: every key goes there, sizes are told, and it is as before at every end."""

import asyncio
import fcntl
import os
import pty
import signal
import struct
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from cockpit import terminal
from cockpit.errors import NoConnection

SECONDS = 10


class Peer:
    """A command that says what the test puts into `said` and notes what it hears."""

    def __init__(self) -> None:
        self.said: asyncio.Queue[tuple[str, bytes] | Exception | None] = asyncio.Queue()
        self.heard = b""
        self.sizes: list[tuple[int, int]] = []
        self.is_closed = False
        self.stirred = asyncio.Event()

    async def read(self) -> tuple[str, bytes] | None:
        piece = await self.said.get()
        if isinstance(piece, Exception):
            raise piece
        return piece

    async def write(self, data: bytes) -> None:
        self.heard += data
        self.stirred.set()

    async def close_input(self) -> None:
        self.is_closed = True
        self.stirred.set()

    async def resize(self, columns: int, rows: int) -> None:
        self.sizes.append((columns, rows))
        self.stirred.set()

    async def until(self, *, heard: bytes = b"", sizes: int = 0, closed: bool = False) -> None:
        async with asyncio.timeout(SECONDS):
            while self.heard != heard or len(self.sizes) < sizes or self.is_closed != closed:
                self.stirred.clear()
                await self.stirred.wait()


class Window:
    """A pty: `near` is what the program has as its standard streams, `ours` the window's side."""

    def __init__(self) -> None:
        self.ours, self.near = pty.openpty()
        self.resize(80, 24)

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def sit_down(self, patch: pytest.MonkeyPatch) -> None:
        """Make it the standard streams; in the test itself, as pytest puts its own back after fixtures."""
        patch.setattr(sys, "stdin", Stream(self.near))
        patch.setattr(sys, "stdout", Stream(self.near))

    def settings(self) -> list[object]:
        return list(termios.tcgetattr(self.near))


class Stream:
    """Stands for sys.stdin or sys.stdout."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def fileno(self) -> int:
        return self._descriptor


@pytest.fixture
def window(monkeypatch: pytest.MonkeyPatch) -> Iterator[Window]:
    made = Window()
    put = terminal._put
    monkeypatch.setattr(terminal, "_put", lambda descriptor, data: put(made.near, data))
    yield made
    for descriptor in (made.ours, made.near):
        os.close(descriptor)


async def test_keys_sizes_and_output_and_the_terminal_as_it_was(
    window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    window.sit_down(monkeypatch)
    far, before = Peer(), window.settings()
    handler = signal.getsignal(signal.SIGWINCH)
    joined = asyncio.create_task(terminal.join(far, is_tty=True))
    await far.until(sizes=1)
    assert window.settings() != before
    os.write(window.ours, b"ls\x03\x04\x1a\r")
    await far.until(heard=b"ls\x03\x04\x1a\r", sizes=1)
    window.resize(200, 60)
    os.kill(os.getpid(), signal.SIGWINCH)
    await far.until(heard=b"ls\x03\x04\x1a\r", sizes=2)
    assert far.sizes == [(80, 24), (200, 60)]
    await far.said.put(("stdout", b"\x1b[1mhello\r\n"))
    await far.said.put(None)
    await asyncio.wait_for(joined, SECONDS)
    assert os.read(window.ours, 100) == b"\x1b[1mhello\r\n"
    assert window.settings() == before
    assert signal.getsignal(signal.SIGWINCH) is handler


@pytest.mark.parametrize("how", ["broken", "called off"])
async def test_it_is_as_it_was_after_a_bad_end(
    window: Window, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    window.sit_down(monkeypatch)
    far, before = Peer(), window.settings()
    joined = asyncio.create_task(terminal.join(far, is_tty=True))
    await far.until(sizes=1)
    if how == "broken":
        await far.said.put(NoConnection("cut"))
        with pytest.raises(NoConnection, match="cut"):
            await joined
    else:
        joined.cancel()
        with pytest.raises(asyncio.CancelledError):
            await joined
    assert window.settings() == before


async def test_a_file_as_input_is_sent_whole_and_its_end_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = b"line\n" * 20_000
    (tmp_path / "input").write_bytes(text)
    far = Peer()
    with (tmp_path / "input").open("rb") as file:
        monkeypatch.setattr(sys, "stdin", file)
        joined = asyncio.create_task(terminal.join(far, is_tty=False))
        await far.until(heard=text, closed=True)
        await far.said.put(None)
        await asyncio.wait_for(joined, SECONDS)


async def test_the_end_of_the_command_does_not_wait_for_input(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    monkeypatch.setattr(sys, "stdin", Stream(reading))
    far = Peer()
    joined = asyncio.create_task(terminal.join(far, is_tty=False))
    os.write(writing, b"a")
    await far.until(heard=b"a")
    await far.said.put(None)
    await asyncio.wait_for(joined, SECONDS)
    os.write(writing, b"b")
    assert os.read(reading, 10) == b"b", "what comes after the end is left to whoever reads next"
    for descriptor in (reading, writing):
        os.close(descriptor)


def test_a_slow_reader_gets_everything() -> None:
    """Also through a descriptor that somebody made non-blocking."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    data = os.urandom(300_000)
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        terminal._put(writing, data)
        os._exit(0)
    os.close(writing)
    said = b""
    while piece := os.read(reading, 65536):
        said += piece
    os.close(reading)
    assert os.waitpid(pid, 0)[1] == 0
    assert said == data
