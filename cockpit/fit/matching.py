"""Selectors, node terms, taints: the small predicates of the scheduler's filters.

Source: apimachinery pkg/labels/selector.go, component-helpers scheduling/corev1 (v0.36).
"""

from collections.abc import Callable, Mapping

import msgspec

from cockpit.model.node import Taint
from cockpit.model.scheduling import PodTerm, Requirement, Selector

NAMESPACE_LABEL = "kubernetes.io/metadata.name"
"""Every namespace carries its own name under this label."""

Labelled = Mapping[str, str]


class NodeTerm(msgspec.Struct, frozen=True, gc=False):
    """One term of required node affinity: all expressions and fields hold; an empty term holds nowhere."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()  # only metadata.name exists


class Toleration(msgspec.Struct, frozen=True, gc=False):
    """An empty key tolerates every key, an empty effect every effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


def _whole(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def _compares(requirement: Requirement, held: str | None, *, greater: bool) -> bool:
    if held is None or len(requirement.values) != 1:
        return False
    one, other = _whole(held), _whole(requirement.values[0])
    return one is not None and other is not None and (one > other if greater else one < other)


_OPERATORS: dict[str, Callable[[Requirement, str | None], bool]] = {
    "In": lambda asked, held: held is not None and held in asked.values,
    "NotIn": lambda asked, held: held is None or held not in asked.values,
    "Exists": lambda _, held: held is not None,
    "DoesNotExist": lambda _, held: held is None,
    "Gt": lambda asked, held: _compares(asked, held, greater=True),
    "Lt": lambda asked, held: _compares(asked, held, greater=False),
}


def holds(requirement: Requirement, labels: Labelled) -> bool:
    """Whether labels meet one requirement; an operator that nobody knows holds nowhere."""
    operator = _OPERATORS.get(requirement.operator)
    return operator is not None and operator(requirement, labels.get(requirement.key))


def selects(selector: Selector, labels: Labelled) -> bool:
    """Whether a label selector chooses these labels."""
    return selector is not None and all(holds(one, labels) for one in selector)


def meets(term: NodeTerm, name: str, labels: Labelled) -> bool:
    """Whether a node meets one term."""
    if not term.expressions and not term.fields:
        return False
    return all(holds(one, labels) for one in term.expressions) and all(
        holds(one, {"metadata.name": name}) for one in term.fields
    )


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether one toleration is about one taint."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and bool(toleration.key) and toleration.value == taint.value


def concerns(term: PodTerm, namespace: str, labels: Labelled, space_labels: Mapping[str, Labelled]) -> bool:
    """Whether a term of pod (anti-)affinity chooses a pod.

    `space_labels` are labels of namespaces as far as known; a name of its own every namespace has.
    """
    if not selects(term.selector, labels):
        return False
    if namespace in term.namespaces:
        return True
    if term.namespace_selector is None:
        return False
    return selects(term.namespace_selector, {NAMESPACE_LABEL: namespace, **space_labels.get(namespace, {})})
