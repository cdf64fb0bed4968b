"""Objects of ours that ask for capacity: Job, CapacityBuffer, ProvisioningRequest, PodTemplate, NodeClaim.

Sources: kubernetes/autoscaler cluster-autoscaler/apis (conditions of both kinds), k8s.io/api batch/v1.
"""

from collections.abc import Mapping
from typing import Any

from cockpit.kube.decode.times import from_text
from cockpit.mask import clean_message
from cockpit.model.pool import StandingDemand
from cockpit.sanitise import SHORT, clean

_TOLD = (
    "Failed",
    "CapacityRevoked",
    "BookingExpired",
    "LimitedByQuotas",
    "Provisioned",
    "Provisioning",
    "Accepted",
)
"""Conditions that say how far it is, the weightiest first."""
_ANSWERED = ("CapacityBuffer", "ProvisioningRequest")
"""Kinds that an autoscaler answers by conditions: with a flag that is off it never does."""
_LONGEST = 120


def demand_of(
    tree: Mapping[str, Any], kind: str, collection: str, marks: tuple[str, str, str]
) -> StandingDemand | None:
    """The record of one object of that kind, None for what is none of ours. `collection` is the path of all
    namespaces; `marks` are the label of the pool and the annotations of nodes and of who asked."""
    meta = _map(tree.get("metadata"))
    labels, notes = _map(meta.get("labels")), _map(meta.get("annotations"))
    name, space, uid = _word(meta.get("name")), _word(meta.get("namespace")), _word(meta.get("uid"))
    mark = _word(labels.get(marks[0]))
    if not name or not uid or not mark or meta.get("deletionTimestamp"):
        return None
    base, _, plural = collection.rpartition("/")
    path = f"{base}/namespaces/{space}/{plural}/{name}" if space else f"{collection}/{name}"
    made = from_text(str(meta.get("creationTimestamp") or ""))
    count = str(notes.get(marks[1]) or "")
    return StandingDemand(
        kind=kind,
        namespace=space,
        name=name,
        uid=uid,
        path=path,
        nodes=int(count) if count.isascii() and count.isdecimal() and len(count) < 6 else None,
        by=clean(str(notes.get(marks[2]) or ""), _LONGEST),
        made_seconds=made,
        until_seconds=_until(kind, tree, made),
        state=_state(kind, _map(tree.get("status"))),
        is_part=kind == "PodTemplate",
    )


def _until(kind: str, tree: Mapping[str, Any], made_seconds: float | None) -> float | None:
    """A Job's deadline runs from its start; a request is valid from when it was made."""
    spec, begun = _map(tree.get("spec")), made_seconds
    if kind == "Job":
        begun = from_text(str(_map(tree.get("status")).get("startTime") or "")) or made_seconds
        lasts = str(spec.get("activeDeadlineSeconds") or "")
    else:
        lasts = str(_map(spec.get("parameters")).get("ValidUntilSeconds") or "")
    if begun is None or not (lasts.isascii() and lasts.isdecimal() and len(lasts) < 9):
        return None
    return begun + int(lasts)


def _state(kind: str, status: Mapping[str, Any]) -> str:
    if kind == "Job":
        counts = [(word, status.get(field)) for word, field in (("running", "ready"), ("failed", "failed"))]
        told = [f"{count} {word}" for word, count in counts if isinstance(count, int) and count > 0]
        active = status.get("active")
        if isinstance(active, int):
            told.insert(0, f"{active} pod{'s' * (active != 1)}")
        return ", ".join(told)
    found = status.get("conditions")
    by_type = (
        {str(item.get("type")): item for item in found or () if isinstance(item, Mapping)}
        if isinstance(found, list)
        else {}
    )
    for kind_of in _TOLD:
        one = by_type.get(kind_of)
        if one is not None and str(one.get("status")) == "True":
            said = clean_message(str(one.get("message") or ""), _LONGEST)
            return f"{kind_of}: {said}" if said else kind_of
    return "" if by_type or kind not in _ANSWERED else "no autoscaler has answered it yet"


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _word(value: Any) -> str:
    return clean(str(value), SHORT) if isinstance(value, str) else ""
