"""A person at a terminal: the cockpit in a real tmux, keys in, screen out."""

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.bed.distro import ensure_program

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 60.0
LOOK_SECONDS = 0.1


class Terminal:
    """One tmux session of a known size on a socket of its own. Use as a context manager."""

    def __init__(
        self,
        folder: Path,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        size: tuple[int, int] = (140, 40),
    ) -> None:
        self.folder = folder
        self.size = size
        self._program = str(ensure_program("tmux", print))
        self._environment = dict(environment)
        self._arguments = list(arguments)
        # tmux loses the exit code now and then
        self._code_file = folder / "exit-code"

    def __enter__(self) -> "Terminal":
        command = [sys.executable, "-m", "cockpit", *self._arguments]
        settings = {
            **self._environment,
            "TERM": "tmux-256color",
            "XDG_STATE_HOME": str(self.folder / "state"),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "TEXTUAL_ANIMATIONS": "none",
        }
        self._code_file.unlink(missing_ok=True)
        words = ["env", *(f"{name}={value}" for name, value in settings.items()), *command]
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
            str(ROOT),
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

    def find(self, text: str) -> None:
        """`/`, the text, enter: on the place that is shown."""
        self.keys("/")
        self.until("field:value")
        self.type(text)
        self.until(f"/ {text}")
        self.keys("Enter")

    def until(self, *wanted: str, without: Sequence[str] = (), seconds: float = PATIENCE_SECONDS) -> str:
        """The first screen that holds every wanted text and none of `without`; fails with the last screen."""
        deadline = time.monotonic() + seconds
        while True:
            seen = self.screen()
            if all(text in seen for text in wanted) and not any(text in seen for text in without):
                return seen
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {seconds:g} s: {wanted} without {tuple(without)}\n{seen}")
            time.sleep(LOOK_SECONDS)

    def until_one(self, *wanted: str, seconds: float = PATIENCE_SECONDS) -> str:
        """The first screen that holds one of the texts."""
        deadline = time.monotonic() + seconds
        while not any(text in (seen := self.screen()) for text in wanted):
            assert time.monotonic() < deadline, f"not within {seconds:g} s: one of {wanted}\n{seen}"
            time.sleep(LOOK_SECONDS)
        return seen

    def until_body(
        self, sentence: str, *, without: Sequence[str] = (), seconds: float = PATIENCE_SECONDS
    ) -> None:
        """Until the sentence stands between header and footer, broken over lines or not."""
        deadline = time.monotonic() + seconds
        while True:
            seen = self.screen()
            body = " ".join(" ".join(seen.splitlines()[1:]).split())
            if sentence in body and not any(text in seen for text in without):
                return
            assert time.monotonic() < deadline, f"not within {seconds:g} s: {sentence!r}\n{seen}"
            time.sleep(LOOK_SECONDS)

    def is_drawing(self) -> bool:
        """True while the program has the screen for itself."""
        return self._tmux("display-message", "-p", "#{alternate_on}").strip() == "1"

    def until_line(self, wanted: Sequence[str], *words: str, seconds: float = PATIENCE_SECONDS) -> str:
        """The first line that holds `words` and then every wanted text. Fails with the screen it saw last."""
        deadline = time.monotonic() + seconds
        while True:
            seen = self.screen()
            if line := line_with(seen, *words, *wanted):
                return line
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {seconds:g} s: {tuple(wanted)} beside {words}\n{seen}")
            time.sleep(LOOK_SECONDS)

    def ended(self) -> int | None:
        """The exit code once the program has left, None while it runs."""
        text = self._code_file.read_text() if self._code_file.exists() else ""
        return int(text) if text.endswith("\n") else None


def line_with(screen: str, *words: str) -> str:
    """The first line of the screen that holds all words, "" when there is none."""
    for line in screen.splitlines():
        if all(word in line for word in words):
            return line
    return ""
