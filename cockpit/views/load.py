"""What was asked for and used in the last hour, in a line: GPUs wanted, allocated and free, and the queue."""

from collections.abc import Callable, Iterable, Sequence

from cockpit_widgets.glyphs import spark
from cockpit_widgets.text import width_of

from cockpit.model.job import Job, JobState
from cockpit.model.remembered import LoadSample
from cockpit.views.fleet import Fleet

MINUTES = 60
_STEPS = (30, 20, 15, 10, 6, 0)
_WAITS = (JobState.QUEUED, JobState.PENDING)

Reading = Callable[[LoadSample], int | None]


def minute_of(seconds: float) -> int:
    return int(seconds // 60)


def load_sample(found: Fleet, jobs: Iterable[Job], now_seconds: float) -> LoadSample:
    """The load at this moment. A job that has not said how many GPUs it wants counts with those it has."""
    wanted = queued = 0
    for job in jobs:
        if job.state in JobState.ENDED or job.state == JobState.SUSPENDED:
            continue
        wanted += max(job.gpus_wanted or 0, job.gpus_allocated)
        queued += job.state in _WAITS
    return LoadSample(now_seconds, wanted, found.allocated, None if found.unseen else found.free, queued)


def load_line(samples: Sequence[LoadSample], now: LoadSample, width: int) -> str:
    """`Last hour  GPUs wanted 260 ▁▂▅█  allocated 200 ▆▆▇▇  free 62 ▃▂▁▁  queue 5 jobs ▁▂▃▅` in that width.

    It says for how long anybody looked; minutes in which nobody did are gaps. GPUs share one scale.
    """
    last = minute_of(now.at_seconds)
    by_minute = {minute_of(one.at_seconds): one for one in samples}
    by_minute = {minute: one for minute, one in by_minute.items() if last - MINUTES <= minute < last}
    by_minute[last] = now
    first = min(by_minute)
    line = [by_minute.get(minute) for minute in range(first, last + 1)]
    title = "Last hour" if len(line) >= MINUTES else f"Last {len(line) - 1} min" if len(line) > 1 else "Now"
    most = max((max(one.wanted_gpus or 0, one.allocated_gpus or 0) for one in line if one), default=0)
    text = ""
    for cells in _STEPS:
        text = _words(title, line, now, min(cells, len(line)) if len(line) > 1 else 0, most)
        if width_of(text) <= width:
            break
    return text


def _words(title: str, line: Sequence[LoadSample | None], now: LoadSample, cells: int, most: int) -> str:
    def part(name: str, read: Reading, unit: str = "", high: int | None = None) -> str:
        value = read(now)
        number = "?" if value is None else f"{value:,}{unit}"
        values = [None if one is None else read(one) for one in line]
        curve = f" {spark(values, cells, 0.0, float(max(high or 0, 1)))}" if cells else ""
        return f"{name} {number}{curve}"

    longest = max((one.queued_jobs or 0 for one in line if one), default=0)
    parts = (
        part("GPUs wanted", lambda one: one.wanted_gpus, high=most),
        part("allocated", lambda one: one.allocated_gpus, high=most),
        part("free", lambda one: one.free_gpus, high=most),
        part("queue", lambda one: one.queued_jobs, " job" if now.queued_jobs == 1 else " jobs", longest),
    )
    return f"{title}  {'  '.join(parts)}"
