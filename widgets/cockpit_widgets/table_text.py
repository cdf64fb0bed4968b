"""A table as toned lines, for where it is read and no cursor goes. Pure."""

from dataclasses import replace

from cockpit_widgets.columns import GUTTER_CELLS, MARGIN_CELLS, ColumnSpan, place_columns
from cockpit_widgets.row_lines import RowLines, part_of
from cockpit_widgets.text import cut_middle, fit, width_of
from cockpit_widgets.types import Cell, Column, Line, TableSource

_NAME_CELLS = 16
"""Least cells of a name beside a sentence."""


def table_text(source: TableSource, width: int, most: int) -> list[Line]:
    """The titles and the first rows in `width` cells and at most `most` lines; where more rows follow the
    last line says how many. The columns are those that a table of that width shows, but for empty ones: what
    is too wide for its column has their room."""
    if not len(source) or most < 2:
        return []
    columns = source.columns
    places = _places(source, range(min(len(source), most)), width + GUTTER_CELLS + MARGIN_CELLS)
    titles = [Cell(column.title, "dim") for column in columns]
    shown = len(source) if len(source) < most else most - 2
    lines = [_line(columns, places, titles)]
    if folded := RowLines().of(source, places, most - 1):
        for it in folded:
            cells = source.cells(it.row)
            lines.append(
                _line(columns, places, part_of(columns, places, cells, it.part) if it.is_folded else cells)
            )
        return lines
    lines += [_line(columns, places, source.cells(at)) for at in range(shown)]
    if shown < len(source):
        lines.append((Cell(f"and {len(source) - shown:,} more", "dim"),))
    return lines


def _places(source: TableSource, rows: range, width: int) -> tuple[ColumnSpan, ...]:
    """Where the columns stand that have anything to show in these rows."""
    widest = [0] * len(source.columns)
    for at in rows:
        widest = [
            max(cells, width_of(cell.text)) for cells, cell in zip(widest, source.cells(at), strict=True)
        ]
    filled = [index for index, cells in enumerate(widest) if cells] or [0]
    chosen = [filled[place.index] for place in place_columns([source.columns[at] for at in filled], width)]
    has_sentences = any(source.columns[at].folds for at in chosen)
    columns = [_fitted(source.columns[at], widest[at], has_sentences=has_sentences) for at in chosen]
    return tuple(replace(place, index=chosen[place.index]) for place in place_columns(columns, width))


def _fitted(column: Column, cells: int, *, has_sentences: bool) -> Column:
    """As wide as its text; beside a sentence names that can be cut leave their room to it."""
    if has_sentences:
        return replace(
            column, priority=1, width=min(column.width, _NAME_CELLS) if column.keeps_end else column.width
        )
    return replace(column, priority=1, wish=cells)


def _line(columns: tuple[Column, ...], places: tuple[ColumnSpan, ...], cells: "list[Cell] | Line") -> Line:
    pieces: list[Cell] = []
    at = GUTTER_CELLS
    for place in places:
        text, tone = cells[place.index]
        column = columns[place.index]
        text = cut_middle(text, place.width) if column.keeps_end else text
        pieces.append(Cell(" " * (place.x - at) + fit(text, place.width, column.align), tone))
        at = place.x + place.width
    return tuple(pieces)
