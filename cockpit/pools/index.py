"""The pools of a cluster as rows: who owns each, how large it is, how many of its GPUs are allocated."""

from collections import Counter
from collections.abc import Iterable, Sequence

from cockpit.errors import BadInput, NotFound
from cockpit.model.node import Node
from cockpit.model.pool import MachineKind, MachineStage, Pool, PoolObject
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.nearest import nearest_words
from cockpit.pools import registry
from cockpit.pools.match import Group, pool_groups
from cockpit.pools.owner import Ownership
from cockpit.pools.price import is_spot
from cockpit.pools.promise import gpus_promised
from cockpit.pools.stage import NodeStage, node_stage, ready_since
from cockpit.pools.truth import gpus_allocated, has_lost_its_node, is_use_known, nodes_of

__all__ = [
    "NodeStage",
    "gpus_per_node",
    "node_stage",
    "pool_again",
    "pool_keyed",
    "pool_named",
    "pool_object",
    "pools_of",
]


def pools_of(store: StoreReader) -> tuple[Pool, ...]:
    """Every pool by name: those with an owner object, then groups of GPU nodes known only from labels."""
    return tuple(_row(group, store) for group in pool_groups(store))


def pool_object(store: StoreReader, pool: Pool) -> PoolObject | None:
    """The object that owns the pool's size, None for a pool known only from labels."""
    if not pool.owner_uid:
        return None
    found = store.get(Kind.POOL, pool.owner_uid)
    if isinstance(found, PoolObject):
        return found
    return next((one for one in registry.told_pools(store) if one.uid == pool.owner_uid), None)


def pool_named(store: StoreReader, name: str) -> Pool:
    """The pool that a person calls so: what its row says, `namespace/name` or `kind/name`.

    Raises BadInput that names the nearest where it is unknown, and all where it means several.
    """
    pools = pools_of(store)
    lower = name.lower()
    found = [one for one in pools if name in (one.name, one.key)] or [
        one
        for one in pools
        if name == one.owner_key or lower in (_qualified(one), f"{one.owner_kind}/{one.name}".lower())
    ]
    if len(found) == 1:
        return found[0]
    if found:
        ways = [_qualified(one) for one in found]
        ways = ways if len(set(ways)) == len(ways) else [one.name for one in found]
        raise BadInput(f"pool {name!r} is ambiguous: {', '.join(ways)}; choose one of them")
    raise NotFound(f"pool {name!r}", nearest_words(name, (pool.name for pool in pools), "known pools"))


def pool_keyed(store: StoreReader, key: str) -> Pool | None:
    """The pool of that `Pool.key`, None where it is gone."""
    return next((one for one in pools_of(store) if one.key == key), None)


def pool_again(store: StoreReader, pool: Pool) -> Pool:
    """The same pool as it is by now; where its owner is another object, the one of its nodes, or of its name.

    Raises BadInput where it is gone.
    """
    pools, members = pools_of(store), frozenset(pool.node_names)
    for same in (
        [one for one in pools if one.key == pool.key],
        [one for one in pools if not members.isdisjoint(one.node_names)],
        [one for one in pools if one.name == pool.name],
    ):
        if len(same) == 1:
            return same[0]
    known = nearest_words(pool.name, (other.name for other in pools), "known pools")
    raise BadInput(f"pool {pool.name} is gone, nothing was changed: choose another one; {known}")


def gpus_per_node(pool: Pool, store: StoreReader) -> int | None:
    """GPUs that one more node of this pool would bring; None when nothing tells."""
    members = frozenset(pool.node_names)
    counts: Counter[int | None] = Counter()
    for node in nodes_of(store):
        if node.name in members:
            promise = gpus_promised(node, store)
            counts[0 if promise is None else promise.gpus or None] += 1
    if counts:
        return counts.most_common(1)[0][0]
    owner = pool_object(store, pool)
    return registry.template(owner).gpus if owner else None


def _qualified(pool: Pool) -> str:
    return f"{pool.owner_kind.lower()}/{pool.owner_key}" if pool.owner_kind else pool.name


def _row(group: Group, store: StoreReader) -> Pool:
    owner, nodes = group.owner, group.nodes
    says = registry.ownership(owner, nodes, store)
    stages = [node_stage(node, store) for node in nodes]
    allocated = [gpus_allocated(store, node.name) for node in nodes]
    target = owner.replicas if owner else None
    if target is None and says.coming is not None:
        target = max(0, len(nodes) + says.coming)
    present = sum(stage != NodeStage.LEAVING for stage in stages)
    coming = sum(
        stage in NodeStage.COMING and not _is_settled(node.has_gpus, stage)
        for node, stage in zip(nodes, stages, strict=True)
    )
    expected = owner.instance_type if owner else ""
    kinds = _kinds(nodes, expected)
    return Pool(
        name=group.name,
        owner_group=owner.api_version.rpartition("/")[0] if owner and owner.kind else "",
        owner_kind=owner.kind if owner else "",
        owner_key=owner.key if owner and owner.kind else "",
        owner_uid=owner.uid if owner else "",
        why_not=says.why_not,
        grows_by_demand=grows_by_demand(says),
        machine=_shared(kind.machine for kind in kinds) if nodes else expected,
        gpu_model=_shared(kind.gpu_model for kind in kinds),
        kinds=kinds,
        nodes_now=len(nodes),
        nodes_ready=sum(node.ready == "True" for node in nodes),
        nodes_joining=coming + max(0, _without_node(group, target, present, store)),
        target=target,
        minimum=says.minimum,
        maximum=says.maximum,
        gpus_total=sum(
            max((node.gpu_allocatable or 0) if node.ready == "True" else 0, taken)
            for node, taken in zip(nodes, allocated, strict=True)
        ),
        gpus_allocated=sum(allocated),
        cards=sum(
            node.usable_cards if node.ready == "True" else min(node.usable_cards, taken)
            for node, taken in zip(nodes, allocated, strict=True)
        ),
        nodes_unadvertised=stages.count(NodeStage.NOT_ADVERTISED),
        unadvertised_since=_unadvertised_since(nodes, stages),
        gpus_idle=sum(
            max(0, (node.gpu_allocatable or 0) - taken)
            for node, stage, taken in zip(nodes, stages, allocated, strict=True)
            if stage in (NodeStage.GPUS_UP, NodeStage.USED, NodeStage.CORDONED)
        ),
        nodes_spot=sum(is_spot(node) for node in nodes),
        idle_nodes=sum(
            stage in (NodeStage.GPUS_UP, NodeStage.CORDONED) and not taken
            for stage, taken in zip(stages, allocated, strict=True)
        ),
        is_use_known=is_use_known(store),
        node_names=tuple(node.name for node in nodes),
    )


def _without_node(group: Group, target: int | None, present: int, store: StoreReader) -> int:
    """Machines that are on their way and no nodes yet: those that are wanted, else those that there are."""
    if group.owner is None:
        return 0 if target is None else target - present
    if target is not None and target <= present:
        return 0
    machines = registry.machines(group.owner, group.nodes, store)
    if target is not None:
        return target - present - sum(has_lost_its_node(one, store) for one in machines)
    names = {one.name for one in group.nodes}
    ids = {one.provider_id for one in group.nodes if one.provider_id}
    return sum(
        one.deleting_seconds is None
        and one.stage not in (MachineStage.FAILED, MachineStage.INITIALIZED)
        and not {one.node, one.name} & names
        and one.provider_id not in ids
        for one in machines
    )


def _unadvertised_since(nodes: Sequence[Node], stages: Sequence[str]) -> tuple[float, ...]:
    dark = (node for node, stage in zip(nodes, stages, strict=True) if stage == NodeStage.NOT_ADVERTISED)
    dated = (ready_since(node) or node.created_seconds for node in dark)
    return tuple(sorted(at for at in dated if at is not None))


def grows_by_demand(says: Ownership) -> bool:
    """Whether nodes come to the pool by asking for capacity, and not by setting their number."""
    return says.may_resize.may is False and says.may_demand.may is True


def _is_settled(has_gpus: bool, stage: str) -> bool:
    # A node without GPUs is done when it is ready.
    return stage == NodeStage.READY and not has_gpus


def _shared(values: Iterable[str]) -> str:
    """The value of all that have one, "" where they differ: a pool is not as its commonest node."""
    known = {value for value in values if value}
    return next(iter(known)) if len(known) == 1 else ""


def _kinds(nodes: Sequence[Node], expected: str) -> tuple[MachineKind, ...]:
    """`expected` is the type that the owner makes: of nodes that tell none."""
    all_, spot = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for node in nodes:
        kind = node.instance_type or expected, node.gpu_model
        all_[kind] += 1
        spot[kind] += is_spot(node)
    order = sorted(all_, key=lambda kind: (-all_[kind], kind))
    return tuple(
        MachineKind(machine=kind[0], gpu_model=kind[1], nodes=all_[kind], spot=spot[kind]) for kind in order
    )
