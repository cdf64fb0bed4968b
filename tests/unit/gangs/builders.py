"""Kueue objects as the real controller left them, cut to what the tests need."""

from typing import Any

from cockpit.model.batch import Batch
from cockpit.model.gang import ClusterQueue, LocalQueue, PodSet, QueuePlace, QuotaRow, Workload
from cockpit.model.record import Condition, Kind, OwnerRef, Record
from cockpit.store.store import Store

NVIDIA = "nvidia.com/gpu"
ASSIGN = "couldn't assign flavors to pod set main: "
MORE_4 = ASSIGN + "insufficient unused quota for nvidia.com/gpu in flavor h100, 4 more needed"


def is_(type_: str, status: str = "True", reason: str = "", message: str = "", at: float = 0.0) -> Condition:
    return Condition(type_, status, reason, message, at)


def pending(message: str, reason: str = "Pending") -> Condition:
    return is_("QuotaReserved", "False", reason, message)


def workload(name: str, *conditions: Condition, gpus: int = 4, **fields: Any) -> Workload:
    fields.setdefault("queue", "main")
    fields.setdefault("created_seconds", 100.0)
    fields.setdefault("owner", OwnerRef("batch/v1", "Job", name, f"job-{name}"))
    fields.setdefault("pod_sets", (PodSet("main", 1, ((NVIDIA, gpus),)),))
    return Workload(
        uid=f"wl-{name}",
        name=f"job-{name}-1a2b3",
        namespace="team-a",
        resource_version="7",
        conditions=conditions,
        **fields,
    )


def local_queue(**fields: Any) -> LocalQueue:
    fields.setdefault("conditions", (is_("Active", reason="Ready"),))
    return LocalQueue(uid="lq", name="main", namespace="team-a", cluster_queue="research", **fields)


def cluster_queue(nominal: int = 8, used: int | None = 4, **fields: Any) -> ClusterQueue:
    fields.setdefault("conditions", (is_("Active", reason="Ready"),))
    fields.setdefault("quotas", (QuotaRow("h100", NVIDIA, nominal, used), QuotaRow("h100", "cpu", 64_000, 0)))
    return ClusterQueue(uid="cq", name="research", **fields)


_TABLES: dict[type[Record], str] = {
    Workload: Kind.WORKLOAD,
    LocalQueue: Kind.LOCAL_QUEUE,
    ClusterQueue: Kind.CLUSTER_QUEUE,
    QueuePlace: Kind.PLACE,
}


def store_of(*records: Record) -> Store:
    store = Store()
    for record in records:
        store.apply(Batch(kind=_TABLES[type(record)], changed=(record,)))
    return store
