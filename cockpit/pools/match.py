"""Which node belongs to which pool: the owner's own mark first, then template labels, then the pool label."""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from cockpit.model.node import Node
from cockpit.model.pool import PoolObject
from cockpit.model.store_reader import StoreReader
from cockpit.pools import registry
from cockpit.pools.node_labels import NO_POOL
from cockpit.pools.truth import nodes_of, objects_of


class Group(msgspec.Struct, frozen=True):
    """One pool: its owner's object where there is one, and its nodes by name."""

    name: str
    owner: PoolObject | None
    nodes: tuple[Node, ...]


def pool_groups(store: StoreReader) -> tuple[Group, ...]:
    """Every pool, by name: those of objects and nodes, and those that only an owner tells of."""
    nodes, objects = nodes_of(store), objects_of(store)
    found = groups(nodes, objects)
    if not (told := registry.told_pools(store, tuple((one.owner, one.nodes) for one in found))):
        return found
    return groups(nodes, (*objects, *told))


def groups(nodes: Sequence[Node], objects: Sequence[PoolObject]) -> tuple[Group, ...]:
    """Every pool, by name. Each node is in exactly one; a node without GPUs and without an owner in none."""
    owners = [one for one in objects if registry.is_pool(one)]
    members: dict[str, list[Node]] = {one.uid: [] for one in owners}
    labelled: dict[str, list[Node]] = {}
    for node in nodes:
        owner = owner_of(node, objects, owners)
        if owner is not None:
            members[owner.uid].append(node)
        elif node.has_gpus:
            labelled.setdefault(node.pool or NO_POOL, []).append(node)
    names = _names(owners, labelled)
    found = [Group(names[one.uid], one, tuple(members[one.uid])) for one in owners]
    found.extend(Group(name, None, tuple(some)) for name, some in labelled.items())
    return tuple(sorted(found, key=lambda one: (one.name, one.owner.uid if one.owner else "")))


def _names(owners: Sequence[PoolObject], labelled: Iterable[str]) -> dict[str, str]:
    """What each is called, by uid: the shortest that no other pool is called, too."""
    ways = [
        (one.name, one.key, f"{kind}/{one.key}", f"{kind}.{one.api_version.rpartition('/')[0]}/{one.key}")
        for one, kind in ((one, one.kind.lower() or "group") for one in owners)
    ]
    taken = Counter(list(labelled))
    for some in ways:
        taken.update(set(some))
    return {
        one.uid: next((way for way in some if taken[way] == 1), some[-1])
        for one, some in zip(owners, ways, strict=True)
    }


def owner_of(node: Node, objects: Sequence[PoolObject], owners: Sequence[PoolObject]) -> PoolObject | None:
    """The object of the node's pool, of `owners`: those of `objects` that are pools."""
    return registry.object_of(node, objects) or _by_template(node, owners) or _by_label(node, owners)


def _by_template(node: Node, owners: Sequence[PoolObject]) -> PoolObject | None:
    labels = set(node.labels)
    fitting = [one for one in owners if one.template_labels and labels.issuperset(one.template_labels)]
    # The most specific template wins; two that say the same cannot be told apart and neither is named.
    fitting.sort(key=lambda one: -len(one.template_labels))
    if len(fitting) > 1 and len(fitting[0].template_labels) == len(fitting[1].template_labels):
        named = [one for one in fitting if one.name == node.pool]
        return named[0] if len(named) == 1 else None
    return fitting[0] if fitting else None


def _by_label(node: Node, owners: Sequence[PoolObject]) -> PoolObject | None:
    named = [one for one in owners if node.pool and one.name == node.pool and not _is_marked(one)]
    return named[0] if len(named) == 1 else None


def _is_marked(one: PoolObject) -> bool:
    return registry.holder(one, ()).traits.marks_all
