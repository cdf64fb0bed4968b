"""Label selectors and node selectors, parsed once and matched often."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

Labels = Mapping[str, str]
Test = Callable[[Labels], bool]


def _number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def _requirement(key: str, operator: str, values: Sequence[str]) -> Test:
    wanted = frozenset(values)
    if operator == "In":
        return lambda labels: labels.get(key) in wanted
    if operator == "NotIn":
        return lambda labels: labels.get(key) not in wanted
    if operator == "Exists":
        return lambda labels: key in labels
    if operator == "DoesNotExist":
        return lambda labels: key not in labels
    if operator in ("Gt", "Lt") and len(values) == 1 and (bound := _number(values[0])) is not None:
        return _compared(key, bound, operator == "Gt")
    return lambda _: False


def _compared(key: str, bound: int, above: bool) -> Test:
    def test(labels: Labels) -> bool:
        value = _number(labels.get(key, ""))
        return value is not None and (value > bound if above else value < bound)

    return test


def _tests(expressions: Sequence[Mapping[str, Any]]) -> list[Test]:
    return [_requirement(e["key"], e.get("operator", ""), e.get("values") or ()) for e in expressions]


class Selector:
    """A `metav1.LabelSelector`. A missing one matches nothing, an empty one everything."""

    __slots__ = ("_labels", "_tests", "is_empty", "is_nothing")

    def __init__(self, tree: Mapping[str, Any] | None, also: Labels | None = None) -> None:
        """`also` are labels that must be equal besides (matchLabelKeys)."""
        self.is_nothing = tree is None
        given = tree or {}
        self._labels = tuple({**(given.get("matchLabels") or {}), **(also or {})}.items())
        self._tests = _tests(given.get("matchExpressions") or ())
        self.is_empty = not self.is_nothing and not self._labels and not self._tests

    def matches(self, labels: Labels) -> bool:
        """True when `labels` satisfy every requirement."""
        if self.is_nothing:
            return False
        return all(labels.get(key) == value for key, value in self._labels) and all(
            test(labels) for test in self._tests
        )


class NodeTerms:
    """Terms of a `v1.NodeSelector`, any of which suffices. Without a term nothing matches."""

    __slots__ = ("_terms",)

    def __init__(self, terms: Sequence[Mapping[str, Any]]) -> None:
        self._terms = [
            (_tests(term.get("matchExpressions") or ()), _tests(term.get("matchFields") or ()))
            for term in terms
            if term.get("matchExpressions") or term.get("matchFields")
        ]

    def matches(self, name: str, labels: Labels) -> bool:
        """True when some term matches the node's name and labels."""
        fields = {"metadata.name": name}
        return any(
            all(test(labels) for test in by_label) and all(test(fields) for test in by_field)
            for by_label, by_field in self._terms
        )


def names_required(terms: Sequence[Mapping[str, Any]]) -> frozenset[str] | None:
    """Node names to which `matchFields` of every term bind the pod; None where some term leaves it open."""
    names: frozenset[str] = frozenset()
    for term in terms:
        mine: frozenset[str] | None = None
        for field in term.get("matchFields") or ():
            if field.get("key") == "metadata.name" and field.get("operator") == "In":
                values = frozenset(field.get("values") or ())
                mine = values if mine is None else mine & values
        if mine is None:
            return None
        names |= mine
    return names


@lru_cache(maxsize=8192)
def tolerates(toleration: tuple[str, str, str, str], taint: tuple[str, str, str]) -> bool:
    """Whether (key, operator, value, effect) covers the taint (key, value, effect).

    Source: k8s.io/api core/v1 Toleration.ToleratesTaint; Lt and Gt are behind a gate that is off in 1.36.
    """
    key, operator, value, effect = toleration
    if (effect and effect != taint[2]) or (key and key != taint[0]):
        return False
    if operator in ("", "Equal"):
        return value == taint[1]
    return operator == "Exists"
