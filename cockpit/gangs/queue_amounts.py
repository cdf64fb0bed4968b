"""Amounts of a scheduler's queue, as its object has them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from cockpit.k8s.json_values import mapping
from cockpit.k8s.quantity import millicores
from cockpit.model.gang import QueueShare
from cockpit.sanitise import clean


def amounts(tree: object) -> dict[str, float]:
    """Quantities by resource in base units (cpu in millicores); what is no quantity is left out."""
    found: dict[str, float] = {}
    for key, text in mapping(tree).items():
        resource = clean(str(key))
        amount = amount_of(resource, text)
        if amount is not None:
            found[resource] = amount
    return found


def amount_of(resource: str, value: object) -> float | None:
    """One quantity in base units, None where it is none; of a device a part is allowed."""
    try:
        thousandths = millicores(str(value))
    except ValueError:
        return None
    return float(thousandths) if resource == "cpu" else thousandths / 1000


def shares(
    *,
    deserved: Mapping[str, float],
    limit: Mapping[str, float],
    used: Mapping[str, float] | None,
    guaranteed: Mapping[str, float] | None = None,
) -> tuple[QueueShare, ...]:
    """One for each resource that is named, by name; `used` None: the engine has not told."""
    kept = guaranteed or {}
    names = sorted({*deserved, *limit, *(used or ()), *kept})
    return tuple(
        QueueShare(
            resource=name,
            deserved=deserved.get(name),
            limit=limit.get(name),
            used=None if used is None else used.get(name, 0.0),
            guaranteed=kept.get(name),
        )
        for name in names
    )


def identity(tree: Mapping[str, Any]) -> dict[str, Any]:
    """What every record has, of an object without a namespace."""
    metadata = mapping(tree.get("metadata"))
    return {
        "uid": str(metadata.get("uid") or ""),
        "name": str(metadata.get("name") or ""),
        "resource_version": str(metadata.get("resourceVersion") or ""),
        "created_seconds": _seconds(metadata.get("creationTimestamp")),
        "deleting_seconds": _seconds(metadata.get("deletionTimestamp")),
    }


def _seconds(stamp: object) -> float | None:
    try:
        return datetime.fromisoformat(str(stamp)).timestamp() if stamp else None
    except ValueError:
        return None


def whole(value: object) -> int | None:
    """A whole number, None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
