"""How many GPUs a node ought to offer: by its capacity, labels, machine, or the other nodes of its pool."""

from collections.abc import Iterable
from typing import NamedTuple
from weakref import WeakKeyDictionary

from cockpit.model.node import Node
from cockpit.model.pool import Machine, PoolObject
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.pools import registry
from cockpit.pools.match import owner_of
from cockpit.pools.owner import NodeTemplate
from cockpit.pools.truth import objects_of

_BARE_LABELS = frozenset({"pool", "nodepool", "node-pool"})
"""Names that anybody may give to nodes of any kind: alone they do not say that two nodes are alike."""
USUAL_RESOURCE = "nvidia.com/gpu"
BY_LABELS = "its labels"


class GpuPromise(NamedTuple):
    """`gpus` devices of `resource`, as the scheduler counts them; 0 where how many is not told. `by` is what
    promises them, for people."""

    resource: str
    gpus: int
    by: str


class _Alike(NamedTuple):
    pool: str
    instance_type: str
    cpu_millicores: int


class _Index:
    """The machine of each node, a node with GPUs for each kind of node, and what pool objects promise."""

    def __init__(self) -> None:
        self.revision = -1  # of the store, that was seen last
        self.machines: dict[str, Machine] = {}
        self._alike: dict[_Alike, dict[str, Node]] = {}  # nodes with GPUs by uid
        self._key_of: dict[str, _Alike] = {}
        self._whole: dict[_Alike, Node | None] = {}
        self._objects: tuple[PoolObject, ...] = ()
        self._owners: list[PoolObject] = []
        self._templates: dict[str, NodeTemplate] = {}
        self._by_template: dict[str, GpuPromise | None] = {}

    def follow(self, store: StoreReader) -> None:
        """Take in what moved since the last time."""
        seen, self.revision = self.revision, store.revision
        if store.revision_of(Kind.MACHINE) > seen:
            machines: Iterable[Machine] = store.records(Kind.MACHINE).values()
            self.machines = {one.node: one for one in machines if one.node}
        if store.revision_of(Kind.POOL) > seen:
            self._objects = objects_of(store)
            self._owners = [one for one in self._objects if registry.is_pool(one)]
            templates = {one.uid: registry.template(one) for one in self._owners}
            self._templates = {uid: one for uid, one in templates.items() if one.gpus}
            self._by_template = {}
        moved = store.moved_since(Kind.NODE, seen)
        if moved is None:
            self._alike, self._key_of, self._whole, self._by_template = {}, {}, {}, {}
            moved = store.records(Kind.NODE).keys()
        for uid in moved:
            self._put(uid, store.get(Kind.NODE, uid))

    def _put(self, uid: str, node: Node | None) -> None:
        before = self._key_of.pop(uid, None)
        if before is not None:
            self._alike[before].pop(uid)
            self._whole.pop(before, None)
        if node is None:
            return
        self._by_template.pop(node.name, None)
        key = _alike(node) if node.gpu_capacity and node.deleting_seconds is None else None
        if key is not None:
            self._key_of[uid] = key
            self._alike.setdefault(key, {})[uid] = node
            self._whole.pop(key, None)

    def whole(self, key: _Alike) -> Node | None:
        """Of nodes of that kind the one that tells best what they offer."""
        if key not in self._whole:
            self._whole[key] = max(self._alike.get(key, {}).values(), key=_rank, default=None)
        return self._whole[key]

    def by_template(self, node: Node) -> GpuPromise | None:
        """What the object of the node's pool promises of each of its nodes."""
        if not self._templates:
            return None
        if node.name not in self._by_template:
            owner = owner_of(node, self._objects, self._owners)
            told = None if owner is None else self._templates.get(owner.uid)
            self._by_template[node.name] = (
                None
                if owner is None or told is None
                else GpuPromise(told.resource, told.gpus or 0, f"{owner.kind} {owner.key}")
            )
        return self._by_template[node.name]


_INDEXES: "WeakKeyDictionary[StoreReader, _Index]" = WeakKeyDictionary()


def _index(store: StoreReader) -> _Index:
    found = _INDEXES.get(store)
    if found is None:
        found = _INDEXES[store] = _Index()
    if found.revision != store.revision:
        found.follow(store)
    return found


def _alike(node: Node) -> _Alike | None:
    """What nodes of one pool and kind have in common; None where the labels do not tell that much."""
    if not node.pool or (not node.instance_type and node.pool_label in _BARE_LABELS):
        return None
    return _Alike(node.pool, node.instance_type, dict(node.capacity).get("cpu", 0))


def _rank(node: Node) -> tuple[bool, int, int, str]:
    return node.ready == "True", node.gpu_allocatable or 0, node.gpu_capacity or 0, node.name


def machine_of(node: Node, store: StoreReader) -> Machine | None:
    """The object by which the owner of the node's pool made it, None where none is seen."""
    return _index(store).machines.get(node.name)


def whole_sibling(node: Node, store: StoreReader) -> Node | None:
    """Another node of the same pool and machine type that shows its GPUs, the one that shows most."""
    key = _alike(node)
    found = _index(store).whole(key) if key is not None else None
    return found if found is not None and found.uid != node.uid else None


def gpus_promised(node: Node, store: StoreReader) -> GpuPromise | None:
    """What promises GPUs of the node, the surest first; None where nothing does."""
    labelled = (node.gpus_expected or 0) * max(1, node.gpu_replicas)
    shown = node.gpu_capacity or 0
    resource = node.gpu_resource or USUAL_RESOURCE
    if labelled > shown:
        return GpuPromise(resource, labelled, BY_LABELS)
    if shown:
        return GpuPromise(resource, shown, "its capacity")
    machine = machine_of(node, store)
    if machine is not None and machine.gpus:
        return GpuPromise(machine.gpu_resource, machine.gpus, f"{machine.kind} {machine.name}")
    like = whole_sibling(node, store)
    if like is not None:
        return GpuPromise(like.gpu_resource, like.gpu_capacity or 0, f"pool {node.pool}")
    told = _index(store).by_template(node)
    if told is not None:
        return told
    return GpuPromise(resource, 0, BY_LABELS) if node.is_gpu_labelled else None
