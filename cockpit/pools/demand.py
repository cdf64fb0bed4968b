"""What waits for a pool: pods without a node that its machines could take, and those that only it could take.

A pool is known by its nodes: their labels, their taints (but those of a node's own trouble), what one of them
offers when it is empty. Without a node it is known by what its object promises; where that names no GPUs it
is waited for by those pods that select it by its own label.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from cockpit.k8s import labels as well_known
from cockpit.k8s.node_affinity import NodeTerms, is_chosen
from cockpit.k8s.tolerations import HARD, is_tolerated
from cockpit.model.node import Node, Taint
from cockpit.model.pod import Pod
from cockpit.model.pool import Pool, PoolRequirement
from cockpit.model.record import Kind
from cockpit.model.scheduling import PodWishes
from cockpit.model.store_reader import StoreReader
from cockpit.pools import registry
from cockpit.pools.index import gpus_per_node, pool_object
from cockpit.pools.truth import is_use_known

_OF_A_TROUBLE = frozenset(
    {
        *(well_known.NOT_READY, well_known.UNREACHABLE, well_known.UNSCHEDULABLE),
        *well_known.CONDITION_TAINTS.values(),
    }
)
"""Taints that a new node of the same pool would not have."""


class PoolDemand(NamedTuple):
    """Pods that wait for a node: `only` those that no other pool could take, `shared` those that others could
    take as well."""

    only: tuple[Pod, ...] = ()
    shared: tuple[Pod, ...] = ()

    @property
    def gpus(self) -> int:
        """GPUs that only this pool can serve."""
        return sum(pod.gpus for pod in self.only)


NO_DEMAND = PoolDemand()


class _Machine(NamedTuple):
    """A machine of a pool as a pod sees it, empty."""

    resource: str
    gpus: int
    cpu_millicores: int | None  # None: not known, and nobody is refused for it
    memory_bytes: int | None
    taints: tuple[tuple[str, str, str], ...]
    labels: tuple[tuple[str, str], ...]
    own: tuple[tuple[str, str], ...] = ()  # all that is known of it: who selects it waits for it
    names: tuple[str, ...] = ()  # likewise, by any label


class _Ask(NamedTuple):
    """What pods that wait have in common."""

    wishes: int  # its id: alike pods share one object
    resource: str
    gpus: int
    cpu_millicores: int
    memory_bytes: int


def waiting_pods(store: StoreReader) -> list[Pod]:
    """Pods with GPUs that wait for a node; what a queue holds back is not among them, nor placeholders."""
    return [
        pod
        for pod in store.gpu_pods()
        if not pod.node and pod.phase == "Pending" and pod.deleting_seconds is None and not pod.is_gated
        if not pod.is_placeholder
    ]


class MachineMemory:
    """What is known of the machines of nodes that have not moved, for one who asks again and again."""

    def __init__(self) -> None:
        self._keys: frozenset[str] = frozenset()
        self._known: dict[str, tuple[Node, _Machine]] = {}
        self._kinds: dict[_Machine, _Machine] = {}  # one object for alike ones: hashing them is what costs

    def machines(self, nodes: Iterable[Node], keys: frozenset[str]) -> tuple[_Machine, ...]:
        """The kinds of these machines, as those see them who select by these labels."""
        if keys != self._keys:
            self._keys, self._known, self._kinds = keys, {}, {}
        found: dict[int, _Machine] = {}
        for node in nodes:
            known = self._known.get(node.uid)
            if known is None or known[0] is not node:
                made = _machine(node, keys)
                known = self._known[node.uid] = (node, self._kinds.setdefault(made, made))
            found[id(known[1])] = known[1]
        return tuple(found.values())

    def prune(self, most: int) -> None:
        """Forget all once far more are remembered than there are."""
        if len(self._known) > 2 * most + 64:
            self._known.clear()
            self._kinds.clear()


def demand_by_pool(
    store: StoreReader, pools: Sequence[Pool], memory: MachineMemory | None = None
) -> Mapping[str, PoolDemand] | None:
    """By the pool's name; a pool that nobody waits for is missing. None where not every pod is seen."""
    if not is_use_known(store):
        return None
    asks: dict[_Ask, list[Pod]] = defaultdict(list)
    wishes: dict[int, PodWishes] = {}
    for pod in waiting_pods(store):
        one = pod.traits.wishes
        wishes[id(one)] = one
        asks[_Ask(id(one), pod.gpu_resource, pod.gpus, pod.cpu_millicores, pod.memory_bytes)].append(pod)
    if not asks:
        return {}
    keys = _keys(wishes.values())
    known = memory or MachineMemory()
    machines = {pool.name: _machines(pool, store, keys, known) for pool in pools}
    known.prune(len(store.records(Kind.NODE)))
    only: dict[str, list[Pod]] = defaultdict(list)
    shared: dict[str, list[Pod]] = defaultdict(list)
    for ask, pods in asks.items():
        takers = [name for name, kinds in machines.items() if _may(ask, wishes[ask.wishes], kinds)]
        for name in takers:
            (only if len(takers) == 1 else shared)[name].extend(pods)
    return {
        name: PoolDemand(tuple(only.get(name, ())), tuple(shared.get(name, ())))
        for name in only.keys() | shared.keys()
    }


def _keys(wishes: Iterable[PodWishes]) -> frozenset[str]:
    """Labels that anybody selects by; a host is no trait of a pool."""
    found: set[str] = set()
    for one in wishes:
        found.update(key for key, _ in one.node_selector)
        for term in one.node_terms or ():
            found.update(each.key for each in term.expressions)
    return frozenset(found - {well_known.HOSTNAME})


def _machines(
    pool: Pool, store: StoreReader, keys: frozenset[str], memory: MachineMemory
) -> tuple[_Machine, ...]:
    """The kinds of machines that a pool has; () where nothing tells that they have GPUs."""
    nodes = [store.by_key(Kind.NODE, name) for name in pool.node_names]
    kinds = memory.machines((one for one in nodes if isinstance(one, Node) and one.has_gpus), keys)
    if kinds:
        return kinds
    owner, gpus = pool_object(store, pool), gpus_per_node(pool, store)
    if owner is None:
        return ()
    own, told = registry.selector(owner, ()), registry.template(owner)
    taints = tuple((one.key, one.value, one.effect) for one in told.taints if one.effect in HARD)
    carried = {
        **{one.key: one.values[0] for one in owner.requirements if _is_fixed(one)},
        **dict(owner.template_labels),
        **dict(own),
    }
    labels = tuple(pair for pair in carried.items() if pair[0] in keys)
    if gpus:
        return (_Machine("", gpus, None, None, taints, labels, names=told.names),)
    return (_Machine("", 0, None, None, taints, labels, own, told.names),) if own or told.names else ()


def _is_fixed(one: PoolRequirement) -> bool:
    return one.operator == "In" and len(one.values) == 1


def _machine(node: Node, keys: frozenset[str]) -> _Machine:
    offers = dict(node.allocatable)
    return _Machine(
        node.gpu_resource,
        node.gpu_capacity or node.gpus_expected or 0,
        offers.get("cpu"),
        offers.get("memory"),
        tuple((one.key, one.value, one.effect) for one in lasting_taints(node)),
        tuple(pair for pair in node.labels if pair[0] in keys),
    )


def lasting_taints(node: Node) -> tuple[Taint, ...]:
    """Those that keep pods away and that a new node of the same pool would have, too."""
    return tuple(one for one in node.taints if one.effect in HARD and one.key not in _OF_A_TROUBLE)


def _may(ask: _Ask, wishes: PodWishes, machines: Iterable[_Machine]) -> bool:
    selector = wishes.node_selector
    if any(key == well_known.HOSTNAME for key, _ in selector):
        return False
    terms = None if wishes.node_terms is None else NodeTerms(wishes.node_terms)
    for one in machines:
        if any(not is_tolerated(Taint(*taint), wishes.tolerations) for taint in one.taints):
            continue
        if (one.own or one.names) and _names(wishes, one) and (not one.gpus or ask.gpus <= one.gpus):
            return True
        if (
            not one.gpus
            or ask.gpus > one.gpus
            or (one.resource and ask.resource and one.resource != ask.resource)
        ):
            continue
        if one.cpu_millicores is not None and ask.cpu_millicores > one.cpu_millicores:
            continue
        if one.memory_bytes is not None and ask.memory_bytes > one.memory_bytes:
            continue
        if is_chosen(selector, terms, "", dict(one.labels)):
            return True
    return False


def _names(wishes: PodWishes, machine: _Machine) -> bool:
    """Whether a pod selects the pool by its own label, and nothing known of its machines is against it."""
    known = dict(machine.labels)
    if any(known.get(key, value) != value for key, value in wishes.node_selector):
        return False
    expressions = [one for term in wishes.node_terms or () for one in term.expressions]
    asked = {(one.key, value) for one in expressions if one.operator == "In" for value in one.values}
    asked.update(wishes.node_selector)
    return not asked.isdisjoint(machine.own) or any(value in machine.names for _, value in asked)
