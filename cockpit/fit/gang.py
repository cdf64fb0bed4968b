"""Does a gang fit now, on which nodes, and if not, what is missing.

A second implementation of the scheduler's filters, on purpose: the scheduler itself judges both. Members of
one shape are counted node by node, which is exact; several shapes are put one after the other, the hungriest
first, which is greedy. Not looked at: nominated pods, LimitRanges, overhead of runtime classes, dynamic
resource allocation, attach limits of volumes.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from cockpit.fit.inter_pod_affinity import PodAffinityFilter
from cockpit.fit.node_filters import NodeFit, fit_nodes, iter_node_fits, obstacle_words
from cockpit.fit.preemption import Push, preempt
from cockpit.fit.quota import Shortage, shortage
from cockpit.fit.remedies import FitRemedy, remedies
from cockpit.fit.scheduling_context import UNKNOWN, Surroundings
from cockpit.fit.shape import Part, Shape
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.fit.topology_spread import Seating, Wishes, seat, seats_of
from cockpit.k8s.gpu_resources import resource_word
from cockpit.model.store_reader import StoreReader

_LARGEST_TRIES = 12


class PartFit(NamedTuple):
    """One part of the gang: where its members go, and the most of them that would find a seat."""

    part: Part
    places: Mapping[str, int]
    most: int
    is_sure: bool
    node_fits: Sequence[NodeFit]

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
    remedies: tuple[FitRemedy, ...]  # the smallest first; () where it fits
    push: Push | None  # whom it would push aside where it does not fit
    notes: tuple[str, ...]  # what could not be looked at
    has_rivals: bool = False  # seats of others were taken first

    @property
    def fits(self) -> bool:
        """True when every member finds a seat and the queue's quota suffices."""
        return self.missing == 0 and self.shortage is None

    @property
    def shape(self) -> Shape:
        """The shape of the main part."""
        return self.parts[self.main].part.shape


def fit(
    store: StoreReader,
    parts: Sequence[Part],
    *,
    queue: str = "",
    surroundings: Surroundings = UNKNOWN,
    rivals: Sequence[Part] = (),
) -> FitAnswer:
    """Place a gang on what is free now. `queue` is a LocalQueue in the namespace of the first part. `rivals`
    are pods of others that take their seats first.

    Raises ValueError for a gang without parts.
    """
    if not parts:
        raise ValueError("a gang has at least one part")
    order = sorted(range(len(parts)), key=lambda at: (-parts[at].shape.gpus, -_cpu(parts[at].shape), at))
    snapshot = ClusterSnapshot(store, surroundings)
    before = tuple(_place(snapshot, item) for item in rivals)
    found: dict[int, PartFit] = {}
    for at in order:
        found[at] = _place(snapshot, parts[at])
    placed = tuple(found[at] for at in range(len(parts)))
    main = order[0]
    missing = sum(item.missing for item in placed)
    short = shortage(store, parts, queue)
    return FitAnswer(
        wanted=sum(part.count for part in parts),
        missing=missing,
        places=_together(placed),
        parts=placed,
        main=main,
        largest=_largest(lambda: _seated(store, surroundings, before), parts, placed, main),
        is_sure=all(item.is_sure for item in placed),
        pieces=_pieces(placed[main]),
        shortage=short,
        remedies=_remedies(_seated(store, surroundings, before), placed, order) if missing else (),
        push=_push(_seated(store, surroundings, (*before, *placed)), placed) if missing else None,
        notes=_notes(parts, surroundings),
        has_rivals=bool(rivals),
    )


def starts(
    store: StoreReader,
    parts: Sequence[Part],
    *,
    surroundings: Surroundings = UNKNOWN,
    rivals: Sequence[Part] = (),
) -> bool:
    """Whether all members find a seat for sure: `fit` without what it tells besides, and without quota.
    `rivals` may take their seats first, anywhere."""
    snapshot = ClusterSnapshot(store, surroundings)
    if len(parts) == 1 and _minds_nothing(snapshot, parts[0].shape):
        return _keeps_room(snapshot, parts[0], rivals) if rivals else _has_room(snapshot, parts[0])
    for part in sorted(parts, key=lambda each: (-each.shape.gpus, -_cpu(each.shape))):
        if rivals and not _keeps_room(snapshot, part, rivals):
            return False
        placed = _place(snapshot, part)
        if placed.missing or not placed.is_sure:
            return False
    return not _notes(parts, surroundings)


def _keeps_room(snapshot: ClusterSnapshot, part: Part, rivals: Sequence[Part]) -> bool:
    """Whether nodes have room for all members after rivals took theirs; where members or pods mind each
    other no rival may take any."""
    node_fits = fit_nodes(snapshot, part.shape)
    if not _minds_nothing(snapshot, part.shape):
        return not seats_lost(snapshot, part.shape, node_fits, rivals)
    spare = sum(item.room for item in node_fits if not item.blocks) - part.count
    if spare < 0 or spare >= seats_at_most(part.shape, rivals):
        return spare >= 0
    return seats_lost(snapshot, part.shape, node_fits, rivals) <= spare


def _seated(store: StoreReader, surroundings: Surroundings, placed: Iterable[PartFit]) -> ClusterSnapshot:
    """With these members in their places."""
    snapshot = ClusterSnapshot(store, surroundings)
    for item in placed:
        for node, count in item.places.items():
            snapshot.place(item.part.shape, node, count)
    return snapshot


def seats_for(
    snapshot: ClusterSnapshot, parts: Sequence[Part], names: Collection[str]
) -> tuple[tuple[Shape, str, int], ...] | None:
    """Seats for all members on the named nodes, taken in the snapshot; None, and nothing taken, where one
    finds none for sure."""
    taken: list[tuple[Shape, str, int]] = []
    for part in sorted(parts, key=lambda one: (-one.shape.gpus, -_cpu(one.shape))):
        node_fits = fit_nodes(snapshot, part.shape, part.count, names)
        seating = _seat(snapshot, part, node_fits)
        if sum(seating.places.values()) < part.count or not seating.is_sure:
            snapshot.unplace(len(taken))
            return None
        for node, count in seating.places.items():
            snapshot.place(part.shape, node, count)
            taken.append((part.shape, node, count))
    return tuple(taken)


def room_elsewhere(
    store: StoreReader,
    answer: FitAnswer,
    names: Collection[str],
    surroundings: Surroundings = UNKNOWN,
    rivals: Sequence[Part] = (),
) -> int | None:
    """Members that find room where only the named nodes are other than when `answer` was given, after rivals
    took theirs; None where that has to be fitted anew, because members or pods mind each other, or where
    parts are several."""
    (one, *others) = answer.parts
    shape, count = one.part.shape, one.part.count
    snapshot = ClusterSnapshot(store, surroundings)
    if others or not _minds_nothing(snapshot, shape):
        return None
    looks = [
        node_fit if node_fit.room <= count else node_fit._replace(room=count)
        for node_fit in one.node_fits
        if node_fit.room > 0 and not node_fit.blocks and node_fit.node.name not in names
    ]
    looks += (look for look in fit_nodes(snapshot, shape, count, names) if not look.blocks)
    lost = seats_lost(snapshot, shape, looks, rivals) if rivals else 0
    return sum(look.room for look in looks) - lost


def _minds_nothing(snapshot: ClusterSnapshot, shape: Shape) -> bool:
    """Neither where its other members are nor which pods: then rooms of nodes just add up."""
    if shape.claims or shape.host_ports or not Wishes(snapshot, shape).is_empty:
        return False
    return PodAffinityFilter(snapshot, shape).is_empty


def _has_room(snapshot: ClusterSnapshot, part: Part) -> bool:
    """Whether the nodes have room for all members; it looks no further than it must."""
    left = part.count
    for item in iter_node_fits(snapshot, part.shape, left):
        left -= 0 if item.blocks else item.room
        if left <= 0:
            return True
    return left <= 0


def _cpu(shape: Shape) -> int:
    return dict(shape.requests).get("cpu", 0)


def _place(snapshot: ClusterSnapshot, part: Part) -> PartFit:
    node_fits = fit_nodes(snapshot, part.shape)
    seating = _seat(snapshot, part, node_fits)
    for node, count in seating.places.items():
        snapshot.place(part.shape, node, count)
    return PartFit(part, seating.places, seating.most, seating.is_sure, node_fits)


def _seat(snapshot: ClusterSnapshot, part: Part, node_fits: Sequence[NodeFit]) -> Seating:
    seating = seat(seats_of(snapshot, node_fits), Wishes(snapshot, part.shape), part.count)
    return limited(snapshot, part, seating)


def limited(snapshot: ClusterSnapshot, part: Part, seating: Seating) -> Seating:
    """A claim for one pod only (ReadWriteOncePod) leaves room for one member in all."""
    claims = snapshot.around.claims or {}
    if not any("ReadWriteOncePod" in claims[name].modes for name in part.shape.claims if name in claims):
        return seating
    return Seating(dict.fromkeys(list(seating.places)[:1], 1), min(seating.most, 1), seating.is_sure)


def _together(placed: Sequence[PartFit]) -> tuple[tuple[str, int], ...]:
    sums: dict[str, int] = {}
    for item in placed:
        for node, count in item.places.items():
            sums[node] = sums.get(node, 0) + count
    return tuple(sorted(sums.items(), key=lambda pair: (-pair[1], pair[0])))


def _largest(
    begun: Callable[[], ClusterSnapshot], parts: Sequence[Part], placed: Sequence[PartFit], main: int
) -> int:
    """The most members of the main part; the other parts need their seats too."""
    most = placed[main].most
    if len(parts) == 1:
        return most
    for _ in range(_LARGEST_TRIES):
        if most <= 0:
            return 0
        snapshot = begun()
        trial = [_place(snapshot, Part(parts[main].role, most, parts[main].shape))]
        trial += [_place(snapshot, one) for at, one in enumerate(parts) if at != main]
        short = sum(item.missing for item in trial)
        if not short:
            return most
        most -= 1
    return most


def _remedies(
    snapshot: ClusterSnapshot, placed: Sequence[PartFit], order: Sequence[int]
) -> tuple[FitRemedy, ...]:
    """For the first part that misses members, with the parts before it in their places."""
    for at in order:
        one = placed[at]
        if one.missing:
            return remedies(snapshot, one.part, one.node_fits, one.most)
        for node, count in one.places.items():
            snapshot.place(one.part.shape, node, count)
    return ()


def _push(snapshot: ClusterSnapshot, placed: Sequence[PartFit]) -> Push | None:
    short = next(item for item in placed if item.missing)
    return preempt(snapshot, short.part, short.node_fits, short.missing)


def _pieces(first: PartFit) -> Pieces:
    """What is free of the GPUs that the main part asks for, on nodes that take it."""
    resource, each = first.part.shape.gpu_resource, first.part.shape.gpus
    asked = [name for name, _ in first.part.shape.requests]
    at = asked.index(resource) if resource in asked else -1
    free_gpus = block = scattered = matching = 0
    reasons: dict[str, int] = {}
    for item in first.node_fits:
        if resource and not _shows(item, resource):
            continue
        matching += 1
        is_too_small = bool(resource) and not item.blocks and 0 < _whole(item, resource) < each
        if resource and not item.blocks:
            free = max(0, item.free[at])
            free_gpus += free
            block = max(block, free)
            scattered += 0 if is_too_small else free % each if free >= each else free
        if item.blocks or not item.room:
            why = obstacle_words(item)
            if is_too_small:
                whole = _whole(item, resource)
                why = f"with {whole} {resource_word(resource, whole)} in all"
            reasons[why] = reasons.get(why, 0) + 1
    ordered = sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
    return Pieces(free_gpus, block, scattered, matching, tuple(ordered))


def _shows(node_fit: NodeFit, resource: str) -> bool:
    node = node_fit.node
    if node.allocatable:
        return bool(dict(node.allocatable).get(resource))
    return bool(node.gpu_allocatable) and node.gpu_resource in ("", resource)


def _whole(node_fit: NodeFit, resource: str) -> int:
    """What the node has of the resource, free or not."""
    node = node_fit.node
    return dict(node.allocatable).get(resource, 0) if node.allocatable else node.gpu_allocatable or 0


def _notes(parts: Sequence[Part], around: Surroundings) -> tuple[str, ...]:
    """What a careful reader has to know about the answer."""
    found = []
    if around.claims is None and any(part.shape.claims for part in parts):
        found.append("volumes were not checked")
    return tuple(found)


# ---- competing pods


def seats_at_most(shape: Shape, rivals: Sequence[Part]) -> int:
    """The most members of that shape that competing pods can keep from a seat, on any nodes."""
    asked = _asked(shape)
    lost = 0
    for item in rivals:
        taken = _asked(item.shape)
        lost += item.count * max((-(-taken[name] // each) for name, each in asked.items() if name in taken))
    return lost


def seats_lost(
    snapshot: ClusterSnapshot, shape: Shape, node_fits: Sequence[NodeFit], rivals: Sequence[Part]
) -> int:
    """The same, where these nodes take members of that shape: what a rival leaves of a node may still do, and
    some nodes it cannot go to."""
    looks = [item for item in node_fits if not item.blocks and item.room > 0]
    names = {item.node.name for item in looks}
    asked = _asked(shape)
    taken: dict[str, dict[str, int]] = {}
    for rival in rivals:
        for at in fit_nodes(snapshot, rival.shape, rival.count, names):
            if at.blocks or not at.room:
                continue
            held = taken.setdefault(at.node.name, {})
            for name, each in _asked(rival.shape).items():
                held[name] = held.get(name, 0) + each * at.room
    lost = 0
    for look in looks:
        if held := taken.get(look.node.name, {}):
            free = zip(asked.items(), look.free, strict=True)
            left = min(max(0, there - held.get(name, 0)) // each for (name, each), there in free)
            lost += max(0, look.room - left)
    return min(lost, seats_at_most(shape, rivals))


def _asked(shape: Shape) -> Mapping[str, int]:
    """In the order of `NodeFit.free`."""
    return {**dict(shape.requests), "pods": 1}
