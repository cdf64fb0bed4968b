"""Room on nodes while pods are tried on them: the part of the scheduler's filters that an autoscaler plays.

Resources, taints, node selector and required node affinity. Returns the scheduler's own words for what is
missing. What is not looked at here (spread, volumes, other pods' affinity) is decided by the scheduler alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from cockpit.k8s.node_affinity import node_matches
from cockpit.k8s.pod_requests import pod_requests
from cockpit.k8s.quantity import amounts_of
from cockpit.k8s.tolerations import taint_of, taint_text, tolerations_of, untolerated
from cockpit.sim.port import Tree

Amounts = dict[str, int]
"""By resource, in base units (cpu in millicores)."""


def requests_of(pod: Mapping[str, Any]) -> Amounts:
    """What a pod asks of a node, and one pod slot."""
    return {"pods": 1, **pod_requests(pod.get("spec") or {})}


class NodeRoom:
    """What is left on one node, real or imagined."""

    def __init__(self, node: Tree, pods: Iterable[Tree] = ()) -> None:
        self.node = node
        allocatable = (node.get("status") or {}).get("allocatable") or {}
        self.free: Amounts = amounts_of(allocatable)
        for pod in pods:
            self.take(pod)

    def take(self, pod: Mapping[str, Any]) -> None:
        """Put a pod here, whether or not it fits."""
        for resource, amount in requests_of(pod).items():
            self.free[resource] = self.free.get(resource, 0) - amount

    def refusal(self, pod: Mapping[str, Any]) -> str:
        """Why the pod does not fit, in the scheduler's words; "" when it does."""
        spec = pod.get("spec") or {}
        taints = map(taint_of, (self.node.get("spec") or {}).get("taints") or ())
        taint = untolerated(taints, tolerations_of(spec.get("tolerations")))
        if taint is not None:
            return f"node(s) had untolerated taint {taint_text(taint)}"
        metadata = self.node["metadata"]
        if not node_matches(spec, metadata["name"], metadata.get("labels") or {}):
            return "node(s) didn't match Pod's node affinity/selector"
        for resource, amount in sorted(requests_of(pod).items()):
            if amount > self.free.get(resource, 0):
                return "Too many pods" if resource == "pods" else f"Insufficient {resource}"
        return ""


class Packed(msgspec.Struct, frozen=True):
    """How many imagined nodes of a template some pods fill, and which pods found a place."""

    nodes: int
    pods: tuple[Tree, ...]
    wasted: int


def pack(template: Tree, pods: Sequence[Tree], most_nodes: int, main: str) -> Packed:
    """First fit of pods on at most `most_nodes` fresh nodes. `main` is the resource whose waste counts."""
    rooms: list[NodeRoom] = []
    placed: list[Tree] = []
    for pod in pods:
        room = next((one for one in rooms if not one.refusal(pod)), None)
        if room is None:
            if len(rooms) == most_nodes:
                continue
            fresh = NodeRoom(template)
            if fresh.refusal(pod):
                continue
            rooms.append(fresh)
            room = fresh
        room.take(pod)
        placed.append(pod)
    wasted = sum(room.free.get(main, 0) for room in rooms)
    return Packed(len(rooms), tuple(placed), wasted)
