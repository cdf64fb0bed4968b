"""A table of any length that touches only the rows on the screen.

Rows come from a `TableSource`; a change is a new source. The cursor and the marks belong to keys, not to
positions, and only lines that look different are painted again.
"""

from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from cockpit_widgets.columns import ColumnSpan, place_columns
from cockpit_widgets.line_scroll import LineScroll
from cockpit_widgets.palette import TONE_CLASSES, Palette
from cockpit_widgets.row_lines import RowLine, RowLines, line_count, part_of
from cockpit_widgets.table_lines import (
    TABLE_CSS,
    NoRows,
    RowState,
    RowStyle,
    StripCache,
    column_at,
    header_strip,
    note_strip,
    row_strip,
)
from cockpit_widgets.telling import tell
from cockpit_widgets.text import width_of, wrap
from cockpit_widgets.types import Column, TableSource

_CACHED_STRIPS = 1024
_MOST_MEASURED = 60
"""Rows whose cells are looked at for the height of a table that is as high as its rows."""


@dataclass
class TableMessage(Message):
    """Something that happened in `table`; handlers can select by it."""

    table: "ResourceTable"

    @property
    def control(self) -> "ResourceTable":
        return self.table


class ResourceTable(LineScroll, can_focus=True):
    """A virtual table with a sticky header, a cursor, marks and a sort arrow.

    It sorts nothing itself: a click on a title or `<`, `>` posts `SortRequested`, and who owns the rows
    answers with a new source and `set_sort`.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "resource-table--header",
        "resource-table--sorted",
        "resource-table--cursor",
        "resource-table--cursor-blurred",
        "resource-table--marked",
        "resource-table--gutter",
        "resource-table--placeholder",
        *TONE_CLASSES,
    }
    DEFAULT_CSS = TABLE_CSS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "cursor_by(-1)", "Up", show=False),
        Binding("down,j", "cursor_by(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "first", "First row", show=False),
        Binding("end", "last", "Last row", show=False),
        Binding("enter", "activate", "open", id="open", key_display="enter"),
        Binding("space", "mark", "mark", id="mark", show=False),
        Binding("ctrl+a", "mark_all", "mark all", id="mark.all", show=False),
        Binding("less_than_sign", "sort_by(-1)", "Sort by the column to the left", show=False),
        Binding("greater_than_sign", "sort_by(1)", "Sort by the column to the right", show=False),
        Binding("circumflex_accent", "sort_by(0)", "Reverse the sort order", show=False),
    ]

    @dataclass
    class RowHighlighted(TableMessage):
        """The cursor stands on another key; None when there is no row."""

        key: str | None

    @dataclass
    class RowActivated(TableMessage):
        """Enter or a double click on a row."""

        key: str

    @dataclass
    class MarksChanged(TableMessage):
        """The marked rows are now these."""

        keys: frozenset[str]

    @dataclass
    class SortRequested(TableMessage):
        """Sort by this column; when it is the sorted one already, turn the order round."""

        column_id: str

    def __init__(
        self,
        source: TableSource | None = None,
        *,
        placeholder: str = "",
        header: bool = True,
        idle_cursor: bool = True,
        can_mark: bool = True,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the word of every Textual widget
        classes: str | None = None,
    ) -> None:
        """`idle_cursor` False draws no cursor while another widget has the focus; `can_mark` False is for
        rows that nothing is done to."""
        super().__init__(name=name, id=id, classes=classes)
        self._idle_cursor, self._can_mark = idle_cursor, can_mark
        self._holds_top = self._is_touched = False
        self._header_lines = 1 if header else 0
        self._palette = Palette(self)
        self._source: TableSource = source if source is not None else NoRows()
        self._placeholder = placeholder
        self._lines_laid_out = 0
        self._cursor_index = 0
        self._cursor_key: str | None = self._source.key(0) if len(self._source) else None
        self._marked: frozenset[str] = frozenset()
        self._sort: tuple[str, bool] = ("", False)
        self._places: tuple[ColumnSpan, ...] = ()
        self._placed_for: tuple[tuple[Column, ...], int] | None = None
        self._strips = StripCache(_CACHED_STRIPS)
        self._row_lines = RowLines()
        self._drawn: dict[int, object] = {}
        self.set_reactive(ResourceTable.virtual_size, Size(0, len(self._source) + self._header_lines))

    # What it shows

    @property
    def source(self) -> TableSource:
        """The rows being shown."""
        return self._source

    @property
    def cursor_index(self) -> int:
        """Row number under the cursor; 0 when there is none."""
        return self._cursor_index

    @property
    def cursor_key(self) -> str | None:
        """Key of the row under the cursor; None when there is no row."""
        return self._cursor_key

    @property
    def marked(self) -> frozenset[str]:
        """Keys of the marked rows; a row that left the source is no longer marked."""
        return self._marked

    @property
    def shown_columns(self) -> tuple[Column, ...]:
        """The columns that found room, from left to right."""
        columns = self._source.columns
        return tuple(columns[place.index] for place in self._layout())

    @property
    def visible_keys(self) -> tuple[str, ...]:
        """Keys of the rows that stand on the screen now."""
        top = max(0, self.scroll_offset.y)
        return tuple(
            self._source.key(at) for at in range(top, min(len(self._source), top + self._body_lines))
        )

    def needed_lines(self, width: int) -> int:
        """Lines that all rows take in `width` cells with nothing folded away, or the sentence of none; with
        the header."""
        rows, header = len(self._source), self._header_lines
        if not rows:
            return 2 * header + len(wrap(self._placeholder, max(1, width - 4)))
        places = place_columns(self._source.columns, width)
        measured = min(rows, _MOST_MEASURED)
        folded = (line_count(self._source.columns, places, self._source.cells(at)) for at in range(measured))
        return header + sum(folded) + rows - measured

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        self._lines_laid_out = self.needed_lines(width)
        return self._lines_laid_out

    def _refit(self) -> None:
        """A table as high as its rows is laid out again once they take more lines, or fewer."""
        is_high_as_rows = self.is_attached and self.styles.auto_dimensions
        if is_high_as_rows and self.needed_lines(self.line_width) != self._lines_laid_out:
            self.refresh(layout=True)

    def set_source(self, source: TableSource) -> None:
        """Swap all rows at once. The cursor stays on its key, or at its index when the key is gone.

        The view stays where it is as seen from the cursor, and at the top when it was at the top. Marks of
        keys that are gone are dropped: no action may hit rows that cannot be seen.
        """
        old_index = self._cursor_index
        self._source = source
        count = len(source)
        stays = self._cursor_key is not None and not (self._holds_top and not self._is_touched)
        found = source.index(self._cursor_key) if stays and self._cursor_key is not None else None
        gone = min(old_index, max(0, count - 1)) if stays else 0
        index = found if found is not None else gone
        self._cursor_index = index
        self.resize_lines(count + self._header_lines)
        self._refit()
        if count and self.is_attached:
            self._follow_cursor(old_index, index)
        self._repaint_changed()
        self._set_cursor_key(source.key(index) if count else None)
        kept = frozenset(key for key in self._marked if source.index(key) is not None)
        if kept != self._marked:
            self._set_marked(kept)

    def set_placeholder(self, text: str) -> None:
        """The sentence shown where the rows would stand when there are none."""
        if text != self._placeholder:
            self._placeholder = text
            if not len(self._source):
                self._refit()
                self.refresh()

    def set_sort(self, column_id: str, descending: bool) -> None:
        """Put the sort arrow beside this column's title; an empty id takes it away."""
        self._sort = (column_id, descending)
        self._repaint_changed()

    def hold_top(self, hold: bool) -> None:
        """While set, an unmoved cursor stays on the first row, also when rows are inserted above it."""
        self._holds_top = hold

    def is_cut(self, column_id: str) -> bool:
        """True when the row under the cursor does not show its cell of this column whole."""
        columns = self._source.columns
        if not len(self._source):
            return False
        for place in self._layout():
            if columns[place.index].id == column_id:
                if columns[place.index].folds and any(
                    line.is_folded for line in self._lines if line.row == self._cursor_index
                ):
                    return False
                return width_of(self._source.cells(self._cursor_index)[place.index].text) > place.width
        return True

    def move_to(self, key: str) -> bool:
        """Put the cursor on the row with this key; False when it is not there."""
        index = self._source.index(key)
        if index is None:
            return False
        self._move_cursor(index)
        return True

    def clear_marks(self) -> None:
        """Unmark every row."""
        self._set_marked(frozenset())

    # Keys and mouse

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("mark", "mark_all") and not self._can_mark:
            return False
        return super().check_action(action, parameters)

    def action_cursor_by(self, rows: int) -> None:
        self._move_cursor(self._cursor_index + rows)

    def action_page(self, pages: int) -> None:
        self._move_cursor(self._cursor_index + pages * max(1, self._body_lines - 1))

    def action_first(self) -> None:
        self._move_cursor(0)

    def action_last(self) -> None:
        self._move_cursor(len(self._source) - 1)

    def action_activate(self) -> None:
        if self._cursor_key is not None:
            tell(self, self.RowActivated(self, self._cursor_key))

    def action_mark_all(self) -> None:
        """Mark every row of the source, or none where all are marked already."""
        every = frozenset(self._source.key(index) for index in range(len(self._source)))
        self._set_marked(frozenset() if every <= self._marked else every)

    def action_mark(self) -> None:
        if self._cursor_key is not None:
            self._set_marked(self._marked ^ {self._cursor_key})
            self._move_cursor(self._cursor_index + 1)

    def action_sort_by(self, step: int) -> None:
        ids = [column.id for column in self.shown_columns if column.sortable]
        if not ids:
            return
        at = ids.index(self._sort[0]) if self._sort[0] in ids else (-1 if step > 0 else 0)
        self.post_message(self.SortRequested(self, ids[(at + step) % len(ids)]))

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        if at is None:
            return
        if at.y < self._header_lines:
            column = column_at(self._source.columns, self._layout(), at.x)
            if column is not None and column.sortable:
                self.post_message(self.SortRequested(self, column.id))
            return
        line = self._line_at(at.y)
        if line is not None:
            self._move_cursor(line.row)
            if event.chain == 2:
                self.action_activate()

    def on_focus(self) -> None:
        self._repaint_changed()

    def on_blur(self) -> None:
        self._repaint_changed()

    def on_resize(self) -> None:
        self.measure_lines()
        if len(self._source):
            self._show_row(self._cursor_index)

    # Drawing

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._palette.clear()
        self._strips.clear()

    def render_line(self, y: int) -> Strip:
        width = self.line_width
        self._drawn[y] = self._token(y, self._line_at(y))
        columns, places = self._source.columns, self._layout()
        if y < self._header_lines:
            return header_strip(self._palette, columns, places, width, self._sort)
        if (line := self._line_at(y)) is not None:
            return self._row(line, width)
        if not len(self._source):
            lines = wrap(self._placeholder, max(1, width - 4))
            at = y - self._header_lines - min(1, self._header_lines)
            if 0 <= at < len(lines):
                return note_strip(self._palette, lines[at], width)
        return Strip.blank(width, self._palette.style())

    @property
    def _lines(self) -> tuple[RowLine, ...]:
        """What the lines below the header show where rows are folded; () where each row has one line."""
        return self._row_lines.of(self._source, self._layout(), self._body_lines)

    def _line_at(self, y: int) -> RowLine | None:
        """What screen line `y`, below the header, shows of the rows."""
        return self._line_in(y, self._lines, self.scroll_offset.y)

    def _line_in(self, y: int, lines: tuple[RowLine, ...], top: int) -> RowLine | None:
        at = top + y - self._header_lines
        if lines:
            return lines[at] if at < len(lines) else None
        return RowLine(at) if at < len(self._source) else None

    def _row(self, line: RowLine, width: int) -> Strip:
        source, places, index = self._source, self._layout(), line.row
        version, state = source.version(index), self._state(index)
        key = (source.key(index), state, width, line.part, line.is_folded)
        strip = self._strips.get(key, version, places)
        if strip is None:
            cells = source.cells(index)
            if line.is_folded:
                cells = part_of(source.columns, places, cells, line.part)
            look = RowStyle(source.columns, places, width, state | (RowState.FOLDED if line.part else 0))
            strip = self._strips.put(key, version, places, row_strip(self._palette, look, cells))
        return strip

    def _layout(self) -> tuple[ColumnSpan, ...]:
        wanted = (self._source.columns, self.line_width)
        if self._placed_for != wanted:
            self._placed_for = wanted
            self._places = place_columns(*wanted)
        return self._places

    def _state(self, index: int) -> int:
        state = RowState.PLAIN
        if index == self._cursor_index and (self._idle_cursor or self.has_focus):
            state |= RowState.CURSOR | (RowState.FOCUS if self.has_focus else 0)
        if self._marked and self._source.key(index) in self._marked:
            state |= RowState.MARKED
        return state

    def _token(self, y: int, line: RowLine | None) -> object:
        """Everything that the look of screen line `y` depends on, which shows `line`: compared with what was
        drawn."""
        if y < self._header_lines:
            return (self._source.columns, self._sort)
        if line is not None:
            key, version = self._source.key(line.row), self._source.version(line.row)
            return (key, version, self._state(line.row), self._layout(), line.part, line.is_folded)
        return None if len(self._source) else self._placeholder

    # Changes

    @property
    def _body_lines(self) -> int:
        return max(1, self.scrollable_content_region.height - self._header_lines)

    def _repaint_changed(self) -> None:
        if not self.is_attached:
            return
        # once for all lines: each key waits for it
        drawn, lines, top = self._drawn, self._lines, self.scroll_offset.y
        looked = ((y, self._line_in(y, lines, top)) for y in range(self.size.height) if y in drawn)
        self.repaint_lines([y for y, line in looked if drawn[y] != self._token(y, line)])

    def _follow_cursor(self, old_index: int, new_index: int) -> None:
        top = self.scroll_offset.y
        was_in_view = top <= old_index < top + self._body_lines
        if top and was_in_view:
            self._scroll_top(top + new_index - old_index)
        elif was_in_view:
            self._show_row(new_index)
        else:
            self._scroll_top(top)

    def _show_row(self, index: int) -> None:
        top = self.scroll_offset.y
        if index < top:
            self._scroll_top(index)
        elif index >= top + self._body_lines:
            self._scroll_top(index - self._body_lines + 1)

    def _scroll_top(self, top: int) -> None:
        self.jump(max(0, min(top, len(self._source) - self._body_lines)))

    def _move_cursor(self, index: int) -> None:
        count = len(self._source)
        if not count:
            return
        index = max(0, min(index, count - 1))
        self._is_touched = True
        self._cursor_index = index
        self._show_row(index)
        self._repaint_changed()
        self._set_cursor_key(self._source.key(index))

    def _set_cursor_key(self, key: str | None) -> None:
        if key != self._cursor_key:
            self._cursor_key = key
            self.post_message(self.RowHighlighted(self, key))

    def _set_marked(self, keys: frozenset[str]) -> None:
        if keys != self._marked:
            self._marked = keys
            self._repaint_changed()
            self.post_message(self.MarksChanged(self, keys))
