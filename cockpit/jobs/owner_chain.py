"""Which job a pod belongs to: the top controller above it, as far as the store knows the chain."""

from typing import NamedTuple

from cockpit.gangs import registry
from cockpit.model.job import JobObject, OwnerObject
from cockpit.model.pod import Pod
from cockpit.model.record import Kind, OwnerRef
from cockpit.model.store_reader import StoreReader

SCHEDULES = ("CronJob", "ScheduledWorkflow", "CronWorkflow", "ScheduledSparkApplication")
"""Owners that start one job after the other: each of these is a job."""

NOT_JOBS = (*SCHEDULES, "Workflow", "Node", "Application", "HelmRelease")
"""Owners that start or deliver many jobs (or, a Node, own nothing but a mirror): the job is below them."""

_OF_PODS = ("Workflow",)
"""Of these, those whose own pods are parts of one job."""

_ALWAYS_TOPS = ("MPIJob",)
"""What owns one (a pipeline) runs several jobs."""

_DEEPEST = 16  # no real chain is longer; a cycle must end


def is_part(kind: str, owner_kind: str) -> bool:
    """True where an object of `kind` is a part of the job of its controller, and no job of its own."""
    if kind in _ALWAYS_TOPS:
        return False
    return owner_kind not in NOT_JOBS or (kind == "Pod" and owner_kind in _OF_PODS)


class Root(NamedTuple):
    """The object that one job row stands for."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    @property
    def key(self) -> str:
        """`kind.group/namespace/name`, lower case kind; core kinds have no group: `pod/ns/name`."""
        group = self.api_version.rpartition("/")[0]
        kind = self.kind.lower()
        return (
            f"{kind}.{group}/{self.namespace}/{self.name}"
            if group
            else f"{kind}/{self.namespace}/{self.name}"
        )


def owner_record(store: StoreReader, uid: str) -> JobObject | OwnerObject | None:
    """The record of a controller, from any table."""
    for kind in registry.controller_tables():
        found: JobObject | OwnerObject | None = store.get(kind, uid)
        if found is not None:
            return found
    return None


def owner_ref(store: StoreReader, kind: str, uid: str) -> OwnerRef | None:
    """The controller of an object that owns others: a pod, too (the driver of Spark's executors)."""
    if kind == "Pod":
        pod: Pod | None = store.get(Kind.POD, uid)
        return None if pod is None else pod_owner(pod)
    record = owner_record(store, uid)
    return None if record is None else record.owner


def pod_owner(pod: Pod) -> OwnerRef | None:
    """The controller of a pod, None where nothing controls it."""
    if not pod.owner_uid:
        return None
    return OwnerRef(pod.owner_api_version, pod.owner_kind, pod.owner_name, pod.owner_uid)


def climb(store: StoreReader, start: Root) -> Root:
    """The top of the chain of controlling owners above `start`, which may be itself, through pods, too."""
    here = start
    for _ in range(_DEEPEST):
        owner = owner_ref(store, here.kind, here.uid) if here.uid else None
        if owner is None or not is_part(here.kind, owner.kind):
            break
        here = from_ref(owner, start.namespace)
    return here


def from_ref(owner: OwnerRef, namespace: str) -> Root:
    return Root(owner.api_version, owner.kind, namespace, owner.name, owner.uid)


def of_object(record: JobObject | OwnerObject) -> Root:
    return Root(record.api_version, record.kind, record.namespace, record.name, record.uid)


def of_pod(store: StoreReader, pod: Pod) -> Root:
    """The job of a pod; a pod that nothing controls is a job of its own."""
    if not pod.owner_uid or not is_part("Pod", pod.owner_kind):
        return Root("v1", "Pod", pod.namespace, pod.name, pod.uid)
    return climb(
        store, Root(pod.owner_api_version, pod.owner_kind, pod.namespace, pod.owner_name, pod.owner_uid)
    )
