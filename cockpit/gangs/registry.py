"""The list of engines: the one place besides their packages that names them.

Everybody else asks here by what a job, a record or a manifest carries. `registered` adds one for a while.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from cockpit.gangs.coscheduling import COSCHEDULING
from cockpit.gangs.engine import Admits, Engine, OwnJob, Queue
from cockpit.gangs.kai import KAI
from cockpit.gangs.kueue import KUEUE
from cockpit.gangs.manifests import ApiKind, Attached
from cockpit.gangs.native import NATIVE_GANG
from cockpit.gangs.offers import Offers
from cockpit.gangs.standing import QueueState
from cockpit.gangs.suspend_field import suspend_field
from cockpit.gangs.volcano import VOLCANO
from cockpit.model.gang import PodGroup, SchedulerQueue, Workload
from cockpit.model.job import GANG, Job
from cockpit.model.pod import Pod
from cockpit.model.record import Kind, label
from cockpit.model.store_reader import StoreReader
from cockpit.model.watched import Watched


def _as_it_is(manifest: Mapping[str, Any], *, queue: str = "", scheduler: str = "") -> Attached:
    return Attached(dict(manifest))


NONE = Engine(
    name="none", meaning="Each pod starts when it fits; what started waits for the rest.", attach=_as_it_is
)
"""Stands for jobs that no engine queues: the scheduler takes their pods one by one."""


class _OwnJobs(dict[ApiKind, "tuple[Engine, OwnJob] | None"]):
    """Kinds of jobs that come with an engine, by apiVersion and kind as objects write them: each row asks."""

    def __init__(self, engines: Sequence[Engine]) -> None:
        super().__init__()
        self._by_group = {
            (own.api_group, own.kind): (one, own) for one in engines if (own := one.own_job) is not None
        }
        self.tables = tuple(own.table for _, own in self._by_group.values())

    def __missing__(self, asked: ApiKind) -> "tuple[Engine, OwnJob] | None":
        found = self[asked] = self._by_group.get((asked[0].partition("/")[0], asked[1]))
        return found


class _Catalogue:
    """The engines, in the order in which one is chosen for a new job, and by what they are looked up."""

    def __init__(self, engines: Sequence[Engine]) -> None:
        self.engines = tuple(engines)
        # what names the engine of a pod most plainly: a queue with quota, a scheduler of its own, a group
        self.by_plainness = tuple(
            sorted(engines, key=lambda one: (one.admits is None, not one.scheduling.scheduler))
        )
        self.by_name: Mapping[str, Engine] = {one.name: one for one in engines}
        self.by_word: Mapping[str, Engine] = {one.word: one for one in engines}
        self.of_queues = {kind: one for one in engines for kind in one.queues.types}
        self.of_workloads = {one.admits.workload_type: one for one in engines if one.admits}
        self.own_jobs = _OwnJobs(engines)
        self.controllers = (Kind.MPIJOB, Kind.JOB, *self.own_jobs.tables, Kind.OTHER_JOB, Kind.OWNER)
        self.by_quota = tuple(one for one in engines if one.admits)
        # asked of every row, so only those that have an answer
        self.telling = tuple(one for one in engines if one.marks.queue_of_job)
        self.queue_tables = tuple(
            table for one in engines for table in (one.queues.local, one.queues.cluster) if table
        )
        self.schedulers = frozenset(one.scheduling.scheduler for one in engines) - {""}
        self.group_labels = tuple(one.marks.group_label for one in engines if one.marks.group_label)


_all = _Catalogue((KUEUE, COSCHEDULING, VOLCANO, NATIVE_GANG, KAI))


@contextmanager
def registered(engine: Engine) -> Iterator[None]:
    """The engine is known, after the others, as long as the context lasts."""
    global _all  # noqa: PLW0603 - the list is one for the whole program
    before = _all
    _all = _Catalogue((*before.engines, engine))
    try:
        yield
    finally:
        _all = before


def engines() -> tuple[Engine, ...]:
    """All engines, in the order in which one is chosen for a new job."""
    return _all.engines


def words() -> tuple[str, ...]:
    """What `--engine` takes."""
    return (*_all.by_word, NONE.word)


def options() -> str:
    """What `--engine` takes, for its help: `volcano[:QUEUE], ..., none`."""
    return ", ".join(f"{one.word}{one.option}" for one in (*_all.engines, NONE))


def engine_called(word: str) -> Engine | None:
    """The engine of a word on the command line, None for one that is not known."""
    return NONE if word == NONE.word else _all.by_word.get(word)


def engine_named(name: str) -> Engine:
    """The engine by its name as a job's row or a group of pods has it; for another name the one for none."""
    return _all.by_name.get(name, NONE)


# ---- by what an object carries


def engines_by_quota() -> tuple[Engine, ...]:
    """Engines that admit jobs by quota and leave it to others to place their pods."""
    return _all.by_quota


def quota_offers() -> tuple[Offers, ...]:
    """What engines with quota know of changes that would let a job in."""
    return tuple(one.offers for one in _all.engines if one.offers is not None)


def engines_that_tell() -> tuple[Engine, ...]:
    """Engines that may know a job by what the job itself carries."""
    return _all.telling


def engines_by_plainness() -> tuple[Engine, ...]:
    """All engines, those first whose marks on a pod are the plainest."""
    return _all.by_plainness


def engine_of_workload(workload: Workload) -> Engine:
    """The engine that admits jobs by such records."""
    return _all.of_workloads[type(workload)]


def admits_of(workload: Workload) -> Admits:
    """How such records admit jobs."""
    admits = engine_of_workload(workload).admits
    assert admits is not None
    return admits


def engine_of_queue(queue: Queue) -> Engine:
    """The engine that has such queues."""
    if isinstance(queue, SchedulerQueue):
        return engine_named(queue.engine)
    return _all.of_queues.get(type(queue), NONE)


def queue_state(queue: Queue) -> QueueState:
    """Whether the queue takes jobs, and why not."""
    state = engine_of_queue(queue).queues.state
    return QueueState("unknown", "") if state is None else state(queue)


def queue_name(queue: Queue) -> str:
    """As no other queue is called: `ENGINE:NAME`, as `--engine` takes it, where its engine has no other."""
    engine = engine_of_queue(queue)
    return f"{engine.word}:{queue.key}" if engine.quota_queues is None else engine.quota_queues.name(queue)


def engine_with_own(api_version: str, kind: str) -> Engine | None:
    """The engine that the kind of a job comes with, None for kinds that are nobody's."""
    found = _all.own_jobs[api_version, kind]
    return None if found is None else found[0]


def can_suspend(job: Job, store: StoreReader) -> bool:
    """Whether its kind or its engine suspends such a job at all."""
    if job.kind in ("Pod", GANG):
        return False
    if suspend_field(job.api_version, job.kind):
        return True
    engine = engine_named(job.engine)
    if engine.admits is not None and workload_of(job, store) is not None:
        return True
    suspends = (engine_with_own(job.api_version, job.kind) or engine).suspends_job
    return suspends is not None and bool(suspends.path(job.api_version, job.namespace)[0])


def workload_of(job: Job | None, store: StoreReader) -> Workload | None:
    """By which its engine admits the job; None where none does, or none was seen."""
    found = store.get(Kind.WORKLOAD, job.workload_uid) if job is not None and job.workload_uid else None
    return found if isinstance(found, Workload) else None


def own_job(api_version: str, kind: str) -> OwnJob | None:
    """The kind of a job as its engine tells of it, None for kinds that no engine brings."""
    found = _all.own_jobs[api_version, kind]
    return None if found is None else found[1]


def controller_tables() -> tuple[str, ...]:
    """The store's tables of objects that own pods."""
    return _all.controllers


def own_job_tables() -> tuple[str, ...]:
    """The store's tables of jobs that come with an engine."""
    return _all.own_jobs.tables


def queues_of(engine: Engine, store: StoreReader) -> list[Queue]:
    """All queues of an engine."""
    tables = (engine.queues.local, engine.queues.cluster)
    return [queue for table in tables if table for queue in store.records(table).values()]


def every_queue(store: StoreReader) -> list[Queue]:
    """The queues of all engines."""
    return [queue for engine in _all.engines for queue in queues_of(engine, store)]


def queue_of_key(store: StoreReader, key: str) -> Queue | None:
    """The queue that a person names so: by the name that no other engine's queue has, or by its key."""
    word, colon, name = key.partition(":")
    engine = _all.by_word.get(word)
    if colon and engine is not None:
        return next((queue for queue in queues_of(engine, store) if queue.key == name), None)
    found = (store.by_key(table, key) for table in _all.queue_tables)
    return next((queue for queue in found if queue is not None), None)


def queue_tables() -> tuple[str, ...]:
    """The store's tables of queues."""
    return _all.queue_tables


def place_in_line(store: StoreReader, uid: str) -> int | None:
    """Place (1 is next) of the Workload with that uid, as its engine orders them; None for one in no line."""
    workload: Workload | None = store.get(Kind.WORKLOAD, uid)
    line = None if workload is None else engine_of_workload(workload).line
    return None if line is None else line.place(store, uid)


def schedulers() -> frozenset[str]:
    """Names of schedulers that belong to one engine."""
    return _all.schedulers


def group_of_pod(pod: Pod) -> str:
    """Name of the group of pods that the pod says it is in, "" for none."""
    if pod.gang or not _all.group_labels:
        return pod.gang
    return next((name for key in _all.group_labels if (name := label(pod.traits.labels, key))), "")


def groups_named(pods: Iterable[Pod]) -> Iterable[tuple[Pod, str]]:
    """Those of the pods that say which group they are in, each with the group's name."""
    if not _all.group_labels:  # every pod of every row comes by here
        return ((pod, pod.gang) for pod in pods if pod.gang)
    return ((pod, name) for pod in pods if (name := group_of_pod(pod)))


def telling_pods(pods: Iterable[Pod]) -> Iterable[Pod]:
    """Those of the pods by which an engine may know a job: with a queue, a group or an engine's scheduler."""
    if _all.group_labels:
        return pods
    schedulers = _all.schedulers
    return (pod for pod in pods if pod.queue or pod.gang or pod.scheduler in schedulers)


def is_of_group(pod: Pod, group: PodGroup) -> bool:
    """Names may be the same in two engines: the scheduler of the pod tells them apart where it is known."""
    wanted = engine_named(group.engine).scheduling.scheduler
    return pod.scheduler == wanted if wanted else pod.scheduler not in _all.schedulers


def is_set_aside(message: str) -> bool:
    """True where a scheduler's sentence means that it does not try the pod again by itself."""
    tells = (one.scheduling.is_set_aside for one in _all.engines)
    return any(is_set_aside(message) for is_set_aside in tells if is_set_aside is not None)


# ---- what goes to the server and comes from it


def watched() -> tuple[Watched, ...]:
    """Kinds of objects that the engines live by."""
    return tuple(kind for one in _all.engines for kind in one.watched)


def plurals() -> dict[ApiKind, str]:
    """Plurals of the engines' kinds that are written or read by their path."""
    return {kind: plural for one in _all.engines for kind, plural in one.kinds.items()}


def offer_names() -> tuple[str, ...]:
    """Names of the lists that a form may offer of the engines."""
    names = (name for one in _all.engines for name in (one.queues.source, *one.form_lists))
    return tuple(dict.fromkeys(name for name in names if name))


def written_labels() -> tuple[str, ...]:
    """Labels, annotations and scheduling gates that engines write themselves."""
    return tuple(key for one in _all.engines for key in one.marks.written)


def engine_of_gate(gate: str) -> Engine | None:
    """The engine that puts the scheduling gate on pods, and takes it off; None for any other gate."""
    return next((one for one in _all.engines if gate in one.marks.written), None)


def take_out_written(manifest: dict[str, Any], workload: Mapping[str, Any] | None) -> None:
    """Take out of a manifest what engines wrote into the job that it comes from, but for `written_labels`."""
    for engine in _all.engines:
        if engine.marks.take_out is not None:
            engine.marks.take_out(manifest, workload)


# ---- a manifest


def regrouped(manifest: Mapping[str, Any]) -> Attached | None:
    """The manifest with its pods in a group of its own name, and that group; None where they name none."""
    groups = (one.groups for one in _all.engines if one.groups is not None)
    return next((found for one in groups if (found := one.regroup(manifest)) is not None), None)


def admitting(manifest: Mapping[str, Any]) -> tuple[Engine, str]:
    """The engine that admits the job, and the queue that its manifest names; (the one for none, "") else."""
    for one in _all.by_quota:
        if one.admits is not None and (queue := one.admits.queue_named(manifest)):
            return one, queue
    return NONE, ""


def required_levels(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """The level of a topology that each pod template has to stay inside, "" for one without; () for none."""
    asked = (one.topology.required_levels(manifest) for one in _all.engines if one.topology is not None)
    return next(filter(any, asked), ())
