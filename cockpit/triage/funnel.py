"""How many nodes pass each filter of one pod, and what the nodes have that pass all but room."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cockpit.fit.node_filters import Block, NodeFit, fit_nodes, minds_its_node_alone
from cockpit.fit.scheduling_context import UNKNOWN, Surroundings
from cockpit.fit.shape import Shape
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.fit.topology_spread import SpreadCount
from cockpit.k8s.gpu_resources import is_gpu_resource, resource_word
from cockpit.model.finding import FilterStep, Funnel
from cockpit.model.node import Node
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.pools.stage import takes_away

_OF_A_KIND = {
    "name": "selector",
    "selector": "selector",
    "affinity": "selector",
    "leaving": "ready",
    "not ready": "ready",
    "cordoned": "cordoned",
    "taint": "taints",
    "volume": "volume",
    "port": "ports",
    "pod_affinity": "company",
    "pod_anti_affinity": "company",
    "unwelcome": "company",
    "attach": "attach",
    "unlabelled": "spread",
    "skewed": "spread",
}
_ORDER = (
    *("selector", "offers", "ready", "cordoned", "taints"),
    *("volume", "attach", "ports", "company", "spread"),
)
_WORDS = {
    "selector": "node selector and affinity",
    "ready": "ready, no pressure",
    "cordoned": "not cordoned",
    "taints": "taints tolerated",
    "volume": "reach its volumes",
    "attach": "may attach its volumes",
    "ports": "host ports free",
    "company": "pod affinity",
    "spread": "topology spread",
    "pods": "pods below the node's limit",
    "cpu_memory": "CPU, memory and the like",
}
_NODE_TAINTS = "node.kubernetes.io/"


class Room(NamedTuple):
    """A node that passes every filter but room. `names` are the resources of `look.free`."""

    look: NodeFit
    names: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.look.node.name

    def left(self, resource: str) -> int:
        """What is free of a resource, never below zero."""
        return max(0, self.look.free[self.names.index(resource)])


class Looked(NamedTuple):
    """A look at one node, and what the funnel makes of it: `step` is the filter that takes it out, "" where
    it passes all; `room` is there where only room decides; `offers` is what it offers of the resource where
    the selector leaves it, else 0."""

    look: NodeFit
    step: str
    kept_by: frozenset[str]
    room: Room | None
    offers: int


def amount(node: Node, resource: str) -> int:
    """What the node offers of a resource; of a record that lists no amounts its GPUs."""
    if node.allocatable:
        for name, count in node.allocatable:  # asked for every node
            if name == resource:
                return count
        return 0
    return (node.gpu_allocatable or 0) if node.gpu_resource in ("", resource) else 0


class Sifted(NamedTuple):
    """`stopped` is the id of the first filter that no node passes, "" where some node passes all.

    `dropped` are the nodes that each filter took out; `rooms` those that only room decides about. `looks`
    are all of them by name, in the order of the names. `largest` is the most devices of its resource that a
    node has which the selector leaves. `kept_by` are the filters that keep a node from the pod, all of them
    together, of nodes alike once. `computed` holds what was made already.
    """

    funnel: Funnel
    stopped: str
    dropped: Mapping[str, Sequence[NodeFit]]
    rooms: Sequence[Room]
    shape: Shape
    looks: Mapping[str, Looked]
    largest: int = 0
    kept_by: Collection[frozenset[str]] = ()
    revision: tuple[int, int] = (-1, -1)  # of the store, and of what pods ask for on nodes
    computed: dict[str, Any] = {}  # noqa: RUF012 - the default has no nodes of which anything is made

    @property
    def resource(self) -> str:
        return self.funnel.resource

    def short_of(self, step: str) -> list[Room]:
        """Nodes that a filter of room took out, by name; "": that pass all."""
        looks = self.looks.values()
        made: list[Room] = self.once(step, lambda: [it.room for it in looks if it.room and it.step == step])
        return made

    def once(self, what: str, make: Callable[[], Any]) -> Any:
        """What `make` returns, made once for these nodes."""
        if what not in self.computed:
            self.computed[what] = make()
        return self.computed[what]


def sift(
    store: StoreReader, shape: Shape, around: Surroundings = UNKNOWN, before: Sifted | None = None
) -> Sifted:
    """Pass every node of the store through the filters of one pod, in the order in which they are told.
    With what was sifted `before` for such a pod only nodes that moved since are looked at."""
    snapshot = ClusterSnapshot(store, around)
    asked = {**dict(shape.requests), "pods": 1}
    resource = shape.gpu_resource
    looks = _looks(snapshot, shape, asked, before)
    dropped: defaultdict[str, list[NodeFit]] = defaultdict(list)
    for one in looks.values():
        dropped[one.step].append(one.look)
    dropped.pop("", None)
    steps, count = [], len(looks)
    for step in (*_ORDER, *(step for step, _ in _room_steps(asked, resource))):
        out = len(dropped.get(step, ()))
        if out or step not in (*_ORDER, "pods") or step == "selector":
            count -= out
            steps.append(FilterStep(step, _step_words(step, asked, resource), count))
    stopped = next((one.filter for one in steps if not one.nodes), "")
    rooms = [one.room for one in looks.values() if one.room is not None]
    best = max(rooms, key=_most_of(resource, asked), default=None) if resource else None
    funnel = Funnel(
        nodes=len(looks),
        steps=tuple(steps),
        best_node="" if best is None else best.name,
        best_free=None if best is None else best.left(resource),
        needed=asked.get(resource) if resource else None,
        resource=resource,
    )
    largest = max((one.offers for one in looks.values()), default=0)
    kept_by = {one.kept_by for one in looks.values()}
    revision = (store.revision, store.pods_room_revision)
    return Sifted(funnel, stopped, dropped, rooms, shape, looks, largest, kept_by, revision, {})


def _most_of(resource: str, asked: Mapping[str, int]) -> Callable[[Room], int]:
    at = tuple(asked).index(resource)
    return lambda room: max(0, room.look.free[at])


def _looks(
    snapshot: ClusterSnapshot, shape: Shape, asked: Mapping[str, int], before: Sifted | None
) -> dict[str, Looked]:
    """A look at each node by name, in the order of the names."""
    kept = _unmoved(snapshot, shape, before)
    fresh = fit_nodes(snapshot, shape, 1, snapshot.nodes.keys() - kept.keys() if kept else None)
    if shape.spreads:
        fresh = list(_with_skew(fresh, snapshot, shape))
    resource, groups = shape.gpu_resource, _room_steps(asked, shape.gpu_resource)
    names = tuple(asked)
    drops: dict[tuple[tuple[Block, ...], bool], tuple[str, frozenset[str]]] = {}  # nodes are in a few states
    made: dict[str, Looked] = {}
    for look in fresh:
        key = (look.blocks, not resource or amount(look.node, resource) > 0)
        if key not in drops:
            drops[key] = _drops(*key)
        step, kept_by = drops[key]
        if not look.room:
            kept_by |= _short_of(look, asked, key[1])
        offers = amount(look.node, resource) if resource and step not in ("selector", "offers") else 0
        room = None
        if not step:
            room = Room(look, names)
            step = next((id_ for id_, needs in groups if any(look.free[at] < n for at, n in needs)), "")
        made[look.node.name] = Looked(look, step, kept_by, room, offers)
    if before is None or not kept:
        return made
    if snapshot.nodes.keys() == before.looks.keys():
        return {**before.looks, **made}  # in the same order
    return dict(sorted({**kept, **made}.items()))


def _with_skew(looks: Sequence[NodeFit], snapshot: ClusterSnapshot, shape: Shape) -> Iterator[NodeFit]:
    """The same, with what the pods that are there leave of its topology spread: a pod more may be too many in
    the domain of a node, as long as no other domain gets one."""
    counts = [SpreadCount(snapshot, shape, one) for one in shape.spreads]
    for look in looks:
        labels = snapshot.labels(look.node.name)
        full = (one.key for one in counts if one.key in labels and one.is_full(labels[one.key]))
        yield look._replace(blocks=(*look.blocks, *(Block("skewed", key) for key in full)))


def _unmoved(snapshot: ClusterSnapshot, shape: Shape, before: Sifted | None) -> dict[str, Looked]:
    """Looks at nodes that are as they were, and what the pods on them ask for is, too."""
    if before is None or not before.looks or not minds_its_node_alone(snapshot, shape):
        return {}
    store = snapshot.store
    moved = store.moved_since(Kind.NODE, before.revision[0])
    rooms = store.rooms_moved_since(before.revision[1])
    if moved is None or rooms is None:
        return {}
    kept = dict(before.looks)
    nodes = snapshot.nodes
    if moved:
        for name in kept.keys() - nodes.keys():
            del kept[name]
    records = (store.get(Kind.NODE, uid) for uid in moved)
    for name in (*(one.name for one in records if one), *rooms):
        kept.pop(name, None)
    return kept


def _step_words(step: str, asked: Mapping[str, int], resource: str) -> str:
    if step == "offers":
        return f"offer {resource_word(resource)}"
    if step == "gpus":
        return f"{asked[resource]} {resource_word(resource, asked[resource])} free"
    return _WORDS[step]


def _drops(blocks: Sequence[Block], is_offered: bool) -> tuple[str, frozenset[str]]:
    """The first filter that takes the node out, "" where only room decides, and all of them."""
    found = {_kind(*block) for block in blocks} | (set() if is_offered else {"offers"})
    return next((step for step in _ORDER if step in found), ""), frozenset(found)


def _short_of(look: NodeFit, asked: Mapping[str, int], is_offered: bool) -> frozenset[str]:
    """Filters of room that the node does not pass. Of GPUs that it does not offer it has none free, too."""
    found = set()
    for (name, each), free in zip((*asked.items(), ("pods", 1)), look.free):  # noqa: B905 - for each node
        if free < each and (is_offered or not is_gpu_resource(name)):
            found.add("pods" if name == "pods" else "gpus" if is_gpu_resource(name) else "cpu_memory")
    return frozenset(found)


def _kind(kind: str, detail: str) -> str:
    if kind == "taint" and (detail.startswith(_NODE_TAINTS) or takes_away(detail.partition("=")[0])):
        return "ready"  # what is said of the node's state: who tolerates it is ended with the node
    return _OF_A_KIND.get(kind, "company")


def _room_steps(asked: Mapping[str, int], resource: str) -> list[tuple[str, list[tuple[int, int]]]]:
    """Steps of room: pods, everything but GPUs, then the GPUs; each with what is asked, by its place."""
    order = tuple(asked)
    others = tuple(name for name in asked if name not in (resource, "pods") and not is_gpu_resource(name))
    groups = [("pods", ("pods",)), ("cpu_memory", others), ("gpus", (resource,) if resource else ())]
    return [
        (step, [(order.index(name), asked[name]) for name in names if asked[name]])
        for step, names in groups
        if names
    ]
