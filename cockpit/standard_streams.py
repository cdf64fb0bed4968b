"""Standard output and errors of a command: no character, disk or pipe makes a traceback of the last step.

What the encoding of the terminal lacks is replaced cell by cell; an output that cannot be written is one
sentence; what cannot be written to standard errors is let go.
"""

import contextlib
import io
import os
import sys
from contextvars import ContextVar
from typing import Any, TextIO

from cockpit_widgets.stand_ins import STAND_INS, terminal_encoding

from cockpit.errors import CockpitError

_IS_HEARD: ContextVar[bool] = ContextVar("is_heard", default=False)


def is_plain() -> bool:
    """Whether `COCKPIT_PLAIN` asks for output that is made to be heard, as with a screen reader."""
    return os.environ.get("COCKPIT_PLAIN", "0") not in ("", "0")


def for_ears(*, is_wanted: bool) -> None:
    """What is printed from here on is made to be heard, or to be seen."""
    _IS_HEARD.set(is_wanted)


def is_heard() -> bool:
    """Whether what is printed is made to be heard."""
    return _IS_HEARD.get()


class OutputLost(CockpitError):
    """Standard output cannot be written."""


class _Output(io.FileIO):
    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputLost(
                f"standard output: {error.strerror}; what was to be printed is incomplete"
            ) from None


class _Errors(io.FileIO):
    def write(self, data: Any, /) -> int:
        with contextlib.suppress(OSError):
            return super().write(data)
        return len(data)


def guard_standard_streams() -> None:
    """Make the streams of this process safe; those that a test put in their place stay as they are.

    Raises OutputLost where standard output is closed.
    """
    is_closed = sys.__stdout__ is None
    _open_closed_ones()
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115 - for the length of the process
    system: Any = sys
    if sys.stdout is sys.__stdout__:
        system.stdout = system.__stdout__ = _guarded(sys.stdout, 1, _Output)
    if sys.stderr is sys.__stderr__:
        system.stderr = system.__stderr__ = _guarded(sys.stderr, 2, _Errors)
    if is_closed:
        raise OutputLost("standard output is closed; open it, or send it to /dev/null")


def draw_on_terminal() -> None:
    """Textual draws on what standard errors were at the start: where these go to a file (`2>err`), the
    screens are drawn on standard output, which is the terminal; errors still go to the file."""
    system: Any = sys
    if not os.isatty(2) and os.isatty(1):
        system.__stderr__ = _guarded(None, 1, _Errors)


def give_up_output() -> None:
    """The interpreter must not try once more to write what is left."""
    if sys.stdout is not sys.__stdout__:
        return
    with contextlib.suppress(OSError):
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.close(sink)


def _open_closed_ones() -> None:
    """A file or a connection that is opened later must not get the number of a standard stream."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one


def _guarded(stream: TextIO | None, number: int, raw: type[io.FileIO]) -> TextIO:
    is_terminal = os.isatty(number)
    encoding = terminal_encoding(os.environ) if is_terminal else stream.encoding if stream else "utf-8"
    is_line_buffered = number == 2 or is_terminal
    buffer = io.BufferedWriter(raw(number, "wb", closefd=False))
    return io.TextIOWrapper(buffer, encoding, STAND_INS, line_buffering=is_line_buffered)
