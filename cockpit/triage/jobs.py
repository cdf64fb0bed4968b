"""Jobs that need a human: waiting too long, broken, failed lately, holding GPUs for nothing."""

from collections.abc import Iterator

from cockpit.gangs import registry
from cockpit.gangs.sentence import counted, one_line
from cockpit.gangs.verdict import GangState
from cockpit.k8s.waiting_reasons import Severity, waiting_reason
from cockpit.model.gang import Workload
from cockpit.model.gpu import Mark
from cockpit.model.job import Job, JobState
from cockpit.model.job_reader import JobReader
from cockpit.model.pod import Pod
from cockpit.model.quantity import Absent
from cockpit.model.record import Kind, condition
from cockpit.model.store_reader import StoreReader
from cockpit.triage.finding import KILL, LOGS, OPEN, WHY, Attention, KeyRemedy
from cockpit.triage.verdicts import Verdicts

WAITING_SECONDS = 600.0
"""A job that has waited this long is told; shorter waits are everyday life of a queue."""
BLOCKED_SECONDS = 30.0
"""A job that can never start as things are is told this soon: waiting will not help it."""
FAILED_SECONDS = 3_600.0
"""Failures older than this are history, not news."""
ENDING_SECONDS = 120.0
"""Pods that have been going for this long, beyond any usual grace period, are stuck."""
IDLE_SECONDS = 600.0
STARVED_SECONDS = 600.0
"""A job is called starved of work only after so long: loading and warming up look the same at first."""
STARVED_RATIO = 0.4
"""Mean duty below which a card that is full of somebody's data waits more than it works (own choice)."""
FULL_RATIO = 0.3
"""Share of a card's memory that says that a job means to use it."""


def job_findings(
    store: StoreReader, jobs: JobReader, verdicts: Verdicts, now_seconds: float, namespace: str = ""
) -> Iterator[Attention]:
    """What needs a human about jobs; at most one finding a job."""
    for job in jobs.jobs.values():
        if namespace and job.namespace != namespace:
            continue
        found = _finding(job, store, jobs, verdicts, now_seconds)
        if found is not None:
            yield found


def _finding(
    job: Job, store: StoreReader, jobs: JobReader, verdicts: Verdicts, now_seconds: float
) -> Attention | None:
    if job.state == JobState.RUNNING:
        return _idle(job, store, jobs, now_seconds) or _starved(job, store)
    if job.state in (JobState.QUEUED, JobState.PENDING, JobState.STARTING):
        return _waits(job, store, jobs, verdicts, now_seconds)
    if job.state == JobState.DEGRADED:
        why = verdicts.of(job, now_seconds).sentence
        return _about(job, "job-degraded", True, why, (LOGS, WHY), since=_last_change(job, jobs))
    if job.state == JobState.FINISHING:
        return _stuck_ending(job, jobs, now_seconds)
    if job.state in JobState.ENDED:
        return _ended(job, verdicts, now_seconds)
    return None


def _about(
    job: Job,
    finding: str,
    is_bad: bool,
    sentence: str,
    remedies: tuple[KeyRemedy, ...],
    *,
    since: float | None,
    gpus: int = -1,
) -> Attention:
    return Attention(
        finding=finding,
        subject_key=job.key,
        is_bad=is_bad,
        subject=f"{job.namespace}/{job.name}",
        sentence=one_line(sentence or job.state),
        remedies=remedies,
        since_seconds=since,
        gpus=(job.gpus_wanted or job.gpus_allocated) if gpus < 0 else gpus,
    )


def _waits(
    job: Job, store: StoreReader, jobs: JobReader, verdicts: Verdicts, now_seconds: float
) -> Attention | None:
    workload: Workload | None = store.get(Kind.WORKLOAD, job.workload_uid) if job.workload_uid else None
    since = job.created_seconds
    if workload is not None:
        evicted = condition(workload.conditions, "Evicted")
        admitted = condition(workload.conditions, "Admitted")
        if evicted is not None and evicted.status == "True":
            since = evicted.changed_seconds or since
        elif job.state != JobState.QUEUED and admitted is not None and admitted.status == "True":
            since = admitted.changed_seconds or since  # it queued first: what counts is the time since then
    if since is None or now_seconds - since < BLOCKED_SECONDS:
        return None
    is_blocked = (
        workload is not None
        and job.state == JobState.QUEUED
        and registry.engine_of_workload(workload).admission(workload, store, {}).state == GangState.BLOCKED
    )
    is_blocked = is_blocked or any(
        waiting_reason(pod.waiting_reason).severity is Severity.STUCK for pod in jobs.members(job.key)
    )
    if not is_blocked and now_seconds - since < WAITING_SECONDS:
        return None
    ready = "" if job.wanted is None else f"{job.ready}/{job.wanted} ready · "
    # waiting in line for quota is how a queue works; pods that cannot be placed hold a gang up
    is_bad = is_blocked or job.state != JobState.QUEUED
    why = verdicts.of(job, now_seconds).sentence
    return _about(job, "job-waits", is_bad, f"{ready}{why or job.state}", (WHY, KILL), since=since)


def _last_change(job: Job, jobs: JobReader) -> float | None:
    """When the newest of its failed members ended, None where that is unknown."""
    ends = [pod.finished_seconds for pod in jobs.members(job.key) if pod.phase == "Failed"]
    return max((one for one in ends if one is not None), default=None)


def _stuck_ending(job: Job, jobs: JobReader, now_seconds: float) -> Attention | None:
    left: list[Pod] = [pod for pod in jobs.members(job.key) if pod.deleting_seconds is not None]
    since = min((pod.deleting_seconds for pod in left if pod.deleting_seconds is not None), default=None)
    if since is None or now_seconds - since < ENDING_SECONDS:
        return None
    allocated = sum(pod.gpus_allocated for pod in left)
    sentence = f"{counted(len(left), 'pod')} stuck terminating" + (
        f", occupying {counted(allocated, 'GPU')}" if allocated else ""
    )
    return _about(job, "job-stuck", bool(allocated), sentence, (WHY,), since=since, gpus=allocated)


def _ended(job: Job, verdicts: Verdicts, now_seconds: float) -> Attention | None:
    since = job.finished_seconds
    if job.gpus_allocated and since is not None and now_seconds - since >= ENDING_SECONDS:
        sentence = f"{job.state}, but its pods still occupy {counted(job.gpus_allocated, 'GPU')}"
        return _about(job, "job-leftover", False, sentence, (KILL,), since=since, gpus=job.gpus_allocated)
    if job.state != JobState.FAILED or since is None or now_seconds - since > FAILED_SECONDS:
        return None
    why = verdicts.of(job, now_seconds).sentence
    return _about(job, "job-failed", False, f"failed: {why}" if why else "failed", (LOGS,), since=since)


def _idle(job: Job, store: StoreReader, jobs: JobReader, now_seconds: float) -> Attention | None:
    """All GPUs that telemetry gives to the job have done nothing for a while."""
    if not job.gpus_allocated:
        return None
    latest = 0.0
    memory_bytes = 0.0
    cards = 0
    for uid in job.pod_uids:
        pod: Pod | None = store.get(Kind.POD, uid)
        if pod is None or not pod.gpus:
            continue
        gpus = store.gpus_of_pod(pod.namespace, pod.name)
        if not gpus:  # not told by telemetry: unknown is not idle
            return None
        for gpu in gpus:
            since = store.idle_since(gpu.uuid)
            if since is None or now_seconds - since < IDLE_SECONDS:
                return None
            latest = max(latest, since)
            memory_bytes += 0.0 if isinstance(gpu.memory_used_bytes, Absent) else gpu.memory_used_bytes
            cards += 1
    if cards < job.gpus_allocated:
        return None
    kept = f", {memory_bytes / 2**30:.0f} GiB of memory kept" if memory_bytes >= 2**30 else ""
    sentence = f"{counted(job.gpus_allocated, 'GPU')} allocated, duty 0%{kept}"
    return _about(job, "job-idle", False, sentence, (KILL,), since=latest, gpus=job.gpus_allocated)


def _starved(job: Job, store: StoreReader) -> Attention | None:
    """Memory is in use and little is computed: the cards wait, for data or for the network."""
    if not job.gpus_allocated:
        return None
    ratios: list[float] = []
    fullness: list[float] = []
    since = 0.0
    for uid in job.pod_uids:
        pod: Pod | None = store.get(Kind.POD, uid)
        if pod is None or not pod.gpus:
            continue
        for gpu in store.gpus_of_pod(pod.namespace, pod.name):
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
    return _about(job, "job-starved", False, sentence, (OPEN,), since=since, gpus=job.gpus_allocated)
