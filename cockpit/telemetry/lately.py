"""What cards did in the minutes before they were first seen, from Prometheus' own memory. Pure.

So what is judged over minutes (how long a card has done nothing, how busy it was) is known with the first
round, as if it had been watched all the while.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from cockpit.model.gpu import Gpu
from cockpit.telemetry.cards.units import scaled
from cockpit.telemetry.labels import instance_of, uuid_of
from cockpit.telemetry.names import MEANINGS, SLOTS, GpuMetric, names_of
from cockpit.telemetry.promql import instant

RANGE_SECONDS = 660
"""A little more than the store's mean of ten minutes (`store.indexes.MEAN_SECONDS`)."""
STEP_SECONDS = 30
PATIENCE_SECONDS = 3.0
"""The cards themselves wait for it no longer than that."""
_POD_LABELS = (("exported_pod", "exported_namespace"), ("pod", "namespace"), ("pod_name", "pod_namespace"))
_ENGINE = SLOTS[GpuMetric.ENGINE]


class Stretch(NamedTuple):
    """Duties (0..1) of a card under one holder, the oldest first, with their times (epoch seconds)."""

    namespace: str
    pod: str
    points: tuple[tuple[float, float], ...]


def query() -> str:
    """Duty of every card, and the engine where there is no duty."""
    return instant(names_of((GpuMetric.DUTY, GpuMetric.ENGINE)))


def stretches(rows: Iterable[Any]) -> dict[str, tuple[Stretch, ...]]:
    """By card as `Gpu.uuid` has it. Of several series of one card and holder the most trusted counts."""
    found: dict[str, dict[tuple[str, str], tuple[int, Stretch]]] = {}
    for row in rows:
        labels = row.get("metric") if isinstance(row, dict) else None
        meaning = MEANINGS.get(labels.get("__name__", "")) if isinstance(labels, dict) else None
        if meaning is None or not isinstance(labels, dict) or not (uuid := uuid_of(labels)):
            continue
        instance = instance_of(labels)
        if instance and meaning.slot != _ENGINE:
            continue  # of an instance duty is absent or a constant 0
        holder = _holder(labels)
        points = _points(row.get("values") or (), meaning.factor)
        rank = meaning.trust + (100 if meaning.slot == _ENGINE else 0)
        of_card = found.setdefault(f"{uuid}/{instance}" if instance else uuid, {})
        if points and (holder not in of_card or rank < of_card[holder][0]):
            of_card[holder] = (rank, Stretch(*holder, points))
    return {uuid: tuple(one for _, one in some.values()) for uuid, some in found.items()}


def _holder(labels: Mapping[str, str]) -> tuple[str, str]:
    for pod, namespace in _POD_LABELS:
        if labels.get(pod):
            return labels.get(namespace, ""), labels[pod]
    return "", ""


def _points(values: Iterable[Any], factor: float) -> tuple[tuple[float, float], ...]:
    """The newest stretch without a gap."""
    points: list[tuple[float, float]] = []
    for pair in values:
        try:
            at, ratio = float(pair[0]), scaled(float(pair[1]), factor)
        except (TypeError, ValueError, IndexError):
            continue
        if not (math.isfinite(at) and 0.0 <= ratio <= 1.05):
            points.clear()
            continue
        if points and at - points[-1][0] > 2 * STEP_SECONDS:
            points.clear()
        points.append((at, min(1.0, ratio)))
    return tuple(points)


def replayed(cards: Iterable[Gpu], known: Mapping[str, Sequence[Stretch]]) -> list[list[Gpu]]:
    """The cards as they were under their present holder, a list a moment, the oldest first. Nothing but their
    duty is told of then."""
    moments: dict[float, list[Gpu]] = {}
    for card in cards:
        for stretch in known.get(card.uuid, ()):
            if (stretch.namespace, stretch.pod) != (card.pod_namespace, card.pod_name):
                continue
            for at, duty in stretch.points:
                if card.sampled_seconds is not None and at < card.sampled_seconds:
                    moments.setdefault(at, []).append(_as_it_was(card, duty, at))
    return [moments[at] for at in sorted(moments)]


def _as_it_was(card: Gpu, duty: float, at_seconds: float) -> Gpu:
    return Gpu(
        uuid=card.uuid,
        node=card.node,
        index=card.index,
        model=card.model,
        mig_profile=card.mig_profile,
        duty_ratio=duty,
        pod_namespace=card.pod_namespace,
        pod_name=card.pod_name,
        container=card.container,
        mark=card.mark,
        sampled_seconds=at_seconds,
        also=card.also,
    )
