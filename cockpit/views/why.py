"""Why a job waits: one sentence, and under it the fields it was read from, with their age."""

from collections.abc import Mapping
from typing import Protocol

from cockpit.model.gang import Workload
from cockpit.model.job import Job
from cockpit.model.pod import Pod
from cockpit.model.record import Condition
from cockpit.views import format as fmt
from cockpit.views.source import StoreReader

MOST_EVENTS = 8
MOST_PODS = 6


class JobReader(Protocol):
    """The job rows, as far as they are read here."""

    @property
    def jobs(self) -> Mapping[str, Job]: ...
    def job(self, key: str) -> Job | None: ...
    def members(self, key: str) -> tuple[Pod, ...]: ...


class Evidence(StoreReader, Protocol):
    """The store, with the workloads of an object."""

    def workloads_of(self, owner_uid: str, /) -> tuple[Workload, ...]: ...


def lines(key: str, jobs: JobReader, store: Evidence, now_seconds: float) -> tuple[str, ...]:
    """Lines of the page; the first is the sentence."""
    job = jobs.job(key)
    if job is None:
        return (f"{key} is gone: it was deleted, or its last pod was",)
    text = [job.why or f"{job.namespace}/{job.name} is {job.state}; nothing holds it back", ""]
    text += _counts(job)
    for workload in store.workloads_of(job.uid):
        text += ["", f"Workload {workload.namespace}/{workload.name}"]
        text += [_condition_line(one, now_seconds) for one in workload.conditions]
        if not workload.is_active:
            text.append("  spec.active is false: somebody holds it")
    text += _pods(jobs.members(key))
    text += _events(job, jobs.members(key), store, now_seconds)
    return tuple(text)


def _counts(job: Job) -> list[str]:
    wanted = "?" if job.wanted is None else str(job.wanted)
    asked = "?" if job.gpus_wanted is None else str(job.gpus_wanted)
    text = [f"state {job.state}, {job.ready} of {wanted} members ready, {job.gpus_held} of {asked} GPUs held"]
    if job.queue:
        about = "about " if job.is_position_estimate else ""
        place = "" if job.position is None else f", {about}number {job.position} in line"
        text.append(f"queue {job.queue} ({job.engine or 'no engine'}){place}")
    return text


def _condition_line(one: Condition, now_seconds: float) -> str:
    age = fmt.since(one.changed_seconds, now_seconds)
    return f"  {one.type} {one.status} {one.reason} ({age}): {one.message}"


def _pods(members: tuple[Pod, ...]) -> list[str]:
    stuck = [pod for pod in members if pod.scheduled == "False" or pod.waiting_reason or pod.status_reason]
    if not stuck:
        return []
    text = ["", f"Pods that do not run: {len(stuck)} of {len(members)}"]
    for pod in stuck[:MOST_PODS]:
        said = pod.waiting_message or pod.scheduled_message or pod.status_message
        reason = pod.waiting_reason or pod.scheduled_reason or pod.status_reason
        text.append(f"  {pod.name} {reason}: {said}")
    return text


def _events(job: Job, members: tuple[Pod, ...], store: Evidence, now_seconds: float) -> list[str]:
    uids = (job.uid, job.workload_uid, *(pod.uid for pod in members))
    found = sorted(
        (event for uid in uids if uid for event in store.events_of(uid)),
        key=lambda event: event.last_seconds or 0.0,
        reverse=True,
    )
    if not found:
        return []
    text = ["", "Events, newest first"]
    for event in found[:MOST_EVENTS]:
        times = f" x{event.count}" if event.count > 1 else ""
        age = fmt.since(event.last_seconds, now_seconds)
        text.append(f"  {age} {event.type} {event.reason}{times} {event.object_name}: {event.message}")
    return text
