"""The line in front of a waiting job, from the store: what `expected.estimate` plays through."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

import msgspec

from cockpit.fit.gang import FitAnswer
from cockpit.model.finding import Expected, Subject
from cockpit.model.job import Job, JobState
from cockpit.model.node import Node
from cockpit.triage.cluster_view import ClusterView
from cockpit.triage.expected import InLine, Moment, RunHistory, RunningJob, estimate
from cockpit.triage.machines_coming import machines_coming
from cockpit.triage.quota_line import quota_moment
from cockpit.triage.turns import elapsed, is_ahead, shape_name, shape_of, turn_of
from cockpit.triage.wanted import Demand, Holdup, Wanted

_SEED: Final = 1
"""The same state gives the same range: a row must not flicker."""

_ELSE: Final = {
    Holdup.SUSPENDED: "it has to be resumed",
    Holdup.MAKER: "its pods cannot be made yet",
    Holdup.OTHER: "room is not what holds it",
}


def expected_start(
    subject: Subject, view: ClusterView, history: RunHistory, *, demand: Demand | None = None
) -> Expected | None:
    """When the subject starts; None where it does not wait for seats, or what it asks for was not read."""
    demand = demand or Demand(subject, view)
    wanted = demand.wanted
    if wanted is None or not wanted.gpus:
        return None
    why = _held_by_else(wanted, demand.answer)
    if why and wanted.holdup is not Holdup.OTHER:
        return Expected(None, None, f"unknown: {why}")
    moment, growths = _moment(wanted, demand.answer, view)
    if moment is None:
        return Expected(None, None, "unknown: no node would take it")
    if why:
        return Expected(None, None, f"unknown: {why}")
    grown = msgspec.structs.replace(history, growths=growths)
    seated = estimate(moment, grown, Random(_SEED))
    if wanted.holdup is not Holdup.QUEUE:
        return seated
    quota = quota_moment(wanted, view)
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


def _moment(wanted: Wanted, answer: FitAnswer, view: ClusterView) -> tuple[Moment | None, tuple[float, ...]]:
    """Nodes that would take the subject's largest part, were they empty, with the jobs that share these and
    the machines on their way to the same pools; and how long such machines took."""
    largest = answer.parts[answer.main]  # it was put first: no other part was in its way
    part = largest.part
    takers = (one.node for one in largest.node_fits if not one.blocks)
    nodes = [one for one in takers if (one.gpu_allocatable or 0) >= part.shape.gpus]
    if not nodes:
        return None, ()
    coming = machines_coming(view.store, {node.pool for node in nodes}, view.now_seconds)
    index = {node.name: at for at, node in enumerate(nodes)}
    holders: list[RunningJob] = []
    waiting: list[tuple[tuple[float, float, str], InLine]] = []
    for job in view.jobs.jobs.values():
        if wanted.job is not None and job.key == wanted.job.key:
            continue
        if job.state in (JobState.QUEUED, JobState.PENDING):
            if entry := _in_line(job):
                waiting.append((turn_of(job), entry))
        elif job.gpus_allocated:
            holders += _holders(job, index, view)
    mine = InLine(shape_of(wanted), part.count, part.shape.gpus)
    waiting.sort(key=lambda pair: pair[0])
    ahead = [entry for turn, entry in waiting if is_ahead(turn, wanted)]
    behind = [entry for turn, entry in waiting if not is_ahead(turn, wanted)]
    moment = Moment(
        now_seconds=view.now_seconds,
        free=tuple(_free(node, view) for node in nodes),
        holders=tuple(holders),
        line=(*ahead, mine, *behind),
        at=len(ahead),
        coming=coming.ages if coming.growths else (),
        node_gpus=max(node.gpu_allocatable or 0 for node in nodes),
    )
    return moment, coming.growths


def _free(node: Node, view: ClusterView) -> int:
    return max(0, (node.gpu_allocatable or 0) - view.store.requests_on(node.name).gpus)


def _in_line(job: Job) -> InLine | None:
    members = job.wanted or 1
    gpus = (job.gpus_wanted or 0) // members
    return InLine(shape_name(job.namespace, job.name, gpus), members, gpus) if gpus else None


def _holders(job: Job, index: Mapping[str, int], view: ClusterView) -> Sequence[RunningJob]:
    """The job's seats on these nodes; nothing where it has none."""
    pods = [pod for pod in view.jobs.members(job.key) if pod.gpus_allocated and pod.node in index]
    if not pods:
        return ()
    seats = tuple((index[pod.node], pod.gpus) for pod in pods)
    shape = shape_name(job.namespace, job.name, pods[0].gpus)
    return (RunningJob(shape, seats, elapsed(pods, view.now_seconds), view.progress.get(job.key)),)
