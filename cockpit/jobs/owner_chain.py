"""Which job a pod belongs to: the top controller above it, as far as the store knows the chain."""

from typing import NamedTuple

from cockpit.gangs import registry
from cockpit.model.job import JobObject, OwnerObject
from cockpit.model.pod import Pod
from cockpit.model.record import OwnerRef
from cockpit.model.store_reader import StoreReader

NOT_JOBS = ("CronJob", "ScheduledWorkflow", "CronWorkflow", "Workflow", "Node", "Application", "HelmRelease")
"""Owners that start or deliver many jobs (or, a Node, own nothing but a mirror): the job is below them."""

_TOPS = ("MPIJob", "Pod")
_DEEPEST = 8  # no real chain is longer; a cycle must end


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
    """The record of a controller, whichever table it is in."""
    for kind in registry.controller_tables():
        found: JobObject | OwnerObject | None = store.get(kind, uid)
        if found is not None:
            return found
    return None


def climb(store: StoreReader, start: Root) -> Root:
    """The top of the chain of controlling owners above `start`, which may be itself.

    An MPIJob is always a top: what owns one (a pipeline) runs several jobs. So is a pod that is its own job.
    """
    here = start
    for _ in range(_DEEPEST):
        if here.kind in _TOPS or not here.uid:
            break
        record = owner_record(store, here.uid)
        owner = None if record is None else record.owner
        if owner is None or owner.kind in NOT_JOBS:
            break
        here = from_ref(owner, start.namespace)
    return here


def from_ref(owner: OwnerRef, namespace: str) -> Root:
    return Root(owner.api_version, owner.kind, namespace, owner.name, owner.uid)


def of_object(record: JobObject | OwnerObject) -> Root:
    return Root(record.api_version, record.kind, record.namespace, record.name, record.uid)


def of_pod(store: StoreReader, pod: Pod) -> Root:
    """The job of a pod; a pod that nobody controls is a job of its own."""
    if not pod.owner_uid or pod.owner_kind in NOT_JOBS:
        return Root("v1", "Pod", pod.namespace, pod.name, pod.uid)
    return climb(
        store, Root(pod.owner_api_version, pod.owner_kind, pod.namespace, pod.owner_name, pod.owner_uid)
    )
