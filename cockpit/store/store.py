"""The store: one writer, tables by uid, secondary indexes, and the log of what moved."""

import copy
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from cockpit.model.batch import Batch, ListMark, StreamStatus, status_of_several
from cockpit.model.event import Event
from cockpit.model.gang import PodGroup, Workload
from cockpit.model.gpu import Gpu
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind, Record
from cockpit.model.store_reader import DeviceAllocation, DutyMean, Requests, Slowdown, StoreReader
from cockpit.store.claims import Claims
from cockpit.store.delta import Delta, DeltaLog
from cockpit.store.indexes import EventIndex, GpuIndex, NodeIndex, PodIndex, event_age
from cockpit.store.moves import RecordMoves
from cockpit.store.multimap import Multimap

EVENTS_PER_OBJECT = 50
EVENTS_IN_ALL = 20_000

_MANY_RESOURCES = (Kind.OWNER, Kind.POOL, Kind.MACHINE, Kind.POD_GROUP, Kind.OTHER_JOB)
"""Kinds that gather several API resources: a name may occur twice, so a new object replaces none."""

_ONE_BY_ONE = (Kind.GPU, Kind.EVENT, *_MANY_RESOURCES)
"""Kinds whose records have no name of their own, or push others out."""

_EMPTY: Mapping[str, Any] = MappingProxyType({})


def _status_name(kind: str, scope: str) -> str:
    return f"{kind}/{scope}" if scope else kind


class Store:
    """Current truth. Only `apply` changes it; everything else looks.

    `revision` grows by one with every applied batch that changed something shown.
    """

    def __init__(
        self, *, events_per_object: int = EVENTS_PER_OBJECT, events_in_all: int = EVENTS_IN_ALL
    ) -> None:
        self.revision = 0
        self._tables: dict[str, dict[str, Any]] = {}
        self._uids: dict[str, dict[str, str]] = {}  # kind -> key -> uid
        self._scopes: dict[str, dict[str, str]] = {}  # kind -> uid -> scope, only where it is not ""
        self._listing: dict[tuple[str, str], set[str] | None] = {}  # None: there was nothing before it
        self._statuses: dict[str, StreamStatus] = {}
        self._log = DeltaLog()
        self._moves: defaultdict[str, RecordMoves] = defaultdict(RecordMoves)
        self._pods = PodIndex()
        self._read_pods: dict[str, Pod] = {}  # of `with_record`
        self._gpus = GpuIndex()
        self._nodes = NodeIndex()
        self._events = EventIndex(events_per_object, events_in_all)
        self._claims = Claims()
        self._workloads = Multimap()
        self._groups = Multimap()  # "namespace/name" -> uids of PodGroups, of any engine
        self._put_in: dict[str, Callable[[Any, Any], None]] = {
            Kind.POD: self._pods.put,
            Kind.GPU: self._gpus.put,
            Kind.NODE: self._nodes.put,
            Kind.EVENT: self._events.put,
            Kind.WORKLOAD: self._put_workload,
            Kind.POD_GROUP: self._put_group,
            Kind.DEVICE_SLICE: self._claims.put_slice,
            Kind.DEVICE_CLAIM: self._claims.put_claim,
        }
        self._drop_from: dict[str, Callable[[Any], None]] = {
            Kind.POD: self._pods.drop,
            Kind.GPU: self._gpus.drop,
            Kind.NODE: self._drop_node,
            Kind.EVENT: self._events.drop,
            Kind.WORKLOAD: self._drop_workload,
            Kind.POD_GROUP: self._drop_group,
            Kind.DEVICE_SLICE: self._claims.drop_slice,
            Kind.DEVICE_CLAIM: self._claims.drop_claim,
        }

    # ---- the one writer

    def apply(self, batch: Batch) -> None:
        """Take in one batch: first what changed, then what was removed, then the end of a list.

        Between a BEGIN and its END every named uid is noted; at the END, what was not named in that kind
        and scope is gone. Where the kind was empty at the BEGIN, there can be no such thing.
        """
        listing = (batch.kind, batch.scope)
        if batch.mark is ListMark.BEGIN:
            self._listing[listing] = set() if self._tables.get(batch.kind) else None
        seen = self._listing.get(listing)
        moved = False
        if batch.changed:
            if batch.kind in (Kind.POD, Kind.NODE):
                batch = self._claims.dressed(batch)
            moved = self._put_all(batch, seen)
        if batch.removed:
            moved = self._drop_all(batch.kind, batch.removed) or moved
        if batch.mark is ListMark.END:
            self._listing.pop(listing, None)
            if seen is not None:
                moved = self._drop_all(batch.kind, self._unnamed(batch.kind, batch.scope, seen)) or moved
        if batch.mark is ListMark.DROP:
            moved = self._drop_scope(batch.kind, batch.scope) or moved
        if batch.status is not None:
            moved = self._put_status(batch.status) or moved
        if self._claims.is_due:
            self._dress_anew()
        if moved:
            self.revision += 1

    def _dress_anew(self) -> None:
        """A slice or a claim moved: the nodes and pods that it concerns have other GPUs now."""
        nodes = (self.by_key(Kind.NODE, name) for name in self._claims.nodes_due())
        pods = (self.get(Kind.POD, uid) for uid in self._claims.pods_due())
        for kind, records in ((Kind.NODE, nodes), (Kind.POD, pods)):
            table, put = self._tables.get(kind, {}), self._put_in[kind]
            for old in [record for record in records if record is not None]:
                new = self._claims.anew(old)
                if new != old:
                    table[new.uid] = new
                    put(old, new)
                    self._log.sets(kind)[0][new.uid] = None
                    self._moves[kind].note(self.revision + 1, new.uid)

    def _drop_node(self, old: Node) -> None:
        self._nodes.drop(old)
        self._claims.forget_node(old.name)

    def _put_all(self, batch: Batch, seen: set[str] | None) -> bool:
        kind = batch.kind
        table = self._tables.setdefault(kind, {})
        if self._put_newcomers(batch, table, seen):
            return True
        changed, removed = self._log.sets(kind)
        note, revision = self._moves[kind].note, self.revision + 1
        put = self._put_in.get(kind)
        is_gpu, is_event = kind == Kind.GPU, kind == Kind.EVENT
        is_keyed = not is_gpu and kind not in _MANY_RESOURCES
        scopes = self._scopes.get(kind)
        if scopes is None and batch.scope:
            scopes = self._scopes[kind] = {}
        moved = False
        for record in batch.changed:
            uid = record.uuid if is_gpu else record.uid
            if seen is not None:
                seen.add(uid)
            if scopes is not None:
                if batch.scope:
                    scopes[uid] = batch.scope
                else:
                    scopes.pop(uid, None)
            old = table.get(uid)
            if old == record:
                continue
            if old is None and is_keyed:
                self._enter_key(kind, record)
            table[uid] = record
            if put is not None:
                put(old, record)
            changed[uid] = None
            note(revision, uid)
            if removed:
                removed.pop(uid, None)
            if is_event:
                self._drop_all(kind, self._events.surplus(record, table))
            moved = True
        return moved

    def _put_newcomers(self, batch: Batch, table: dict[str, Any], seen: set[str] | None) -> bool:
        """Put records at once of which none is known by uid or by name, as in a first list; False where one
        is, and nothing was done."""
        kind, records = batch.kind, batch.changed
        if kind in _ONE_BY_ONE or records[0].uid in table:
            return False
        new = {record.uid: record for record in records}
        uids = self._uids.setdefault(kind, {})
        named = {record.key: record.uid for record in records}
        is_known = not table.keys().isdisjoint(new) or not uids.keys().isdisjoint(named)
        if is_known or len(new) < len(records) or len(named) < len(records):
            return False
        table.update(new)
        uids.update(named)
        if kind == Kind.POD:
            self._pods.put_new(records)
        elif (put := self._put_in.get(kind)) is not None:
            for record in records:
                put(None, record)
        if seen is not None:
            seen.update(new)
        if batch.scope:
            self._scopes.setdefault(kind, {}).update(dict.fromkeys(new, batch.scope))
        changed, removed = self._log.sets(kind)
        changed.update(dict.fromkeys(new))
        self._moves[kind].note_all(self.revision + 1, new)
        for uid in removed.keys() & new.keys() if removed else ():
            del removed[uid]
        return True

    def _enter_key(self, kind: str, record: Record) -> None:
        uids = self._uids.setdefault(kind, {})
        key = record.key
        former = uids.get(key)
        if former is not None:  # the same name again: the older object cannot exist any more
            self._drop_all(kind, (former,))
        uids[key] = record.uid

    def _drop_all(self, kind: str, uids: Iterable[str]) -> bool:
        table = self._tables.get(kind)
        if not table:
            return False
        drop = self._drop_from.get(kind)
        keys = self._uids.get(kind)
        scopes = self._scopes.get(kind)
        changed, removed = self._log.sets(kind)
        note, revision = self._moves[kind].note, self.revision + 1
        moved = False
        for uid in uids:
            old = table.pop(uid, None)
            if old is None:
                continue
            if drop is not None:
                drop(old)
            if keys is not None and keys.get(old.key) == uid:
                del keys[old.key]
            if scopes is not None:
                scopes.pop(uid, None)
            changed.pop(uid, None)
            removed[uid] = None
            note(revision, uid)
            moved = True
        return moved

    def _unnamed(self, kind: str, scope: str, seen: set[str]) -> list[str]:
        scopes = self._scopes.get(kind, {})
        return [uid for uid in self._tables.get(kind, ()) if uid not in seen and scopes.get(uid, "") == scope]

    def _drop_scope(self, kind: str, scope: str) -> bool:
        self._listing.pop((kind, scope), None)
        moved = self._drop_all(kind, self._unnamed(kind, scope, set()))
        if self._statuses.pop(_status_name(kind, scope), None) is None:
            return moved
        self._note_status(kind)
        return True

    def _note_status(self, kind: str) -> None:
        self._log.status(kind)
        self._moves[kind].revision = self.revision + 1

    def _put_status(self, status: StreamStatus) -> bool:
        name = _status_name(status.kind, status.scope)
        old = self._statuses.get(name)
        self._statuses[name] = status
        if old is not None and msgspec.structs.replace(old, heard_seconds=status.heard_seconds) == status:
            return False  # only the heartbeat: kept, but nothing to paint
        self._note_status(status.kind)
        return True

    def _put_workload(self, old: Workload | None, new: Workload) -> None:
        if old is not None:
            self._drop_workload(old)
        if new.owner is not None:
            self._workloads.add(new.owner.uid, new.uid)

    def _drop_workload(self, old: Workload) -> None:
        if old.owner is not None:
            self._workloads.discard(old.owner.uid, old.uid)

    def _put_group(self, old: PodGroup | None, new: PodGroup) -> None:
        self._groups.add(new.key, new.uid)

    def _drop_group(self, old: PodGroup) -> None:
        self._groups.discard(old.key, old.uid)

    def take_delta(self) -> Delta:
        """What moved since the last call. There is one consumer: the job rows."""
        return self._log.take(self.revision)

    # ---- looking

    def revision_of(self, *kinds: str) -> int:
        """The revision by which one of the kinds moved last: a record, or the status of its stream."""
        moves = self._moves
        return max([moves[kind].revision for kind in kinds if kind in moves], default=0)

    def moved_since(self, kind: str, revision: int) -> Collection[str] | None:
        """Uids of the kind that were put or dropped after that revision; None: not all are remembered."""
        return self._moves[kind].since(revision)

    @property
    def room_revision(self) -> int:
        """Grows whenever a node moved, or what the pods on some node ask for."""
        return self._nodes.moves + self._pods.moves.revision

    @property
    def pods_room_revision(self) -> int:
        """Grows whenever what the pods on some node ask for moves."""
        return self._pods.moves.revision

    def rooms_moved_since(self, revision: int) -> Collection[str] | None:
        """Names of nodes on which what pods ask for moved after that `pods_room_revision`; None: not all are
        remembered."""
        return self._pods.moves.since(revision)

    def records(self, kind: str) -> Mapping[str, Any]:
        """The table of a kind by uid (GPUs by uuid); live, so copy before awaiting."""
        return self._tables.get(kind, _EMPTY)

    def get(self, kind: str, uid: str) -> Any | None:
        table = self._tables.get(kind)
        return None if table is None else table.get(uid)

    def by_key(self, kind: str, key: str) -> Any | None:
        """The record with that `namespace/name` (or `name`); GPUs by uuid.

        Owners and pools come from many resources, so two may share a key: the lowest uid answers.
        """
        if kind == Kind.GPU:
            return self.get(kind, key)
        if kind in _MANY_RESOURCES:
            named = [record for record in self.records(kind).values() if record.key == key]
            return min(named, key=lambda record: str(record.uid), default=None)
        uid = self._uids.get(kind, {}).get(key)
        return None if uid is None else self._tables[kind][uid]

    def status(self, kind: str) -> StreamStatus | None:
        """The state of a kind's stream, of several (namespaces, resources) as `status_of_several` says."""
        return status_of_several([status for status in self._statuses.values() if status.kind == kind])

    def statuses(self) -> Mapping[str, StreamStatus]:
        """All streams, by kind, or `kind/scope` where the scope is not everything."""
        return self._statuses

    def with_record(self, kind: str, record: Record) -> StoreReader:
        """As it reads with that record in the place of the one with its uid: what a plan rests on when an
        object was read again because the watch is behind. It does not follow what comes in later."""
        seen = copy.copy(self)
        seen._tables = {**self._tables, kind: {**self.records(kind), record.uid: record}}
        if isinstance(record, Pod):
            seen._read_pods = {**self._read_pods, record.uid: record}
        return seen

    def pods_on(self, node: str) -> tuple[Pod, ...]:
        """Pods bound to a node, finished ones too, by namespace and name."""
        uids = self._pods.by_node.get(node)
        if self._read_pods:  # where each of them is, the index does not know
            here = [uid for uid, one in self._read_pods.items() if one.node == node]
            uids = (*(uid for uid in uids if uid not in self._read_pods), *here)
        return self._pods_in(uids)

    def pods_of(self, owner_uid: str) -> tuple[Pod, ...]:
        """Pods whose controlling owner has that uid, by namespace and name."""
        return self._pods_in(self._pods.by_owner.get(owner_uid))

    def pods_under(self, owner_uid: str) -> list[Pod]:
        """The same in order of arrival, for callers that sort them."""
        table = self._tables.get(Kind.POD, _EMPTY)
        return [table[uid] for uid in self._pods.by_owner.get(owner_uid)]

    def _pods_in(self, uids: tuple[str, ...]) -> tuple[Pod, ...]:
        if not uids:
            return ()
        table = self._tables[Kind.POD]
        if len(uids) == 1:
            return (table[uids[0]],)
        return tuple(sorted((table[uid] for uid in uids), key=lambda pod: (pod.namespace, pod.name)))

    def gpu_pods(self) -> Collection[Pod]:
        """Pods that ask for GPUs, finished ones too; live, so copy before awaiting."""
        return self._pods.with_gpus()

    def requests_on(self, node: str) -> Requests:
        """What the unfinished pods bound to a node ask for together; kept up to date, so O(1)."""
        return self._pods.requests(node)

    def named_requests_on(self, node: str) -> Mapping[str, int]:
        """The same for everything but cpu and memory, by the name of the resource; live."""
        return self._pods.named(node)

    def restrictive_pods(self) -> Collection[Pod]:
        """Pods that hold host ports or keep others away (required anti-affinity), finished ones too; live."""
        return self._pods.restrictive()

    def leaving_pods(self) -> Collection[Pod]:
        """Pods that are being deleted; live."""
        return self._pods.leaving()

    def largest_node_gpus(self) -> int:
        """The most GPUs that any one node offers (allocatable), free or not; 0 where no node shows one."""
        return self._nodes.largest()

    def gpus_on(self, node: str) -> tuple[Gpu, ...]:
        """GPUs of a node, by index."""
        return self._gpus_in(self._gpus.by_node.get(node))

    def gpus_of_pod(self, namespace: str, name: str) -> tuple[Gpu, ...]:
        """GPUs that telemetry gives to a pod, by index."""
        return self._gpus_in(self._gpus.by_pod.get(f"{namespace}/{name}"))

    def devices_on(self, node: str) -> tuple[DeviceAllocation, ...]:
        """GPUs that the node offers to claims, and the pods that have each; () where it offers none."""
        return self._claims.holdings(node)

    def pods_by_card(self, node: str) -> Mapping[str, tuple[tuple[str, str], ...]]:
        """(namespace, name) of the pods that have a card of the node by claim, by the card's uuid."""
        return self._claims.pods_by_card(node)

    @property
    def uses_claims(self) -> bool:
        """True where a node offers GPUs to claims, or a pod has devices by claim, known or not."""
        return self._claims.has_offers or bool(self._pods.claiming)

    @property
    def has_claimable_gpus(self) -> bool:
        """True where any node offers GPUs to claims."""
        return self._claims.has_offers

    def idle_since(self, uuid: str) -> float | None:
        """Since when the card's samples have shown no work for its present holder; None while it works."""
        return self._gpus.idle_since(uuid)

    def duty_mean(self, uuid: str) -> DutyMean | None:
        """Mean duty of the card under its present pod; None for a free or unmeasured card."""
        return self._gpus.duty_mean(uuid)

    def slowdown(self, uuid: str) -> Slowdown | None:
        """How a card was throttled over the last ten minutes; None where nothing harmful was seen."""
        return self._gpus.slowdown(uuid)

    def warm_since(self, uuid: str) -> float | None:
        """Since when a card has been as warm as cards get that are about to be slowed down."""
        return self._gpus.warm_since(uuid)

    def _gpus_in(self, uuids: tuple[str, ...]) -> tuple[Gpu, ...]:
        if not uuids:
            return ()
        table = self._tables.get(Kind.GPU, {})
        return tuple(sorted((table[uuid] for uuid in uuids), key=lambda gpu: (gpu.node, gpu.index, gpu.uuid)))

    def events_of(self, uid: str) -> tuple[Event, ...]:
        """Events that regard the object, newest first."""
        table = self._tables.get(Kind.EVENT, {})
        found = [table[item] for item in self._events.by_object.get(uid)]
        return tuple(sorted(found, key=event_age, reverse=True))

    def pod_groups_named(self, key: str) -> tuple[PodGroup, ...]:
        """PodGroups "namespace/name" of all engines, in the order of their uids."""
        table = self._tables.get(Kind.POD_GROUP, {})
        return tuple(table[uid] for uid in sorted(self._groups.get(key)))

    def workloads_of(self, owner_uid: str) -> tuple[Workload, ...]:
        """Workloads that stand for a job object, oldest first."""
        table = self._tables.get(Kind.WORKLOAD, {})
        found = [table[item] for item in self._workloads.get(owner_uid)]
        return tuple(sorted(found, key=lambda one: (one.created_seconds or 0.0, one.name)))
