"""From the facts to the row: what every kind of job shares."""

from collections.abc import Mapping
from typing import NamedTuple

from cockpit.gangs import kueue, pod_group
from cockpit.gangs.detect import engine_of
from cockpit.gangs.verdict import GangVerdict
from cockpit.jobs.judge import Facts, judge
from cockpit.jobs.members import is_up
from cockpit.jobs.root import Root
from cockpit.model.gang import Workload
from cockpit.model.job import Job, JobObject, JobState
from cockpit.model.pod import Pod
from cockpit.model.record import Labels
from cockpit.store.store import Store

PERSON_LABELS = (
    "cockpit/user",
    "user",
    "username",
    "owner",
    "created-by",
    "app.kubernetes.io/created-by",
    "notebooks.kubeflow.org/owner",
    "submitter",
)


class Place(NamedTuple):
    """A place in line, 1 is next; `is_told` where the engine said it, else it was estimated."""

    number: int
    is_told: bool = False


Positions = Mapping[str, Place]
"""Uid of a Workload or PodGroup to its place."""


def workload_of(store: Store, uid: str) -> Workload | None:
    """The Workload that stands for a job: the newest that has not finished, else the newest."""
    found = store.workloads_of(uid)
    alive = [one for one in found if kueue.gang_state(one) != "finished"]
    return (alive or found or (None,))[-1]


def gang_of(
    workload: Workload | None, store: Store, positions: Positions, pods: tuple[Pod, ...] = ()
) -> GangVerdict | None:
    """What holds the gang: Kueue while its Workload waits, then the engine that places its pods."""
    queued = None
    if workload is not None:
        place = positions.get(workload.uid)
        told = {} if place is None else {workload.uid: place.number}
        queued = kueue.verdict(workload, store, told, is_told=place is not None and place.is_told)
        if queued.is_waiting:
            return queued
    group = pod_group.group_of(pods, store)
    if group is None:
        return queued
    place = positions.get(group.uid)
    placed = pod_group.verdict(group, pods, None if place is None else place.number)
    return placed if placed is not None and placed.is_waiting else queued


def person_of(labels: Labels) -> str:
    """Who submitted it, where a label tells."""
    told = dict(labels)
    return next((told[key] for key in PERSON_LABELS if told.get(key)), "")


def make_row(  # the one place where a Job is put together
    root: Root,
    facts: Facts,
    store: Store,
    *,
    labels: Labels = (),
    workload: Workload | None = None,
    gpus_wanted: int | None = None,
    resource_version: str = "",
    created_seconds: float | None = None,
    started_seconds: float | None = None,
    finished_seconds: float | None = None,
) -> Job:
    """The row of one job."""
    state, why = judge(facts, store)
    engine = engine_of(labels, facts.pods, workload)
    gang = facts.gang
    place = gang.position if gang is not None and state == JobState.QUEUED else None
    return Job(
        key=root.key,
        uid=root.uid,
        api_version=root.api_version,
        kind=root.kind,
        namespace=root.namespace,
        name=root.name,
        resource_version=resource_version,
        engine=engine.name,
        queue=engine.queue,
        position=place,
        is_position_estimate=place is not None and gang is not None and gang.is_estimate,
        state=state,
        why="" if state == JobState.RUNNING else why,
        ready=sum(1 for pod in facts.counted if is_up(pod)),
        wanted=facts.wanted,
        gpus_held=sum(pod.holds_gpus for pod in facts.pods),
        gpus_wanted=gpus_wanted,
        created_seconds=created_seconds,
        started_seconds=started_seconds if started_seconds is not None else first_start(facts.pods),
        finished_seconds=finished_seconds if state in JobState.ENDED else None,
        owner=person_of(labels),
        workload_uid="" if workload is None else workload.uid,
        pod_uids=tuple(pod.uid for pod in facts.pods),
        nodes=tuple(dict.fromkeys(pod.node for pod in facts.pods if pod.node)),
    )


def make_object_row(job: JobObject, root: Root, facts: Facts, store: Store, workload: Workload | None) -> Job:
    """The row of a job that has an object of its own: what every such object tells, whatever its kind."""
    return make_row(
        root,
        facts,
        store,
        labels=job.labels,
        workload=workload,
        gpus_wanted=sum(role.replicas * role.gpus_each for role in job.replicas),
        resource_version=job.resource_version,
        created_seconds=job.created_seconds,
        started_seconds=job.started_seconds,
        finished_seconds=job.finished_seconds,
    )


def first_start(pods: tuple[Pod, ...]) -> float | None:
    return min((pod.started_seconds for pod in pods if pod.started_seconds is not None), default=None)


def last_finish(pods: tuple[Pod, ...]) -> float | None:
    return max((pod.finished_seconds for pod in pods if pod.finished_seconds is not None), default=None)


def newest_warning(store: Store, uid: str) -> str:
    """The message of the newest Warning event on the object itself, "" where there is none."""
    for event in store.events_of(uid):
        if event.type == "Warning" and event.reason != "SetPodTemplateRestartPolicy":
            return f"{event.reason}: {event.message}" if event.message else event.reason
    return ""
