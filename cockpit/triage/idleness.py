"""Is a job idle that holds GPUs: never told by duty alone. Pure.

Every line of its trace says when it last showed work, and what is not measured counts as work. A job is idle
once nothing has shown any for the window, it is past its warm-up, and the quiet is longer than the pauses
that it has made before. So a start (memory fills, weights come over the network, a compiler runs), a pause
for data (CPU, network or disk work), a checkpoint (disk or network) and a notebook (a kernel now and then)
are told apart by what they do, and a habit by what was seen of it.

Duty is a sample of a moment. Where they are collected, two lines tell of kernels between samples: the share
of time in which an engine was busy, a mean over the exporter's interval (DCGM's user guide, profiling
metrics), and the card's counter of energy, which forgets nothing. They show work, never rest: DCGM tells 0 of
a busy engine now and then (NVIDIA/dcgm-exporter#662, NVIDIA/DCGM#303), and a context alone draws 26 to 66 W
more than none (arXiv 2605.23918): a small model that works adds less.

What cannot be told from idle: a first pause longer than the window in which the job itself does nothing at
all, because it waits for another one's work, or a person comes back to it every hour. That is why it is
asked or suspended before it is killed. A job that hangs in a collective spins on its cards and is not idle:
`jobs/training/hang` tells it.
"""

import enum
from collections.abc import Callable, Iterator
from itertools import pairwise
from statistics import median
from typing import Final

import msgspec

from cockpit.model.trace import CardTrace, Line, PodTrace, Trace

WORKS_DUTY_RATIO: Final = 0.05
"""Below is housekeeping of drivers and monitors."""
TRICKLE_DUTY_RATIO: Final = 0.005
TRICKLE_POINTS: Final = 15
"""A little duty in all but one of so many points measured in a row is a small model that is asked all the
time: housekeeping comes and goes."""
ENGINE_RATIO: Final = 0.01
"""Of a mean over 30 seconds: a third of a second. Without kernels it is 0, so less than of duty is work."""
ENGINE_TRICKLE_RATIO: Final = 0.001
MEMORY_BYTES: Final = 128 * 2**20
"""What a card's memory may wander by itself: caches of the driver, other processes' contexts."""
POWER_RATIO: Final = 1.3
POWER_WATTS: Final = 25.0
"""A draw this much above that of the last minutes was no idle card's."""
ENERGY_STEP_RATIO: Final = 0.08
ENERGY_STEP_WATTS: Final = 3.0
"""A minute whose mean draw is this much above the usual minute's was no rest."""
ENERGY_POINTS: Final = 5
"""Within so many points each pattern of intervals of a scrape comes round."""
ENERGY_RATIO: Final = 0.10
ENERGY_WATTS: Final = 3.0
"""A mean draw this much above what samples tell hides kernels: twice what a sample may be wrong by (NVML)."""
ENERGY_LATE_SECONDS: Final = 60.0
"""So late a counter may be read: exporters read it every 30 seconds, and are scraped as often."""
AS_AT_WORK_RATIO: Final = 0.7
"""A draw of so much of what the card drew at work contradicts a duty of zero."""
CPU_CORES: Final = 0.25
"""Of one pod: a shell, a notebook server or a rank that polls stays far below, a loader or compiler above."""
CPU_RATIO: Final = 2.0
CPU_LEAP_CORES: Final = 0.03
"""A cell of a notebook is short: what leaves the pod's own quiet this far counts, too. Counters forget
nothing: this tells of a kernel that ran while no sample of the card was taken."""
NETWORK_BYTES: Final = 64 * 2**10
"""A second, either way: heartbeats, scrapes and an open notebook stay below."""
DISK_BYTES: Final = 256 * 2**10
"""A second, read or written: log lines stay below."""
GAP_POINTS: Final = 3
"""So many points of a line may be missing in a row; a longer gap may hide work."""
WARM_UP_SECONDS: Final = 7_200.0
"""A start may take so long before the first kernel: staging of data, loading of weights, compilation."""
PAUSE_SECONDS: Final = 300.0
"""Shorter quiets are no pauses: they are the grain of any work."""
PATIENCE: Final = 2.0
"""A quiet is unusual once it is so many times the longest pause seen."""
LATELY_POINTS: Final = 10
QUIET_POINTS: Final = 30
USUAL_POINTS: Final = 60


class IdleStanding(enum.StrEnum):
    IDLE = "idle"
    WORKING = "working"
    STARTING = "starting"
    PAUSING = "pausing"
    UNKNOWN = "unknown"


class WorkSign(enum.StrEnum):
    """What a line showed last."""

    KERNEL = "a kernel ran"
    MEMORY = "GPU memory changed"
    POWER = "a card drew more power"
    ENERGY = "a card drew more energy"
    HIDDEN = "a card drew more than its samples tell"
    CPU = "CPU"
    NETWORK = "network"
    DISK = "disk"
    PROGRESS = "its log told a step"
    UNMEASURED = "not measured"


class Shown(msgspec.Struct, frozen=True, gc=False):
    """The newest sign of work: what, when, and how much where a line tells it (in base units). Of energy
    `value` is the mean draw and `usual` what it is compared with, in watts."""

    sign: WorkSign
    at_seconds: float
    value: float | None = None
    usual: float | None = None
    what: str = ""  # of UNMEASURED: which quantity


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """What a trace tells. `since_seconds` is since when nothing has shown work, None where that is not known;
    `needed_seconds` how long that has to last; `pause_seconds` the longest pause it made before; `missing`
    the quantities that nobody collects."""

    standing: IdleStanding
    since_seconds: float | None = None
    needed_seconds: float = 0.0
    last: Shown | None = None
    pause_seconds: float = 0.0
    missing: tuple[str, ...] = ()
    coming: int = 0


def judge(trace: Trace, idle_for_seconds: float) -> Judged:
    """Whether the job has been idle for that long at the end of the trace, and by what."""
    missing, needed = _missing(trace), idle_for_seconds
    if not trace.is_whole or not trace.cards or missing:
        return Judged(standing=IdleStanding.UNKNOWN, needed_seconds=needed, missing=missing)
    last = _last_sign(trace, needed)
    if last is not None and trace.end_seconds - last.at_seconds < needed:
        unseen = last.sign is WorkSign.UNMEASURED
        standing = IdleStanding.UNKNOWN if unseen else IdleStanding.WORKING
        return Judged(standing=standing, since_seconds=last.at_seconds, needed_seconds=needed, last=last)
    return _quiet(trace, last, needed)


def _quiet(trace: Trace, last: Shown | None, needed: float) -> Judged:
    """Nothing has shown work for as long as needed: is that a start, a habit, or the end of work?"""
    worked = [at for card in trace.cards for at in _at_work(card.duty)]
    pause = _longest_pause(trace)
    since = _first_point(trace) if last is None else last.at_seconds
    since = max(since, trace.started_seconds or since)
    standing = IdleStanding.IDLE
    if trace.started_seconds is None or trace.end_seconds - since < needed:
        standing = IdleStanding.UNKNOWN
    elif trace.coming or _is_starting(trace, worked):
        standing = IdleStanding.STARTING
    elif _draws_as_at_work(trace):
        standing = IdleStanding.UNKNOWN
    elif trace.end_seconds - since < PATIENCE * pause:
        standing = IdleStanding.PAUSING
    return Judged(
        standing=standing,
        since_seconds=since,
        needed_seconds=max(needed, PATIENCE * pause),
        last=last,
        pause_seconds=pause,
        coming=trace.coming,
    )


# ---- signs


def _missing(trace: Trace) -> tuple[str, ...]:
    found: list[str] = []
    found += ["duty"] * any(_is_blank(card.duty) for card in trace.cards)
    found += ["GPU memory"] * any(_is_blank(card.memory_bytes) for card in trace.cards)
    found += ["CPU"] * (not trace.pods or any(_is_blank(pod.cpu_cores) for pod in trace.pods))
    found += ["network"] * any(_is_blank(pod.receive) or _is_blank(pod.transmit) for pod in trace.pods)
    found += ["disk"] * any(_is_blank(pod.disk_read) or _is_blank(pod.disk_write) for pod in trace.pods)
    return tuple(found)


def _is_blank(line: Line) -> bool:
    return all(one is None for one in line)


def _last_sign(trace: Trace, needed: float) -> Shown | None:
    found = [one for one in _signs(trace, needed) if one is not None]
    if trace.progress_seconds is not None:
        found.append(Shown(WorkSign.PROGRESS, trace.progress_seconds))
    # of signs at the same moment the one that shows work is told, not the one that shows nothing
    return max(found, key=lambda one: (one.at_seconds, one.sign is not WorkSign.UNMEASURED), default=None)


def _signs(trace: Trace, needed: float) -> Iterator[Shown | None]:
    for card in trace.cards:
        yield _kernel_sign(trace, card.duty)
        yield _kernel_sign(trace, card.engine, ENGINE_RATIO, ENGINE_TRICKLE_RATIO)
        yield _energy_sign(trace, card.energy_joules)
        yield _hidden_sign(trace, card, needed)
        yield _memory_sign(trace, card.memory_bytes)
        yield _power_sign(trace, card.power_watts)
        yield _gap(trace, card.duty, "duty")
        yield _gap(trace, card.memory_bytes, "GPU memory")
    for pod in trace.pods:
        yield _newest_over(trace, pod.cpu_cores, _cpu_leap(pod.cpu_cores), WorkSign.CPU)
        for line, least, sign in _lines_of(pod):
            yield _newest_over(trace, line, least, sign)
            yield _gap(trace, line, sign.value)


def _lines_of(pod: PodTrace) -> tuple[tuple[Line, float, WorkSign], ...]:
    return (
        (pod.cpu_cores, CPU_CORES, WorkSign.CPU),
        (pod.receive, NETWORK_BYTES, WorkSign.NETWORK),
        (pod.transmit, NETWORK_BYTES, WorkSign.NETWORK),
        (pod.disk_read, DISK_BYTES, WorkSign.DISK),
        (pod.disk_write, DISK_BYTES, WorkSign.DISK),
    )


def _at(trace: Trace, place: int, points: int) -> float:
    return trace.end_seconds - (points - 1 - place) * trace.step_seconds


def _first_point(trace: Trace) -> float:
    return _at(trace, 0, max(len(card.duty) for card in trace.cards))


def _newest_where(line: Line, holds: Callable[[float], bool]) -> int | None:
    for place in range(len(line) - 1, -1, -1):
        value = line[place]
        if value is not None and holds(value):
            return place
    return None


def _newest_over(trace: Trace, line: Line, least: float, sign: WorkSign) -> Shown | None:
    place = _newest_where(line, lambda value: value >= least)
    return None if place is None else Shown(sign, _at(trace, place, len(line)), line[place])


def _kernel_sign(
    trace: Trace, line: Line, much: float = WORKS_DUTY_RATIO, little: float = TRICKLE_DUTY_RATIO
) -> Shown | None:
    place = max(_at_work(line, much, little), default=None)
    return None if place is None else Shown(WorkSign.KERNEL, _at(trace, place, len(line)), line[place])


def _at_work(line: Line, much: float = WORKS_DUTY_RATIO, little: float = TRICKLE_DUTY_RATIO) -> list[int]:
    """Points of a card's duty at which it works: much at once, or a little all the time."""
    found = set(_over(line, much))
    measured = [place for place, value in enumerate(line) if value is not None]
    trickles = [at for at, place in enumerate(measured) if (line[place] or 0.0) >= little]
    for first, last in zip(trickles, trickles[TRICKLE_POINTS - 2 :], strict=False):
        if last - first < TRICKLE_POINTS:
            found.update((measured[first], measured[last]))
    return sorted(found)


def _memory_sign(trace: Trace, line: Line) -> Shown | None:
    """When the memory was last another one than it is now: a slow rise is seen like a leap."""
    now = next((one for one in reversed(line) if one is not None), 0.0)
    place = _newest_where(line, lambda value: abs(value - now) > MEMORY_BYTES)
    if place is None:
        return None
    return Shown(WorkSign.MEMORY, _at(trace, place, len(line)), now - (line[place] or 0))


def _lately(line: Line) -> float | None:
    found = sorted(one for one in line[-LATELY_POINTS:] if one is not None)
    return found[len(found) // 2] if found else None


def _power_sign(trace: Trace, line: Line) -> Shown | None:
    usual = _lately(line)
    if usual is None:
        return None
    most = max(usual * POWER_RATIO, usual + POWER_WATTS)
    return _newest_over(trace, line, most, WorkSign.POWER)


def _stretches(line: Line) -> list[list[tuple[int, float]]]:
    """A counter's points, a new stretch where it began again: what was drawn meanwhile nobody knows."""
    found: list[list[tuple[int, float]]] = []
    for place, value in enumerate(line):
        if value is None:
            continue
        if not found or value < found[-1][-1][1]:
            found.append([])
        found[-1].append((place, value))
    return found


def _energy_sign(trace: Trace, line: Line) -> Shown | None:
    """When a counter last stepped above what the card usually draws: of requests whose kernels no sample saw.

    A step is what stays: the least of the points after it above the most of those before. So points that were
    read late, as where intervals do not fit into minutes, are none. One step alone may be an interval that
    moved for good; at least two within an hour count."""
    stretches = _stretches(line)
    spans = [
        (after - before) / ((last - first) * trace.step_seconds)
        for points in stretches
        for (first, before), (last, after) in zip(points, points[ENERGY_POINTS:], strict=False)
    ]
    if not spans:
        return None
    usual = median(spans[-USUAL_POINTS:])
    least = max(ENERGY_STEP_RATIO * usual, ENERGY_STEP_WATTS) * trace.step_seconds
    steps = [step for points in stretches for step in _steps(points, usual * trace.step_seconds, least)]
    for before, last in reversed(list(pairwise(steps))):
        if last - before <= USUAL_POINTS:
            return Shown(WorkSign.ENERGY, _at(trace, last, len(line)), usual=usual)
    return None


def _steps(points: list[tuple[int, float]], usual_joules: float, least_joules: float) -> Iterator[int]:
    above = [joules - place * usual_joules for place, joules in points]
    for at in range(1, len(points)):
        rise = min(above[at : at + ENERGY_POINTS]) - max(above[max(0, at - ENERGY_POINTS) : at])
        if rise > least_joules:
            yield points[at][0]


def _hidden_sign(trace: Trace, card: CardTrace, needed: float) -> Shown | None:
    """Whether the card drew more over the window than its samples tell: of kernels that come as regularly as
    the samples, and so fall between them all. No model need be known: both numbers are the card's own."""
    points = int(needed / trace.step_seconds)
    stretches = _stretches(card.energy_joules[-points:])
    told = [one for one in card.power_watts[-points:] if one is not None]
    if not told or len(stretches) != 1 or len(stretches[0]) < 2:
        return None
    (first, before), (last, after) = stretches[0][0], stretches[0][-1]
    seconds, usual = (last - first) * trace.step_seconds, median(told)
    least = max(ENERGY_RATIO * usual, ENERGY_WATTS) * seconds + usual * ENERGY_LATE_SECONDS
    if after - before - usual * seconds <= least:
        return None
    return Shown(WorkSign.HIDDEN, trace.end_seconds, (after - before) / seconds, usual)


def _cpu_leap(line: Line) -> float:
    """Above the pod's quiet: a low quarter of the last half hour, for requests in a row are no quiet."""
    found = sorted(one for one in line[-QUIET_POINTS:] if one is not None)
    return CPU_RATIO * (found[len(found) // 4] if found else 0.0) + CPU_LEAP_CORES


def _gap(trace: Trace, line: Line, what: str) -> Shown | None:
    """The end of the newest gap that may hide work: also one that lasts still."""
    run = 0
    for place in range(len(line) - 1, -1, -1):
        if line[place] is not None:
            run = 0
            continue
        run += 1
        if run > GAP_POINTS:
            end = next((at for at in range(place, len(line)) if line[at] is not None), len(line) - 1)
            return Shown(WorkSign.UNMEASURED, _at(trace, end, len(line)), what=what)
    return None


# ---- starts and habits


def _over(line: Line, least: float) -> Iterator[int]:
    return (place for place, value in enumerate(line) if value is not None and value >= least)


def _is_starting(trace: Trace, worked: list[int]) -> bool:
    """Its youngest container has not run a kernel yet, and is not old enough to have given up."""
    started = trace.started_seconds
    if started is None or trace.end_seconds - started >= WARM_UP_SECONDS:
        return False
    points = max(len(card.duty) for card in trace.cards)
    return not any(_at(trace, place, points) > started for place in worked)


def _draws_as_at_work(trace: Trace) -> bool:
    """A card draws as much as while kernels ran: then its duty is not believed."""
    for card in trace.cards:
        pairs, least = zip(card.duty[::-1], card.power_watts[::-1], strict=False), 10 * WORKS_DUTY_RATIO
        drawn = [watts for duty, watts in pairs if watts is not None and (duty or 0.0) >= least]
        now = _lately(card.power_watts)
        if drawn and now is not None and now >= AS_AT_WORK_RATIO * sorted(drawn)[len(drawn) // 2]:
            return True
    return False


def _longest_pause(trace: Trace) -> float:
    """The longest quiet that ended in work, 0 where it made none worth the name."""
    points = max(len(card.duty) for card in trace.cards)
    busy: set[int] = set()
    for card in trace.cards:
        busy.update(points - len(card.duty) + place for place in _at_work(card.duty))
    for pod in trace.pods:
        for line, least, _ in _lines_of(pod):
            busy.update(points - len(line) + place for place in _over(line, least))
    longest, before = 0, _quiet_before(trace)
    for place in sorted(busy):
        if before is not None:
            longest = max(longest, place - before - 1)
        before = place
    seconds = longest * trace.step_seconds
    return seconds if seconds >= PAUSE_SECONDS else 0.0


def _quiet_before(trace: Trace) -> int | None:
    """The place of the work that a quiet at the front of the lines followed: just before them, None where the
    job began later, for then it is its start."""
    started = trace.started_seconds
    return -1 if started is not None and started < _first_point(trace) else None
