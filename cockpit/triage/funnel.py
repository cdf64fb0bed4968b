"""How many nodes pass each filter of one pod, and what the nodes have that pass all but room."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from cockpit.fit.node_filters import Block, NodeFit, fit_nodes, minds_its_node_alone
from cockpit.fit.scheduling_context import UNKNOWN, Surroundings
from cockpit.fit.shape import Shape
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.k8s.gpu_resources import is_gpu_resource, resource_word
from cockpit.model.finding import FilterStep, Funnel
from cockpit.model.node import Node
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
    "unlabelled": "spread",
}
_ORDER = ("selector", "offers", "ready", "cordoned", "taints", "volume", "ports", "company", "spread")
_WORDS = {
    "selector": "node selector and affinity",
    "ready": "ready, no pressure",
    "cordoned": "not cordoned",
    "taints": "taints tolerated",
    "volume": "reach its volumes",
    "ports": "host ports free",
    "company": "pod affinity",
    "spread": "topology spread",
}
_NODE_TAINTS = "node.kubernetes.io/"


class Room(NamedTuple):
    """A node that passes every filter but room. `names` are the resources of `look.free`."""

    look: NodeFit
    names: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.look.node.name

    @property
    def free(self) -> Mapping[str, int]:
        """What is free by resource, never below zero."""
        return {name: max(0, free) for name, free in zip(self.names, self.look.free, strict=True)}


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
    are all of them by name, each with the mark of its room. `largest` is the most devices of its
    resource that a node has which the selector leaves. `kept_by` are the filters that keep a node from the
    pod, all of them together, of nodes alike once.
    """

    funnel: Funnel
    stopped: str
    dropped: Mapping[str, Sequence[NodeFit]]
    rooms: Sequence[Room]
    shape: Shape
    looks: Mapping[str, tuple[int, NodeFit]]
    largest: int = 0
    kept_by: Collection[frozenset[str]] = ()

    @property
    def resource(self) -> str:
        return self.funnel.resource


def sift(
    store: StoreReader, shape: Shape, around: Surroundings = UNKNOWN, before: Sifted | None = None
) -> Sifted:
    """Pass every node of the store through the filters of one pod, in the order in which they are told.
    With what was sifted `before` for such a pod only nodes that moved since are looked at."""
    snapshot = ClusterSnapshot(store, around)
    kept = {} if before is None or not minds_its_node_alone(snapshot, shape) else _unmoved(snapshot, before)
    fresh = fit_nodes(snapshot, shape, 1, snapshot.nodes.keys() - kept.keys() if kept else None)
    marked = {one.node.name: (store.room_mark(one.node.name), one) for one in fresh}
    marked = {**kept, **marked}
    looks = [marked[name][1] for name in sorted(marked)] if kept else fresh
    asked = dict(shape.requests)
    resource = shape.gpu_resource
    dropped: dict[str, list[NodeFit]] = {}
    names = tuple({**asked, "pods": 1})
    rooms: list[Room] = []
    drops: dict[tuple[tuple[Block, ...], bool], tuple[str, frozenset[str]]] = {}  # nodes are in a few states
    kept_by: set[frozenset[str]] = set()
    for look in looks:
        key = (look.blocks, not resource or _offers(look, resource))
        if key not in drops:
            drops[key] = _drops(*key)
        step, all_steps = drops[key]
        kept_by.add(all_steps if look.room else all_steps | _short_of(look, asked, key[1]))
        if step:
            dropped.setdefault(step, []).append(look)
        else:
            rooms.append(Room(look, names))
    steps, count = [], len(looks)
    for step in _ORDER:
        if step not in dropped and step != "selector":
            continue
        count -= len(dropped.get(step, ()))
        steps.append(FilterStep(step, _step_words(step, resource), count))
    by_room, wanting = _by_room(rooms, {**asked, "pods": 1}, resource, count)
    dropped |= wanting
    steps += by_room
    stopped = next((one.filter for one in steps if not one.nodes), "")
    at = names.index(resource) if resource else 0
    best = max(rooms, key=lambda one: max(0, one.look.free[at]), default=None) if resource else None
    funnel = Funnel(
        nodes=len(looks),
        steps=tuple(steps),
        best_node="" if best is None else best.name,
        best_free=None if best is None else max(0, best.look.free[at]),
        needed=asked.get(resource) if resource else None,
        resource=resource,
    )
    largest = _largest(looks, dropped, resource)
    return Sifted(funnel, stopped, dropped, rooms, shape, marked, largest, kept_by)


def _largest(looks: Sequence[NodeFit], dropped: Mapping[str, Sequence[NodeFit]], resource: str) -> int:
    """0 where no resource is asked for, or no node has it."""
    if not resource:
        return 0
    out = {id(look) for step in ("selector", "offers") for look in dropped.get(step, ())}
    return max((amount(look.node, resource) for look in looks if id(look) not in out), default=0)


def _unmoved(snapshot: ClusterSnapshot, before: Sifted) -> dict[str, tuple[int, NodeFit]]:
    """Looks at nodes that are as they were, and what the pods on them ask for is, too."""
    nodes, mark = snapshot.nodes, snapshot.store.room_mark
    return {
        name: kept
        for name, kept in before.looks.items()
        if nodes.get(name) is kept[1].node and mark(name) == kept[0]
    }


def _step_words(step: str, resource: str) -> str:
    return f"offer {resource_word(resource)}" if step == "offers" else _WORDS[step]


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


def _offers(look: NodeFit, resource: str) -> bool:
    node = look.node
    if node.allocatable:
        for name, count in node.allocatable:
            if name == resource:
                return count > 0
        return False
    return bool(node.gpu_allocatable) and node.gpu_resource in ("", resource)


def _by_room(
    rooms: Sequence[Room], asked: Mapping[str, int], resource: str, count: int
) -> tuple[list[FilterStep], dict[str, list[NodeFit]]]:
    """Steps of room: pods, everything but GPUs, then the GPUs."""
    steps: list[FilterStep] = []
    dropped: dict[str, list[NodeFit]] = {}
    others = tuple(name for name in asked if name not in (resource, "pods") and not is_gpu_resource(name))
    groups: list[tuple[str, str, tuple[str, ...]]] = [("pods", "pods below the node's limit", ("pods",))]
    if others:
        groups.append(("cpu_memory", "CPU, memory and the like", others))
    if resource:
        each = asked[resource]
        groups.append(("gpus", f"{each} {resource_word(resource, each)} free", (resource,)))
    passing = list(rooms)
    order = tuple(asked)
    for step, words, names in groups:
        needs = [(order.index(name), asked[name]) for name in names if asked[name]]
        out: list[Room] = []
        left: list[Room] = []
        for one in passing:
            free = one.look.free
            for at, each in needs:
                if free[at] < each:
                    out.append(one)
                    break
            else:
                left.append(one)
        if not out and step == "pods":
            continue
        passing = left
        dropped[step] = [one.look for one in out]
        count -= len(out)
        steps.append(FilterStep(step, words, count))
    return steps, dropped
