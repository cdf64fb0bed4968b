"""What each node has free, as the scheduler counts it: allocatable minus requests of unfinished pods."""

from collections.abc import Collection
from typing import NamedTuple

from cockpit.model.devices import GPU_NAMES
from cockpit.model.node import Node
from cockpit.model.record import Kind
from cockpit.store.store import Store

TOLERATED_KEYS = frozenset(GPU_NAMES)
"""Taint keys that a GPU pod tolerates: the ExtendedResourceToleration admission adds the GPU resource's own
name, and our templates do the same."""

_BLOCKING_EFFECTS = ("NoSchedule", "NoExecute")


class Free(NamedTuple):
    """What one node can still take. None: the node does not state the resource."""

    node: str
    gpus: int
    cpu_millicores: int | None
    memory_bytes: int | None
    pods: int | None


def obstacle(node: Node, tolerated: Collection[str] = TOLERATED_KEYS) -> str:
    """Why the node takes no new pod at all: "not ready", "cordoned", "tainted KEY"; "" when it does."""
    if node.deleting_seconds is not None:
        return "leaving"
    if node.ready != "True":
        return "not ready"
    if node.unschedulable:
        return "cordoned"
    for taint in node.taints:
        if taint.effect in _BLOCKING_EFFECTS and taint.key not in tolerated:
            return f"tainted {taint.key}"
    return ""


def free_on(store: Store, node: Node) -> Free:
    """What the node has left; devices that fell out of allocatable are not free, and never less than zero."""
    asked = store.requests_on(node.name)
    stated = dict(node.allocatable)
    return Free(
        node=node.name,
        gpus=max(0, (node.gpu_allocatable or 0) - asked.gpus),
        cpu_millicores=_left(stated.get("cpu"), asked.cpu_millicores),
        memory_bytes=_left(stated.get("memory"), asked.memory_bytes),
        pods=_left(stated.get("pods"), asked.pods),
    )


def _left(stated: int | None, used: int) -> int | None:
    return None if stated is None else max(0, stated - used)


class Block(NamedTuple):
    """The most GPUs free on one node that takes pods; node "" where none is free."""

    node: str
    gpus: int


def largest_block(store: Store, tolerated: Collection[str] = TOLERATED_KEYS) -> Block:
    """The largest number of GPUs that one pod could get now; of equal nodes the first by name."""
    best = Block("", 0)
    for node in store.records(Kind.NODE).values():
        if not node.gpu_allocatable or obstacle(node, tolerated):
            continue
        gpus = free_on(store, node).gpus
        if gpus > best.gpus or (gpus == best.gpus and gpus and node.name < best.node):
            best = Block(node.name, gpus)
    return best
