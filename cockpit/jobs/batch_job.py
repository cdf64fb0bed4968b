"""batch/v1 Job that nobody else's job owns."""

from collections.abc import Iterable

from cockpit.gangs.detect import QUEUE_LABEL
from cockpit.jobs.judge import Facts
from cockpit.jobs.root import Root
from cockpit.jobs.row import Positions, gang_of, make_object_row, newest_warning, workload_of
from cockpit.model.job import Job, JobObject, JobState
from cockpit.model.pod import Pod
from cockpit.model.record import condition, label
from cockpit.store.store import Store


def is_row(job: JobObject, pods: Iterable[Pod], store: Store) -> bool:
    """True for Jobs that ask for GPUs or that Kueue queues; the cluster's other Jobs are not our subject."""
    if any(role.gpus_each for role in job.replicas) or any(pod.gpus for pod in pods):
        return True
    return bool(store.workloads_of(job.uid))


def row(job: JobObject, root: Root, pods: tuple[Pod, ...], store: Store, positions: Positions) -> Job:
    """The row of a batch Job; `pods` are the current ones, by completion index where it has one."""
    workload = workload_of(store, job.uid)
    wanted = sum(role.replicas for role in job.replicas)
    ended, message = ended_as(job)
    facts = Facts(
        kind=job.kind,
        pods=pods,
        counted=pods,
        wanted=wanted,
        gang=gang_of(workload, store, positions, pods),
        is_deleting=job.deleting_seconds is not None,
        is_suspended=job.is_suspended,
        queue=label(job.labels, QUEUE_LABEL),
        ended=ended,
        end_message=message,
        warning="" if pods else newest_warning(store, job.uid),
    )
    return make_object_row(job, root, facts, store, workload)


def ended_as(job: JobObject) -> tuple[str, str]:
    """(JobState.SUCCEEDED or FAILED, message), ("", "") while it has not ended."""
    for type_, state in (("Complete", JobState.SUCCEEDED), ("Failed", JobState.FAILED)):
        found = condition(job.conditions, type_)
        if found is not None and found.status == "True":
            return state, found.message or found.reason
    return "", ""
