"""A pool's size against the demand for it over the last hours: a line of sparks, or charts."""

from collections.abc import Sequence
from typing import NamedTuple

from cockpit_widgets.curve_chart import ChartCurve, Scale, curve_chart, nice_top
from cockpit_widgets.glyphs import spark
from cockpit_widgets.text import fit
from cockpit_widgets.types import Cell, Line, Tone

from cockpit.model.remembered import PoolSample
from cockpit.views import format as fmt

SHOWN_SECONDS = 6 * 3_600.0
LEAST_POINTS = 3
TOGETHER_SECONDS = 300.0
"""Between two samples no further apart the pool stood as at the first: a session takes one every two
minutes."""
MOST_CHART_LINES = 10
_GUTTER = "   "
_TONES: tuple[Tone, ...] = ("strong", "accent", "info")


class _Curve(NamedTuple):
    name: str
    now: str
    values: list[int | None]


def curve_lines(samples: Sequence[PoolSample], now: PoolSample, width: int, height: int) -> list[Line]:
    """GPUs of the pool beside GPUs asked of it, on one scale; [] where it was not watched for long enough."""
    points = _slots(samples, now, width)
    if sum(point is not None for point in points) < LEAST_POINTS or width < 40:
        return []
    curves = [
        _Curve("size", _number(now.gpus), [point and point.gpus for point in points]),
        _Curve("demand", _number(now.demand_gpus), [point and point.demand_gpus for point in points]),
        _Curve(
            "allocated", _number(now.allocated_gpus), [point and point.allocated_gpus for point in points]
        ),
    ]
    top = float(max((value or 0 for curve in curves for value in curve.values), default=1) or 1)
    known = [item.at_seconds for item in (*samples, now) if now.at_seconds - item.at_seconds <= SHOWN_SECONDS]
    span = f"last {fmt.age(now.at_seconds - min(known))}"
    drawn = [ChartCurve(one.name, one.values, tone) for one, tone in zip(curves, _TONES, strict=True)]
    times = (f"-{fmt.age(now.at_seconds - min(known))}", "now")
    scale = Scale(0.0, nice_top(top), lambda value: f"{value:,.0f}", times)
    chart = curve_chart(drawn, width, min(height, MOST_CHART_LINES) - 1, scale)
    if not chart:
        return [_line(curves[: 3 if width >= 100 else 2], top, width, span)]
    heads = " · ".join(f"{one.name} {one.now}" for one in curves)
    return [(Cell(fit(f"GPUs: {heads} · {span}", width)),), *chart]


def _line(curves: Sequence[_Curve], top: float, width: int, span: str) -> tuple[Cell, ...]:
    heads = [f"{curve.name} {curve.now} " for curve in curves]
    used = sum(map(len, heads)) + len(span) + len(_GUTTER) * len(curves) + len("GPUs: ")
    room = max(4, min(40, (width - used) // len(curves)))
    pieces = [Cell("GPUs: ", "dim")]
    for head, one in zip(heads, curves, strict=True):
        pieces += [Cell(head), Cell(spark(one.values, room, 0.0, top) + _GUTTER, "dim")]
    return (*pieces, Cell(span, "dim"))


def _slots(samples: Sequence[PoolSample], now: PoolSample, width: int) -> list[PoolSample | None]:
    """This number of equally spaced moments up to now, each the last sample before its end; gaps are None."""
    begin = min(
        (sample.at_seconds for sample in samples if sample.at_seconds >= now.at_seconds - SHOWN_SECONDS),
        default=now.at_seconds,
    )
    count = max(1, width // 3)
    step = max(60.0, (now.at_seconds - begin) / count)
    slots: list[PoolSample | None] = [None] * count
    before = None
    for item in sorted((*samples, now), key=lambda one: one.at_seconds):
        at = count - 1 - int((now.at_seconds - item.at_seconds) / step)
        if 0 <= at < count:
            if before is not None and item.at_seconds - before[1].at_seconds <= TOGETHER_SECONDS:
                slots[before[0] + 1 : at] = [before[1]] * (at - before[0] - 1)
            slots[at], before = item, (at, item)
    first = next((at for at, one in enumerate(slots) if one is not None), 0)
    return slots[first:]


def _number(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"
