"""How few nodes hold a load: vector bin packing over kinds of nodes, exact where that is quick to prove.

Alike nodes and alike pods are counted, not named, so that 2,500 nodes are a few dozen numbers. A best-fit of
the largest first gives a packing; sums give a number below which none can go. Where the two differ a bounded
search closes the gap, else both are told.
"""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

_STEPS: Final = 40_000
_SEARCHED_PODS: Final = 40
"""Beyond so many pods the search is not begun: it would not end."""

Amounts = tuple[int, ...]
"""One number for each resource, in the same order everywhere."""


class NodeKind(msgspec.Struct, frozen=True):
    """`count` nodes that offer the same."""

    offers: Amounts
    count: int


class PodKind(msgspec.Struct, frozen=True):
    """`count` pods that ask for the same and may be on the same kinds of nodes (indexes). `is_alone`: no two
    of them on one node."""

    asks: Amounts
    count: int
    kinds: frozenset[int]
    is_alone: bool = False


class Packing(NamedTuple):
    """`nodes` hold the load, fewer than `at_least` cannot; `unplaced` pods find no node at all."""

    nodes: int
    at_least: int
    unplaced: int = 0

    @property
    def is_exact(self) -> bool:
        """True where fewer nodes are proved not to do."""
        return self.nodes == self.at_least


class _Open(NamedTuple):
    """A node in use: its kind, what is left, and which lone pods it has (indexes of pod kinds)."""

    kind: int
    left: Amounts
    lone: frozenset[int] = frozenset()


def pack(nodes: Sequence[NodeKind], pods: Sequence[PodKind]) -> Packing:
    """The fewest nodes on which all pods find a place, as far as it can be proved."""
    order = sorted(range(len(pods)), key=lambda at: (-_size(nodes, pods[at]), pods[at].asks, at))
    load = [pods[at] for at in order]
    used, unplaced = _best_fit(nodes, load)
    least = _least(nodes, load)
    if (used != least or unplaced) and sum(one.count for one in load) <= _SEARCHED_PODS:
        search = _Search(nodes, load, used if not unplaced else sum(one.count for one in nodes) + 1)
        found = search.run()
        if search.is_done and (found is not None or not unplaced):
            return Packing(found or used, found or used)
    return Packing(used, min(least, used), unplaced)


def _size(nodes: Sequence[NodeKind], pod: PodKind) -> float:
    """The largest share of a node that it takes, on the kind where it takes least."""
    shares = []
    for kind in pod.kinds:
        pairs = zip(pod.asks, nodes[kind].offers, strict=True)
        parts = ((ask / offer if offer else math.inf) for ask, offer in pairs if ask)
        shares.append(max(parts, default=0.0))
    return min(shares, default=math.inf)


def _rooms(left: Amounts, asks: Amounts) -> int:
    return min((have // ask for have, ask in zip(left, asks, strict=True) if ask), default=1 << 30)


def _less(left: Amounts, asks: Amounts, times: int) -> Amounts:
    return tuple(have - ask * times for have, ask in zip(left, asks, strict=True))


def _best_fit(nodes: Sequence[NodeKind], load: Sequence[PodKind]) -> tuple[int, int]:
    """(nodes in use, pods without a place); nodes in the same state move together."""
    states: dict[_Open, int] = {}
    free = [one.count for one in nodes]
    unplaced = 0
    for number, pod in enumerate(load):
        missing = pod.count
        fitting = [state for state in states if state.kind in pod.kinds and _rooms(state.left, pod.asks) > 0]
        fitting.sort(key=lambda state: (state.left, state.kind))
        for state in fitting:
            if not missing:
                break
            missing -= _fill(states, state, states[state], (number, pod), missing)
        while missing:
            kind = _best_kind(nodes, free, pod)
            if kind is None:
                unplaced += missing
                break
            fresh = _Open(kind, nodes[kind].offers)
            each = 1 if pod.is_alone else _rooms(fresh.left, pod.asks)
            count = min(free[kind], math.ceil(missing / each))
            free[kind] -= count
            states[fresh] = states.get(fresh, 0) + count
            missing -= _fill(states, fresh, count, (number, pod), missing)
    return sum(states.values()), unplaced


def _best_kind(nodes: Sequence[NodeKind], free: Sequence[int], pod: PodKind) -> int | None:
    """The kind of which one node takes most of them, of several the smallest."""
    able = [kind for kind in pod.kinds if free[kind] and _rooms(nodes[kind].offers, pod.asks) > 0]
    return max(
        able,
        key=lambda kind: (_rooms(nodes[kind].offers, pod.asks), [-one for one in nodes[kind].offers], -kind),
        default=None,
    )


def _fill(
    states: dict[_Open, int], state: _Open, nodes: int, numbered: tuple[int, PodKind], missing: int
) -> int:
    """Put up to `missing` pods on up to `nodes` nodes of that state; how many were put."""
    number, pod = numbered
    each = 1 if pod.is_alone else _rooms(state.left, pod.asks)
    if pod.is_alone and number in state.lone:
        return 0
    full, rest = divmod(missing, each)
    full, rest = (nodes, 0) if full >= nodes else (full, rest)
    lone = state.lone | {number} if pod.is_alone else state.lone
    for count, pods in ((full, each), (1 if rest else 0, rest)):
        if count:
            states[state] -= count
            after = _Open(state.kind, _less(state.left, pod.asks, pods), lone)
            states[after] = states.get(after, 0) + count
    if not states[state]:
        del states[state]
    return full * each + rest


def _least(nodes: Sequence[NodeKind], load: Sequence[PodKind]) -> int:
    """No packing has fewer: what the load asks for in all, on the largest nodes, the largest nodes first."""
    if not load:
        return 0
    found = 1
    for at in range(len(load[0].asks)):
        asked = sum(one.asks[at] * one.count for one in load)
        found = max(found, _covering(nodes, at, asked))
    alone = max((one.count for one in load if one.is_alone), default=0)
    return max(found, alone, _by_kinds(nodes, load))


def _covering(nodes: Sequence[NodeKind], at: int, asked: int) -> int:
    used = 0
    for kind in sorted(nodes, key=lambda one: -one.offers[at]):
        if asked <= 0:
            break
        if not kind.offers[at]:
            continue
        count = min(kind.count, math.ceil(asked / kind.offers[at]))
        used += count
        asked -= count * kind.offers[at]
    return used


def _by_kinds(nodes: Sequence[NodeKind], load: Sequence[PodKind]) -> int:
    """Pods that share no kind of node need nodes of their own: the sum over groups that touch each other."""
    groups: list[tuple[frozenset[int], list[PodKind]]] = []
    for pod in load:
        mine = [group for group in groups if group[0] & pod.kinds]
        kinds = frozenset(pod.kinds).union(*(group[0] for group in mine))
        pods = [pod, *(one for group in mine for one in group[1])]
        groups = [group for group in groups if group not in mine] + [(kinds, pods)]
    total = 0
    for kinds, pods in groups:
        some = [nodes[kind] for kind in kinds]
        needed = 1
        for at in range(len(pods[0].asks)):
            needed = max(needed, _covering(some, at, sum(one.asks[at] * one.count for one in pods)))
        big = sum(one.count for one in pods if _is_big(some, one))
        total += max(needed, big)
    return total


def _is_big(nodes: Sequence[NodeKind], pod: PodKind) -> bool:
    """No node takes two of those that are as large: more than half of one resource, on every kind."""
    return (
        any(all(2 * ask > kind.offers[at] for kind in nodes) for at, ask in enumerate(pod.asks) if ask)
        and len({tuple(one.offers) for one in nodes}) == 1
    )


class _Search:
    """Every way to place the pods, one after the other, as long as it may still beat the best."""

    def __init__(self, nodes: Sequence[NodeKind], load: Sequence[PodKind], best: int) -> None:
        self._nodes = nodes
        self._pods = [(number, pod) for number, pod in enumerate(load) for _ in range(pod.count)]
        self._best = best
        self._found: int | None = None
        self._steps = 0
        self._seen: set[tuple[int, tuple[_Open, ...], tuple[int, ...]]] = set()
        self.is_done = True

    def run(self) -> int | None:
        """The fewest nodes; None where none is better than the best given."""
        self._go(0, (), tuple(one.count for one in self._nodes))
        return self._found

    def _go(self, at: int, opened: tuple[_Open, ...], free: tuple[int, ...]) -> None:
        self._steps += 1
        if self._steps > _STEPS:
            self.is_done = False
            return
        if len(opened) >= self._best:
            return
        if at == len(self._pods):
            self._best = self._found = len(opened)
            return
        alike = sorted(opened, key=lambda one: (one.kind, one.left, tuple(sorted(one.lone))))
        key = (at, tuple(alike), free)
        if key in self._seen:
            return
        self._seen.add(key)
        number, pod = self._pods[at]
        for place, one in enumerate(opened):
            if one in opened[:place] or one.kind not in pod.kinds or not _rooms(one.left, pod.asks):
                continue
            if pod.is_alone and number in one.lone:
                continue
            after = self._put(one, pod, number)
            self._go(at + 1, (*opened[:place], after, *opened[place + 1 :]), free)
        for kind in sorted(pod.kinds):
            if free[kind] and _rooms(self._nodes[kind].offers, pod.asks):
                fresh = self._put(_Open(kind, self._nodes[kind].offers), pod, number)
                less = (*free[:kind], free[kind] - 1, *free[kind + 1 :])
                self._go(at + 1, (*opened, fresh), less)

    @staticmethod
    def _put(one: _Open, pod: PodKind, number: int) -> _Open:
        lone = one.lone | {number} if pod.is_alone else one.lone
        return _Open(one.kind, _less(one.left, pod.asks, 1), lone)
