"""Does a gang fit now, on which nodes, and if not, what is missing.

A second implementation of the scheduler's filters, on purpose: the scheduler itself judges both. Members of
one shape are counted node by node, which is exact; several shapes are put one after the other, the hungriest
first, which is greedy. Not looked at: nominated pods, LimitRanges, overhead of runtime classes, dynamic
resource allocation, attach limits of volumes.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cockpit.fit.domains import Seating, Wishes, seat, seats_of
from cockpit.fit.looks import Look, look_at_all, obstacle_words
from cockpit.fit.pushing import Push, push_aside
from cockpit.fit.quota import Shortage, shortage
from cockpit.fit.remedies import Remedy, remedies
from cockpit.fit.scene import Scene
from cockpit.fit.shape import Part, Shape
from cockpit.fit.surroundings import UNKNOWN, Surroundings
from cockpit.store.store import Store

_LARGEST_TRIES = 12


class PartFit(NamedTuple):
    """One part of the gang: where its members go, and the most of them that would find a seat."""

    part: Part
    places: Mapping[str, int]
    most: int
    is_sure: bool
    looks: Sequence[Look]

    @property
    def missing(self) -> int:
        return self.part.count - sum(self.places.values())


class Pieces(NamedTuple):
    """What is free of the main part's GPUs on nodes that take it, and what keeps members off the others."""

    free_gpus: int
    largest_block: int  # most of them on one node
    scattered_gpus: int  # free, in pieces too small for a member
    matching_nodes: int  # nodes that have any such GPU; for a part without GPUs all nodes
    obstacles: tuple[tuple[str, int], ...]  # (why, nodes that take no member), most frequent first


class FitAnswer(NamedTuple):
    """Whether `wanted` members fit now. Names of nodes in `places` are sorted, fullest first."""

    wanted: int
    missing: int  # members without a place
    places: tuple[tuple[str, int], ...]  # (node, members), fullest first
    parts: tuple[PartFit, ...]
    main: int  # index in `parts` of the part that asks for most
    largest: int  # most members of the main part that fit today beside the other parts
    is_sure: bool  # False: it depends on the order in which the scheduler takes nodes
    pieces: Pieces
    shortage: Shortage | None  # what the queue's quota lacks
    remedies: tuple[Remedy, ...]  # the smallest first; () where it fits
    push: Push | None  # whom it would push aside where it does not fit
    notes: tuple[str, ...]  # what could not be looked at

    @property
    def fits(self) -> bool:
        """True when every member finds a seat and the queue's quota suffices."""
        return self.missing == 0 and self.shortage is None

    @property
    def shape(self) -> Shape:
        """The shape of the main part."""
        return self.parts[self.main].part.shape


def fit(
    store: Store,
    parts: Sequence[Part],
    *,
    queue: str = "",
    surroundings: Surroundings = UNKNOWN,
) -> FitAnswer:
    """Place a gang on what is free now. `queue` is a Kueue LocalQueue in the namespace of the first part.

    Raises ValueError for a gang without parts.
    """
    if not parts:
        raise ValueError("a gang has at least one part")
    order = sorted(range(len(parts)), key=lambda at: (-parts[at].shape.gpus, -_cpu(parts[at].shape), at))
    scene = Scene(store, surroundings)
    found: dict[int, PartFit] = {}
    for at in order:
        found[at] = _place(scene, parts[at])
    placed = tuple(found[at] for at in range(len(parts)))
    main = order[0]
    missing = sum(one.missing for one in placed)
    short = shortage(store, parts, queue)
    return FitAnswer(
        wanted=sum(one.count for one in parts),
        missing=missing,
        places=_together(placed),
        parts=placed,
        main=main,
        largest=_largest(store, parts, placed, main, surroundings),
        is_sure=all(one.is_sure for one in placed),
        pieces=_pieces(store, placed[main]),
        shortage=short,
        remedies=_remedies(store, placed, order, surroundings) if missing else (),
        push=_push(store, placed, surroundings) if missing else None,
        notes=_notes(parts, surroundings),
    )


def _cpu(shape: Shape) -> int:
    return dict(shape.requests).get("cpu", 0)


def _place(scene: Scene, part: Part) -> PartFit:
    looks = look_at_all(scene, part.shape)
    seating = _seat(scene, part, looks)
    for node, count in seating.places.items():
        scene.place(part.shape, node, count)
    return PartFit(part, seating.places, seating.most, seating.is_sure, looks)


def _seat(scene: Scene, part: Part, looks: Sequence[Look]) -> Seating:
    seating = seat(seats_of(scene, looks), Wishes(scene, part.shape), part.count)
    return limited(scene, part, seating)


def limited(scene: Scene, part: Part, seating: Seating) -> Seating:
    """A claim for one pod only (ReadWriteOncePod) leaves room for one member in all."""
    claims = scene.around.claims or {}
    if not any("ReadWriteOncePod" in claims[name].modes for name in part.shape.claims if name in claims):
        return seating
    return Seating(dict.fromkeys(list(seating.places)[:1], 1), min(seating.most, 1), seating.is_sure)


def _together(placed: Sequence[PartFit]) -> tuple[tuple[str, int], ...]:
    sums: dict[str, int] = {}
    for one in placed:
        for node, count in one.places.items():
            sums[node] = sums.get(node, 0) + count
    return tuple(sorted(sums.items(), key=lambda pair: (-pair[1], pair[0])))


def _largest(
    store: Store, parts: Sequence[Part], placed: Sequence[PartFit], main: int, surroundings: Surroundings
) -> int:
    """The most members of the main part; the other parts need their seats too."""
    most = placed[main].most
    if len(parts) == 1:
        return most
    for _ in range(_LARGEST_TRIES):
        if most <= 0:
            return 0
        scene = Scene(store, surroundings)
        trial = [_place(scene, Part(parts[main].role, most, parts[main].shape))]
        trial += [_place(scene, one) for at, one in enumerate(parts) if at != main]
        short = sum(one.missing for one in trial)
        if not short:
            return most
        most -= 1
    return most


def _remedies(
    store: Store, placed: Sequence[PartFit], order: Sequence[int], surroundings: Surroundings
) -> tuple[Remedy, ...]:
    """For the first part that misses members, with the parts before it in their places."""
    scene = Scene(store, surroundings)
    for at in order:
        one = placed[at]
        if one.missing:
            return remedies(scene, one.part, one.looks, one.most)
        for node, count in one.places.items():
            scene.place(one.part.shape, node, count)
    return ()


def _push(store: Store, placed: Sequence[PartFit], surroundings: Surroundings) -> Push | None:
    scene = Scene(store, surroundings)
    for one in placed:
        for node, count in one.places.items():
            scene.place(one.part.shape, node, count)
    short = next(one for one in placed if one.missing)
    return push_aside(scene, short.part, short.looks, short.missing)


def _pieces(store: Store, first: PartFit) -> Pieces:
    """What is free of the GPUs that the main part asks for, on nodes that take it."""
    scene = Scene(store)
    resource, each = first.part.shape.gpu_resource, first.part.shape.gpus
    free_gpus = block = scattered = matching = 0
    reasons: dict[str, int] = {}
    for one in first.looks:
        if resource and not _shows(one, resource):
            continue
        matching += 1
        if resource and not one.blocks:
            (free,) = scene.free(one.node, (resource,))
            free = max(0, free)
            free_gpus += free
            block = max(block, free)
            scattered += free % each if free >= each else free
        if one.blocks or not one.room:
            why = obstacle_words(one)
            reasons[why] = reasons.get(why, 0) + 1
    ordered = sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
    return Pieces(free_gpus, block, scattered, matching, tuple(ordered))


def _shows(look: Look, resource: str) -> bool:
    node = look.node
    if node.allocatable:
        return any(name == resource and count for name, count in node.allocatable)
    return bool(node.gpu_allocatable) and node.gpu_resource in ("", resource)


def _notes(parts: Sequence[Part], around: Surroundings) -> tuple[str, ...]:
    """What a careful reader has to know about the answer."""
    found = []
    if around.claims is None and any(one.shape.claims for one in parts):
        found.append("volumes were not looked at")
    return tuple(found)
