"""The lines of a table as strips: header, row, placeholder; those drawn; the source without rows.

Every strip is exactly as wide as it is told.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from cockpit_widgets.columns import GAP_CELLS, ColumnSpan
from cockpit_widgets.palette import TONE_RULES, Palette
from cockpit_widgets.text import cut_middle, fit, width_of
from cockpit_widgets.types import Cell, Column, Tone

CURSOR_GLYPH = "▌"
MARK_GLYPH = "●"
MARK_UNDER_CURSOR_GLYPH = "◉"
ASCENDING_GLYPH = "▲"
DESCENDING_GLYPH = "▼"

TABLE_CSS = (
    """
    ResourceTable {
        height: 1fr;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
        scrollbar-size-horizontal: 0;
        background: $background;
        color: $foreground;
        & > .resource-table--header { color: $text-muted; text-style: bold; background: $surface; }
        & > .resource-table--sorted { color: $text-accent; }
        & > .resource-table--cursor { background: $primary 40%; text-style: bold; }
        & > .resource-table--cursor-blurred { background: $primary 15%; }
        & > .resource-table--marked { background: $accent 10%; }
        & > .resource-table--gutter { color: $text-accent; }
        & > .resource-table--placeholder { color: $text-muted; }
        &:ansi > .resource-table--header { text-style: bold underline; background: ansi_default; }
        &:ansi > .resource-table--cursor { background: ansi_default; text-style: reverse; }
        &:ansi > .resource-table--cursor-blurred { background: ansi_default; text-style: bold; }
        &:ansi > .resource-table--marked { background: ansi_default; }
    """
    + TONE_RULES
    + "}"
)
"""Rules of the table and its component classes."""

_EMPTY = Cell("")


class RowState:
    """What a row's look depends on beside its cells, as bits."""

    PLAIN = 0
    CURSOR = 1
    MARKED = 2
    FOCUS = 4
    FOLDED = 8
    """A further line of a row: its mark stands on the first."""


def _ground(state: int) -> tuple[str, ...]:
    if not state & RowState.CURSOR:
        return ("resource-table--marked",) if state & RowState.MARKED else ()
    return ("resource-table--cursor",) if state & RowState.FOCUS else ("resource-table--cursor-blurred",)


def _gutter(state: int) -> str:
    is_marked = state & RowState.MARKED and not state & RowState.FOLDED
    if state & RowState.CURSOR:
        return MARK_UNDER_CURSOR_GLYPH if is_marked else CURSOR_GLYPH
    return MARK_GLYPH if is_marked else " "


class _Line:
    """Collects text in runs of one style, so that a row costs few segments and few bytes."""

    __slots__ = ("_run", "_segments", "_style", "cells")

    def __init__(self) -> None:
        self._segments: list[Segment] = []
        self._run: list[str] = []
        self._style: Style | None = None
        self.cells = 0

    def add(self, text: str, cells: int, style: Style) -> None:
        if style is not self._style:
            self._flush()
            self._style = style
        self._run.append(text)
        self.cells += cells

    def space(self, cells: int) -> None:
        """Blank cells in the style of what stands before them."""
        if cells > 0:
            self._run.append(" " * cells)
            self.cells += cells

    def _flush(self) -> None:
        if self._run:
            self._segments.append(Segment("".join(self._run), self._style))
            self._run.clear()

    def strip(self, width: int) -> Strip:
        self.space(width - self.cells)
        self._flush()
        strip = Strip(self._segments, self.cells)
        return strip if self.cells == width else strip.crop(0, width)


class RowStyle(NamedTuple):
    """What rows share: the columns and where they stand, the width in cells, the state bits."""

    columns: Sequence[Column]
    places: Sequence[ColumnSpan]
    width: int
    state: int


def row_strip(palette: Palette, look: RowStyle, cells: Sequence[Cell]) -> Strip:
    """One row: gutter, then the cells of the columns that are shown. Cells that are missing are blank."""
    columns, places, width, state = look
    ground = _ground(state)
    styles: dict[Tone, Style] = {}
    line = _Line()
    line.add(_gutter(state), 1, palette.style(*ground, "resource-table--gutter"))
    base = palette.style(*ground)
    line.add(" ", 1, base)
    count = len(cells)
    for place in places:
        text, tone = cells[place.index] if place.index < count else _EMPTY
        style = base
        if tone:
            found = styles.get(tone)
            style = styles[tone] = found if found is not None else palette.tone(tone, *ground)
        line.space(place.x - line.cells)
        column = columns[place.index]
        if column.keeps_end and len(text) > place.width:
            text = cut_middle(text, place.width)
        line.add(fit(text, place.width, column.align), place.width, style)
    line.add("", 0, base)
    return line.strip(width)


def header_strip(
    palette: Palette,
    columns: Sequence[Column],
    places: Sequence[ColumnSpan],
    width: int,
    sort: tuple[str, bool],
) -> Strip:
    """The titles; `sort` is (column id, descending) and puts an arrow into the gap beside that title."""
    base = palette.style("resource-table--header")
    strong = palette.style("resource-table--header", "resource-table--sorted")
    line = _Line()
    line.add(" ", 1, base)
    for place in places:
        column = columns[place.index]
        arrow = ""
        if column.id == sort[0]:
            arrow = DESCENDING_GLYPH if sort[1] else ASCENDING_GLYPH
        style = strong if arrow else base
        size = min(width_of(column.title), place.width)
        title = fit(column.title, size)
        if column.align == "right":
            line.space(place.x + place.width - size - len(arrow) - line.cells)
            line.add(arrow + title, size + len(arrow), style)
        else:
            line.space(place.x - line.cells)
            line.add(title + arrow, size + len(arrow), style)
        line.add("", 0, base)
    line.add("", 0, base)
    return line.strip(width)


def note_strip(palette: Palette, text: str, width: int) -> Strip:
    """One line of the placeholder."""
    style = palette.style("resource-table--placeholder")
    return Strip([Segment(fit("  " + text, width), style)], width)


def column_at(columns: Sequence[Column], places: Sequence[ColumnSpan], x: int) -> Column | None:
    """The column whose title stands at cell `x`, its gap included."""
    for place in places:
        if place.x - GAP_CELLS // 2 <= x < place.x + place.width + GAP_CELLS // 2:
            return columns[place.index]
    return None


class NoRows:
    """The source of a table that has none yet; `columns` may already be known."""

    def __init__(self, columns: tuple[Column, ...] = ()) -> None:
        self._columns = columns

    @property
    def columns(self) -> tuple[Column, ...]:
        return self._columns

    def __len__(self) -> int:
        return 0

    def key(self, index: int) -> str:
        raise IndexError(index)

    def index(self, key: str) -> int | None:
        return None

    def cells(self, index: int) -> tuple[Cell, ...]:
        raise IndexError(index)

    def version(self, index: int) -> object:
        raise IndexError(index)


class StripCache:
    """Drawn lines by row and state, each good for one version and one layout; the longest unused leave."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[Hashable, tuple[object, object, Strip]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def clear(self) -> None:
        """Forget all."""
        self._kept.clear()

    def get(self, key: Hashable, version: object, layout: object) -> Strip | None:
        """The strip, when it was drawn for this version and this very layout object."""
        kept = self._kept.pop(key, None)
        if kept is None or kept[1] is not layout or kept[0] != version:
            return None
        self._kept[key] = kept  # the youngest stands last
        return kept[2]

    def put(self, key: Hashable, version: object, layout: object, strip: Strip) -> Strip:
        """Keep `strip` and hand it back."""
        while len(self._kept) >= self._most:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = (version, layout, strip)
        return strip
