"""Leases that hold a pool, read on demand (k8s.io/api/coordination/v1 types.go)."""

from collections.abc import Mapping
from typing import Any

from cockpit.clean import clean
from cockpit.kube.decode.times import from_text
from cockpit.model.lease import Lease

CHANGE = "gpu-cockpit/change"
_LONGEST = 120


def lease_record(tree: Mapping[str, Any]) -> Lease:
    """The record of a Lease as the API server writes it; what is malformed reads as not there."""
    meta, spec = _tree(tree.get("metadata")), _tree(tree.get("spec"))
    return Lease(
        uid=_text(meta.get("uid")),
        resource_version=_text(meta.get("resourceVersion")),
        holder=_text(spec.get("holderIdentity")),
        acquired_seconds=from_text(_text(spec.get("acquireTime"))),
        renewed_seconds=from_text(_text(spec.get("renewTime"))),
        duration_seconds=_whole(spec.get("leaseDurationSeconds")),
        transitions=_whole(spec.get("leaseTransitions")),
        change=_text(_tree(meta.get("annotations")).get(CHANGE)),
    )


def _tree(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    return clean(value, _LONGEST) if isinstance(value, str) else ""


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
