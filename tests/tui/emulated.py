"""The cockpit in a pseudo-terminal whose screen an emulator in Python keeps: a seat without tmux."""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.tui.folded import fold_details
from tests.tui.pseudo_terminal import PseudoTerminal
from tests.tui.seat import Seat

SIZE = (160, 45)
NAMED = {"Enter": "\r", "Tab": "\t", "Escape": "\x1b", "F2": "\x1bOQ"}
READ_SECONDS = 0.2


class Emulated(Seat):
    """One cockpit with a home of its own. Use as a context manager.

    A thread reads what it draws, so that it never waits for a reader.
    """

    def __init__(self, folder: Path, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        told = {
            **environment,
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_CONFIG_HOME": str(folder / "config"),
        }
        fold_details(folder / "state" / "gpu-cockpit")
        self._terminal = PseudoTerminal(["-m", "cockpit", *arguments], SIZE, told)
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> "Emulated":
        self._terminal.__enter__()
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._reader.join()
        self._terminal.__exit__()

    def _read(self) -> None:
        while not self._is_over.is_set():
            if not self._terminal.is_readable(READ_SECONDS):
                continue
            with self._lock:
                if not self._terminal.take(0.0):
                    return

    def screen(self) -> str:
        with self._lock:
            return "\n".join(line.rstrip() for line in self._terminal.lines)

    def keys(self, *keys: str) -> None:
        for key in keys:
            control = chr(ord(key[2]) & 0x1F) if key.startswith("C-") else ""
            self._terminal.press(NAMED.get(key, control or key))

    def type(self, text: str) -> None:
        self._terminal.press(text)
