"""Order as people read it: gpu-2 before gpu-10, the unknown always last."""

import math
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TypeVar

R = TypeVar("R")
Value = str | float | None
"""What a column sorts and filters by. None is unknown."""

_DIGITS = re.compile(r"[0-9]+")


def _with_length(match: re.Match[str]) -> str:
    digits = match.group().lstrip("0") or "0"
    return f"{len(digits):03d}{digits}"


@lru_cache(maxsize=131_072)
def natural(text: str) -> str:
    """A string that sorts as a person counts: every run of digits is led by its length."""
    folded = text.casefold()
    return _DIGITS.sub(_with_length, folded)


def is_unknown(value: Value) -> bool:
    """True for None, NaN and the empty string: what nobody knows comes last in either direction."""
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


def sort_rows(rows: Iterable[R], value: Callable[[R], Value], *, descending: bool = False) -> list[R]:
    """Rows by value: stable, natural for text, unknown last whichever way. Numbers stand before text."""
    numbers: list[tuple[float, int, R]] = []
    texts: list[tuple[str, int, R]] = []
    unknown: list[R] = []
    for position, row in enumerate(rows):
        one = value(row)
        place = -position if descending else position
        if one is None or one == "" or one != one:
            unknown.append(row)
        elif isinstance(one, str):
            texts.append((natural(one), place, row))
        else:
            numbers.append((one, place, row))
    # `place` is unique, so the row itself is never compared
    numbers.sort(reverse=descending)
    texts.sort(reverse=descending)
    first: list[R] = [row for _, _, row in numbers]
    second: list[R] = [row for _, _, row in texts]
    return [*(second + first if descending else first + second), *unknown]
