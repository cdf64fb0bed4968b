"""The list of pool owners: the one place besides their packages that names them.

Everybody else asks here by an object, a node or a taint. `registered` adds one for a while.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import msgspec

from cockpit.fit.scheduling_context import Budget
from cockpit.model.event import Event
from cockpit.model.node import Node
from cockpit.model.pool import Machine, PoolObject
from cockpit.model.reach import Outside
from cockpit.model.record import Kind, Labels
from cockpit.model.store_reader import StoreReader
from cockpit.model.watched import Watched
from cockpit.pools.auto_scaling_group import AutoScalingGroups
from cockpit.pools.cluster_api import ClusterApi
from cockpit.pools.cluster_autoscaler import ClusterAutoscaler
from cockpit.pools.command import CommandPools
from cockpit.pools.coreweave import CoreWeave
from cockpit.pools.eks import Eks
from cockpit.pools.karpenter import Karpenter
from cockpit.pools.keepers import Budgets, Keeper, KeeperKind, by_namespace, held_lines, keeper_words
from cockpit.pools.node_labels import NodeLabels
from cockpit.pools.owner import (
    REMOVAL_TAINT,
    FailureClass,
    GroupRefusal,
    HasMachines,
    KnownPool,
    MakesMachines,
    MarksMachines,
    MarksNodes,
    Nodes,
    NodeTemplate,
    Ownership,
    PoolFailure,
    PoolOwner,
    PromisesNodes,
    ReadsOutside,
    Removal,
    RollsOut,
    ScalesDown,
    SetsSize,
    StartedByFlags,
    TakesOver,
    common_labels,
    plain_template,
    without_bounds,
)

NODE_LABELS = NodeLabels()
"""Stands for pools that nobody else knows."""


class _Owners:
    """The owners, in the order in which they are asked, and what rows ask of all of them."""

    def __init__(self, owners: Sequence[PoolOwner]) -> None:
        self.owners = tuple(owners)
        traits = self.traits = tuple(one.traits for one in owners)
        self.by_name: Mapping[str, PoolOwner] = {one.traits.name: one for one in (*owners, NODE_LABELS)}
        self.going_taints = frozenset({REMOVAL_TAINT, *(key for one in traits for key in one.going_taints)})
        own = {REMOVAL_TAINT: "a cockpit was about to remove it"}
        self.taint_words = own | {key: words for one in traits for key, words in one.taint_words.items()}
        self.kept_reasons = frozenset(reason for one in traits for reason in one.kept_reasons)
        self.watched = tuple(kind for one in traits for kind in (*one.pool_kinds, *one.watched))
        # asked for every pool or node, so only those that have an answer
        self.marks: tuple[MarksNodes, ...] = tuple(
            one if isinstance(one, MarksNodes) else one.traits for one in owners
        )
        self.taking_over = tuple(one for one in owners if isinstance(one, TakesOver))
        self.scaling_down = tuple(one for one in owners if isinstance(one, ScalesDown))
        self.started_by_flags = tuple(one for one in owners if isinstance(one, StartedByFlags))
        self.marking_machines = tuple(one for one in owners if isinstance(one, MarksMachines))


_all = _Owners(
    (
        *(Karpenter(), CoreWeave(), ClusterApi()),
        *(Eks(), AutoScalingGroups(), CommandPools()),
        ClusterAutoscaler(),
    )
)


@contextmanager
def registered(owner: PoolOwner) -> Iterator[None]:
    """The owner is known, before the others, as long as the context lasts."""
    global _all  # noqa: PLW0603 - the list is one for the whole program
    before = _all
    _all = _Owners((owner, *before.owners))
    try:
        yield
    finally:
        _all = before


_SOME_NODES = 64
"""Nodes of a pool carry the same marks: so many tell whose they are, also of a pool of thousands."""


def owners() -> tuple[PoolOwner, ...]:
    """All owners, in the order in which they are asked."""
    return _all.owners


def owner_named(name: str) -> PoolOwner:
    """The owner by the name that `Ownership.owner` has."""
    return _all.by_name.get(name, NODE_LABELS)


def holder(found: PoolObject | None, nodes: Nodes) -> PoolOwner:
    """Who makes and removes the machines of a pool, by its object, else by its nodes."""
    if found is not None:
        return next((one for one in _all.owners if one.traits.holds(found)), NODE_LABELS)
    some = nodes[:_SOME_NODES]
    by_marks = zip(_all.owners, _all.marks, strict=True)
    return next((one for one, marks in by_marks if any(map(marks.knows, some))), NODE_LABELS)


def sizer(found: PoolObject) -> SetsSize | None:
    """The owner of that pool where it can be told its size; None where it cannot."""
    owner = holder(found, ())
    return owner if isinstance(owner, SetsSize) else None


def marking_machines() -> tuple[MarksMachines, ...]:
    """Owners that can be told by a mark which machines go first."""
    return _all.marking_machines


def machine_makers() -> tuple[MakesMachines, ...]:
    """Owners that make a machine which no pending pod asks for."""
    return tuple(one for one in _all.owners if isinstance(one, MakesMachines))


def template(found: PoolObject) -> NodeTemplate:
    """The nodes that the object promises, for a pool without nodes."""
    owner = holder(found, ())
    if isinstance(owner, PromisesNodes):
        return owner.template(found)
    return plain_template(found, common_labels(found, ()))


def selector(found: PoolObject | None, nodes: Nodes) -> Labels:
    """Labels by which a pod chooses nodes of the pool, () where none tell them from others."""
    owner = holder(found, nodes)
    return owner.selector(found, nodes) if isinstance(owner, PromisesNodes) else common_labels(found, nodes)


def machines(found: PoolObject | None, nodes: Nodes, truth: StoreReader) -> tuple[Machine, ...]:
    """Machines of the pool, oldest first: with a node and without, also those that are going."""
    owner = holder(found, nodes)
    return owner.machines(found, nodes, truth) if isinstance(owner, HasMachines) else ()


def ownership(found: PoolObject | None, nodes: Nodes, truth: StoreReader) -> Ownership:
    """Who decides the size, and what may be done from here. Of two that do, the
    one that watches demand wins."""
    says = holder(found, nodes).ownership(found, nodes, truth)
    for one in _all.taking_over:
        says = one.takes_over(says, found, nodes, truth)
    low, high = says.minimum, says.maximum
    if low is not None and high is not None and low > high:
        return without_bounds(says, f"its minimum {low} is above its maximum {high}")
    return says


def unread(pool: str, nodes: Nodes, outside: Outside) -> PoolObject | None:
    """What stands for a pool outside the cluster until it is read; None where nobody knows how to read it."""
    knows = holder(None, nodes)
    some = _all.owners if knows is NODE_LABELS else (knows,)  # else by what is configured
    made = (one.unread(pool, nodes, outside) for one in some if isinstance(one, ReadsOutside))
    return next((found for found in made if found is not None), None)


def object_of(node: Node, objects: Sequence[PoolObject]) -> PoolObject | None:
    """The pool that the node's own marks name; None where none do."""
    if not objects:
        return None
    return next((found for one in _all.marks if (found := one.object_of(node, objects)) is not None), None)


def told_pools(truth: StoreReader, known: Sequence[KnownPool] = ()) -> tuple[PoolObject, ...]:
    """Pools that owners tell of, and that neither objects nor nodes do."""
    return tuple(found for one in _all.taking_over for found in one.told_pools(truth, known))


def is_pool(found: PoolObject) -> bool:
    """False for an object that is part of another."""
    owner = holder(found, ())
    return owner.is_pool(found) if isinstance(owner, RollsOut) else True


def failures(
    found: PoolObject | None, nodes: Nodes, truth: StoreReader, now_seconds: float
) -> tuple[PoolFailure, ...]:
    """Why machines do not come, as the holder says and whoever takes its pools over."""
    told = (holder(found, nodes), *_all.taking_over)
    those = (one for one in told if isinstance(one, HasMachines))
    said = tuple(each for one in those for each in one.failures(found, nodes, truth, now_seconds))
    fault = ownership(found, nodes, truth).fault
    return (*said, _of_bounds(fault)) if fault else said


def _of_bounds(fault: str) -> PoolFailure:
    remedy = "correct the bounds: no autoscaler grows a pool whose bounds it cannot follow"
    return PoolFailure(kind=FailureClass.BOUNDS, sentence=fault, remedy=remedy)


def troubles(truth: StoreReader) -> tuple[PoolFailure, ...]:
    """What is wrong with owners themselves, whichever pool asks."""
    return tuple(each for one in _all.taking_over for each in one.troubles(truth))


def refusals(event: Event) -> tuple[GroupRefusal, ...]:
    """Why groups are not grown for the pod of the event; () where it tells of none."""
    return next((told for one in _all.taking_over if (told := one.refusals(event))), ())


def page_lines(
    found: PoolObject | None,
    nodes: Nodes,
    truth: StoreReader,
    now_seconds: float,
    budgets: Iterable[Budget] | None = None,
) -> tuple[str, ...]:
    """What bounds the pool besides its number of nodes and what of it may go, as its holder says; which of
    its nodes are held, whoever leaves them where they are."""
    owner = None if found is None else holder(found, ())
    own = owner.page_lines(found, nodes, now_seconds) if found and isinstance(owner, MakesMachines) else ()
    if found is not None and (rollout := _rollout(found, nodes, truth)) is not None:
        own = (*own, f"{rollout[0]}: {keeper_words(rollout[1])}")
    by_name = by_namespace(budgets)
    held = {one.name: tuple(_node_keepers(one, truth, now_seconds, by_name)) for one in nodes}
    return (*own, *_scale_down_line(ownership(found, nodes, truth).owner, truth), *held_lines(held))


def _scale_down_line(decides: str, truth: StoreReader) -> Iterator[str]:
    """When the owner that decides the size removes nodes, once its flags were read."""
    owner = owner_named(decides)
    if isinstance(owner, StartedByFlags) and truth.records(Kind.OWNER_FLAGS):
        yield f"scale-down: {owner.traits.name} {owner.scale_down_words(truth)}"


def started_by_flags(truth: StoreReader) -> tuple[StartedByFlags, ...]:
    """Those that work in this cluster and whose flags tell when they take nodes away."""
    return tuple(one for one in _all.started_by_flags if one.namespace(truth))


def _node_keepers(
    node: Node, truth: StoreReader, now_seconds: float, budgets: Budgets
) -> Iterator[tuple[str, Keeper]]:
    for one in _all.scaling_down:
        held = one.node_keepers(node, truth, now_seconds, budgets)
        yield from ((one.traits.name, hold) for hold in held)


def _rollout(found: PoolObject, nodes: Nodes, truth: StoreReader) -> tuple[str, Keeper] | None:
    """What keeps an autoscaler from taking nodes of a pool whose machines are being replaced, with its name;
    None where nothing is, or a person sets the size."""
    decides = ownership(found, nodes, truth).owner
    makes = holder(found, ())
    if decides == makes.traits.name or not isinstance(makes, RollsOut):
        return None
    if not makes.is_rolling_out(found, truth):
        return None
    return decides, Keeper(KeeperKind.ROLLOUT, f"{found.kind} {found.key}")


def kept_reasons() -> frozenset[str]:
    """Reasons of events that tell why machines do not come."""
    return _all.kept_reasons


def removal(
    node: Node, truth: StoreReader, now_seconds: float, budgets: Iterable[Budget] | None = None
) -> Removal | None:
    """How far anybody is with taking that node away."""
    by_name = by_namespace(budgets)
    told = (one.removal(node, truth, now_seconds, by_name) for one in _all.scaling_down)
    found = next((one for one in told if one is not None), None)
    if found is None or not found.may_stay:
        return found
    pool = object_of(node, tuple(truth.records(Kind.POOL).values()))
    return None if pool is not None and _rollout(pool, (node,), truth) is not None else found


def keepers_of(
    node: Node, truth: StoreReader, now_seconds: float, budgets: Iterable[Budget] | None = None
) -> Iterator[tuple[str, Keeper]]:
    """Why owners leave that node where it is, each with the owner's name."""
    by_name = by_namespace(budgets)
    for one in _all.scaling_down:
        own = one.node_keepers(node, truth, now_seconds, by_name)
        of_pool = one.pool_keepers(node, truth, now_seconds)
        yield from ((one.traits.name, hold) for hold in (*own, *of_pool))
    found = object_of(node, tuple(truth.records(Kind.POOL).values()))
    if found is not None and (rollout := _rollout(found, (node,), truth)) is not None:
        yield rollout


def going_taints() -> frozenset[str]:
    """Keys of taints of nodes that are being taken away."""
    return _all.going_taints


def taint_words() -> Mapping[str, str]:
    """Keys of taints by which somebody means to take a node away, each with what that is to the node."""
    return _all.taint_words


def keep_annotations(node: Node, decides: str = "") -> Mapping[str, str]:
    """By which annotation each owner that may take the node away lets it be, with the owner's name; those of
    all where none of them knows the node, or `decides` (`Ownership.owner`) the size of its pool."""
    found = [(one, marks) for one, marks in zip(_all.traits, _all.marks, strict=True) if one.keep_annotation]
    own = [one for one, marks in found if marks.knows(node) or one.name == decides]
    return {one.keep_annotation: one.name for one in own or (one for one, _ in found)}


def kept_by(node: Node) -> Mapping[str, str]:
    """The annotations by which the node is kept now, with the name of the owner that heeds each."""
    notes = dict(node.annotations)
    found = (one for one in _all.traits if one.keep_annotation)
    return {
        one.keep_annotation: one.name for one in found if notes.get(one.keep_annotation, "false") != "false"
    }


def bidden_to_stay(node: Node, truth: StoreReader, now_seconds: float) -> str:
    """The annotation by which the node is kept, or a pod on it has it kept; "" where none does."""
    own = next(iter(kept_by(node)), "")
    held = (
        one for _, one in _node_keepers(node, truth, now_seconds, None) if one.kind is KeeperKind.POD_NOTE
    )
    return own or next((f"{one.name} on pod {one.pod}" for one in held), "")


def empty_since(node: Node, machine: Machine | None) -> float | None:
    """Since when any of them takes the node for empty."""
    found = (one.empty_since(node, machine) for one in _all.scaling_down)
    return min((at for at in found if at is not None), default=None)


def watched(autoscaler_status: str = "") -> tuple[Watched, ...]:
    """Kinds of objects that the owners live by.

    `autoscaler_status` is the namespace/name of the ConfigMap that the autoscaler writes, "": as usual.
    """
    if not autoscaler_status:
        return _all.watched
    namespace, _, name = autoscaler_status.partition("/")
    return tuple(
        msgspec.structs.replace(one, namespace=namespace, name=name) if one.kind == Kind.AUTOSCALER else one
        for one in _all.watched
    )
