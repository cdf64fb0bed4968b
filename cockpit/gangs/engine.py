"""What is asked of a queueing or gang engine. Each engine is a package beside this file that answers.

An engine overrides what it does otherwise than the plain scheduler; facts are attributes, reasoning is
methods. `cockpit.gangs.registry` lists the engines, and nobody else names one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import msgspec

from cockpit.gangs.manifests import ApiKind, Attached, mapping
from cockpit.gangs.offers import Offers
from cockpit.gangs.outlook import OutlookFacts, QuotaOutlook
from cockpit.gangs.standing import NOT_HELD, GangStanding, QueueState, WaitingView
from cockpit.model.contender import Contender
from cockpit.model.finding import Finding
from cockpit.model.gang import ClusterQueue, LocalQueue, PodGroup, SchedulerQueue, Workload
from cockpit.model.job import JobObject
from cockpit.model.plan import Call, Plan
from cockpit.model.pod import Pod
from cockpit.model.record import Kind, Labels, label
from cockpit.model.store_reader import StoreReader
from cockpit.model.watched import Watched

Queue = LocalQueue | ClusterQueue

Topologies = Mapping[str, str]
"""Flavor of nodes to the name of the topology by which it is placed, "" for a flavor without one."""


class JobEngine(NamedTuple):
    """The name of a job's engine ("none" where there is none) and the queue, "" unknown."""

    name: str
    queue: str = ""


class ControllerSigns(msgspec.Struct, frozen=True):
    """How an engine is known to be installed and at work: a resource that it brings, and how the names of its
    controller's pods begin, in any namespace where `namespaces` is ()."""

    group: str
    plural: str
    pods: tuple[str, ...]
    namespaces: tuple[str, ...] = ()


class ClusterList(msgspec.Struct, frozen=True):
    """A list of the cluster that a form may offer: what it is made of, and what its members are called."""

    kind: ApiKind
    word: str
    is_namespaced: bool = False


class OwnJob(msgspec.Struct, frozen=True):
    """A kind of job that comes with an engine. `table` is the store's.

    `operators` are parts of the names of the pods that make its pods;
    `group_names` tells from name and uid what the engine may call its group of pods, `pod_labels` from name
    and role what it writes on them, `ended` (state, message) of a JobObject as in JobState, "" before.
    """

    api_version: str
    kind: str
    table: str
    group_names: Callable[[str, str], tuple[str, ...]]
    pod_labels: Callable[[str, str], dict[str, str]]
    ended: Callable[[JobObject], tuple[str, str]]
    operators: tuple[str, ...]

    @property
    def api_group(self) -> str:
        """The group of `api_version`."""
        return self.api_version.rpartition("/")[0]


class PlacesApi(msgspec.Struct, frozen=True):
    """Where an engine tells the places of its line: `path` has {version} and {queue}."""

    path: str
    versions: tuple[str, ...]


class SuspendChange(msgspec.Struct, frozen=True):
    """The part of a plan that an engine knows: calls, what they do in words, whether pods end by them."""

    calls: tuple[Call, ...]
    lines: tuple[str, ...]
    is_destructive: bool = False


class Suited(msgspec.Struct, frozen=True):
    """That an engine suits a new job: with a queue or a scheduler where one has to be named, and why.

    `is_sure` False says only why it is not chosen.
    """

    because: str
    queue: str = ""
    scheduler: str = ""
    is_sure: bool = True


class InstalledEngine(msgspec.Struct, frozen=True, kw_only=True):
    """Whether an engine is there and at work. `is_alive` None: nothing tells. `said` is both facts in words,
    `pod` the key of the pod of its controller that runs, "" where none was seen."""

    engine: str
    is_served: bool
    is_alive: bool | None
    said: str
    pod: str = ""

    @property
    def sentence(self) -> str:
        """Both facts, with the engine's name."""
        return f"{self.engine} {self.said}"

    @property
    def is_usable(self) -> bool:
        """True unless it is missing or known to be dead."""
        return self.is_served and self.is_alive is not False


class NewJob(msgspec.Struct, frozen=True):
    """A job that is about to be made, as far as the choice of its engine goes. `queues` are the queues of its
    namespace that jobs are submitted to, None: not known. `pods` are those of the cluster."""

    api_version: str
    kind: str
    queues: tuple[str, ...] | None = None
    pods: Iterable[Pod] = ()
    has_pods: bool = True  # False: its manifest holds no pod template
    schedulers: frozenset[str] = frozenset()  # names that belong to one engine


class Engine:
    """One engine. What is not overridden is how the plain scheduler does it."""

    name: ClassVar[str]
    """As people write it: the one spelling. The word on the command line is made of it."""
    meaning: ClassVar[str] = ""
    """What all or nothing means with it, in one or two sentences."""
    option: ClassVar[str] = ""
    """What follows the word on the command line: `[:QUEUE]`."""
    controller: ClassVar[ControllerSigns]
    watched: ClassVar[tuple[Watched, ...]] = ()
    kinds: ClassVar[Mapping[ApiKind, str]] = {}
    """Kinds that are written or read by their path, with their plurals; all are namespaced."""
    own_job: ClassVar[OwnJob | None] = None
    form_lists: ClassVar[Mapping[str, tuple[ClusterList, ...]]] = {}
    """Lists for fields of a form, by the name that `choices-from` of a template has."""
    quota_offers: ClassVar[Offers | None] = None
    flavor_kind: ClassVar[ApiKind | None] = None
    """Kind of its flavors of nodes, which may name a topology; None where it knows none."""
    queue_offer: ClassVar[str] = ""
    """The list with its queues, "" where queues are not named by who submits."""

    # ---- whose job it is

    scheduler: ClassVar[str] = ""
    """schedulerName of its pods, "" where that is not fixed."""
    queue_label: ClassVar[str] = ""
    """Label of a job that names its queue."""
    priority_label: ClassVar[str] = ""
    """Label of a job that names its priority class; where it is "" the class is that of the pods."""
    priority_offer: ClassVar[str] = ""
    """The list with the classes of that label."""
    priority_kind: ClassVar[ApiKind] = ("scheduling.k8s.io/v1", "PriorityClass")
    group_label: ClassVar[str] = ""
    """Label of a pod that names its group, where the decoder does not read it as `Pod.gang` already."""
    written_labels: ClassVar[tuple[str, ...]] = ()
    """Labels, annotations and scheduling gates that it writes itself: what is made from an object that has
    them is made without them. One that ends with `/` stands for all keys that begin with it."""

    def take_out_written(self, manifest: dict[str, Any], workload: Mapping[str, Any] | None) -> None:
        """Take out of a manifest what else it wrote into the job. `workload` is the tree of what it admits
        the job by, None where there is none or it was not read."""

    def regroup(self, manifest: Mapping[str, Any]) -> Attached | None:
        """The manifest with its pods in a group of its own name, where they name one that the cockpit makes
        beside a job; None where they do not."""
        return None

    @property
    def word(self) -> str:
        """As `--engine` takes it."""
        return self.name.split()[0].lower()

    def queue_of_job(self, labels: Labels, workload: Workload | None, *, has_pods: bool) -> str | None:
        """Its queue ("" unknown) where the job itself says that it is this engine's, else None."""
        return None

    def queue_of_pod(self, pod: Pod, labels: Labels) -> str | None:
        """Its queue ("" unknown) where a pod of the job, with those labels, is this engine's, else None.

        Asked of pods that name a queue, a group or the scheduler of an engine.
        """
        if not self.scheduler or pod.scheduler != self.scheduler:
            return None
        return label(labels, self.queue_label) if self.queue_label else ""

    def group_of_pod(self, pod: Pod) -> str:
        """Name of the group that the pod belongs to, "" for none."""
        return pod.gang or (label(pod.traits.labels, self.group_label) if self.group_label else "")

    # ---- where it stands

    workload_type: ClassVar[type[Workload] | None] = None
    """The records by which it admits whole jobs, None where it has none."""
    workload_kind: ClassVar[ApiKind | None] = None
    places_api: ClassVar[PlacesApi | None] = None

    def admission(
        self,
        workload: Workload,
        store: StoreReader,
        positions: Mapping[str, int] | None,
        *,
        is_told: bool = False,
    ) -> GangStanding:
        """Where the job of a workload stands before it may have pods; only asked where it has workloads.

        `positions` maps uids of workloads to places in line, 1 is next; None: they are estimated. `is_told`
        says that the engine gave them.
        """
        raise NotImplementedError

    def is_in_line(self, workload: Workload) -> bool:
        """True while it stands in its queue and was not admitted."""
        return False

    def quarrel(self, job: JobObject, workload: Workload, store: StoreReader) -> str:
        """What this engine and the job's controller undo of each other's work, and the remedy; "" nothing."""
        return ""

    def finished_early(self, workload: Workload) -> Finding | None:
        """Why a job that has not ended never starts: its workload is declared finished; None where it is
        not."""
        return None

    def follows_others(self, workload: Workload, store: StoreReader) -> bool:
        """True where what holds it can be read only from another in its line."""
        return False

    def estimate_positions(self, store: StoreReader, among: Iterable[Workload]) -> dict[str, int]:
        """Place in line (1 is next) by uid, of these workloads."""
        return {}

    def lines(self, store: StoreReader) -> dict[str, dict[tuple[str, str], str]]:
        """Who stands in which line that `places_api` tells of: (namespace, name) of a workload to its uid."""
        return {}

    def reason(self, group: PodGroup, pods: tuple[Pod, ...]) -> Finding:
        """Why a group of pods waits; its sentence is "" where the members' own hold the cause."""
        return NOT_HELD

    def reason_of_event(self, group: PodGroup, message: str) -> Finding | None:
        """What an event about the group tells of why it waits, None where it tells nothing of that."""
        return None

    def reason_of_queue(self, group: PodGroup, queue: SchedulerQueue | None) -> Finding | None:
        """Why the queue of a group that it has not let in does not; `queue` None: it does not exist. None:
        the queue says nothing."""
        return None

    def is_set_aside(self, message: str) -> bool:
        """True where the scheduler's sentence means that the pod is not tried again by itself."""
        return False

    def status_records(self, store: StoreReader) -> Iterable[Workload | PodGroup]:
        """Objects whose status only its controller writes."""
        groups: Iterable[PodGroup] = store.records(Kind.POD_GROUP).values()
        return (one for one in groups if one.engine == self.name)

    # ---- a new job

    places_pods: ClassVar[bool] = True
    """False where it admits jobs by quota and another scheduler places their pods."""

    def suits(self, job: NewJob, installed: InstalledEngine) -> Suited | None:
        """Whether a new job is given to it where nobody says; None: no, and nothing is to be said of it."""
        return None

    def attach(self, manifest: Mapping[str, Any], *, queue: str = "", scheduler: str = "") -> Attached:
        """The manifest under this engine. Raises BadInput with one sentence."""
        raise NotImplementedError

    def is_named_by(self, manifest: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]) -> bool:
        """True where the manifest, with those pod templates, asks for this engine."""
        named = bool(
            self.queue_label
            and mapping(mapping(manifest.get("metadata")).get("labels")).get(self.queue_label)
        )
        return named or bool(
            self.scheduler
            and any(mapping(one.get("spec")).get("schedulerName") == self.scheduler for one in pods)
        )

    def conflicts(self, manifest: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]) -> Iterator[str]:
        """One sentence for each thing in the manifest that cannot work with it."""
        yield from ()

    def conflict_with(self, other: "Engine") -> str:
        """A sentence where a job cannot be given to it and to `other`, which admits by quota; "" else."""
        return ""

    def required_levels(self, manifest: Mapping[str, Any]) -> tuple[str, ...]:
        """The level of a topology that each pod template has to stay inside, "" for one without."""
        return ()

    def queue_named(self, manifest: Mapping[str, Any]) -> str:
        """The queue by which the job is admitted, as its manifest names it; "" for none."""
        return ""

    def submit_lines(
        self,
        manifest: Mapping[str, Any],
        namespace: str,
        store: StoreReader | None,
        topologies: Topologies | None,
    ) -> tuple[str, ...]:
        """How the gang binds, for a plan; () where `attach` said it. `topologies` None: not known."""
        return ()

    def submit_warnings(
        self,
        manifest: Mapping[str, Any],
        namespace: str,
        gpus: int,
        store: StoreReader,
        topologies: Topologies | None,
    ) -> tuple[str, ...]:
        """What may go wrong with a gang of that many GPUs as the cluster stands."""
        return ()

    # ---- suspend, resume, retry, resize

    keeps_size: ClassVar[bool] = False
    """True where a job is admitted at its size: another size has to be admitted anew."""
    retry_kind: ClassVar[ApiKind | None] = None
    """The group object that is touched for a gang to be tried again; None where it is tried by itself."""

    def suspends_apart(self, workload: Workload | None, *, is_served: bool, target: str) -> bool:
        """True where the job is suspended through its workload, so that its own object needs not be read.

        `is_served` says that the kind of workloads is. Raises BadInput, which names `target`, where the
        engine has yet to make it.
        """
        return False

    def suspend_workload(self, workload: Workload, *, suspend: bool, version: str) -> SuspendChange:
        """Suspend or resume a job through its workload; only asked where it `suspends_apart`."""
        raise NotImplementedError

    def suspend(self, tree: Mapping[str, Any], *, suspend: bool) -> SuspendChange | None:
        """Suspend or resume the job whose object is `tree`; None: by the object's own suspend field.

        Raises BadInput where it is so already.
        """
        return None

    def suspend_path(self, api_version: str, namespace: str) -> tuple[str, str]:
        """(verb, path) of the call of `suspend` for a job of that kind; ("", "") where it patches the job."""
        return "", ""

    def plan_retry(self, group: Mapping[str, Any], path: str, at: str) -> Plan:
        """Have the gang of `group` (a tree of `retry_kind`) tried again; `at` is the time as text."""
        raise NotImplementedError

    # ---- what a change does to others

    outlook_lists: ClassVar[tuple[ApiKind, ...]] = ()
    """Lists of the cluster that an outlook rests on beside the store; () where it admits nothing by quota."""
    preempts_by: ClassVar[str] = ""
    """Of one with its own scheduler: how it takes nodes from jobs that run, for a sentence that begins with
    its name."""
    takes_by_share: ClassVar[bool] = False
    """It takes nodes from any job whose queue has more than its share, not only from lower priorities."""
    scheduler_config: ClassVar[tuple[str, str]] = ("", "")
    """Namespace and name of the ConfigMap that its scheduler is started with, as it is installed."""

    def never_preempts(self, config: Mapping[str, Any]) -> bool:
        """Whether `data` of its scheduler's ConfigMap says that no job that runs loses its nodes."""
        return False

    def outlook(
        self, contenders: Sequence[Contender], store: StoreReader, facts: OutlookFacts, now_seconds: float
    ) -> QuotaOutlook:
        """Who gets quota and who loses it once the contenders ask; only asked where it admits by quota."""
        raise NotImplementedError

    def may_preempt(self, contenders: Sequence[Contender], store: StoreReader) -> bool:
        """False where no other job holds quota that an outlook could take: nothing has to be read."""
        return False

    # ---- queues

    queue_types: ClassVar[tuple[type[LocalQueue] | type[ClusterQueue], ...]] = ()
    """The records of its queues."""
    queue_kind: ClassVar[ApiKind | None] = None
    """The queue that a job is submitted to."""
    local_queues: ClassVar[str] = ""
    """The store's table of queues that jobs are submitted to, "" where its queues are not shown."""
    cluster_queues: ClassVar[str] = ""
    """The store's table of the queues behind them, "" where there are none."""

    no_queue_verbs: ClassVar[str] = ""
    """Of an engine whose queues are not stopped and resumed here: why, and what does it instead."""
    default_queue: ClassVar[str] = ""
    """The queue of groups that name none."""

    def queue_name(self, queue: Queue) -> str:
        """The queue's name as no other engine has it: `ENGINE:NAME`, as `--engine` takes it."""
        return f"{self.word}:{queue.key}"

    def queue_state(self, queue: Queue) -> QueueState:
        """Whether the queue takes jobs, and why not."""
        return QueueState("unknown", "")

    def held_in_vain(self, queue: Queue, store: StoreReader) -> Finding | None:
        """What holds quota of a queue that takes jobs and can never use it; None where nothing does."""
        return None

    def waiting(self, store: StoreReader, queue: Queue) -> tuple[WaitingView, ...]:
        """What waits in the queue, next first."""
        return ()

    def queue_path(self, queue: Queue, version: str) -> str:
        """Where the queue lives below the API server."""
        raise NotImplementedError

    def plan_stop_queue(
        self, queue: Queue, *, drain: bool, version: str, workloads: Iterable[Workload]
    ) -> Plan:
        """Stop a queue for new jobs; with `drain` take off what it admitted. Raises BadInput if it is so."""
        raise NotImplementedError

    def plan_resume_queue(self, queue: Queue, version: str) -> Plan:
        """Let a stopped queue admit again. Raises BadInput when it is not stopped."""
        raise NotImplementedError
