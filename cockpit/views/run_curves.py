"""Loss and throughput of a training run, drawn: a line of each where there is little room, else charts."""

from statistics import median
from typing import NamedTuple

from cockpit_widgets.curve_chart import ChartCurve, Limit, Scale, curve_chart, nice_top, span_of, spark_line
from cockpit_widgets.text import fit
from cockpit_widgets.types import Cell, Line

from cockpit.jobs.training.run import TrainingRun

SHORT_LINES, MIDDLE_LINES, TALL_LINES = 2, 6, 10
_LEAST_CELLS = 32
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


def curve_lines(curves: RunCurves, width: int, height: int) -> list[Line]:
    """Both curves side by side in that width and height, or a line of sparks each; [] where nothing makes a
    curve. The loss has its own scale; a throughput begins at nothing, or its noise would look like a drama,
    and its median is dotted."""
    loss = ChartCurve("loss", curves.loss)
    rate = ChartCurve(curves.rate_unit, curves.rate)
    drawn = [curve for curve in (loss, rate) if len(curve.values) >= LEAST_POINTS]
    if not drawn or width < _LEAST_CELLS:
        return []
    cells = (width - len(_GUTTER) * (len(drawn) - 1)) // len(drawn)
    charts = [_chart(curve, cells, height, is_from_nothing=curve is rate) for curve in drawn]
    if not all(charts):
        return [spark_line(curve, width, number, 0.0 if curve is rate else None) for curve in drawn]
    return [
        tuple(piece for at, part in enumerate(parts) for piece in (Cell(_GUTTER * bool(at)), *part))
        for parts in zip(*charts, strict=True)
    ]


def _chart(curve: ChartCurve, cells: int, height: int, *, is_from_nothing: bool) -> list[Line]:
    """A heading, then the curve between its axes; [] without room."""
    values = [value for value in curve.values if value is not None]
    lo, hi = span_of([curve])
    if is_from_nothing:
        lo, hi = 0.0, nice_top(hi)
    scale = Scale(lo, hi, number, ("start", "now"))
    limit = Limit("median", median(values)) if is_from_nothing else None
    lines = curve_chart([curve._replace(name="now")], cells, height - 1, scale, limit)
    heading = f"{curve.name} {number(values[-1])} · from {number(values[0])}, least {number(min(values))}"
    return lines and [(Cell(fit(f"{heading}, most {number(max(values))}", cells)),), *lines]
