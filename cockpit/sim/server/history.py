"""The watch log of one resource: its last commits, found by version."""

from bisect import bisect_right
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar


class Versioned(Protocol):
    """Something that happened at a version."""

    @property
    def version(self) -> int: ...


C = TypeVar("C", bound=Versioned)


class History(Generic[C]):
    """At least the last `length` commits (twice that at most); older ones are forgotten."""

    __slots__ = ("_commits", "_floor", "_length", "_versions")

    def __init__(self, length: int, floor: int = 0) -> None:
        self._length = length
        self._floor = floor
        self._commits: list[C] = []
        self._versions: list[int] = []

    @property
    def floor(self) -> int:
        """The oldest version from which everything that followed is known."""
        return self._floor

    def append(self, commit: C) -> None:
        """Add what happened last."""
        self._commits.append(commit)
        self._versions.append(commit.version)
        if len(self._commits) >= 2 * self._length:
            self.compact(self._versions[-self._length - 1])

    def since(self, version: int) -> list[C]:
        """What happened after `version`, oldest first. Raises LookupError when that is forgotten."""
        if version < self._floor:
            raise LookupError(version)
        return self._commits[bisect_right(self._versions, version) :]

    def halve(self, weight: Callable[[C], int]) -> int:
        """Forget the older half by weight; answers the weight of what is left."""
        left = sum(weight(one) for one in self._commits)
        half, end = left / 2, 0
        while left > half and end < len(self._commits):
            left -= weight(self._commits[end])
            end += 1
        if end:
            self.compact(self._versions[end - 1])
        return left

    def compact(self, version: int) -> None:
        """Forget what happened up to and at `version`."""
        end = bisect_right(self._versions, version)
        del self._commits[:end]
        del self._versions[:end]
        self._floor = max(self._floor, version)
