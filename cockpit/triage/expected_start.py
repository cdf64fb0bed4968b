"""The line in front of a waiting job, from the store: what `expected.estimate` plays through."""

import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

from cockpit.fit.gang import FitAnswer
from cockpit.model.job import Job, JobState
from cockpit.model.node import Node
from cockpit.triage.cluster_view import ClusterView
from cockpit.triage.expected import InLine, Moment, RunHistory, RunningJob, estimate
from cockpit.triage.verdict import Expected, Subject
from cockpit.triage.wanted import Demand, Wanted

_NUMBER: Final = re.compile(r"[-_.]?[0-9a-f]*[0-9][0-9a-f]*$")
_SEED: Final = 1
"""The same state gives the same range: a row must not flicker."""

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
    moment = _moment(wanted, demand.answer, view, progress or {})
    if moment is None:
        return Expected(None, None, "unknown: no node would take it")
    return estimate(moment, history, Random(_SEED))


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
    size = part.shape.gpus
    name = wanted.subject.name if wanted.job is None else wanted.job.name
    mine = InLine(shape_name(wanted.namespace, name, size), part.count, size)
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
    since = min((pod.started_seconds for pod in pods if pod.started_seconds is not None), default=None)
    # of a pod that nobody says to have started the whole running time is still to come
    elapsed = max(0.0, view.now_seconds - since) if since is not None else 0.0
    seats = tuple((index[pod.node], pod.gpus) for pod in pods)
    shape = shape_name(job.namespace, job.name, pods[0].gpus)
    return (RunningJob(shape, seats, elapsed, progress.get(job.key)),)
