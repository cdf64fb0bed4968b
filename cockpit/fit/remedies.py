"""Which single change would make a gang fit, the smallest first. Every one is tried before it is offered."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from cockpit.fit.domains import Seats, Wishes, seat, seats_of
from cockpit.fit.looks import Block, Look, look_at_all, room_for
from cockpit.fit.matching import Toleration
from cockpit.fit.scene import Scene
from cockpit.fit.shape import Part, Shape
from cockpit.model.devices import resource_word

HOSTNAME = "kubernetes.io/hostname"
_NAMED_NODES = 3
_MOST_NODES = 64
_MOST_DROPS = 6
_DROPS = {
    "selector": "remove the node selector {}",
    "affinity": "remove the required node affinity",
    "taint": "tolerate the taint {}",
    "name": "remove the fixed node {}",
    "port": "remove the host port {}",
    "apart": "remove the anti-affinity over {}",
    "company": "remove the affinity over {}",
    "unlabelled": "remove the spread over {}",
}


class Remedy(NamedTuple):
    """One change. `cost` orders: nodes healed, a line of the job changed, less of something or more nodes."""

    cost: int
    words: str


def remedies(scene: Scene, part: Part, looks: Sequence[Look], most: int) -> tuple[Remedy, ...]:
    """Changes after which all members of `part` find a seat; the last resort is a smaller gang."""
    found = [
        *_healed(scene, part, looks),
        *_dropped(scene, part, looks),
        *_smaller_members(scene, part, looks),
        *_more_nodes(scene, part, looks, most),
    ]
    if most > 0:
        fewer = part.count - most
        found.append(Remedy(4 + fewer, f"{fewer} {part.role}{'s' * (fewer != 1)} fewer"))
    return tuple(sorted(dict.fromkeys(found)))


def _seats(scene: Scene, looks: Sequence[Look], also: Sequence[Look] = ()) -> list[Seats]:
    return seats_of(scene, [*looks, *(one._replace(blocks=()) for one in also)])


def _fits(scene: Scene, part: Part, seats: Sequence[Seats], wishes: Wishes | None = None) -> bool:
    return seat(seats, wishes or Wishes(scene, part.shape), part.count).most >= part.count


def _healed(scene: Scene, part: Part, looks: Sequence[Look]) -> Iterator[Remedy]:
    """Nodes that would take members were they not cordoned, or not ready: the roomiest first."""
    for kind, words in (("cordoned", "uncordon {}"), ("not ready", "{} ready")):
        alone = [one for one in looks if one.room > 0 and one.blocks == (Block(kind),)]
        alone.sort(key=lambda one: (-one.room, one.node.name))
        wishes = Wishes(scene, part.shape)
        for count in range(1, min(len(alone), part.count) + 1):
            if _fits(scene, part, _seats(scene, looks, alone[:count]), wishes):
                names = [one.node.name for one in alone[:count]]
                yield Remedy(count, words.format(_named(names)))
                break


def _named(names: Sequence[str]) -> str:
    if len(names) <= _NAMED_NODES:
        return ", ".join(names)
    return f"{len(names)} nodes ({', '.join(names[:_NAMED_NODES])}, ...)"


def _dropped(scene: Scene, part: Part, looks: Sequence[Look]) -> Iterator[Remedy]:
    """One line of the job that keeps it off nodes, or that makes its members mind each other."""
    alone: dict[Block, int] = {}
    for one in looks:
        if one.room > 0 and len(set(one.blocks)) == 1 and one.blocks[0].kind in _DROPS:
            alone[one.blocks[0]] = alone.get(one.blocks[0], 0) + one.room
    wishes = Wishes(scene, part.shape)
    minded = [Block("unlabelled", one.key) for one in wishes.spreads]
    minded += [Block("apart", key) for key in wishes.alone_in]
    minded += [Block("company", key) for key in wishes.together_in[:1]]
    tried = sorted(alone, key=lambda block: (-alone[block], block))[:_MOST_DROPS]
    for block in dict.fromkeys((*tried, *minded)):
        shape = _without(part.shape, block)
        limit = 1 if shape.host_ports else part.count
        changed = Part(part.role, part.count, shape)
        if _fits(scene, changed, seats_of(scene, look_at_all(scene, shape, limit))):
            yield Remedy(2, _DROPS[block.kind].format(block.detail))


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
        return change(shape, host_ports=tuple(one for one in shape.host_ports if str(one.port) != detail))
    if kind == "apart":
        return change(shape, keeps_away=tuple(one for one in shape.keeps_away if one.topology_key != detail))
    if kind == "company":
        return change(shape, near=())
    return change(shape, spreads=tuple(one for one in shape.spreads if one.key != detail))


def _smaller_members(scene: Scene, part: Part, looks: Sequence[Look]) -> Iterator[Remedy]:
    """Fewer GPUs for each member, at least one."""
    shape = part.shape
    resource, gpus = shape.gpu_resource, shape.gpus
    if gpus < 2:
        return
    open_ = [one for one in looks if not one.blocks]
    wishes = Wishes(scene, shape)
    limit = 1 if shape.host_ports else part.count
    low, high = 0, gpus - 1  # the most GPUs with which it fits; 0: with none

    def enough(each: int) -> bool:
        asked = {**dict(shape.requests), resource: each, "pods": 1}
        seats = [one._replace(room=room_for(scene, one.node, asked, limit)[0]) for one in open_]
        return _fits(scene, part, seats_of(scene, seats), wishes)

    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if enough(middle) else (low, middle - 1)
    if low:
        fewer = gpus - low
        yield Remedy(2 + fewer, f"{fewer} {resource_word(resource, fewer)} fewer for each {part.role}")


def _more_nodes(scene: Scene, part: Part, looks: Sequence[Look], most: int) -> Iterator[Remedy]:
    """More nodes of the pool that most of the fitting nodes belong to."""
    asked = {**dict(part.shape.requests), "pods": 1}
    by_host = any(one.topology_key == HOSTNAME for one in part.shape.near)
    if by_host and not Wishes(scene, part.shape).together_in:
        return  # the pods that it must share a node with are on other nodes
    pools: dict[str, list[tuple[int, str]]] = {}
    for one in looks:
        if all(_is_of_the_node(block) for block in one.blocks):
            room = _empty_room(one, asked)
            if room > 0:
                pools.setdefault(_pool(one), []).append((room, one.node.name))
    if not pools:
        return
    words = min(pools, key=lambda pool: (-len(pools[pool]), pool))
    room, name = max(pools[words], key=lambda pair: (pair[0], pair[1]))
    if part.shape.host_ports:
        room = 1
    count = _nodes_needed(scene, part, looks, most, Seats(name, room, scene.labels(name)))
    if count:
        yield Remedy(3 + count, f"{count} more node{'s' * (count != 1)} {words}")


def _is_of_the_node(block: Block) -> bool:
    """A new node would not have it."""
    if block.kind in ("apart", "unwelcome"):
        return block.detail == HOSTNAME
    return block.kind in ("cordoned", "not ready", "port")


def _pool(look: Look) -> str:
    node = look.node
    if node.pool:
        return f"of pool {node.pool}"
    return f"with {node.gpu_model}" if node.gpu_model else f"like {node.instance_type or node.name}"


def _empty_room(look: Look, asked: Mapping[str, int]) -> int:
    """Members on such a node with nothing on it."""
    offered = dict(look.node.allocatable)
    if not offered:
        return look.room
    return min(offered.get(name, 0) // each for name, each in asked.items())


def _nodes_needed(scene: Scene, part: Part, looks: Sequence[Look], most: int, like: Seats) -> int:
    """How many such nodes it takes; 0 where more of them do not help."""
    if Wishes(scene, part.shape).is_empty:
        return math.ceil((part.count - most) / like.room)
    seats = _seats(scene, looks)
    for count in range(1, min(part.count, _MOST_NODES) + 1):
        wishes = Wishes(scene, part.shape)
        more = []
        for number in range(count):
            name = f"{like.node} again {number}"
            labels = {**like.labels, HOSTNAME: name} if HOSTNAME in like.labels else like.labels
            more.append(Seats(name, like.room, labels))
            for spread in wishes.spreads:
                if spread.key in labels:
                    spread.add_domain(labels[spread.key])
        if _fits(scene, part, [*seats, *more], wishes):
            return count
    return 0
