"""A table as toned lines, for where it is read and no cursor goes. Pure."""

from cockpit_widgets.columns import GUTTER_CELLS, MARGIN_CELLS, ColumnSpan, place_columns
from cockpit_widgets.text import cut_middle, fit
from cockpit_widgets.types import Cell, Column, Line, TableSource


def table_text(source: TableSource, width: int, most: int) -> list[Line]:
    """The titles and the first rows in `width` cells and at most `most` lines; where more rows follow the
    last line says how many. The columns are those that a table of that width shows."""
    if not len(source) or most < 2:
        return []
    places = place_columns(source.columns, width + GUTTER_CELLS + MARGIN_CELLS)
    columns = source.columns
    titles = [Cell(column.title, "dim") for column in columns]
    shown = len(source) if len(source) < most else most - 2
    lines = [_line(columns, places, titles)]
    lines += [_line(columns, places, source.cells(at)) for at in range(shown)]
    if shown < len(source):
        lines.append((Cell(f"and {len(source) - shown:,} more", "dim"),))
    return lines


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
