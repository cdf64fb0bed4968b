"""A Workload's tree as what the line and the quota need of it."""

from cockpit.k8s.admission.admission_specs import QuotaReservation, WorkloadInfo, pod_set_asks, reserved_usage
from cockpit.sim.actors.queue.conditions import (
    condition_of,
    has_quota,
    is_active,
    is_admitted,
    is_false,
    is_finished,
    is_true,
)
from cockpit.sim.actors.queue.spec import JOB_UID_LABEL
from cockpit.sim.port import Tree
from cockpit.sim.times import seconds_of

Key = tuple[str, str]
"""Namespace ("" for what has none) and name."""

_LATER_BY_EVICTION = ("PodsReadyTimeout", "AdmissionCheck")


def key_of(tree: Tree) -> Key:
    """Namespace and name."""
    metadata = tree["metadata"]
    return (metadata.get("namespace", ""), metadata["name"])


def is_waiting(workload: Tree) -> bool:
    """True for one that wants quota and has none."""
    return is_active(workload) and not is_finished(workload) and not has_quota(workload)


def queue_moment(workload: Tree) -> float:
    """The time that counts in the line: creation, or the eviction for what was not ready in time."""
    evicted = condition_of(workload, "Evicted")
    if evicted is not None and evicted["status"] == "True" and evicted["reason"] in _LATER_BY_EVICTION:
        return seconds_of(evicted["lastTransitionTime"])
    return seconds_of(workload["metadata"]["creationTimestamp"])


def info_of(workload: Tree, queue: str, serial: int) -> WorkloadInfo:
    """What it asks of `queue`."""
    metadata = workload["metadata"]
    return WorkloadInfo(
        key=key_of(workload),
        uid=metadata.get("uid", ""),
        job_uid=(metadata.get("labels") or {}).get(JOB_UID_LABEL, ""),
        queue=queue,
        priority=int((workload.get("spec") or {}).get("priority") or 0),
        moment=queue_moment(workload),
        pod_sets=pod_set_asks(workload),
        serial=serial,
    )


def reservation_of(workload: Tree) -> QuotaReservation:
    """What it holds; `queue` is "" where its admission is missing."""
    reserved = condition_of(workload, "QuotaReserved") or {}
    admission = (workload.get("status") or {}).get("admission") or {}
    return QuotaReservation(
        key=key_of(workload),
        uid=workload["metadata"].get("uid", ""),
        queue=admission.get("clusterQueue") or "",
        priority=int((workload.get("spec") or {}).get("priority") or 0),
        moment=queue_moment(workload),
        usage=reserved_usage(workload),
        reserved_seconds=seconds_of(reserved["lastTransitionTime"]),
        is_admitted=is_admitted(workload),
        is_evicted=is_true(workload, "Evicted"),
    )


def is_due(workload: Tree, now: float) -> bool:
    """False while it may not line up: told so, or backing off."""
    if is_false(workload, "Requeued"):
        return False
    at = ((workload.get("status") or {}).get("requeueState") or {}).get("requeueAt")
    return at is None or seconds_of(at) <= now


def is_same_wish(before: Tree, after: Tree) -> bool:
    """True when nothing changed that could make a parked one admissible."""
    if before.get("spec") != after.get("spec"):
        return False
    old, new = before.get("status") or {}, after.get("status") or {}
    return bool(old.get("reclaimablePods") == new.get("reclaimablePods")) and all(
        condition_of(before, type_) == condition_of(after, type_) for type_ in ("Evicted", "Requeued")
    )
