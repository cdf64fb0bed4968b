"""Which nodes a pod's node selector and required node affinity choose.

Source: component-helpers scheduling/corev1/nodeaffinity/nodeaffinity.go (v0.36).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from cockpit.k8s.selectors import Labels, Test, all_of, nowhere, requirement_test, requirements_of
from cockpit.model.scheduling import NodeTerm

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_NAME = "metadata.name"


def node_terms_of(raw: Any) -> tuple[NodeTerm, ...]:
    """The terms of a v1.NodeSelector from its tree (`nodeSelectorTerms`)."""
    terms = raw.get("nodeSelectorTerms") if isinstance(raw, dict) else None
    return tuple(node_term_of(term) for term in terms or () if isinstance(term, dict))


def node_term_of(raw: Mapping[str, Any]) -> NodeTerm:
    """One term from its tree."""
    return NodeTerm(requirements_of(raw.get("matchExpressions")), requirements_of(raw.get("matchFields")))


def required_terms_of(spec: Mapping[str, Any]) -> tuple[NodeTerm, ...] | None:
    """The terms of a pod spec's required node affinity, None where it requires nothing."""
    affinity = spec.get("affinity")
    by_node = affinity.get("nodeAffinity") if isinstance(affinity, dict) else None
    required = by_node.get(REQUIRED) if isinstance(by_node, dict) else None
    return node_terms_of(required) if isinstance(required, dict) else None


class NodeTerms:
    """Compiled terms, any of which suffices. An empty term chooses nothing, and so do no terms."""

    __slots__ = ("_terms",)

    def __init__(self, terms: Iterable[NodeTerm]) -> None:
        self._terms = [
            (
                all_of([requirement_test(e.key, e.operator, e.values) for e in term.expressions]),
                _fields_test(term),
            )
            for term in terms
            if term.expressions or term.fields
        ]

    def matches(self, name: str, labels: Labels) -> bool:
        """Whether some term chooses the node with this name and these labels."""
        for by_labels, by_fields in self._terms:
            if by_labels(labels) and (by_fields is None or by_fields({_NAME: name})):
                return True
        return False


def _fields_test(term: NodeTerm) -> Test | None:
    """Of fields only In and NotIn of one value are served."""
    if not term.fields:
        return None
    if any(field.operator not in ("In", "NotIn") or len(field.values) != 1 for field in term.fields):
        return nowhere
    return all_of([requirement_test(field.key, field.operator, field.values) for field in term.fields])


def node_matches(spec: Mapping[str, Any], name: str, labels: Labels) -> bool:
    """Whether the node selector and the required node affinity of a pod spec choose the node."""
    terms = required_terms_of(spec)
    selector = (spec.get("nodeSelector") or {}).items()
    return is_chosen(selector, None if terms is None else NodeTerms(terms), name, labels)


def is_chosen(
    selector: Iterable[tuple[str, str]], terms: NodeTerms | None, name: str, labels: Labels
) -> bool:
    """Whether a node selector and the terms of a required node affinity choose the node."""
    for key, value in selector:
        if labels.get(key) != value:
            return False
    return terms is None or terms.matches(name, labels)


def names_required(terms: Iterable[NodeTerm]) -> frozenset[str] | None:
    """Node names to which the fields of every term bind the pod; None where some term leaves it open."""
    names: frozenset[str] = frozenset()
    for term in terms:
        mine: frozenset[str] | None = None
        for field in term.fields:
            if field.key == _NAME and field.operator == "In":
                values = frozenset(field.values)
                mine = values if mine is None else mine & values
        if mine is None:
            return None
        names |= mine
    return names
