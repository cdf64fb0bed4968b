"""A form filled in by keys: each field is found by its label."""

from collections.abc import Mapping
from typing import Protocol

CHOSEN_BY = ("Right", "Left")
"""Values that are keys by which a choice is turned."""


class Hand(Protocol):
    """What a test types at."""

    def keys(self, *keys: str) -> object: ...
    def type(self, text: str) -> object: ...
    def until(self, *wanted: str, without: tuple[str, ...] = ()) -> str: ...


def jump(terminal: Hand, label: str) -> None:
    """To the field of that label, whatever section it stands in; a unit in brackets is not its name."""
    name = label.partition(" (")[0]
    terminal.keys("C-f")
    terminal.until("Jump to a field")
    terminal.type(name)
    terminal.until("Jump to a field", f"▌ {name}")
    terminal.keys("Enter")
    terminal.until(name, without=("Jump to a field",))


def fill(terminal: Hand, values: Mapping[str, str]) -> None:
    """Put the text of each label into its field, in place of what it holds."""
    for label, text in values.items():
        jump(terminal, label)
        if text in CHOSEN_BY:
            terminal.keys(text)
        else:
            terminal.keys("C-u")
            terminal.type(text)
