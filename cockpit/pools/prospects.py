"""Which pools may still grow for pods that wait, and what keeps the others from it."""

import enum
from typing import NamedTuple
from weakref import WeakKeyDictionary

from cockpit.fit.shape import Shape
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.fit.surroundings import UNKNOWN, Surroundings
from cockpit.model.node import Node
from cockpit.model.pool import PoolObject
from cockpit.model.store_reader import StoreReader
from cockpit.pools import registry
from cockpit.pools.match import groups
from cockpit.pools.next_nodes import may_serve
from cockpit.pools.owner import FailureClass, PoolFailure
from cockpit.pools.truth import nodes_of, objects_of


class PoolGrowth(enum.Enum):
    """What becomes of a pool when pods wait for it."""

    GROWS = "grows"  # an autoscaler adds nodes
    BY_HAND = "by hand"  # no autoscaler of it is seen
    FULL = "full"
    WAITS = "waits"  # its autoscaler backs off, or may not grow it
    STOPPED = "stopped"  # its autoscaler does not work


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


_KEPT: "WeakKeyDictionary[StoreReader, tuple[int, tuple[Prospect, ...]]]" = WeakKeyDictionary()


def prospects(store: StoreReader, now_seconds: float | None) -> tuple[Prospect, ...]:
    """Of every pool, by name; the same for one state of the store."""
    kept = _KEPT.get(store)
    if kept is None or kept[0] != store.revision:
        found = groups(nodes_of(store), objects_of(store))
        made = tuple(_prospect(one.name, one.owner, one.nodes, store, now_seconds or 0.0) for one in found)
        kept = _KEPT[store] = (store.revision, made)
    return kept[1]


def _prospect(
    name: str, owner: PoolObject | None, nodes: tuple[Node, ...], store: StoreReader, now_seconds: float
) -> Prospect:
    says = registry.ownership(owner, nodes, store)
    told = registry.failures(owner, nodes, store, now_seconds)
    failure = next((one for one in told if not one.is_past and not one.machine), None)
    size = max(len(nodes), (owner.replicas or 0) if owner is not None else 0)
    is_untold = says.maximum is None and owner is not None and not says.fault
    maximum = owner.max_replicas if is_untold and owner is not None else says.maximum
    if failure is not None and failure.kind is FailureClass.NO_AUTOSCALER:
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


def serving(
    shape: Shape, store: StoreReader, now_seconds: float | None, around: Surroundings = UNKNOWN
) -> tuple[Prospect, ...] | None:
    """Pools of which one more node would take a pod of the shape; None where that is known of none, and not
    known of some."""
    snapshot = ClusterSnapshot(store, around)
    every = [(one, may_serve(one.owner, one.nodes, shape, snapshot)) for one in prospects(store, now_seconds)]
    found = tuple(one for one, may in every if may)
    return None if not found and any(may is None for _, may in every) else found
