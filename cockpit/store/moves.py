"""Which records of one kind moved lately: by these what is kept of a table is brought up to date."""

from collections import deque
from collections.abc import Collection
from itertools import repeat
from typing import Final

MOST: Final = 1_024
"""Moves that are remembered: who is further behind looks at the whole table."""


class RecordMoves:
    """`revision` is that of the last move: of the store, or a count of the caller's that only grows."""

    __slots__ = ("_floor", "_last", "revision")

    def __init__(self) -> None:
        self.revision = 0
        self._last: deque[tuple[int, str]] = deque(maxlen=MOST)
        self._floor = 0  # what moved by this revision or before may be forgotten

    def note(self, revision: int, uid: str) -> None:
        """The record was put or dropped."""
        self.revision = revision
        if len(self._last) == MOST:
            self._floor = self._last[0][0]
        self._last.append((revision, uid))

    def note_all(self, revision: int, uids: Collection[str]) -> None:
        """Many records came together."""
        self.revision = revision
        over = len(self._last) + len(uids) - MOST
        if over > 0:
            self._floor = self._last[over - 1][0] if over <= len(self._last) else revision
        self._last.extend(zip(repeat(revision), uids))

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
