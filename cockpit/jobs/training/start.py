"""The way from submit to the first step, in parts: what each of them waits for."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

PARTS: Final = ("queue", "schedule", "pull", "start", "rendezvous", "first step")
GOAL_SECONDS: Final = 60.0
"""A job starts within a minute: what a platform's users wait for without leaving."""


class StartTime(NamedTuple):
    """Seconds from submit to the first step, and of its parts in their order. A part nobody tells the end of
    is not there: its time is in the next one."""

    seconds: float
    parts: Mapping[str, float]


def start_of(begun_seconds: float, ends: Mapping[str, float | None]) -> StartTime | None:
    """From when the job was submitted and when each part ended (by the names in `PARTS`).

    None while the first step is not told. Parts may overlap (a pod is pulled while another is bound): each
    counts from the latest end before it.
    """
    last = ends.get(PARTS[-1])
    if last is None or last < begun_seconds:
        return None
    parts: dict[str, float] = {}
    at = begun_seconds
    for name in PARTS:
        end = ends.get(name)
        if end is None:
            continue
        end = min(max(end, at), last)
        parts[name], at = end - at, end
    return StartTime(last - begun_seconds, parts)


class AmongStarts(NamedTuple):
    """A start beside those of past jobs: their median, the share of them (this one with them) that was within
    the goal, and how many there are."""

    median_seconds: float
    goal_ratio: float
    starts: int


def beside(seconds: float, past_seconds: Sequence[float]) -> AmongStarts:
    """Where it stands; `past_seconds` are those of other jobs."""
    known = sorted((*past_seconds, seconds))
    middle = len(known) // 2
    median = known[middle] if len(known) % 2 else (known[middle - 1] + known[middle]) / 2
    return AmongStarts(median, sum(item <= GOAL_SECONDS for item in known) / len(known), len(known))
