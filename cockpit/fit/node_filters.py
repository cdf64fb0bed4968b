"""What each node by itself says to one kind of member: how many it takes, and everything that is in the way.

The scheduler's filters that look at one node: NodeUnschedulable, NodeName, TaintToleration, NodeAffinity,
NodePorts, NodeResourcesFit, NodeVolumeLimits, VolumeRestrictions, VolumeBinding, VolumeZone, and the sides
of InterPodAffinity that existing pods decide (kube-scheduler 1.36). All obstacles are kept, not the first
alone: from them follows which single change would help.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cockpit.fit.inter_pod_affinity import PodAffinityFilter
from cockpit.fit.shape import Shape
from cockpit.fit.snapshot import UNBOUNDED, ClusterSnapshot
from cockpit.fit.volumes import VolumeNeeds
from cockpit.k8s import labels as well_known
from cockpit.k8s.gpu_resources import is_gpu_resource, resource_word
from cockpit.k8s.host_ports import collide
from cockpit.k8s.node_affinity import NodeTerms
from cockpit.k8s.tolerations import HARD, is_tolerated
from cockpit.model.node import Node, Taint
from cockpit.model.scheduling import HostPort

_NOT_READY = Taint(well_known.NOT_READY, "", "NoSchedule")
_UNREACHABLE = Taint(well_known.UNREACHABLE, "", "NoSchedule")
_UNSCHEDULABLE = Taint(well_known.UNSCHEDULABLE, "", "NoSchedule")
_KNOWN_TAINTS = {_NOT_READY.key: "not ready", _UNREACHABLE.key: "not ready", _UNSCHEDULABLE.key: "cordoned"}


class Block(NamedTuple):
    """One thing that keeps every such member off a node.

    kind: leaving, not ready, cordoned, taint, name, selector, affinity, port, volume, attach, pod_affinity,
    pod_anti_affinity, unwelcome, unlabelled.
    """

    kind: str
    detail: str = ""


class NodeFit(NamedTuple):
    """One node: members it has room for, were there no blocks; the scarcest resource; the blocks; what is
    free of each resource that the shape asks for, in its order, and of pods (may be negative)."""

    node: Node
    room: int
    short: str
    blocks: tuple[Block, ...]
    free: Sequence[int] = ()

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
    "attach": "with as many volumes of {} as they may have",
    "pod_affinity": "without the pods it must be near",
    "pod_anti_affinity": "beside pods it keeps away from",
    "unwelcome": "beside pods that keep it away",
    "unlabelled": "without label {}",
}


def obstacle_words(node_fit: NodeFit) -> str:
    """What comes after "3 nodes" for a node that takes no member."""
    if node_fit.blocks:
        first = node_fit.blocks[0]
        return _WORDS.get(first.kind, first.kind).format(first.detail)
    if node_fit.short == "pods":
        return "full of pods"
    return f"lacking {'free ' * is_gpu_resource(node_fit.short)}{resource_word(node_fit.short)}"


def fit_nodes(
    snapshot: ClusterSnapshot, shape: Shape, most: int = UNBOUNDED, names: Collection[str] | None = None
) -> list[NodeFit]:
    """A look at every node, or at those named, by name; a room is at most `most`."""
    return list(iter_node_fits(snapshot, shape, most, names))


def iter_node_fits(
    snapshot: ClusterSnapshot, shape: Shape, most: int = UNBOUNDED, names: Collection[str] | None = None
) -> Iterator[NodeFit]:
    """The same one by one, for those who may have seen enough before the last."""
    checks = _checks(snapshot, shape)
    only_one = bool(shape.host_ports)
    limit = min(most, 1) if only_one else most
    asked = {**dict(shape.requests), "pods": 1}
    standing: dict[_State, tuple[Block, ...]] = {}  # most nodes are in one of a few states
    for name in sorted(snapshot.nodes if names is None else snapshot.nodes.keys() & names):
        node = snapshot.nodes[name]
        state = (node.taints, node.unschedulable, node.ready, node.deleting_seconds is None)
        blocks = standing.get(state)
        if blocks is None:
            blocks = standing[state] = tuple(_standing(node, shape))
        if checks:
            blocks = (*blocks, *(block for check in checks for block in check(node)))
        free = snapshot.free(node, asked)
        room, short = _room(asked, free, limit)
        yield NodeFit(node, room, short, blocks, free)


_State = tuple[tuple[Taint, ...], bool, str, bool]
"""What `_standing` looks at: taints, cordoned, Ready, not leaving."""


def room_for(snapshot: ClusterSnapshot, node: Node, asked: Mapping[str, int], most: int) -> tuple[int, str]:
    """(how many members the node has room for, at most `most`; the resource that decides)."""
    return _room(asked, snapshot.free(node, asked), most)


def _room(asked: Mapping[str, int], free: Sequence[int], most: int) -> tuple[int, str]:
    room, short = most, ""
    for (name, each), left in zip(asked.items(), free):  # noqa: B905 - as long; asked for each node
        if left < each * room:
            room, short = max(0, left // each), name
    return room, short


def minds_its_node_alone(snapshot: ClusterSnapshot, shape: Shape) -> bool:
    """Whether a look at a node depends on nothing but its record and what the pods on it ask for."""
    if shape.host_ports or shape.claims or shape.spreads:
        return False
    return PodAffinityFilter(snapshot, shape).is_empty


def _standing(node: Node, shape: Shape) -> list[Block]:
    """What the node's own state and taints say."""
    blocks: list[Block] = []
    if node.deleting_seconds is not None:
        blocks.append(Block("leaving"))
    if node.ready != "True" and not is_tolerated(_NOT_READY, shape.tolerations):
        blocks.append(Block("not ready"))
    if node.unschedulable and not is_tolerated(_UNSCHEDULABLE, shape.tolerations):
        blocks.append(Block("cordoned"))
    for taint in node.taints:
        if taint.effect in HARD and not is_tolerated(taint, shape.tolerations):
            kind = _KNOWN_TAINTS.get(taint.key)
            block = Block(kind) if kind else Block("taint", _taint_words(taint))
            if block not in blocks:
                blocks.append(block)
    return blocks


def _taint_words(taint: Taint) -> str:
    return f"{taint.key}={taint.value}" if taint.value else taint.key


Check = Callable[[Node], Iterable[Block]]


def _checks(snapshot: ClusterSnapshot, shape: Shape) -> list[Check]:
    """Only the checks that this shape needs: a plain gang asks nothing of labels."""
    checks: list[Check] = []
    if shape.node_name:
        named = (Block("name", shape.node_name),)
        checks.append(lambda node: () if node.name == shape.node_name else named)
    if shape.node_selector:
        checks.append(_selector_check(snapshot, shape))
    if shape.node_terms is not None:
        terms = NodeTerms(shape.node_terms)
        unmet = (Block("affinity"),)
        checks.append(lambda node: () if terms.matches(node.name, snapshot.labels(node.name)) else unmet)
    if shape.host_ports:
        held = snapshot.ports_held()
        checks.append(lambda node: _port_blocks(shape.host_ports, held.get(node.name, ())))
    if shape.claims and snapshot.around.claims is not None:
        needs = VolumeNeeds(snapshot, shape)
        checks.append(lambda node: (Block("volume", item) for item in needs.obstacles(node)))
        checks.append(lambda node: (Block("attach", item) for item in needs.beyond_limits(node)))
    if keys := tuple(dict.fromkeys((*shape.spread_keys, *(item.key for item in shape.spreads)))):
        checks.append(
            lambda node: [Block("unlabelled", key) for key in keys if key not in snapshot.labels(node.name)]
        )
    affinity = PodAffinityFilter(snapshot, shape)
    if not affinity.is_empty:
        checks.append(lambda node: (Block(*pair) for pair in affinity.obstacles(node.name)))
    return checks


def _selector_check(snapshot: ClusterSnapshot, shape: Shape) -> Check:
    def check(node: Node) -> Iterable[Block]:
        labels: Mapping[str, str] = snapshot.labels(node.name)
        return [
            Block("selector", f"{key}={value}")
            for key, value in shape.node_selector
            if labels.get(key) != value
        ]

    return check


def _port_blocks(asked: tuple[HostPort, ...], held: Iterable[HostPort]) -> list[Block]:
    taken = tuple(held)
    return [Block("port", str(item.port)) for item in asked if any(collide(item, other) for other in taken)]
