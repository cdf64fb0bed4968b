"""The line in front of a waiting job, from the store: what `expected.estimate` plays through, on nodes and
for quota.

How long machines take is read from the objects: of a node that came for a pod, the pod's own times tell when
a machine was wished for and when its GPUs could be used. A machine whose node has joined is older than its
node by what others took to join. Quota is what a queue may use, with what its cohort lends it, as if it were
one node."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from random import Random
from statistics import median
from typing import Final, NamedTuple

from msgspec.structs import replace

from cockpit.fit.gang import FitAnswer
from cockpit.fit.quota import QuotaLedger
from cockpit.gangs.sentence import counted
from cockpit.model.finding import Expected, Subject
from cockpit.model.gang import ClusterQueue, QuotaRow
from cockpit.model.job import Job, JobState
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.remembered import PastRun
from cockpit.model.store_reader import StoreReader
from cockpit.pools.index import pools_of
from cockpit.pools.stage import NodeStage, node_stage
from cockpit.triage.context import ClusterView
from cockpit.triage.expected import InLine, Moment, RunHistory, RunningJob, estimate
from cockpit.triage.wanted import Demand, Holdup, Wanted, queue_named

_NUMBER: Final = re.compile(r"[-_.]?[0-9a-f]*[0-9][0-9a-f]*$")


def shape_name(namespace: str, name: str, gpus: int) -> str:
    """What alike jobs have in common: `team-a/sweep/8` of sweep-17."""
    return f"{namespace}/{_NUMBER.sub('', name) or name}/{gpus}"


def shape_of(wanted: Wanted) -> str:
    """That of what is wanted."""
    name = wanted.subject.name if wanted.job is None else wanted.job.name
    return shape_name(wanted.namespace, name, max(one.shape.gpus for one in wanted.parts))


Turn = tuple[float, float, str]


def turn_of(job: Job) -> Turn:
    """By its place in the queue where that is known, then by age."""
    place = float("inf") if job.position is None else float(job.position)
    return (place, job.created_seconds or 0.0, job.key)


def elapsed(pods: Sequence[Pod], now_seconds: float) -> float:
    """Of a pod that nobody says to have started the whole running time is still to come."""
    since = min((pod.started_seconds for pod in pods if pod.started_seconds is not None), default=None)
    return max(0.0, now_seconds - since) if since is not None else 0.0


MOST_RUNS: Final = 2_000


def runs_seen(view: ClusterView) -> RunHistory:
    """Jobs with GPUs that run, have ended or wait, the oldest first, with those whose objects are gone. A
    failed one says nothing of how long others run."""
    found = [run for job in view.jobs.jobs.values() if (run := _run(job)) is not None]
    here = {run.uid for run in found}
    found += [run for run in view.past if run.uid not in here]
    found.sort(key=lambda one: one.submitted_seconds)
    return RunHistory(runs=tuple(found[-MOST_RUNS:]))


def ended_runs(jobs: Iterable[Job]) -> tuple[PastRun, ...]:
    """Those that ran to their end: what is worth remembering when their objects are gone."""
    found = (_run(job) for job in jobs if job.state == JobState.SUCCEEDED)
    return tuple(one for one in found if one is not None and one.ran_seconds is not None)


def _run(job: Job) -> PastRun | None:
    members = job.wanted or 0
    gpus = (job.gpus_wanted or 0) // members if members else 0
    if not gpus or job.created_seconds is None:
        return None
    started = None if job.state in JobState.WAITING else job.started_seconds
    has_run = job.state == JobState.SUCCEEDED and started is not None and job.finished_seconds is not None
    ran = job.finished_seconds - started if has_run and job.finished_seconds and started else None
    shape = shape_name(job.namespace, job.name, gpus)
    return PastRun(shape, members, gpus, job.created_seconds, started, ran, job.uid)


LONGEST_SECONDS: Final = 3_600.0
"""A pod that started so long after it was made waited for something else than a machine."""
MOST_SAMPLES: Final = 200
_READY: Final = (NodeStage.JOINED, NodeStage.READY, NodeStage.NOT_ADVERTISED)


class MachinesComing(NamedTuple):
    """`ages` are of machines that were asked for and have no GPUs yet, in seconds since the wish; `growths`
    what machines of these pools took, () where nobody has seen one come."""

    ages: tuple[float, ...] = ()
    growths: tuple[float, ...] = ()


def machines_coming(store: StoreReader, pools: Collection[str], now_seconds: float) -> MachinesComing:
    """Of the pools of these names; nothing without a name."""
    names = frozenset(one for one in pools if one)
    if not names:
        return MachinesComing()
    nodes = [one for one in store.records(Kind.NODE).values() if one.pool in names]
    took = _took(store, nodes)
    joining = [one for one in nodes if one.has_gpus and node_stage(one, store) in _READY]
    to_join = median(join for join, _ in took) if took else 0.0
    ages = [to_join + max(0.0, now_seconds - (one.created_seconds or now_seconds)) for one in joining]
    for pool in pools_of(store):
        if pool.name in names:
            asked = pool.nodes_joining - sum(one.pool == pool.name for one in joining)
            ages += [0.0] * max(0, asked)  # since when nobody tells: as if it was asked for just now
    return MachinesComing(tuple(ages), tuple(whole for _, whole in took[-MOST_SAMPLES:]))


def _took(store: StoreReader, nodes: Collection[Node]) -> list[tuple[float, float]]:
    """Of each node that came for a pod that is on it: seconds from the wish to the node, and to its GPUs."""
    made = {one.name: one.created_seconds for one in nodes if one.created_seconds is not None}
    found: dict[str, tuple[float, float]] = {}
    for pod in store.gpu_pods():
        joined = made.get(pod.node)
        times = None if joined is None else _times(pod, joined)
        if times is not None and (pod.node not in found or times[1] < found[pod.node][1]):
            found[pod.node] = times
    return [found[name] for name in sorted(found, key=lambda one: made[one])]


def _times(pod: Pod, joined_seconds: float) -> tuple[float, float] | None:
    """None where the pod did not wait for this node: made after it, or started long after."""
    wished, started = pod.created_seconds, pod.started_seconds
    if wished is None or started is None or not wished <= joined_seconds <= started:
        return None
    whole = started - wished
    return (joined_seconds - wished, whole) if whole <= LONGEST_SECONDS else None


class UsableQuota(NamedTuple):
    """GPUs that a queue may reserve now, and the most it may ever hold; of all flavors together."""

    free: int
    most: int


def quota_moment(wanted: Wanted, view: ClusterView) -> Moment | str:
    """Who holds of the quota that the subject's queue may use, and who is in line for it. Why not, where it
    is not known."""
    _, mine = queue_named(view.store, wanted.namespace, wanted.queue)
    resource = max(wanted.parts, key=lambda one: one.shape.gpus).shape.gpu_resource
    every: Sequence[ClusterQueue] = tuple(view.store.records(Kind.CLUSTER_QUEUE).values())
    quota = None if mine is None else quota_of(mine, resource, view.store)
    if mine is None or quota is None:
        return "the quota of its queue is not known"
    if wanted.gpus > quota.most:
        borrowed = f", cohort {mine.cohort} included" if mine.cohort else ""
        return f"it asks for {counted(wanted.gpus, 'GPU')}, its queue can hold {quota.most} at most{borrowed}"
    sharers = {one.name for one in every if one is mine or _lends(one, mine, resource)}
    holders: list[RunningJob] = []
    waiting: list[tuple[Turn, InLine]] = []
    for job in view.jobs.jobs.values():
        _, behind = queue_named(view.store, job.namespace, job.queue)
        if behind is None or behind.name not in sharers or job is wanted.job:
            continue
        shape = shape_name(job.namespace, job.name, (job.gpus_wanted or 0) // (job.wanted or 1))
        if job.state in (JobState.QUEUED, JobState.PENDING):
            waiting.append((turn_of(job), InLine(shape, 1, job.gpus_wanted or 0)))
        elif job.gpus_allocated:
            since = elapsed(view.jobs.members(job.key), view.now_seconds)
            seats = ((0, job.gpus_allocated),)
            holders.append(RunningJob(shape, seats, since, view.progress.get(job.key)))
    line, at = _line(waiting, InLine(shape_of(wanted), 1, wanted.gpus), wanted)
    now, free, most = view.now_seconds, (quota.free,), quota.most
    return Moment(now_seconds=now, free=free, holders=tuple(holders), line=line, at=at, node_gpus=most)


def _line(waiting: list[tuple[Turn, InLine]], mine: InLine, wanted: Wanted) -> tuple[tuple[InLine, ...], int]:
    """Who waits, in its order, and the place of the subject."""
    waiting.sort(key=lambda pair: pair[0])
    at = sum(wanted.job is not None and turn < turn_of(wanted.job) for turn, _ in waiting)
    line = [entry for _, entry in waiting]
    return (*line[:at], mine, *line[at:]), at


# ---- quota within a cohort


def quota_of(mine: ClusterQueue, resource: str, store: StoreReader) -> UsableQuota | None:
    """What the queue may have of the resource, of each flavor: its own unused quota, and of what others lend
    as much as its borrowing limit lets it. None where what is used is not known."""
    rows = _rows(mine, resource)
    every: Iterable[ClusterQueue] = store.records(Kind.CLUSTER_QUEUE).values()
    sharers = [one for one in every if one.name == mine.name or (mine.cohort and one.cohort == mine.cohort)]
    flavors = {row.flavor for row in rows}
    shared = [row for one in sharers for row in _rows(one, resource) if row.flavor in flavors]
    if not rows or any(row.reserved is None and row.used is None for row in shared):
        return None
    ledger = QuotaLedger(store)
    free = sum(max(0, ledger.left(mine, row.flavor, resource)) for row in rows)
    return UsableQuota(free, sum(ledger.most(mine, row.flavor, resource) for row in rows))


def _rows(queue: ClusterQueue, resource: str) -> tuple[QuotaRow, ...]:
    return tuple(row for row in queue.quotas if row.resource == resource)


def _lends(one: ClusterQueue, mine: ClusterQueue, resource: str) -> bool:
    """Whether what that queue gives back may go to this one: it uses more than what it keeps for itself of a
    flavor that this one has, and this one may borrow."""
    if not mine.cohort or one.cohort != mine.cohort:
        return False
    flavors = {row.flavor for row in _rows(mine, resource) if row.borrowing_limit != 0}
    return any(row.flavor in flavors and _is_lent(row) for row in _rows(one, resource))


def _is_lent(row: QuotaRow) -> bool:
    kept = 0 if row.lending_limit is None else max(0, row.nominal - row.lending_limit)
    return ((row.used if row.reserved is None else row.reserved) or 0) > kept


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
    grown = replace(history, growths=growths)
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
    if one.from_seconds is None or one.to_seconds is None:
        return one
    if other.from_seconds is None or other.to_seconds is None:
        return other
    begin, end = max(one.from_seconds, other.from_seconds), max(one.to_seconds, other.to_seconds)
    return Expected(begin, end, other.why)


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
    waiting: list[tuple[Turn, InLine]] = []
    for job in view.jobs.jobs.values():
        if wanted.job is not None and job.key == wanted.job.key:
            continue
        if job.state in (JobState.QUEUED, JobState.PENDING):
            if entry := _in_line(job):
                waiting.append((turn_of(job), entry))
        elif job.gpus_allocated:
            holders += _holders(job, index, view)
    mine = InLine(shape_of(wanted), part.count, part.shape.gpus)
    line, at = _line(waiting, mine, wanted)
    free = ((node.gpu_allocatable or 0) - view.store.requests_on(node.name).gpus for node in nodes)
    moment = Moment(
        now_seconds=view.now_seconds,
        free=tuple(max(0, gpus) for gpus in free),
        holders=tuple(holders),
        line=line,
        at=at,
        coming=coming.ages if coming.growths else (),
        node_gpus=max(node.gpu_allocatable or 0 for node in nodes),
    )
    return moment, coming.growths


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
