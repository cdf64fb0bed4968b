"""Which node belongs to which pool: the owner's own mark first, then template labels, then the pool label."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final
from weakref import WeakKeyDictionary

import msgspec

from cockpit.k8s.labels import HOSTNAME
from cockpit.model.listing import listing
from cockpit.model.node import Node
from cockpit.model.pool import PoolObject
from cockpit.model.record import Kind, Labels
from cockpit.model.store_reader import StoreReader
from cockpit.pools import registry
from cockpit.pools.node_labels import unlabelled
from cockpit.pools.truth import objects_of


class Group(msgspec.Struct, frozen=True):
    """One pool: its owner's object where there is one, and its nodes by name."""

    name: str
    owner: PoolObject | None
    nodes: tuple[Node, ...]


def pool_groups(store: StoreReader) -> tuple[Group, ...]:
    """Every pool, by name: those of objects and nodes, and those that only an owner tells of."""
    kept = _KEPT.get(store)
    if kept is None:
        kept = _KEPT[store] = _Groups(), _Groups()
    plain, with_more = kept
    objects = objects_of(store)
    found = plain.follow(store, objects)
    if not (more := registry.told_pools(store, tuple((one.owner, one.nodes) for one in found))):
        return found
    return with_more.follow(store, (*objects, *more))


class _Groups:
    """Each node in exactly one pool; a node without GPUs and without an owner in none. Brought up to date by
    the nodes that moved: a group without any of them stays the same object."""

    def __init__(self) -> None:
        self._revision = -1  # of the store, that was seen last
        self._objects: tuple[PoolObject, ...] = ()
        self._owners: list[PoolObject] = []
        self._place_of: dict[str, tuple[_Place, str]] = {}  # of a node by uid: its group and its name
        self._members: dict[_Place, dict[str, Node]] = {}
        self._made: dict[_Place, Group] = {}
        self._groups: tuple[Group, ...] = ()

    def follow(self, store: StoreReader, objects: tuple[PoolObject, ...]) -> tuple[Group, ...]:
        """The groups as the store stands now."""
        moved = store.moved_since(Kind.NODE, self._revision)
        has_changed = objects != self._objects
        if moved is None or (has_changed and [*map(_mark, objects)] != [*map(_mark, self._objects)]):
            self._place_of, self._members, self._made = {}, {}, {}
            moved = store.records(Kind.NODE).keys()
        elif has_changed:
            self._take_numbers(objects)
        elif not moved and self._revision >= 0:
            return self._groups
        if has_changed:
            self._objects, self._owners = objects, [one for one in objects if registry.is_pool(one)]
        self._revision = store.revision
        for uid in moved:
            self._put(uid, store.get(Kind.NODE, uid))
        self._groups = tuple(self._tell())
        return self._groups

    def _take_numbers(self, objects: tuple[PoolObject, ...]) -> None:
        """Objects that differ in nothing by which they own nodes: only their groups are made again."""
        for before, now in zip(self._objects, objects, strict=True):
            if before != now:
                self._made.pop(("", now.uid), None)

    def _put(self, uid: str, node: Node | None) -> None:
        place, name = self._place_of.pop(uid, (None, ""))
        if place is not None:
            here = self._members.get(place, {})
            if name in here and here[name].uid == uid:
                del here[name]
                self._made.pop(place, None)
        owner = owner_of(node, self._objects, self._owners) if node is not None else None
        if node is None or (owner is None and not node.has_gpus):
            return
        place = ("", owner.uid) if owner is not None else (node.pool or unlabelled(node), "")
        self._place_of[uid] = place, node.name
        self._members.setdefault(place, {})[node.name] = node
        self._made.pop(place, None)

    def _tell(self) -> list[Group]:
        labelled = [name for (name, _), some in self._members.items() if name and some]
        names = _names(self._owners, labelled)
        wanted = [(("", one.uid), names[one.uid], one) for one in self._owners]
        found = [self._group(place, name, one) for place, name, one in wanted]
        found += [self._group((name, ""), name, None) for name in labelled]
        return sorted(found, key=lambda one: (one.name, one.owner.uid if one.owner else ""))

    def _group(self, place: "_Place", name: str, owner: PoolObject | None) -> Group:
        made = self._made.get(place)
        if made is None or made.name != name:
            nodes = self._members.get(place, {})
            made = Group(name, owner, tuple(nodes[one] for one in sorted(nodes)))
            self._made[place] = made
        return made


def _mark(one: PoolObject) -> PoolObject:
    """The object without what tells of its size: a pool that grows owns the nodes that it owned."""
    return msgspec.structs.replace(
        one, resource_version="", replicas=None, status_replicas=None, conditions=()
    )


_Place = tuple[str, str]
"""("", uid of the owner's object), or (pool as labels tell it, "")."""
_KEPT: "WeakKeyDictionary[StoreReader, tuple[_Groups, _Groups]]" = WeakKeyDictionary()


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


_BY_POOL: Final = re.compile(r"pool|group", re.IGNORECASE)


def labels_of_its_own(name: str, nodes: Sequence[Node], store: StoreReader) -> Labels:
    """Labels that all nodes of the pool carry and no other node does: those with its name, else those that
    speak of a pool or a group; () where none does, or not every node is seen."""
    if not nodes or not listing(store, Kind.NODE).has_all:
        return ()
    shared = frozenset.intersection(*(frozenset(one.labels) for one in nodes))
    members = frozenset(one.uid for one in nodes)
    for other in store.records(Kind.NODE).values():
        if other.uid not in members:
            shared = shared.difference(other.labels)
    shared = frozenset(pair for pair in shared if pair[0] != HOSTNAME)
    named = [pair for pair in shared if pair[1] == name]
    return tuple(sorted(named or (pair for pair in shared if _BY_POOL.search(pair[0]))))


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
