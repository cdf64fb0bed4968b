"""Keys that look and change nothing, in the order of a seed."""

import random
from collections.abc import Iterator

MOVES: tuple[str, ...] = (
    *("1", "2", "3", "4", "5", "6", "7", "8"),
    *("down", "down", "up", "enter", "enter", "escape", "tab", "s", "r", "m", "space"),
    *("w", "l", "y", "e", "d", "x", "escape", "escape", "b", "i", "u", "t escape"),
    *("/ l l m enter", "/ o n e enter", "/ escape", "/ g p u s > 1 enter", "escape", "escape"),
    *("? escape", ": escape", ": n o d e s enter", "ctrl+a ctrl+a", "ctrl+f 1 enter n p escape"),
    *("ctrl+n escape", "ctrl+n t e a m - a enter", "ctrl+n enter", "ctrl+x down enter", "ctrl+x up enter"),
    *("a escape", "N escape y", "K escape", "C escape", "pagedown", "pageup", "end", "home"),
)
"""Keys as one writes them. Capital letters are verbs, which a read-only session answers with a sentence."""


def moves(rng: random.Random) -> Iterator[tuple[str, ...]]:
    """What is pressed one after the other, without end."""
    while True:
        yield tuple(rng.choice(MOVES).split())
