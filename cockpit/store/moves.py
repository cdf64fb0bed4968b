"""Which records of one kind moved lately: by these what is kept of a table is brought up to date."""

from collections import deque
from collections.abc import Iterable
from typing import Final

MOST: Final = 1_024
"""Moves that are remembered: who is further behind looks at the whole table."""


class RecordMoves:
    """`revision` is that of the store by which the kind moved last."""

    __slots__ = ("_floor", "_last", "revision")

    def __init__(self) -> None:
        self.revision = 0
        self._last: deque[tuple[int, str]] = deque()
        self._floor = 0  # what moved by this revision or before may be forgotten

    def note(self, revision: int, uid: str) -> None:
        """The record was put or dropped."""
        self.revision = revision
        self._last.append((revision, uid))
        if len(self._last) > MOST:
            self._floor = self._last.popleft()[0]

    def note_all(self, revision: int, uids: Iterable[str]) -> None:
        """Many records came together."""
        for uid in uids:
            self.note(revision, uid)

    def since(self, revision: int) -> dict[str, None] | None:
        """Uids of what moved after that revision; None where not all of them are remembered."""
        if revision < self._floor:
            return None
        found: dict[str, None] = {}
        for at, uid in reversed(self._last):
            if at <= revision:
                break
            found[uid] = None
        return found
