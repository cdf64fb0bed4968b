"""Which pools may still grow for pods that wait, and what keeps the others from it."""

import enum
from collections.abc import Mapping
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
from cockpit.pools.match import Group, pool_groups
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


class _Made(NamedTuple):
    group: Group
    at_seconds: float
    prospect: Prospect


class _Served(NamedTuple):
    every: tuple[Prospect, ...]
    may: tuple[tuple[Prospect, bool | None], ...]
    serving: Serving


class _Index:
    """The pools of a store, and which of them serve a shape. What is kept of a pool stands as long as its
    nodes and what owners say; by the clock, and for pods of DaemonSets, it is made again in turn."""

    def __init__(self) -> None:
        self.moment: tuple[float, int] | None = None  # what it was made for last
        self.every: tuple[Prospect, ...] = ()
        self._revision = -1
        self._made: dict[_Key, _Made] = {}
        self._serving: dict[Shape, _Served] = {}

    def follow(self, store: StoreReader, now_seconds: float) -> None:
        """Bring it up to the store and to the time."""
        revision = store.revision_of(*_SAYING)
        before = self._made if revision == self._revision else {}
        self._revision = revision
        groups = {(one.name, "" if one.owner is None else one.owner.uid): one for one in pool_groups(store)}
        stands = {key: before[key] for key, one in groups.items() if _is_of(before.get(key), one)}
        for key in _due(stands, now_seconds):
            del stands[key]
        self._made = {
            key: stands.get(key) or _Made(one, now_seconds, _prospect(one, store, now_seconds))
            for key, one in groups.items()
        }
        if len(stands) < len(groups) or len(groups) != len(self.every):
            self.every = tuple(one.prospect for one in self._made.values())

    def serving(self, shape: Shape, store: StoreReader, around: Surroundings) -> Serving:
        """Of the pools, with a look at those alone that were made since the shape was asked for last."""
        kept = self._serving.get(shape)
        if kept is not None and kept.every is self.every:
            return kept.serving
        before = {} if kept is None else {id(one): serves for one, serves in kept.may}
        snapshot = ClusterSnapshot(store, around)
        may = tuple(
            (one, before[id(one)] if id(one) in before else may_serve(one.owner, one.nodes, shape, snapshot))
            for one in self.every
            if one.growth is not PoolGrowth.DARK or not shape.gpus
        )
        sure = tuple(one for one, serves in may if serves)
        perhaps = tuple(one for one, serves in may if serves is None)
        if len(self._serving) >= _MOST_SHAPES:
            self._serving.clear()
        self._serving[shape] = _Served(self.every, may, Serving(sure, perhaps))
        return self._serving[shape].serving

    def forget(self, shape: Shape) -> None:
        """What stands for the shape rests on more than is followed."""
        self._serving.pop(shape, None)


def _is_of(made: _Made | None, group: Group) -> bool:
    return made is not None and made.group is group


_Key = tuple[str, str]
"""Name of a pool, and uid of its owner's object."""


def _due(stands: Mapping[_Key, _Made], now_seconds: float) -> list[_Key]:
    """Those that are to be made again: the oldest few, and what is too old to wait for its turn."""
    ages = sorted((-abs(now_seconds - one.at_seconds), key) for key, one in stands.items())
    old = [(age, key) for age, key in ages if age <= -_STANDS_SECONDS]
    return [key for at, (age, key) in enumerate(old) if at < _TURNS or age <= -_LONGEST_SECONDS]


_INDEXES: "WeakKeyDictionary[StoreReader, _Index]" = WeakKeyDictionary()
_SAYING: Final = (Kind.POOL, Kind.MACHINE, Kind.AUTOSCALER, Kind.OWNER_EVENT)
_STANDS_SECONDS: Final = 10.0
"""So long what is told by the clock, or by the pods of DaemonSets, stands."""
_LONGEST_SECONDS: Final = 60.0
_TURNS: Final = 4
"""Pools that are looked at again for one moment because of the time alone."""
_MOST_SHAPES: Final = 256


def prospects(store: StoreReader, now_seconds: float | None) -> tuple[Prospect, ...]:
    """Of every pool, by name."""
    return _index(store, now_seconds).every


def _index(store: StoreReader, now_seconds: float | None) -> _Index:
    now = now_seconds or 0.0
    moment = now, store.revision_of(Kind.NODE, *_SAYING)
    kept = _INDEXES.get(store)
    if kept is None:
        kept = _INDEXES[store] = _Index()
    if kept.moment != moment:
        kept.follow(store, now)
        kept.moment = moment
    return kept


def _prospect(group: Group, store: StoreReader, now_seconds: float) -> Prospect:
    name, owner, nodes = group.name, group.owner, group.nodes
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
    if shape.claims:
        index.forget(alike)
    return index.serving(alike, store, around)


def _alike(shape: Shape, store: StoreReader) -> Shape:
    """The shape without whose pod it is, where no pod minds any other."""
    if shape.near or shape.keeps_away or any(pod.traits.keeps_away for pod in store.restrictive_pods()):
        return shape
    return msgspec.structs.replace(shape, namespace="", labels=())
