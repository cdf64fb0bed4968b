"""The last hour, in a line or as a chart: GPUs wanted, allocated and free, and the queue."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from cockpit_widgets.curve_chart import LEAST_LINES, ChartCurve, Limit, Scale, curve_chart, nice_top
from cockpit_widgets.glyphs import spark
from cockpit_widgets.text import fit, width_of
from cockpit_widgets.types import Cell, Line

from cockpit.model.job import Job, JobState
from cockpit.model.remembered import LoadSample
from cockpit.views.fleet import Fleet

MINUTES = 60
LEAST_CHART_LINES = LEAST_LINES + 1
"""With the heading; in fewer a line of sparks says as much."""
MOST_CHART_LINES = 30
LEAST_CHART_MINUTES = 10
_WIDE_CELLS = 140
"""From here on the queue has a chart, too."""
_GUTTER = "    "
_STEPS = (30, 20, 15, 10, 6, 0)
_WAITS = (JobState.QUEUED, JobState.PENDING)

Reading = Callable[[LoadSample], int | None]


def minute_of(seconds: float) -> int:
    return int(seconds // 60)


def load_sample(found: Fleet, jobs: Iterable[Job], now_seconds: float) -> LoadSample:
    """The load at this moment. A job that has not said how many GPUs it wants counts with those it has; a
    schedule wants none, its runs do."""
    wanted = queued = 0
    for job in jobs:
        if job.state in (*JobState.ENDED, JobState.SUSPENDED, JobState.SCHEDULED):
            continue
        wanted += max(job.gpus_wanted or 0, job.gpus_allocated)
        queued += job.state in _WAITS
    return LoadSample(now_seconds, wanted, found.allocated, None if found.unseen else found.free, queued)


def load_line(samples: Sequence[LoadSample], now: LoadSample, width: int) -> str:
    """`Last hour  GPUs wanted 260 ▁▂▅█  allocated 200 ▆▆▇▇  free 62 ▃▂▁▁  queue 5 jobs ▁▂▃▅` in that width.

    It says how long the load was observed; minutes without samples are gaps. GPUs share one scale.
    """
    line = _by_minute(samples, now)
    text = ""
    for step in _STEPS:
        cells = min(step, len(line)) if len(line) > 1 else 0
        parts = []
        for curve in _curves(line, now):
            drawn = f" {spark(curve.values, cells, 0.0, curve.top)}" if cells else ""
            parts.append(f"{curve.name} {curve.now}{drawn}")
        text = f"{_title(line)}  {'  '.join(parts)}"
        if width_of(text) <= width:
            break
    return text


def load_charts(samples: Sequence[LoadSample], now: LoadSample, width: int, height: int) -> list[Line]:
    """The same as a chart of GPUs, beside it one of the queue where there is room; the line where there is no
    room. What can be had now, allocated or free, is the dotted line."""
    line = _by_minute(samples, now)
    lines = min(height, MOST_CHART_LINES) - 1
    if len(line) <= LEAST_CHART_MINUTES or lines < LEAST_LINES:
        return [(Cell(load_line(samples, now, width), "dim"),)]
    wanted, allocated, free, queue = _curves(line, now)
    capacity = None if now.free_gpus is None else (now.allocated_gpus or 0) + now.free_gpus
    limit = None if capacity is None else Limit("capacity", float(capacity))
    times = (f"-{len(line) - 1}m", f"-{(len(line) - 1) // 2}m", "now")
    top = nice_top(max(wanted.top, float(capacity or 0)))
    cells = width if width < _WIDE_CELLS else width * 2 // 3
    gpus = [ChartCurve("wanted", wanted.values, "accent"), ChartCurve("allocated", allocated.values, "info")]
    drawn = curve_chart(gpus, cells, lines, Scale(0.0, top, _whole, times), limit)
    if not drawn:
        return [(Cell(load_line(samples, now, width), "dim"),)]
    heading = f"{_title(line)}  {wanted.heading} · {allocated.heading} · {free.heading}"
    if cells == width:
        return [(Cell(fit(f"{heading} · {queue.heading}", width), "dim"),), *drawn]
    rest = width - cells - len(_GUTTER)
    jobs = [ChartCurve("wait", queue.values, "warn")]
    beside = curve_chart(jobs, rest, lines, Scale(0.0, max(4.0, nice_top(queue.top)), _whole, times))
    heads = (Cell(fit(heading, cells), "dim"), Cell(_GUTTER + fit(queue.heading, rest), "dim"))
    return [heads, *((*left, Cell(_GUTTER), *right) for left, right in zip(drawn, beside, strict=True))]


def _whole(value: float) -> str:
    return f"{value:,.0f}"


class _Curve(NamedTuple):
    name: str
    now: str
    values: list[int | None]
    top: float

    @property
    def heading(self) -> str:
        peak = max((value for value in self.values if value is not None), default=0)
        return f"{self.name} {self.now}, peak {peak:,}"


def _by_minute(samples: Sequence[LoadSample], now: LoadSample) -> list[LoadSample | None]:
    """A sample for each minute of the last hour since the first that is known, None for a gap."""
    last = minute_of(now.at_seconds)
    known = {minute_of(sample.at_seconds): sample for sample in samples}
    known = {minute: one for minute, one in known.items() if last - MINUTES <= minute < last} | {last: now}
    return [known.get(minute) for minute in range(min(known), last + 1)]


def _title(line: Sequence[LoadSample | None]) -> str:
    return "Last hour" if len(line) >= MINUTES else f"Last {len(line) - 1} min" if len(line) > 1 else "Now"


def _curves(line: Sequence[LoadSample | None], now: LoadSample) -> list[_Curve]:
    most = max((max(item.wanted_gpus or 0, item.allocated_gpus or 0) for item in line if item), default=0)
    longest = max((item.queued_jobs or 0 for item in line if item), default=0)

    def curve(name: str, read: Reading, high: int, unit: str = "") -> _Curve:
        value = read(now)
        values = [None if item is None else read(item) for item in line]
        return _Curve(name, "?" if value is None else f"{value:,}{unit}", values, float(max(high, 1)))

    return [
        curve("GPUs wanted", lambda one: one.wanted_gpus, most),
        curve("allocated", lambda one: one.allocated_gpus, most),
        curve("free", lambda one: one.free_gpus, most),
        curve("queue", lambda one: one.queued_jobs, longest, " job" if now.queued_jobs == 1 else " jobs"),
    ]
