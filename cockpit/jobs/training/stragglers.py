"""Which rank is slower than its peers, by what each spends on its own before the gradients are exchanged.

In a synchronous run every rank's step takes as long as the slowest one's, so wall times tell nothing: the
time before the all-reduce does. Of each interval the ratio to the median of the other ranks is taken (what
slows all of them down cancels out), of each rank the median over the last intervals (single hiccups do not
count), and that is compared with how such medians scatter: within the rank's own intervals and between ranks.
"""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final, NamedTuple

WINDOWS: Final = ((12, 6.0), (48, 5.0))
"""(newest intervals, robust deviations that make an alarm): the short one sees what has begun just now and
estimates its noise worse."""
LEAST_INTERVALS: Final = 8
LEAST_EXCESS: Final = 0.05
"""Slower by less costs little and is within what cards of one model differ by."""
LEAST_EXCESS_OF_FEW: Final = 0.15
FEW_RANKS: Final = 4
"""Of fewer ranks how far they usually differ cannot be seen."""
CARDS_DIFFER: Final = 0.015
"""Standard deviation among sound cards of one model, at the least: of a handful of ranks the seen one may be
nothing by chance."""
CERTAIN_SCORE: Final = 10.0
_TO_SIGMA: Final = 1.4826
_OF_MEDIAN: Final = 1.2533
"""The standard error of a median beside that of a mean, of normal noise."""

Computes = Sequence[tuple[int, float]]
"""(step, seconds) of one rank, the newest last."""


class Straggler(NamedTuple):
    """A rank that is slower than its peers: by `excess` of their time (0.08 is 8 %), with that many robust
    deviations."""

    rank: int
    excess: float
    score: float

    @property
    def is_certain(self) -> bool:
        """Far beyond what noise does; else it is likely."""
        return self.score >= CERTAIN_SCORE


def stragglers(computes: Mapping[int, Computes]) -> tuple[Straggler, ...]:
    """The slow ranks, the slowest first; () with one rank, or with too few intervals that several told."""
    found: dict[int, Straggler] = {}
    ratios = _ratios(computes)
    for intervals, limit in WINDOWS:
        for item in _slow(ratios, intervals, limit):
            if item.rank not in found or item.score > found[item.rank].score:
                found[item.rank] = item
    return tuple(sorted(found.values(), key=lambda one: (-one.excess, one.rank)))


def _ratios(computes: Mapping[int, Computes]) -> dict[int, list[float]]:
    """Of each rank the time beside that of its peers, interval by interval, the oldest first."""
    by_step: dict[int, dict[int, float]] = {}
    for rank, told in computes.items():
        for step, seconds in told:
            if seconds > 0:
                by_step.setdefault(step, {})[rank] = seconds
    ratios: dict[int, list[float]] = {}
    for step in sorted(by_step):
        at = by_step[step]
        if 2 * len(at) < len(computes) or len(at) < 2:
            continue  # told by the few that are ahead: peers are missing
        whole = sorted(at.values())
        for rank, seconds in at.items():
            ratios.setdefault(rank, []).append(seconds / _median_without(whole, seconds))
    return ratios


def _median_without(ordered: Sequence[float], one: float) -> float:
    """The median of the others, in constant time but for finding nothing."""
    count = len(ordered) - 1
    middle = ordered[count // 2 + (ordered[count // 2] >= one)]
    if count % 2:
        return middle
    below = ordered[count // 2 - 1 + (ordered[count // 2 - 1] >= one)]
    return (middle + below) / 2


def _slow(ratios: Mapping[int, Sequence[float]], intervals: int, limit: float) -> list[Straggler]:
    windows = {rank: one[-intervals:] for rank, one in ratios.items() if len(one) >= LEAST_INTERVALS}
    if len(windows) < 2:
        return []
    usual = {rank: median(one) for rank, one in windows.items()}
    noise = {rank: _TO_SIGMA * _spread(one) for rank, one in windows.items()}
    pooled = median(noise.values())
    centre = median(usual.values())
    is_few = len(windows) < FEW_RANKS
    # of two or three ranks the distances are those of the slow one itself
    between = CARDS_DIFFER if is_few else max(CARDS_DIFFER, _TO_SIGMA * _spread(list(usual.values())))
    least = LEAST_EXCESS_OF_FEW if is_few else LEAST_EXCESS
    found = []
    for rank, value in usual.items():
        # with two or three ranks the centre is moved by the slow one itself: its peers are its measure
        excess = value - 1.0 if is_few else value / centre - 1.0
        error = _OF_MEDIAN * max(noise[rank], pooled) / len(windows[rank]) ** 0.5
        score = excess / (between**2 + error**2) ** 0.5
        if excess >= least and score >= limit:
            found.append(Straggler(rank, excess, score))
    return found


def _spread(values: Sequence[float]) -> float:
    """Median distance from the median."""
    middle = median(values)
    return median(abs(value - middle) for value in values)


LEAST_DEVIATION: Final = 0.1
"""Of the median: peers that do exactly the same would make any difference a great one."""
LEAST_GAP: Final = 0.4
"""Of the median: one sample of a gauge tells nothing of less."""
ODD_SCORE: Final = 4.0


class OddGauge(NamedTuple):
    """A value beside the median of its peers, with that many robust deviations (negative: below)."""

    value: float
    median: float
    score: float

    @property
    def is_certain(self) -> bool:
        return abs(self.score) >= 2 * ODD_SCORE


def odd_ones(values: Mapping[str, float]) -> dict[str, OddGauge]:
    """Whose gauge (duty, CPU) is far from its peers'; {} with fewer than four, or where peers do nothing."""
    if len(values) < FEW_RANKS:
        return {}
    middle = median(values.values())
    if middle <= 0:
        return {}
    sigma = max(_TO_SIGMA * _spread(list(values.values())), LEAST_DEVIATION * middle)
    scored = {key: OddGauge(one, middle, (one - middle) / sigma) for key, one in values.items()}
    return {
        key: one
        for key, one in scored.items()
        if abs(one.score) >= ODD_SCORE and abs(one.value - middle) >= LEAST_GAP * middle
    }
