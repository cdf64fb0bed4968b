"""The nodes that a pool would bring, and whether one of them would take pods of a shape."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product

from cockpit.fit.node_filters import fit_nodes
from cockpit.fit.remedies import another_node
from cockpit.fit.shape import Shape
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.k8s import labels as well_known
from cockpit.k8s.selectors import requirement_test
from cockpit.model.node import Node
from cockpit.model.pool import Pool, PoolObject
from cockpit.model.record import Condition, Kind
from cockpit.model.store_reader import StoreReader
from cockpit.pools import registry
from cockpit.pools.owner import NodeTemplate

_MOST_VALUES, _MOST_NODES = 8, 64
_OPEN_KEYS = frozenset(
    {
        *(well_known.ZONE, well_known.REGION, "kubernetes.io/arch", "kubernetes.io/os"),
        "node.kubernetes.io/instance-type",
    }
)
"""Labels that every cloud puts on its nodes: an object that does not state them leaves their value open."""


def nodes_to_come(
    store: StoreReader, pool: Pool, owner: PoolObject | None, count: int, gpus_each: int | None
) -> tuple[Node, ...]:
    """`count` nodes as the pool would bring them: like its newest that has its GPUs, else as the template of
    its owner promises. () where neither tells."""
    names = frozenset(pool.node_names)
    members: list[Node] = [one for one in store.records(Kind.NODE).values() if one.name in names]
    like = _newest_whole(members, lacks_gpus=not gpus_each)
    if like is not None:
        snapshot = ClusterSnapshot(store)
        return tuple(another_node(snapshot, like, number) for number in range(count))
    if owner is None or not gpus_each:
        return ()
    told = registry.template(owner)
    return tuple(_of_template(owner, told, gpus_each, dict(told.labels), number) for number in range(count))


def may_serve(
    owner: PoolObject | None, nodes: Sequence[Node], shape: Shape, snapshot: ClusterSnapshot
) -> bool | None:
    """Whether one more node of a pool with these nodes would take a pod of the shape; None where nothing
    tells what such a node would be like, or how many GPUs it would have. The snapshot gets the node."""
    like = _newest_whole(nodes, lacks_gpus=not shape.gpus)
    if like is not None:
        return _takes([another_node(snapshot, like, 0)], shape, snapshot)
    if owner is None:
        return None
    told = registry.template(owner)
    gpus = told.most_gpus if told.gpus is None else told.gpus
    is_told, gpus = gpus is not None, shape.gpus if gpus is None else gpus
    alike = [_of_template(owner, told, gpus, labels, at) for at, labels in enumerate(_labels(told, shape))]
    if not _takes(alike, shape, snapshot):
        return False
    return True if is_told or _is_named(told, shape) else None


def _newest_whole(nodes: Sequence[Node], *, lacks_gpus: bool) -> Node | None:
    whole = [one for one in nodes if one.deleting_seconds is None and (one.gpu_allocatable or lacks_gpus)]
    return max(
        whole, key=lambda one: (one.ready == "True", one.created_seconds or 0.0, one.name), default=None
    )


def _takes(nodes: Sequence[Node], shape: Shape, snapshot: ClusterSnapshot) -> bool:
    snapshot.nodes.update((node.name, node) for node in nodes)
    names = {node.name for node in nodes}
    return any(look.is_open and look.room > 0 for look in fit_nodes(snapshot, shape, 1, names))


def _of_template(
    owner: PoolObject, told: NodeTemplate, gpus: int, labels: Mapping[str, str], number: int
) -> Node:
    name = f"{owner.name} to come {number}"
    carried = {**labels, well_known.HOSTNAME: name}
    return Node(
        uid=name,
        name=name,
        labels=tuple(sorted(carried.items())),
        taints=told.taints,
        conditions=(Condition("Ready", "True"),),
        gpu_resource=told.resource,
        gpu_capacity=gpus,
        gpu_allocatable=gpus,
        instance_type=owner.instance_type,
        zone=carried.get(well_known.ZONE, ""),
    )


def _labels(told: NodeTemplate, shape: Shape) -> Iterator[Mapping[str, str]]:
    """The labels that such a node may have, each combination of values that the shape asks for; some where it
    may have very many."""
    fixed, choices = dict(told.labels), []
    for key, asked in _asked(shape).items():
        if key in fixed or key == well_known.HOSTNAME:
            continue
        values = _values(told, key, asked)
        if values:
            choices.append([(key, value) for value in values[:_MOST_VALUES]])
    for chosen in islice(product(*choices), _MOST_NODES):
        yield fixed | dict(chosen)


def _values(told: NodeTemplate, key: str, asked: Sequence[str]) -> list[str]:
    """Values of a label that the owner may choose, those asked for first."""
    rules = [one for one in told.requirements if one.key == key]
    if not rules:
        is_open = key in _OPEN_KEYS or key.startswith(told.open_prefixes)
        return [value for value in asked if is_open or value in told.names]
    listed = [value for one in rules if one.operator == "In" for value in one.values]
    tests = [requirement_test(one.key, one.operator, one.values) for one in rules]
    return [value for value in dict.fromkeys((*asked, *listed)) if all(test({key: value}) for test in tests)]


def _asked(shape: Shape) -> dict[str, list[str]]:
    """Labels that the shape selects by, with the values that it names."""
    asked: dict[str, list[str]] = {}
    for key, value in shape.node_selector:
        asked.setdefault(key, []).append(value)
    for term in shape.node_terms or ():
        for one in term.expressions:
            asked.setdefault(one.key, []).extend(one.values if one.operator == "In" else ())
    return asked


def _is_named(told: NodeTemplate, shape: Shape) -> bool:
    """Whether the shape selects the pool by a label that not every node has, or by its name."""
    asked = _asked(shape)
    if any(value in told.names for values in asked.values() for value in values):
        return True
    keys = {*dict(told.labels), *(one.key for one in told.requirements)} - _OPEN_KEYS
    return any(key in keys for key in asked)
