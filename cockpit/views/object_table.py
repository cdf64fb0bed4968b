"""A table of any kind, with the columns that the API server prints for it."""

from collections.abc import Callable

from cockpit_widgets.types import Cell, Column, Tone

from cockpit.model.object_table import ObjectTable, PrintedRow
from cockpit.views import format as fmt
from cockpit.views.lazy_table import Field, LazyTable, Memory, View
from cockpit.views.view_state import Measure, ViewState

_NAMES = 48
"""Cells beyond which a name does not grow."""


def table(
    read: ObjectTable, state: ViewState, now_seconds: float, memory: Memory | None = None
) -> LazyTable[PrintedRow]:
    """The rows as they were read; ages are those of now."""
    return _view(read).table(read.rows, state, now_seconds, memory)


def _view(read: ObjectTable) -> View[PrintedRow]:
    fields = [_printed(read, place) for place in range(len(read.columns))]
    if any(row.namespace for row in read.rows):
        column = Column("namespace", "Namespace", 10, grow=1, most=24)
        fields.insert(0, Field(column, lambda row, _: Cell(row.namespace), lambda row, _: row.namespace))
    return View(
        fields=tuple(fields),
        key=lambda row: row.key,
        namespace=lambda row: row.namespace,
        name=lambda row: row.key,
    )


def _printed(read: ObjectTable, place: int) -> Field[PrintedRow]:
    printed = read.columns[place]
    id_ = printed.name.lower().replace(" ", "-")
    if id_ == "age":
        return Field(
            Column(id_, "Age", 5, "right"),
            lambda row, now: fmt.age_cell(row.created_seconds, now),
            lambda row, now: None if row.created_seconds is None else now - row.created_seconds,
            Measure.SECONDS,
        )
    widest = max((len(row.cells[place]) for row in read.rows), default=0)
    is_name = id_ == "name"
    column = Column(
        id_,
        printed.name,
        min(max(len(printed.name), widest), 40 if is_name else 14),
        "right" if printed.is_number else "left",
        priority=1 if is_name else 2 + 3 * min(printed.priority, 1) + (place > 4),
        grow=3 if is_name else 1,
        most=min(max(len(printed.name), widest), _NAMES),
        keeps_end=is_name,
    )
    tone: Tone = "strong" if is_name else ""
    text: Callable[[PrintedRow, float], Cell] = lambda row, _: Cell(row.cells[place], tone)  # noqa: E731
    return Field(column, text, _number_of(place) if printed.is_number else None)


def _number_of(place: int) -> Callable[[PrintedRow, float], float | None]:
    def number(row: PrintedRow, _now: float) -> float | None:
        try:
            return float(row.cells[place])
        except ValueError:
            return None

    return number
