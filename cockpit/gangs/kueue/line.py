"""Who stands before whom: the line of each ClusterQueue, its head, and who is alike.

Since 0.18 Kueue evaluates one of several workloads that are alike and says nothing of the others; with
StrictFIFO only the head is evaluated. What holds those can be read from the one that was.
Sources: kueue pkg/cache/queue/cluster_queue.go, pkg/controller/core/workload_controller.go.
"""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from weakref import WeakKeyDictionary

from cockpit.gangs.kueue import standing, texts
from cockpit.model.gang import LocalQueue, Workload
from cockpit.model.record import Kind, condition
from cockpit.model.store_reader import StoreReader

_Order = tuple[int, float, str]
_Likeness = tuple[str, int, int]
"""ClusterQueue, shape and priority."""
_Line = list[tuple[_Order, str]]


class _Entry(NamedTuple):
    """One workload as it was put: whether its LocalQueue says which ClusterQueue that is; its ClusterQueue
    and place in line, None for one that is not in line; whom it stands for, None where Kueue has yet to judge
    it."""

    local: str
    is_led: bool
    place: tuple[str, _Order] | None
    likeness: _Likeness | None
    waits_for_pods: bool


class Lines:
    """The lines of one store, brought up to date by the workloads and queues that moved."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self.revision = -1
        self.evicted: dict[str, None] = {}  # uids of workloads that were evicted
        self.late: dict[str, None] = {}  # uids of those that were admitted and whose pods are not ready
        self._entries: dict[str, _Entry] = {}
        self._leads: dict[str, tuple[str, str]] = {}  # uid of a LocalQueue to its key and ClusterQueue
        self._by_local: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._lines: defaultdict[str, _Line] = defaultdict(list)
        self._evaluated: defaultdict[_Likeness, _Line] = defaultdict(list)
        self._waiting_for_pods: dict[str, None] = {}

    def head(self, cluster_queue: str) -> str:
        """Uid of the workload that is next, "" where none is known."""
        line = self._lines.get(cluster_queue) if cluster_queue else None
        return line[0][1] if line else ""

    def evaluated(self, likeness: _Likeness) -> str:
        """Uid of the first of those alike that Kueue judged, "" without one."""
        some = self._evaluated.get(likeness)
        return some[0][1] if some else ""

    def place(self, uid: str) -> int | None:
        """Place in its line, 1 is next: an estimate. None for one that is in none."""
        entry = self._entries.get(uid)
        if entry is None or entry.place is None or not entry.place[0]:
            return None
        queue, order = entry.place
        return bisect_left(self._lines[queue], (order, uid)) + 1

    def line(self, cluster_queue: str) -> Iterator[str]:
        """Uids of those in line, in their order."""
        return (uid for _, uid in self._lines.get(cluster_queue, ()))

    @property
    def waits_for_pods(self) -> bool:
        """Whether Kueue holds one until the pods of another are ready."""
        return bool(self._waiting_for_pods)

    def follow(self, store: StoreReader) -> None:
        """Take in what moved since the last time."""
        seen, self.revision = self.revision, store.revision
        moved = store.moved_since(Kind.WORKLOAD, seen)
        moved_queues = store.moved_since(Kind.LOCAL_QUEUE, seen)
        if moved is None or moved_queues is None:
            self._begin()
            self.revision = store.revision
            moved, moved_queues = store.records(Kind.WORKLOAD).keys(), store.records(Kind.LOCAL_QUEUE).keys()
        for uid in moved:
            self._put(uid, store.get(Kind.WORKLOAD, uid), store)
        for uid in moved_queues:
            self._lead(uid, store.get(Kind.LOCAL_QUEUE, uid), store)

    def _lead(self, uid: str, queue: LocalQueue | None, store: StoreReader) -> None:
        """A LocalQueue leads elsewhere now: so do its workloads, all together."""
        before = self._leads.pop(uid, None)
        now = None if queue is None else (queue.key, queue.cluster_queue)
        if now is not None:
            self._leads[uid] = now
        if before == now:
            return
        for local in dict.fromkeys(pair[0] for pair in (before, now) if pair):
            self._move(local, standing.cluster_queue_of(store, *local.split("/", 1)))

    def _move(self, local: str, queue: str) -> None:
        """Those of a LocalQueue that are in line go to the line of that ClusterQueue, in the same order."""
        lines: defaultdict[str, dict[str, _Order]] = defaultdict(dict)
        evaluated: defaultdict[_Likeness, dict[str, _Order]] = defaultdict(dict)
        for uid in self._by_local.get(local, ()):
            entry = self._entries[uid]
            if not entry.is_led or entry.place is None or entry.place[0] == queue:
                continue
            before, order = entry.place
            lines[before][uid] = order
            likeness = entry.likeness
            if likeness is not None:
                evaluated[likeness][uid] = order
                likeness = (queue, *likeness[1:])
            self._entries[uid] = entry._replace(place=(queue, order), likeness=likeness)
        for name, going in lines.items():
            self._lines[name] = _without(self._lines[name], going)
            _join(self._lines[queue], going)
        for likeness, going in evaluated.items():
            self._evaluated[likeness] = _without(self._evaluated[likeness], going)
            _join(self._evaluated[queue, likeness[1], likeness[2]], going)

    def _put(self, uid: str, workload: Workload | None, store: StoreReader) -> None:
        self._drop(uid)
        if workload is None:
            return
        entry = _entry(workload, store)
        self._entries[uid] = entry
        self._by_local[entry.local][uid] = None
        if standing.is_true(workload, "Evicted"):
            self.evicted[uid] = None
        if standing.is_true(workload, "Admitted") and not standing.is_true(workload, "PodsReady"):
            self.late[uid] = None
        if entry.place is None:
            return
        queue, order = entry.place
        insort(self._lines[queue], (order, uid))
        if entry.likeness is not None:
            insort(self._evaluated[entry.likeness], (order, uid))
        if entry.waits_for_pods:
            self._waiting_for_pods[uid] = None

    def _drop(self, uid: str) -> None:
        entry = self._entries.pop(uid, None)
        if entry is None:
            return
        self._by_local[entry.local].pop(uid, None)
        self.evicted.pop(uid, None)
        self.late.pop(uid, None)
        self._waiting_for_pods.pop(uid, None)
        if entry.place is None:
            return
        queue, order = entry.place
        lines = [self._lines[queue]]
        if entry.likeness is not None:
            lines.append(self._evaluated[entry.likeness])
        for line in lines:
            del line[bisect_left(line, (order, uid))]


def _without(line: _Line, going: Mapping[str, _Order]) -> _Line:
    return [pair for pair in line if pair[1] not in going]


def _join(line: _Line, coming: Mapping[str, _Order]) -> None:
    line.extend((order, uid) for uid, order in coming.items())
    line.sort()


def _entry(workload: Workload, store: StoreReader) -> _Entry:
    local, is_led = f"{workload.namespace}/{workload.queue}", not workload.cluster_queue
    if not standing.is_in_line(workload):
        return _Entry(local, is_led, None, None, waits_for_pods=False)
    queue = standing.cluster_queue_name(workload, store)
    place = queue, standing.queue_order(workload)
    if is_unheard(workload):
        return _Entry(local, is_led, place, None, waits_for_pods=False)
    reserved = condition(workload.conditions, "QuotaReserved")
    waits = reserved is not None and texts.is_about_pods_ready(reserved.reason, reserved.message)
    return _Entry(local, is_led, place, _likeness(workload, queue), waits)


_LINES: WeakKeyDictionary[StoreReader, Lines] = WeakKeyDictionary()


def lines_of(store: StoreReader) -> Lines:
    """The lines as they stand now."""
    lines = _LINES.get(store)
    if lines is None:
        lines = _LINES[store] = Lines()
    if lines.revision != store.revision:
        lines.follow(store)
    return lines


def place_of(store: StoreReader, uid: str) -> int | None:
    """Place of a workload in its line, 1 is next: an estimate. None for one that is in none."""
    return lines_of(store).place(uid)


def _likeness(workload: Workload, queue: str) -> _Likeness:
    return queue, workload.shape, workload.priority


def is_unheard(workload: Workload) -> bool:
    """True where Kueue has told nothing of its own about it: no condition, or that it was passed over."""
    reserved = condition(workload.conditions, "QuotaReserved")
    if reserved is None:
        return True
    return texts.SAYS_NOTHING.search(reserved.message) is not None


def twin_of(workload: Workload, store: StoreReader) -> Workload | None:
    """One that asks for the same in the same queue and of which Kueue has said why it waits."""
    if not workload.shape:
        return None
    queue = standing.cluster_queue_name(workload, store)
    uid = lines_of(store).evaluated(_likeness(workload, queue))
    return None if uid in ("", workload.uid) else store.get(Kind.WORKLOAD, uid)


def head_before(workload: Workload, store: StoreReader) -> Workload | None:
    """The head of its ClusterQueue, None where it is the head itself or has no queue."""
    uid = lines_of(store).head(standing.cluster_queue_name(workload, store))
    return None if uid in ("", workload.uid) else store.get(Kind.WORKLOAD, uid)
