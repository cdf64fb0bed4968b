"""How many nodes pass each filter of one pod, and what the nodes have that pass all but room."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cockpit.fit.node_filters import NodeFit, fit_nodes
from cockpit.fit.shape import Shape
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.fit.surroundings import UNKNOWN, Surroundings
from cockpit.k8s.gpu_resources import is_gpu_resource, resource_word
from cockpit.model.store_reader import StoreReader
from cockpit.triage.verdict import FilterStep, Funnel

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
    """A node that passes every filter but room; `free` by resource, never below zero."""

    look: NodeFit
    free: Mapping[str, int]

    @property
    def name(self) -> str:
        return self.look.node.name


class Sifted(NamedTuple):
    """`stopped` is the id of the first filter that no node passes, "" where some node passes all.

    `dropped` are the nodes that each filter took out; `rooms` those that only room decides about.
    """

    funnel: Funnel
    stopped: str
    dropped: Mapping[str, Sequence[NodeFit]]
    rooms: Sequence[Room]
    shape: Shape

    @property
    def resource(self) -> str:
        return self.funnel.resource


def sift(store: StoreReader, shape: Shape, around: Surroundings = UNKNOWN) -> Sifted:
    """Pass every node of the store through the filters of one pod, in the order in which they are told."""
    snapshot = ClusterSnapshot(store, around)
    looks = fit_nodes(snapshot, shape, 1)
    asked = dict(shape.requests)
    resource = shape.gpu_resource
    dropped: dict[str, list[NodeFit]] = {}
    left: list[NodeFit] = []
    for look in looks:
        step = _first_drop(look, resource)
        if step:
            dropped.setdefault(step, []).append(look)
        else:
            left.append(look)
    names = tuple({**asked, "pods": 1})
    rooms = [
        Room(one, {name: max(0, free) for name, free in zip(names, one.free, strict=True)}) for one in left
    ]
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
    best = max(rooms, key=lambda one: one.free.get(resource, 0), default=None) if resource else None
    funnel = Funnel(
        nodes=len(looks),
        steps=tuple(steps),
        best_node="" if best is None else best.name,
        best_free=None if best is None else best.free.get(resource, 0),
        needed=asked.get(resource) if resource else None,
        resource=resource,
    )
    return Sifted(funnel, stopped, dropped, rooms, shape)


def _step_words(step: str, resource: str) -> str:
    return f"offer {resource_word(resource)}" if step == "offers" else _WORDS[step]


def _first_drop(look: NodeFit, resource: str) -> str:
    """The first filter that takes the node out, "" where only room decides."""
    offers = not resource or _offers(look, resource)
    if offers and not look.blocks:
        return ""
    found = {_kind(block.kind, block.detail) for block in look.blocks}
    if not offers:
        found.add("offers")
    return next((step for step in _ORDER if step in found), "")


def _kind(kind: str, detail: str) -> str:
    if kind == "taint" and detail.startswith(_NODE_TAINTS):
        return "ready"  # what the node itself says of its state
    return _OF_A_KIND.get(kind, "company")


def _offers(look: NodeFit, resource: str) -> bool:
    node = look.node
    if node.allocatable:
        return dict(node.allocatable).get(resource, 0) > 0
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
    for step, words, names in groups:
        out = [one for one in passing if any(one.free[name] < asked[name] for name in names)]
        if not out and step == "pods":
            continue
        gone = {one.name for one in out}
        passing = [one for one in passing if one.name not in gone]
        dropped[step] = [one.look for one in out]
        count -= len(out)
        steps.append(FilterStep(step, words, count))
    return steps, dropped
