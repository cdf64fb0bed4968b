"""Since when a job or pod is as it is: how long it waits, not how old the newest word about it is. One rule
for its row, its page, *Now* and the commands."""

from collections.abc import Iterable
from typing import Final

from cockpit.catalogue import Gate, row_of
from cockpit.gangs import registry
from cockpit.model.finding import Finding
from cockpit.model.job import Job, JobState
from cockpit.model.pod import Pod
from cockpit.model.record import condition
from cockpit.model.store_reader import StoreReader
from cockpit.triage.judgement import is_up
from cockpit.triage.on_demand import TOLD_BY_LOG

ANSWER_SECONDS: Final = 60.0
"""Pods that a controller makes within so long were waited for from the beginning of the wait itself."""
_WAITS: Final = (JobState.QUEUED, JobState.PENDING, JobState.STARTING)


def job_since(job: Job, found: Finding, pods: Iterable[Pod], store: StoreReader) -> float | None:
    """Epoch seconds, None where nothing tells it. A wait begins with the job, its eviction, its admission, or
    with its pods where they were made again after it had run; what broke is as old as its first failure."""
    told = _told(found)
    if found.cause in TOLD_BY_LOG and told is not None and any(pod.restarts > 1 for pod in pods):
        return told  # it ran before, and does so between two crashes
    if job.state in _WAITS:
        return wait_begun(job, pods, store)
    if job.state == JobState.DEGRADED:
        ends = [pod.finished_seconds for pod in pods if pod.phase == "Failed"]
        return min((one for one in ends if one is not None), default=told or job.created_seconds)
    if job.state == JobState.FINISHING:
        going = [pod.deleting_seconds for pod in pods]
        return min((one for one in going if one is not None), default=told or job.created_seconds)
    if job.state in JobState.ENDED and job.finished_seconds is not None:
        return job.finished_seconds
    if job.state == JobState.RUNNING and row_of(found.cause).gate is Gate.PROGRESS:
        cards = (card for pod in pods for card in store.gpus_of_pod(pod.namespace, pod.name))
        idle = [since for card in cards if (since := store.idle_since(card.uuid)) is not None]
        return min(idle, default=told or job.created_seconds)
    return told or job.created_seconds


def pod_since(pod: Pod, found: Finding) -> float | None:
    """The same of a pod: one without a node waits since it was made, one that goes since it was deleted."""
    begun = pod.deleting_seconds or pod.created_seconds
    told = _told(found)
    if told is None or (not pod.node and not pod.is_finished):
        return begun
    return told if begun is None else max(begun, told)


def _told(found: Finding) -> float | None:
    if found.since_seconds is not None:
        return found.since_seconds
    return min((one.since_seconds for one in found.evidence if one.since_seconds is not None), default=None)


def wait_begun(job: Job, pods: Iterable[Pod], store: StoreReader) -> float | None:
    """Since when it waits for what it waits for now."""
    begun = _turn(job, store)
    waiting = [
        pod.deleting_seconds or pod.created_seconds for pod in pods if not pod.is_finished and not is_up(pod)
    ]
    made = min((one for one in waiting if one is not None), default=None)
    if begun is None or made is None or made < begun + ANSWER_SECONDS:
        return begun
    return made


def _turn(job: Job, store: StoreReader) -> float | None:
    workload = registry.workload_of(job, store)
    if workload is None:
        return job.created_seconds
    evicted = condition(workload.conditions, "Evicted")
    admitted = condition(workload.conditions, "Admitted")
    if evicted is not None and evicted.status == "True":
        return evicted.changed_seconds or job.created_seconds
    if job.state != JobState.QUEUED and admitted is not None and admitted.status == "True":
        # it queued first: what counts is the time since then
        return admitted.changed_seconds or job.created_seconds
    return job.created_seconds
