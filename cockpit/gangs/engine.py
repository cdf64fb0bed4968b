"""What a queueing or gang engine can do. Each engine is a package beside this file.

A capability is a record of facts and functions. A package lists the capabilities that its engine has and
fills each of them whole; where it has none of a kind, the plain scheduler's way is taken.
`cockpit.gangs.registry` lists the engines, and no other file names one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from cockpit.gangs.manifests import ApiKind, Attached
from cockpit.gangs.offers import Offers
from cockpit.gangs.outlook import OutlookFacts, QuotaOutlook
from cockpit.gangs.standing import GangStanding, QueueDay, QueueState, WaitingView
from cockpit.model.contender import Contender
from cockpit.model.finding import Finding
from cockpit.model.gang import ClusterQueue, LocalQueue, PodGroup, SchedulerQueue, Workload
from cockpit.model.job import JobObject
from cockpit.model.plan import Call, Plan
from cockpit.model.pod import Pod
from cockpit.model.record import Labels
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


Manifest = Mapping[str, Any]
Templates = Sequence[Mapping[str, Any]]
"""The pod templates of a manifest."""


class Attach(Protocol):
    """Puts a manifest under the engine."""

    def __call__(self, manifest: Manifest, *, queue: str = "", scheduler: str = "") -> Attached:
        """The manifest under this engine. Raises BadInput with one sentence."""


class Marks(NamedTuple):
    """What of a job or a pod names its engine.

    `queue_label` of a job names its queue, `group_label` of a pod its group where the decoder does not read
    it as `Pod.gang` already. `written` are labels, annotations and scheduling gates that the engine writes
    itself (one that ends with `/` stands for all keys that begin with it); `take_out` removes from a manifest
    what else it wrote, given the tree of the workload (None: none, or not read). `queue_of_job` (labels,
    workload, whether the job has pods) and `queue_of_pod` (pod, labels of its job) give the queue (""
    unknown), None where neither says that the job is this engine's.
    """

    queue_label: str = ""
    group_label: str = ""
    written: tuple[str, ...] = ()
    take_out: Callable[[dict[str, Any], Mapping[str, Any] | None], None] | None = None
    queue_of_job: Callable[[Labels, Workload | None, bool], str | None] | None = None
    queue_of_pod: Callable[[Pod, Labels], str | None] | None = None


class Scheduling(NamedTuple):
    """Of an engine with its own scheduler, or its own way to place a gang.

    `scheduler` is the schedulerName of its pods, "" where that is not fixed. `preempts_by` says how it takes
    nodes from jobs that run, for a sentence that begins with its name; with `takes_by_share` from any job
    whose queue has more than its share, not only from lower priorities. `never_preempts` tells from `data` of
    the ConfigMap `config` (namespace, name) that it takes none. `conflict` says why a job cannot also have a
    queue of {quota}. `is_set_aside`: a sentence of the scheduler means that the pod is not tried again by
    itself.
    """

    scheduler: str = ""
    preempts_by: str = ""
    takes_by_share: bool = False
    config: tuple[str, str] = ("", "")
    never_preempts: Callable[[Mapping[str, Any]], bool] | None = None
    conflict: str = ""
    is_set_aside: Callable[[str], bool] | None = None


class Priority(NamedTuple):
    """The label of a job that names its priority class, the list of a form with the classes, their kind."""

    label: str
    source: str
    kind: ApiKind


POD_PRIORITY: Final[ApiKind] = ("scheduling.k8s.io/v1", "PriorityClass")


class Groups(NamedTuple):
    """Of an engine whose groups of pods the cockpit makes beside a job.

    `is_named_by`: a manifest with these pod templates asks for the engine otherwise than by queue label and
    scheduler. `regroup`: the manifest with its pods in a group of its own name, None where they name none.
    `conflicts`: a sentence for each thing in the manifest that cannot work. `spec` is that of a group of so
    many pods; `minimum` the field of a group's spec with that number, "" where it may not be changed.
    """

    is_named_by: Callable[[Manifest, Templates], bool]
    regroup: Callable[[Manifest], Attached | None]
    conflicts: Callable[[Manifest, Templates], Iterator[str]]
    api_version: str
    spec: Callable[[int], dict[str, Any]]
    minimum: str


class Enqueues(NamedTuple):
    """Of an engine whose queue lets a group in before it has pods: why it does not, told by an event's
    message or by the queue (None: it does not exist); None where nothing is told."""

    reason_of_event: Callable[[PodGroup, str], Finding | None]
    reason_of_queue: Callable[[PodGroup, SchedulerQueue | None], Finding | None]


class Admits(NamedTuple):
    """Of an engine that admits whole jobs by quota, each by a workload; another scheduler places their pods.

    `admission` (workload, store, places in line by uid or None where they are estimated, whether the engine
    gave the places) is where the job stands before it may have pods. `is_in_line`: it stands in its queue and
    was not admitted. `finished_early`: why a job that has not ended never starts. `quarrel`: what the engine
    and the job's controller undo of each other's work, and the remedy, "" nothing. `queue_named`: the queue
    by which the job of a manifest is admitted, "" for none.
    """

    workload_type: type[Workload]
    workload_kind: ApiKind
    admission: Callable[[Workload, StoreReader, Mapping[str, int] | None, bool], GangStanding]
    is_in_line: Callable[[Workload], bool]
    finished_early: Callable[[Workload], Finding | None]
    quarrel: Callable[[JobObject, Workload, StoreReader], str]
    queue_named: Callable[[Manifest], str]


class QueueOrder(NamedTuple):
    """The order of workloads in their queues. `path` is where the engine tells it, with {version} (one of
    `versions`) and {queue}.

    `follows_others`: what holds a workload can be read only from another in its line. `place`: of the
    workload with that uid (1 is next), None for one in no line. `lines`: by queue, (namespace, name) of a
    workload to its uid. `lately`: how the queue's last day was, by the time now in epoch seconds.
    """

    path: str
    versions: tuple[str, ...]
    follows_others: Callable[[Workload, StoreReader], bool]
    place: Callable[[StoreReader, str], int | None]
    lines: Callable[[StoreReader], dict[str, dict[tuple[str, str], str]]]
    lately: Callable[[StoreReader, str, float], QueueDay]


class SuspendsWorkload(NamedTuple):
    """Of an engine that suspends a job through its workload, so that the job's object needs not be read.

    `is_through` (workload or None, whether their kind is served, how to name the job) raises BadInput where
    the engine has yet to make the workload. `plan` is (workload, suspend or resume, version of the API).
    """

    is_through: Callable[[Workload | None, bool, str], bool]
    plan: Callable[[Workload, bool, str], SuspendChange]


class SuspendsJob(NamedTuple):
    """Of an engine that suspends a job by a call of its own. `plan` (the job's tree, suspend or resume)
    raises BadInput where it is so already; None: by the object's own suspend field. `path` (apiVersion,
    namespace) is (verb, path) of the call, ("", "") where it patches the job."""

    plan: Callable[[Manifest, bool], SuspendChange | None]
    path: Callable[[str, str], tuple[str, str]]


class Retries(NamedTuple):
    """Of an engine that tries a gang again only when its group, of this kind, is touched: `plan` (the group's
    tree, its path, the time as text)."""

    kind: ApiKind
    plan: Callable[[Mapping[str, Any], str, str], Plan]


class Foretells(NamedTuple):
    """Who gets quota and who loses it once contenders ask. `lists` of the cluster are what `outlook` rests on
    beside the store; `may_preempt` False: no other job holds quota that it could take."""

    lists: tuple[ApiKind, ...]
    outlook: Callable[[Sequence[Contender], StoreReader, OutlookFacts, float], QuotaOutlook]
    may_preempt: Callable[[Sequence[Contender], StoreReader], bool]


class PlacesByTopology(NamedTuple):
    """Of an engine whose flavors of nodes, of this kind, may name a topology.

    `flavor_topology` is the one that a flavor's tree names, "" for none. `required_levels`: the level that
    each pod template has to stay inside, "" for one without. `submit_lines` (manifest, namespace, store,
    topologies) says how the gang binds; `submit_warnings` (manifest, namespace, its GPUs, store, topologies)
    what may go wrong as the cluster stands. `topologies` None: not known.
    """

    flavor_kind: ApiKind
    flavor_topology: Callable[[Mapping[str, Any]], str]
    required_levels: Callable[[Manifest], tuple[str, ...]]
    submit_lines: Callable[[Manifest, str, StoreReader | None, Topologies | None], tuple[str, ...]]
    submit_warnings: Callable[[Manifest, str, int, StoreReader, Topologies | None], tuple[str, ...]]


class Queues(NamedTuple):
    """The queues of an engine. `local` and `cluster` are the store's tables of those that jobs are submitted
    to and of those behind them, "" where there are none; `types` their records where no other engine has
    them.

    `source` is the list of a form with their names. `default` is the queue of groups that name none.
    `no_verbs`: why they are not stopped and resumed here, and what does it instead.
    """

    state: Callable[[Queue], QueueState] | None = None
    local: str = ""
    cluster: str = ""
    types: tuple[type[LocalQueue] | type[ClusterQueue], ...] = ()
    source: str = ""
    default: str = ""
    no_verbs: str = ""


class QuotaQueues(NamedTuple):
    """Queues with quota, which are stopped and resumed. `kind` is the one that jobs are submitted to.

    `name` is as no other queue is called. `held_in_vain`: what holds quota of a queue that takes jobs and can
    never use it. `waiting`: what waits in it, next first. `path` and `plan_resume` take the API's version,
    `plan_stop` (queue, whether what it admitted is taken off, version, workloads) raises BadInput if it is
    so.
    """

    kind: ApiKind
    name: Callable[[Queue], str]
    held_in_vain: Callable[[Queue, StoreReader], Finding | None]
    waiting: Callable[[StoreReader, Queue], tuple[WaitingView, ...]]
    path: Callable[[Queue, str], str]
    plan_stop: Callable[[Queue, bool, str, Iterable[Workload]], Plan]
    plan_resume: Callable[[Queue, str], Plan]


class Engine(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """One engine: how it is called and seen, and its capabilities. None: it has none of that kind.

    `name` is as people write it, `option` what follows it on the command line (`[:QUEUE]`), `meaning` what
    all or nothing means with it. `kinds` are those that are written or read by their path, with their
    plurals; all are namespaced. `form_lists` are lists for fields of a form, by the name that `choices-from`
    of a template has. `suits`: whether a new job is given to it where no engine is chosen; None: no, without
    a word. `reason`: why a group of pods waits, without a sentence where the members' own hold the cause.
    """

    name: str
    meaning: str
    attach: Attach
    option: str = ""
    controller: ControllerSigns = ControllerSigns("", "", ())
    watched: tuple[Watched, ...] = ()
    kinds: Mapping[ApiKind, str] = MappingProxyType({})
    form_lists: Mapping[str, tuple[ClusterList, ...]] = MappingProxyType({})
    marks: Marks = Marks()
    suits: Callable[[NewJob, InstalledEngine], Suited | None] | None = None
    own_job: OwnJob | None = None
    priority: Priority | None = None
    queues: Queues = Queues()
    # engines that place pods
    scheduling: Scheduling = Scheduling()
    groups: Groups | None = None
    reason: Callable[[PodGroup, tuple[Pod, ...]], Finding] | None = None
    enqueues: Enqueues | None = None
    suspends_job: SuspendsJob | None = None
    retries: Retries | None = None
    # engines that admit by quota
    admits: Admits | None = None
    line: QueueOrder | None = None
    suspends_workload: SuspendsWorkload | None = None
    foretells: Foretells | None = None
    topology: PlacesByTopology | None = None
    quota_queues: QuotaQueues | None = None
    offers: Offers | None = None

    @property
    def word(self) -> str:
        """As `--engine` takes it."""
        return self.name.split()[0].lower()

    @property
    def priority_kind(self) -> ApiKind:
        """Of the priority classes that its jobs name, in a label or in their pods."""
        return POD_PRIORITY if self.priority is None else self.priority.kind
