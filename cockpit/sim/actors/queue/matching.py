"""May these pods use this flavor: its taints against their tolerations, its labels against their selectors.

Only label keys that some flavor of the same group carries count; others are the scheduler's business
(kueue pkg/scheduler/flavorassigner/flavorassigner.go, flavorSelector).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from cockpit.sim.actors.queue.spec import FlavorSpec
from cockpit.sim.port import Tree

_HARD = ("NoSchedule", "NoExecute")


def tolerates(taint: Tree, tolerations: Iterable[Tree]) -> bool:
    """True when one toleration covers the taint (core/v1 Toleration)."""
    for one in tolerations:
        if one.get("effect") and one["effect"] != taint.get("effect"):
            continue
        if one.get("key") and one["key"] != taint.get("key"):
            continue
        operator = one.get("operator") or "Equal"
        if operator == "Exists" or (
            operator == "Equal" and one.get("key") and (one.get("value") or "") == (taint.get("value") or "")
        ):
            return True
    return False


def untolerated(flavor: FlavorSpec, pod_spec: Tree) -> Tree | None:
    """The first taint of the flavor that keeps these pods away."""
    tolerations = [*(pod_spec.get("tolerations") or ()), *flavor.tolerations]
    for taint in flavor.taints:
        if taint.get("effect") in _HARD and not tolerates(taint, tolerations):
            return taint
    return None


def taint_text(taint: Tree) -> str:
    """A taint as Go prints core/v1 Taint: `{key value effect <nil>}`."""
    added = taint.get("timeAdded") or "<nil>"
    return f"{{{taint.get('key', '')} {taint.get('value', '')} {taint.get('effect', '')} {added}}}"


def affinity_matches(pod_spec: Tree, keys: frozenset[str], labels: Mapping[str, str]) -> bool:
    """True when the pods' node selector and required node affinity allow nodes with these labels."""
    for key, value in (pod_spec.get("nodeSelector") or {}).items():
        if key in keys and labels.get(key) != value:
            return False
    node_affinity = (pod_spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = node_affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    kept: list[list[Tree]] = []
    for term in required.get("nodeSelectorTerms") or ():
        wanted = [one for one in term.get("matchExpressions") or () if one.get("key") in keys]
        if not wanted:  # terms are alternatives: one that says nothing here lets every flavor in
            return True
        kept.append(wanted)
    return not kept or any(all(expression_matches(one, labels) for one in term) for term in kept)


def expression_matches(expression: Tree, labels: Mapping[str, str]) -> bool:
    """One requirement of a node or label selector."""
    key: str = expression.get("key", "")
    operator: str = expression.get("operator", "")
    values: list[Any] = expression.get("values") or []
    has, value = key in labels, labels.get(key, "")
    if operator == "In":
        return has and value in values
    if operator == "NotIn":
        return not has or value not in values
    if operator == "Exists":
        return has
    if operator == "DoesNotExist":
        return not has
    if operator in ("Gt", "Lt") and has and len(values) == 1:
        try:
            here, bound = int(value), int(values[0])
        except ValueError:
            return False
        return here > bound if operator == "Gt" else here < bound
    return False


def selector_matches(selector: Tree | None, labels: Mapping[str, str]) -> bool:
    """A metav1.LabelSelector: None selects nothing, an empty one everything."""
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(expression_matches(one, labels) for one in selector.get("matchExpressions") or ())
