"""What the pool rules read: the part of the store that they need, so that tests can hand in a small one."""

from collections.abc import Iterable

from cockpit.model.batch import Phase
from cockpit.model.node import Node
from cockpit.model.pool import PoolObject
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader


def nodes_of(truth: StoreReader) -> tuple[Node, ...]:
    """Every node, by name."""
    return tuple(sorted(truth.records(Kind.NODE).values(), key=lambda one: one.name))


def objects_of(truth: StoreReader) -> tuple[PoolObject, ...]:
    """Every object that owns a number of machines, by key."""
    return tuple(sorted(truth.records(Kind.POOL).values(), key=lambda one: (one.key, one.kind)))


def gpus_allocated(truth: StoreReader, node: str) -> int:
    """Devices on that node taken by pods that are bound and not finished."""
    return truth.requests_on(node).gpus


def is_use_known(truth: StoreReader) -> bool:
    """False where not every pod of the cluster is seen, or not every claim where nodes offer GPUs to claims:
    what looks idle may be in use."""
    status = truth.status(Kind.POD)
    if status is not None and not status.is_whole:
        return False
    claims = truth.status(Kind.DEVICE_CLAIM)
    if claims is None or claims.is_whole or claims.phase is Phase.ABSENT:
        return True
    nodes: Iterable[Node] = truth.records(Kind.NODE).values()
    return all(node.gpus_by_claim is None for node in nodes)
