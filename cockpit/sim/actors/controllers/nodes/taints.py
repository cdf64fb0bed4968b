"""The taints of a node that controllers put and take away."""

from cockpit.k8s.labels import CONDITION_TAINTS, NOT_READY, UNREACHABLE, UNSCHEDULABLE
from cockpit.sim.port import Tree

_OF_CONDITIONS = frozenset({NOT_READY, UNREACHABLE, UNSCHEDULABLE, *CONDITION_TAINTS.values()})


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
        elif type_ in CONDITION_TAINTS and status == "True":
            found.append(CONDITION_TAINTS[type_])
    if node.get("spec", {}).get("unschedulable"):
        found.append(UNSCHEDULABLE)
    return found


def is_of_condition(taint: Tree) -> bool:
    """True for a NoSchedule taint that is the node controller's to put and take away."""
    return taint["effect"] == "NoSchedule" and taint["key"] in _OF_CONDITIONS
