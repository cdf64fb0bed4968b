"""The line in front of a waiting job, from the store: what `expected.estimate` plays through."""

import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

from cockpit.fit.gang import FitAnswer
from cockpit.model.gang import ClusterQueue
from cockpit.model.job import Job, JobState
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.triage.cluster_view import ClusterView
from cockpit.triage.expected import InLine, Moment, RunHistory, RunningJob, estimate
from cockpit.triage.verdict import Expected, Subject
from cockpit.triage.wanted import Demand, Holdup, Wanted, local_queue

_NUMBER: Final = re.compile(r"[-_.]?[0-9a-f]*[0-9][0-9a-f]*$")
_SEED: Final = 1
"""The same state gives the same range: a row must not flicker."""

_ELSE: Final = {
    Holdup.SUSPENDED: "somebody has to resume it",
    Holdup.MAKER: "its pods cannot be made yet",
    Holdup.OTHER: "room is not what holds it",
}

Progress = Mapping[str, float]
"""How far jobs are (0..1), by key; those that tell nothing are not in it."""


def shape_name(namespace: str, name: str, gpus: int) -> str:
    """What alike jobs have in common: `team-a/sweep/8` of sweep-17."""
    return f"{namespace}/{_NUMBER.sub('', name) or name}/{gpus}"


def expected_start(
    subject: Subject,
    view: ClusterView,
    history: RunHistory,
    progress: Progress | None = None,
    *,
    demand: Demand | None = None,
) -> Expected | None:
    """When the subject starts; None where it does not wait for seats, or what it asks for was not read."""
    demand = demand or Demand(subject, view)
    wanted = demand.wanted
    if wanted is None or not wanted.gpus:
        return None
    if why := _held_by_else(wanted, demand.answer):
        return Expected(None, None, f"unknown: {why}")
    moment = _moment(wanted, demand.answer, view, progress or {})
    if moment is None:
        return Expected(None, None, "unknown: no node would take it")
    seated = estimate(moment, history, Random(_SEED))
    if wanted.holdup is not Holdup.QUEUE:
        return seated
    quota = _quota_moment(wanted, view, progress or {})
    if isinstance(quota, str):
        return Expected(None, None, f"unknown: {quota}")
    return _later(seated, estimate(quota, history, Random(_SEED)))


def _held_by_else(wanted: Wanted, answer: FitAnswer) -> str:
    """What holds it where neither seats nor quota do: nobody knows for how long."""
    if wanted.holdup is Holdup.SCHEDULER:
        return "" if answer.missing else "there is room for it, something else holds it"
    return _ELSE.get(wanted.holdup, "")


def _later(one: Expected, other: Expected) -> Expected:
    """The later of both, for it needs both; unknown where either is."""
    ends = (one.from_seconds, other.from_seconds, one.to_seconds, other.to_seconds)
    if ends[0] is None or ends[1] is None or ends[2] is None or ends[3] is None:
        return one if one.from_seconds is None else other
    return Expected(max(ends[0], ends[1]), max(ends[2], ends[3]), other.why)


def _quota_moment(wanted: Wanted, view: ClusterView, progress: Progress) -> Moment | str:
    """The queue's quota of GPUs as if it were one node: who holds of it, and who is in line for it. Why not,
    where it is not known."""
    local = local_queue(view, wanted.namespace, wanted.queue)
    name = "" if local is None else local.cluster_queue
    queue: ClusterQueue | None = view.store.by_key(Kind.CLUSTER_QUEUE, name) if name else None
    resource = max(wanted.parts, key=lambda one: one.shape.gpus).shape.gpu_resource
    rows = () if queue is None else tuple(row for row in queue.quotas if row.resource == resource)
    taken = [(row.used if row.reserved is None else row.reserved) for row in rows]
    if not rows or None in taken:
        return "the quota of its queue is not known"
    free = sum(max(0, row.nominal - (held or 0)) for row, held in zip(rows, taken, strict=True))
    holders: list[RunningJob] = []
    waiting: list[tuple[tuple[float, float, str], InLine]] = []
    for job in view.jobs.jobs.values():
        behind = local_queue(view, job.namespace, job.queue) if job.queue else None
        if behind is None or behind.cluster_queue != name or job is wanted.job:
            continue
        shape = shape_name(job.namespace, job.name, (job.gpus_wanted or 0) // (job.wanted or 1))
        if job.state in (JobState.QUEUED, JobState.PENDING):
            waiting.append((_turn(job), InLine(shape, 1, job.gpus_wanted or 0)))
        elif job.gpus_allocated:
            seats, share = ((0, job.gpus_allocated),), progress.get(job.key)
            holders.append(RunningJob(shape, seats, _elapsed(view.jobs.members(job.key), view), share))
    whole = free + sum(one.seats[0][1] for one in holders)
    if wanted.gpus > whole:
        return f"it asks for {wanted.gpus} GPUs, its queue has {whole} unused or in use"
    waiting.sort(key=lambda pair: pair[0])
    ahead = [entry for turn, entry in waiting if _is_ahead(turn, wanted)]
    mine = InLine(_shape_of(wanted), 1, wanted.gpus)
    line = (*ahead, mine, *(entry for turn, entry in waiting if not _is_ahead(turn, wanted)))
    return Moment(
        now_seconds=view.now_seconds,
        free=(free,),
        holders=tuple(holders),
        line=line,
        at=len(ahead),
        node_gpus=whole,
    )


def _moment(wanted: Wanted, answer: FitAnswer, view: ClusterView, progress: Progress) -> Moment | None:
    """Nodes that would take the subject's largest part, were they empty, and the jobs that share these."""
    largest = answer.parts[answer.main]  # it was put first: no other part was in its way
    part = largest.part
    takers = (one.node for one in largest.node_fits if not one.blocks)
    nodes = [one for one in takers if (one.gpu_allocatable or 0) >= part.shape.gpus]
    if not nodes:
        return None
    index = {node.name: at for at, node in enumerate(nodes)}
    holders: list[RunningJob] = []
    waiting: list[tuple[tuple[float, float, str], InLine]] = []
    for job in view.jobs.jobs.values():
        if wanted.job is not None and job.key == wanted.job.key:
            continue
        if job.state in (JobState.QUEUED, JobState.PENDING):
            if entry := _in_line(job):
                waiting.append((_turn(job), entry))
        elif job.gpus_allocated:
            holders += _holders(job, index, view, progress)
    mine = InLine(_shape_of(wanted), part.count, part.shape.gpus)
    waiting.sort(key=lambda pair: pair[0])
    ahead = [entry for turn, entry in waiting if _is_ahead(turn, wanted)]
    behind = [entry for turn, entry in waiting if not _is_ahead(turn, wanted)]
    return Moment(
        now_seconds=view.now_seconds,
        free=tuple(_free(node, view) for node in nodes),
        holders=tuple(holders),
        line=(*ahead, mine, *behind),
        at=len(ahead),
        node_gpus=max(node.gpu_allocatable or 0 for node in nodes),
    )


def _shape_of(wanted: Wanted) -> str:
    name = wanted.subject.name if wanted.job is None else wanted.job.name
    return shape_name(wanted.namespace, name, max(one.shape.gpus for one in wanted.parts))


def _free(node: Node, view: ClusterView) -> int:
    return max(0, (node.gpu_allocatable or 0) - view.store.requests_on(node.name).gpus)


def _turn(job: Job) -> tuple[float, float, str]:
    """By its place in the queue where that is known, then by age."""
    place = float("inf") if job.position is None else float(job.position)
    return (place, job.created_seconds or 0.0, job.key)


def _is_ahead(turn: tuple[float, float, str], wanted: Wanted) -> bool:
    return wanted.job is not None and turn < _turn(wanted.job)


def _in_line(job: Job) -> InLine | None:
    members = job.wanted or 1
    gpus = (job.gpus_wanted or 0) // members
    return InLine(shape_name(job.namespace, job.name, gpus), members, gpus) if gpus else None


def _holders(
    job: Job, index: Mapping[str, int], view: ClusterView, progress: Progress
) -> Sequence[RunningJob]:
    """The job's seats on these nodes; nothing where it has none."""
    pods = [pod for pod in view.jobs.members(job.key) if pod.gpus_allocated and pod.node in index]
    if not pods:
        return ()
    seats = tuple((index[pod.node], pod.gpus) for pod in pods)
    shape = shape_name(job.namespace, job.name, pods[0].gpus)
    return (RunningJob(shape, seats, _elapsed(pods, view), progress.get(job.key)),)


def _elapsed(pods: Sequence[Pod], view: ClusterView) -> float:
    """Of a pod that nobody says to have started the whole running time is still to come."""
    since = min((pod.started_seconds for pod in pods if pod.started_seconds is not None), default=None)
    return max(0.0, view.now_seconds - since) if since is not None else 0.0
