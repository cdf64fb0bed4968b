"""The order by name of rows that come again and again, where a change costs what changed.

Fifty thousand pods are projected several times a second while they load. What was ordered stays ordered:
replaced records take their predecessors' places, and only new rows are named and merged in.
"""

from collections.abc import Callable, Sequence
from itertools import compress
from operator import is_not
from typing import Generic, TypeVar

from cockpit.views.order import natural_uncached

R = TypeVar("R")


class NameOrder(Generic[R]):
    """Rows of one table in natural order of their names; rows of one name stand in the order given.

    A key stands for one object whose name never changes, and rows come in the order of a table of the store:
    known ones as before, new ones last. Rows that come otherwise are ordered rightly too, only slower.
    """

    def __init__(self, key: Callable[[R], str], name: Callable[[R], str]) -> None:
        self._key = key
        self._name = name
        self._given: Sequence[R] = ()
        self._order: list[int] = []  # indices of `given`, by name
        self._names: list[str] = []  # in that order
        self._rows: list[R] = []

    def sorted(self, rows: list[R]) -> list[R]:
        """The rows by name. Neither the argument nor the answer may be changed afterwards."""
        if self._is_grown(rows):
            if len(rows) == len(self._given) and not any(map(is_not, rows, self._given)):
                return self._rows
            known = len(self._given)
        else:
            known = self._forget_removed(rows)
        self._merge(rows, known)
        self._given = rows
        self._rows = [rows[index] for index in self._order]
        return self._rows

    def _is_grown(self, rows: list[R]) -> bool:
        """True where nothing was removed: every known row has its place, be it as another record."""
        given, key = self._given, self._key
        if len(rows) < len(given):
            return False
        changed = compress(range(len(given)), map(is_not, given, rows))
        return all(key(given[index]) == key(rows[index]) for index in changed)

    def _forget_removed(self, rows: list[R]) -> int:
        """Take the rows that are gone out of the order; answers with how many stay, the first of `rows`."""
        key, count = self._key, len(rows)
        place_of: list[int] = []  # index of `given` -> index of `rows`, -1 where it is gone
        at = 0
        for old in self._given:
            if at < count and (rows[at] is old or key(rows[at]) == key(old)):
                place_of.append(at)
                at += 1
            else:
                place_of.append(-1)
        kept = [(place_of[index], name) for index, name in zip(self._order, self._names, strict=True)]
        self._order = [index for index, _ in kept if index >= 0]
        self._names = [name for index, name in kept if index >= 0]
        return at

    def _merge(self, rows: list[R], known: int) -> None:
        """Bring the rows from `known` on into the order."""
        if known == len(rows):
            return
        name = self._name
        names = self._names + [natural_uncached(name(row)) for row in rows[known:]]
        order = self._order + list(range(known, len(rows)))
        # A long ordered run and a short tail, compared as plain strings: the sort merges them.
        by_name = sorted(range(len(names)), key=names.__getitem__)
        self._names = [names[place] for place in by_name]
        self._order = [order[place] for place in by_name]
