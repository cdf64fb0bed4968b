"""How well ranges hold: the share of true waits inside, the share unknown, and the interval score of
Gneiting and Raftery (2007) for central 80 % intervals: width plus ten times what a true wait misses it by.
Lower is better."""

from collections.abc import Iterable, Sequence
from random import Random
from typing import NamedTuple

from cockpit.triage.expected import estimate
from tests.unit.triage.waits.play import Look

ALPHA = 0.2


class Score(NamedTuple):
    """Of looks that got a range: `inside` and the mean scores, ours and that of the quantiles of past waits;
    `unknown` is the share that got none."""

    looks: int
    unknown: float
    inside: float
    ours: float
    theirs: float
    their_inside: float

    @property
    def gain(self) -> float:
        """How far below theirs our mean score is."""
        return 1.0 - self.ours / self.theirs if self.theirs else 0.0


def interval_score(low: float, high: float, true: float) -> float:
    """Width, and 2/alpha times the distance by which the true value lies outside."""
    return (high - low) + 2 / ALPHA * (max(0.0, low - true) + max(0.0, true - high))


def past_quantiles(waits: Sequence[float]) -> tuple[float, float]:
    """The tenth and the ninetieth percentile of past waits."""
    ordered = sorted(waits)
    last = len(ordered) - 1
    return ordered[round(0.1 * last)], ordered[round(0.9 * last)]


def score(looks: Iterable[Look], seed: int = 1) -> Score:
    """Judge every look; the plays of each are drawn from a seed of its own."""
    count = unknown = inside = their_inside = 0
    ours = theirs = 0.0
    for count, look in enumerate(looks, 1):
        found = estimate(look.moment, look.history, Random(f"{seed} {count}"))
        if found.from_seconds is None or found.to_seconds is None:
            unknown += 1
            continue
        now, true = look.moment.now_seconds, look.waited_seconds
        low, high = found.from_seconds - now, found.to_seconds - now
        inside += low <= true <= high
        ours += interval_score(low, high, true)
        low, high = past_quantiles(look.past_waits)
        their_inside += low <= true <= high
        theirs += interval_score(low, high, true)
    shown = max(1, count - unknown)
    return Score(
        count, unknown / max(1, count), inside / shown, ours / shown, theirs / shown, their_inside / shown
    )
