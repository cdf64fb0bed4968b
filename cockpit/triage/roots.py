"""Root causes: which findings are of one, and the one row that tells them."""

from collections.abc import Iterable, Mapping
from functools import cached_property

from msgspec import structs

from cockpit.catalogue import Cause, Gate, gate_of
from cockpit.gangs import registry
from cockpit.gangs.sentence import SENTENCE_LIMIT, counted, one_line
from cockpit.model.gang import LocalQueue
from cockpit.model.job import Job
from cockpit.model.job_reader import JobReader
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.triage.finding import Attention, Rooted
from cockpit.triage.verdict import Verdict

_SHARED = (
    *(
        Cause.NAMESPACE_QUOTA_USED_UP,
        Cause.LIMITS_NOT_STATED,
        Cause.OUTSIDE_LIMIT_RANGE,
        Cause.REFUSED_BY_POD_SECURITY,
        Cause.REFUSED_BY_WEBHOOK,
        Cause.NAMED_OBJECT_MISSING,
        Cause.NO_CONTROLLER,
        Cause.GROUP_QUEUE_CLOSED,
        Cause.RUNTIME_MISSING,
        Cause.NAMESPACE_GOING,
    ),
    *(
        Cause.QUOTA_IN_USE,
        Cause.NO_FLAVOR_FITS,
        Cause.ADMISSION_CHECK,
        Cause.ADMISSION_GATED,
        Cause.ELASTIC_QUOTA_USED_UP,
        Cause.QUEUE_OVER_LIMIT,
    ),
    *(
        Cause.GPUS_SHORT,
        Cause.RESOURCE_NOT_OFFERED,
        Cause.TAINT,
        Cause.NODES_NOT_READY,
        Cause.CORDONED,
        Cause.SELECTOR,
        Cause.CLAIM_UNBOUND,
        Cause.CLAIM_MISSING,
        Cause.DEVICE_CLASS_MISSING,
        Cause.NO_SUCH_SCHEDULER,
        Cause.NO_NODES,
        Cause.POOL_AT_MAXIMUM,
        Cause.NO_MACHINE,
        Cause.NOT_LOOKED_AT,
        Cause.GPUS_IN_PIECES,
    ),
    *(Cause.IMAGE_NOT_PULLED, Cause.CONFIG_MISSING),
)
"""Causes that lie outside of the job: jobs of which the same names are told have the same."""
_OWN_SPACE = (Gate.CREATION, Gate.START)
"""Gates whose names are those of objects in the job's namespace."""


class Roots:
    """Of which root cause the finding about a job is."""

    def __init__(self, store: StoreReader, jobs: JobReader) -> None:
        self._store = store
        self._jobs = jobs

    @cached_property
    def _by_name(self) -> Mapping[str, Job]:
        return {f"{one.namespace}/{one.name}": one for one in self._jobs.jobs.values()}

    def of(self, job: Job, verdict: Verdict, found: Attention) -> str:
        """A name that findings of one root cause share."""
        if found.cause != verdict.cause or not verdict.cause:
            return f"job/{job.key}"
        if verdict.root is not None and verdict.root.kind == "node":
            return f"node/{verdict.root.name}"
        if verdict.root is not None and verdict.root.kind == "pod":
            return self._of_pod(verdict.root.key, job)
        if verdict.cause in (Cause.QUEUE_UNUSABLE, Cause.QUEUE_STOPPED):
            return self._of_queue(job)
        if verdict.cause == Cause.HALF_PLACED:
            both = sorted((job.name, verdict.fact("other")))
            return f"half placed/{both[0]}/{both[1]}"
        before = verdict.fact("head") or verdict.fact("twin")
        if before and before in self._by_name:
            return f"job/{self._by_name[before].key}"
        if verdict.cause in _SHARED and verdict.facts:
            space = job.namespace if gate_of(verdict.cause) in _OWN_SPACE else ""
            return f"{verdict.cause}/{space}/{verdict.facts}"
        return f"job/{job.key}"

    def _of_pod(self, key: str, job: Job) -> str:
        pod: Pod | None = self._store.by_key(Kind.POD, key)
        owner = None if pod is None else self._jobs.job_of_pod(pod)
        if owner is not None:
            return f"job/{owner.key}"
        return f"job/{job.key}" if pod is None else f"pod/{key}"

    def _of_queue(self, job: Job) -> str:
        """The ClusterQueue where it is the one that takes nothing."""
        key = f"{job.namespace}/{job.queue}"
        local: LocalQueue | None = self._store.by_key(Kind.LOCAL_QUEUE, key)
        if local is None:
            return f"queue/{key}"
        behind = self._store.by_key(Kind.CLUSTER_QUEUE, local.cluster_queue)
        if behind is not None and registry.engine_of_queue(behind).queue_state(behind).state == "active":
            return f"queue/{key}"
        return f"queue/{local.cluster_queue}"


def one_each(found: Iterable[Rooted]) -> list[Attention]:
    """One row for each root cause, with how many jobs wait or broke because of it."""
    by_root: dict[str, list[Attention]] = {}
    for attention, root in found:
        by_root.setdefault(root, []).append(attention)
    return [_told(root, some) for root, some in by_root.items()]


def _told(root: str, some: list[Attention]) -> Attention:
    """The trouble of the root itself goes before what comes of it; of several jobs the oldest stands for all,
    for the row is not to jump from one to another."""
    kind, _, key = root.partition("/")
    itself = [one for one in some if one.subject_key == key and not (kind == "node" and _is_of_job(one))]
    first = min(itself or some, key=lambda one: (one.since_seconds or 0.0, one.key))
    others = [one for one in some if one is not first]
    if not others:
        return first
    count = sum(1 for one in others if _is_of_job(one))
    tail = _tail(kind, count, is_itself=bool(itself))
    ages = [one.since_seconds for one in some if one.since_seconds is not None]
    return structs.replace(
        first,
        sentence=one_line(first.sentence, SENTENCE_LIMIT - len(tail)) + tail,
        is_bad=any(one.is_bad for one in some),
        gpus=max(first.gpus, sum(one.gpus for one in others)) if itself else sum(one.gpus for one in some),
        since_seconds=first.since_seconds if itself else min(ages, default=None),
        jobs=count,
    )


def _is_of_job(one: Attention) -> bool:
    return one.finding.startswith("job-")


def _tail(kind: str, count: int, *, is_itself: bool) -> str:
    if not count:
        return ""
    if kind == "node" and is_itself:
        return f"; {counted(count, 'job')} on it"
    return f"; {counted(count, 'job waits', 'jobs wait')} for it" if is_itself else f"; {count} more"
