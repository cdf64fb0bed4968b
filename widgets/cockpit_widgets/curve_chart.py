"""Curves as lines of braille between a value axis with three ticks and a time axis."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from cockpit_widgets.glyphs import bounds, bucketed, spark
from cockpit_widgets.text import fit, width_of
from cockpit_widgets.types import Cell, Line, Tone

LEAST_CELLS, LEAST_LINES = 24, 5
"""Of the area between the axes, and of all: in less a line of sparks says as much."""
MOST_CURVES = 3
_LIMIT = "┈"
_BRAILLE = 0x2800
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
"""Bits of a braille cell: left and right column, from the top."""
_NICE = (1.0, 1.2, 1.6, 2.0, 2.4, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


class ChartCurve(NamedTuple):
    """Equally spaced values of which the last is the newest; None is a gap. The name stands at its end."""

    name: str
    values: Sequence[float | None]
    tone: Tone = "info"


class Limit(NamedTuple):
    """A level that bounds what is drawn, dotted."""

    name: str
    value: float


class Scale(NamedTuple):
    """Least and greatest value, how a value is written, and the times at even distances, the oldest first."""

    lo: float
    hi: float
    number: Callable[[float], str]
    times: Sequence[str]


def nice_top(value: float) -> float:
    """The next number above that is easily read, and so is its half: 204 gives 240, 3 gives 3."""
    if value <= 0.0 or not math.isfinite(value):
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in _NICE if step * power >= value * (1.0 - 1e-9))


def span_of(curves: Sequence[ChartCurve]) -> tuple[float, float]:
    """Least and greatest of all their values."""
    return bounds([value for curve in curves for value in curve.values])


def spark_line(
    curve: ChartCurve, width: int, number: Callable[[float], str], lo: float | None = None
) -> Line:
    """`loss 2.31 ▇▆▅▃▂ 2.154, least 2.15` in exactly `width` cells: first, shape, newest and least value. The
    lowest step is `lo`, or the least value."""
    known = [value for value in curve.values if value is not None]
    if not known:
        return (Cell(fit(f"{curve.name} ?", width)),)
    first, last = f"{curve.name} {number(known[0])} ", f" {number(known[-1])}"
    least = f", least {number(min(known))}"
    room = width - width_of(first + last + least)
    return (
        Cell(first),
        Cell(spark(stretched(curve.values, room), room, lo) if room > 0 else "", curve.tone),
        Cell(fit(last + least, width - width_of(first) - max(room, 0))),
    )


def curve_chart(
    curves: Sequence[ChartCurve], width: int, height: int, scale: Scale, limit: Limit | None = None
) -> list[Line]:
    """At most three curves on one scale, in exactly `height` lines of `width` cells.

    Each has its tone, and its name at its end; where two cross, the first one named is in front.
    [] where the width or the height leaves no room for a chart.
    """
    ticks = [scale.number(value) for value in (scale.hi, (scale.lo + scale.hi) / 2.0, scale.lo)]
    axis = max(map(width_of, ticks))
    names = [curve.name for curve in curves] + ([limit.name] if limit else [])
    labels = max(map(width_of, names)) + 1
    cells, lines = width - axis - labels - 2, height - 1
    if cells < LEAST_CELLS or height < LEAST_LINES or not 0 < len(curves) <= MOST_CURVES:
        return []
    area = _Area(cells, lines, scale)
    if limit is not None and scale.lo <= limit.value <= scale.hi:
        area.draw_limit(limit)
    for curve in reversed(curves):
        area.draw(curve)
    at_tick = {0: ticks[0], (lines - 1) // 2: ticks[1], lines - 1: ticks[2]}
    ends = _ends(area, curves, limit)
    drawn = []
    for row in range(lines):
        tick = at_tick.get(row, "")
        mark = "┤" if tick else "│"
        end = ends.get(row, Cell(""))
        drawn.append(
            (
                Cell(f"{tick:>{axis}} {mark}", "dim"),
                *area.pieces(row),
                Cell(fit(f" {end.text}", labels), end.tone),
            )
        )
    return [*drawn, (Cell(_time_axis(scale.times, axis, cells, labels), "dim"),)]


class _Area:
    """The cells between the axes: which dots are set, and in which tone."""

    def __init__(self, cells: int, lines: int, scale: Scale) -> None:
        self._cells, self.lines, self._scale = cells, lines, scale
        self._bits = [[0] * cells for _ in range(lines)]
        self._tones: list[list[Tone]] = [[""] * cells for _ in range(lines)]
        self.limit_row = -1

    def row_of(self, value: float) -> int:
        """The line in which a value stands."""
        return self._dot(value) // 4

    def _dot(self, value: float) -> int:
        lo, hi = self._scale.lo, self._scale.hi
        share = (value - lo) / (hi - lo) if hi > lo else 0.0
        most = self.lines * 4 - 1
        return most - round(max(0.0, min(1.0, share)) * most)

    def draw_limit(self, limit: Limit) -> None:
        self.limit_row = self.row_of(limit.value)

    def draw(self, curve: ChartCurve) -> None:
        before = None
        for column, value in enumerate(stretched(curve.values, self._cells * 2)):
            if value is None or not math.isfinite(value):
                before = None
                continue
            at = self._dot(value)
            # joined to the dot before it, so that a steep curve has no holes
            begin = at if before is None else before + (at > before) - (at < before)
            for dot in range(min(begin, at), max(begin, at) + 1):
                row, cell = dot // 4, column // 2
                self._bits[row][cell] |= _DOTS[column % 2][dot % 4]
                self._tones[row][cell] = curve.tone
            before = at

    def pieces(self, row: int) -> list[Cell]:
        """The cells of a line, those of one tone together."""
        found: list[Cell] = []
        blank = Cell(_LIMIT, "dim") if row == self.limit_row else Cell(" ")
        for bits, tone in zip(self._bits[row], self._tones[row], strict=True):
            cell = Cell(chr(_BRAILLE + bits), tone) if bits else blank
            if found and found[-1].tone == cell.tone:
                found[-1] = Cell(found[-1].text + cell.text, cell.tone)
            else:
                found.append(cell)
        return found


def _ends(area: _Area, curves: Sequence[ChartCurve], limit: Limit | None) -> dict[int, Cell]:
    """The names by line: each as near to the end of its curve as those before it allow."""
    wanted = [
        (area.row_of(known[-1]), Cell(curve.name, curve.tone))
        for curve in curves
        if (known := [value for value in curve.values if value is not None])
    ]
    if limit is not None and area.limit_row >= 0:
        wanted.append((area.limit_row, Cell(limit.name, "dim")))
    found: dict[int, Cell] = {}
    for row, name in wanted:
        nearest = sorted(range(area.lines), key=lambda line: (abs(line - row), line))
        free = next((line for line in nearest if line not in found), None)
        if free is not None:
            found[free] = name
    return found


def _time_axis(times: Sequence[str], axis: int, cells: int, labels: int) -> str:
    line = ["─"] * cells
    for number, time in enumerate(times):
        text = f" {time} "
        middle = number * (cells - 1) / max(1, len(times) - 1)
        begin = int(max(0, min(cells - len(text), middle - len(text) / 2)))
        line[begin : begin + len(text)] = text
    return f"{'':>{axis}} └{''.join(line[:cells])}{'':>{labels}}"


def stretched(values: Sequence[float | None], columns: int) -> list[float | None]:
    """The values over all columns: means where there are more of them, else on straight lines between two
    that are known."""
    count = len(values)
    if count >= columns or count < 2:
        return bucketed(values, columns)
    found: list[float | None] = []
    for column in range(columns):
        place = column * (count - 1) / max(1, columns - 1)
        first, second = values[int(place)], values[min(count - 1, int(place) + 1)]
        part = place - int(place)
        if first is None or second is None:
            found.append(first if part < 0.5 else second)
        else:
            found.append(first + (second - first) * part)
    return found
