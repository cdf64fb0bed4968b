"""Verdicts about the rows of jobs: reached when somebody asks, kept as long as what they rest on stands.

A row that was made anew is judged anew at once. What rests on the room of nodes is judged again after that
moved, and everything every few seconds, for causes ripen; of this at most `JOBS` are done between two states
of the store, so that a change costs little however many jobs wait. What the nodes say of shapes of pods is
kept for all who ask: pods alike share it."""

from collections.abc import Callable
from typing import Final, NamedTuple

from msgspec.structs import replace

from cockpit.fit.scheduling_context import UNKNOWN
from cockpit.fit.shape import Shape
from cockpit.model.finding import Finding
from cockpit.model.job import Job
from cockpit.model.job_reader import JobReader
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.triage import filters
from cockpit.triage.context import ClusterView, Context
from cockpit.triage.engine import of_job
from cockpit.triage.funnel import Sifted, sift
from cockpit.triage.on_demand import Need, ObjectsRead, OnDemand, needs_of

LOOKS: Final = 2_500
"""So many nodes are looked at again for one state of the store, and at least those of one funnel."""
STANDS_SECONDS: Final = 5.0
"""So long what is told of pods that do not exist stands, whatever room moves meanwhile."""
_FUNNELS: Final = 48
"""So many are kept: each holds a look at every node."""
_ANSWERS: Final = 1_024
"""So many blockers of shapes are kept: a few hundred bytes each."""


class Funnels:
    """The funnels of one store. `is_asked` tells whether anybody has asked since it was set
    to False, `is_owing` whether somebody got no answer because no look was left."""

    def __init__(self, store: StoreReader) -> None:
        self.looks_left = LOOKS
        self.is_asked = self.is_owing = False
        self._store = store
        self._kept: dict[Shape, tuple[int, Sifted]] = {}
        self._told: dict[tuple[Shape, int], tuple[int, float, tuple[Finding, ...]]] = {}

    def sifted(self, shape: Shape) -> Sifted:
        """The funnel of the shape; where no look is left the one that was made last."""
        self.is_asked = True
        room, alike = self._store.room_revision, self._alike(shape)
        kept = self._kept.get(alike)
        if kept is not None and (kept[0] == room or self.looks_left <= 0):
            return kept[1]._replace(shape=shape)
        made = sift(self._store, shape, UNKNOWN, None if kept is None else kept[1])
        self.looks_left -= len(self._store.records(Kind.NODE))
        self._kept.pop(alike, None)
        self._kept[alike] = (room, made)
        if len(self._kept) > _FUNNELS:
            del self._kept[next(iter(self._kept))]
        return made

    def blockers(self, shape: Shape, count: int, now_seconds: float) -> tuple[Finding, ...]:
        """What the nodes say of `count` pods of that shape, one filter behind the other; () where no look is
        left."""
        self.is_asked = True
        room, asked = self._store.room_revision, (self._alike(shape), count)
        kept = self._told.get(asked)
        if kept is not None and (
            kept[0] == room or self.looks_left <= 0 or 0 <= now_seconds - kept[1] < STANDS_SECONDS
        ):
            return kept[2]
        if self.looks_left <= 0:
            self.is_owing = True
            return ()
        context = Context(store=self._store, now_seconds=now_seconds, waiting=count, sift=self.sifted)
        made = tuple(filters.of_pods(shape, count, context))
        self._told.pop(asked, None)
        self._told[asked] = (room, now_seconds, made)
        if len(self._told) > _ANSWERS:
            del self._told[next(iter(self._told))]
        return made

    def _alike(self, shape: Shape) -> Shape:
        """The shape without whose pod it is, where no pod minds any other."""
        if shape.near or shape.keeps_away or shape.host_ports or shape.claims:
            return shape
        if any(pod.traits.keeps_away for pod in self._store.restrictive_pods()):
            return shape
        return replace(shape, namespace="", labels=())


JOBS = 64
"""So many verdicts are reached again for one state of the store; those of new rows are not counted."""
RIPE_SECONDS = 5.0
_NOT_ON_ROOM = -1
_LONG_AGO = float("-inf")
_COST_ON_ROOM = 6


SLICE_SECONDS: Final = 0.002
"""So long a look judges, besides what it does at every look."""


class Pace:
    """Spreads a judgement over looks: each takes `seconds` of the timer. Not in force at first: what a fleet
    shows when it was listed is judged whole."""

    def __init__(self, timer: Callable[[], float], seconds: float) -> None:
        self.is_in_force = False
        self._timer, self._seconds = timer, seconds
        self._begun = 0.0

    def begin(self) -> None:
        """A look begins."""
        self._begun = self._timer()

    def is_over(self, share: float = 1.0) -> bool:
        """Whether that share of the time of this look is used up."""
        return self.is_in_force and self._timer() - self._begun >= self._seconds * share


class _Kept(NamedTuple):
    job: Job
    verdict: Finding
    room: int  # room_revision, or _NOT_ON_ROOM
    at_seconds: float
    needs: tuple[Need, ...]  # what is read for it


class Verdicts:
    """Why each job waits or is broken, by its row. `on_demand` is what was read besides, so far."""

    def __init__(self, store: StoreReader, jobs: JobReader, pace: Pace | None = None) -> None:
        self.on_demand = OnDemand()
        self.pace = pace or Pace(float, 0.0)  # without one every look is whole
        self._store = store
        self._jobs = jobs
        self._kept: dict[str, _Kept] = {}
        self.rows_of_now: object | None = None  # the rows of *Now* that rest on these: `now_rows.NowRows`
        self.cost = 0  # of all verdicts that were reached, in those that look at no node
        self._doubted: set[str] = set()  # keys of rows whose verdict rests on what was heard since
        self._funnels = Funnels(store)
        self._resting = 0  # how many of those kept rest on the room of nodes
        self._moment: tuple[int, float] | None = None
        self._jobs_left = JOBS

    def of(self, job: Job, now_seconds: float, *, is_kept: bool = True) -> Finding:
        """The engine's verdict about the row. Where not `is_kept` one that was not asked for before is
        reached and let go: of a fleet they would be large."""
        kept = self._kept.get(job.key)
        if kept is not None and kept.job is job:
            if self._stands(kept, now_seconds) or not self._may_look_again(now_seconds):
                return kept.verdict
            self._jobs_left -= 1
        made = self._reach(job, now_seconds)
        if kept is not None and kept.verdict == made.verdict:
            made = made._replace(verdict=kept.verdict)  # by its identity screens know that nothing changed
        if is_kept or kept is not None:
            self._resting += (made.room != _NOT_ON_ROOM) - (kept is not None and kept.room != _NOT_ON_ROOM)
            self._kept[job.key] = made
        return made.verdict

    def doubted(self) -> set[str]:
        """Keys of rows of which something was heard since this was asked last."""
        doubted, self._doubted = self._doubted, set()
        return doubted

    def view(self, now_seconds: float) -> ClusterView:
        """The cluster as these verdicts see it."""
        return ClusterView(
            store=self._store,
            jobs=self._jobs,
            now_seconds=now_seconds,
            last_lines=self.on_demand.last_lines,
            sift=self._funnels.sifted,
            told=self._funnels.blockers,
            idle=self.on_demand.idle,
            ended_drains=self.on_demand.drains_ended,
        )

    def cause_of(self, key: str) -> str:
        """Of the verdict that was reached last about the row of that key; "" without one."""
        kept = self._kept.get(key)
        return "" if kept is None else kept.verdict.cause

    def hear(self, pod: Pod, line: str) -> bool:
        """Take the last lines of a crash: the verdict of its job is reached again. Whether it is news."""
        is_new = self.on_demand.hear(pod, line)
        job = self._jobs.job_of_pod(pod) if is_new else None
        kept = None if job is None else self._kept.get(job.key)
        if job is not None:
            self._doubted.add(job.key)
            if kept is not None:
                self._kept[job.key] = kept._replace(at_seconds=_LONG_AGO)
        return is_new

    def take_objects(self, need: Need, read: ObjectsRead) -> bool:
        """Take what was read: verdicts that rest on it are reached again. Whether it is news."""
        if not self.on_demand.take_objects(need, read):
            return False
        for key, kept in list(self._kept.items()):
            if need in kept.needs:
                self._resting -= kept.room != _NOT_ON_ROOM
                self._doubted.add(key)
                del self._kept[key]
        return True

    def _stands(self, kept: _Kept, now_seconds: float) -> bool:
        if abs(now_seconds - kept.at_seconds) >= RIPE_SECONDS:
            return False
        is_on_old_room = kept.room not in (_NOT_ON_ROOM, self._store.room_revision)
        return not is_on_old_room or self._resting > JOBS  # where many wait each has its turn

    def _may_look_again(self, now_seconds: float) -> bool:
        moment = (self._store.revision, now_seconds)
        if moment != self._moment:
            self._moment = moment
            self._jobs_left, self._funnels.looks_left = JOBS, LOOKS
            self._forget()
        return self._jobs_left > 0 and self._funnels.looks_left > 0

    def _forget(self) -> None:
        """Rows that are gone, once they are as many as those that stand."""
        rows = self._jobs.jobs
        if len(self._kept) > 2 * len(rows) + JOBS:
            self._kept = {key: kept for key, kept in self._kept.items() if key in rows}
            self._resting = sum(1 for one in self._kept.values() if one.room != _NOT_ON_ROOM)

    def _reach(self, job: Job, now_seconds: float) -> _Kept:
        self._funnels.is_asked = self._funnels.is_owing = False
        view = self.view(now_seconds)
        found = of_job(job, view)
        needs = needs_of(found, job, self._store)
        if reads := [read for need in needs if (read := self.on_demand.read_for(need, job)) is not None]:
            trees = {place: some for read in reads for place, some in read.trees.items()}
            around = next((read.around for read in reads if read.around != UNKNOWN), UNKNOWN)
            found = of_job(job, replace(view, trees=trees, around=around))
        room = self._store.room_revision if self._funnels.is_asked else _NOT_ON_ROOM
        self.cost += 1 if room == _NOT_ON_ROOM else _COST_ON_ROOM
        at_seconds = _LONG_AGO if self._funnels.is_owing else now_seconds
        return _Kept(job, found, room, at_seconds, needs)
