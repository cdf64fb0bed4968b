"""Rows of *Now* by their root: how many there are, the one that tells of all, and since when it is so.

A row that comes, changes or goes costs the same however many stand beside it; what a group tells is made
again only where it changed.
"""

import heapq
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec
from msgspec import structs

from cockpit.gangs.sentence import SENTENCE_LIMIT, counted, one_line
from cockpit.model.finding import Finding
from cockpit.triage.roots import Membership, Root

_SPARE = 64
"""Entries of a heap that may be out of date before it is made again, beside as many as there are rows."""

_VERSIONS: Final = itertools.count(1)


class _Row(msgspec.Struct, gc=False, eq=False):
    group: "_Group"
    since_seconds: float | None
    gpus: int
    is_bad: bool
    is_job: bool


class _Group:
    """Rows of one root. The heaps hold (since, key); an entry is out of date where the row says otherwise."""

    def __init__(self, root: Root) -> None:
        self.root = root
        self.count = self.jobs = self.bad = self.gpus = 0
        self.version = 0  # no other group has the same
        self.own: set[str] = set()  # keys of the rows that are about the root itself
        self.dated: list[tuple[float, str]] = []
        self.undated: list[tuple[float, str]] = []
        self.front: tuple[str, Finding] | None = None
        self.row: tuple[tuple[int, ...], Finding] | None = None

    def weigh(self, row: _Row, sign: int) -> None:
        """Add the row to the sums, or with `sign` -1 take it from them."""
        self.count += sign
        self.jobs += sign * row.is_job
        self.bad += sign * row.is_bad
        self.gpus += sign * row.gpus
        self.version = next(_VERSIONS)


class RootGroups:
    """Every row in the group of its root. `refresh` judges a row once more, by its key, and puts or drops it:
    the finding is kept of those alone that tell of a group."""

    def __init__(self, refresh: Callable[[str], None]) -> None:
        self._refresh = refresh
        self._rows: dict[str, _Row] = {}
        self._groups: dict[Root, _Group] = {}
        self._job_kinds: dict[str, None] = {}  # what keys of jobs begin with

    def put(
        self, key: str, member: Membership, found: Finding | None = None, *, is_job: bool = False
    ) -> None:
        """Enter a row, or what it is now. Without `found` the row is not about the root itself."""
        if is_job:
            self._job_kinds.setdefault(key.partition("/")[0])
        row = self._rows.get(key)
        if row is None or row.group.root != member.root or row.since_seconds != member.since_seconds:
            self.drop(key)
            row = None
        elif (row.gpus, row.is_bad) != (member.gpus, member.is_bad):
            row.group.weigh(row, -1)
            row.gpus, row.is_bad = member.gpus, member.is_bad
            row.group.weigh(row, 1)
        if row is None:
            row = self._enter(key, member, is_job=is_job)
            if found is not None and found.subject == member.root[0]:
                row.group.own.add(key)
        self._hear(row.group, key, found)

    def _enter(self, key: str, member: Membership, *, is_job: bool) -> _Row:
        group = self._groups.get(member.root)
        if group is None:
            group = self._groups[member.root] = _Group(member.root)
        row = self._rows[key] = _Row(group, member.since_seconds, member.gpus, member.is_bad, is_job)
        group.weigh(row, 1)
        heap = group.undated if row.since_seconds is None else group.dated
        heapq.heappush(heap, (row.since_seconds or 0.0, key))
        if len(heap) > 2 * group.count + _SPARE:
            heap[:] = sorted({entry for entry in heap if self._stands(group, entry)})
        return row

    def _hear(self, group: _Group, key: str, found: Finding | None) -> None:
        """What the row says now, where it tells of its group."""
        if self._first(group) != key:
            return
        before = group.front
        if before is None or before[0] != key or before[1] != found:
            group.front = None if found is None else (key, found)
            group.version = next(_VERSIONS)

    def drop(self, key: str) -> None:
        """The row is gone."""
        row = self._rows.pop(key, None)
        if row is None:
            return
        group = row.group
        group.weigh(row, -1)
        group.own.discard(key)
        if group.front is not None and group.front[0] == key:
            group.front = None
        if not group.count:
            del self._groups[group.root]

    def root_of(self, key: str) -> Root | None:
        """The root of a row; None where there is no such row."""
        row = self._rows.get(key)
        return None if row is None else row.group.root

    def named(self, kind: str) -> frozenset[str]:
        """Names of the objects of a kind that other rows rest on."""
        return frozenset(
            root[0].name
            for root, group in self._groups.items()
            if root[0].kind == kind and group.count > len(group.own)
        )

    def fronts(self) -> list[str]:
        """Keys of the rows that tell of their groups."""
        return [self._first(group) for group in self._groups.values()]

    def told(self) -> Iterator[Finding]:
        """One row for each root, with how many jobs wait or broke because of it."""
        for group in list(self._groups.values()):
            while group.count and (group.front is None or group.front[0] != self._first(group)):
                self._refresh(self._first(group))
        together: dict[Root, list[_Group]] = {}
        for root, group in self._groups.items():
            together.setdefault(root if group.own else self._last(root), []).append(group)
        for root, groups in together.items():
            group = self._groups[root]
            versions = tuple(one.version for one in groups)
            if group.row is None or group.row[0] != versions:
                group.row = (versions, self._tell(group, groups))
            yield group.row[1]

    # ---- which groups are told together

    def _last(self, root: Root) -> Root:
        """What stands behind a job shares what that one waits for."""
        seen = [root]
        while (further := self._behind(seen[-1])) is not None:
            if further in seen:  # each waits for the other
                return min(seen[seen.index(further) :])
            seen.append(further)
        return seen[-1]

    def _behind(self, root: Root) -> Root | None:
        subject = root[0]
        keys = [subject.key]
        if subject.kind == "job":
            keys = [f"{kind}/{subject.namespace}/{subject.name}" for kind in self._job_kinds]
        roots = [row.group.root for key in keys if (row := self._rows.get(key)) is not None]
        return min((one for one in roots if one[0] != subject), default=None)

    # ---- the row that tells

    def _stands(self, group: _Group, entry: tuple[float, str]) -> bool:
        row = self._rows.get(entry[1])
        return row is not None and row.group is group and (row.since_seconds or 0.0) == entry[0]

    def _top(self, group: _Group, heap: list[tuple[float, str]]) -> tuple[float, str] | None:
        while heap and not self._stands(group, heap[0]):
            heapq.heappop(heap)
        return heap[0] if heap else None

    def _oldest(self, group: _Group) -> tuple[float, str] | None:
        both = (self._top(group, group.undated), self._top(group, group.dated))
        return min((one for one in both if one is not None), default=None)

    def _first(self, group: _Group) -> str:
        """Key of the row that tells of the group: one about the root itself, else the oldest."""
        if group.own:
            return min((self._rows[key].since_seconds or 0.0, key) for key in group.own)[1]
        oldest = self._oldest(group)
        return "" if oldest is None else oldest[1]

    def _tell(self, group: _Group, groups: Sequence[_Group]) -> Finding:
        """The trouble of the root itself goes before what comes of it; of several jobs the oldest stands for
        all, for the row is not to jump from one to another."""
        is_itself = bool(group.own)
        told = [one.front for one in ([group] if is_itself else groups) if one.front is not None]
        key, first = min(told, key=lambda one: (self._rows[one[0]].since_seconds or 0.0, one[0]))
        if not is_itself:  # what several share is not mended at one of them
            first = structs.replace(first, remedies=tuple(one for one in first.remedies if not one.is_write))
        if sum(one.count for one in groups) == 1:
            return first
        count = sum(one.jobs for one in groups) - self._rows[key].is_job
        tail = _tail(group.root[0].kind, count, is_itself=is_itself)
        gpus = sum(one.gpus for one in groups)
        ages = [top[0] for one in groups if (top := self._top(one, one.dated)) is not None]
        return structs.replace(
            first,
            sentence=one_line(first.sentence, SENTENCE_LIMIT - len(tail)) + tail,
            is_bad=any(one.bad for one in groups),
            gpus=max(first.gpus, gpus - self._rows[key].gpus) if is_itself else gpus,
            since_seconds=first.since_seconds if is_itself else min(ages, default=None),
            others=count,
        )


def _tail(kind: str, count: int, *, is_itself: bool) -> str:
    if not count:
        return ""
    if kind == "node" and is_itself:
        return f"; {counted(count, 'job')} on it"
    return f"; {counted(count, 'job waits', 'jobs wait')} for it" if is_itself else f"; {count} more"
