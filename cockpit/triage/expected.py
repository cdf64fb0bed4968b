"""When a waiting job will start, as a range: the line in front of it is played through a few dozen times.

Each time the jobs that run get a remaining time, those in line a running time, machines that may come a time
to come, and what was submitted lately is submitted again; then everything is seated in the order of the
line, smaller ones past larger ones as the scheduler and queues that take what fits do. Times come from
progress, or from past runs, of the same shape where there are any. Without those it is unknown, and the
reason is told.
"""

import heapq
import math
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Sequence
from random import Random
from typing import Final, NamedTuple

import msgspec

from cockpit.gangs.sentence import counted
from cockpit.model.finding import Expected
from cockpit.model.remembered import PastRun

FEWEST_RUNS: Final = 12
"""Past runs without which nothing is said of how long jobs take."""
_FEWEST_ALIKE: Final = 3
_PLAYS: Final = 24
_FEWEST_PLAYS: Final = 12
_WORK: Final = 20_000
"""Jobs that are looked at in all plays together, so that a long line costs a bounded time."""
_LOW: Final = 0.03
_HIGH: Final = 0.96
"""The part of all plays that the range holds; tuned on two of three generators of tests/unit/triage/waits."""
_EARLY: Final = 0.80
_LATE: Final = 1.30
"""The ends are moved out by so much: no play knows everything."""
_SLACK_SECONDS: Final = 20.0
_RESTLESS: Final = 0.12
"""Relative error of a remaining time that follows from progress: the first step waits for the rest."""
_AGAIN_SECONDS: Final = 3_600.0
"""What was submitted in a stretch of the past as long is taken for what will be."""
_TURNS: Final = 8
"""How many stretches are submitted again, one after the other."""
_LAST_AGAIN: Final = 0.2
"""Share of them that are the last one: a rush goes on for a while, but not for ever."""
_HORIZON: Final = 14 * 86_400.0
_SURE_SHARE: Final = 0.85
"""Of the plays in which the job starts at all before the horizon."""


class RunHistory(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen so far, the oldest first. `growths` are seconds from a wish for a machine to its GPUs."""

    runs: tuple[PastRun, ...] = ()
    growths: tuple[float, ...] = ()


class InLine(NamedTuple):
    """A job without seats: `members` of `gpus` each."""

    shape: str
    members: int
    gpus: int


class RunningJob(NamedTuple):
    """A job that runs: (index of the node, GPUs there), for how long, and its progress (0..1) where it tells
    it."""

    shape: str
    seats: tuple[tuple[int, int], ...]
    elapsed_seconds: float
    progress: float | None = None


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """What a start depends on: free GPUs by node, who holds the others, who is in line, in its order.

    `coming` are ages of machines that were asked for and have not come, `may_come` how many more the pool
    may ask for, each of `node_gpus`.
    """

    now_seconds: float
    free: tuple[int, ...]
    holders: tuple[RunningJob, ...]
    line: tuple[InLine, ...]
    at: int  # place of the subject in `line`, from 0
    coming: tuple[float, ...] = ()
    may_come: int = 0
    node_gpus: int = 8


def estimate(moment: Moment, history: RunHistory, random: Random) -> Expected:
    """The range in which the subject starts, or why that is unknown."""
    times = _Times(history)
    if why := _why_unknown(moment, times):
        return Expected(None, None, why)
    now = moment.now_seconds
    jobs = len(moment.line) + len(moment.holders) + len(times.within(now - _AGAIN_SECONDS, now))
    plays = max(_FEWEST_PLAYS, min(_PLAYS, _WORK // max(1, jobs)))
    starts = sorted(_Play(moment, times, random).start() for _ in range(plays))
    low, high = _quantile(starts, _LOW), _quantile(starts, _HIGH)
    if high >= _HORIZON or sum(one < _HORIZON for one in starts) < _SURE_SHARE * plays:
        return Expected(None, None, "unknown: jobs that come later may pass it for ever")
    low = max(0.0, low * _EARLY - _SLACK_SECONDS)
    high = high * _LATE + _SLACK_SECONDS
    return Expected(moment.now_seconds + low, moment.now_seconds + high, _from(moment, times))


def _why_unknown(moment: Moment, times: "_Times") -> str:
    mine = moment.line[moment.at]
    largest = max((*_sizes(moment), 0))
    if mine.gpus > largest:
        return f"unknown: no node has {counted(mine.gpus, 'GPU')}"
    if len(times.all) < FEWEST_RUNS:
        progressing = sum(one.progress is not None for one in moment.holders)
        if progressing < len(moment.holders) or moment.at:
            return f"unknown: needs at least {FEWEST_RUNS} finished runs, has {len(times.all)}"
    if (moment.coming or moment.may_come) and not times.growths and not moment.holders:
        return "unknown: this pool was not seen to grow"
    return ""


def _sizes(moment: Moment) -> list[int]:
    sizes = list(moment.free)
    for holder in moment.holders:
        for node, gpus in holder.seats:
            sizes[node] += gpus
    return [*sizes, *([moment.node_gpus] if moment.coming or moment.may_come else ())]


def _from(moment: Moment, times: "_Times") -> str:
    told = f"from {counted(len(moment.holders), 'running job')}"
    return told + (f" and {counted(len(times.all), 'past run')}" if times.all else "")


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


class _Times:
    """Running times of the past, of all and by shape, and what was submitted lately."""

    def __init__(self, history: RunHistory) -> None:
        self.growths = history.growths
        self._history = history
        self.first_seconds = history.runs[0].submitted_seconds if history.runs else 0.0
        ended = sorted((one.ran_seconds, one.shape) for one in history.runs if one.ran_seconds is not None)
        self.all = [seconds for seconds, _ in ended]
        self._alike: dict[str, list[float]] = {}
        for seconds, shape in ended:
            self._alike.setdefault(shape, []).append(seconds)
        self.submitted = [one.submitted_seconds for one in history.runs]

    def of(self, shape: str) -> Sequence[float]:
        """Of alike jobs, where there are a few; else of all."""
        alike = self._alike.get(shape, ())
        return alike if len(alike) >= _FEWEST_ALIKE else self.all

    def running(self, shape: str, random: Random) -> float:
        """A running time for a job that has not started."""
        return _spread(self.of(shape), random)

    def remaining(self, holder: RunningJob, random: Random) -> float:
        """A remaining time for one that runs."""
        done = holder.progress
        if done is not None and done > 0.01:
            left = holder.elapsed_seconds * (1.0 - done) / done
            return left * math.exp(random.gauss(0.0, _RESTLESS)) + random.uniform(0.0, 5.0)
        known = self.of(holder.shape)
        at = bisect_right(known, holder.elapsed_seconds)
        if at < len(known):
            return _spread(known[at:], random) - holder.elapsed_seconds
        # it runs longer than any alike: such jobs go on for about as long as they have run
        return holder.elapsed_seconds * (random.paretovariate(1.5) - 1.0) + 1.0

    def within(self, from_seconds: float, to_seconds: float) -> Sequence[PastRun]:
        """What was submitted in that time."""
        low, high = bisect_left(self.submitted, from_seconds), bisect_left(self.submitted, to_seconds)
        return self._history.runs[low:high]


def _spread(known: Sequence[float], random: Random) -> float:
    return _quantile(known, random.random()) if known else math.inf


class _Play:
    def __init__(self, moment: Moment, times: _Times, random: Random) -> None:
        self._times, self._random = times, random
        self._free = list(moment.free)
        self._buckets: list[set[int]] = []
        self._total = 0
        for node, count in enumerate(self._free):
            self._put(node, count)
        self._events: list[tuple[float, int, tuple[tuple[int, int], ...]]] = []
        for number, holder in enumerate(moment.holders):
            self._events.append((times.remaining(holder, random), number, holder.seats))
        self._machines(moment)
        heapq.heapify(self._events)
        self._again = self._submitted(moment)
        self._number = len(self._events)
        self._lines: dict[tuple[int, int], deque[tuple[int, str, bool]]] = {}
        for at, one in enumerate(moment.line):
            self._enter(one, is_mine=at == moment.at)

    def start(self) -> float:
        """Seconds from now until the subject has its seats; the horizon where it has none by then."""
        now = 0.0
        while True:
            if self._seat(now):
                return now
            later = self._again[-1][0] if self._again else math.inf
            ends = self._events[0][0] if self._events else math.inf
            now = min(later, ends)
            if now >= _HORIZON:
                return _HORIZON
            while self._events and self._events[0][0] <= now:
                _, _, seats = heapq.heappop(self._events)
                for node, count in seats:
                    self._give(node, count)
            while self._again and self._again[-1][0] <= now:
                self._enter(self._again.pop()[1])

    def _machines(self, moment: Moment) -> None:
        growths = self._times.growths
        if not growths:
            return
        wanted = sum(one.members * one.gpus for one in moment.line[: moment.at + 1]) - sum(moment.free)
        more = max(0, math.ceil(wanted / moment.node_gpus) - len(moment.coming))
        ages = [*moment.coming, *([0.0] * min(more, moment.may_come))]
        for number, age in enumerate(ages):
            node = len(self._free)
            self._free.append(0)
            self._put(node, 0)
            left = [one - age for one in growths if one > age]
            comes = self._random.choice(left) if left else age * self._random.random()
            self._events.append((comes, -1 - number, ((node, moment.node_gpus),)))

    def _submitted(self, moment: Moment) -> list[tuple[float, InLine]]:
        """Stretches of the past once more, each turned round by a random time; the last comes first."""
        now, times = moment.now_seconds, self._times
        if not times.submitted:
            return []
        span = max(60.0, min(_AGAIN_SECONDS, now - times.first_seconds))
        again: list[tuple[float, InLine]] = []
        for turn in range(_TURNS):
            is_last = self._random.random() < _LAST_AGAIN
            begins = now - span if is_last else self._random.uniform(times.first_seconds, now - span)
            shift = self._random.uniform(0.0, span)
            for one in times.within(begins, begins + span):
                when = turn * span + (one.submitted_seconds - begins + shift) % span
                again.append((when, InLine(one.shape, one.members, one.gpus)))
        again.sort(key=lambda pair: -pair[0])
        return again

    # ---- seats

    def _put(self, node: int, count: int) -> None:
        while len(self._buckets) <= count:
            self._buckets.append(set())
        self._buckets[count].add(node)
        self._total += count

    def _give(self, node: int, count: int) -> None:
        self._buckets[self._free[node]].discard(node)
        self._total -= self._free[node]
        self._free[node] += count
        self._put(node, self._free[node])

    def _enter(self, one: InLine, *, is_mine: bool = False) -> None:
        self._number += 1
        self._lines.setdefault((one.members, one.gpus), deque()).append((self._number, one.shape, is_mine))

    def _seat(self, now: float) -> bool:
        """Seat whoever fits, in the order of the line; True once the subject sits. Of jobs of one size only
        the first has to be looked at: where it finds no room the others find none."""
        open_ = {size: line for size, line in self._lines.items() if line}
        while open_:
            size = min(open_, key=lambda one: open_[one][0][0])
            line = open_[size]
            members, gpus = size
            if members * gpus > self._total or not self._has_room(members, gpus):
                del open_[size]
                continue
            _, shape, is_mine = line.popleft()
            if is_mine:
                return True
            if not line:
                del open_[size]
            seats = []
            for _ in range(members):
                node = self._roomiest(gpus)
                self._give(node, -gpus)
                seats.append((node, gpus))
            self._number += 1
            ends = now + self._times.running(shape, self._random)
            heapq.heappush(self._events, (ends, self._number, tuple(seats)))
        return False

    def _has_room(self, members: int, gpus: int) -> bool:
        left = members
        for count in range(len(self._buckets) - 1, gpus - 1, -1):
            left -= len(self._buckets[count]) * (count // gpus)
            if left <= 0:
                return True
        return False

    def _roomiest(self, gpus: int) -> int:
        for count in range(len(self._buckets) - 1, gpus - 1, -1):
            if self._buckets[count]:
                return next(iter(self._buckets[count]))
        raise AssertionError("asked for a seat where none is")
