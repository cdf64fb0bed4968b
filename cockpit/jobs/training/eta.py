"""When a run will have ended, as a range, from how fast it went so far."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, stdev
from typing import Final, NamedTuple

from cockpit.jobs.training.curve import Point

LEAST_POINTS: Final = 4
BLOCKS: Final = 12
"""Pieces of the run so far, of which each gives a pace: pauses for checkpoints are in some of them."""
SIGMAS: Final = 2.0
LEAST_DOUBT: Final = 0.02
"""Of the time that is left: no machine keeps its pace better for hours."""
SILENT_STEPS: Final = 5.0
"""Usual intervals without a step after which the former pace is void."""


class Eta(NamedTuple):
    """The end is expected between these moments (seconds since the epoch)."""

    from_seconds: float
    to_seconds: float


def eta(points: Sequence[Point], now_seconds: float) -> Eta | None:
    """From how much was done when: `points` hold fractions of the run, 0 to 1.

    None with fewer than a handful of points, where nothing is left to do, where nothing moves, or where the
    last step is longer ago than several usual intervals.
    """
    known = [(point.at_seconds, point.value) for point in points if point.at_seconds is not None]
    if len(known) > LEAST_POINTS:
        known = known[1:]  # the first interval is warm-up: compilation, caches, the first rendezvous
    if len(known) < LEAST_POINTS:
        return None
    (begun, first), (last_seconds, done) = known[0], known[-1]
    if done <= first or last_seconds <= begun or done >= 1.0:
        return None
    interval = (last_seconds - begun) / (len(known) - 1)
    if now_seconds - last_seconds > max(SILENT_STEPS * interval, 60.0):
        return None
    pace = (last_seconds - begun) / (done - first)
    paces = _paces(known)
    doubt = stdev(paces) / len(paces) ** 0.5 / fmean(paces) if len(paces) > 1 else 0.25
    width = (1.0 - done) * pace * min(0.5, max(LEAST_DOUBT, SIGMAS * doubt))
    middle = last_seconds + (1.0 - done) * pace
    return Eta(max(now_seconds, middle - width), max(now_seconds, middle + width))


def _paces(known: Sequence[tuple[float, float]]) -> list[float]:
    """Seconds a whole run would take, by each block."""
    blocks = min(BLOCKS, len(known) - 1)
    bounds = [known[n * (len(known) - 1) // blocks] for n in range(blocks + 1)]
    pairs = pairwise(bounds)
    return [(end - begin) / (more - less) for (begin, less), (end, more) in pairs if more > less]
