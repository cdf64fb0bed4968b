"""Which nodes are not needed: pure. GPU nodes are judged by their GPUs alone, others by CPU and memory."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from cockpit.k8s.gpu_resources import is_gpu_resource
from cockpit.k8s.quantity import amounts_of
from cockpit.sim.actors.autoscaler.groups import NodeGroup
from cockpit.sim.actors.autoscaler.room import NodeRoom, requests_of
from cockpit.sim.actors.autoscaler.settings import AutoscalerSettings
from cockpit.sim.actors.common.drain import is_in_the_way, owner_kind
from cockpit.sim.port import Tree

DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"


class UnneededNode(msgspec.Struct, frozen=True):
    """A node that is not needed; `moving` are the pods that another node would take."""

    node: str
    group: str
    utilization_ratio: float
    moving: tuple[Tree, ...]


def candidates(
    groups: Sequence[NodeGroup],
    pods_on: Mapping[str, Sequence[Tree]],
    nodes: Sequence[Tree],
    settings: AutoscalerSettings,
) -> list[UnneededNode]:
    """Nodes of the groups that could go now, in the order of their names."""
    by_name: dict[str, Tree] = {node["metadata"]["name"]: node for node in nodes}
    found: list[UnneededNode] = []
    for group in groups:
        spare = group.target - group.minimum
        for node in group.ready:
            name = node["metadata"]["name"]
            if spare <= 0 or _is_kept(node):
                continue
            candidate = _judge(name, group, by_name, pods_on, settings)
            if candidate is not None:
                found.append(candidate)
    return sorted(found, key=lambda one: one.node)


def _is_kept(node: Mapping[str, Any]) -> bool:
    return (node["metadata"].get("annotations") or {}).get(DISABLED) == "true"


def _judge(
    name: str,
    group: NodeGroup,
    nodes: Mapping[str, Tree],
    pods_on: Mapping[str, Sequence[Tree]],
    settings: AutoscalerSettings,
) -> UnneededNode | None:
    node = nodes[name]
    pods = [pod for pod in pods_on.get(name, ()) if is_in_the_way(pod)]
    used = utilization(node, pods)
    has_gpus = any(is_gpu_resource(resource) for resource in _allocatable(node))
    if used >= (settings.gpu_threshold if has_gpus else settings.cpu_threshold):
        return None
    if not all(_is_movable(pod) for pod in pods):
        return None
    rooms = [
        NodeRoom(other, [pod for pod in pods_on.get(own, ()) if not has_ended(pod)])
        for own, other in sorted(nodes.items())
        if own != name and not (other.get("spec") or {}).get("unschedulable")
    ]
    for pod in pods:
        room = next((one for one in rooms if not one.refusal(pod)), None)
        if room is None:
            return None
        room.take(pod)
    return UnneededNode(name, group.id, used, tuple(pods))


def _allocatable(node: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (node.get("status") or {}).get("allocatable") or {}
    return found


def has_ended(pod: Mapping[str, Any]) -> bool:
    """True for a pod that holds nothing any more."""
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _is_movable(pod: Mapping[str, Any]) -> bool:
    """A pod that somebody would make anew, or that says it may be evicted."""
    said = (pod["metadata"].get("annotations") or {}).get(SAFE_TO_EVICT)
    if said == "false":
        return False
    return said == "true" or owner_kind(pod) != ""


def utilization(node: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]) -> float:
    """Share of the node's GPUs that is asked for; where it has none, the larger share of CPU and memory."""
    allocatable = amounts_of(_allocatable(node))
    gpus = [resource for resource in allocatable if is_gpu_resource(resource)]
    names = gpus or ["cpu", "memory"]
    shares = [0.0]
    for resource in names:
        whole = allocatable.get(resource, 0)
        if whole > 0:
            shares.append(sum(requests_of(pod).get(resource, 0) for pod in pods) / whole)
    return max(shares)
