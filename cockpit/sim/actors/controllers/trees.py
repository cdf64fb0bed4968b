"""Small questions asked of JSON trees, and the difference of two as a merge patch."""

from collections.abc import Mapping, Sequence
from typing import Any

from cockpit.sim.port import Tree
from cockpit.sim.times import rfc3339, seconds_of


def key_of(tree: Tree) -> tuple[str, str]:
    """(namespace, name)."""
    metadata = tree["metadata"]
    return (metadata.get("namespace", ""), metadata["name"])


def uid_of(tree: Tree) -> str:
    """The uid, "" for an object that has none."""
    return str(tree["metadata"].get("uid", ""))


def controller_of(tree: Tree) -> Tree | None:
    """The owner reference with `controller: true`, or None."""
    references: list[Tree] | None = tree["metadata"].get("ownerReferences")
    if references:
        for reference in references:
            if reference.get("controller"):
                return reference
    return None


def controller_reference(owner: Tree) -> Tree:
    """The owner reference that makes `owner` the controller of a new object."""
    metadata = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def condition_of(tree: Tree, type_: str) -> Tree | None:
    """The condition of that type in the status of `tree`, or None."""
    return next((c for c in tree.get("status", {}).get("conditions") or () if c.get("type") == type_), None)


def is_condition(tree: Tree, type_: str, status: str = "True") -> bool:
    """True when the condition is there with that status."""
    found = condition_of(tree, type_)
    return found is not None and found.get("status") == status


def is_deleting(tree: Tree) -> bool:
    """True once the object has been deleted and waits for its end."""
    return bool(tree["metadata"].get("deletionTimestamp"))


def phase_of(pod: Tree) -> str:
    """The pod's phase; a pod without one is Pending."""
    return str(pod.get("status", {}).get("phase") or "Pending")


def is_ended(pod: Tree) -> bool:
    """True for Succeeded and Failed."""
    return phase_of(pod) in ("Succeeded", "Failed")


def is_active(pod: Tree) -> bool:
    """True when the pod has neither ended nor been deleted."""
    return not is_ended(pod) and not is_deleting(pod)


def is_terminating(pod: Tree) -> bool:
    """True when the pod was deleted and has not ended yet."""
    return is_deleting(pod) and not is_ended(pod)


def is_ready(pod: Tree) -> bool:
    """True when the pod's condition Ready is True."""
    return is_condition(pod, "Ready")


def ready_since_seconds(pod: Tree) -> float | None:
    """When the pod became ready, None where it is not."""
    found = condition_of(pod, "Ready")
    if found is None or found.get("status") != "True" or not found.get("lastTransitionTime"):
        return None
    return seconds_of(found["lastTransitionTime"])


def created_seconds(tree: Tree) -> float:
    """When the server created it."""
    text = tree["metadata"].get("creationTimestamp")
    return seconds_of(text) if text else 0.0


def removal_order(pod: Tree) -> tuple[Any, ...]:
    """Sorts first what goes first when there are too many (`ActivePods` of pkg/controller)."""
    ready = ready_since_seconds(pod)
    restarts = max(
        (c.get("restartCount", 0) for c in pod.get("status", {}).get("containerStatuses") or ()), default=0
    )
    cost = (pod["metadata"].get("annotations") or {}).get("controller.kubernetes.io/pod-deletion-cost", "0")
    return (
        bool(pod["spec"].get("nodeName")),
        {"Pending": 0, "Unknown": 1, "Running": 2}.get(phase_of(pod), 3),
        is_ready(pod),
        int(cost) if cost.lstrip("-").isdigit() else 0,
        -(ready or 0.0),
        -restarts,
        -created_seconds(pod),
        pod["metadata"]["name"],
    )


def set_condition(
    conditions: list[Tree], type_: str, status: str, *, reason: str, message: str, now: float
) -> bool:
    """Put a condition into a list of one's own; True when it changed. The time moves with the status only."""
    fresh = {"type": type_, "status": status, "reason": reason, "message": message}
    for place, held in enumerate(conditions):
        if held["type"] != type_:
            continue
        if all(held.get(name) == value for name, value in fresh.items()):
            return False
        moved = held.get("status") != status
        conditions[place] = {**held, **fresh}
        if moved:
            conditions[place]["lastTransitionTime"] = rfc3339(now)
        return True
    conditions.append({**fresh, "lastTransitionTime": rfc3339(now)})
    return True


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> Tree:
    """The JSON merge patch that makes `after` out of `before`; {} when they are equal."""
    patch: Tree = {}
    for name, value in after.items():
        held = before.get(name)
        if isinstance(value, dict) and isinstance(held, dict):
            inner = difference(held, value)
            if inner:
                patch[name] = inner
        elif name not in before or held != value:
            patch[name] = value
    for name in before:
        if name not in after:
            patch[name] = None
    return patch


def without_empty(tree: Mapping[str, Any], keep: Sequence[str] = ()) -> Tree:
    """A copy without members that Go's `omitempty` leaves out (0, "", None, empty), but those named."""
    return {name: value for name, value in tree.items() if name in keep or value not in (0, "", None, [], {})}
