"""Which pools may still grow for pods that wait, and what keeps the others from it."""

import enum
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

import msgspec

from cockpit.fit.scheduling_context import UNKNOWN, Surroundings
from cockpit.fit.shape import Shape
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.model.node import Node
from cockpit.model.pool import PoolObject
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.pools import registry
from cockpit.pools.match import pool_groups
from cockpit.pools.next_nodes import may_serve
from cockpit.pools.owner import FailureClass, PoolFailure
from cockpit.pools.stage import GPUS_LIMIT_SECONDS, NodeStage, node_stage, ready_since


class PoolGrowth(enum.Enum):
    """What becomes of a pool when pods wait for it."""

    GROWS = "grows"  # an autoscaler adds nodes
    BY_HAND = "by hand"  # no autoscaler of it is seen
    FULL = "full"
    WAITS = "waits"  # its autoscaler backs off, or may not grow it
    STOPPED = "stopped"  # its autoscaler does not work
    DARK = "dark"  # its nodes came and never showed the GPUs that are promised


class Prospect(NamedTuple):
    """One pool. `failure` is what keeps it from growing where its owner says so."""

    name: str
    owner: PoolObject | None
    nodes: tuple[Node, ...]
    size: int
    maximum: int | None
    growth: PoolGrowth
    failure: PoolFailure | None = None
    is_told: bool = False  # its autoscaler says so itself, not its bounds alone

    @property
    def may_grow(self) -> bool:
        """Whether a node may still come: by an autoscaler, or within a maximum that is set for one."""
        return self.growth is PoolGrowth.GROWS or (
            self.growth is PoolGrowth.BY_HAND and self.maximum is not None
        )


class Serving(NamedTuple):
    """Pools of which one more node would take a pod, and those of which that is not known."""

    sure: tuple[Prospect, ...]
    perhaps: tuple[Prospect, ...]


class _Index:
    """Of one state of what pools rest on: the pools, and which of them serve a shape."""

    def __init__(self, basis: tuple[object, ...], every: tuple[Prospect, ...]) -> None:
        self.basis, self.every = basis, every
        self.serving: dict[Shape, Serving] = {}


_INDEXES: "WeakKeyDictionary[StoreReader, _Index]" = WeakKeyDictionary()
_KINDS: Final = (Kind.NODE, Kind.POOL, Kind.MACHINE, Kind.AUTOSCALER, Kind.OWNER_EVENT)
_STANDS_SECONDS: Final = 10.0
"""So long what is told by the clock, or by the pods of DaemonSets, stands."""
_MOST_SHAPES: Final = 1_024


def prospects(store: StoreReader, now_seconds: float | None) -> tuple[Prospect, ...]:
    """Of every pool, by name."""
    return _index(store, now_seconds).every


def _index(store: StoreReader, now_seconds: float | None) -> _Index:
    now = now_seconds or 0.0
    basis = (now // _STANDS_SECONDS, *(tuple(store.records(kind).values()) for kind in _KINDS))
    kept = _INDEXES.get(store)
    if kept is None or kept.basis != basis:  # records that have not changed are the same objects
        every = tuple(_prospect(one.name, one.owner, one.nodes, store, now) for one in pool_groups(store))
        kept = _INDEXES[store] = _Index(basis, every)
    return kept


def _prospect(
    name: str, owner: PoolObject | None, nodes: tuple[Node, ...], store: StoreReader, now_seconds: float
) -> Prospect:
    says = registry.ownership(owner, nodes, store)
    told = registry.failures(owner, nodes, store, now_seconds)
    failure = next((one for one in told if not (one.is_past or one.machine or one.is_part)), None)
    size = max(len(nodes), (owner.replicas or 0) if owner is not None else 0)
    is_untold = says.maximum is None and owner is not None and not says.fault
    maximum = owner.max_replicas if is_untold and owner is not None else says.maximum
    if _is_dark(nodes, store, now_seconds):
        growth = PoolGrowth.DARK
    elif failure is not None and failure.kind is FailureClass.NO_AUTOSCALER:
        growth = PoolGrowth.STOPPED
    elif maximum is not None and size >= maximum:
        growth = PoolGrowth.FULL
    elif failure is not None:
        growth = PoolGrowth.WAITS
    elif says.may_demand.may is True or (owner is not None and owner.is_autoscaled):
        growth = PoolGrowth.GROWS
    else:
        growth = PoolGrowth.BY_HAND
    return Prospect(name, owner, nodes, size, maximum, growth, failure, says.read_seconds is not None)


def _is_dark(nodes: tuple[Node, ...], store: StoreReader, now_seconds: float) -> bool:
    """Whether one of the nodes had its time to show GPUs, and none of them shows any."""
    if not nodes or any(one.gpu_allocatable for one in nodes):
        return False
    late = (
        ready_since(one) or one.created_seconds
        for one in nodes
        if node_stage(one, store) == NodeStage.NOT_ADVERTISED
    )
    return any(at is not None and now_seconds - at > GPUS_LIMIT_SECONDS for at in late)


def serving(
    shape: Shape, store: StoreReader, now_seconds: float | None, around: Surroundings = UNKNOWN
) -> tuple[Prospect, ...] | None:
    """Pools of which one more node would take a pod of the shape; None where that is known of none, and not
    known of some."""
    found = all_serving(shape, store, now_seconds, around)
    return None if found.perhaps and not found.sure else found.sure


def all_serving(
    shape: Shape, store: StoreReader, now_seconds: float | None, around: Surroundings = UNKNOWN
) -> Serving:
    """The same with those of which it is not known."""
    index, alike = _index(store, now_seconds), _alike(shape, store)
    if shape.claims or alike not in index.serving:
        snapshot = ClusterSnapshot(store, around)
        every = [
            (one, may_serve(one.owner, one.nodes, shape, snapshot))
            for one in index.every
            if one.growth is not PoolGrowth.DARK or not shape.gpus
        ]
        sure = tuple(one for one, may in every if may)
        perhaps = tuple(one for one, may in every if may is None)
        if len(index.serving) >= _MOST_SHAPES:
            index.serving.clear()
        index.serving[alike] = Serving(sure, perhaps)
    return index.serving[alike]


def _alike(shape: Shape, store: StoreReader) -> Shape:
    """The shape without whose pod it is, where no pod minds any other."""
    if shape.near or shape.keeps_away or any(pod.traits.keeps_away for pod in store.restrictive_pods()):
        return shape
    return msgspec.structs.replace(shape, namespace="", labels=())
