"""What needs a human about nodes, jobs, and pods that are part of no job's row."""

from collections.abc import Iterator
from itertools import chain
from typing import Final, NamedTuple

from msgspec.structs import replace

from cockpit.catalogue import Gate, Permanence, lasts, row_of
from cockpit.catalogue.cause import Cause
from cockpit.gangs.sentence import counted, one_line
from cockpit.model.finding import Finding, Subject
from cockpit.model.gpu import Gpu, Mark
from cockpit.model.job import Job, JobState
from cockpit.model.job_reader import JobReader
from cockpit.model.namespaces import EVERY, Namespaces
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.quantity import Absent
from cockpit.model.record import Kind, label
from cockpit.model.store_reader import StoreReader
from cockpit.model.xid import xid_class
from cockpit.pools.idle import RECLAIM as RECLAIM_MARK
from cockpit.pools.promise import GpuPromise, gpus_promised
from cockpit.pools.stage import NodeStage, is_going, node_stage
from cockpit.triage import node_signs, node_walk
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import explain
from cockpit.triage.idle_jobs import cards_of, idle_words, kept_words, mark_words, quiet
from cockpit.triage.judgement import finished
from cockpit.triage.node_signs import LEFT, Budgets
from cockpit.triage.on_demand import TOLD_BY_LOG, crashed_member
from cockpit.triage.recurrence import of_attempts, of_readiness, wait_begun
from cockpit.triage.remedies import DRAIN, KILL, LOGS, OPEN, RECLAIM, WHY, KeyRemedy
from cockpit.triage.roots import Membership, pool_of
from cockpit.triage.starting import crashes_on, starts_on
from cockpit.triage.verdicts import Verdicts

_FINDING: dict[str, str] = {
    Cause.NODE_NOT_READY: "node-not-ready",
    Cause.GPU_STACK_DOWN: "node-gpus-lost",
    Cause.NODE_PRESSURE: "node-pressure",
}
JOB_IDLE: Final = "job-idle"
"""That a running job does nothing, by its trace or by its cards alone."""
_CLEAN: Final = KeyRemedy("clean up", "X", "X", is_write=True)
_BAD_SIGNS = (node_signs.RECLAIMED, node_signs.BLOCKED)


class NodeReads(NamedTuple):
    """What findings of nodes rest on beside the node. `named` are nodes that are looked at whether they have
    GPUs or not, `marked` those whose machines have our mark to go."""

    named: frozenset[str]
    marked: frozenset[str]
    budgets: Budgets
    ended_drains: frozenset[str]


def gpu_node_finding(node: Node, store: StoreReader, now_seconds: float, reads: NodeReads) -> Finding | None:
    """The worst that needs a human about a node with GPUs, or one that `reads` names."""
    cards = store.gpus_on(node.name)
    is_marked = node.name in reads.marked or bool(label(node.annotations, RECLAIM_MARK))
    promise = gpus_promised(node, store)
    if not (promise is not None or cards or is_marked or node.name in reads.named):
        return None
    is_plain = _is_plain(node, cards, promise, store) and not is_marked
    if is_plain and of_readiness(node, store, now_seconds) is None:
        return None  # by far the most nodes: say so before anything is computed
    return node_finding(node, store, now_seconds, reads.budgets, reads.ended_drains)


def node_finding(
    node: Node,
    store: StoreReader,
    now_seconds: float,
    budgets: Budgets = None,
    ended_drains: frozenset[str] = frozenset(),
) -> Finding | None:
    """What needs a human about a node, whether it has GPUs or not."""
    stage = node_stage(node, store)
    if stage == NodeStage.LEAVING:
        return None
    if stage != NodeStage.DRAINING:
        found = node_walk.judge(node, store, now_seconds)
        if found is not None:
            return _broken(node, found, store)
    sign = node_signs.judge(node, store, now_seconds, budgets, ended_drains)
    return None if sign is None else _sign(node, sign, store)


def _is_plain(node: Node, cards: tuple[Gpu, ...], promise: GpuPromise | None, store: StoreReader) -> bool:
    if node.ready != "True" or node.unschedulable or is_going(node):
        return False
    shown = node.gpu_allocatable or 0
    if promise is not None and (shown < promise.gpus or not shown):
        return False
    for one in node.conditions:
        if one.status == "True" and one.type != "Ready":
            return False
    return not any(card.xid and xid_class(card.xid).is_bad for card in cards) and not (
        node_signs.is_remarkable(cards, store)
    )


def _broken(node: Node, found: Finding, store: StoreReader) -> Finding:
    expected, shown = node_walk.gpus_expected(node, store), node.gpu_allocatable or 0
    gpus = max(1, expected - shown) if found.cause == Cause.GPUS_UNHEALTHY else expected
    own = "node-gpus-lost" if shown < expected else "node-xid"
    drains = node.ready == "True" and store.requests_on(node.name).gpus > 0  # a dead kubelet ends no pod
    return _of_node(node, _FINDING.get(found.cause, own), found, gpus=gpus, drains=drains)


def _sign(node: Node, found: Finding, store: StoreReader) -> Finding:
    sign = found.fact("sign")
    held = store.requests_on(node.name).gpus if sign in _BAD_SIGNS else int(found.fact("silent") or 1)
    made = _of_node(node, f"node-{sign}", found, gpus=held, is_bad=sign == node_signs.RECLAIMED)
    if sign != LEFT:
        return made
    shown = node.gpu_allocatable or 0  # what pods have of it works; the rest is kept from everybody
    return replace(made, remedies=(_CLEAN, WHY), gpus=max(0, shown - store.requests_on(node.name).gpus))


def _of_node(
    node: Node, finding: str, found: Finding, *, gpus: int, is_bad: bool = True, drains: bool = False
) -> Finding:
    return replace(
        finished(found, Subject("node", "", node.name), gpus=gpus),
        finding=finding,
        row=node.name,
        is_bad=is_bad,
        remedies=(DRAIN, WHY) if drains and not node.unschedulable else (OPEN, WHY),
    )


WAITING_SECONDS = 600.0
"""What has waited this long is told; shorter waits are everyday life of a queue."""
BLOCKED_SECONDS = 30.0
"""What waiting alone will not cure is told this soon."""
FAILED_SECONDS = 3_600.0
"""Failures older than this are history, not news."""
ENDING_SECONDS = 120.0
"""Pods that have been going for this long, beyond any usual grace period, are stuck."""
HANGS_SECONDS = 120.0
"""A ring is called hung only after so long: a checkpoint and an evaluation look the same at first."""
STARVED_SECONDS = 600.0
"""A job is called starved of work only after so long: loading and warming up look the same at first."""
STARVED_RATIO = 0.4
"""Mean duty below which a card that is full of somebody's data waits more than it works (own choice)."""
FULL_RATIO = 0.3
"""Share of a card's memory that says that a job means to use it."""


def waiting_cures(verdict: Finding) -> bool:
    """Whether the trouble may pass by itself. What is not understood may."""
    return lasts(verdict) is Permanence.PASSES


def plain_start(job: Job, store: StoreReader, jobs: JobReader) -> Membership | None:
    """Of a job all of whose pods start on nodes of one pool that are ready, and no component says that
    anything is wrong: what `job_finding` would come to if that has lasted too long, without a verdict. By far
    the most jobs of a fleet that comes up. None: it takes a verdict."""
    if job.state != JobState.STARTING or job.workload_uid or job.created_seconds is None:
        return None
    pods = jobs.members(job.key)
    if len(pods) < (job.wanted or 1):
        return None
    nodes = [starts_on(pod, store) for pod in pods]
    root = pool_of(node for node in nodes if node is not None)
    if root is None or None in nodes:
        return None
    gpus = job.gpus_wanted or job.gpus_allocated
    return Membership((root, Cause.STARTING), wait_begun(job, pods, store), gpus, is_bad=True)


def job_finding(
    job: Job, store: StoreReader, jobs: JobReader, verdicts: Verdicts, now_seconds: float, *, is_kept: bool
) -> Finding | None:
    """What needs a human about a job. `is_kept` as `Verdicts.of` takes it."""
    verdict = verdicts.of(job, now_seconds, is_kept=is_kept)
    pods = jobs.members(job.key) if verdict.cause in TOLD_BY_LOG else ()
    is_looping = any(crashes_on(pod, now_seconds) for pod in pods)
    if is_looping or of_attempts(pods, store, now_seconds) is not None:  # one pod, or one after the other
        since = verdict.since_seconds  # one row, between two crashes as well
        is_old = since is not None and now_seconds - since >= BLOCKED_SECONDS
        return _about(job, "job-degraded", verdict, (LOGS, WHY)) if is_old else None
    if job.state == JobState.RUNNING:
        return (
            _crashes(job, verdict, jobs, now_seconds)
            or _hangs(job, verdict, now_seconds)
            or _idle(job, store, verdicts, now_seconds)
            or _starved(job, store)
        )
    if job.state in (JobState.SCHEDULED, JobState.QUEUED, JobState.PENDING, JobState.STARTING):
        return _waits(job, verdict, now_seconds)
    if job.state == JobState.SUSPENDED and verdict.cause in (
        Cause.ADMISSION_CHECK,
        Cause.EVICTED_IN_A_LOOP,
    ):  # nobody meant it to
        return _waits(job, verdict, now_seconds)
    if job.state == JobState.DEGRADED:
        return _about(job, "job-degraded", verdict, (LOGS, WHY))
    if job.state == JobState.FINISHING:
        return _stuck_ending(job, verdict, jobs, now_seconds)
    if job.state in JobState.ENDED:
        return _ended(job, verdict, now_seconds)
    return None


def _about(
    job: Job,
    finding: str,
    said: Finding | str,
    remedies: tuple[KeyRemedy, ...],
    *,
    since: float | None = None,
    is_bad: bool = True,
    gpus: int = -1,
) -> Finding:
    about = Subject("job", job.namespace, job.name)
    verdict = Finding(subject=about, sentence=said) if isinstance(said, str) else said
    return replace(
        verdict,
        sentence=one_line(verdict.sentence or job.state),
        since_seconds=verdict.since_seconds if since is None else since,
        gpus=(job.gpus_wanted or job.gpus_allocated) if gpus < 0 else gpus,
        finding=finding,
        row=job.key,
        is_bad=is_bad,
        remedies=remedies,
    )


def _waits(job: Job, verdict: Finding, now_seconds: float) -> Finding | None:
    since = verdict.since_seconds
    if since is None or now_seconds - since < BLOCKED_SECONDS:
        return None
    is_blocked = not waiting_cures(verdict)
    if not is_blocked and now_seconds - since < WAITING_SECONDS:
        return None
    # waiting in line for quota is how a queue works; pods that cannot be placed hold a gang up
    is_bad = is_blocked or job.state != JobState.QUEUED
    return _about(job, "job-waits", verdict, (WHY, KILL), is_bad=is_bad)


def _stuck_ending(job: Job, verdict: Finding, jobs: JobReader, now_seconds: float) -> Finding | None:
    left: list[Pod] = [pod for pod in jobs.members(job.key) if pod.deleting_seconds is not None]
    since = verdict.since_seconds
    if not left or since is None or now_seconds - since < ENDING_SECONDS:
        return None
    allocated = sum(pod.gpus_allocated for pod in left)
    return _about(job, "job-stuck", verdict, (WHY,), is_bad=bool(allocated), gpus=allocated)


def _ended(job: Job, verdict: Finding, now_seconds: float) -> Finding | None:
    # a pod that a kubelet refused never had a container that ended
    since = verdict.since_seconds if job.finished_seconds is None else job.finished_seconds
    if job.gpus_allocated and since is not None and now_seconds - since >= ENDING_SECONDS:
        held, remedies = job.gpus_allocated, (KILL,)
        return _about(job, "job-leftover", verdict, remedies, since=since, is_bad=False, gpus=held)
    if job.state != JobState.FAILED or since is None or now_seconds - since > FAILED_SECONDS:
        return None
    return _about(job, "job-failed", verdict, (LOGS,), since=since, is_bad=False)


def _crashes(job: Job, verdict: Finding, jobs: JobReader, now_seconds: float) -> Finding | None:
    since = verdict.since_seconds or job.started_seconds
    is_log = verdict.cause in TOLD_BY_LOG and crashed_member(jobs.members(job.key)) is not None
    if not (row_of(verdict.cause).gate is Gate.START or is_log) or waiting_cures(verdict):
        return None
    if since is None or now_seconds - since < BLOCKED_SECONDS:
        return None
    return _about(job, "job-degraded", verdict, (LOGS, WHY))


def _hangs(job: Job, verdict: Finding, now_seconds: float) -> Finding | None:
    """It runs, and its members say that it does not train; for a while, for one sample is no trouble."""
    if row_of(verdict.cause).gate is not Gate.PROGRESS:
        return None
    since = verdict.since_seconds
    if since is None or now_seconds - since < HANGS_SECONDS:
        return None
    return _about(job, "job-hangs", verdict, (WHY, KILL))


def _idle(job: Job, store: StoreReader, verdicts: Verdicts, now_seconds: float) -> Finding | None:
    """What the job's trace tells; without one no more than what was measured: that is not called idle."""
    found = verdicts.on_demand.idle.at_rest(job, store, now_seconds)
    if found is None:
        return None
    kept, since = kept_words(found.memory_bytes), found.since_seconds
    remedies: tuple[KeyRemedy, ...] = (KILL,)
    if found.judged is not None:
        sentence = idle_words(job, found.judged, now_seconds) + kept
        if mark := mark_words(job, store, now_seconds, is_idle=True):
            sentence = f"{mark}; {sentence}"  # the mark first: a row is cut at its end
        remedies = (RECLAIM,)
    else:
        tail = f"; {found.missing_words}" if found.missing else ""
        sentence = f"{counted(job.gpus_allocated, 'GPU')} allocated, duty 0%{kept}{tail}"
    return _about(job, JOB_IDLE, sentence, remedies, since=since, is_bad=False, gpus=job.gpus_allocated)


def _starved(job: Job, store: StoreReader) -> Finding | None:
    """Memory is in use and little is computed: the cards wait, for data or for the network. Cards that do
    nothing at all rest: whether their job is idle its trace tells (`_idle`)."""
    if not job.gpus_allocated or quiet(job, store) is not None:
        return None
    ratios: list[float] = []
    fullness: list[float] = []
    since = 0.0
    for gpu in chain.from_iterable(cards_of(job, store)):
        mean = store.duty_mean(gpu.uuid)
        if mean is None or mean.seconds - mean.since_seconds < STARVED_SECONDS:
            return None
        if gpu.mark is not Mark.SURE:  # what a shared card does is not this job's doing alone
            return None
        used, total = gpu.memory_used_bytes, gpu.memory_total_bytes
        if isinstance(used, Absent) or isinstance(total, Absent) or total <= 0:
            return None
        ratios.append(mean.ratio)
        fullness.append(used / total)
        since = max(since, mean.since_seconds)
    if len(ratios) < job.gpus_allocated:
        return None
    duty, full = sum(ratios) / len(ratios), sum(fullness) / len(fullness)
    if duty >= STARVED_RATIO or full < FULL_RATIO:
        return None
    gpus = counted(job.gpus_allocated, "GPU")
    sentence = f"{gpus} underutilised: duty {duty:.0%} lately, memory {full:.0%} used"
    return _about(job, "job-starved", sentence, (OPEN,), since=since, is_bad=False, gpus=job.gpus_allocated)


def pod_findings(view: ClusterView, namespaces: Namespaces = EVERY) -> Iterator[Finding]:
    """What needs a human about such pods."""
    seen: set[str] = set()
    for pod in view.jobs.strays():
        if pod.namespace not in namespaces or (pod.owner_uid and pod.owner_uid in seen):
            continue
        found = _finding(pod, view)
        if found is not None:
            seen.add(pod.owner_uid)
            yield found


def _finding(pod: Pod, view: ClusterView) -> Finding | None:
    begun = pod.deleting_seconds or pod.created_seconds
    if begun is None or pod.is_finished or view.now_seconds - begun < BLOCKED_SECONDS:
        return None
    verdict = explain(Subject("pod", pod.namespace, pod.name), view)
    if not verdict.is_trouble:
        return None
    if waiting_cures(verdict) and view.now_seconds - begun < WAITING_SECONDS:
        return None
    root = verdict.root or _node_without_gpus(pod, view)
    remedies: tuple[KeyRemedy, ...] = (WHY, LOGS) if verdict.cause in TOLD_BY_LOG else (WHY,)
    return replace(verdict, root=root, finding="pod-waits", row=pod.key, is_bad=True, remedies=remedies)


def _node_without_gpus(pod: Pod, view: ClusterView) -> Subject | None:
    """The node whose trouble names the pod, a part of its GPU stack: one row tells both."""
    node: Node | None = view.store.by_key(Kind.NODE, pod.node) if node_walk.part_of(pod) else None
    found = None if node is None else node_walk.judge(node, view.store, view.now_seconds)
    is_named = found is not None and found.cause == Cause.GPU_STACK_DOWN
    return Subject("node", "", pod.node) if is_named else None
