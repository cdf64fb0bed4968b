"""A person at a terminal: the cockpit in a real tmux, keys in, screen out."""

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from tests.bed.distro import ensure_program
from tests.tui.folded import fold_details
from tests.tui.seat import Seat, line_with

__all__ = ["Terminal", "line_with"]

ROOT = Path(__file__).resolve().parents[2]


class Terminal(Seat):
    """One tmux session of a known size on a socket of its own. Use as a context manager."""

    def __init__(
        self,
        folder: Path,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        size: tuple[int, int] = (140, 40),
        *,
        is_fresh: bool = False,
        program: Sequence[str] = (sys.executable, "-m", "cockpit"),
    ) -> None:
        """`is_fresh`: nothing was chosen before, it begins in `folder`; else details of lists are folded."""
        self.folder = folder
        self._is_fresh = is_fresh
        self.size = size
        self._program = str(ensure_program("tmux", print))
        self._environment = dict(environment)
        self._command = [*program, *arguments]
        # tmux loses the exit code now and then
        self._code_file = folder / "exit-code"

    def __enter__(self) -> Self:
        settings = {
            **self._environment,
            "TERM": "tmux-256color",
            "XDG_STATE_HOME": str(self.folder / "state"),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "TEXTUAL_ANIMATIONS": "none",
        }
        self._code_file.unlink(missing_ok=True)
        if not self._is_fresh:
            fold_details(self.folder / "state" / "gpu-cockpit")
        words = ["env", *(f"{name}={value}" for name, value in settings.items()), *self._command]
        width, height = self.size
        self._tmux(
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            str(width),
            "-y",
            str(height),
            "-c",
            str(self.folder if self._is_fresh else ROOT),
            f"{shlex.join(words)}; echo $? > {shlex.quote(str(self._code_file))}",
        )
        self._tmux("set-option", "remain-on-exit", "on")
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(
            self._words("kill-server"), check=False, capture_output=True, env=self._own_environment()
        )

    def _own_environment(self) -> dict[str, str]:
        return {**os.environ, "TMUX_TMPDIR": str(self.folder)}

    def _words(self, *arguments: str) -> list[str]:
        return [self._program, "-L", "cockpit", *arguments]

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            self._words(*arguments),
            check=True,
            capture_output=True,
            text=True,
            env=self._own_environment(),
            timeout=20,
        )
        return done.stdout

    # ---- what a person does

    def screen(self) -> str:
        """The text on the screen now."""
        return self._tmux("capture-pane", "-p")

    def keys(self, *keys: str) -> None:
        """Press keys as tmux names them (Enter, Tab, C-s, Escape, or a character)."""
        for key in keys:
            self._tmux("send-keys", key)

    def type(self, text: str) -> None:
        """Type text literally."""
        self._tmux("send-keys", "-l", text)

    def is_drawing(self) -> bool:
        """True while the program has the screen for itself."""
        return self._tmux("display-message", "-p", "#{alternate_on}").strip() == "1"

    def ended(self) -> int | None:
        """The exit code once the program has left, None while it runs."""
        text = self._code_file.read_text() if self._code_file.exists() else ""
        return int(text) if text.endswith("\n") else None
