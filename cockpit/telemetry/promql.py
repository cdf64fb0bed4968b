"""The queries as text. Pure.

No value is aggregated here: an instant vector keeps every label, and labels are resolved in Python. Sample
times need a query of their own, because the API stamps every row of an instant vector with the time of the
query (prometheus/promql/engine.go: "force it to the evaluation timestamp").
"""

import re
from collections.abc import Iterable

from cockpit.model.throttle import HARMFUL, REASONS
from cockpit.telemetry.names import SAMPLED_AT, Quantity, names_of

REASONED = ("cockpit_gpu_throttle",)
"""Names with a series for each reason (label `reason`)."""

PROBE = "vector(1)"
"""Answered by every Prometheus whatever it scrapes; `/` is refused by many proxies."""

HOST_LABELS = ("Hostname", "hostname", "node")
"""Labels that name a node, generation A first."""

_KEY_LABELS = (
    "UUID",
    "uuid",
    "gpu_uuid",
    "GPU_I_ID",
    "mig_instance",
    *HOST_LABELS,
    "exported_node",
    "node_name",
    "kubernetes_node",
    "instance",
    "namespace",
    "pod",
)
_RE2_SPECIAL = re.compile(r"([\\.+*?()|\[\]{}^$])")


def escape_re2(text: str) -> str:
    """A literal inside an RE2 pattern."""
    return _RE2_SPECIAL.sub(r"\\\1", text)


def quote(text: str) -> str:
    """A PromQL string literal in double quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def any_of(literals: Iterable[str]) -> str:
    """A quoted pattern that matches exactly these texts (matchers are anchored by Prometheus)."""
    return quote("|".join(escape_re2(one) for one in literals))


def instant(names: Iterable[str], nodes: Iterable[str] = ()) -> str:
    """Every series of these names; with nodes only theirs, whichever label names the node."""
    by_name = f"__name__=~{any_of(names)}"
    chosen = tuple(nodes)
    if not chosen:
        return f"{{{by_name}}}"
    pattern = any_of(chosen)
    return " or ".join(f"{{{by_name},{label}=~{pattern}}}" for label in HOST_LABELS)


def sample_times(nodes: Iterable[str] = ()) -> str:
    """When each card was last sampled, as epoch seconds, one row a card."""
    chosen = tuple(nodes)
    # `node` and `Hostname` cannot be asked in one selector, and timestamp() takes a selector only
    labels: tuple[str, ...] = HOST_LABELS if chosen else ("",)
    pattern = any_of(chosen)
    parts = [
        f"timestamp({name}{{{label}=~{pattern}}})" if label else f"timestamp({name})"
        for name in SAMPLED_AT
        for label in labels
    ]
    return f"max by ({', '.join(_KEY_LABELS)}) ({' or '.join(parts)})"


def held_down(nodes: Iterable[str] = ()) -> str:
    """Cards whose clocks something harmful holds down: our exporter's series that are 1, DCGM's bit masks."""
    masks = tuple(name for name in names_of((Quantity.THROTTLE,)) if name not in REASONED)
    words = any_of(word for bit, word, _ in REASONS if bit & HARMFUL)
    chosen = tuple(nodes)
    parts = []
    for label in HOST_LABELS if chosen else ("",):
        at = f",{label}=~{any_of(chosen)}" if label else ""
        parts += [f"{name}{{reason=~{words}{at}}} == 1" for name in REASONED]
        parts.append(f"{{__name__=~{any_of(masks)}{at}}} > 1")
    return " or ".join(parts)


def has_gpus(names: Iterable[str]) -> str:
    """How many series of these names there are; an empty answer means none."""
    return f"count({instant(names)})"
