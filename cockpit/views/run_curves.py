"""Loss and throughput of a training run, drawn: a line of each where there is little room, else charts."""

from collections.abc import Sequence
from typing import NamedTuple

from cockpit_widgets.glyphs import columns_chart
from cockpit_widgets.text import fit
from cockpit_widgets.types import Cell

from cockpit.jobs.training.run import TrainingRun

SHORT_LINES, MIDDLE_LINES, TALL_LINES = 2, 5, 9
_LABEL_CELLS = 16
_AXIS_CELLS = 8
_GUTTER = "   "
LEAST_POINTS = 3
"""Fewer make no curve."""


class RunCurves(NamedTuple):
    """What is drawn: values from the beginning of the run to now."""

    loss: tuple[float, ...] = ()
    rate: tuple[float, ...] = ()
    rate_unit: str = ""
    restarts: int = 0

    @property
    def is_drawn(self) -> bool:
        return max(len(self.loss), len(self.rate)) >= LEAST_POINTS


def curves_of(run: TrainingRun) -> RunCurves:
    """The curves as they are now; `rate_unit` says where it is that of one rank."""
    each = " a rank" if run.progress.is_rate_of_rank else ""
    return RunCurves(run.loss.values, run.rate.values, f"{run.rate_unit}{each}", run.restarts)


def number(value: float) -> str:
    """Three or four digits that matter: 9,919, 84.3, 2.154, 1.2e-05."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 10 else f"{value:.4g}"


def curve_lines(curves: RunCurves, width: int, height: int) -> list[tuple[Cell, ...]]:
    """Both curves side by side in that width and in at most that height; [] where nothing makes a curve."""
    drawn = [
        (name, values, bottom)
        for name, values, bottom in (("loss", curves.loss, None), (curves.rate_unit, curves.rate, 0.0))
        if len(values) >= LEAST_POINTS
    ]
    if not drawn or width < 2 * _LABEL_CELLS:
        return []
    cells = (width - len(_GUTTER) * (len(drawn) - 1)) // len(drawn)
    draw = _small if height < MIDDLE_LINES else _large
    blocks = [draw(name, values, bottom, cells, height) for name, values, bottom in drawn]
    return [
        tuple(piece for at, part in enumerate(parts) for piece in (Cell(_GUTTER * bool(at)), *part))
        for parts in zip(*blocks, strict=True)
    ]


Block = list[tuple[Cell, ...]]
"""Lines of one curve, all of the same width; charts stand back behind what is written."""


def _bounds(values: Sequence[float], bottom: float | None) -> tuple[float, float]:
    """From the least to the greatest; a throughput from nothing on, or its noise would look like a drama."""
    lo, hi = (min(values) if bottom is None else bottom), max(values)
    return (lo, hi) if hi > lo else (lo - 1.0, hi + 1.0)


def _small(name: str, values: Sequence[float], bottom: float | None, cells: int, height: int) -> Block:
    """The newest value and the curve behind it, where it began under the value."""
    lo, hi = _bounds(values, bottom)
    label = min(_LABEL_CELLS, cells // 2)
    lines = columns_chart(_over(values, cells - label), cells - label, SHORT_LINES, lo, hi)
    heads = (f"{name} {number(values[-1])}", f"from {number(values[0])}")
    return [
        (Cell(f"{fit(head, label - 1)} "), Cell(line, "dim")) for head, line in zip(heads, lines, strict=True)
    ]


def _large(name: str, values: Sequence[float], bottom: float | None, cells: int, height: int) -> Block:
    """A heading, then the curve with its scale at the left."""
    lo, hi = _bounds(values, bottom)
    width = cells - _AXIS_CELLS
    lines = columns_chart(_over(values, width), width, height - 1, lo, hi)
    heading = f"{name} {number(values[-1])} · from {number(values[0])}, least {number(min(values))}"
    heading += f", most {number(max(values))}"
    scale = [""] * len(lines)
    scale[0], scale[-1] = number(hi), number(lo)
    body = (
        (Cell(f"{one:>{_AXIS_CELLS - 1}} ", "dim"), Cell(line, "dim"))
        for one, line in zip(scale, lines, strict=True)
    )
    return [(Cell(fit(heading, cells)),), *body]


def _over(values: Sequence[float], columns: int) -> Sequence[float]:
    """Fewer values than columns, drawn over all of them on straight lines; others as they are."""
    if len(values) >= columns:
        return values
    out = []
    for column in range(columns):
        place = column * (len(values) - 1) / max(1, columns - 1)
        first, second = values[int(place)], values[min(len(values) - 1, int(place) + 1)]
        out.append(first + (second - first) * (place - int(place)))
    return out
