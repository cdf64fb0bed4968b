"""A cluster by discrete events: jobs come, are seated in the order of the line (smaller ones past larger
ones), run and end; a pool grows on demand. At each job that has waited 30 s the estimator is asked, and
later judged."""

import heapq
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from cockpit.model.remembered import PastRun
from cockpit.triage.expected import InLine, Moment, RunHistory, RunningJob
from tests.unit.triage.waits.loads import Load, Planned

FIRST_LOOK_SECONDS = 30.0
IDLE_SECONDS = 600.0
NODE_GPUS = 8
REMEMBERED = 2_000
FEWEST_WAITS = 20
"""Past waits from which quantiles can be told, to be compared with."""
WARM_UP = 150
"""Jobs before the first look, so that there is a past."""


class Look(NamedTuple):
    """What could be seen when a job had waited for a while, and how long it then waited."""

    moment: Moment
    history: RunHistory
    past_waits: tuple[float, ...]  # what jobs that had waited as long waited then
    waited_seconds: float


class _Run(NamedTuple):
    job: Planned
    started: float
    seats: tuple[tuple[int, int], ...]


class Play:
    """One cluster under one load."""

    def __init__(self, load: Load, seed: int) -> None:
        self._random = Random(seed)
        self._fleet = load.fleet
        self._plans = load.jobs(self._random)
        self._free = dict.fromkeys(range(load.fleet.nodes), NODE_GPUS)
        self._idle_since = dict.fromkeys(self._free, 0.0)
        self._next_node = load.fleet.nodes
        self._asked: dict[int, float] = {}  # machine that comes -> when it was asked for
        self._line: list[tuple[int, Planned]] = []
        self._running: dict[int, _Run] = {}
        self._past: dict[int, PastRun] = {}
        self._growths: list[float] = []
        self._waits: list[float] = []
        self._events: list[tuple[float, int, str, int]] = []
        self._seen: dict[int, tuple[Moment, RunHistory, tuple[float, ...], float]] = {}
        self._order = 0
        self._ended: list[int] = []

    def looks(self, count: int) -> Iterator[Look]:
        """So many looks, each once its job has started."""
        number = 0
        coming = next(self._plans)
        given = 0
        while given < count:
            if not self._events or coming.submitted_seconds <= self._events[0][0]:
                now, job, number = coming.submitted_seconds, coming, number + 1
                coming = next(self._plans)
                self._line.append((number, job))
                self._past[number] = PastRun(job.shape, job.members, job.gpus, now, None, None)
                self._at(now + FIRST_LOOK_SECONDS, "look", number)
            else:
                now, _, what, which = heapq.heappop(self._events)
                if what == "end":
                    self._end(which, now)
                elif what == "node":
                    self._came(which, now)
                elif what == "look" and number > WARM_UP:
                    self._look(which, now)
            for started in self._seat(now):
                found = self._seen.pop(started, None)
                if found is not None:
                    moment, history, waits, seen = found
                    self._waits.append(now - seen)
                    if len(waits) < FEWEST_WAITS:
                        continue
                    yield Look(moment, history, waits, now - seen)
                    given += 1
                    if given == count:
                        return
            self._grow(now)

    def _at(self, when: float, what: str, which: int) -> None:
        self._order += 1
        heapq.heappush(self._events, (when, self._order, what, which))

    def _end(self, number: int, now: float) -> None:
        run = self._running.pop(number)
        for node, gpus in run.seats:
            self._free[node] += gpus
            if self._free[node] == NODE_GPUS:
                self._idle_since[node] = now
        self._past[number] = self._past[number]._replace(ran_seconds=now - run.started)
        for old in list(self._past)[: max(0, len(self._past) - REMEMBERED)]:
            if old not in self._running:
                del self._past[old]

    def _came(self, node: int, now: float) -> None:
        self._growths.append(now - self._asked.pop(node))
        self._free[node] = NODE_GPUS
        self._idle_since[node] = now

    def _grow(self, now: float) -> None:
        """As cluster-autoscaler: machines for what waits, up to the maximum; idle ones go after ten
        minutes."""
        fleet = self._fleet
        if fleet.most == fleet.nodes:
            return
        wanted = sum(job.members * job.gpus for _, job in self._line)
        coming = len(self._asked) * NODE_GPUS + sum(self._free.values())
        while wanted > coming and len(self._free) + len(self._asked) < fleet.most:
            node, self._next_node = self._next_node, self._next_node + 1
            self._asked[node] = now
            self._at(now + fleet.seconds_to_grow(self._random), "node", node)
            coming += NODE_GPUS
        if not self._line:
            for node in [one for one, free in self._free.items() if free == NODE_GPUS]:
                if len(self._free) > fleet.nodes and now - self._idle_since[node] > IDLE_SECONDS:
                    del self._free[node]

    def _seat(self, now: float) -> list[int]:
        started = []
        kept = []
        for number, job in self._line:
            seats = self._seats(job)
            if seats is None:
                kept.append((number, job))
                continue
            for node, gpus in seats:
                self._free[node] -= gpus
            self._running[number] = _Run(job, now, seats)
            self._past[number] = self._past[number]._replace(started_seconds=now)
            self._at(now + job.runs_seconds, "end", number)
            started.append(number)
        self._line = kept
        return started

    def _seats(self, job: Planned) -> tuple[tuple[int, int], ...] | None:
        if sum(free // job.gpus for free in self._free.values()) < job.members:
            return None
        left = dict(self._free)
        seats = []
        for _ in range(job.members):
            node = max(left, key=lambda one: (left[one], -one))  # the emptiest, as the scheduler spreads
            left[node] -= job.gpus
            seats.append((node, job.gpus))
        return tuple(seats)

    def _look(self, number: int, now: float) -> None:
        """What the cockpit could see; only of jobs that still wait."""
        at = next((place for place, (one, _) in enumerate(self._line) if one == number), None)
        if at is None:
            return
        nodes = list(self._free)
        index = {node: place for place, node in enumerate(nodes)}
        fleet = self._fleet
        moment = Moment(
            now_seconds=now,
            free=tuple(self._free[node] for node in nodes),
            holders=tuple(self._holder(run, index, now) for run in self._running.values()),
            line=tuple(InLine(job.shape, job.members, job.gpus) for _, job in self._line),
            at=at,
            coming=tuple(now - asked for asked in self._asked.values()),
            may_come=fleet.most - len(self._free) - len(self._asked),
            node_gpus=NODE_GPUS,
        )
        history = RunHistory(runs=tuple(self._past.values()), growths=tuple(self._growths[-200:]))
        self._seen[number] = (moment, history, tuple(self._waits[-500:]), now)

    def _holder(self, run: _Run, index: dict[int, int], now: float) -> RunningJob:
        elapsed = now - run.started
        seats = tuple((index[node], gpus) for node, gpus in run.seats)
        # what it has written to its log: steps of a hundredth, of a job that takes a while to begin
        done = max(0.0, elapsed - 20.0) / max(1.0, run.job.runs_seconds - 20.0)
        progress = round(done, 2) if run.job.tells else None
        return RunningJob(run.job.shape, seats, elapsed, progress)
