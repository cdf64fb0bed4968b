"""Which taints a toleration covers.

Source: k8s.io/api core/v1/toleration.go (v0.36). Its operators Gt and Lt are behind a gate that is off by
default (TaintTolerationComparisonOperators): they cover nothing here.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cockpit.model.node import Taint
from cockpit.model.scheduling import Toleration

HARD = ("NoSchedule", "NoExecute")
"""Effects that keep a pod off a node; PreferNoSchedule only counts in scores."""


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether a toleration covers a taint. An empty effect or key stands for all, no operator for Equal."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value


def is_tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Whether any of the tolerations covers the taint."""
    for toleration in tolerations:  # noqa: SIM110 (asked for each pod and node)
        if tolerates(toleration, taint):
            return True
    return False


def untolerated(
    taints: Iterable[Taint], tolerations: Sequence[Toleration], effects: Sequence[str] = HARD
) -> Taint | None:
    """The first taint of these effects that nothing covers."""
    for taint in taints:
        if taint.effect in effects and not is_tolerated(taint, tolerations):
            return taint
    return None


def toleration_of(raw: Mapping[str, Any]) -> Toleration:
    """A toleration from its tree."""
    key, operator, value, effect = raw.get("key"), raw.get("operator"), raw.get("value"), raw.get("effect")
    return Toleration(
        key if type(key) is str else "",
        operator if operator and type(operator) is str else "Equal",
        value if type(value) is str else "",
        effect if type(effect) is str else "",
    )


def tolerations_of(raw: Any) -> tuple[Toleration, ...]:
    """A list of tolerations from its tree."""
    if not isinstance(raw, (list, tuple)):
        return ()
    return tuple([toleration_of(item) for item in raw if isinstance(item, dict)])


def taint_of(raw: Mapping[str, Any]) -> Taint:
    """A taint from its tree."""
    key, value, effect = raw.get("key"), raw.get("value"), raw.get("effect")
    return Taint(
        key if type(key) is str else "",
        value if type(value) is str else "",
        effect if type(effect) is str else "",
    )


def taint_text(taint: Taint) -> str:
    """A taint as the scheduler's messages name it: `{key: value}`."""
    return f"{{{taint.key}: {taint.value}}}"
