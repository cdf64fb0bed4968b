"""Leases that hold a pool, read on demand (k8s.io/api/coordination/v1 types.go)."""

import re
from collections.abc import Mapping
from typing import Any

from cockpit.kube.decode.times import from_text
from cockpit.model.lease import Lease
from cockpit.sanitise import clean

FROM, TO, BY = "gpu-cockpit/from-nodes", "gpu-cockpit/to-nodes", "gpu-cockpit/asked-by"
_LONGEST = 120
_NUMBER = re.compile(r"[0-9]{1,6}")


def lease_record(tree: Mapping[str, Any]) -> Lease:
    """The record of a Lease as the API server writes it; what is malformed reads as not there."""
    meta, spec = _tree(tree.get("metadata")), _tree(tree.get("spec"))
    notes = _tree(meta.get("annotations"))
    return Lease(
        uid=_text(meta.get("uid")),
        resource_version=_text(meta.get("resourceVersion")),
        holder=_text(spec.get("holderIdentity")),
        acquired_seconds=from_text(_text(spec.get("acquireTime"))),
        renewed_seconds=from_text(_text(spec.get("renewTime"))),
        duration_seconds=_whole(spec.get("leaseDurationSeconds")),
        transitions=_whole(spec.get("leaseTransitions")),
        from_nodes=_nodes(notes.get(FROM)),
        to_nodes=_nodes(notes.get(TO)),
        asked_by=_text(notes.get(BY)),
    )


def _tree(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    return clean(value, _LONGEST) if isinstance(value, str) else ""


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _nodes(value: Any) -> int | None:
    return int(value) if isinstance(value, str) and _NUMBER.fullmatch(value) else None
