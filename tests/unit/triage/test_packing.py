"""The fewest nodes, held against trying every placement; two hundred small cases drawn by seed."""

from functools import cache
from random import Random

import pytest

from cockpit.triage.packing import NodeKind, Packing, PodKind, pack


def drawn(seed: int) -> tuple[list[NodeKind], list[PodKind]]:
    """A few kinds of nodes and of pods that ask for GPUs, CPU and memory."""
    random = Random(seed)
    nodes = [
        NodeKind(
            (random.choice((2, 4, 8)), random.randint(4, 16), random.randint(4, 16)), random.randint(1, 3)
        )
        for _ in range(random.randint(1, 3))
    ]
    pods = []
    for _ in range(random.randint(1, 4)):
        kinds = frozenset(random.sample(range(len(nodes)), random.randint(1, len(nodes))))
        asks = (random.choice((0, 1, 1, 2, 4)), random.randint(1, 8), random.randint(1, 8))
        pods.append(PodKind(asks, random.randint(1, 2), kinds, random.random() < 0.3))
    return nodes, pods


def brute(nodes: list[NodeKind], pods: list[PodKind]) -> int | None:
    """Every pod on every node, node by node; None where not all find a place."""
    offers = tuple((kind, one.offers) for kind, one in enumerate(nodes) for _ in range(one.count))
    each = tuple((number, one) for number, one in enumerate(pods) for _ in range(one.count))

    @cache
    def go(at: int, state: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]) -> int | None:
        if at == len(each):
            return sum(left != offers[place][1] or bool(on) for place, (left, on) in enumerate(state))
        number, pod = each[at]
        best: int | None = None
        for place, (left, on) in enumerate(state):
            if offers[place][0] not in pod.kinds or any(h < a for h, a in zip(left, pod.asks, strict=True)):
                continue
            if pod.is_alone and number in on:
                continue
            after = tuple(h - a for h, a in zip(left, pod.asks, strict=True))
            found = go(at + 1, (*state[:place], (after, tuple(sorted((*on, number)))), *state[place + 1 :]))
            if found is not None and (best is None or found < best):
                best = found
        return best

    return go(0, tuple((one, ()) for _, one in offers))


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_it_is_exact_on_small_cases(first: int) -> None:
    placed = 0
    for seed in range(first, first + 50):
        nodes, pods = drawn(seed)
        found, best = pack(nodes, pods), brute(nodes, pods)
        if best is None:
            assert found.unplaced > 0, seed
            continue
        placed += 1
        assert found == Packing(best, best), (seed, nodes, pods)
    assert placed > 15


def test_fewer_than_at_least_is_never_claimed() -> None:
    for seed in range(300, 340):
        random = Random(seed)
        nodes = [NodeKind((8, 64, 512), 60), NodeKind((4, 96, 256), 30)]
        pods = [
            PodKind((random.choice((1, 2, 3, 4, 5)), random.randint(1, 30), random.randint(1, 200)), 25,
                    frozenset(random.choice(((0,), (1,), (0, 1)))))
            for _ in range(6)
        ]  # fmt: skip
        found = pack(nodes, pods)
        asked = sum(one.asks[0] * one.count for one in pods)
        assert 0 < found.at_least <= found.nodes <= 90
        assert found.at_least >= asked / 8 - 90


def test_nothing_needs_no_node() -> None:
    assert pack([NodeKind((8,), 3)], []) == Packing(0, 0)


def test_lone_pods_take_a_node_each() -> None:
    nodes = [NodeKind((8, 64), 4)]
    assert pack(nodes, [PodKind((1, 1), 3, frozenset({0}), is_alone=True)]).nodes == 3
    assert pack(nodes, [PodKind((1, 1), 5, frozenset({0}), is_alone=True)]).unplaced == 1
