"""Room on nodes while pods are tried on them: the part of the scheduler's filters that an autoscaler plays.

Resources, taints, node selector and required node affinity. Returns the scheduler's own words for what is
missing. What is not looked at here (spread, volumes, other pods' affinity) is decided by the scheduler alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from cockpit.model.quantity import parse_quantity
from cockpit.sim.port import Tree

Amounts = dict[str, float]
_ROUNDING = 1e-9


def amount_of(quantity: object) -> float:
    """A quantity in base units; what the server would refuse counts as none."""
    try:
        return parse_quantity(str(quantity))
    except ValueError:
        return 0.0


def requests_of(pod: Mapping[str, Any]) -> Amounts:
    """What a pod asks for: containers and sidecars summed, init containers by their largest, one pod slot."""
    spec = pod.get("spec") or {}
    total: Amounts = {"pods": 1.0}
    for container in spec.get("containers") or ():
        _add(total, _asked(container))
    sidecars: Amounts = {}
    highest: Amounts = {}
    for container in spec.get("initContainers") or ():
        asked = _asked(container)
        if container.get("restartPolicy") == "Always":
            _add(sidecars, asked)
            _add(total, asked)
        else:
            for resource, amount in asked.items():
                needed = amount + sidecars.get(resource, 0.0)
                highest[resource] = max(highest.get(resource, 0.0), needed)
    for resource, amount in highest.items():
        total[resource] = max(total.get(resource, 0.0), amount)
    _add(total, {key: amount_of(value) for key, value in (spec.get("overhead") or {}).items()})
    return total


def _asked(container: Mapping[str, Any]) -> Amounts:
    resources = container.get("resources") or {}
    asked = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {resource: amount_of(value) for resource, value in asked.items()}


def _add(total: Amounts, more: Mapping[str, float]) -> None:
    for resource, amount in more.items():
        total[resource] = total.get(resource, 0.0) + amount


class Room:
    """What is left on one node, real or imagined."""

    def __init__(self, node: Tree, pods: Iterable[Tree] = ()) -> None:
        self.node = node
        allocatable = (node.get("status") or {}).get("allocatable") or {}
        self.free: Amounts = {resource: amount_of(value) for resource, value in allocatable.items()}
        for pod in pods:
            self.take(pod)

    def take(self, pod: Mapping[str, Any]) -> None:
        """Put a pod here, whether or not it fits."""
        for resource, amount in requests_of(pod).items():
            self.free[resource] = self.free.get(resource, 0.0) - amount

    def refusal(self, pod: Mapping[str, Any]) -> str:
        """Why the pod does not fit, in the scheduler's words; "" when it does."""
        spec = pod.get("spec") or {}
        taint = _untolerated(self.node, spec.get("tolerations") or ())
        if taint is not None:
            return f"node(s) had untolerated taint {{{taint.get('key')}: {taint.get('value', '')}}}"
        if not _is_selected(self.node, spec):
            return "node(s) didn't match Pod's node affinity/selector"
        for resource, amount in sorted(requests_of(pod).items()):
            if amount > self.free.get(resource, 0.0) + _ROUNDING:
                return "Too many pods" if resource == "pods" else f"Insufficient {resource}"
        return ""


def _untolerated(node: Mapping[str, Any], tolerations: Sequence[Mapping[str, Any]]) -> Tree | None:
    for taint in (node.get("spec") or {}).get("taints") or ():
        if taint.get("effect") == "PreferNoSchedule":
            continue
        if not any(_tolerates(one, taint) for one in tolerations):
            found: Tree = taint
            return found
    return None


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    key = toleration.get("key", "")
    if toleration.get("operator", "Equal") == "Exists":
        return key in ("", taint.get("key"))
    return bool(key == taint.get("key") and toleration.get("value", "") == taint.get("value", ""))


def _is_selected(node: Mapping[str, Any], spec: Mapping[str, Any]) -> bool:
    labels = node["metadata"].get("labels") or {}
    wanted = spec.get("nodeSelector") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms = required.get("nodeSelectorTerms")
    if terms is None:
        return True
    return any(_matches(term, labels, node["metadata"]["name"]) for term in terms)


def _matches(term: Mapping[str, Any], labels: Mapping[str, str], name: str) -> bool:
    expressions = term.get("matchExpressions") or ()
    fields = term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    return all(_holds(one, labels.get(one["key"])) for one in expressions) and all(
        _holds(one, name) for one in fields
    )


def _holds(expression: Mapping[str, Any], value: str | None) -> bool:
    values: Sequence[str] = expression.get("values") or ()
    match expression.get("operator"):
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and value.isdigit() and int(value) > int(values[0])
        case "Lt":
            return value is not None and value.isdigit() and int(value) < int(values[0])
    return False


class Packed(msgspec.Struct, frozen=True):
    """How many imagined nodes of a template some pods fill, and which pods found a place."""

    nodes: int
    pods: tuple[Tree, ...]
    wasted: float


def pack(template: Tree, pods: Sequence[Tree], most_nodes: int, main: str) -> Packed:
    """First fit of pods on at most `most_nodes` fresh nodes. `main` is the resource whose waste counts."""
    rooms: list[Room] = []
    placed: list[Tree] = []
    for pod in pods:
        room = next((one for one in rooms if not one.refusal(pod)), None)
        if room is None:
            if len(rooms) == most_nodes:
                continue
            fresh = Room(template)
            if fresh.refusal(pod):
                continue
            rooms.append(fresh)
            room = fresh
        room.take(pod)
        placed.append(pod)
    wasted = sum((room.free.get(main, 0.0) for room in rooms), 0.0)
    return Packed(len(rooms), tuple(placed), wasted)
