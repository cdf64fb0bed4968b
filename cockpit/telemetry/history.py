"""The last hour of what is on screen, from Prometheus' own memory: a point a minute, bounded. Pure.

Ring buffers have the samples of this session; this reads the time before a page was opened.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cockpit.telemetry.cards.units import scaled
from cockpit.telemetry.labels import instance_of, uuid_of
from cockpit.telemetry.names import MEANINGS, SLOTS, GpuMetric, names_of
from cockpit.telemetry.promql import any_of, instant

RANGE_SECONDS = 3_600
STEP_SECONDS = 60
POINTS = RANGE_SECONDS // STEP_SECONDS + 1
MOST_SERIES = 256
"""Most devices that are drawn: a node has at most 16 cards of seven instances."""
MOST_PODS = 200
AGAIN_SECONDS = 60.0

Line = tuple[float | None, ...]
"""A value a minute, the oldest first; a gap is None."""

_DUTY, _ENGINE = SLOTS[GpuMetric.DUTY], SLOTS[GpuMetric.ENGINE]
_POD_LABELS = (("exported_pod", "exported_namespace"), ("pod", "namespace"), ("pod_name", "pod_namespace"))


@dataclass(frozen=True, slots=True)
class Past:
    """Whose last hour is in sight: each card of `node`, the mean of the cards of `pods` (namespace, name), or
    the mean of the allocated cards of `nodes`; where nothing but a number of `gpu_nodes` is given, of all.

    `key` is what the line of a mean is kept under.
    """

    node: str = ""
    key: str = ""
    pods: tuple[tuple[str, str], ...] = ()
    nodes: tuple[str, ...] = ()
    gpu_nodes: int = 0


def end_of(now_seconds: float) -> float:
    """The last whole minute: the same points for everybody who asks within it."""
    return float(int(now_seconds) // STEP_SECONDS * STEP_SECONDS)


def card_query(node: str) -> str:
    """Duty and engine of every card of a node."""
    return instant(names_of((GpuMetric.DUTY, GpuMetric.ENGINE)), (node,))


def pod_queries(pods: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Sum and count of the duty of cards that these pods hold, by name: names have units of their own."""
    names = any_of(sorted({pod for _, pod in pods[:MOST_PODS]}))
    spaces = any_of(sorted({namespace for namespace, _ in pods[:MOST_PODS]}))
    which = " or ".join(
        f"{{__name__=~{any_of(names_of((GpuMetric.DUTY,)))},{pod}=~{names},{namespace}=~{spaces}}}"
        for pod, namespace in _POD_LABELS
    )
    return f"sum by (__name__) ({which})", f"count by (__name__) ({which})"


def _points(row: Mapping[str, Any], end_seconds: float) -> dict[int, float]:
    """Values by their place on the grid; what is no number is a gap."""
    found: dict[int, float] = {}
    first = end_seconds - RANGE_SECONDS
    for pair in row.get("values") or ():
        try:
            at, value = float(pair[0]), float(pair[1])
        except (TypeError, ValueError, IndexError):
            continue
        place = round((at - first) / STEP_SECONDS)
        if 0 <= place < POINTS and math.isfinite(value):
            found[place] = value
    return found


def _rows(rows: Iterable[Any]) -> list[dict[str, Any]]:
    good = [row for row in rows if isinstance(row, dict) and isinstance(row.get("metric"), dict)]
    return good[:MOST_SERIES]


def _ratio(name: str, value: float) -> float | None:
    """A duty in 0..1; a `_RATIO` that is in truth a percent (DCGM 4.6) cannot be told from one point."""
    ratio = scaled(value, MEANINGS[name].factor)
    return min(1.0, ratio) if 0.0 <= ratio <= 1.05 else None


def card_lines(rows: Iterable[Any], end_seconds: float) -> dict[str, Line]:
    """Lines by `gpu/UUID` (`gpu/UUID/INSTANCE`): duty, or the engine where there is no duty, as on MIG."""
    chosen: dict[str, dict[int, tuple[int, float]]] = {}
    for row in _rows(rows):
        labels = row["metric"]
        meaning = MEANINGS.get(labels.get("__name__", ""))
        uuid, instance = uuid_of(labels), instance_of(labels)
        if meaning is None or not uuid or meaning.slot not in (_DUTY, _ENGINE):
            continue
        if instance and meaning.slot == _DUTY:
            continue  # absent there, or a constant 0
        line = chosen.setdefault(f"gpu/{uuid}/{instance}" if instance else f"gpu/{uuid}", {})
        rank = meaning.trust + (100 if meaning.slot == _ENGINE else 0)
        for place, value in _points(row, end_seconds).items():
            ratio = _ratio(labels["__name__"], value)
            if ratio is not None and (place not in line or rank < line[place][0]):
                line[place] = (rank, ratio)
    return {
        key: tuple(line[place][1] if place in line else None for place in range(POINTS))
        for key, line in chosen.items()
        if line
    }


Totals = dict[int, tuple[float, float]]
"""Sum of ratios and number of cards by place on the grid."""


def totals_of(sums: Iterable[Any], counts: Iterable[Any], end_seconds: float) -> Totals:
    """What sums and counts by name come to; rows without a name are ratios already."""

    def by_name(rows: Iterable[Any]) -> dict[str, dict[int, float]]:
        return {str(row["metric"].get("__name__", "")): _points(row, end_seconds) for row in _rows(rows)}

    totals: Totals = {}
    counted = by_name(counts)
    for name, points in by_name(sums).items():
        if name and name not in MEANINGS:
            continue
        for place, total in points.items():
            count = counted.get(name, {}).get(place, 0.0)
            mean = total / count if count > 0 else None
            if mean is None or (name and (mean := _ratio(name, mean)) is None):
                continue
            had, cards = totals.get(place, (0.0, 0.0))
            totals[place] = (had + mean * count, cards + count)
    return totals


def line_of(totals: Totals) -> Line:
    """The means; () where nothing is known."""
    if not totals:
        return ()
    means = {place: total / cards for place, (total, cards) in totals.items()}
    return tuple(means.get(place) for place in range(POINTS))


def mean_line(sums: Iterable[Any], counts: Iterable[Any], end_seconds: float) -> Line:
    """The mean over cards at each point; () where nothing is known."""
    return line_of(totals_of(sums, counts, end_seconds))
