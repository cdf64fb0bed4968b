"""What each node by itself says to one kind of member: how many it takes, and everything that is in the way.

The scheduler's filters that look at one node: NodeUnschedulable, NodeName, TaintToleration, NodeAffinity,
NodePorts, NodeResourcesFit, VolumeRestrictions, VolumeBinding, VolumeZone, and the sides of InterPodAffinity
that existing pods decide (kube-scheduler 1.36). All obstacles are kept, not the first alone: from them
follows which single change would help.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from cockpit.fit.company import Company
from cockpit.fit.matching import holds, meets, tolerates
from cockpit.fit.scene import UNBOUNDED, Scene
from cockpit.fit.shape import Shape
from cockpit.fit.volumes import VolumeNeeds
from cockpit.model.devices import is_gpu_resource, resource_word
from cockpit.model.node import Node, Taint
from cockpit.model.scheduling import HostPort, Requirement

_NOT_READY = Taint("node.kubernetes.io/not-ready", "", "NoSchedule")
_UNREACHABLE = Taint("node.kubernetes.io/unreachable", "", "NoSchedule")
_UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
_KNOWN_TAINTS = {_NOT_READY.key: "not ready", _UNREACHABLE.key: "not ready", _UNSCHEDULABLE.key: "cordoned"}


class Block(NamedTuple):
    """One thing that keeps every such member off a node.

    kind: leaving, not ready, cordoned, taint, name, selector, affinity, port, volume, company, apart,
    unwelcome, unlabelled.
    """

    kind: str
    detail: str = ""


class Look(NamedTuple):
    """One node: members it has room for, were there no blocks; the scarcest resource; the blocks."""

    node: Node
    room: int
    short: str
    blocks: tuple[Block, ...]

    @property
    def is_open(self) -> bool:
        """True where nothing but room decides."""
        return not self.blocks


_WORDS = {
    "taint": "tainted {}",
    "name": "not node {}",
    "selector": "without label {}",
    "affinity": "outside the required node affinity",
    "port": "with host port {} taken",
    "volume": "where {}",
    "company": "without the pods it must be near",
    "apart": "beside pods it keeps away from",
    "unwelcome": "beside pods that keep it away",
    "unlabelled": "without label {}",
}


def obstacle_words(look: Look) -> str:
    """What comes after "3 nodes" for a node that takes no member."""
    if look.blocks:
        first = look.blocks[0]
        return _WORDS.get(first.kind, first.kind).format(first.detail)
    if look.short == "pods":
        return "full of pods"
    return f"lacking {'free ' * is_gpu_resource(look.short)}{resource_word(look.short)}"


def look_at_all(scene: Scene, shape: Shape, most: int = UNBOUNDED) -> list[Look]:
    """A look at every node, by name; a room is at most `most`."""
    checks = _checks(scene, shape)
    only_one = bool(shape.host_ports)
    limit = min(most, 1) if only_one else most
    asked = {**dict(shape.requests), "pods": 1}
    out = []
    for name in sorted(scene.nodes):
        node = scene.nodes[name]
        blocks = _standing(node, shape)
        for check in checks:
            blocks.extend(check(node))
        room, short = room_for(scene, node, asked, limit)
        out.append(Look(node, room, short, tuple(blocks)))
    return out


def room_for(scene: Scene, node: Node, asked: Mapping[str, int], most: int) -> tuple[int, str]:
    """(how many members the node has room for, at most `most`; the resource that decides)."""
    room, short = most, ""
    for (name, each), free in zip(asked.items(), scene.free(node, asked), strict=True):
        if free < each * room:
            room, short = max(0, free // each), name
    return room, short


def _standing(node: Node, shape: Shape) -> list[Block]:
    """What the node's own state and taints say."""
    blocks: list[Block] = []
    if node.deleting_seconds is not None:
        blocks.append(Block("leaving"))
    if node.ready != "True" and not _tolerated(shape, _NOT_READY):
        blocks.append(Block("not ready"))
    if node.unschedulable and not _tolerated(shape, _UNSCHEDULABLE):
        blocks.append(Block("cordoned"))
    for taint in node.taints:
        if taint.effect in ("NoSchedule", "NoExecute") and not _tolerated(shape, taint):
            kind = _KNOWN_TAINTS.get(taint.key)
            block = Block(kind) if kind else Block("taint", _taint_words(taint))
            if block not in blocks:
                blocks.append(block)
    return blocks


def _tolerated(shape: Shape, taint: Taint) -> bool:
    return any(tolerates(one, taint) for one in shape.tolerations)


def _taint_words(taint: Taint) -> str:
    return f"{taint.key}={taint.value}" if taint.value else taint.key


Check = Callable[[Node], Iterable[Block]]


def _checks(scene: Scene, shape: Shape) -> list[Check]:
    """Only the checks that this shape needs: a plain gang asks nothing of labels."""
    checks: list[Check] = []
    if shape.node_name:
        named = (Block("name", shape.node_name),)
        checks.append(lambda node: () if node.name == shape.node_name else named)
    if shape.node_selector:
        checks.append(_selector_check(scene, shape))
    if shape.node_terms is not None:
        terms = shape.node_terms
        unmet = (Block("affinity"),)
        checks.append(
            lambda node: () if any(meets(one, node.name, scene.labels(node.name)) for one in terms) else unmet
        )
    if shape.host_ports:
        held = scene.ports_held()
        checks.append(lambda node: _port_blocks(shape.host_ports, held.get(node.name, ())))
    if shape.claims and scene.around.claims is not None:
        needs = VolumeNeeds(scene, shape)
        checks.append(lambda node: (Block("volume", one) for one in needs.obstacles(node)))
    if shape.spreads:
        keys = tuple(one.key for one in shape.spreads)
        checks.append(
            lambda node: [Block("unlabelled", key) for key in keys if key not in scene.labels(node.name)]
        )
    company = Company(scene, shape)
    if not company.is_empty:
        checks.append(lambda node: (Block(*pair) for pair in company.obstacles(node.name)))
    return checks


def _selector_check(scene: Scene, shape: Shape) -> Check:
    wanted = [(Requirement(key, "In", (value,)), f"{key}={value}") for key, value in shape.node_selector]

    def check(node: Node) -> Iterable[Block]:
        labels: Mapping[str, str] = scene.labels(node.name)
        return [Block("selector", words) for one, words in wanted if not holds(one, labels)]

    return check


def _port_blocks(asked: tuple[HostPort, ...], held: Iterable[HostPort]) -> list[Block]:
    taken = tuple(held)
    return [Block("port", str(one.port)) for one in asked if any(_collide(one, other) for other in taken)]


def _collide(one: HostPort, other: HostPort) -> bool:
    if (one.port, one.protocol) != (other.port, other.protocol):
        return False
    return one.address == other.address or "0.0.0.0" in (one.address, other.address)
