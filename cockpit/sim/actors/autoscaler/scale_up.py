"""Which group grows, and by how much: pure. The expander is least-waste (of the devices, then of the CPU)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from cockpit.k8s.gpu_resources import is_gpu_resource
from cockpit.sim.actors.autoscaler.groups import NodeGroup
from cockpit.sim.actors.autoscaler.room import NodeRoom, pack
from cockpit.sim.port import Tree

MAXIMUM_REACHED = "max node group size reached"
IN_BACKOFF = "in backoff after failed scale-up"
TOTAL_REACHED = "max total nodes in cluster reached"
_LOWEST_PRIORITY = -10


class GroupGrowth(msgspec.Struct, frozen=True):
    """One group grows to `to`; `pods` are those that this helps."""

    group: NodeGroup
    to: int
    pods: tuple[Tree, ...]


class ScaleUpPlan(msgspec.Struct, frozen=True):
    """What a scan decides: at most one growth, and why the rest of the pods stay where they are."""

    growth: GroupGrowth | None
    unhelped: tuple[tuple[Tree, str], ...]
    awaiting: tuple[Tree, ...]


def waiting(pods: Sequence[Tree]) -> list[Tree]:
    """Pods that the scheduler found no place for, oldest first; those far below zero do not count."""
    found = [pod for pod in pods if _is_waiting(pod)]
    return sorted(found, key=lambda pod: (pod["metadata"].get("creationTimestamp", ""), _key(pod)))


def _is_waiting(pod: Mapping[str, Any]) -> bool:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    if spec.get("nodeName") or "deletionTimestamp" in pod["metadata"] or status.get("nominatedNodeName"):
        return False
    if int(spec.get("priority") or 0) < _LOWEST_PRIORITY:
        return False
    return any(
        one["type"] == "PodScheduled" and one["status"] == "False" and one.get("reason") == "Unschedulable"
        for one in status.get("conditions") or ()
    )


def _key(pod: Mapping[str, Any]) -> tuple[str, str]:
    return (pod["metadata"].get("namespace", ""), pod["metadata"]["name"])


def plan(
    groups: Sequence[NodeGroup],
    pods: Sequence[Tree],
    daemons: Sequence[Tree],
    *,
    backing_off: Mapping[str, str],
    nodes_total: int,
    max_nodes_total: int,
    standing: Sequence[NodeRoom] = (),
) -> ScaleUpPlan:
    """One scan. `pods` are waiting ones; what is free on the nodes that stand (`standing`) and on those that
    were asked for and are not ready yet takes theirs first.

    `daemons` stand on every fresh node; `backing_off` names groups that failed lately.
    """
    left = _without_placeable(groups, pods, daemons, standing)
    awaiting = tuple(pod for pod in pods if pod not in left)
    options: list[tuple[float, float, str, GroupGrowth]] = []
    reasons: dict[tuple[str, str], Counter[str]] = {_key(pod): Counter() for pod in left}
    for group in groups:
        template = _furnished(group.template, daemons)
        helped = [pod for pod in left if not _refused(template, pod, reasons[_key(pod)])]
        if not helped:
            continue
        blocked = _blocked(group, backing_off, nodes_total, max_nodes_total)
        if blocked:
            for pod in helped:
                reasons[_key(pod)][blocked] += 1
            continue
        most = group.maximum - group.target
        if max_nodes_total:
            most = min(most, max_nodes_total - nodes_total)
        main = _main_resource(helped)
        packed = pack(template, helped, most, main)
        if packed.nodes:
            option = GroupGrowth(group, group.target + packed.nodes, packed.pods)
            cpu = sum(room_cpu(template) for _ in range(packed.nodes))
            options.append((packed.wasted, cpu, group.id, option))
    growth = min(options, key=lambda one: one[:3])[3] if options else None
    helped_keys = {_key(pod) for pod in growth.pods} if growth else set()
    # In a scan that grows something cluster-autoscaler writes no NotTriggerScaleUp for the others.
    unhelped = (
        ()
        if growth
        else tuple((pod, _told(reasons[_key(pod)])) for pod in left if _key(pod) not in helped_keys)
    )
    return ScaleUpPlan(growth, unhelped, awaiting)


def room_cpu(template: Tree) -> int:
    """Millicores of a node, for the second choice of the expander."""
    return NodeRoom(template).free.get("cpu", 0)


def _furnished(template: Tree, daemons: Sequence[Tree]) -> Tree:
    """The template with what DaemonSets take of it."""
    room = NodeRoom(template)
    for pod in daemons:
        if not room.refusal(pod):
            room.take(pod)
    allocatable = {name: f"{amount}m" if name == "cpu" else str(amount) for name, amount in room.free.items()}
    return {**template, "status": {**template["status"], "allocatable": allocatable}}


def _refused(template: Tree, pod: Tree, reasons: Counter[str]) -> bool:
    text = NodeRoom(template).refusal(pod)
    if text:
        reasons[text] += 1
    return bool(text)


def _blocked(group: NodeGroup, backing_off: Mapping[str, str], nodes_total: int, max_nodes_total: int) -> str:
    if group.id in backing_off:
        return IN_BACKOFF
    if group.target >= group.maximum:
        return MAXIMUM_REACHED
    if max_nodes_total and nodes_total >= max_nodes_total:
        return TOTAL_REACHED
    return ""


def _main_resource(pods: Sequence[Tree]) -> str:
    for pod in pods:
        for container in (pod.get("spec") or {}).get("containers") or ():
            for resource in (container.get("resources") or {}).get("limits") or {}:
                if is_gpu_resource(resource):
                    return str(resource)
    return "cpu"


def _without_placeable(
    groups: Sequence[NodeGroup], pods: Sequence[Tree], daemons: Sequence[Tree], standing: Sequence[NodeRoom]
) -> list[Tree]:
    """Pods that fit neither on what stands (the scheduler has only not come to them yet: cluster-autoscaler's
    filter_out_schedulable.go) nor on what is on its way already."""
    rooms = list(standing)
    for group in groups:
        coming = max(0, group.target - len(group.ready))
        if not coming:
            continue
        template = _furnished(group.template, daemons)
        rooms += [NodeRoom(template) for _ in range(coming)]
    left: list[Tree] = []
    for pod in pods:
        room = next((one for one in rooms if not one.refusal(pod)), None)
        if room is None:
            left.append(pod)
        else:
            room.take(pod)
    return left


def _told(reasons: Counter[str]) -> str:
    """`2 max node group size reached, 1 Insufficient nvidia.com/gpu`; the numbers count groups."""
    if not reasons:
        return ""
    return ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items(), key=lambda one: one[0]))
