"""Requirements on labels, and the selectors made of them.

Source: apimachinery pkg/labels/selector.go, pkg/apis/meta/v1/helpers.go (v0.36).
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from cockpit.model.scheduling import Requirement, Selector

Labels = Mapping[str, str]
Test = Callable[[Labels], bool]
"""A compiled question about labels."""

_MOST_INT64 = 2**63 - 1
_MOST_DIGITS = 63  # of a label's value


def int64(text: str) -> int | None:
    """The number that Gt and Lt read in a label's value, None where there is none.

    Go reads decimal digits up to 2**63 - 1. It would take a sign, too, but no label's value may have one.
    """
    if len(text) > _MOST_DIGITS or not (text.isascii() and text.isdigit()):
        return None
    number = int(text)
    return number if number <= _MOST_INT64 else None


@lru_cache(maxsize=8192)
def requirement_test(key: str, operator: str, values: tuple[str, ...]) -> Test:
    """Compile one requirement: In, NotIn, Exists, DoesNotExist, Gt or Lt.

    One that the API server would refuse (another operator, values where none may be, none where some must be,
    a bound that is not a number) holds nowhere.
    """
    match operator:
        case "In" if len(values) == 1:
            wanted = values[0]
            return lambda labels: labels.get(key) == wanted
        case "In":
            chosen = frozenset(values)
            return lambda labels: labels.get(key) in chosen
        case "NotIn" if values:
            refused = frozenset(values)
            return lambda labels: labels.get(key) not in refused
        case "Exists" if not values:
            return lambda labels: key in labels
        case "DoesNotExist" if not values:
            return lambda labels: key not in labels
        case "Gt" | "Lt" if len(values) == 1 and (bound := int64(values[0])) is not None:
            return _comparison(key, bound, is_above=operator == "Gt")
    return nowhere


def _comparison(key: str, bound: int, *, is_above: bool) -> Test:
    def test(labels: Labels) -> bool:
        value = int64(labels.get(key, ""))
        return value is not None and (value > bound if is_above else value < bound)

    return test


def nowhere(labels: Labels) -> bool:
    """The test that no labels pass."""
    return False


def everywhere(labels: Labels) -> bool:
    """The test that all labels pass."""
    return True


def holds(requirement: Requirement, labels: Labels) -> bool:
    """Whether labels meet one requirement."""
    return requirement_test(requirement.key, requirement.operator, requirement.values)(labels)


def selects(selector: Selector, labels: Labels) -> bool:
    """Whether a selector chooses these labels: None chooses nothing, an empty one everything."""
    if selector is None:
        return False
    for item in selector:  # noqa: SIM110 (a generator takes half as long again)
        if not requirement_test(item.key, item.operator, item.values)(labels):
            return False
    return True


class LabelSelector:
    """A selector that is asked often: compiled, `matches` is its test."""

    __slots__ = ("is_empty", "is_nothing", "matches")

    def __init__(self, selector: Selector) -> None:
        self.is_nothing = selector is None
        self.is_empty = selector is not None and not selector
        self.matches: Test = nowhere
        if selector is not None:
            self.matches = all_of(
                [requirement_test(item.key, item.operator, item.values) for item in selector]
            )


def all_of(tests: list[Test]) -> Test:
    """One test that passes where all pass; without any it passes everywhere."""
    if not tests:
        return everywhere
    if len(tests) == 1:
        return tests[0]

    def test(labels: Labels) -> bool:
        for one in tests:  # noqa: SIM110 (asked for each pod and node)
            if not one(labels):
                return False
        return True

    return test


def requirement_of(raw: Mapping[str, Any]) -> Requirement:
    """A requirement from its tree (`key`, `operator`, `values`)."""
    key, operator, values = raw.get("key"), raw.get("operator"), raw.get("values")
    return Requirement(
        key if isinstance(key, str) else "",
        operator if isinstance(operator, str) else "",
        tuple(map(str, values)) if isinstance(values, (list, tuple)) else (),
    )


def requirements_of(raw: Any) -> tuple[Requirement, ...]:
    """A list of requirements from its tree."""
    if not isinstance(raw, (list, tuple)):
        return ()
    return tuple([requirement_of(item) for item in raw if isinstance(item, dict)])


def selector_of(raw: Any, also: Labels | None = None) -> Selector:
    """A metav1.LabelSelector from its tree; None where there is none.

    `also` are further labels that must be equal, and override `matchLabels`.
    """
    if not isinstance(raw, dict):
        return None
    labels = raw.get("matchLabels")
    wanted = {**(labels if isinstance(labels, dict) else {}), **(also or {})}
    given = sorted((str(key), str(value)) for key, value in wanted.items() if value is not None)
    found = [Requirement(key, "In", (value,)) for key, value in given]
    return (*found, *requirements_of(raw.get("matchExpressions")))
