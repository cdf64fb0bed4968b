"""Taints and tolerations, and the node selectors of pods, as far as controllers need them."""

from collections.abc import Iterable, Sequence
from typing import Any

from cockpit.sim.port import Tree

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_PRESSURES = {
    "MemoryPressure": "node.kubernetes.io/memory-pressure",
    "DiskPressure": "node.kubernetes.io/disk-pressure",
    "PIDPressure": "node.kubernetes.io/pid-pressure",
    "NetworkUnavailable": "node.kubernetes.io/network-unavailable",
}
_OF_CONDITIONS = frozenset({NOT_READY, UNREACHABLE, UNSCHEDULABLE, *_PRESSURES.values()})


def taints_of(node: Tree) -> list[Tree]:
    """`spec.taints`."""
    return list(node["spec"].get("taints") or ()) if node.get("spec") else []


def wanted_no_schedule(node: Tree) -> list[str]:
    """Keys of the NoSchedule taints that the node's conditions ask for, in the order of its conditions."""
    found: list[str] = []
    for condition in node.get("status", {}).get("conditions") or ():
        type_, status = condition["type"], condition["status"]
        if type_ == "Ready" and status in ("False", "Unknown"):
            found.append(NOT_READY if status == "False" else UNREACHABLE)
        elif type_ in _PRESSURES and status == "True":
            found.append(_PRESSURES[type_])
    if node.get("spec", {}).get("unschedulable"):
        found.append(UNSCHEDULABLE)
    return found


def is_of_condition(taint: Tree) -> bool:
    """True for a NoSchedule taint that is the node controller's to put and take away."""
    return taint["effect"] == "NoSchedule" and taint["key"] in _OF_CONDITIONS


def tolerates(toleration: Tree, taint: Tree) -> bool:
    """True when a toleration covers a taint."""
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    return bool(toleration.get("value", "") == taint.get("value", ""))


def untolerated(taints: Iterable[Tree], tolerations: Sequence[Tree], effects: Sequence[str]) -> list[Tree]:
    """Taints of these effects that nothing tolerates."""
    return [
        taint
        for taint in taints
        if taint["effect"] in effects and not any(tolerates(toleration, taint) for toleration in tolerations)
    ]


def node_matches(spec: Tree, node: Tree) -> bool:
    """True when a pod's nodeSelector and required node affinity select the node."""
    labels = node["metadata"].get("labels") or {}
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity: dict[str, Any] = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    fields = {"metadata.name": node["metadata"]["name"]}
    return any(
        (term.get("matchExpressions") or term.get("matchFields"))
        and all(_holds(e, labels) for e in term.get("matchExpressions") or ())
        and all(_holds(e, fields) for e in term.get("matchFields") or ())
        for term in required.get("nodeSelectorTerms") or ()
    )


def _holds(expression: Tree, labels: dict[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or []
    held = labels.get(key)
    match expression["operator"]:
        case "In":
            return held in values
        case "NotIn":
            return held not in values
        case "Exists":
            return held is not None
        case "DoesNotExist":
            return held is None
        case "Gt" | "Lt" as operator:
            if held is None or not held.isdigit() or not values:
                return False
            return int(held) > int(values[0]) if operator == "Gt" else int(held) < int(values[0])
    return False
