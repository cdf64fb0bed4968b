"""A small cluster for the job tests: MPIJobs with launcher and workers, Workloads, queues."""

from typing import Any

from cockpit.gangs.volcano import JOBS
from cockpit.jobs.index import JobIndex
from cockpit.model.batch import Batch
from cockpit.model.event import Event
from cockpit.model.gang import ClusterQueue, LocalQueue, PodGroup, PodSet, QuotaRow, Workload
from cockpit.model.job import Job, JobObject, OwnerObject, ReplicaSpec
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Condition, Kind, OwnerRef, Record
from cockpit.store.store import Store
from cockpit.triage.verdicts import Verdicts

NVIDIA = "nvidia.com/gpu"
V2 = "kubeflow.org/v2beta1"


def is_(type_: str, status: str = "True", reason: str = "", message: str = "") -> Condition:
    return Condition(type_, status, reason, message)


def mpijob(name: str = "llm", workers: int = 2, gpus: int = 2, **fields: Any) -> JobObject:
    fields.setdefault("uid", f"mpi-{name}")
    fields.setdefault("namespace", "team-a")
    return JobObject(
        name=name,
        api_version=V2,
        kind="MPIJob",
        replicas=(
            ReplicaSpec("launcher", 1),
            ReplicaSpec("worker", workers, gpus, NVIDIA if gpus else ""),
        ),
        **fields,
    )


def batch_job(
    name: str, pods: int = 1, gpus: int = 0, owner: OwnerRef | None = None, **fields: Any
) -> JobObject:
    fields.setdefault("uid", f"job-{name}")
    return JobObject(
        name=name,
        namespace="team-a",
        api_version="batch/v1",
        kind="Job",
        owner=owner,
        replicas=(ReplicaSpec("main", pods, gpus, NVIDIA if gpus else ""),),
        **fields,
    )


def ref(record: JobObject | OwnerObject) -> OwnerRef:
    return OwnerRef(record.api_version, record.kind, record.name, record.uid)


def owned(owner: JobObject | OwnerObject | None, name: str, **fields: Any) -> Pod:
    fields.setdefault("uid", f"pod-{name}")
    if owner is not None:
        fields.setdefault("owner_api_version", owner.api_version)
        fields.setdefault("owner_kind", owner.kind)
        fields.setdefault("owner_name", owner.name)
        fields.setdefault("owner_uid", owner.uid)
    return Pod(name=name, namespace="team-a", **fields)


def up(**fields: Any) -> dict[str, Any]:
    return {"phase": "Running", "is_ready": True, "node": "gpu-1", "scheduled": "True", **fields}


def gang(job: JobObject, **worker_fields: Any) -> tuple[JobObject, tuple[Pod, ...]]:
    """The launcher Job of an MPIJob, and its launcher and worker pods."""
    launcher_job = batch_job(f"{job.name}-launcher", owner=ref(job))
    launcher_state = {
        k: v for k, v in worker_fields.items() if k in ("phase", "is_ready", "node", "scheduled")
    }
    launcher = owned(launcher_job, f"{job.name}-launcher-x1", role="launcher", **launcher_state)
    spec = next(role for role in job.replicas if role.role == "worker")
    workers = tuple(
        owned(job, f"{job.name}-worker-{i}", role="worker", rank=i, gpus=spec.gpus_each, **worker_fields)
        for i in range(spec.replicas or 0)
    )
    return launcher_job, (*workers, launcher)


def workload(
    job: JobObject | OwnerObject, gpus: int = 4, count: int = 2, *conditions: Condition, **fields: Any
) -> Workload:
    fields.setdefault("uid", f"wl-{job.name}")
    fields.setdefault("created_seconds", 100.0)
    return Workload(
        name=f"wl-{job.name}",
        namespace="team-a",
        owner=ref(job),
        queue="main",
        pod_sets=(PodSet("launcher", 1), PodSet("worker", count, ((NVIDIA, gpus),))),
        conditions=conditions,
        **fields,
    )


def queues(nominal: int = 8, used: int = 4) -> tuple[LocalQueue, ClusterQueue]:
    active = (is_("Active", reason="Ready"),)
    return (
        LocalQueue(uid="lq", name="main", namespace="team-a", cluster_queue="research", conditions=active),
        ClusterQueue(
            uid="cq",
            name="research",
            quotas=(QuotaRow("h100", NVIDIA, nominal, used),),
            conditions=active,
        ),
    )


def lacks(number: int) -> Condition:
    return is_(
        "QuotaReserved",
        "False",
        "Pending",
        "couldn't assign flavors to pod set worker: insufficient unused quota for nvidia.com/gpu"
        f" in flavor h100, {number} more needed",
    )


_KINDS: dict[str, str] = {"MPIJob": Kind.MPIJOB, "Job": Kind.JOB}


def kind_of(record: Record) -> str:
    if isinstance(record, JobObject) and record.api_version.startswith("batch.volcano.sh/"):
        return JOBS
    if isinstance(record, JobObject):
        own = record.api_version.startswith(("batch/", "kubeflow.org/v2beta1"))
        return _KINDS.get(record.kind, Kind.OTHER_JOB) if own else Kind.OTHER_JOB
    table = {OwnerObject: Kind.OWNER, Pod: Kind.POD, Workload: Kind.WORKLOAD}
    table |= {Event: Kind.EVENT, Node: Kind.NODE}
    table |= {PodGroup: Kind.POD_GROUP, LocalQueue: Kind.LOCAL_QUEUE, ClusterQueue: Kind.CLUSTER_QUEUE}
    return table[type(record)]


def said_of(job: Job, store: Store, index: JobIndex, now_seconds: float = 0.0) -> str:
    """The sentence of the row's verdict."""
    return Verdicts(store, index).of(job, now_seconds).sentence


class Cluster:
    """A store with its job index, fed record by record."""

    def __init__(self) -> None:
        self.store = Store()
        self.index = JobIndex(self.store)

    def put(self, *records: Record) -> None:
        for record in records:
            self.store.apply(Batch(kind=kind_of(record), changed=(record,)))
        self.index.update(self.store.take_delta())

    def drop(self, *records: Record) -> None:
        for record in records:
            self.store.apply(Batch(kind=kind_of(record), removed=(record.uid,)))
        self.index.update(self.store.take_delta())

    def why(self, key: str, now_seconds: float = 0.0) -> str:
        """What is said of the row."""
        return said_of(self.index.jobs[key], self.store, self.index, now_seconds)

    def states(self) -> dict[str, str]:
        return {key: job.state for key, job in self.index.jobs.items()}

    def fresh(self) -> JobIndex:
        """An index made from nothing over the same store: what the kept one must equal."""
        copy = Store()
        for kind in (
            "nodes",
            "owners",
            "otherjobs",
            "mpijobs",
            "jobs",
            "volcanojobs",
            "podgroups",
            "localqueues",
            "clusterqueues",
            "workloads",
            "pods",
            "events",
        ):
            copy.apply(Batch(kind=kind, changed=tuple(self.store.records(kind).values())))
        index = JobIndex(copy)
        index.update(copy.take_delta())
        return index
