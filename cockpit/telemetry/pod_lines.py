"""What cards and pods did over the last hours, from Prometheus' own memory: a point a minute. Pure.

Two range queries for all pods that are asked for: one for their cards' duty, memory, power and energy, one
for CPU, network and disk. Cards are sampled twice a minute and the higher duty counts, so that a short kernel
is seen wherever the exporter saw it.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from cockpit.model.pod import Pod
from cockpit.model.trace import CardTrace, Line, PodLines, PodTrace
from cockpit.telemetry import detail_names, uses
from cockpit.telemetry.cards.plausible import MOST_DUTY
from cockpit.telemetry.cards.units import scaled
from cockpit.telemetry.labels import instance_of, uuid_of
from cockpit.telemetry.names import MEANINGS, GpuMetric, is_meant, names_of
from cockpit.telemetry.promql import any_of

RANGE_SECONDS = 10_800
STEP_SECONDS = 60
CARD_STEP_SECONDS = 30
POINTS = RANGE_SECONDS // STEP_SECONDS + 1
MOST_PODS = 20
"""In one query: the URL of a GET has its limits."""

_METRICS = (GpuMetric.DUTY, GpuMetric.ENGINE, GpuMetric.MEMORY_USED, GpuMetric.POWER)
_ENERGY = {
    name: field.factor
    for name, fields in detail_names.FIELDS.items()
    for field in fields
    if field.name == "energy_joules"
}
"""Counters since the driver was loaded, the most trusted name first. Only such a question reads them: a round
does not."""
MOST_JOULES = 1e12
"""Thirty years at a kilowatt; DCGM's blank of a counter is far above."""
_POD_LABELS = (("exported_pod", "exported_namespace"), ("pod", "namespace"), ("pod_name", "pod_namespace"))

_Points = dict[int, tuple[int, float]]
"""By place on the grid: how little the source is trusted, and the value."""


def card_query(pods: Sequence[Pod]) -> str:
    """Every series of these quantities that names one of these pods."""
    names = any_of(sorted({pod.name for pod in pods}))
    spaces = any_of(sorted({pod.namespace for pod in pods}))
    series = any_of((*names_of(_METRICS), *_ENERGY))
    return " or ".join(
        f"{{__name__=~{series},{pod}=~{names},{namespace}=~{spaces}}}" for pod, namespace in _POD_LABELS
    )


def use_query(pods: Sequence[Pod]) -> str:
    """CPU, network and disk of these pods."""
    return uses.query(pods, fields=uses.FIELDS | uses.DISK_FIELDS)


def pod_lines(
    card_rows: Iterable[Any], use_rows: Iterable[Any], pods: Sequence[Pod], end_seconds: float
) -> PodLines:
    """The lines that the answers of both queries make."""
    by_name = {(pod.namespace, pod.name): pod for pod in pods}
    return PodLines(
        end_seconds=end_seconds,
        step_seconds=float(STEP_SECONDS),
        cards=_cards(card_rows, by_name, end_seconds),
        pods=_pods(use_rows, by_name, end_seconds),
    )


def _pod_of(labels: Mapping[str, str], by_name: Mapping[tuple[str, str], Pod]) -> Pod | None:
    for pod, namespace in _POD_LABELS:
        if labels.get(pod):
            return by_name.get((labels.get(namespace, ""), labels[pod]))
    return None


def _samples(rows: Iterable[Any]) -> Iterable[tuple[dict[str, str], list[Any]]]:
    for row in rows:
        if isinstance(row, dict) and isinstance(row.get("metric"), dict):
            values = row.get("values")
            yield row["metric"], values if isinstance(values, list) else []


def _placed(values: Iterable[Any], end_seconds: float) -> Iterable[tuple[int, float]]:
    """Values by their minute; what is no number is a gap."""
    first = end_seconds - RANGE_SECONDS
    for pair in values:
        try:
            at, value = float(pair[0]), float(pair[1])
        except (TypeError, ValueError, IndexError):
            continue
        place = math.ceil((at - first) / STEP_SECONDS)
        if 0 <= place < POINTS and math.isfinite(value):
            yield place, value


def _cards(
    rows: Iterable[Any], by_name: Mapping[tuple[str, str], Pod], end_seconds: float
) -> dict[str, tuple[CardTrace, ...]]:
    found: dict[tuple[str, str], dict[GpuMetric, _Points]] = {}
    energy: dict[tuple[str, str], _Points] = {}
    for labels, values in _samples(rows):
        name = labels.get("__name__", "")
        meaning, pod, uuid = MEANINGS.get(name), _pod_of(labels, by_name), uuid_of(labels)
        if pod is None or not uuid:
            continue
        instance = instance_of(labels)
        if name in _ENERGY and not instance:  # as power: of an instance it is the whole card's
            trust = list(_ENERGY).index(name)
            _take(energy.setdefault((pod.uid, uuid), {}), values, end_seconds, trust, _ENERGY[name])
        if meaning is None or meaning.quantity not in _METRICS or not is_meant(name, labels):
            continue
        if instance and meaning.quantity in (GpuMetric.DUTY, GpuMetric.POWER):
            continue  # of an instance duty is absent or a constant 0, and power the whole card's
        lines = found.setdefault((pod.uid, f"{uuid}/{instance}" if instance else uuid), {})
        _take(lines.setdefault(meaning.quantity, {}), values, end_seconds, meaning.trust, meaning.factor)
    cards: dict[str, tuple[CardTrace, ...]] = {}
    for (uid, uuid), of in sorted(found.items(), key=lambda one: one[0]):
        duty = of.get(GpuMetric.DUTY) or of.get(GpuMetric.ENGINE) or {}
        card = CardTrace(
            uuid=uuid,
            duty=_line(duty, _ratio),
            engine=_line(of.get(GpuMetric.ENGINE, {}), _ratio),
            energy_joules=_line(energy.get((uid, uuid), {}), _joules),
            memory_bytes=_line(of.get(GpuMetric.MEMORY_USED, {}), lambda value: value),
            power_watts=_line(of.get(GpuMetric.POWER, {}), lambda value: value),
        )
        cards[uid] = (*cards.get(uid, ()), card)
    return cards


def _take(points: _Points, values: Iterable[Any], end_seconds: float, trust: int, factor: float) -> None:
    """Of one minute the most trusted source, and of that the highest value."""
    for place, raw in _placed(values, end_seconds):
        value, had = scaled(raw, factor), points.get(place)
        if had is None or trust < had[0] or (trust == had[0] and value > had[1]):
            points[place] = (trust, value)


def _line(points: _Points, good: Callable[[float], float | None]) -> Line:
    """() where nothing was ever measured."""
    return tuple(good(points[at][1]) if at in points else None for at in range(POINTS)) if points else ()


_PLACE = {
    "cpu_cores": "cpu_cores",
    "receive_bytes_per_second": "receive",
    "transmit_bytes_per_second": "transmit",
    "disk_read_bytes_per_second": "disk_read",
    "disk_write_bytes_per_second": "disk_write",
}


def _pods(
    rows: Iterable[Any], by_name: Mapping[tuple[str, str], Pod], end_seconds: float
) -> dict[str, PodTrace]:
    found: dict[str, dict[str, _Points]] = {}
    keys: dict[str, str] = {}
    for labels, values in _samples(rows):
        pod, field = _pod_of(labels, by_name), _PLACE.get(labels.get(uses.FIELD_LABEL, ""))
        if pod is None or field is None:
            continue
        keys[pod.uid] = pod.key
        _take(found.setdefault(pod.uid, {}).setdefault(field, {}), values, end_seconds, 0, 1.0)
    return {
        uid: PodTrace(
            uid=uid,
            key=keys[uid],
            cpu_cores=_line(of.get("cpu_cores", {}), _positive),
            receive=_line(of.get("receive", {}), _positive),
            transmit=_line(of.get("transmit", {}), _positive),
            disk_read=_line(of.get("disk_read", {}), _positive),
            disk_write=_line(of.get("disk_write", {}), _positive),
        )
        for uid, of in found.items()
    }


def _ratio(value: float) -> float | None:
    return min(1.0, value) if 0.0 <= value <= MOST_DUTY else None


def _joules(value: float) -> float | None:
    return value if 0.0 <= value <= MOST_JOULES else None


def _positive(value: float) -> float | None:
    return value if value >= 0.0 else None
