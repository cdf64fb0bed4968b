"""Cells that would be cut, continued on the lines that a table has to spare. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from cockpit_widgets.columns import ColumnSpan
from cockpit_widgets.text import width_of, wrap
from cockpit_widgets.types import Cell, Column, TableSource


class RowLine(NamedTuple):
    """A line of a table: number of the row, and which of its lines; `is_folded` where it has several."""

    row: int
    part: int = 0
    is_folded: bool = False


class RowLines:
    """Which line shows what. Rows are folded only where all of them are in sight, so that nothing scrolls."""

    def __init__(self) -> None:
        self._counts: dict[str, tuple[object, int]] = {}  # by key: version, lines
        self._places: tuple[ColumnSpan, ...] = ()
        self._source: TableSource | None = None
        self._room = 0
        self._lines: tuple[RowLine, ...] = ()

    def of(self, source: TableSource, places: tuple[ColumnSpan, ...], room: int) -> tuple[RowLine, ...]:
        """The lines of all rows in `room` lines, the first rows folded first; () where each row has one."""
        if source is self._source and places == self._places and room == self._room:
            return self._lines
        if places != self._places:
            self._counts = {}
        self._source, self._places, self._room = source, places, room
        self._lines = self._made(source, room)
        return self._lines

    def _made(self, source: TableSource, room: int) -> tuple[RowLine, ...]:
        spare = room - len(source)
        if spare < 1 or not any(source.columns[place.index].folds for place in self._places):
            self._counts = {}
            return ()
        before, self._counts = self._counts, {}
        lines: list[RowLine] = []
        for index in range(len(source)):
            key, version = source.key(index), source.version(index)
            known = before.get(key)
            if known is None or known[0] != version:
                known = (version, line_count(source.columns, self._places, source.cells(index)))
            self._counts[key] = known
            count = known[1] if known[1] - 1 <= spare else 1
            spare -= count - 1
            lines += [RowLine(index, part, count > 1) for part in range(count)]
        return tuple(lines) if len(lines) > len(source) else ()


def line_count(columns: Sequence[Column], places: Sequence[ColumnSpan], cells: Sequence[Cell]) -> int:
    """Lines that a row needs to show its folding cells whole."""
    return max(
        (
            len(wrap(cells[place.index].text, place.width))
            for place in places
            if columns[place.index].folds and width_of(cells[place.index].text) > place.width
        ),
        default=1,
    )


def part_of(
    columns: Sequence[Column], places: Sequence[ColumnSpan], cells: Sequence[Cell], part: int
) -> tuple[Cell, ...]:
    """The cells of one line of a folded row: beyond the first those of folding columns alone."""
    shown = [cell if part == 0 else Cell("") for cell in cells]
    for place in places:
        if columns[place.index].folds:
            parts = wrap(cells[place.index].text, place.width)
            text = parts[part] if part < len(parts) else ""
            shown[place.index] = Cell(text, cells[place.index].tone)
    return tuple(shown)
