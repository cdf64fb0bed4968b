"""Many alike things as one cell each: a glyph, shaded by a level or in a tone, under a cursor that moves."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from cockpit_widgets.captioned_map import CaptionedMap
from cockpit_widgets.glyphs import TOP_LEVEL, heat_glyph
from cockpit_widgets.heat_look import LEVEL_CLASSES, heat_css
from cockpit_widgets.palette import TONE_CLASSES, TONE_RULES
from cockpit_widgets.text import fit, width_of
from cockpit_widgets.types import GridCell

_MOST_LABEL = 12
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


class CellGrid(CaptionedMap, can_focus=True):
    """Groups of cells in rows, each labelled by its first cell. Under them a caption tells the glyphs."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "cell-grid--cursor",
        *TONE_CLASSES,
    }
    DEFAULT_CSS = (
        heat_css("CellGrid")
        + "CellGrid {"
        + TONE_RULES
        + "& > .cell-grid--cursor { background: $foreground; color: $background; text-style: bold; }"
        + "&:ansi > .cell-grid--cursor { background: ansi_default; color: ansi_default; "
        + "text-style: reverse; }"
        + "}"
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "step(-1)", "Cell to the left", show=False),
        Binding("right", "step(1)", "Cell to the right", show=False),
        Binding("up", "line(-1)", "Row up", show=False),
        Binding("down", "line(1)", "Row down", show=False),
        Binding("home", "end(False)", "First cell", show=False),
        Binding("end", "end(True)", "Last cell", show=False),
        Binding("enter", "activate", "open", id="open", key_display="enter"),
    ]

    @dataclass
    class Highlighted(Message):
        """The cursor stands on this cell."""

        grid: "CellGrid"
        key: str

        @property
        def control(self) -> "CellGrid":
            return self.grid

    @dataclass
    class Activated(Message):
        """Enter or a double click on this cell."""

        grid: "CellGrid"
        key: str

        @property
        def control(self) -> "CellGrid":
            return self.grid

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the word of every Textual widget
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._sizes: tuple[int, ...] = ()
        self._cells: tuple[GridCell, ...] = ()
        self._caption = ""
        self._plan = CellPlan((), 0, 1)

    @property
    def caption(self) -> str:
        return self._caption

    @property
    def cursor_key(self) -> str | None:
        return self._cells[self._at].key if self._at < len(self._cells) else None

    @property
    def plan(self) -> CellPlan:
        """Where the cells stand now."""
        return self._plan

    def set_cells(self, groups: Sequence[Sequence[GridCell]], caption: str = "") -> None:
        """Swap all cells; the cursor follows its key, and only rows that look different are painted again."""
        cells = tuple(chain.from_iterable(groups))
        sizes = tuple(len(group) for group in groups if group)
        is_alike = sizes == self._sizes and _names(cells) == _names(self._cells)
        self._cells, self._sizes, self._caption = cells, sizes, caption
        self._at = self._find(self._cursor_key)
        if is_alike and self._caption_lines == self._needed_caption_lines():
            self._repaint_changed()
        else:
            self._lay_out()
        self._tell_cursor()

    def move_to(self, key: str) -> None:
        """Put the cursor on a cell; one that is not there changes nothing."""
        at = next((at for at, cell in enumerate(self._cells) if cell.key == key), None)
        if at is not None:
            self._move(at)

    # Keys and mouse

    def action_line(self, rows: int) -> None:
        if self._cells and self._plan.rows:
            self._move(self._plan.beside(self._at, rows))

    # Drawing

    def _row_strip(self, row: int, width: int) -> Strip:
        plan, base = self._plan, self._palette.style()
        first, stop = plan.rows[row]
        label = fit(self._cells[first].label, max(0, plan.label_width - 1))
        segments = [Segment(label + " " * (plan.label_width - width_of(label)), self._look("heatmap--name"))]
        x = plan.label_width
        for index in range(first, stop):
            left = plan.x_of(index - first)
            if left > x:
                segments.append(Segment(" " * (left - x), base))
            glyph, style = self._drawn_cell(
                self._cells[index], is_cursor=self.has_focus and index == self._at
            )
            segments.append(Segment(glyph * plan.cell_width, style))
            x = left + plan.cell_width
        return Strip(segments).adjust_cell_length(width, base)

    def _look(self, *names: str) -> Style:
        return self._palette.style(*names)

    def _drawn_cell(self, cell: GridCell, *, is_cursor: bool) -> tuple[str, Style]:
        level = None if cell.level is None else max(-4, min(cell.level, TOP_LEVEL))
        glyph = cell.glyph or (heat_glyph(level) if level is not None else " ")
        if is_cursor:
            # a full block would hide the ground that shows the cursor
            return (" " if level == TOP_LEVEL and not cell.glyph else glyph), self._look("cell-grid--cursor")
        if level is not None:
            return glyph, self._look(LEVEL_CLASSES[level])
        return glyph, self._look(*((f"tone--{cell.tone}",) if cell.tone else ()))

    # What the ground asks

    @property
    def _rows(self) -> int:
        return len(self._plan.rows)

    @property
    def _stops(self) -> int:
        return len(self._cells)

    @property
    def _cursor_row(self) -> int:
        return self._plan.place(self._at)[0] if self._plan.rows else 0

    def _row_token(self, row: int) -> object:
        first, stop = self._plan.rows[row]
        cursor = self._at if self.has_focus and first <= self._at < stop else None
        return (row, cursor, self._cells[first:stop])

    def _stop_at(self, row: int, x: int) -> int | None:
        return self._plan.at(row, x)

    def _highlighted(self, key: str) -> Message:
        return self.Highlighted(self, key)

    def _activated(self, key: str) -> Message:
        return self.Activated(self, key)

    # Changes

    def _lay_out(self) -> None:
        width = self.line_width or self.size.width
        if width <= 0:
            return
        self._caption_lines = self._needed_caption_lines()
        labels = min(_MOST_LABEL, max((width_of(cell.label) for cell in self._cells), default=0))
        self._plan = plan_cells(self._sizes, width, self._body_lines, labels + 1)
        self.resize_lines(len(self._plan.rows) + self._caption_lines)
        if self._cells:
            self._show_cursor()
        self.refresh()

    def _find(self, key: str | None) -> int:
        for at, cell in enumerate(self._cells):
            if cell.key == key:
                return at
        return max(0, min(self._at, len(self._cells) - 1))


def _names(cells: Sequence[GridCell]) -> tuple[tuple[str, str], ...]:
    return tuple((cell.key, cell.label) for cell in cells)
