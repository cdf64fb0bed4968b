"""What the fleet could do with less, and what keeps it from more: nodes needed, largest gangs, idle GPUs.

In two steps: `fleet_load` reads the store, which is quick; `fleet_use` packs what was read, which may take a
while and needs the store no more, so that a screen does it apart.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import chain, starmap
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from cockpit.k8s import labels as well_known
from cockpit.k8s.gpu_resources import is_gpu_resource
from cockpit.k8s.node_affinity import NodeTerms, is_chosen
from cockpit.k8s.tolerations import HARD, untolerated
from cockpit.model.job_reader import JobReader
from cockpit.model.listing import listing
from cockpit.model.node import Node, Taint
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.triage.idle_jobs import IdleJobs, TelemetryGap, gpu_gap, unmeasured
from cockpit.triage.packing import NodeKind, Packing, PodKind, pack

_GIB: Final = 1 << 30
_CORE: Final = 1_000
_PODS: Final = 110
"""The kubelet's own default."""
_SIZES: Final = (16, 8, 4, 2, 1)


class ModelFleet(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Nodes with one kind of card. `packing` is of the pods that are on them, each staying on its kind of
    card; `with_waiting` has those besides that wait and could be there, None where none waits.

    `gangs` are (GPUs of a member, most members) that find free GPUs on nodes that take new pods, the largest
    member first. `scattered` are free GPUs on nodes that have fewer free than they have GPUs. `gaps` are
    (free GPUs of a node, nodes with so many), the largest first, of nodes that take new pods; `shut` nodes
    are cordoned or tainted against everybody.
    """

    model: str
    resource: str
    nodes: int
    gpus: int
    allocated: int
    free: int
    packing: Packing = Packing(0, 0)
    with_waiting: Packing | None = None
    gangs: tuple[tuple[int, int], ...] = ()
    scattered: int = 0
    gaps: tuple[tuple[int, int], ...] = ()
    shut: int = 0


class _Question(NamedTuple):
    """Pods of one kind of card, those besides that wait for one, and the nodes that they may be put on. Of
    the nodes that are not asked about `fixed` cannot be emptied; `in_use` have pods as things lie now."""

    nodes: tuple[NodeKind, ...]
    pods: tuple[PodKind, ...]
    waiting: tuple[PodKind, ...]
    fixed: int
    in_use: int


class IdleGpus(msgspec.Struct, frozen=True, gc=False):
    """GPUs of running jobs whose cards do nothing, by their owner: a person, else the namespace.
    `is_at_least`: nothing was seen to work as far back as anybody looks, so the hours may be more."""

    owner: str
    namespace: str
    gpus: int
    gpu_hours: float
    jobs: tuple[str, ...]
    is_at_least: bool = False
    missing: str = ""
    """What is not known of those of which nobody can say, and why."""


class FleetUse(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The fleet. `is_use_known` False: not every pod may be read, so that what is free is not known;
    `are_nodes_known` the same of nodes. `idle` are those of jobs that are idle, `unsure` those that may be so
    or not, for no card of theirs works; None: no card is measured."""

    models: tuple[ModelFleet, ...]
    idle: tuple[IdleGpus, ...] | None
    unsure: tuple[IdleGpus, ...] | None
    is_use_known: bool = True
    are_nodes_known: bool = True
    unmeasured: tuple[tuple[TelemetryGap, int], ...] = ()
    """GPUs of running jobs whose cards tell nothing now, by why; without a number where that is so of all."""
    resting: int = 0
    """GPUs of jobs that have done nothing for so short a time that nobody can say anything yet."""

    @property
    def nodes(self) -> int:
        """Of all models."""
        return sum(one.nodes for one in self.models)

    @property
    def needed(self) -> int:
        """The fewest nodes that are known to hold the load."""
        return sum(one.packing.nodes for one in self.models)

    @property
    def at_least(self) -> int:
        """Fewer nodes cannot hold the load."""
        return sum(one.packing.at_least for one in self.models)

    @property
    def idle_gpu_hours(self) -> float | None:
        """Of all owners together."""
        return None if self.idle is None else sum(one.gpu_hours for one in self.idle)


class FleetLoad(NamedTuple):
    """The fleet before anything is packed, and the question of each of its models."""

    use: FleetUse
    questions: tuple[_Question, ...]


def fleet_load(store: StoreReader, jobs: JobReader, known: IdleJobs, now_seconds: float) -> FleetLoad:
    """All of it, with what is `known` of jobs that look idle; nodes that are not ready or offer no GPU are
    left out, and are told as lost elsewhere."""
    by_model: dict[tuple[str, str], list[Node]] = defaultdict(list)
    for node in store.records(Kind.NODE).values():
        if node.ready == "True" and node.gpu_allocatable and node.deleting_seconds is None:
            by_model[node.gpu_model, node.gpu_resource].append(node)
    load = _Load(store)
    found = [_of_model(key, nodes, store, load) for key, nodes in sorted(by_model.items())]
    idle = unsure = None
    if store.records(Kind.GPU):
        idle, unsure = _at_rest(store, jobs, known, now_seconds)
    gaps: Counter[TelemetryGap] = Counter()
    resting = 0
    for job in jobs.jobs.values():
        gaps.update(unmeasured(job, store))
        resting += job.gpus_allocated * known.is_open(job, store, now_seconds)
    if idle is None and not gaps and (gap := gpu_gap(store)) is not None:
        gaps[gap] = 0
    use = FleetUse(
        models=tuple(model for model, _ in found),
        idle=idle,
        unsure=unsure,
        is_use_known=listing(store, Kind.POD).has_all,
        are_nodes_known=listing(store, Kind.NODE).has_all,
        unmeasured=tuple(sorted(gaps.items())),
        resting=resting,
    )
    return FleetLoad(use, tuple(question for _, question in found))


def fleet_use(load: FleetLoad) -> FleetUse:
    """The fewest nodes for it."""
    return replace(load.use, models=tuple(map(_packed, load.use.models, load.questions)))


def _packed(model: ModelFleet, question: _Question) -> ModelFleet:
    nodes, pods, waiting, fixed, in_use = question
    return replace(
        model,
        packing=_at_most(_plus(_pack(nodes, pods), fixed), in_use),
        with_waiting=_plus(_pack(nodes, (*pods, *waiting)), fixed) if waiting else None,
    )


@lru_cache(maxsize=64)
def _pack(nodes: tuple[NodeKind, ...], pods: tuple[PodKind, ...]) -> Packing:
    """Mostly the same question as before: duty moves all the time, pods seldom do."""
    return pack(nodes, pods)


class _Load:
    def __init__(self, store: StoreReader) -> None:
        self.on: dict[str, list[Pod]] = defaultdict(list)
        self.waiting: list[Pod] = []
        self.keys: set[str] = set()
        for pod in store.gpu_pods():
            if pod.phase in ("Succeeded", "Failed"):
                continue
            if pod.node:
                self.on[pod.node].append(pod)
            elif pod.deleting_seconds is None and not pod.is_gated and not pod.is_placeholder:
                self.waiting.append(pod)
        every = chain(chain.from_iterable(self.on.values()), self.waiting)
        for wishes in {id(pod.traits.wishes): pod.traits.wishes for pod in every}.values():
            self.keys.update(key for key, _ in wishes.node_selector)
            for term in wishes.node_terms or ():
                self.keys.update(one.key for one in term.expressions)
        self.keys -= {well_known.HOSTNAME}


class _KindOfNode(NamedTuple):
    """By what nodes differ for pods: taints, the labels that pods select by, and what they offer besides what
    other pods than those with GPUs (daemons, services) ask of each of them at least."""

    taints: tuple[tuple[str, str, str], ...]
    labels: tuple[tuple[str, str], ...]
    offers: tuple[int, int, int, int]  # GPUs, cores, GiB, pods


def _of_model(
    key: tuple[str, str], nodes: list[Node], store: StoreReader, load: _Load
) -> tuple[ModelFleet, _Question]:
    model, resource = key
    kinds, kind_of = _kinds(nodes, store, load)
    pods, fixed = _pods(nodes, kinds, kind_of, load)
    free = {one.name: _free(one, store) for one in nodes}
    open_ = [one for one in nodes if not one.unschedulable and not _is_shut(one)]
    numbers = ModelFleet(
        model=model,
        resource=resource,
        nodes=len(nodes),
        gpus=sum(one.gpu_allocatable or 0 for one in nodes),
        allocated=sum(store.requests_on(one.name).gpus for one in nodes),
        free=sum(free[one.name] for one in open_),
        gangs=tuple(_gangs(open_, free)),
        scattered=sum(free[one.name] for one in open_ if free[one.name] < (one.gpu_allocatable or 0)),
        gaps=tuple(sorted(Counter(free[one.name] for one in open_).items(), reverse=True)),
        shut=len(nodes) - len(open_),
    )
    question = _Question(
        nodes=tuple(_counted(kinds, kind_of, nodes, fixed)),
        pods=tuple(pods),
        waiting=tuple(_asking(load.waiting, resource, kinds)),
        fixed=len(fixed),
        in_use=sum(bool(load.on.get(one.name)) for one in nodes),
    )
    return numbers, question


def _at_most(packing: Packing, in_use: int) -> Packing:
    """As the pods lie now is a packing, too: the best known where nodes are overcommitted."""
    nodes = in_use if packing.unplaced else min(packing.nodes, in_use)
    return Packing(nodes, min(packing.at_least, nodes))


def _plus(packing: Packing, fixed: int) -> Packing:
    return packing._replace(nodes=packing.nodes + fixed, at_least=packing.at_least + fixed)


def _kinds(
    nodes: Iterable[Node], store: StoreReader, load: _Load
) -> tuple[list[_KindOfNode], dict[str, int]]:
    """The kinds there are, and which one each node is. Of alike nodes the one on which the other pods ask for
    least tells what they ask for on each."""
    alike: dict[_KindOfNode, list[str]] = defaultdict(list)
    least: dict[_KindOfNode, tuple[int, int, int]] = {}
    for node in nodes:
        hard = sorted((one.key, one.value, one.effect) for one in node.taints if one.effect in HARD)
        labels = tuple(pair for pair in node.labels if pair[0] in load.keys)
        offered = dict(node.allocatable)
        cores, gib = offered.get("cpu", 0) // _CORE, offered.get("memory", 0) // _GIB
        kind = _KindOfNode(
            tuple(hard), labels, (node.gpu_allocatable or 0, cores, gib, offered.get("pods", _PODS))
        )
        alike[kind].append(node.name)
        sums, own = store.requests_on(node.name), load.on.get(node.name, ())
        others = (
            max(0, sums.cpu_millicores - sum([pod.cpu_millicores for pod in own])),
            max(0, sums.memory_bytes - sum([pod.memory_bytes for pod in own])),
            sums.pods - len(own),
        )
        known = least.get(kind, others)
        least[kind] = (min(known[0], others[0]), min(known[1], others[1]), min(known[2], others[2]))
    kinds: list[_KindOfNode] = []
    kind_of: dict[str, int] = {}
    for kind, names in alike.items():
        kind_of.update(dict.fromkeys(names, len(kinds)))
        gpus, cores, gib, slots = kind.offers
        cpu, memory, pods = least[kind]
        left = (gpus, cores - -(-cpu // _CORE), gib - -(-memory // _GIB), slots - pods)
        kinds.append(kind._replace(offers=left))
    return kinds, kind_of


def _asks(pod: Pod) -> tuple[int, int, int, int]:
    """Rounded up, as offers are rounded down."""
    cores, gib = -(-pod.cpu_millicores // _CORE), -(-pod.memory_bytes // _GIB)
    return (pod.gpus, cores, gib, 1)


def _pods(
    nodes: Iterable[Node], kinds: list[_KindOfNode], kind_of: Mapping[str, int], load: _Load
) -> tuple[list[PodKind], set[str]]:
    """Pods that may move, as kinds, and nodes that cannot be emptied: what one of their pods asks for is not
    counted here (another resource, devices by claim)."""
    counts: Counter[_PodSort] = Counter()
    fixed: set[str] = set()
    may: dict[tuple[int, int], frozenset[int]] = {}
    for node in nodes:
        some = load.on.get(node.name, ())
        if any(pod.gpu_resource != node.gpu_resource or pod.gpus_claimed for pod in some):
            fixed.add(node.name)
            continue
        own = kind_of[node.name]
        for pod in some:
            traits = pod.traits
            where = may.get((id(traits.wishes), own))
            if where is None:
                # where it is it may be: what it was let in by may have changed since
                where = may[id(traits.wishes), own] = _allowed(pod, kinds) | {own}
            alone = bool(traits.keeps_away) and _is_alone(pod)
            counts[_asks(pod), where, alone] += 1
    return _pod_kinds(counts), fixed


_PodSort = tuple[tuple[int, int, int, int], frozenset[int], bool]
"""What a pod asks for, the kinds of nodes that it may be on, and whether it keeps away from its like."""


def _pod_kinds(counts: Counter[_PodSort]) -> list[PodKind]:
    return [PodKind(asks, count, where, alone) for (asks, where, alone), count in counts.items()]


def _is_alone(pod: Pod) -> bool:
    return any(one.topology_key == well_known.HOSTNAME for one in pod.traits.keeps_away)


def _asking(pods: Iterable[Pod], resource: str, kinds: list[_KindOfNode]) -> list[PodKind]:
    counts: Counter[_PodSort] = Counter()
    for pod in pods:
        where = _allowed(pod, kinds) if pod.gpu_resource == resource else frozenset()
        if where and not pod.gpus_claimed:
            counts[_asks(pod), where, _is_alone(pod)] += 1
    return _pod_kinds(counts)


def _allowed(pod: Pod, kinds: list[_KindOfNode]) -> frozenset[int]:
    wishes = pod.traits.wishes
    selector = [pair for pair in wishes.node_selector if pair[0] != well_known.HOSTNAME]
    if len(selector) != len(wishes.node_selector):
        return frozenset()
    terms = None if wishes.node_terms is None else NodeTerms(wishes.node_terms)
    return frozenset(
        at
        for at, kind in enumerate(kinds)
        if untolerated(starmap(Taint, kind.taints), wishes.tolerations) is None
        and is_chosen(selector, terms, "", dict(kind.labels))
    )


def _counted(
    kinds: list[_KindOfNode], kind_of: Mapping[str, int], nodes: Iterable[Node], fixed: set[str]
) -> list[NodeKind]:
    counts = [0] * len(kinds)
    for node in nodes:
        counts[kind_of[node.name]] += node.name not in fixed
    return [NodeKind(kind.offers, count) for kind, count in zip(kinds, counts, strict=True)]


def _is_shut(node: Node) -> bool:
    """Tainted against everybody but those who mean to be there; a taint that names GPUs keeps off the
    others."""
    return any(one.effect in HARD and not is_gpu_resource(one.key) for one in node.taints)


def _free(node: Node, store: StoreReader) -> int:
    """GPUs that a pod could have now; none where no pod more or no core is left."""
    sums = store.requests_on(node.name)
    offered = dict(node.allocatable)
    if offered and (sums.pods >= offered.get("pods", _PODS) or sums.cpu_millicores >= offered.get("cpu", 0)):
        return 0
    return max(0, (node.gpu_allocatable or 0) - sums.gpus)


def _gangs(nodes: Iterable[Node], free: Mapping[str, int]) -> Iterable[tuple[int, int]]:
    left = [free[one.name] for one in nodes]
    largest = max((one.gpu_allocatable or 0 for one in nodes), default=0)
    for size in _SIZES:
        if size <= largest and (members := sum(count // size for count in left)):
            yield size, members


# ---- idle


def _at_rest(
    store: StoreReader, jobs: JobReader, known: IdleJobs, now_seconds: float
) -> tuple[tuple[IdleGpus, ...], tuple[IdleGpus, ...]]:
    """By owner, whoever wastes most first: of jobs that are idle, and of those of which nobody can say."""
    idle: list[IdleGpus] = []
    unsure: list[IdleGpus] = []
    for job in jobs.jobs.values():
        found = known.at_rest(job, store, now_seconds)
        if found is not None:
            hours = job.gpus_allocated * (now_seconds - found.since_seconds) / 3_600
            is_at_least = found.judged is None or found.judged.last is None
            whose = (job.owner or job.namespace, job.namespace, job.gpus_allocated, hours)
            rest = IdleGpus(*whose, (f"{job.namespace}/{job.name}",), is_at_least, found.missing_words)
            (unsure if found.judged is None else idle).append(rest)
    return _by_owner(idle), _by_owner(unsure)


def _by_owner(found: Iterable[IdleGpus]) -> tuple[IdleGpus, ...]:
    by_owner: dict[tuple[str, str], list[IdleGpus]] = defaultdict(list)
    for one in found:
        by_owner[one.owner, one.namespace].append(one)
    made = []
    for owner, some in by_owner.items():
        gpus, hours = sum(one.gpus for one in some), sum(one.gpu_hours for one in some)
        jobs, missing = {name for one in some for name in one.jobs}, {one.missing for one in some} - {""}
        is_at_least = any(one.is_at_least for one in some)
        made.append(
            IdleGpus(*owner, gpus, hours, tuple(sorted(jobs)), is_at_least, "; ".join(sorted(missing)))
        )
    return tuple(sorted(made, key=lambda one: (-one.gpu_hours, one.owner, one.namespace)))
