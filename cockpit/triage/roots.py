"""Roots: the object that verdicts share, and the one row of *Now* that tells all of a root."""

import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from cockpit.catalogue import RootFact, RootPlace, row_of
from cockpit.gangs import registry
from cockpit.gangs.draft import joined
from cockpit.gangs.sentence import SENTENCE_LIMIT, counted, one_line
from cockpit.model.finding import Finding, Funnel, Subject
from cockpit.model.gang import ClusterQueue, LocalQueue
from cockpit.model.job_reader import JobReader
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader

_SHARED: Final = frozenset({"pool", "queue", "namespace", "request"})
"""Kinds of objects that have several troubles at a time: they are one root for each cause."""
Root = tuple[Subject, str]
"""An object, and the cause where its kind may have several troubles at a time."""


def with_root(verdict: Finding, store: StoreReader, queue: str = "") -> Finding:
    """The verdict with the object that it rests on, as the catalogue names it. `queue` is that of its job."""
    if verdict.root is not None:
        return verdict
    facts = dict(verdict.facts)
    for column in row_of(verdict.cause).roots:
        if column.place is RootPlace.POOL and not _is_narrowed(verdict.funnel):
            continue  # the best node is of some pool, and any other would do as well
        root = _object(column, facts, verdict.subject.namespace, store, queue)
        if root is not None:
            return verdict if root == verdict.subject else replace(verdict, root=root)
    return verdict


def _is_narrowed(funnel: Funnel | None) -> bool:
    """Whether its selector leaves a part of the nodes alone; so taken where no funnel tells."""
    step = None if funnel is None else next((one for one in funnel.steps if one.filter == "selector"), None)
    return funnel is None or step is None or step.nodes < funnel.nodes


def _object(
    column: RootFact, facts: Mapping[str, str], namespace: str, store: StoreReader, queue: str
) -> Subject | None:
    name, place = facts.get(column.fact, ""), column.place
    if place is RootPlace.QUEUE:
        return _queue(namespace, queue or name, store) if queue or name else None
    if not column.fact:
        return Subject(column.kind, "", namespace)
    if not name:
        return None
    if place is RootPlace.POOL:
        nodes: list[Node | None] = [store.by_key(Kind.NODE, one) for one in name.split(", ")]
        return pool_of(node for node in nodes if node is not None)
    if place is RootPlace.KEY:
        space, _, name = name.rpartition("/")
        return Subject(column.kind, space, name)
    kind = facts.get("kind", "configmap") if column.kind == "{kind}" else column.kind
    return Subject(kind, namespace if place is RootPlace.NAMESPACE else "", name)


def pool_of(nodes: Iterable[Node]) -> Subject | None:
    """The pool that labels tell of these nodes; None where they tell none, or several."""
    pools = {node.pool for node in nodes}
    return Subject("pool", "", *pools) if len(pools) == 1 and "" not in pools else None


def _queue(namespace: str, name: str, store: StoreReader) -> Subject:
    """The ClusterQueue where it is the one that takes nothing."""
    local: LocalQueue | None = store.by_key(Kind.LOCAL_QUEUE, f"{namespace}/{name}")
    if local is None:
        is_wide = store.by_key(Kind.CLUSTER_QUEUE, name) is not None
        return Subject("queue", "" if is_wide else namespace, name)
    behind: ClusterQueue | None = store.by_key(Kind.CLUSTER_QUEUE, local.cluster_queue)
    if behind is not None and _takes_jobs(behind) and not _takes_jobs(local):
        return Subject("queue", namespace, name)
    return Subject("queue", "", local.cluster_queue)


def _takes_jobs(queue: LocalQueue | ClusterQueue) -> bool:
    return registry.queue_state(queue).takes_jobs


class Membership(NamedTuple):
    """Of a row what its root's group has to know of it."""

    root: Root
    since_seconds: float | None
    gpus: int
    is_bad: bool


def membership(row: Finding, store: StoreReader, jobs: JobReader) -> Membership:
    """The row in the group of its root; a pod is told as its job."""
    root = row.root
    if root is None:
        where: Root = (row.subject, "")
    elif (owner := job_of_root(root, store, jobs)) is not None:
        where = (owner, "")
    else:
        where = (root, row.cause if root.kind in _SHARED else "")
    return Membership(where, row.since_seconds, row.gpus, row.is_bad)


def job_of_root(root: Subject, store: StoreReader, jobs: JobReader) -> Subject | None:
    """The job of a root that is a pod; None where it is none, or part of no row."""
    pod: Pod | None = store.by_key(Kind.POD, root.key) if root.kind == "pod" else None
    owner = None if pod is None else jobs.job_of_pod(pod)
    return None if owner is None else Subject("job", owner.namespace, owner.name)


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


_FIRST_ROWS = 4
"""After so many of a group that rest on it no more, the others are taken to do as the last."""


class RootGroups:
    """Every row in the group of its root. `refresh` judges a row once more, by its key, and puts or drops it:
    the finding is kept of those alone that tell of a group. `put_off` takes keys of rows to be judged later,
    and is False where there is time to judge them all."""

    def __init__(self, refresh: Callable[[str], None], put_off: Callable[[Iterable[str]], bool]) -> None:
        self._refresh, self._put_off = refresh, put_off
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
            self._judge_first(group)
        for group in list(self._groups.values()):  # those that rows went along to
            while self._lacks_front(group):
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

    def _lacks_front(self, group: _Group) -> bool:
        return group.count > 0 and (group.front is None or group.front[0] != self._first(group))

    def _judge_first(self, group: _Group) -> None:
        """Judge the first row of the group until one stays in it. Of a queue that is stopped, or a holder
        that ended, thousands leave together: they go along with the first few."""
        key, looks = "", 0
        while self._lacks_front(group):
            if looks >= _FIRST_ROWS and self._put_off(left := self._keys(group)):
                self._go_along(left, self._rows.get(key))
                return
            key, looks = self._first(group), looks + 1
            self._refresh(key)

    def _keys(self, group: _Group) -> list[str]:
        both = (entry for heap in (group.undated, group.dated) for entry in heap)
        return [*dict.fromkeys(entry[1] for entry in both if self._stands(group, entry))]

    def _go_along(self, keys: Iterable[str], leader: _Row | None) -> None:
        for key in keys:
            row = self._rows[key]
            if leader is None:
                self.drop(key)
                continue
            where = Membership(leader.group.root, row.since_seconds, row.gpus, row.is_bad)
            self.put(key, where, is_job=row.is_job)

    def covering(self, key: str) -> str:
        """Key of the finding that tells of the row of that key, also where another row stands for both; ""
        before `told`, and where there is no such row."""
        if (row := self._rows.get(key)) is None:
            return ""
        group = self._groups.get(row.group.root if row.group.own else self._last(row.group.root))
        return "" if group is None or group.row is None else group.row[1].key

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
            first = replace(first, remedies=tuple(one for one in first.remedies if not one.is_write))
        if sum(one.count for one in groups) == 1:
            return first
        count = sum(one.jobs for one in groups) - self._rows[key].is_job
        tail = _tail(group.root[0].kind, count, is_itself=is_itself)
        gpus = sum(one.gpus for one in groups)
        ages = [top[0] for one in groups if (top := self._top(one, one.dated)) is not None]
        return replace(
            first,
            sentence=_with_tail(first, tail),
            is_bad=any(one.bad for one in groups),
            gpus=max(first.gpus, gpus - self._rows[key].gpus) if is_itself else gpus,
            since_seconds=first.since_seconds if is_itself else min(ages, default=None),
            others=count,
        )


def _with_tail(found: Finding, tail: str) -> str:
    """Its sentence and the tail. Of one that ends in what is not known, names are shortened, else the end."""
    if found.unknown:
        return joined(found, "", tail).sentence
    return one_line(found.sentence, SENTENCE_LIMIT - len(tail)) + tail


def _tail(kind: str, count: int, *, is_itself: bool) -> str:
    if not count:
        return ""
    if kind == "node" and is_itself:
        return f"; {counted(count, 'job')} on it"
    return f"; {counted(count, 'job waits', 'jobs wait')} for it" if is_itself else f"; {count} more"
