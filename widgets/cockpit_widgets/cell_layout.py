"""Where each cell of a grid stands. Pure: sizes in, rows out."""

from collections.abc import Sequence
from dataclasses import dataclass

BLOCK = 8
"""Cells per block, with a gap between blocks: a person counts blocks, not cells."""


@dataclass(frozen=True, slots=True)
class CellPlan:
    """Rows as (first, stop) over all cells in their order. A cell is `cell_width` wide."""

    rows: tuple[tuple[int, int], ...]
    label_width: int
    cell_width: int

    def x_of(self, column: int) -> int:
        """Where a column begins, behind the labels."""
        return self.label_width + column * self.cell_width + column // BLOCK

    def place(self, index: int) -> tuple[int, int]:
        """Row and column of a cell. Raises IndexError for one that is not there."""
        for row, (first, stop) in enumerate(self.rows):
            if first <= index < stop:
                return row, index - first
        raise IndexError(index)

    def at(self, row: int, x: int) -> int | None:
        """The cell at a place of the screen, None beside and between cells."""
        if not 0 <= row < len(self.rows):
            return None
        first, stop = self.rows[row]
        for column in range(stop - first):
            left = self.x_of(column)
            if left <= x < left + self.cell_width:
                return first + column
        return None

    def beside(self, index: int, rows: int) -> int:
        """The cell a number of rows below (or above), in its column or the row's last; itself at the ends."""
        row, column = self.place(index)
        to = row + rows
        if not 0 <= to < len(self.rows):
            return index
        first, stop = self.rows[to]
        return min(first + column, stop - 1)


def per_row(width: int, cell_width: int) -> int:
    """Cells that fit a row: a power of two from a block on, what just fits where less than that does."""
    block = BLOCK * cell_width + 1
    blocks = (width + 1) // block
    if not blocks:
        return max(1, width // cell_width)
    return BLOCK * (1 << (blocks.bit_length() - 1))


def plan_cells(sizes: Sequence[int], width: int, height: int, label_width: int) -> CellPlan:
    """Rows for groups of these sizes, each group on a new row; two columns a cell where all
    rows fit the height that way."""
    room = max(1, width - label_width)
    wide = _rows(sizes, per_row(room, 2))
    if len(wide) <= height and per_row(room, 2) >= BLOCK:
        return CellPlan(wide, label_width, 2)
    return CellPlan(_rows(sizes, per_row(room, 1)), label_width, 1)


def _rows(sizes: Sequence[int], most: int) -> tuple[tuple[int, int], ...]:
    rows: list[tuple[int, int]] = []
    begin = 0
    for size in sizes:
        rows += [(at, min(at + most, begin + size)) for at in range(begin, begin + size, most)]
        begin += size
    return tuple(rows)
