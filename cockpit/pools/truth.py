"""What the pool rules read: the part of the store that they need, so that tests can hand in a small one."""

from cockpit.model.listing import listing
from cockpit.model.node import Node
from cockpit.model.pool import Machine, MachineStage, PoolObject
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader


def nodes_of(truth: StoreReader) -> tuple[Node, ...]:
    """Every node, by name."""
    return tuple(sorted(truth.records(Kind.NODE).values(), key=lambda one: one.name))


def objects_of(truth: StoreReader) -> tuple[PoolObject, ...]:
    """Every object that owns a number of machines, by key."""
    return tuple(sorted(truth.records(Kind.POOL).values(), key=lambda one: (one.key, one.kind)))


def has_lost_its_node(machine: Machine, truth: StoreReader) -> bool:
    """Whether the machine had a node that is gone, while the machine is to stay; False where that is not
    known."""
    had_one = machine.node and machine.stage in (MachineStage.JOINED, MachineStage.INITIALIZED)
    if not had_one or machine.deleting_seconds is not None:
        return False
    return truth.by_key(Kind.NODE, machine.node) is None and listing(truth, Kind.NODE).has_all


def gpus_allocated(truth: StoreReader, node: str) -> int:
    """Devices on that node taken by pods that are bound and not finished."""
    return truth.requests_on(node).gpus


def is_use_known(truth: StoreReader) -> bool:
    """False where not every pod of the cluster is seen, or not every claim where nodes offer GPUs to claims:
    what looks idle may be in use."""
    knows_claims = not truth.has_claimable_gpus or listing(truth, Kind.DEVICE_CLAIM).has_all
    return knows_claims and listing(truth, Kind.POD).has_all
