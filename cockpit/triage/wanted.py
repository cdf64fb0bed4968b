"""What a waiting job or pod still asks of the cluster: members that have no node yet, and quota."""

import enum
from collections.abc import Mapping, Sequence
from functools import cached_property

import msgspec

from cockpit.fit.demand import alike_parts, parts_of_workload
from cockpit.fit.gang import FitAnswer, fit
from cockpit.fit.shape import Part, Shape, shape_of
from cockpit.gangs import registry
from cockpit.jobs.planned import planned_gang
from cockpit.model.finding import Subject
from cockpit.model.gang import ClusterQueue, LocalQueue
from cockpit.model.job import Job, JobState
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.triage.context import ClusterView, Tree


class Demand:
    """What a subject asks for and how that fits now: worked out once for all who ask."""

    def __init__(self, subject: Subject, view: ClusterView) -> None:
        self._subject = subject
        self._view = view

    @cached_property
    def wanted(self) -> "Wanted | None":
        """What is missing for its start."""
        return wanted_of(self._subject, self._view)

    @cached_property
    def answer(self) -> FitAnswer:
        """The fit of it; only where something is wanted."""
        one = self.wanted
        assert one is not None
        return fit(self._view.store, one.parts, queue=one.queue, surroundings=self._view.around)


class Holdup(enum.Enum):
    """Who has yet to do something for the start, as far as it shows without anybody's words."""

    SCHEDULER = "scheduler"  # it found no node for a pod
    QUEUE = "queue"  # it has not given quota
    SUSPENDED = "suspended"  # somebody has to let it go on
    MAKER = "maker"  # nobody has made the pods: the API server refuses them, or a controller does not come
    OTHER = "other"  # gates, other schedulers, errors: no change of seats or quota helps


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What is missing for a start. `queue` is the LocalQueue whose quota has yet to be had, "" for none.

    `pods` are the members without a node, () where none were made yet. `tree` is the job's own object as the
    API gave it, None where that was not read. `is_planned`: nothing was submitted yet, `tree` would be.
    """

    subject: Subject
    parts: tuple[Part, ...]
    holdup: Holdup = Holdup.OTHER
    queue: str = ""
    job: Job | None = None
    pods: tuple[Pod, ...] = ()
    tree: Tree | None = None
    is_planned: bool = False

    @property
    def namespace(self) -> str:
        """Where its members live."""
        return self.parts[0].shape.namespace

    @property
    def gpus(self) -> int:
        """Devices that its members ask for together."""
        return sum(one.count * one.shape.gpus for one in self.parts)


def wanted_of(subject: Subject, view: ClusterView) -> Wanted | None:
    """What the subject asks for. None where it waits for no node, or where its objects were not read: what is
    not known of its selectors and tolerations must not be guessed."""
    if subject.kind == "pod":
        return _of_pod(subject, view)
    if subject.kind not in ("job", "gang"):
        return None
    job = job_of(subject, view)
    return None if job is None else _of_job(subject, job, view)


def queue_named(
    store: StoreReader, namespace: str, name: str
) -> tuple[LocalQueue | None, ClusterQueue | None]:
    """The LocalQueue of that name and the ClusterQueue behind it."""
    local: LocalQueue | None = store.by_key(Kind.LOCAL_QUEUE, f"{namespace}/{name}") if name else None
    behind = None if local is None else store.by_key(Kind.CLUSTER_QUEUE, local.cluster_queue)
    return local, behind


def job_of(subject: Subject, view: ClusterView) -> Job | None:
    """The row of the job that the subject names."""
    rows = view.jobs.jobs.values()
    return next((one for one in rows if (one.namespace, one.name) == (subject.namespace, subject.name)), None)


def _of_pod(subject: Subject, view: ClusterView) -> Wanted | None:
    pod: Pod | None = view.store.by_key(Kind.POD, subject.key)
    shapes = None if pod is None or not waits(pod) else _shapes((pod,), view)
    if pod is None or shapes is None:
        return None
    job = view.jobs.job_of_pod(pod)
    queue = _queue(job, view) if job is not None and pod.is_gated else ""
    holdup = _holdup(job, (pod,), queue)
    parts = alike_parts((pod,), shapes)
    tree = None if job is None else view.tree(job.kind, job.namespace, job.name)
    return Wanted(subject=subject, parts=parts, holdup=holdup, queue=queue, job=job, pods=(pod,), tree=tree)


def _of_job(subject: Subject, job: Job, view: ClusterView) -> Wanted | None:
    tree = view.tree(job.kind, job.namespace, job.name)
    members = view.jobs.members(job.key)
    waiting = tuple(pod for pod in members if waits(pod))
    parts: tuple[Part, ...] = ()
    if waiting:
        shapes = _shapes(waiting, view)
        parts = () if shapes is None else alike_parts(waiting, shapes)
    elif not any(pod.node and not pod.is_finished for pod in members):
        parts = _planned(job, tree, view)
    if not parts:
        return None
    queue = _queue(job, view)
    return Wanted(
        subject=subject,
        parts=parts,
        holdup=_holdup(job, waiting, queue),
        queue=queue,
        job=job,
        pods=waiting,
        tree=tree,
    )


def _holdup(job: Job | None, pods: Sequence[Pod], queue: str) -> Holdup:
    if job is not None and job.state in JobState.ENDED:
        return Holdup.OTHER
    if pods:
        if all(pod.is_gated for pod in pods):
            return Holdup.QUEUE if queue else Holdup.OTHER
        # other reasons are gates (SchedulingGated, NotReadyForScheduling) and failures (SchedulerError)
        told = {pod.scheduled_reason for pod in pods if pod.scheduled == "False"}
        return Holdup.SCHEDULER if told == {"Unschedulable"} else Holdup.OTHER
    if job is not None and job.state == JobState.SUSPENDED:
        return Holdup.SUSPENDED
    return Holdup.QUEUE if queue else Holdup.MAKER


def waits(pod: Pod) -> bool:
    """Whether it has no node and is to get one."""
    return not pod.node and not pod.is_finished and pod.deleting_seconds is None


def _shapes(pods: Sequence[Pod], view: ClusterView) -> list[Shape] | None:
    """A shape for each pod; None where one of them was not read."""
    found = []
    known: dict[tuple[object, ...], Shape] = {}
    by_name = {
        space: {one["metadata"].get("name"): one for one in view.trees.get(("Pod", space), ())}
        for space in {pod.namespace for pod in pods}
    }
    for pod in pods:
        # pods that are alike share their traits: of these one is read
        alike = (id(pod.traits), pod.namespace, pod.cpu_millicores, pod.memory_bytes, pod.gpus, pod.priority)
        shape = known.get(alike)
        if shape is None:
            tree = by_name[pod.namespace].get(pod.name)
            if tree is None or not isinstance(tree.get("spec"), Mapping):
                return None
            shape = known[alike] = shape_of(tree, pod.namespace)
        found.append(shape)
    return found


def _planned(job: Job, tree: Tree | None, view: ClusterView) -> tuple[Part, ...]:
    if tree is not None:
        return planned_gang(tree, job.namespace)
    workload = registry.workload_of(job, view.store)
    found = None if workload is None else view.tree("Workload", workload.namespace, workload.name)
    return () if found is None else parts_of_workload(found, job.namespace)


def _queue(job: Job | None, view: ClusterView) -> str:
    """The LocalQueue that still has to admit the job, "" where it has, or where none is asked."""
    workload = registry.workload_of(job, view.store)
    if workload is not None:
        return "" if workload.cluster_queue else workload.queue
    return "" if job is None or job.pod_uids else job.queue
