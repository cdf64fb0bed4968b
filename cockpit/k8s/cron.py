"""Schedules of CronJobs, as the API server checks them and their controller counts them.

Five fields (minute, hour, day, month, weekday), each `*`, a number, a range, a step or a list of these, with
months and weekdays by name, too; or a descriptor such as `@daily` or `@every 90m`. Where both day and weekday
are given, either is enough. Source: github.com/robfig/cron v3 (parser.go, spec.go), pkg/apis/batch/validation
(validateScheduleFormat).
"""

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta, tzinfo
from itertools import product
from typing import Final, NamedTuple

from cockpit.k8s.durations import go_seconds

_DESCRIPTORS: Final = {
    **dict.fromkeys(("@yearly", "@annually"), "0 0 1 1 *"),
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    **dict.fromkeys(("@daily", "@midnight"), "0 0 * * *"),
    "@hourly": "0 * * * *",
}
_EVERY: Final = "@every "
_MOST_YEARS: Final = 5
"""A schedule that names no time within them is due never (spec.go, Next)."""


class CronField(NamedTuple):
    """What one of the five fields may hold; `names` stand for its numbers from `least` on."""

    name: str
    least: int
    most: int
    names: tuple[str, ...] = ()


_MONTHS: Final = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)
FIELDS: Final = (
    CronField("minute", 0, 59),
    CronField("hour", 0, 23),
    CronField("day", 1, 31),
    CronField("month", 1, 12, _MONTHS),
    CronField("weekday", 0, 6, ("sun", "mon", "tue", "wed", "thu", "fri", "sat")),
)
_ITEM: Final = re.compile(r"(?P<first>\*|\?|\w+)(?:-(?P<last>\w+))?(?:/(?P<step>[0-9]{1,9}))?")


class CronSchedule(NamedTuple):
    """When a CronJob is due: by the numbers of its five fields, or every `every_seconds`."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    is_any_day: bool
    is_any_weekday: bool
    every_seconds: float = 0.0

    def next_after(self, seconds: float, zone: tzinfo) -> float | None:
        """The first time that is due after `seconds` (since the epoch), by the clock of `zone`; None where
        none is within five years."""
        if self.every_seconds:
            return float(int(seconds)) + self.every_seconds
        start = datetime.fromtimestamp(seconds, zone)
        for day in self._days_from(start.date()):
            for hour, fold in product(sorted(self.hours), (0, 1)):  # the end of summer time repeats an hour
                for minute in sorted(self.minutes):
                    at = datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone, fold=fold)
                    due = at.timestamp()
                    is_real = datetime.fromtimestamp(due, zone).hour == hour  # its begin skips one
                    if due > seconds and is_real:
                        return due
        return None

    def _days_from(self, first: date) -> Iterator[date]:
        day, last = first, first + timedelta(days=366 * _MOST_YEARS)
        while day <= last:
            if day.month in self.months and self._is_day(day):
                yield day
            day += timedelta(days=1)

    def _is_day(self, day: date) -> bool:
        found = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return all(found) if self.is_any_day or self.is_any_weekday else any(found)


def parse_schedule(text: str) -> CronSchedule:
    """The schedule behind `text`. Raises ValueError: one clause that names the field, its value and what is
    allowed."""
    text = text.strip()
    if text.startswith(("TZ=", "CRON_TZ=")):
        raise ValueError("a time zone is given apart from it (spec.timeZone)")
    if text.startswith(_EVERY):
        return _every(text.removeprefix(_EVERY))
    if text.startswith("@") and text not in _DESCRIPTORS:
        raise ValueError(f"it is none of {', '.join(_DESCRIPTORS)} and @every DURATION")
    parts = _DESCRIPTORS.get(text, text).split()
    if len(parts) != len(FIELDS):
        raise ValueError(
            f"it has {len(parts)} of 5 fields: write minute hour day month weekday, as in 0 3 * * 1-5"
        )
    fields = [_numbers(part, field) for part, field in zip(parts, FIELDS, strict=True)]
    minutes, hours, days, months, weekdays = (numbers for numbers, _ in fields)
    return CronSchedule(minutes, hours, days, months, weekdays, fields[2][1], fields[4][1])


def _every(text: str) -> CronSchedule:
    seconds = go_seconds(text.strip())
    if seconds is None:
        raise ValueError(f"{text!r} is no duration: write for example @every 90m")
    nothing: frozenset[int] = frozenset()
    whole = max(1.0, float(int(seconds)))
    return CronSchedule(nothing, nothing, nothing, nothing, nothing, False, False, whole)


def _numbers(part: str, field: CronField) -> tuple[frozenset[int], bool]:
    """The numbers of a field, and whether it leaves the choice open: `*/2` does not (parser.go, getRange)."""
    found: set[int] = set()
    is_any = False
    for item in filter(None, part.split(",")):
        match = _ITEM.fullmatch(item)
        if match is None:
            raise ValueError(f"{field.name}: {item!r} is no number, range or step")
        first, last, step = match.group("first", "last", "step")
        if first in ("*", "?"):
            least, most = field.least, field.most
            is_any |= int(step or 1) == 1
        else:
            least = _number(first, field)
            most = _number(last, field) if last else field.most if step else least
        if least > most:
            raise ValueError(f"{field.name}: {item!r} begins behind its end")
        if step is not None and int(step) == 0:
            raise ValueError(f"{field.name}: {item!r} has a step of 0")
        found.update(range(least, most + 1, int(step or 1)))
    return frozenset(found), is_any


def _number(text: str, field: CronField) -> int:
    if text.lower() in field.names:
        return field.names.index(text.lower()) + field.least
    if not text.isascii() or not text.isdecimal() or not field.least <= int(text) <= field.most:
        raise ValueError(f"{field.name}: {text!r} is not between {field.least} and {field.most}")
    return int(text)
