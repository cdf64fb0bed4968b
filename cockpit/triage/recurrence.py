"""What comes again and again: how often and within how long, as one read of the cluster tells it (counts of
events, restarts of a container, attempts of a Job). *Now*, the page and the commands take it from here."""

from collections.abc import Iterable
from typing import NamedTuple

from cockpit.model.event import Event
from cockpit.model.job import JobObject
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader

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
