"""The queries as text. Pure.

No value is added up here: an instant vector keeps every label, and labels are resolved in Python; of a large
fleet the server leaves out labels that say nothing new (`trimmed`). Sample times need a query of their own,
because the API stamps every row of an instant vector with the time of the query (prometheus/promql/engine.go:
"force it to the evaluation timestamp").
"""

import re
from collections.abc import Iterable, Sequence

from cockpit.model.throttle import HARMFUL, REASONS
from cockpit.telemetry.labels import HOSTS, NUMBERED, SITE_CARDS, UUIDS
from cockpit.telemetry.names import FAMILY_LABEL, SAMPLED_AT, GpuMetric, names_of

REASONED = {
    "cockpit_gpu_throttle": "reason",
    "DCGM_EXP_CLOCK_EVENTS_COUNT": "clock_event",
    "dcgm_exp_clock_events_count": "clock_event",
}
"""Names with a series for each reason, and the label with its word."""

PROBE = "vector(1)"
"""Answered by every Prometheus, with any targets; `/` is refused by many proxies."""

UNKNOWN = (
    'count by (job) ({__name__=~"(?i).*(nvidia|gpu|npu|tpu|dcgm|neuron|habana|gaudi|xpu|accelerator|amdsmi)'
    '.*",__name__!~"kube_.*|cockpit.*"})'
)
"""Series that by their names are of accelerators, by scrape job."""

HOST_LABELS = ("Hostname", "hostname", "node")
"""Labels that name a node, generation A first."""

_CARD_LABELS = (
    *UUIDS,
    *NUMBERED,
    "GPU_I_ID",
    "mig_instance",
    *HOSTS,
)
_SENSOR_LABELS = (
    *("clock_type", "location", "type", "sub_dev", "reason", "clock_event", "make"),
    *("hw_gpu_task", "hw_memory_location", "hw_sensor_location", "hw_frequency_domain"),
    *("aggregation", "statistic", "com_intel_subdevice_id"),
)
"""Labels that say which of a card's sensors a series is of (`names.ONLY`, `names.TILED`)."""

_SCRAPE_LABELS = ("instance", "namespace", "pod")
"""Labels that lead to a card's node where no host label names one."""

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
    return quote("|".join(escape_re2(item) for item in literals))


def any_name(names: Iterable[str]) -> str:
    """As `any_of`, shorter where names begin alike: a question to a proxy has its limits."""
    return quote(_alternatives(sorted(names)))


def _alternatives(names: Sequence[str]) -> str:
    groups: dict[str, list[str]] = {}
    for name in names:
        head, mark, rest = name.partition("_")
        groups.setdefault(head + mark, []).append(rest)
    return "|".join(
        f"{head}{escape_re2(rest[0])}" if len(rest) == 1 else f"{head}({_alternatives(rest)})"
        for head, rest in groups.items()
    )


def instant(names: Iterable[str], nodes: Iterable[str] = ()) -> str:
    """Every series of these names; with `nodes` only theirs, by any label that names a node."""
    by_name = f"__name__=~{any_name(names)}"
    chosen = tuple(nodes)
    if not chosen:
        return f"{{{by_name}}}"
    pattern = any_of(chosen)
    return " or ".join(f"{{{by_name},{label}=~{pattern}}}" for label in HOST_LABELS)


def trimmed(names: Iterable[str], *, is_placed: bool) -> str:
    """These names of the whole fleet with no more labels than tell cards apart: a quarter of the bytes.

    `is_placed`: host labels name every node, so what the scrape adds is left out too. Where two scrapes
    of a page differ in a label of the server's own, the larger of two values counts, and no doubt is told.
    """
    labels = ("__name__", *_CARD_LABELS, *SITE_CARDS, *_SENSOR_LABELS, *(() if is_placed else _SCRAPE_LABELS))
    return f"max by ({', '.join(labels)}) ({instant(names)})"


def by_card() -> tuple[str, ...]:
    """Labels by which sample times are told for each card."""
    return (FAMILY_LABEL, *_CARD_LABELS, *SITE_CARDS, *_SCRAPE_LABELS)


BY_NODE = (FAMILY_LABEL, *HOSTS)
"""What sample times of a large fleet are told by: each card, or, where host labels name every node, each node
and exporter. A page is scraped whole, and a series that left it ends at once."""


def sample_times(nodes: Iterable[str] = (), *, by: Iterable[str] = ()) -> str:
    """When each series was last sampled, as epoch seconds: a row a series of the names that every card has,
    or the newest `by` these labels. Each row says in `FAMILY_LABEL` of which name it is."""
    chosen = tuple(nodes)
    # `node` and `Hostname` cannot be asked in one selector, and timestamp() takes a selector only
    labels: tuple[str, ...] = HOST_LABELS if chosen else ("",)
    pattern = any_of(chosen)
    parts = [
        f'label_replace(timestamp({selector}), "{FAMILY_LABEL}", "{name}", "", "")'
        for name in SAMPLED_AT
        for selector in (f"{name}{{{label}=~{pattern}}}" if label else name for label in labels)
    ]
    each = " or ".join(parts)
    labels = tuple(by)
    return f"max by ({', '.join(labels)}) ({each})" if labels else each


def throttled() -> str:
    """Cards that something harmful throttles: series a reason (ours, DCGM's events), and bit masks."""
    masks = tuple(name for name in names_of((GpuMetric.THROTTLE,)) if name not in REASONED)
    words = any_of(word for bit, word, _ in REASONS if bit & HARMFUL)
    parts = [f"{name}{{{label}=~{words}}} > 0" for name, label in REASONED.items()]
    return " or ".join((*parts, f"{{__name__=~{any_of(masks)}}} > 1"))


def throttle_told() -> str:
    """As `throttled`, and what tells of each card that throttling is collected: of ours a reason."""
    names = (name for name in names_of((GpuMetric.THROTTLE,)) if REASONED.get(name) != "reason")
    return f'{throttled()} or {instant(names)} or cockpit_gpu_throttle{{reason="gpu_idle"}}'


def has_gpus(names: Iterable[str]) -> str:
    """How many series of these names there are; an empty answer means none."""
    return f"count({instant(names)})"
