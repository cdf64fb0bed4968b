"""Which single change would make a gang fit, the smallest first. Every one is tried before it is offered."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from cockpit.fit.demand import held_by
from cockpit.fit.node_filters import Block, NodeFit, fit_nodes, room_for
from cockpit.fit.shape import Part, Shape
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.fit.topology_spread import Seats, Wishes, seat, seats_of
from cockpit.k8s import labels as well_known
from cockpit.k8s.gpu_resources import resource_word
from cockpit.model.node import Node
from cockpit.model.record import Condition
from cockpit.model.scheduling import Toleration

HOSTNAME = well_known.HOSTNAME
_NAMED_NODES = 3
_MOST_NODES = 64
_MOST_DROPS = 6
_MOST_POOLS = 3
_DROPS = {
    "selector": ("drop_selector", "remove the node selector {}"),
    "affinity": ("drop_affinity", "remove the required node affinity"),
    "taint": ("tolerate", "tolerate the taint {}"),
    "name": ("unpin", "remove the fixed node {}"),
    "port": ("drop_port", "remove the host port {}"),
    "pod_anti_affinity": ("drop_apart", "remove the anti-affinity over {}"),
    "pod_affinity": ("drop_near", "remove the affinity over {}"),
    "unlabelled": ("drop_spread", "remove the spread over {}"),
}
"""What keeps members off -> what is done about it, and in words."""
DROPPED_BY: Mapping[str, str] = {block: kind for block, (kind, _) in _DROPS.items()}
"""What keeps members off -> the kind of the remedy that takes the line away."""
_HEALS = {"cordoned": ("uncordon_node", "uncordon {}"), "not ready": ("repair_node", "{} ready")}
_PASSING = (well_known.NOT_READY, well_known.UNREACHABLE, well_known.UNSCHEDULABLE)
"""Taints that Kubernetes sets and takes away itself."""


class FitRemedy(NamedTuple):
    """One change. `cost` orders: nodes healed, a line of the job changed, less of something or more nodes.

    `kind`: uncordon_node, repair_node, drop_selector, drop_affinity, tolerate, unpin, drop_port, drop_apart,
    drop_near, drop_spread, fewer_gpus, fewer_members, more_nodes. `detail` names the line that is dropped,
    or the node that new ones are like.
    """

    cost: int
    words: str
    kind: str = ""
    detail: str = ""
    part: Part | None = None  # the part that missed members, as it would be; None: unchanged
    nodes: tuple[Node, ...] = ()  # healed ones in the place of those with their uid, or new ones


def remedies(
    snapshot: ClusterSnapshot, part: Part, node_fits: Sequence[NodeFit], most: int
) -> tuple[FitRemedy, ...]:
    """Changes after which all members of `part` find a seat; the last resort is a smaller gang."""
    found = [
        *_healed(snapshot, part, node_fits),
        *_dropped(snapshot, part, node_fits),
        *_smaller_members(snapshot, part, node_fits),
        *_more_nodes(snapshot, part, node_fits, most),
    ]
    if most > 0:
        fewer = part.count - most
        words = f"{fewer} {part.role}{'s' * (fewer != 1)} fewer"
        found.append(FitRemedy(4 + fewer, words, "fewer_members", part=Part(part.role, most, part.shape)))
    return tuple(sorted(found, key=lambda one: (one.cost, one.words)))


def _seats(
    snapshot: ClusterSnapshot, node_fits: Sequence[NodeFit], also: Sequence[NodeFit] = ()
) -> list[Seats]:
    return seats_of(snapshot, [*node_fits, *(item._replace(blocks=()) for item in also)])


def _fits(
    snapshot: ClusterSnapshot, part: Part, seats: Sequence[Seats], wishes: Wishes | None = None
) -> bool:
    return seat(seats, wishes or Wishes(snapshot, part.shape), part.count).most >= part.count


def _healed(snapshot: ClusterSnapshot, part: Part, node_fits: Sequence[NodeFit]) -> Iterator[FitRemedy]:
    """Nodes that would take members were they not cordoned, or not ready: the roomiest first."""
    for block, (kind, words) in _HEALS.items():
        alone = [item for item in node_fits if item.room > 0 and item.blocks == (Block(block),)]
        alone.sort(key=lambda one: (-one.room, one.node.name))
        wishes = Wishes(snapshot, part.shape)
        for count in range(1, min(len(alone), part.count) + 1):
            if _fits(snapshot, part, _seats(snapshot, node_fits, alone[:count]), wishes):
                names = [item.node.name for item in alone[:count]]
                nodes = tuple(_healthy(item.node) for item in alone[:count])
                yield FitRemedy(count, words.format(_named(names)), kind, nodes=nodes)
                break


def _healthy(node: Node) -> Node:
    """The node with nothing of its own against new pods; taints that people set stay."""
    others = tuple(condition for condition in node.conditions if condition.type != "Ready")
    return msgspec.structs.replace(
        node,
        unschedulable=False,
        taints=tuple(taint for taint in node.taints if taint.key not in _PASSING),
        conditions=(*others, Condition("Ready", "True")),
    )


def _named(names: Sequence[str]) -> str:
    if len(names) <= _NAMED_NODES:
        return ", ".join(names)
    return f"{len(names)} nodes ({', '.join(names[:_NAMED_NODES])}, ...)"


def _dropped(snapshot: ClusterSnapshot, part: Part, node_fits: Sequence[NodeFit]) -> Iterator[FitRemedy]:
    """One line of the job that keeps it off nodes, or that makes its members mind each other."""
    alone: dict[Block, int] = {}
    for item in node_fits:
        if item.room > 0 and len(set(item.blocks)) == 1 and item.blocks[0].kind in _DROPS:
            alone[item.blocks[0]] = alone.get(item.blocks[0], 0) + item.room
    wishes = Wishes(snapshot, part.shape)
    minded = [Block("unlabelled", item.key) for item in wishes.spreads]
    minded += [Block("pod_anti_affinity", key) for key in wishes.alone_in]
    minded += [Block("pod_affinity", key) for key in wishes.together_in[:1]]
    tried = sorted(alone, key=lambda block: (-alone[block], block))[:_MOST_DROPS]
    for block in dict.fromkeys((*tried, *minded)):
        shape = _without(part.shape, block)
        limit = 1 if shape.host_ports else part.count
        changed = Part(part.role, part.count, shape)
        if _fits(snapshot, changed, seats_of(snapshot, fit_nodes(snapshot, shape, limit))):
            kind, words = _DROPS[block.kind]
            yield FitRemedy(2, words.format(block.detail), kind, block.detail, changed)


def _without(shape: Shape, block: Block) -> Shape:
    """The shape without the line that the block comes from."""
    kind, detail = block
    change = msgspec.structs.replace
    if kind == "selector":
        kept = tuple(pair for pair in shape.node_selector if "=".join(pair) != detail)
        return change(shape, node_selector=kept)
    if kind == "affinity":
        return change(shape, node_terms=None)
    if kind == "taint":
        return change(shape, tolerations=(*shape.tolerations, Toleration(detail.partition("=")[0], "Exists")))
    if kind == "name":
        return change(shape, node_name="")
    if kind == "port":
        return change(shape, host_ports=tuple(port for port in shape.host_ports if str(port.port) != detail))
    if kind == "pod_anti_affinity":
        return change(
            shape, keeps_away=tuple(item for item in shape.keeps_away if item.topology_key != detail)
        )
    if kind == "pod_affinity":
        return change(shape, near=())
    keys = tuple(key for key in shape.spread_keys if key != detail)
    spreads = tuple(item for item in shape.spreads if item.key != detail)
    return change(shape, spreads=spreads, spread_keys=keys)


def _smaller_members(
    snapshot: ClusterSnapshot, part: Part, node_fits: Sequence[NodeFit]
) -> Iterator[FitRemedy]:
    """Fewer GPUs for each member, at least one."""
    shape = part.shape
    resource, gpus = shape.gpu_resource, shape.gpus
    if gpus < 2:
        return
    open_ = [item for item in node_fits if not item.blocks]
    wishes = Wishes(snapshot, shape)
    limit = 1 if shape.host_ports else part.count
    low, high = 0, gpus - 1  # the most GPUs with which it fits; 0: with none

    def enough(each: int) -> bool:
        asked = {**dict(with_gpus(shape, each).requests), "pods": 1}
        seats = [item._replace(room=room_for(snapshot, item.node, asked, limit)[0]) for item in open_]
        return _fits(snapshot, part, seats_of(snapshot, seats), wishes)

    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if enough(middle) else (low, middle - 1)
    if low:
        fewer = gpus - low
        words = f"{fewer} {resource_word(resource, fewer)} fewer for each {part.role}"
        changed = Part(part.role, part.count, with_gpus(shape, low))
        yield FitRemedy(2 + fewer, words, "fewer_gpus", part=changed)


def with_gpus(shape: Shape, each: int) -> Shape:
    """The shape with another number of its devices."""
    asked = {**dict(shape.requests), shape.gpu_resource: each}
    return msgspec.structs.replace(shape, requests=tuple(sorted(asked.items())))


def _more_nodes(
    snapshot: ClusterSnapshot, part: Part, node_fits: Sequence[NodeFit], most: int
) -> Iterator[FitRemedy]:
    """More nodes of the pool that most of the fitting nodes belong to."""
    asked = {**dict(part.shape.requests), "pods": 1}
    by_host = any(item.topology_key == HOSTNAME for item in part.shape.near)
    if by_host and not Wishes(snapshot, part.shape).together_in:
        return  # the pods that it must share a node with are on other nodes
    pools: dict[str, list[tuple[int, str]]] = {}
    for item in node_fits:
        if all(_is_of_the_node(block) for block in item.blocks):
            room = _empty_room(snapshot, item, asked)
            if room > 0:
                pools.setdefault(_pool(item), []).append((room, item.node.name))
    biggest = sorted(pools, key=lambda pool: (-len(pools[pool]), pool))
    named = [words for words in biggest if snapshot.nodes[pools[words][0][1]].pool]
    for words in dict.fromkeys((*biggest[:1], *named[:_MOST_POOLS])):
        room, name = max(pools[words], key=lambda pair: (pair[0], pair[1]))
        if part.shape.host_ports:
            room = 1
        count = _nodes_needed(snapshot, part, node_fits, most, Seats(name, room, snapshot.labels(name)))
        if count:
            like = snapshot.nodes[name]
            nodes = tuple(another_node(snapshot, like, number) for number in range(count))
            told = f"{count} more node{'s' * (count != 1)} {words}"
            yield FitRemedy(3 + count, told, "more_nodes", like.name, nodes=nodes)


def another_node(snapshot: ClusterSnapshot, like: Node, number: int) -> Node:
    """One more such node, as it comes: empty but for what daemons ask of each."""
    name = f"{like.name} again {number}"
    labels = dict(like.labels)
    if HOSTNAME in labels:
        labels[HOSTNAME] = name
    offered = tuple(sorted(_offered_when_empty(snapshot, like).items()))
    new = msgspec.structs.replace(
        _healthy(like), uid=name, name=name, labels=tuple(sorted(labels.items())), allocatable=offered
    )
    return msgspec.structs.replace(new, deleting_seconds=None)


def _offered_when_empty(snapshot: ClusterSnapshot, node: Node) -> dict[str, int]:
    """What the node offers less what DaemonSets ask of it; {} where it states no amounts."""
    offered = dict(node.allocatable)
    if not offered:
        return offered
    for pod in snapshot.store.pods_on(node.name):
        if pod.owner_kind == "DaemonSet" and not pod.is_finished:
            asked = held_by(pod)
            for name in offered:
                offered[name] -= asked.get(name, 0)
    return offered


def _is_of_the_node(block: Block) -> bool:
    """A new node would not have it."""
    if block.kind in ("pod_anti_affinity", "unwelcome"):
        return block.detail == HOSTNAME
    return block.kind in ("cordoned", "not ready", "port")


def _pool(node_fit: NodeFit) -> str:
    node = node_fit.node
    if node.pool:
        return f"of pool {node.pool}"
    return f"with {node.gpu_model}" if node.gpu_model else f"like {node.instance_type or node.name}"


def _empty_room(snapshot: ClusterSnapshot, node_fit: NodeFit, asked: Mapping[str, int]) -> int:
    """Members on such a node with nothing but daemons on it."""
    offered = _offered_when_empty(snapshot, node_fit.node)
    if not offered:
        return node_fit.room
    return min(offered.get(name, 0) // each for name, each in asked.items())


def _nodes_needed(
    snapshot: ClusterSnapshot, part: Part, node_fits: Sequence[NodeFit], most: int, like: Seats
) -> int:
    """How many such nodes it takes; 0 where more of them do not help."""
    if Wishes(snapshot, part.shape).is_empty:
        return math.ceil((part.count - most) / like.room)
    seats = _seats(snapshot, node_fits)
    for count in range(1, min(part.count, _MOST_NODES) + 1):
        wishes = Wishes(snapshot, part.shape)
        more = []
        for number in range(count):
            name = f"{like.node} again {number}"
            labels = {**like.labels, HOSTNAME: name} if HOSTNAME in like.labels else like.labels
            more.append(Seats(name, like.room, labels))
            for spread in wishes.spreads:
                if spread.key in labels:
                    spread.add_domain(labels[spread.key])
        if _fits(snapshot, part, [*seats, *more], wishes):
            return count
    return 0
