"""A small cluster for the views: made of records, kept by the real store."""

from collections.abc import Iterable
from typing import Any

from cockpit_widgets.types import Cell, TableSource

from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.event import Event
from cockpit.model.finding import Finding, Subject
from cockpit.model.gang import ClusterQueue, LocalQueue, QuotaRow
from cockpit.model.gpu import Gpu, Mark
from cockpit.model.job import Job
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.pool import Pool
from cockpit.model.quantity import Reading
from cockpit.model.record import Condition, Kind
from cockpit.store.store import Store
from cockpit.views.jobs import Explain

NOW = 1_790_000_000.0
GIB = float(2**30)


def node(name: str = "gpu-1", gpus: int | None = 8, *, ready: str = "True", **more: Any) -> Node:
    fields: dict[str, Any] = {
        "uid": f"uid-{name}",
        "name": name,
        "gpu_resource": "nvidia.com/gpu" if gpus is not None else "",
        "gpu_capacity": gpus,
        "gpu_allocatable": gpus,
        "gpu_model": "NVIDIA-H100-80GB-HBM3",
        "pool": "h100",
        "conditions": (Condition("Ready", ready, "", "", NOW - 3_600),),
        "created_seconds": NOW - 86_400,
    }
    return Node(**{**fields, **more})


def pod(name: str, *, gpus: int = 1, on: str = "gpu-1", phase: str = "Running", **more: Any) -> Pod:
    fields: dict[str, Any] = {
        "uid": f"uid-{name}",
        "name": name,
        "namespace": "team-a",
        "node": on,
        "gpus": gpus,
        "phase": phase,
        "is_ready": phase == "Running",
        "created_seconds": NOW - 600,
    }
    return Pod(**{**fields, **more})


def card(
    index: int,
    holder: str = "",
    *,
    duty: Reading = 0.71,
    on: str = "gpu-1",
    mark: Mark | None = None,
    **more: Any,
) -> Gpu:
    fields: dict[str, Any] = {
        "uuid": f"GPU-{on}-{index}",
        "node": on,
        "index": index,
        "model": "NVIDIA-H100-80GB-HBM3",
        "duty_ratio": duty,
        "memory_used_bytes": 40 * GIB,
        "memory_total_bytes": 80 * GIB,
        "temperature_celsius": 64.0,
        "power_watts": 412.0,
        "sm_clock_hertz": 1.41e9,
        "xid": 0,
        "pod_namespace": "team-a" if holder else "",
        "pod_name": holder,
        "mark": mark or (Mark.SURE if holder else Mark.UNALLOCATED),
        "sampled_seconds": NOW - 10,
        "source": "dcgm B",
    }
    return Gpu(**{**fields, **more})


def job(name: str, state: str = "running", **more: Any) -> Job:
    fields: dict[str, Any] = {
        "key": f"MPIJob.kubeflow.org/team-a/{name}",
        "uid": f"uid-job-{name}",
        "api_version": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "namespace": "team-a",
        "name": name,
        "state": state,
        "created_seconds": NOW - 2_460,
    }
    return Job(**{**fields, **more})


def says(sentence: str, *names: str) -> Explain:
    """A verdict with that sentence about the jobs of these names, or about all."""

    def explain(job: Job, now_seconds: float) -> Finding:
        said = sentence if not names or job.name in names else ""
        return Finding(subject=Subject("job", job.namespace, job.name), sentence=said)

    return explain


def event(uid: str, *, kind: str = "Node", name: str = "gpu-1", namespace: str = "", **more: Any) -> Event:
    fields: dict[str, Any] = {
        "uid": uid,
        "name": uid,
        "type": "Warning",
        "reason": "NodeNotReady",
        "message": "kubelet fell silent",
        "last_seconds": NOW - 60,
        "object_kind": kind,
        "object_name": name,
        "object_namespace": namespace,
        "object_uid": f"uid-{name}",
    }
    return Event(**{**fields, **more})


def pool(name: str, **more: Any) -> Pool:
    fields: dict[str, Any] = {
        "name": name,
        "nodes_now": 3,
        "nodes_ready": 3,
        "gpus_total": 24,
        "gpus_allocated": 12,
    }
    return Pool(**{**fields, **more})


def local_queue(name: str = "gpu-lq", to: str = "gpus", **more: Any) -> LocalQueue:
    active = (Condition("Active", "True"),)
    fields: dict[str, Any] = {
        "uid": f"uid-lq-{name}",
        "name": name,
        "namespace": "team-a",
        "cluster_queue": to,
        "conditions": active,
        "pending": 7,
        "admitted": 22,
    }
    return LocalQueue(**{**fields, **more})


def cluster_queue(
    name: str = "gpus", quotas: tuple[QuotaRow, ...] | None = None, **more: Any
) -> ClusterQueue:
    default = (
        QuotaRow("h100", "nvidia.com/gpu", 320, 256, 0),
        QuotaRow("h100", "cpu", 1_000_000, 5_000, 0),
    )
    fields: dict[str, Any] = {
        "uid": f"uid-cq-{name}",
        "name": name,
        "quotas": default if quotas is None else quotas,
        "conditions": (Condition("Active", "True"),),
        "cohort": "all",
    }
    return ClusterQueue(**{**fields, **more})


_KINDS: dict[type, str] = {
    Node: Kind.NODE,
    Pod: Kind.POD,
    Gpu: Kind.GPU,
    Event: Kind.EVENT,
    LocalQueue: Kind.LOCAL_QUEUE,
    ClusterQueue: Kind.CLUSTER_QUEUE,
}


def store(*records: Any) -> Store:
    """The real store, filled with these records."""
    made = Store()
    for kind in _KINDS.values():
        found = tuple(one for one in records if _KINDS[type(one)] == kind)
        made.apply(Batch(kind=kind, changed=found))
    return made


def live(made: Store, *kinds: str) -> Store:
    """Streams of these kinds are live and were heard one second ago."""
    for kind in kinds:
        made.apply(
            Batch(
                kind=kind, status=StreamStatus(kind=kind, phase=Phase.LIVE, heard_seconds=NOW - 1, objects=1)
            )
        )
    return made


def texts(source: TableSource, column: str) -> list[str]:
    """One column from top to bottom."""
    return [cell.text for cell in cells(source, column)]


def cells(source: TableSource, column: str) -> list[Cell]:
    place = [one.id for one in source.columns].index(column)
    return [source.cells(row)[place] for row in range(len(source))]


def line(source: TableSource, row: int = 0) -> dict[str, str]:
    """A row as column id and text."""
    return {one.id: cell.text for one, cell in zip(source.columns, source.cells(row), strict=True)}


def every_text(source: TableSource) -> Iterable[str]:
    for row in range(len(source)):
        for cell in source.cells(row):
            yield cell.text
