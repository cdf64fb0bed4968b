"""A person's own terminal, or pipes, joined to a command that runs elsewhere."""

import asyncio
import contextlib
import os
import select
import shlex
import signal
import sys
import termios
import tty
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

from cockpit.errors import BadInput, NoConnection
from cockpit.standard_streams import is_plain

STDERR = "stderr"
_READ_BYTES = 16 << 10


class Conversation(Protocol):
    """A command's streams (cockpit.kube.exec.Exec)."""

    async def read(self) -> tuple[str, bytes] | None:
        """Stream and output, None at its end."""

    async def write(self, data: bytes) -> None:
        """Input."""

    async def close_input(self) -> None:
        """No more input."""

    async def resize(self, columns: int, rows: int) -> None:
        """The terminal's size."""


def is_terminal() -> bool:
    """True when standard input and output are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def screen_fault() -> str:
    """Why no screens are shown on this terminal, with the remedy; "" where they are.

    Without a name, or as `dumb`, a terminal says that it obeys no control sequence: they would be printed.
    """
    if is_plain():
        return "COCKPIT_PLAIN is set: each key has its command, see cockpit --help; unset it for screens"
    name = os.environ.get("TERM", "")
    if name and name not in ("dumb", "unknown"):
        return ""
    said = f"TERM is {name}" if name else "TERM is not set"
    return f"{said}: this terminal shows no screens; set its name, such as TERM=xterm-256color"


class OwnTerminal:
    """This process's terminal while no screens have it (cockpit.kube.logins.Lender)."""

    is_taken = False

    def __init__(self) -> None:
        self._lock = asyncio.Lock()  # plugins of several clusters ask one after the other

    @asynccontextmanager
    async def lend(self, plugin: str) -> AsyncGenerator[None, None]:
        """Another program asks on it; its settings are as they were afterwards."""
        async with self._lock:
            with as_before(sys.stdin.fileno()):
                yield


def own_terminal() -> OwnTerminal | None:
    """The terminal on which a credential plugin may ask; None without one."""
    return OwnTerminal() if sys.stdin.isatty() and sys.stderr.isatty() else None


@contextlib.contextmanager
def as_before(descriptor: int) -> Iterator[None]:
    """Restore the terminal's settings after the block (a killed password prompt leaves echo off)."""
    before = termios.tcgetattr(descriptor)
    try:
        yield
    finally:
        # Not drained: what hangs on a terminal that is gone would hang for ever.
        with contextlib.suppress(termios.error):
            termios.tcsetattr(descriptor, termios.TCSANOW, before)


@contextlib.contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """ctrl+c ends the program that has the terminal, and not this process, too."""
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, lambda _number, _frame: None)  # not SIG_IGN: a child would inherit that
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def editor_words() -> list[str]:
    """The person's editor with its options, as kubectl finds it. Raises BadInput where none is set."""
    for name in ("KUBE_EDITOR", "VISUAL", "EDITOR"):
        if text := os.environ.get(name, "").strip():
            try:
                return shlex.split(text)
            except ValueError:
                raise BadInput(f"{name}: {text!r} is no command line: a quote in it has no end") from None
    raise BadInput("no editor is set: set EDITOR to yours, such as EDITOR=vi")


async def edit(path: Path) -> None:
    """Have the person edit the file on this terminal; this process goes on meanwhile.

    Raises BadInput where the editor cannot be started or says that it failed.
    """
    words = editor_words()
    with contextlib.ExitStack() as meanwhile:
        if is_terminal():
            meanwhile.enter_context(deaf_to_interrupts())
            meanwhile.enter_context(as_before(sys.stdin.fileno()))
        try:
            process = await asyncio.create_subprocess_exec(*words, str(path))
        except OSError as error:
            raise BadInput(f"editor {words[0]}: {error.strerror or error}; set EDITOR to yours") from None
        code = await process.wait()
    if code:
        raise BadInput(f"editor {words[0]} ended with exit code {code}: nothing is done")


def end_with_terminal() -> None:
    """Let a hang-up end this process also where it comes ignored (under nohup, in some job runners).

    Screens whose terminal is gone would spin for ever.
    """
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


async def join(conversation: Conversation, *, is_tty: bool) -> None:
    """Carry standard input, output and errors until the command ends; what `read` raises passes through.

    With `is_tty` the terminal is raw meanwhile, every key (ctrl+c, too) goes to the command, and the command
    is told each new size. The terminal is as it was before at every end.
    """
    if not is_tty:
        await _carry(conversation)
        return
    with _raw(sys.stdin.fileno()):
        async with _sizes(conversation):
            await _carry(conversation)


async def _carry(conversation: Conversation) -> None:
    typing = asyncio.create_task(_type(conversation), name="terminal input")
    try:
        while (piece := await conversation.read()) is not None:
            stream, data = piece
            # In a thread: a slow terminal, or a reader that stops, must not hold up everything else.
            await asyncio.to_thread(_put, 2 if stream == STDERR else 1, data)
    finally:
        typing.cancel()
        await asyncio.gather(typing, return_exceptions=True)


def _put(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        try:
            left = left[os.write(descriptor, left) :]
        except BlockingIOError:  # another process made our terminal non-blocking
            select.select((), (descriptor,), ())


async def _type(conversation: Conversation) -> None:
    """Input as it comes; its end is told. Where the connection is gone the reader of output says so."""
    with contextlib.suppress(NoConnection):
        descriptor = sys.stdin.fileno()
        while data := await _read(descriptor):
            await conversation.write(data)
        await conversation.close_input()


async def _read(descriptor: int) -> bytes:
    """The next input, b"" at its end. Waits without a thread: one that reads could not be called off."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()

    def note() -> None:
        if not ready.done():
            ready.set_result(None)

    try:
        loop.add_reader(descriptor, note)
    except PermissionError:  # a file: it is always ready, and epoll does not take it
        await asyncio.sleep(0)
    else:
        try:
            await ready
        finally:
            loop.remove_reader(descriptor)
    try:
        return os.read(descriptor, _READ_BYTES)
    except OSError:  # EIO: the terminal has been closed
        return b""


@contextlib.contextmanager
def _raw(descriptor: int) -> Iterator[None]:
    """The terminal gives every key at once and makes nothing of it."""
    with as_before(descriptor):
        tty.setraw(descriptor, termios.TCSADRAIN)
        yield


@asynccontextmanager
async def _sizes(conversation: Conversation) -> AsyncGenerator[None, None]:
    """Tell the command the terminal's size now, and each time it changes."""
    loop = asyncio.get_running_loop()
    changed = asyncio.Event()
    changed.set()

    async def tell() -> None:
        with contextlib.suppress(NoConnection):
            while await changed.wait():
                changed.clear()
                with contextlib.suppress(OSError):
                    columns, rows = os.get_terminal_size(sys.stdout.fileno())
                    await conversation.resize(columns, rows)

    before = signal.getsignal(signal.SIGWINCH)
    loop.add_signal_handler(signal.SIGWINCH, changed.set)
    telling = asyncio.create_task(tell(), name="terminal size")
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGWINCH)
        signal.signal(signal.SIGWINCH, before)
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)
