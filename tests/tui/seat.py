"""A person before a terminal: what is waited for on its screen, whatever draws it."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

PATIENCE_SECONDS = 60.0
LOOK_SECONDS = 0.1


FRAME = " │"
"""What stands beside a line of a panel."""


def bodies(screen: str) -> list[str]:
    """Texts as one line each: all of the screen below the header, and what stands in its right panel."""
    lines = screen.splitlines()[1:]
    beside = [line.rpartition("││")[2] for line in lines if "││" in line]
    return [" ".join(" ".join(line.strip(FRAME) for line in part).split()) for part in (lines, beside)]


class Seat(ABC):
    """Keys in, a screen out. Keys have tmux's names (Enter, Tab, C-s, Escape, or a character)."""

    @abstractmethod
    def screen(self) -> str:
        """The text on the screen now."""

    @abstractmethod
    def keys(self, *keys: str) -> None:
        """Press keys, one after the other."""

    @abstractmethod
    def type(self, text: str) -> None:
        """Type text literally."""

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

    def until_that(self, is_it: Callable[[str], bool], what: str, seconds: float = PATIENCE_SECONDS) -> str:
        """The first screen that is so; fails with the last screen."""
        deadline = time.monotonic() + seconds
        while not is_it(seen := self.screen()):
            assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}\n{seen}"
            time.sleep(LOOK_SECONDS)
        return seen

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
            if any(sentence in body for body in bodies(seen)) and not any(text in seen for text in without):
                return
            assert time.monotonic() < deadline, f"not within {seconds:g} s: {sentence!r}\n{seen}"
            time.sleep(LOOK_SECONDS)

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

    def until_one_in_line(self, wanted: Sequence[str], *words: str, seconds: float = PATIENCE_SECONDS) -> str:
        """The first line that holds `words` and one of the texts. Fails with the screen it saw last."""
        deadline = time.monotonic() + seconds
        while True:
            seen = self.screen()
            line = line_with(seen, *words)
            if any(text in line for text in wanted):
                return line
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {seconds:g} s: one of {wanted} beside {words}\n{seen}")
            time.sleep(LOOK_SECONDS)


def line_with(screen: str, *words: str) -> str:
    """The first line of the screen that holds all words, "" when there is none."""
    for line in screen.splitlines():
        if all(word in line for word in words):
            return line
    return ""
