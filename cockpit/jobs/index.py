"""Job rows, kept up to date: a delta recomputes only the jobs it touches."""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from cockpit.gangs import pod_group, registry
from cockpit.jobs import batch_job, engine_job, generic, mpijob
from cockpit.jobs.bare_gangs import BareGangs, gang_root
from cockpit.jobs.members import current, is_up
from cockpit.jobs.owner_chain import Root, climb, from_ref, is_part, of_object, of_pod, owner_record
from cockpit.jobs.owner_tree import OwnerTree
from cockpit.jobs.row import QueuePosition
from cockpit.model.event import Event
from cockpit.model.gang import PodGroup, QueuePlace, Workload
from cockpit.model.job import GANG, Job, JobObject, JobState, OwnerObject
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.store.delta import Delta
from cockpit.store.multimap import Multimap

_TABLES = {"MPIJob": Kind.MPIJOB, "Job": Kind.JOB}
_MOST_MOVES = 4_096
"""Keys of rows that moved lately, of several updates together: who is further behind looks at all rows."""


_MOST_OWED = 32
"""Rows that are made again in one update because a line or a queue moved, beside those that moved."""
_MOST_CHECKED = 512


class _Owed(NamedTuple):
    """Keys of rows in line that may have moved: all of these, those that follow others, those with another
    place."""

    all: dict[str, None]
    followers: dict[str, None]
    places: dict[str, None]


class _Places(Mapping[str, QueuePosition]):
    """Places in line by the uid of a Workload or PodGroup: as the engine has it, else an estimate."""

    def __init__(self, store: StoreReader, groups: Mapping[str, QueuePosition]) -> None:
        self._store, self._groups = store, groups

    def __getitem__(self, uid: str) -> QueuePosition:
        estimate = registry.place_in_line(self._store, uid)
        if estimate is None:
            return self._groups[uid]
        told: QueuePlace | None = self._store.get(Kind.PLACE, uid)
        return QueuePosition(estimate) if told is None else QueuePosition(told.position, True)

    def __iter__(self) -> Iterator[str]:
        return iter(self._groups)

    def __len__(self) -> int:
        return len(self._groups)


class JobIndex:
    """All jobs of a store by key. `update` is called with every delta; `touched` names what the last one
    recomputed, added or took away."""

    def __init__(self, store: StoreReader, take_delta: Callable[[], Delta] | None = None) -> None:
        self._store = store
        self._take_delta = take_delta
        self.behind = 0  # objects that came since the rows were brought up to the store
        self._jobs: dict[str, Job] = {}
        self._roots: dict[str, Root] = {}
        self._key_of: dict[str, str] = {}  # root, pod or workload uid -> key of the row it is part of
        self._parts: dict[str, tuple[str, ...]] = {}  # key -> uids that point to it
        self._tree = OwnerTree(store)
        self._bare = BareGangs(store)
        self._node_ready: dict[str, str] = {}
        self._largest_node_gpus = 0
        self._in_line: set[str] = set()  # uids of Workloads without quota
        self._growing: set[str] = set()  # of those that are to replace one that runs
        self._queued: dict[str, None] = {}  # keys of rows in line
        self._owed = _Owed({}, {}, {})
        self._gang_rows = Multimap()  # "namespace/name" of a pod group -> keys of rows whose pods name it
        self._gangs_of: dict[str, tuple[str, ...]] = {}
        self._group_keys: dict[str, str] = {}  # uid of a PodGroup -> "namespace/name"
        self._group_places: dict[str, QueuePosition] = {}
        self._places = _Places(store, self._group_places)
        self._strays: dict[str, None] = {}  # uids of pods that are part of no row, and not up
        self.touched: frozenset[str] = frozenset()
        self._number = 0  # of updates
        self._moves: deque[tuple[int, frozenset[str]]] = deque()  # the last updates, by their number
        self._moved_keys = 0

    @property
    def jobs(self) -> Mapping[str, Job]:
        return self._jobs

    def job(self, key: str) -> Job | None:
        return self._jobs.get(key)

    def members(self, key: str) -> tuple[Pod, ...]:
        """The current pods of a job: the launcher first, then by rank."""
        job = self._jobs.get(key)
        if job is None:
            return ()
        pods = (self._store.get(Kind.POD, uid) for uid in job.pod_uids)
        return tuple(pod for pod in pods if pod is not None)

    def job_of_pod(self, pod: Pod) -> Job | None:
        """The job that the pod is a member of, None where it is part of no row."""
        key = self._key_of.get(pod.uid) or of_pod(self._store, pod).key
        return self._jobs.get(key)

    def strays(self) -> list[Pod]:
        """Pods that are part of no job and do not run as they should."""
        gone = [uid for uid in self._strays if uid in self._key_of or self._store.get(Kind.POD, uid) is None]
        for uid in gone:
            del self._strays[uid]
        table = self._store.records(Kind.POD)
        return [table[uid] for uid in self._strays if not table[uid].is_placeholder]

    def moved_since(self, number: int) -> tuple[int, Collection[str] | None]:
        """See `JobReader.moved_since`."""
        if number < self._number - len(self._moves):
            return self._number, None
        keys = dict.fromkeys(key for at, some in self._moves if at > number for key in some)
        return self._number, keys

    # ---- keeping up

    def catch_up(self, *, is_whole: bool = True) -> None:
        """Bring the rows up to the store, by what it says has moved since the last time."""
        self.behind = 0
        if self._take_delta is not None:
            self.update(self._take_delta(), is_whole=is_whole)

    def update(self, delta: Delta, *, is_whole: bool = False) -> None:
        """Recompute the rows that the delta touches. The first call after a load sees everything. Unless
        `is_whole` long lines move up with the calls that follow (`is_behind`)."""
        touched: dict[str, Root] = {}
        objects = registry.controller_tables()
        gone = (uid for kind in (Kind.POD, Kind.WORKLOAD, *objects) for uid in delta.removed.get(kind, ()))
        for uid in gone:
            self._touch_key(touched, self._key_of.get(uid, ""))
            self._touch_gang(touched, self._bare.leave(uid))
        owning = self._tree.owning_pods.intersection(delta.removed.get(Kind.POD, ()))
        for uid in (*owning, *(uid for kind in objects for uid in delta.removed.get(kind, ()))):
            self._drop_owner(touched, uid)
        for kind in objects:
            for uid in delta.changed.get(kind, ()):
                self._touch_object(touched, kind, uid)
        self._touch_pods(touched, delta.changed.get(Kind.POD, ()))
        for uid in delta.changed.get(Kind.WORKLOAD, ()):
            self._touch_workload(touched, uid)
        self._touch_by_groups(touched, delta)
        self._touch_by_events(touched, delta)
        self._touch_by_nodes(touched, delta)
        self._move_line(touched, delta)
        self._touch_owed(touched, is_whole=is_whole)
        for key, root in touched.items():
            self._recompute(key, root)
        self.touched = frozenset(touched)
        self._note_moves()

    def _note_moves(self) -> None:
        self._number += 1
        self._moves.append((self._number, self.touched))
        self._moved_keys += 1 + len(self.touched)
        while self._moved_keys > _MOST_MOVES:
            self._moved_keys -= 1 + len(self._moves.popleft()[1])

    def _touch_key(self, touched: dict[str, Root], key: str) -> None:
        root = self._roots.get(key)
        if root is not None:
            touched.setdefault(key, root)

    def _touch_root(self, touched: dict[str, Root], root: Root) -> None:
        """A newer object with the same name takes the row over, even while pods of the old one linger."""
        held = self._roots.get(root.key)
        if held is not None and held.uid != root.uid and self._is_newer(held, root):
            root = held
        table = _TABLES.get(root.kind)
        if (own := registry.own_job(root.api_version, root.kind)) is not None:
            table = own.table
        if table is not None:
            record: JobObject | None = self._store.by_key(table, f"{root.namespace}/{root.name}")
            if record is not None and record.uid != root.uid:
                root = of_object(record)
        touched[root.key] = root

    def _is_newer(self, held: Root, root: Root) -> bool:
        """Of kinds without a table of their own: the object of the row is there, the other one is not."""
        others = self._store.records(Kind.OTHER_JOB)
        return held.uid in others and root.uid not in others

    def _touch_object(self, touched: dict[str, Root], kind: str, uid: str) -> None:
        record: JobObject | OwnerObject | None = self._store.get(kind, uid)
        if record is None:
            return
        is_moved = self._tree.link(uid, record.kind, record.owner)
        self._touch_key(touched, self._key_of.get(uid, ""))
        self._touch_root(touched, climb(self._store, of_object(record)))
        if record.owner is not None:
            if record.owner.kind == "Pod":
                self._touch_owning_pod(touched, record.owner.uid)
            if is_moved:
                self._touch_record(touched, record.owner.uid)
        if is_moved or kind == Kind.OWNER:
            self._touch_below(touched, uid)

    def _touch_record(self, touched: dict[str, Root], uid: str) -> None:
        """The row that an object would be: not while a job that it started is there."""
        record = owner_record(self._store, uid)
        if record is not None:
            self._touch_root(touched, of_object(record))

    def _touch_owning_pod(self, touched: dict[str, Root], uid: str) -> None:
        """A pod that owns others: its own owner is theirs as well, once it is there."""
        if self._tree.link_pod(uid):
            self._touch_below(touched, uid)

    def _drop_owner(self, touched: dict[str, Root], uid: str) -> None:
        """An object that owned others is gone: rows above it ask for less, rows below it stand alone."""
        owner = self._tree.owner_of(uid)
        for above in self._tree.above(uid):
            self._touch_key(touched, self._key_of.get(above, ""))
        self._tree.unlink(uid)
        self._touch_record(touched, owner)
        self._touch_below(touched, uid)

    def _touch_below(self, touched: dict[str, Root], uid: str) -> None:
        """Rows that stood for something below an owner whose own chain became known or broke."""
        climbed: set[tuple[str, str, bool]] = set()
        for child in (uid, *self._tree.below(uid)):
            if child != uid and (record := owner_record(self._store, child)) is not None:
                self._touch_root(touched, climb(self._store, of_object(record)))
            self._touch_key(touched, self._key_of.get(child, ""))
            for pod in self._store.pods_of(child):
                self._touch_key(touched, self._key_of.get(pod.uid, ""))
                self._touch_new_pod(touched, pod, climbed)

    def _touch_pods(self, touched: dict[str, Root], uids: Iterable[str]) -> None:
        """The rows of pods that moved: a pod's owner never changes, so one that is part of a row stays it."""
        table: Mapping[str, Pod] = self._store.records(Kind.POD)
        climbed: set[tuple[str, str, bool]] = set()
        key_of = self._key_of
        last: tuple[str, bool] | None = (
            None  # siblings stand together in a list: most are settled by a look at the last one
        )
        owning = self._tree.owning_pods
        for uid in uids:
            if uid in owning:
                self._touch_owning_pod(touched, uid)
            key = key_of.get(uid)
            if key is not None:
                self._touch_key(touched, key)
                continue
            pod = table[uid]
            if pod.phase == "Pending" or not (is_up(pod) or pod.is_finished):
                self._strays[uid] = None
            else:
                self._strays.pop(uid, None)
            if pod.owner_kind == "Pod":
                self._touch_owning_pod(touched, pod.owner_uid)
            elif not pod.owner_uid and (gang := registry.group_of_pod(pod)):
                self._touch_gang(touched, self._bare.join(pod, gang))
            sibling = (pod.owner_uid, bool(pod.gpus) or pod.asks_for_gpus)
            if sibling != last:
                last = sibling if pod.owner_uid and is_part("Pod", pod.owner_kind) else None
                self._touch_new_pod(touched, pod, climbed)

    def _touch_gang(self, touched: dict[str, Root], gang: str) -> None:
        """The row of bare pods that name a group, "namespace/name": one for all, or for each its own."""
        if not gang:
            return
        if self._bare.has_turned(gang):
            for pod in self._bare.members(gang):
                self._touch_root(touched, of_pod(self._store, pod))
        root = gang_root(gang)
        touched[root.key] = root

    def _touch_new_pod(self, touched: dict[str, Root], pod: Pod, climbed: set[tuple[str, str, bool]]) -> None:
        """The row of a pod; siblings of one, whose owners are in `climbed`, have the same."""
        asks = pod.asks_for_gpus
        if not asks and not pod.owner_uid:
            return
        if pod.owner_uid and is_part("Pod", pod.owner_kind):
            siblings = (pod.owner_uid, pod.namespace, asks)
            if siblings in climbed:
                return
            climbed.add(siblings)
        root = of_pod(self._store, pod)
        if asks or root.uid in self._key_of:
            self._touch_root(touched, root)

    def _touch_workload(self, touched: dict[str, Root], uid: str) -> None:
        workload: Workload | None = self._store.get(Kind.WORKLOAD, uid)
        if workload is None:
            return
        self._touch_key(touched, self._key_of.get(uid, ""))
        if workload.owner is None:  # of a group of pods, which all own it
            if self._bare.members(workload.key):
                self._touch_gang(touched, workload.key)
            return
        self._touch_root(touched, climb(self._store, from_ref(workload.owner, workload.namespace)))

    def _touch_by_groups(self, touched: dict[str, Root], delta: Delta) -> None:
        """Rows whose pods name a group that moved, and those whose place in its line is another now."""
        if not delta.touches(Kind.POD_GROUP):
            return
        for uid in (*delta.changed.get(Kind.POD_GROUP, ()), *delta.removed.get(Kind.POD_GROUP, ())):
            group: PodGroup | None = self._store.get(Kind.POD_GROUP, uid)
            if group is not None:
                self._group_keys[uid] = group.key
            if self._bare.members(key := self._group_keys.get(uid, "")):
                self._touch_gang(touched, key)
            for key in self._gang_rows.get(self._group_keys.get(uid, "")):
                self._touch_key(touched, key)
            if group is None:
                self._group_keys.pop(uid, None)
        found = pod_group.estimate_positions(self._store, self._group_keys.values())
        places = {uid: QueuePosition(number) for uid, number in found.items()}
        for uid in places.keys() | self._group_places.keys():
            if places.get(uid) != self._group_places.get(uid):
                for key in self._gang_rows.get(self._group_keys.get(uid, "")):
                    self._touch_key(touched, key)
        self._group_places.clear()
        self._group_places.update(places)

    def _touch_by_events(self, touched: dict[str, Root], delta: Delta) -> None:
        for uid in delta.changed.get(Kind.EVENT, ()):
            event: Event | None = self._store.get(Kind.EVENT, uid)
            if event is not None and event.type == "Warning":
                self._touch_key(touched, self._key_of.get(event.object_uid, ""))

    def _touch_by_nodes(self, touched: dict[str, Root], delta: Delta) -> None:
        if not delta.touches(Kind.NODE):
            return
        largest = self._store.largest_node_gpus()
        if largest != self._largest_node_gpus:  # a reason may be "no node has more than N"
            self._largest_node_gpus = largest
            for key, job in self._jobs.items():
                if job.state == JobState.PENDING:
                    self._touch_key(touched, key)
        for uid in delta.removed.get(Kind.NODE, ()):
            self._node_ready.pop(uid, None)
        for uid in delta.changed.get(Kind.NODE, ()):
            node: Node | None = self._store.get(Kind.NODE, uid)
            if node is None or self._node_ready.get(uid) == node.ready:
                continue
            self._node_ready[uid] = node.ready
            for pod in self._store.pods_on(node.name):
                self._touch_key(touched, self._key_of.get(pod.uid, ""))

    def _move_line(self, touched: dict[str, Root], delta: Delta) -> None:
        """Rows in line whose place or reason may be another now, because the line or a queue moved."""
        has_line_moved = has_leader_moved = False
        for uid in delta.removed.get(Kind.WORKLOAD, ()):
            has_leader_moved |= uid in self._in_line
            self._in_line.discard(uid)
            self._growing.discard(uid)
        for uid in delta.changed.get(Kind.WORKLOAD, ()):
            workload: Workload | None = self._store.get(Kind.WORKLOAD, uid)
            is_waiting = workload is not None and registry.admits_of(workload).is_in_line(workload)
            was_waiting = uid in self._in_line
            self._in_line.discard(uid)
            has_line_moved |= is_waiting or was_waiting
            has_leader_moved |= was_waiting or (is_waiting and not self._follows_others(workload))
            self._growing.discard(uid)
            if is_waiting and workload is not None:
                self._in_line.add(uid)
                if workload.replaces:  # what runs and waits to grow is not queued
                    self._growing.add(uid)
        if has_line_moved or has_leader_moved or delta.touches(Kind.PLACE):
            self._owed.places.update(self._queued)
        if has_leader_moved:
            self._owed.followers.update(self._queued)
        if delta.touches(*registry.queue_tables()):
            self._owed.all.update(self._queued)
            for uid in self._growing:
                self._touch_workload(touched, uid)

    def _touch_owed(self, touched: dict[str, Root], *, is_whole: bool) -> None:
        """Some of the rows in line at a time: behind the head of a long line thousands move up."""
        owed, left = self._owed, len(self._jobs)
        checks, most = (_MOST_CHECKED, len(touched) + _MOST_OWED) if not is_whole else (3 * left, 2 * left)
        for keys, has_moved in (
            (owed.all, lambda _job: True),
            (owed.followers, self._follows),
            (owed.places, self._has_moved),
        ):
            while keys and checks and len(touched) < most:
                checks -= 1
                key, _ = keys.popitem()
                job = self._jobs.get(key)
                if job is not None and job.state == JobState.QUEUED and has_moved(job):
                    self._touch_key(touched, key)

    @property
    def is_behind(self) -> bool:
        """Whether rows in line have yet to be looked at, with the next update."""
        return any(self._owed)

    def _follows(self, job: Job) -> bool:
        return self._follows_others(self._store.get(Kind.WORKLOAD, job.workload_uid))

    def _follows_others(self, workload: Workload | None) -> bool:
        if workload is None:
            return False
        line = registry.engine_of_workload(workload).line
        return line is not None and line.follows_others(workload, self._store)

    def _has_moved(self, job: Job) -> bool:
        place = self._places.get(job.workload_uid)
        shown = None if job.position is None else QueuePosition(job.position, not job.is_position_estimate)
        return bool(job.workload_uid) and place != shown

    # ---- one row

    def _recompute(self, key: str, root: Root) -> None:
        pods = self._pods_of(root)
        job = self._row(root, pods)
        former = self._roots.get(key)
        if job is None and former is not None and former != root:
            root, pods = former, self._pods_of(former)  # the newcomer is no row: does the old one stand?
            job = self._row(root, pods)
        for uid in self._parts.pop(key, ()):
            if self._key_of.get(uid) == key:
                del self._key_of[uid]
        self._enter_gangs(key, *((root, pods) if job is not None else (None, ())))
        if job is None or job.state != JobState.QUEUED:
            self._queued.pop(key, None)
        else:
            self._queued[key] = None
        if job is None:
            self._jobs.pop(key, None)
            self._roots.pop(key, None)
            return
        self._jobs[key] = job
        self._roots[key] = root
        parts = (root.uid, *(pod.uid for pod in pods), *((job.workload_uid,) if job.workload_uid else ()))
        self._parts[key] = parts
        for uid in parts:
            self._key_of[uid] = key

    def _pods_of(self, root: Root) -> list[Pod]:
        if root.kind != GANG:
            return self._tree.pods_below(root)
        members = self._bare.members(f"{root.namespace}/{root.name}")
        return [pod for member in members for pod in self._tree.pods_below(of_pod(self._store, member))]

    def _enter_gangs(self, key: str, root: Root | None, pods: Iterable[Pod]) -> None:
        """Which groups move the row: those that its pods name, and what an engine makes before them."""
        named = {f"{pod.namespace}/{name}" for pod, name in registry.groups_named(pods)}
        if root is not None and (own := registry.own_job(root.api_version, root.kind)) is not None:
            named.update(pod_group.group_keys(own, root.namespace, root.name, root.uid))
        gangs = tuple(sorted(named))
        former = self._gangs_of.pop(key, ())
        if gangs:
            self._gangs_of[key] = gangs
        if gangs == former:
            return
        for gang in former:
            self._gang_rows.discard(gang, key)
        for gang in gangs:
            self._gang_rows.add(gang, key)

    def _row(self, root: Root, pods: list[Pod]) -> Job | None:
        """The row, None where the object is gone, asks for no GPU, or belongs to a job above it;
        placeholders of ours are no job."""
        store = self._store
        places = self._places
        if climb(store, root) != root or any(pod.is_placeholder for pod in pods[:1]):
            return None
        if not self._bare.is_row(root):
            return None
        if root.kind == "MPIJob":
            mpi: JobObject | None = store.get(Kind.MPIJOB, root.uid)
            if mpi is not None:
                return mpijob.row(mpi, root, current(pods), store, places)
        elif (own := registry.own_job(root.api_version, root.kind)) is not None:
            object_: JobObject | None = store.get(own.table, root.uid)
            if object_ is not None:
                if not engine_job.is_row(object_, pods, store):
                    return None
                return engine_job.row(object_, root, current(pods), store, places, own=own)
        elif root.kind == "Job":
            batch: JobObject | None = store.get(Kind.JOB, root.uid)
            if batch is not None:
                if not batch_job.is_row(batch, pods, store):
                    return None
                return batch_job.row(batch, root, current(pods), store, places)
        return generic.row(root, pods, store, places, self._tree)
