"""batch/v1 Job that no other job owns."""

from collections.abc import Iterable

from cockpit.gangs.engine_of_job import admitted_by
from cockpit.jobs.job_state import Facts
from cockpit.jobs.owner_chain import Root
from cockpit.jobs.row import (
    Positions,
    gang_of,
    growth_of,
    make_object_row,
    members_asked,
    workload_of,
)
from cockpit.model.job import Job, JobObject, JobState
from cockpit.model.pod import POOL_MARK, Pod
from cockpit.model.record import condition
from cockpit.model.store_reader import StoreReader


def is_row(job: JobObject, pods: Iterable[Pod], store: StoreReader) -> bool:
    """True for Jobs that ask for GPUs or that an engine admits; other Jobs are not our subject, nor are
    placeholders of ours."""
    if any(key == POOL_MARK for key, _ in job.labels):
        return False
    if any(role.asks_for_gpus for role in job.replicas) or any(pod.asks_for_gpus for pod in pods):
        return True
    return bool(store.workloads_of(job.uid))


def row(job: JobObject, root: Root, pods: tuple[Pod, ...], store: StoreReader, positions: Positions) -> Job:
    """The row of a batch Job; `pods` are the current ones, by completion index where it has one."""
    workload = workload_of(store, job.uid)
    wanted = members_asked(job.replicas)
    growth = growth_of(store, job.uid)
    if growth is not None:  # pods of the next slice are made, and kept back by a gate
        pods = tuple(pod for pod in pods if not pod.is_gated)
    facts = Facts(
        kind=job.kind,
        pods=pods,
        counted=pods,
        wanted=wanted if growth is None else growth.pods_now,
        completions=job.completions if growth is None else None,
        done_said=job.succeeded,
        grows_to=None if growth is None else growth.pods_then,
        gang=gang_of(workload, store, positions, pods),
        is_deleting=job.deleting_seconds is not None,
        is_suspended=job.is_suspended,
        queue=admitted_by(job.labels),
        ended=ended_as(job)[0],
    )
    return make_object_row(job, root, facts, store, workload)


def ended_as(job: JobObject) -> tuple[str, str]:
    """(JobState.SUCCEEDED or FAILED, message), ("", "") while it has not ended."""
    for type_, state in (("Complete", JobState.SUCCEEDED), ("Failed", JobState.FAILED)):
        found = condition(job.conditions, type_)
        if found is not None and found.status == "True":
            return state, found.message or found.reason
    return "", ""
