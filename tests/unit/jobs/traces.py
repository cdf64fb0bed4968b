"""Synthetic traces of what ranks spend before the all-reduce. The generator knows nothing of the detector."""

from collections.abc import Mapping
from random import Random
from typing import NamedTuple


class Trace(NamedTuple):
    """(step, seconds) by rank, and the ranks that were made slow."""

    computes: dict[int, list[tuple[int, float]]]
    slow: frozenset[int]


def trace(seed: int, *, slow: int = 0) -> Trace:
    """One run of 2 to 64 ranks: cards that differ a little, noise of a few percent, hiccups of single ranks
    (a garbage collection, a slow read), slow phases of all together; `slow` of the ranks take a tenth to
    twice as long, from the beginning or from some moment on."""
    random = Random(seed)
    ranks = random.choice((2, 4, 8, 16, 32, 64)) if not slow else random.choice((4, 8, 16, 32, 64))
    intervals = random.randint(20, 64)
    step_seconds = 10 ** random.uniform(-2, 0.5)
    noise = random.uniform(0.01, 0.08)
    own = [random.gauss(1.0, 0.012) for _ in range(ranks)]
    chosen = random.sample(range(ranks), min(slow, max(1, ranks // 4)))
    factors = {rank: random.uniform(1.15, 2.0) for rank in chosen}
    begins = {rank: random.choice((0, 0, random.randint(0, intervals - 16))) for rank in chosen}
    hiccup = random.uniform(0.0, 0.03)
    phase = 1.0
    computes: dict[int, list[tuple[int, float]]] = {rank: [] for rank in range(ranks)}
    for interval in range(intervals):
        if random.random() < 0.05:
            phase = random.uniform(0.9, 1.6)
        for rank in range(ranks):
            seconds = step_seconds * phase * own[rank] * random.lognormvariate(0.0, noise)
            if random.random() < hiccup:
                seconds *= random.uniform(1.5, 6.0)
            if rank in factors and interval >= begins[rank]:
                seconds *= factors[rank]
            computes[rank].append((interval * 10, seconds))
    return Trace(computes, frozenset(chosen))


def as_lines(computes: Mapping[int, list[tuple[int, float]]]) -> list[str]:
    """The lines that a launcher's log would have, ranks mixed as they come."""
    size = len(computes)
    told = sorted((step, rank, seconds) for rank, one in computes.items() for step, seconds in one)
    return [
        f"[{rank}]<stdout>:progress step={step} seconds_per_step=0.5 compute_s={seconds:.5f}"
        f" rank={rank} size={size}"
        for step, rank, seconds in told
    ]
