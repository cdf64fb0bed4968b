"""A terminal made of a pseudo-terminal and an emulator in Python: bytes in, a screen out."""

import contextlib
import errno
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

import pyte

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 90.0
READ_BYTES = 1 << 16
KEYS = {
    "enter": b"\r",
    "escape": b"\x1b",
    "down": b"\x1b[B",
    "up": b"\x1b[A",
    "tab": b"\t",
    "f3": b"\x1bOR",
    "ctrl+c": b"\x03",
}

_COLOURS = rb"(?:[34]8;(?:5;\d+|2;\d+;\d+;\d+)|[0-9]|2[1-9]|[34]9)"
_MODES = rb"(?:7|25|1000|1003|1004|1006|1015|1049|2004|2026|2048)"
_OURS = (
    rb"\x1b\[(?:%s(?:;%s)*)?m" % (_COLOURS, _COLOURS),
    rb"\x1b\[[0-9;]*[ABCDHKLMXr]",  # the cursor, a line, lines that move
    rb"\x1bM",  # lines that move down (widgets/cell_frame.py)
    rb"\x1b\[\?%s[hl]" % _MODES,
    rb"\x1b\[(?:\?\d+\$p|[<>=?][0-9;]*u)",  # questions, and the keyboard
    rb"\x1b\]22;[a-z-]*(?:\x07|\x1b\\)",  # the pointer's shape
    rb"[\x08\r\n]",
    rb"[ -~]+|\xc2[\xa0-\xac\xae-\xbf]|[\xc3-\xdf][\x80-\xbf]",
    rb"(?!\xe2\x80[\x8b-\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf)[\xe0-\xef][\x80-\xbf]{2}",
    rb"[\xf0-\xf4][\x80-\xbf]{3}",
)
_SENT = re.compile(rb"(?:%s)|(.)" % rb"|".join(_OURS), re.DOTALL)
"""What the cockpit sends; else the first group has a byte that is not ours."""


def foreign_bytes(sent: bytes) -> list[bytes]:
    """What belongs to no printable character and to no sequence that the cockpit uses."""
    return [found[1] for found in _SENT.finditer(sent) if found[1] is not None]


class PseudoTerminal:
    """One program in a terminal of a known size. Use as a context manager."""

    def __init__(
        self, arguments: Sequence[str], size: tuple[int, int], environment: Mapping[str, str] | None = None
    ) -> None:
        """Python with these arguments; `environment` goes over what it would inherit."""
        self._arguments = list(arguments)
        self._environment = dict(environment or {})
        self.size = size
        self.screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self.screen)
        self.sent = b""
        self.most_bytes = READ_BYTES  # of one reading
        self.exit_code: int | None = None

    def __enter__(self) -> Self:
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            environment = {
                name: value
                for name, value in os.environ.items()
                if not name.startswith(("TEXTUAL", "LC_", "LANG", "COLORTERM", "TERM", "COLUMNS", "LINES"))
            }
            environment |= {"TERM": "xterm-256color", "LANG": "C.UTF-8", "TEXTUAL_ANIMATIONS": "none"}
            environment |= self._environment
            try:
                os.chdir(ROOT)
                fcntl.ioctl(0, termios.TIOCSWINSZ, self._window())
                os.execvpe(sys.executable, [sys.executable, *self._arguments], environment)
            finally:
                os._exit(127)
        return self

    def __exit__(self, *_: object) -> None:
        if self.exit_code is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        self.hang_up()

    @property
    def pid(self) -> int:
        """The program's process id."""
        return self._pid

    def hang_up(self) -> None:
        """Close the terminal, as a window that is closed does."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _window(self) -> bytes:
        columns, lines = self.size
        return struct.pack("HHHH", lines, columns, 0, 0)

    # ---- what a person does

    def press(self, *keys: str) -> None:
        """Keys by name (enter, escape, down ...) or as the characters they are."""
        for key in keys:
            os.write(self._fd, KEYS.get(key, key.encode()))

    def answer_seconds(self, letter: str) -> float:
        """Press a letter that stands nowhere yet; how long it takes until it is sent to be shown."""
        seen, wanted = len(self.sent), letter.encode()
        began = time.monotonic()
        os.write(self._fd, wanted)
        chunks: list[bytes] = []
        while wanted not in b"".join(chunks):
            assert self.is_readable(PATIENCE_SECONDS), f"{letter} was not answered"
            chunks.append(os.read(self._fd, READ_BYTES))
        took = time.monotonic() - began
        self.sent += b"".join(chunks)
        self._stream.feed(self.sent[seen:])
        return took

    def resize(self, columns: int, lines: int) -> None:
        """Another size, as a terminal tells it: by the window's size and SIGWINCH."""
        self.size = (columns, lines)
        self.screen.resize(lines, columns)
        self.screen.reset()
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, self._window())
        os.kill(self._pid, signal.SIGWINCH)

    # ---- what a person sees

    @property
    def lines(self) -> list[str]:
        return list(self.screen.display)

    def until(self, is_it: Callable[[str], bool], what: str) -> list[str]:
        """Read until the screen is so. Fails with the screen it saw last."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not is_it("\n".join(self.lines)):
            left = deadline - time.monotonic()
            assert left > 0, f"not within {PATIENCE_SECONDS:g} s: {what}\n" + "\n".join(self.lines)
            assert self.take(left), f"it ended before: {what}\n" + "\n".join(self.lines)
        return self.lines

    def shows(self, *words: str) -> list[str]:
        """Read until every word stands on the screen."""
        return self.until(lambda seen: all(word in seen for word in words), f"{words}")

    def ends(self) -> int:
        """Read until the program ended; its exit code."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.take(deadline - time.monotonic()):
            assert time.monotonic() < deadline, "it did not end\n" + "\n".join(self.lines)
        self.exit_code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        print(f"ended with {self.exit_code}, its last words: {self.sent[-2_000:]!r}")
        return self.exit_code

    def modes(self) -> dict[str, bool]:
        """Private modes of the terminal that were set or reset, as they stand now (`?1049`: other screen)."""
        found: dict[str, bool] = {}
        for numbers, end in re.findall(rb"\x1b\[\?([0-9;]+)([hl])", self.sent):
            for number in numbers.decode().split(";"):
                found[number] = end == b"h"
        return found

    def commands(self) -> set[int]:
        """Numbers of the operating system commands sent: 0 and 2 set the title, 52 the clipboard."""
        return {int(number) for number in re.findall(rb"\x1b\]([0-9]+)", self.sent)}

    def foreign(self) -> list[bytes]:
        """Bytes that were sent and belong to no character and to no sequence that the cockpit uses."""
        return foreign_bytes(self.sent)

    def take(self, seconds: float) -> bool:
        """Take what comes next; False when nothing comes any more."""
        if self._fd < 0:
            return False
        if not self.is_readable(seconds):
            return True
        try:
            chunk = os.read(self._fd, self.most_bytes)
        except OSError as error:
            if error.errno != errno.EIO:  # Linux says so when the other side is closed
                raise
            return False
        self.sent += chunk
        self._stream.feed(chunk)
        return bool(chunk)

    def is_readable(self, seconds: float) -> bool:
        """Whether something came, or the end, within `seconds`."""
        return bool(select.select([self._fd], [], [], max(0.0, seconds))[0])
