"""Since when a job or pod is as it is, and how often something came again, as one read of the cluster
tells it (counts of events, restarts, attempts of a Job): for row, page, *Now* and commands alike."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from cockpit.catalogue import Gate, row_of
from cockpit.gangs import registry
from cockpit.model.event import Event
from cockpit.model.finding import Finding
from cockpit.model.job import Job, JobObject, JobState
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind, condition
from cockpit.model.store_reader import StoreReader
from cockpit.triage.judgement import is_up
from cockpit.triage.on_demand import TOLD_BY_LOG

WINDOW_SECONDS = 600.0
"""What came again and again is over so long after the last time: twice the longest back-off, when a kubelet
forgets it, too. Source: kubernetes pkg/kubelet/kubelet.go, MaxCrashLoopBackOff."""
FEWEST_TIMES = 2
LASTS_SECONDS = 60.0
"""What a card does for so long without a break is told though it came once."""
FEWEST_FLIPS = 3
"""A node that is started again stops being Ready once or twice."""


class Recurrence(NamedTuple):
    """How often something came, first and last (epoch seconds)."""

    times: int
    first_seconds: float
    last_seconds: float

    @property
    def words(self) -> str:
        """`6 times in 9 min`; `for 9 min` of what came once and lasted."""
        return f"{self.times} times in {self.span}" if self.times > 1 else f"for {self.span}"

    @property
    def span(self) -> str:
        """`20 s`, `9 min`, `3 h`, `4 days`."""
        seconds = max(1, round(self.last_seconds - self.first_seconds))
        if seconds < 60:
            return f"{seconds} s"
        minutes = round(seconds / 60)
        if minutes < 120:
            return f"{minutes} min"
        return f"{minutes // 60} h" if minutes < 2_880 else f"{minutes // 1_440} days"


def of_card(uuid: str, store: StoreReader) -> Recurrence | None:
    """Times that something harmful began to throttle the card, or to heat it; None where it did once at most,
    and not for long: one read decides nothing."""
    slow = store.slowdown(uuid)
    if slow is None or (slow.times < FEWEST_TIMES and slow.longest_seconds < LASTS_SECONDS):
        return None
    return Recurrence(slow.times, slow.first_seconds, slow.last_seconds)


class Attempts(NamedTuple):
    """Pods of a Job that failed one after the other in the same place; `last` failed last."""

    came: Recurrence
    last: Pod


def is_recent(last_seconds: float | None, now_seconds: float | None) -> bool:
    """Whether what came then may come again any moment."""
    return (
        last_seconds is not None and now_seconds is not None and now_seconds - last_seconds < WINDOW_SECONDS
    )


def of_restarts(pod: Pod) -> Recurrence | None:
    """Ends of its container, however long ago the last was; None where it was started again once at most."""
    if pod.restarts < FEWEST_TIMES or pod.crashed_seconds is None or pod.started_seconds is None:
        return None
    return Recurrence(pod.restarts, pod.started_seconds, pod.crashed_seconds)


def of_events(
    events: Iterable[Event], now_seconds: float | None, fewest: int = FEWEST_TIMES
) -> Recurrence | None:
    """Of events that say the same; of those that several components say, as the one that says it most."""
    times: dict[str, int] = {}
    first: list[float] = []
    last: list[float] = []
    for event in events:
        if event.last_seconds is not None and is_recent(event.last_seconds, now_seconds):
            times[event.component] = times.get(event.component, 0) + event.count
            first.append(event.last_seconds if event.first_seconds is None else event.first_seconds)
            last.append(event.last_seconds)
    most = max(times.values(), default=0)
    return Recurrence(most, min(first), max(last)) if most >= fewest else None


def of_readiness(node: Node, store: StoreReader, now_seconds: float) -> Recurrence | None:
    """Times that a node stopped being Ready; a kubelet names its node as the uid, too."""
    said = (
        event
        for uid in (node.uid, node.name)
        for event in store.events_of(uid)
        if event.reason == "NodeNotReady" and event.object_kind == "Node"
    )
    return of_events(said, now_seconds, FEWEST_FLIPS)


def of_attempts(pods: Iterable[Pod], store: StoreReader, now_seconds: float | None) -> Attempts | None:
    """Of the Jobs that make these pods: the place in which most pods failed of late."""
    found: list[Attempts] = []
    for uid in {pod.owner_uid for pod in pods if pod.owner_kind == "Job"}:
        job: JobObject | None = store.get(Kind.JOB, uid)
        if job is None or job.failed < FEWEST_TIMES:
            continue
        by_rank: dict[int | None, list[Pod]] = {}
        for pod in store.pods_of(uid):
            if pod.phase == "Failed":
                by_rank.setdefault(pod.rank, []).append(pod)
        is_alone = sum(role.replicas or 0 for role in job.replicas) <= 1
        found += (_attempts(some) for rank, some in by_rank.items() if rank is not None or is_alone)
    recent = [
        one
        for one in found
        if one.came.times >= FEWEST_TIMES and is_recent(one.came.last_seconds, now_seconds)
    ]
    return max(recent, key=lambda one: one.came, default=None)


def _attempts(failed: list[Pod]) -> Attempts:
    last = max(failed, key=lambda pod: (pod.finished_seconds or 0.0, pod.name))
    first = min(pod.created_seconds or 0.0 for pod in failed)
    return Attempts(Recurrence(len(failed), first, last.finished_seconds or 0.0), last)


# ---- since when


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
