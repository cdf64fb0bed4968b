"""Finds lines that only moved up or down, so that a terminal can be told to move them."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

LEAST_LINES = 4
"""Least lines that a move saves: for fewer, rewriting costs about as much as moving."""


class Shift(NamedTuple):
    """Lines `top` to `bottom` (inclusive) move by `lines`: up where positive, down where negative."""

    top: int
    bottom: int
    lines: int


def find_shift(before: Sequence[str], after: Sequence[str]) -> Shift | None:
    """The move after which the fewest lines are left to write, None where none spares enough of them."""
    places: dict[str, int] = {}
    for y, text in enumerate(before):
        # a text that stands twice does not say where a line came from
        places[text] = -1 if text in places else y
    votes = Counter(
        source - y
        for y, text in enumerate(after)
        if before[y] != text and text.strip() and (source := places.get(text, -1)) >= 0
    )
    if not votes:
        return None
    lines, _ = votes.most_common(1)[0]
    inside = range(max(0, -lines), len(after) - max(0, lines))
    moved = [y for y in inside if after[y] == before[y + lines] != before[y]]
    top, bottom = min(moved[0], moved[0] + lines), max(moved[-1], moved[-1] + lines)
    span = range(top, bottom + 1)
    left = [y for y in span if y + lines not in span or after[y] != before[y + lines]]
    without = sum(before[y] != after[y] for y in span)
    return Shift(top, bottom, lines) if without - len(left) >= LEAST_LINES else None
