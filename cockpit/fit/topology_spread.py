"""How many members find a seat when they mind each other: topology spread, (anti-)affinity among themselves.

Without such wishes seats just add up. With one hard spread constraint the most is exact and the same in
whatever order the scheduler goes. With several wishes at once it may depend on the order: where they are few
every order is tried, else two of them; what not all of these find is marked as not sure.
"""

import heapq
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cockpit.fit.inter_pod_affinity import PodAffinityFilter, concerns, meets_all
from cockpit.fit.node_filters import NodeFit
from cockpit.fit.shape import Shape, Spread
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.k8s.node_affinity import NodeTerms, is_chosen
from cockpit.k8s.selectors import selects
from cockpit.k8s.tolerations import untolerated
from cockpit.model.record import Labels

_MOST_ORDERS = 256
"""So many states of a seating are looked at to try every order, among at most so many groups of nodes:"""
_MOST_GROUPS = 16
_STEPS = 20_000
"""Most members that are seated one by one where no closed form exists."""


class Seats(NamedTuple):
    """A node that takes up to `room` members."""

    node: str
    room: int
    labels: Mapping[str, str]


class Seating(NamedTuple):
    """Members by node, the most that find a seat, and whether every order of seating finds as many."""

    places: dict[str, int]
    most: int
    is_sure: bool = True


class Wishes:
    """What the members of one shape mind about each other, counted over the pods that are there."""

    def __init__(self, snapshot: ClusterSnapshot, shape: Shape) -> None:
        spaces = snapshot.around.namespaces or {}
        own = dict(shape.labels)
        self.spreads = [SpreadCount(snapshot, shape, item) for item in shape.spreads]
        self.alone_in = tuple(
            dict.fromkeys(
                item.topology_key for item in shape.keeps_away if concerns(item, shape.namespace, own, spaces)
            )
        )
        self.together_in: tuple[str, ...] = ()
        if (
            shape.near
            and meets_all(shape.near, shape, spaces)
            and PodAffinityFilter(snapshot, shape).starts_itself
        ):
            self.together_in = tuple(dict.fromkeys(item.topology_key for item in shape.near))

    @property
    def is_empty(self) -> bool:
        """True when seats just add up."""
        return not (self.spreads or self.alone_in or self.together_in)


class SpreadCount:
    """Matching pods in each domain of one constraint."""

    def __init__(self, snapshot: ClusterSnapshot, shape: Shape, spread: Spread) -> None:
        self.key = spread.key
        self.max_skew = spread.max_skew
        own = dict(shape.labels)
        self.counts_itself = selects(spread.selector, own)
        self.counts: dict[str, int] = {}
        keys = [item.key for item in shape.spreads]
        eligible: set[str] = set()
        terms = None if shape.node_terms is None else NodeTerms(shape.node_terms)
        for name in snapshot.nodes:
            labels = snapshot.labels(name)
            if all(key in labels for key in keys) and _takes_part(snapshot, shape, terms, spread, name):
                eligible.add(name)
                self.counts.setdefault(labels[spread.key], 0)
        if spread.selector:  # an empty selector chooses all and counts none
            self._count(snapshot, shape, spread, eligible)
        else:
            self.counts_itself = False
        self.has_few_domains = len(self.counts) < spread.min_domains

    def _count(self, snapshot: ClusterSnapshot, shape: Shape, spread: Spread, eligible: set[str]) -> None:
        known: dict[Labels, bool] = {}
        for item in snapshot.present((shape.namespace,)):
            if item.is_leaving or item.node not in eligible:
                continue
            minds = known.get(item.labels)
            if minds is None:
                minds = known[item.labels] = selects(spread.selector, dict(item.labels))
            if minds:
                self.counts[snapshot.labels(item.node)[spread.key]] += item.members

    def is_full(self, value: str) -> bool:
        """Whether one more there is too many, as things are."""
        least = 0 if self.has_few_domains else min(self.counts.values(), default=0)
        return self.counts.get(value, 0) + self.counts_itself - least > self.max_skew

    def add_domain(self, value: str) -> None:
        """A node that is not there yet brings its domain along."""
        self.counts.setdefault(value, 0)


def _takes_part(
    snapshot: ClusterSnapshot, shape: Shape, terms: NodeTerms | None, spread: Spread, name: str
) -> bool:
    labels, node = snapshot.labels(name), snapshot.nodes[name]
    if spread.honors_affinity and not is_chosen(shape.node_selector, terms, name, labels):
        return False
    if spread.honors_taints:
        return untolerated(node.taints, shape.tolerations) is None
    return True


def seats_of(snapshot: ClusterSnapshot, node_fits: Sequence[NodeFit]) -> list[Seats]:
    """Seats on nodes where only room decides."""
    return [
        Seats(item.node.name, item.room, snapshot.labels(item.node.name))
        for item in node_fits
        if item.room > 0 and not item.blocks
    ]


def seat(seats: Sequence[Seats], wishes: Wishes, wanted: int) -> Seating:
    """Seat up to `wanted` members: the fewest nodes where nothing else is wished."""
    if not wishes.together_in:
        return _seat_apart(seats, wishes, wanted)
    groups: dict[tuple[str, ...], list[Seats]] = {}
    for seat in seats:
        values = tuple(seat.labels.get(key, "") for key in wishes.together_in)
        groups.setdefault(values, []).append(seat)
    found = [_seat_apart(group, wishes, wanted) for _, group in sorted(groups.items())]
    if not found:
        return Seating({}, 0)
    best = max(found, key=lambda one: one.most)
    # The first member chooses the group, and the scheduler does not look ahead.
    return best._replace(is_sure=best.is_sure and all(min(item.most, wanted) >= wanted for item in found))


def _seat_apart(seats: Sequence[Seats], wishes: Wishes, wanted: int) -> Seating:
    usable = [seat for seat in seats if all(each.key in seat.labels for each in wishes.spreads)]
    if not wishes.spreads and not wishes.alone_in:
        ordered = sorted(usable, key=lambda one: (-one.room, one.node))
        return Seating(_fill(ordered, wanted), sum(item.room for item in ordered))
    keys = (*wishes.alone_in, *(item.key for item in wishes.spreads))
    if len(keys) == 1:
        most = _most_alone(usable, keys[0]) if wishes.alone_in else _most_spread(usable, wishes.spreads[0])
        return Seating(_Table(usable, wishes).fill(min(wanted, most)), most)
    if (walked := _Orders(usable, wishes).seating(wanted)) is not None:
        return walked
    found = [_Table(usable, wishes, fullest=fullest).fill(_STEPS) for fullest in (False, True)]
    sums = [sum(places.values()) for places in found]
    best = max(range(2), key=lambda at: sums[at])
    places = _Table(usable, wishes, fullest=bool(best)).fill(min(wanted, sums[best]))
    return Seating(places, sums[best], min(sums) >= min(wanted, sums[best]))


def _fill(seats: Sequence[Seats], wanted: int) -> dict[str, int]:
    places: dict[str, int] = {}
    left = wanted
    for seat in seats:
        if left <= 0:
            break
        places[seat.node] = min(seat.room, left)
        left -= seat.room
    return places


def _most_alone(seats: Sequence[Seats], key: str) -> int:
    """One member in each domain, and all seats of nodes without the label."""
    domains = {seat.labels[key] for seat in seats if key in seat.labels}
    return len(domains) + sum(seat.room for seat in seats if key not in seat.labels)


def _most_spread(seats: Sequence[Seats], spread: SpreadCount) -> int:
    """The lowest domain can always take one more while it has room; the others follow it at `max_skew`."""
    room: dict[str, int] = {}
    for seat in seats:
        value = seat.labels[spread.key]
        room[value] = room.get(value, 0) + seat.room
    counts = spread.counts
    if not spread.counts_itself:
        least = 0 if spread.has_few_domains else min(counts.values(), default=0)
        return sum(free for value, free in room.items() if counts.get(value, 0) - least <= spread.max_skew)
    if spread.has_few_domains:
        lowest = 0
    else:
        lowest = min((count + room.get(value, 0) for value, count in counts.items()), default=0)
    return sum(
        min(free, max(0, lowest + spread.max_skew - counts.get(value, 0))) for value, free in room.items()
    )


class _TooMany(Exception):
    """There are more orders than are tried."""


class _Orders:
    """Every order in which a scheduler may seat members, where they are few. Several constraints together
    hang on it: who sits first may take the only domain in which another one could have sat."""

    def __init__(self, seats: Sequence[Seats], wishes: Wishes) -> None:
        self._spreads, self._alone_in = wishes.spreads, wishes.alone_in
        groups: dict[tuple[str | None, ...], list[str]] = {}
        keys = (*(item.key for item in wishes.spreads), *wishes.alone_in)
        for seat in sorted(seats, key=lambda one: one.node):
            values = tuple(seat.labels.get(key) for key in keys)
            groups.setdefault(values, []).extend([seat.node] * min(seat.room, _MOST_ORDERS))
        self._values, self._nodes = list(groups), list(groups.values())
        self._seen: dict[tuple[int, ...], tuple[int, int, int]] = {}

    def seating(self, wanted: int) -> Seating | None:
        """Where most find a seat; sure where as many do in every order. None: too many to try."""
        taken = (0,) * len(self._values)
        if len(taken) > _MOST_GROUPS:
            return None
        try:
            fewest, most, _ = self._ends(taken)
        except _TooMany:
            return None
        places: dict[str, int] = {}
        for _ in range(min(wanted, most)):
            at = self._seen[taken][2]
            node = self._nodes[at][taken[at]]
            places[node] = places.get(node, 0) + 1
            taken = _with_one(taken, at)
        return Seating(places, most, fewest >= min(wanted, most))

    def _ends(self, taken: tuple[int, ...]) -> tuple[int, int, int]:
        """How many sit in the end, at least and at most, and in which group the next sits for the most."""
        known = self._seen.get(taken)
        if known is not None:
            return known
        if len(self._seen) >= _MOST_ORDERS:
            raise _TooMany
        self._seen[taken] = known = (sum(taken), sum(taken), -1)  # counts as tried while it is
        ends = [(*self._ends(_with_one(taken, at))[:2], at) for at in self._next(taken)]
        if ends:
            best = max(ends, key=lambda one: one[1])
            known = self._seen[taken] = (min(item[0] for item in ends), best[1], best[2])
        return known

    def _next(self, taken: tuple[int, ...]) -> list[int]:
        """Groups in which one more may sit."""
        lonely, least = len(self._spreads), []
        counts = [dict(item.counts) for item in self._spreads]
        alone: set[tuple[str, str | None]] = set()
        for values, number in zip(self._values, taken, strict=True):
            for at, spread in enumerate(self._spreads):
                if number and spread.counts_itself:
                    counts[at][values[at] or ""] = counts[at].get(values[at] or "", 0) + number
            if number:
                alone.update(zip(self._alone_in, values[lonely:], strict=True))
        for at, spread in enumerate(self._spreads):
            least.append(0 if spread.has_few_domains else min(counts[at].values(), default=0))
        found = []
        for at, values in enumerate(self._values):
            own = zip(self._alone_in, values[lonely:], strict=True)
            if taken[at] >= len(self._nodes[at]) or any(
                item[1] is not None and item in alone for item in own
            ):
                continue
            skews = (
                counts[number].get(values[number] or "", 0) + one.counts_itself - least[number] > one.max_skew
                for number, one in enumerate(self._spreads)
            )
            if not any(skews):
                found.append(at)
        return found


def _with_one(taken: tuple[int, ...], at: int) -> tuple[int, ...]:
    return (*taken[:at], taken[at] + 1, *taken[at + 1 :])


class _Table:
    """Members take seats one by one, each in the emptiest (or fullest) group of domains that may take it."""

    def __init__(self, seats: Sequence[Seats], wishes: Wishes, *, fullest: bool = False) -> None:
        self._alone_in = wishes.alone_in
        self._taken: set[tuple[str, str]] = set()
        self._sign = -1 if fullest else 1
        self._spreads = wishes.spreads
        self._counts = [dict(item.counts) for item in wishes.spreads]
        self._least = [0] * len(self._counts)
        self._lowly = [0] * len(self._counts)  # domains at the lowest count
        for at in range(len(self._counts)):
            self._measure(at)
        self._groups: dict[tuple[str | None, ...], list[list[int | str]]] = {}
        keys = (*(item.key for item in wishes.spreads), *wishes.alone_in)
        for seat in sorted(seats, key=lambda one: (one.room * self._sign, one.node)):
            values = tuple(seat.labels.get(key) for key in keys)
            self._groups.setdefault(values, []).append([seat.node, seat.room])

    def fill(self, wanted: int) -> dict[str, int]:
        """Members by node, until all sit or none may sit any more."""
        places: dict[str, int] = {}
        heap = [(self._weight(values), number, values) for number, values in enumerate(self._groups)]
        heapq.heapify(heap)
        parked: list[tuple[int, int, tuple[str | None, ...]]] = []
        left = wanted
        while heap and left > 0:
            weight, number, values = heapq.heappop(heap)
            now = self._weight(values)
            if now != weight:
                heapq.heappush(heap, (now, number, values))
                continue
            if any(pair in self._taken for pair in self._lonely(values)):
                continue
            if not self._may_sit(values):
                parked.append((weight, number, values))
                continue
            node = self._sit(values)
            places[node] = places.get(node, 0) + 1
            left -= 1
            if self._groups[values]:
                heapq.heappush(heap, (self._weight(values), number, values))
            if self._rises(values):
                for entry in parked:
                    heapq.heappush(heap, entry)
                parked.clear()
        return places

    def _weight(self, values: tuple[str | None, ...]) -> int:
        return self._sign * sum(
            counts.get(value or "", 0) for counts, value in zip(self._counts, values, strict=False)
        )

    def _lonely(self, values: tuple[str | None, ...]) -> list[tuple[str, str]]:
        own = zip(self._alone_in, values[len(self._spreads) :], strict=True)
        return [(key, value) for key, value in own if value is not None]

    def _may_sit(self, values: tuple[str | None, ...]) -> bool:
        for at, spread in enumerate(self._spreads):
            count = self._counts[at].get(values[at] or "", 0)
            if count + spread.counts_itself - self._least[at] > spread.max_skew:
                return False
        return True

    def _sit(self, values: tuple[str | None, ...]) -> str:
        self._taken.update(self._lonely(values))
        for at, spread in enumerate(self._spreads):
            if spread.counts_itself:
                value = values[at] or ""
                self._counts[at][value] = self._counts[at].get(value, 0) + 1
        rooms = self._groups[values]
        last = rooms[-1]
        last[1] = int(last[1]) - 1
        if not last[1]:
            rooms.pop()
        return str(last[0])

    def _rises(self, values: tuple[str | None, ...]) -> bool:
        """Whether a lowest count has risen with the member that just sat down."""
        risen = False
        for at, spread in enumerate(self._spreads):
            if not spread.counts_itself or self._counts[at][values[at] or ""] - 1 > self._least[at]:
                continue
            self._lowly[at] -= 1
            if self._lowly[at] <= 0 and not spread.has_few_domains:
                self._measure(at)
                risen = True
        return risen

    def _measure(self, at: int) -> None:
        counts = self._counts[at].values()
        self._least[at] = 0 if self._spreads[at].has_few_domains else min(counts, default=0)
        self._lowly[at] = sum(1 for count in counts if count == self._least[at])
