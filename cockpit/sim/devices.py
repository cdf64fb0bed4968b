"""Which GPU devices a node has, from its Node object alone, so that kubelet, GPUs and tests agree on names.

A node says what it carries by the labels of GPU Feature Discovery (NVIDIA/k8s-device-plugin
docs/gpu-feature-discovery/README.md) and by its capacity: `nvidia.com/gpu.count` cards of
`nvidia.com/gpu.product`; `nvidia.com/gpu.replicas` for shared cards; resources `nvidia.com/mig-<profile>`
for MIG with the strategy `mixed`.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

GPU = "nvidia.com/gpu"
SHARED_GPU = "nvidia.com/gpu.shared"
MIG_PREFIX = "nvidia.com/mig-"

COUNT_LABEL = "nvidia.com/gpu.count"
PRODUCT_LABEL = "nvidia.com/gpu.product"
REPLICAS_LABEL = "nvidia.com/gpu.replicas"
MEMORY_LABEL = "nvidia.com/gpu.memory"


def _digest(*what: object) -> str:
    return hashlib.sha256("/".join(map(str, what)).encode()).hexdigest()


def _uuid(prefix: str, text: str) -> str:
    return f"{prefix}-{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:32]}"


def gpu_uuid(node: str, index: int) -> str:
    """UUID of a card: always the same for a node's name and an index."""
    return _uuid("GPU", _digest("card", node, index))


def mig_uuid(node: str, index: int, instance: int) -> str:
    """UUID of a MIG instance of a card."""
    return _uuid("MIG", _digest("mig", node, index, instance))


class Slot(msgspec.Struct, frozen=True):
    """A MIG instance: its GPU instance id, profile (`1g.10gb`) and UUID."""

    instance: int
    profile: str
    uuid: str


class NodeCard(msgspec.Struct, frozen=True):
    """One physical card of a node. `replicas` above 1 means time-sliced; `slots` are its MIG instances."""

    index: int
    uuid: str
    product: str
    replicas: int = 1
    slots: tuple[Slot, ...] = ()


def _number(text: object, default: int) -> int:
    try:
        return int(str(text))
    except ValueError:
        return default


def cards_of(node: Mapping[str, Any]) -> tuple[NodeCard, ...]:
    """The cards of a node, in index order; empty for a node without GPUs.

    MIG instances are dealt to the cards in turn, profile by profile in the order of their names.
    """
    metadata = node.get("metadata", {})
    labels = metadata.get("labels") or {}
    capacity = (node.get("status") or {}).get("capacity") or {}
    product = str(labels.get(PRODUCT_LABEL, ""))
    replicas = max(1, _number(labels.get(REPLICAS_LABEL), 1))
    offered = _number(capacity.get(GPU, capacity.get(SHARED_GPU, 0)), 0)
    count = _number(labels.get(COUNT_LABEL), offered // replicas)
    if count <= 0:
        return ()
    name = str(metadata.get("name", ""))
    slots: list[list[Slot]] = [[] for _ in range(count)]
    turn = 0
    for resource in sorted(capacity):
        if resource.startswith(MIG_PREFIX):
            for _ in range(_number(capacity[resource], 0)):
                index = turn % count
                instance = len(slots[index]) + 1
                profile = resource.removeprefix(MIG_PREFIX)
                slots[index].append(Slot(instance, profile, mig_uuid(name, index, instance)))
                turn += 1
    return tuple(
        NodeCard(index, gpu_uuid(name, index), product, replicas, tuple(slots[index]))
        for index in range(count)
    )


def device_ids(node: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """What a device plugin would register: resource name -> device ids, as the pod-resources API spells them.

    A shared card appears once for each replica, as `GPU-...::0` and so on; never more ids than the capacity.
    """
    capacity = (node.get("status") or {}).get("capacity") or {}
    cards = cards_of(node)
    found: dict[str, tuple[str, ...]] = {}
    for resource in sorted(capacity):
        wanted = _number(capacity[resource], 0)
        if resource in (GPU, SHARED_GPU):
            ids = [
                card.uuid if card.replicas == 1 else f"{card.uuid}::{replica}"
                for replica in range(max((card.replicas for card in cards), default=1))
                for card in cards
            ]
            found[resource] = tuple(ids[:wanted])
        elif resource.startswith(MIG_PREFIX):
            profile = resource.removeprefix(MIG_PREFIX)
            found[resource] = tuple(
                slot.uuid for card in cards for slot in card.slots if slot.profile == profile
            )
    return found
