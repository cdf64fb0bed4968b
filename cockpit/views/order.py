"""Order as people read it: gpu-2 before gpu-10, the unknown always last."""

import math
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import compress
from operator import is_not, itemgetter
from typing import Generic, TypeVar

R = TypeVar("R")
Value = str | float | None
"""What a column sorts and filters by. None is unknown."""

_FIRST = itemgetter(0)
_DIGITS = re.compile(r"[0-9]+")


def _with_length(match: re.Match[str]) -> str:
    digits = match.group().lstrip("0") or "0"
    return f"{len(digits):03d}{digits}"


def natural_uncached(text: str) -> str:
    """As `natural`, for texts asked about once: the names of all objects would only fill the cache.

    Members of a job differ in the number at their end alone, so what stands before it is asked about often.
    """
    stem = text.rstrip("0123456789")
    if len(stem) == len(text):
        return _DIGITS.sub(_with_length, text.casefold())
    digits = text[len(stem) :].lstrip("0") or "0"
    return f"{_stem(stem)}{len(digits):03d}{digits}"


@lru_cache(maxsize=4_096)
def _stem(text: str) -> str:
    return _DIGITS.sub(_with_length, text.casefold())


@lru_cache(maxsize=131_072)
def natural(text: str) -> str:
    """A string that sorts as a person counts: every run of digits is led by its length."""
    return natural_uncached(text)


class RankOrder(Generic[R]):
    """Rows by a number of which there are few, those of one number as they come: without a sort, and ranked
    again only where another record stands."""

    def __init__(self) -> None:
        self._given: list[R] = []
        self._ranks: list[int] = []
        self._rows: list[R] = []

    def sorted(self, rows: list[R], rank: Callable[[R], int]) -> list[R]:
        """The rows by rank. Neither the argument nor the answer may be changed afterwards."""
        if rows is self._given:
            return self._rows
        if len(rows) == len(self._given):
            ranks = self._ranks
            for at in compress(range(len(rows)), map(is_not, self._given, rows)):
                ranks[at] = rank(rows[at])
        else:
            self._ranks = ranks = list(map(rank, rows))
        self._given = rows
        found = sorted(set(ranks))
        self._rows = rows if len(found) == 1 else []
        if len(found) > 1:
            self._rows = [row for number in found for row in compress(rows, map(number.__eq__, ranks))]
        return self._rows


def sort_rows(rows: Iterable[R], value: Callable[[R], Value], *, descending: bool = False) -> list[R]:
    """Rows by value: stable, natural for text, numbers before text; None, "" and NaN always last."""
    numbers: list[tuple[float, R]] = []
    texts: list[tuple[str, R]] = []
    unknown: list[R] = []
    for row in rows:
        one = value(row)
        if one is None or one == "":
            unknown.append(row)
        elif isinstance(one, str):
            texts.append((natural(one), row))
        elif math.isnan(one):
            unknown.append(row)
        else:
            # one type for all: the sort compares floats without looking at their types each time
            numbers.append((float(one), row))
    # a reversed sort is stable too: rows of equal value keep their order
    numbers.sort(key=_FIRST, reverse=descending)
    texts.sort(key=_FIRST, reverse=descending)
    parts = (texts, numbers) if descending else (numbers, texts)
    return [*(row for part in parts for _, row in part), *unknown]
