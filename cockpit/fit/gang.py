"""Does a gang of equal members fit now, and if not, what is in the way.

Members are alike, so how many a node takes is a division and the sum over nodes is exact for what is
looked at: GPUs, CPU, memory, pod slots, readiness, cordons and taints. Affinity, topology and volumes are
not looked at; the server's scheduler has the last word.
"""

from collections.abc import Collection
from typing import NamedTuple

from cockpit.fit.free import TOLERATED_KEYS, Free, free_on, largest_block, obstacle
from cockpit.model.node import Node
from cockpit.model.record import Kind
from cockpit.store.store import Store

_SENTENCE_LIMIT = 100


class Member(NamedTuple):
    """What each member asks for. `gpu_model` and `gpu_resource` narrow the nodes; "" takes any."""

    gpus: int
    cpu_millicores: int = 0
    memory_bytes: int = 0
    gpu_resource: str = ""
    gpu_model: str = ""


class FitAnswer(NamedTuple):
    """How many of `wanted` members fit now, where, and what is in the way of the rest."""

    wanted: int
    fitting: int
    places: tuple[tuple[str, int], ...]  # (node, members), fullest nodes first, only as many as wanted
    missing: int  # members without a place
    largest_block: int  # most GPUs free on one node that takes pods
    free_gpus: int  # over all nodes that take pods
    matching_nodes: int  # nodes with the right GPUs, whether or not they take pods
    obstacles: tuple[tuple[str, int], ...]  # (why, nodes), most frequent first

    @property
    def fits(self) -> bool:
        return self.missing == 0


def fits(
    store: Store,
    workers: int,
    gpus_each: int,
    *,
    cpu_millicores_each: int = 0,
    memory_bytes_each: int = 0,
    gpu_resource: str = "",
    gpu_model: str = "",
    tolerated: Collection[str] = TOLERATED_KEYS,
) -> FitAnswer:
    """Whether `workers` members of `gpus_each` GPUs each fit at once, now."""
    member = Member(gpus_each, cpu_millicores_each, memory_bytes_each, gpu_resource, gpu_model)
    rooms: list[tuple[int, str]] = []
    reasons: dict[str, int] = {}
    matching = free_gpus = 0
    for node in store.records(Kind.NODE).values():
        if not _matches(node, member):
            continue
        matching += 1
        why = obstacle(node, tolerated)
        if not why:
            free = free_on(store, node)
            free_gpus += free.gpus
            count, why = room(free, member, workers)
            if count:
                rooms.append((count, node.name))
                continue
        reasons[why] = reasons.get(why, 0) + 1
    rooms.sort(key=lambda one: (-one[0], one[1]))
    places = _fill(rooms, workers)
    fitting = sum(count for _, count in places)
    return FitAnswer(
        wanted=workers,
        fitting=fitting,
        places=places,
        missing=workers - fitting,
        largest_block=largest_block(store, tolerated).gpus,
        free_gpus=free_gpus,
        matching_nodes=matching,
        obstacles=tuple(sorted(reasons.items(), key=lambda one: (-one[1], one[0]))),
    )


def _matches(node: Node, member: Member) -> bool:
    if member.gpus and not node.gpu_allocatable:
        return False
    if member.gpu_resource and node.gpu_resource != member.gpu_resource:
        return False
    return not member.gpu_model or node.gpu_model == member.gpu_model


def room(free: Free, member: Member, most: int) -> tuple[int, str]:
    """(how many members the node takes, at most `most`; what is short where it takes none)."""
    count, why = most, ""
    asked = (
        (free.gpus, member.gpus, "lacks free GPUs"),
        (free.cpu_millicores, member.cpu_millicores, "lacks CPU"),
        (free.memory_bytes, member.memory_bytes, "lacks memory"),
        (free.pods, 1, "is full of pods"),
    )
    for left, each, words in asked:
        if each <= 0 or left is None:
            continue
        if left // each < count:
            count, why = left // each, words
    return count, why if not count else ""


def _fill(rooms: list[tuple[int, str]], workers: int) -> tuple[tuple[str, int], ...]:
    places: list[tuple[str, int]] = []
    left = workers
    for count, node in rooms:
        if left <= 0:
            break
        places.append((node, min(count, left)))
        left -= min(count, left)
    return tuple(places)


def fit_sentence(store: Store, workers: int, gpus_each: int) -> str:
    """What a form shows while it is filled in: fits now and where, or what is missing."""
    answer = fits(store, workers, gpus_each)
    total = workers * gpus_each
    if workers < 1:
        return "nothing asked for"
    if answer.fits:
        count = len(answer.places)
        where = f"on node {answer.places[0][0]}" if count == 1 else f"on {count} nodes"
        return f"fits now {where}"[:_SENTENCE_LIMIT]
    if not answer.matching_nodes:
        return "pending: no node shows a GPU"
    text = f"pending: needs {total} GPUs as {workers} x {gpus_each}, {answer.free_gpus} free"
    if answer.largest_block < gpus_each:
        return f"{text}, largest free block {answer.largest_block}"
    return f"{text}, room for {answer.fitting} of {workers} members"
