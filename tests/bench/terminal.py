"""A person's terminal: a pseudo-terminal of 200x60 in which a program runs, every byte kept with its time.

Nothing is interpreted while the program runs (an emulator in Python would take the processor away from it);
`tests.bench.screen` draws the recording afterwards.
"""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.measure import ProcessTree

COLUMNS, LINES = 200, 60
READ_BYTES = 1 << 16


@dataclass
class Recording:
    """What the program wrote and which keys were pressed, in seconds since its process was started."""

    chunks: list[tuple[float, bytes]] = field(default_factory=list)
    keys: list[tuple[float, str]] = field(default_factory=list)
    peak_bytes: int = 0
    cpu_seconds: float = 0.0

    @property
    def sent_bytes(self) -> int:
        return sum(len(chunk) for _, chunk in self.chunks)


class Terminal:
    """One program in a pseudo-terminal, started in a folder. `close` ends it."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
        # A parent that runs several workers tells them another size by these.
        environment = {name: value for name, value in environment.items() if name not in ("COLUMNS", "LINES")}
        environment |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
        self.recording = Recording()
        self.started = time.monotonic()
        weight = _weight()
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            try:
                _take_weight(weight)
                os.chdir(folder)
                os.execvpe(argv[0], list(argv), environment)
            finally:
                os._exit(127)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self._tree = ProcessTree(self._pid)
        self.has_ended = False

    @property
    def pid(self) -> int:
        """The program's process id."""
        return self._pid

    @property
    def seconds(self) -> float:
        """Since the process was started."""
        return time.monotonic() - self.started

    def press(self, name: str, code: bytes) -> None:
        self.recording.keys.append((self.seconds, name))
        os.write(self._fd, code)

    def read_until(self, deadline_seconds: float, saw: Callable[[bytes], bool] = lambda _: False) -> bool:
        """Record until `deadline_seconds` after the start, or until `saw` is true of a chunk; says which."""
        while (left := deadline_seconds - self.seconds) > 0 and not self.has_ended:
            if not select.select([self._fd], [], [], left)[0]:
                continue
            try:
                chunk = os.read(self._fd, READ_BYTES)
            except OSError:  # Linux: EIO when the other side is closed
                chunk = b""
            if not chunk:
                self.has_ended = True
                break
            self.recording.chunks.append((self.seconds, chunk))
            if saw(chunk):
                return True
        return False

    def close(self) -> Recording:
        """End the program and hand over the recording."""
        self._tree.sample()
        self._tree.stop()
        self.recording.peak_bytes, self.recording.cpu_seconds = self._tree.peak_bytes, self._tree.cpu_seconds
        if not self.has_ended:
            os.kill(self._pid, signal.SIGTERM)
            self.read_until(self.seconds + 2.0)
        if os.waitpid(self._pid, os.WNOHANG)[0] == 0:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        os.close(self._fd)
        return self.recording


_WEIGHT = Path("/proc/self/autogroup")


def _weight() -> str:
    """The scheduling weight of our session, "" where sessions have none.

    A pseudo-terminal needs a session of its own, and Linux weighs sessions against each other
    (sched_autogroup): under another weight than the usual, the other contestants would inherit it from us and
    this one would not.
    """
    try:
        return _WEIGHT.read_text().rpartition(" ")[2].strip()
    except OSError:
        return ""


def _take_weight(weight: str) -> None:
    """Called in the new session, before the program starts."""
    if weight not in ("", "0"):
        try:
            _WEIGHT.write_text(weight)
        except OSError:
            return  # not allowed: then it runs with the usual weight
