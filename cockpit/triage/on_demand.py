"""What *Now* and the rows of jobs rest on and no watch covers: last lines of crashes, objects that a cause
rests on, and disruption budgets where a node is cordoned or looked at. What is worth asking for, and what was
answered; the asking is elsewhere."""

from collections.abc import Iterable
from typing import NamedTuple

from cockpit.catalogue import TextPlace, Unwatched, by_cause, row_of
from cockpit.catalogue.cause import Cause
from cockpit.fit.scheduling_context import UNKNOWN, Budget, Surroundings
from cockpit.jobs.owner_chain import owner_record
from cockpit.model.broken_write import BrokenWrite, EndedDrain
from cockpit.model.finding import Finding
from cockpit.model.job import Job, JobObject, JobState
from cockpit.model.job_reader import JobReader
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.pools.stage import is_going
from cockpit.triage.context import NO_TREES, Trees
from cockpit.triage.idle_jobs import IdleJobs
from cockpit.triage.judgement import is_up

COMPOSED = (("trainer.kubeflow.org/v1alpha1", "TrainJob"), ("jobset.x-k8s.io/v1alpha2", "JobSet"))
"""apiVersion and kind, from the top down: a TrainJob makes a JobSet of its name."""
MOST_LOGS = 20
"""So many logs are read at a time: a screen has about as many rows."""
TOLD_BY_LOG = frozenset(
    {
        Cause.CRASHES,
        Cause.BETWEEN_ATTEMPTS,
        *(
            row.cause
            for row in by_cause().values()
            if any(one.place is TextPlace.LOG for one in row.wordings)
        ),
    }
)
"""Causes of which the last line of a log says more than the exit code, or that it is what told them."""
_STAYS = ("DaemonSet", "Node")
"""Owners of pods that a drain leaves where they are."""
MOST_LINES_KEPT = 500
OBJECTS_SECONDS = 30.0
"""How often objects are read again while a row rests on them."""
MOST_NEEDS = 8
"""Needs whose objects are read at a time."""
MOST_NEEDS_KEPT = 500
BUDGETS_SECONDS = 30.0
"""So often budgets are read again while a drain may be blocked."""


class Need(NamedTuple):
    """Objects that a row rests on: of a namespace, of an engine, or of the job with that key."""

    what: Unwatched
    of: str


class ObjectsRead(NamedTuple):
    """What was read for a need, and when; what may not be read is not in it."""

    at_seconds: float
    trees: Trees = NO_TREES
    around: Surroundings = UNKNOWN


def needs_of(found: Finding, job: Job, store: StoreReader) -> tuple[Need, ...]:
    """What has to be read before a page would say the same of the job as this verdict: what its cause rests
    on, and the claims that the pods name which have yet to be made."""
    what = row_of(found.cause).unwatched
    is_coming = job.state in (JobState.PENDING, JobState.STARTING) and not found.cause
    if is_coming and any(job.kind == kind for _, kind in COMPOSED):
        what = Unwatched.OWN  # its object tells which part waits for which
    of = {Unwatched.OWN: job.key, Unwatched.ENGINE: job.engine}
    needs = [] if what is None else [Need(what, of.get(what, job.namespace))]
    if not job.pod_uids and job.state not in JobState.ENDED and what is not Unwatched.CLAIMS:
        record = owner_record(store, job.uid)
        roles = record.replicas if isinstance(record, JobObject) else ()
        names_claims = any(role.traits is not None and role.traits.claims for role in roles)
        needs += [Need(Unwatched.CLAIMS, job.namespace)] if names_claims else []
    return tuple(needs)


class OnDemand:
    """What was read for one cluster. `last_lines` are by the uid of the pod, "" where nobody knows; `budgets`
    None: not read, or denied. `broken_writes` and `ended_drains` are what earlier sessions on this host
    left; a write that a person acknowledged is none of them."""

    def __init__(self) -> None:
        self.idle = IdleJobs()
        self.last_lines: dict[str, str] = {}
        self.budgets: tuple[Budget, ...] | None = None
        self.broken_writes: tuple[BrokenWrite, ...] = ()
        self.ended_drains: tuple[EndedDrain, ...] = ()
        self._wanted: dict[Need, Job] = {}  # a job that rests on it
        self._objects: dict[Need, ObjectsRead] = {}
        self._restarts: dict[str, int] = {}
        self._budgets_at: float | None = None
        self._wanted_at: float | None = None

    def unread(self, rows: Iterable[tuple[Pod, ...]]) -> tuple[Pod, ...]:
        """Of the members of each row the one that tells its crash, unless that run of it was read."""
        found: list[Pod] = []
        for members in rows:
            pod = crashed_member(members)
            if pod is not None and self._restarts.get(pod.uid) != pod.restarts:
                found.append(pod)
            if len(found) == MOST_LOGS:
                break
        return tuple(found)

    def hear(self, pod: Pod, line: str) -> bool:
        """Whether that is news. Until a pod that crashed again was read, what it said before stands."""
        while len(self._restarts) >= MOST_LINES_KEPT:
            oldest = next(iter(self._restarts))
            del self._restarts[oldest]
            self.last_lines.pop(oldest, None)
        self._restarts.pop(pod.uid, None)
        self._restarts[pod.uid] = pod.restarts
        before = self.last_lines.get(pod.uid, "")
        self.last_lines[pod.uid] = line
        return line != before

    def take_left_over(self, writes: tuple[BrokenWrite, ...], drains: tuple[EndedDrain, ...]) -> bool:
        """Whether that is anything new."""
        before = (self.broken_writes, self.ended_drains)
        self.broken_writes, self.ended_drains = writes, drains
        return before != (writes, drains)

    @property
    def drains_ended(self) -> frozenset[str]:
        """Nodes whose drain nobody carries on, as far as this host knows."""
        return frozenset(drain.node for drain in self.ended_drains)

    def read_for(self, need: Need, job: Job) -> ObjectsRead | None:
        """What was read for the job's need since the job is there; what is asked for here is wanted."""
        self._wanted[need] = job
        read, made = self._objects.get(need), job.created_seconds
        return None if read is None or made is None or made > read.at_seconds else read

    def unread_objects(self, now_seconds: float) -> tuple[tuple[Need, Job], ...]:
        """Needs of which nothing was read just now, those first that were never read; then none is wanted
        until a verdict rests on it again."""
        wanted, self._wanted = self._wanted, {}
        at = {need: read.at_seconds for need, read in self._objects.items()}
        old = [need for need in wanted if at.get(need, 0.0) <= now_seconds - OBJECTS_SECONDS]
        old.sort(key=lambda need: at.get(need, 0.0))
        return tuple((need, wanted[need]) for need in old[:MOST_NEEDS])

    def take_objects(self, need: Need, read: ObjectsRead) -> bool:
        """Whether that is anything new."""
        before = self._objects.pop(need, None)
        self._objects[need] = read
        while len(self._objects) > MOST_NEEDS_KEPT:
            del self._objects[next(iter(self._objects))]
        return before is None or before[1:] != read[1:]

    def want_budgets(self, now_seconds: float) -> None:
        """Somebody looks at what they may hold."""
        self._wanted_at = now_seconds

    def needs_budgets(self, store: StoreReader, now_seconds: float) -> bool:
        """Whether a drain may be blocked or somebody looks, and budgets were not read just now."""
        at = self._budgets_at
        if at is not None and 0.0 <= now_seconds - at < BUDGETS_SECONDS:
            return False
        if self._wanted_at is not None and 0.0 <= now_seconds - self._wanted_at < BUDGETS_SECONDS:
            return True
        nodes: Iterable[Node] = store.records(Kind.NODE).values()
        going = (node for node in nodes if node.unschedulable or is_going(node))
        return any(left_on(node, store) for node in going)

    def take_budgets(self, budgets: tuple[Budget, ...] | None, now_seconds: float) -> bool:
        """Whether that is anything new."""
        before, self.budgets, self._budgets_at = self.budgets, budgets, now_seconds
        return before != budgets


def rows_of(found: Iterable[Finding], store: StoreReader, jobs: JobReader) -> tuple[tuple[Pod, ...], ...]:
    """The members behind findings of which a log may say more: of the first ones, a screenful."""
    rows = (row for one in found for row in one.alike or (one,))
    told = [row for row in rows if row.cause in TOLD_BY_LOG][:MOST_LOGS]
    return tuple(_members(one, store, jobs) for one in told)


def _members(found: Finding, store: StoreReader, jobs: JobReader) -> tuple[Pod, ...]:
    if not found.finding.startswith("pod-"):
        return jobs.members(found.row)
    pod: Pod | None = store.by_key(Kind.POD, found.row)
    return () if pod is None else (pod,)


def crashed_member(pods: Iterable[Pod]) -> Pod | None:
    """Whose last line tells why these do not stay up: of those that failed the first, else the first by name
    that is started again and again."""
    crashed = [pod for pod in pods if pod.exit_code and not is_up(pod)]
    failed = [pod for pod in crashed if pod.phase == "Failed"]
    if failed:
        return min(failed, key=lambda pod: (pod.finished_seconds or 0.0, pod.name))
    return min(crashed, key=lambda pod: (not pod.waiting_reason, pod.name), default=None)


def left_on(node: Node, store: StoreReader) -> list[Pod]:
    """Pods that a drain of the node has to evict: not those of DaemonSets and of the kubelet itself."""
    return [
        pod
        for pod in store.pods_on(node.name)
        if not pod.is_finished and pod.deleting_seconds is None and pod.owner_kind not in _STAYS
    ]
