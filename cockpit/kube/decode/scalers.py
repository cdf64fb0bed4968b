"""HorizontalPodAutoscaler of autoscaling/v2 (source: k8s.io/api autoscaling/v2/types.go)."""

from collections.abc import Mapping
from typing import Any

from cockpit.k8s.json_values import mapping, mappings
from cockpit.mask import clean_message
from cockpit.model.scaler import Scaler, ScalerMetric
from cockpit.sanitise import SHORT, clean

MOST_METRICS = 8
_NAMED_AT = {
    "Resource": "resource",
    "ContainerResource": "containerResource",
    "Pods": "pods",
    "Object": "object",
    "External": "external",
}


def scaler_of(tree: Mapping[str, Any]) -> Scaler | None:
    """The record of one object; None for what is none."""
    meta, spec, status = mapping(tree.get("metadata")), mapping(tree.get("spec")), mapping(tree.get("status"))
    target = mapping(spec.get("scaleTargetRef"))
    name = _word(meta.get("name"))
    if not name:
        return None
    return Scaler(
        namespace=_word(meta.get("namespace")),
        name=name,
        target_kind=_word(target.get("kind")),
        target_name=_word(target.get("name")),
        metrics=_metrics(spec.get("metrics"), status.get("currentMetrics")),
        current=_count(status.get("currentReplicas")),
        desired=_count(status.get("desiredReplicas")),
        minimum=_count(spec.get("minReplicas")) or 1,
        maximum=_count(spec.get("maxReplicas")),
        limited=_limited(status.get("conditions")),
    )


def _metrics(wanted: Any, current: Any) -> tuple[ScalerMetric, ...]:
    """Each metric that is asked for, with what is measured of it."""
    now = {_key(item): _value(item, "current") for item in mappings(current)}
    return tuple(
        ScalerMetric(_key(item)[1], now.get(_key(item), ""), _value(item, "target"))
        for item in mappings(wanted)[:MOST_METRICS]
    )


def _key(one: Mapping[str, Any]) -> tuple[str, str]:
    """What a metric is called: that of a resource `cpu`, another one by its own name."""
    kind = _word(one.get("type"))
    part = mapping(one.get(_NAMED_AT.get(kind, "")))
    return kind, _word(part.get("name")) or _word(mapping(part.get("metric")).get("name"))


def _value(one: Mapping[str, Any], side: str) -> str:
    """`82%` of requests, else the amount as it is written."""
    found = mapping(mapping(one.get(_NAMED_AT.get(_word(one.get("type")), ""))).get(side))
    share = _count(found.get("averageUtilization"))
    if share is not None:
        return f"{share}%"
    return next((_word(found[key]) for key in ("averageValue", "value") if _word(found.get(key))), "")


def _limited(conditions: Any) -> str:
    """Why it does not follow its metric: it cannot read it, or a bound keeps it."""
    for item in mappings(conditions):
        kind, status = _word(item.get("type")), _word(item.get("status"))
        if (kind, status) in (
            ("ScalingActive", "False"),
            ("AbleToScale", "False"),
            ("ScalingLimited", "True"),
        ):
            return clean_message(str(item.get("message") or item.get("reason") or ""), 200)
    return ""


def _word(value: Any) -> str:
    return clean(value, SHORT) if isinstance(value, str) else str(value) if type(value) is int else ""


def _count(value: Any) -> int | None:
    return value if type(value) is int and abs(value) < 1_000_000_000 else None
