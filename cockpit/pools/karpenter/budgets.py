"""Which nodes Karpenter may take away on its own now: policy, budgets and their schedules.

Sources: karpenter pkg/apis/v1/nodepool.go (IsActive, GetAllowedDisruptionsByReason: the smallest of those in
force counts, percentages round up, schedules are cron in UTC), pkg/controllers/disruption.
"""

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from cockpit.gangs.sentence import counted
from cockpit.model.pool import Disruption, DisruptionBudget, PoolObject
from cockpit.pools.owner import Nodes

REASONS = ("Empty", "Underutilized", "Drifted")
_LONGEST_WINDOW_DAYS = 31
_NAMED_TIMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_FIELDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_NAMES = {**{name: at for at, name in enumerate(_MONTHS, 1)}, **{name: at for at, name in enumerate(_DAYS)}}


def budget_lines(found: PoolObject, nodes: Nodes, now_seconds: float) -> Iterator[str]:
    """As the page of the pool shows them."""
    one = found.disruption
    if one is not None and (one.policy or one.after):
        yield f"takes nodes away: {one.policy or 'policy not told'} after {one.after or 'a time not told'}"
    if one is not None:
        yield from _allowed(in_force(one), len(nodes), now_seconds)


def in_force(one: Disruption) -> tuple[DisruptionBudget, ...]:
    """Its budgets; without any a tenth of the nodes may go at once (nodepool.go)."""
    return one.budgets or (DisruptionBudget("10%"),)


def _allowed(budgets: tuple[DisruptionBudget, ...], total: int, now_seconds: float) -> Iterator[str]:
    told = {reason: allowed(budgets, reason, total, now_seconds) for reason in REASONS}
    if len(set(told.values())) == 1:
        yield f"budget: {_count(told[REASONS[0]])} may go at once now"
    else:
        yield "budget: at once now " + ", ".join(f"{reason} {_count(told[reason])}" for reason in REASONS)
    for one in budgets:
        if one.schedule:
            state = {True: "in force", False: "not now", None: "not understood"}[is_active(one, now_seconds)]
            lasts = "" if one.duration_seconds is None else f" for {one.duration_seconds / 3600:.3g} h"
            yield f"  at most {one.nodes} at {one.schedule} UTC{lasts}: {state}"


def _count(number: int | None) -> str:
    return "an unknown number of nodes" if number is None else counted(number, "node")


def allowed(budgets: tuple[DisruptionBudget, ...], reason: str, total: int, now_seconds: float) -> int | None:
    """Nodes that may go at once for the reason, of `total`; None where a budget is not understood."""
    least = total
    for one in budgets:
        if one.reasons and reason not in one.reasons:
            continue
        active = is_active(one, now_seconds)
        most = _most(one.nodes, total)
        if active is None or most is None:
            return None
        least = min(least, most) if active else least
    return least


def _most(text: str, total: int) -> int | None:
    word = text.removesuffix("%")
    if not (word.isascii() and word.isdecimal() and len(word) < 10):
        return None
    return math.ceil(total * int(word) / 100) if text.endswith("%") else int(word)


def is_active(one: DisruptionBudget, now_seconds: float) -> bool | None:
    """Whether it counts now: without a schedule always, else for its duration from each time that the
    schedule names. None where that is not understood."""
    if not one.schedule:
        return True
    fields = _parsed(_NAMED_TIMES.get(one.schedule.strip(), one.schedule))
    if fields is None or one.duration_seconds is None:
        return None
    now = datetime.fromtimestamp(now_seconds, UTC)
    since = now - timedelta(seconds=min(one.duration_seconds, _LONGEST_WINDOW_DAYS * 86_400.0))
    day = now.replace(hour=0, minute=0, second=0, microsecond=0)
    while day + timedelta(days=1) > since:
        if _is_day(day, fields):
            for hour in fields[1]:
                for minute in fields[0]:
                    if since <= day.replace(hour=hour, minute=minute) <= now:
                        return True
        day -= timedelta(days=1)
    return False


_Fields = tuple[frozenset[int], ...]


def _is_day(day: datetime, fields: _Fields) -> bool:
    """Where both days of month and of week are narrowed, either will do, as cron has it."""
    if day.month not in fields[3]:
        return False
    by_month, by_week = day.day in fields[2], day.isoweekday() % 7 in fields[4]
    if len(fields[2]) == 31 or len(fields[4]) == 7:
        return by_month and by_week
    return by_month or by_week


def _parsed(text: str) -> _Fields | None:
    words = text.lower().split()
    if len(words) != 5:
        return None
    found = [_field(word, *bounds) for word, bounds in zip(words, _FIELDS, strict=True)]
    if any(one is None for one in found):
        return None
    *first, week = (one for one in found if one is not None)
    return (*first, frozenset(day % 7 for day in week))


def _field(text: str, low: int, high: int) -> frozenset[int] | None:
    values: set[int] = set()
    for part in text.split(","):
        span, _, every = part.partition("/")
        step = _number(every) if every else 1
        first, _, last = span.partition("-")
        if span in ("*", "?"):
            begin, end = low, high
        else:
            begin = _number(first) if first else None  # type: ignore[assignment]
            end = _number(last) if last else (high if every else begin)  # type: ignore[assignment]
        if begin is None or end is None or not step or not low <= begin <= end <= high:
            return None
        values.update(range(begin, end + 1, step))
    return frozenset(values)


def _number(text: str) -> int | None:
    if text in _NAMES:
        return _NAMES[text]
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 3 else None
