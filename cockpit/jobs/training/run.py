"""What is known of one training run: fed with lines of its log, bounded for any input."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from cockpit.jobs.progress import LONGEST_LINE, Patterns, Progress
from cockpit.jobs.training.curve import Curve, Place, Steady, steady
from cockpit.jobs.training.formats import event_of, number_of
from cockpit.jobs.training.rank_lines import by_rank
from cockpit.jobs.training.stalls import Sign, Stall, StallReader
from cockpit.model.log import LogLine

MOST_RANKS: Final = 1_024
"""Ranks that are followed one by one; a log of noise could name more."""
KEPT_INTERVALS: Final = 64
MOST_STALLS: Final = 32
LONGEST_LAST: Final = 200
"""Characters of the last line of a rank that are kept."""
_LEADER: Final = -1
"""Whose lines have no tag where others have one: the launcher's own, the program's where it alone writes."""


@dataclass(slots=True)
class RankTrace:
    """What one rank told. `computes` are (step, own seconds before the all-reduce), the newest last."""

    rank: int
    step: int | None = None
    step_seconds: float | None = None  # when its last step was told
    begun_seconds: float | None = None  # when it was there: its first line, or its word `started`
    rate: float | None = None
    computes: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=KEPT_INTERVALS))
    last_line: str = ""
    last_seconds: float | None = None


class Checkpoints(NamedTuple):
    """What the log tells of checkpoints. `step` of the newest one that was written, or resumed from;
    `refused` is a newer one that was not whole, and why."""

    step: int | None = None
    at_seconds: float | None = None
    refused: str = ""


class Moves(NamedTuple):
    """How often steps were told, and when first and last."""

    times: int = 0
    first_seconds: float | None = None
    last_seconds: float | None = None

    def to(self, at_seconds: float | None) -> "Moves":
        """One more."""
        if at_seconds is None:
            return self
        first = at_seconds if self.first_seconds is None else self.first_seconds
        return Moves(self.times + 1, first, at_seconds)

    @property
    def mean_seconds(self) -> float | None:
        """From one to the next; None before two."""
        if self.times < 2 or self.first_seconds is None or self.last_seconds is None:
            return None
        seconds = (self.last_seconds - self.first_seconds) / (self.times - 1)
        return seconds if seconds > 0 else None


class TrainingRun:
    """One run. Lines come in the order in which they were written; of several ranks they may be mixed.

    `progress`, `loss` and `rate` are those of the lowest rank that tells them.
    """

    def __init__(self, patterns: Patterns) -> None:
        self.progress = Progress()
        self.loss = Curve()
        self.rate = Curve(is_rate=True)
        self.done = Curve()
        self.rate_unit = ""
        self.ranks: dict[int, RankTrace] = {}
        self.stalls: deque[Stall] = deque(maxlen=MOST_STALLS)
        self.lines = 0
        self.restarts = 0
        self.size: int | None = None
        self.first_seconds: float | None = None  # when its first step was told
        self.moved_seconds: float | None = None  # when its last step was told
        self.went_on_seconds: float | None = None  # when a step was told first since it last began
        self.joined_seconds: float | None = None  # when the last of its ranks said that it is there
        self.is_ended = False
        self.checkpoints = Checkpoints()
        self._patterns = patterns
        self._leading: int | None = None
        self._writers: set[str] = set()  # logs in which the leading rank's steps stood
        self._moves = Moves()
        self._at: Place = (0, 0)
        self._loops = 0  # of one total, without a name, that were gone through
        self._speaker: str | None = None
        self._usual_before: float | None = None
        self._own_mean: tuple[float, str, bool | None] | None = None
        self._reader = StallReader()
        self._timed: tuple[int, float] | None = None
        self._joined: set[int] = set()
        self._read_up_to: dict[str, tuple[int, set[str]]] = {}

    # ---- reading

    def take(self, lines: Iterable[LogLine]) -> None:
        """Further lines of these logs; those that were taken before are passed over."""
        for line in lines:
            if not line.is_note and self._is_new(line):
                self.lines += 1
                self._take(line)

    def _is_new(self, line: LogLine) -> bool:
        at, uid = line.at_nanoseconds, line.source.uid
        newest, texts = self._read_up_to.get(uid, (0, set()))
        if not at or at > newest:
            if len(self._read_up_to) < MOST_RANKS or uid in self._read_up_to:
                self._read_up_to[uid] = (at or newest, {line.text})
            return True
        if at < newest or line.text in texts:
            return False
        if len(texts) < MOST_RANKS:
            texts.add(line.text)
        return True

    def _take(self, line: LogLine) -> None:
        for text in line.overwritten:
            told = self._patterns.read(text)
            if not told.is_empty:
                rank = told.rank if line.source.is_leader or told.rank is not None else line.source.rank
                self._told(told, rank, self._trace(rank, line, ""), line, text)
        text = line.text[:LONGEST_LINE]
        tagged, bare = by_rank(text)
        told = self._patterns.read(text)
        own = None if line.source.is_leader else line.source.rank
        rank = told.rank if told.rank is not None else tagged if tagged is not None else own
        stall = self._reader.read(bare, rank, line.at_seconds)
        if stall is not None:
            self.stalls.append(stall)
        trace = self._trace(rank, line, "" if stall is not None and stall.sign is Sign.MISSING else bare)
        event = event_of(bare)
        if event is not None and event.name != "progress":
            self._event(event.name, event.pairs, trace, line.at_seconds)
        elif not told.is_empty:
            self._told(told, rank, trace, line, text)

    def _trace(self, rank: int | None, line: LogLine, bare: str) -> RankTrace | None:
        if rank is None:
            return None
        trace = self.ranks.get(rank)
        if trace is None:
            if len(self.ranks) >= MOST_RANKS:
                return None
            trace = self.ranks[rank] = RankTrace(rank, begun_seconds=line.at_seconds)
        if bare.strip():
            trace.last_line, trace.last_seconds = bare.strip()[:LONGEST_LAST], line.at_seconds
        return trace

    def _event(self, name: str, pairs: dict[str, str], trace: RankTrace | None, at: float | None) -> None:
        size = number_of("size", pairs.get("size"))
        if name in ("started", "resized") and size:
            self.size = int(size)
        if name == "started":
            self.is_ended = False
            self._join(trace, at)
            if trace is not None:
                trace.begun_seconds = at
                trace.computes.clear()
        step = number_of("step", pairs.get("step"))
        if name == "resumed" and step is not None:
            self._begun_again((0, int(step)))
        if name in ("resumed", "checkpoint") and step is not None:
            refused = self.checkpoints.refused if name == "resumed" else ""
            self.checkpoints = Checkpoints(int(step), at, refused)
        if name == "refused":
            text = f"{pairs.get('file', '').rpartition('/')[2]}: {pairs.get('why', '')}"
            self.checkpoints = self.checkpoints._replace(refused=text[:LONGEST_LAST])
        if name == "ended":
            self.is_ended = True
            rate = number_of("rate", pairs.get("samples_per_s"))
            if rate:
                self._own_mean = (float(rate), "samples/s", False)

    def _join(self, trace: RankTrace | None, at: float | None) -> None:
        """The rendezvous is over when all ranks are there; of later ones (an elastic job) nobody asks."""
        if trace is not None and self.joined_seconds is None:
            self._joined.add(trace.rank)
            if self.size is not None and len(self._joined) >= self.size:
                self.joined_seconds = at

    def _told(
        self, told: Progress, rank: int | None, trace: RankTrace | None, line: LogLine, text: str
    ) -> None:
        at = line.at_seconds
        if told.size:
            self.size = told.size
        if trace is not None and not self._is_other_loop(told):
            _trace(trace, told, at)
        leading = _LEADER if rank is None else rank
        if not self._is_leading(leading, told.has_moved):
            return
        before = self.progress
        now = self._patterns.read(text, before)
        is_new_writer = told.has_moved and self._is_new_writer(line.source.uid)
        if not is_new_writer and (self._is_other_loop(told) or self._is_behind(told, now)):
            return
        self.progress, self._speaker = now, told.speaker
        if _is_next_loop(before, now) and not is_new_writer:
            self._loops, self.done = self._loops + 1, Curve()
        place, last = _place(now, self._loops), self._at
        if told.has_moved:
            if is_new_writer or (place < last and _counts_run(before) == _counts_run(now)):
                self._begun_again(place)
            self._moved(place, at)
        if now.fraction is not None and told.has_moved:
            self.done.add(place, at, now.fraction)
        if told.loss is not None:
            self.loss.add(place, at, told.loss)
        self._rate(told, place, at)

    def _moved(self, place: Place, at: float | None) -> None:
        if place != self._at or self.went_on_seconds is None:
            self.moved_seconds = at
            self._moves = self._moves.to(at)
        self._at = place
        if self.first_seconds is None:
            self.first_seconds = at
        if self.went_on_seconds is None:
            self.went_on_seconds = at

    def _is_leading(self, rank: int, has_moved: bool) -> bool:
        """Whether this rank's word counts: the lowest that ever told of a step. What a higher one told before
        is forgotten, for the ranks' curves are not one."""
        if self._leading is None:
            self._leading = rank
        elif rank < self._leading and has_moved:
            self._leading = rank
            self.progress, self.rate_unit, self._timed = Progress(), "", None
            self.loss, self.rate, self.done = Curve(), Curve(is_rate=True), Curve()
            self._moves, self._writers = Moves(), set()
            self._at, self._loops, self._speaker = (0, 0), 0, None
        return rank == self._leading

    def _is_other_loop(self, told: Progress) -> bool:
        """Whether it tells of a loop beside the run's: one of another total, before the run's own has ended,
        or after losses were told with it."""
        known = self.progress
        if not told.is_any_loop or known.steps is None or told.steps == known.steps:
            return False
        return bool(self.loss) or (known.step is not None and known.step < known.steps)

    def _is_behind(self, told: Progress, now: Progress) -> bool:
        """Whether another worker tells what one told already: without ranks the first that tells counts."""
        if self._speaker in (None, told.speaker):
            return False
        parts = [(progress.epoch or 0, progress.epoch_ratio or 0.0) for progress in (now, self.progress)]
        return _place(now, self._loops) <= self._at and parts[0] <= parts[1]

    def _is_new_writer(self, uid: str) -> bool:
        """Whether another pod goes on with the steps: the job was resumed, or tried again."""
        if uid in self._writers or len(self._writers) >= MOST_RANKS:
            return False
        self._writers.add(uid)
        return len(self._writers) > 1

    def _rate(self, told: Progress, place: Place, at: float | None) -> None:
        """As told; else by the seconds of a step; else by when the steps were told."""
        if told.rate is not None:
            if told.is_mean_of_run:
                # a total of all ranks says more than the mean of one, and stands behind it
                self._own_mean = (told.rate, told.rate_unit, told.is_rate_of_rank)
                return
            if self.rate_unit != told.rate_unit:
                self.rate, self.rate_unit = Curve(is_rate=True), told.rate_unit
            self.rate.add(place, at, told.rate)
            return
        if self.rate_unit not in ("", STEPS_UNIT) or told.step is None:
            return
        value = 1 / told.seconds_per_step if told.seconds_per_step else self._by_time(told.step, at)
        if value:
            self.rate_unit = STEPS_UNIT
            self.rate.add(place, at, value)

    def _by_time(self, step: int, at: float | None) -> float | None:
        before, self._timed = self._timed, None if at is None else (step, at)
        if before is None or at is None or step <= before[0] or at <= before[1]:
            return None
        return (step - before[0]) / (at - before[1])

    def _begun_again(self, place: Place) -> None:
        """From that place on. How fast it gets on is measured anew: nothing was done in the pause."""
        if self.done or self.went_on_seconds is not None:
            self.restarts += 1
        self._usual_before = self.usual_interval_seconds
        self.done, self._moves = Curve(), Moves()
        self.went_on_seconds = None
        self._own_mean = None
        self._timed = None
        self.is_ended = False
        for curve in (self.loss, self.rate):
            curve.cut(place)
        for trace in self.ranks.values():
            trace.computes.clear()

    # ---- what it comes to

    @property
    def mean_rate(self) -> Steady | None:
        """The run's own mean where it said one, else that of what it told, without the warm-up."""
        found = steady(self.rate.points)
        if self._own_mean is not None and self._own_mean[1] == (self.rate_unit or self._own_mean[1]):
            deviation = found.deviation if found is not None else 0.0
            return Steady(self._own_mean[0], deviation, found.readings if found else 1)
        return found

    @property
    def mean_unit(self) -> str:
        return self.rate_unit or (self._own_mean[1] if self._own_mean else "")

    @property
    def is_rate_of_rank(self) -> bool | None:
        """Whether `mean_rate` is that of one rank; None where the log does not tell."""
        if self._own_mean is not None:
            return self._own_mean[2]
        return self.progress.is_rate_of_rank

    @property
    def seconds_per_step(self) -> float | None:
        """The usual wall time of a step: as told, else from when steps were told."""
        if self.progress.seconds_per_step:
            return self.progress.seconds_per_step
        points = [point for point in self.done.points if point.at_seconds is not None]
        if len(points) < 2 or points[0].at_seconds is None or points[-1].at_seconds is None:
            return None
        steps = points[-1].place[1] - points[0].place[1]
        seconds = points[-1].at_seconds - points[0].at_seconds
        return seconds / steps if points[0].place[0] == points[-1].place[0] and steps > 0 else None

    @property
    def usual_interval_seconds(self) -> float | None:
        """How long after each other steps are told, a mean since it last began, else of what was before; None
        before two."""
        return self._usual_before if self._moves.mean_seconds is None else self._moves.mean_seconds


STEPS_UNIT: Final = "steps/s"


def _is_next_loop(before: Progress, now: Progress) -> bool:
    """Whether a loop without an epoch's number was gone through, and begins once more."""
    if before.steps is None or before.step is None or now.step is None:
        return False
    is_nameless = now.epoch is None and not now.is_step_of_run and now.steps == before.steps
    return is_nameless and before.step >= before.steps > now.step


def _trace(trace: RankTrace, told: Progress, at: float | None) -> None:
    if told.step is not None:
        trace.step, trace.step_seconds = told.step, at
    if told.rate is not None:
        trace.rate = told.rate
    if told.compute_seconds is not None and told.step is not None:
        trace.computes.append((told.step, told.compute_seconds))


def _counts_run(progress: Progress) -> bool:
    return progress.is_step_of_run and progress.step is not None


def _place(progress: Progress, loops: int) -> Place:
    """Where a reading stands: steps of the whole run alone say so, else epochs and what is within them."""
    if _counts_run(progress) and progress.step is not None:
        return (0, progress.step)
    within = progress.step
    if within is None and progress.epoch_ratio is not None:
        within = round(progress.epoch_ratio * 1_000_000)
    return (loops if progress.epoch is None else progress.epoch, within or 0)
