"""The ground of maps of cells: a cursor on one of them, rows that scroll, a caption that tells the glyphs."""

from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.strip import Strip

from cockpit_widgets.heat_look import LEVEL_CLASSES
from cockpit_widgets.line_scroll import LineScroll
from cockpit_widgets.palette import Palette
from cockpit_widgets.telling import tell
from cockpit_widgets.text import fit, wrap_phrases

MOST_CAPTION_LINES = 3


class CaptionedMap(LineScroll, can_focus=True):
    """Rows of stops under a cursor that keeps to its key. Only lines that look different are painted again.

    A subclass says how many rows there are, what a row looks like and which row the cursor stands on.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"heatmap--name", "heatmap--caption", *LEVEL_CLASSES.values()}

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the word of every Textual widget
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._palette = Palette(self)
        self._at = 0
        self._cursor_key: str | None = None
        self._drawn: dict[int, object] = {}
        self._caption_lines = 1

    # What a subclass says

    @property
    def caption(self) -> str:
        """What the glyphs mean, under the map; three spaces part phrases, and lines break there."""
        raise NotImplementedError

    @property
    def _captions(self) -> tuple[str, ...]:
        """Every caption that may come to stand there without a new layout asked for."""
        return (self.caption,)

    @property
    def cursor_key(self) -> str | None:
        """Key of what enter would open; None when there is nothing."""
        raise NotImplementedError

    @property
    def _rows(self) -> int:
        """Rows of the map."""
        raise NotImplementedError

    @property
    def _stops(self) -> int:
        """Places that the cursor may take, from 0."""
        raise NotImplementedError

    @property
    def _cursor_row(self) -> int:
        """The row of the cursor's place; asked only while there are stops."""
        raise NotImplementedError

    def _row_token(self, row: int) -> object:
        """Equal as long as the row looks alike."""
        raise NotImplementedError

    def _row_strip(self, row: int, width: int) -> Strip:
        """A row in exactly `width` cells."""
        raise NotImplementedError

    def _highlighted(self, key: str) -> Message:
        """What is posted when the cursor comes to stand on `key`."""
        raise NotImplementedError

    def _activated(self, key: str) -> Message:
        """What is posted when `key` is opened."""
        raise NotImplementedError

    def _stop_at(self, row: int, x: int) -> int | None:
        """The stop under a cell of the map, None where there is none."""
        raise NotImplementedError

    def _lay_out(self) -> None:
        """Lay out everything for the current size."""
        raise NotImplementedError

    # Keys and mouse

    def action_step(self, stops: int) -> None:
        self._move(self._at + stops)

    def action_end(self, last: bool) -> None:
        self._move(self._stops - 1 if last else 0)

    def action_activate(self) -> None:
        if (key := self.cursor_key) is not None:
            tell(self, self._activated(key))

    def on_click(self, event: events.Click) -> None:
        spot = event.get_content_offset(self)
        if spot is None or spot.y >= self._body_lines:
            return
        at = self._stop_at(spot.y + self.scroll_offset.y, spot.x)
        if at is not None:
            self._move(at)
            if event.chain == 2:
                self.action_activate()

    def on_resize(self) -> None:
        self.measure_lines()
        self._lay_out()

    def on_focus(self) -> None:
        self._repaint_changed()

    def on_blur(self) -> None:
        self._repaint_changed()

    # Drawing

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._palette.clear()

    def render_line(self, y: int) -> Strip:
        width = self.line_width
        self._drawn[y] = self._token(y)
        if (said := self._caption_at(y)) is not None:
            return Strip([Segment(fit(said, width), self._palette.style("heatmap--caption"))], width)
        row = y + self.scroll_offset.y
        if row >= self._rows:
            return Strip.blank(width, self._palette.style())
        return self._row_strip(row, width)

    def _token(self, y: int) -> object:
        if (said := self._caption_at(y)) is not None:
            return said
        row = y + self.scroll_offset.y
        return self._row_token(row) if row < self._rows else None

    # Changes

    def caption_lines(self, width: int) -> int:
        """Lines that the caption takes in `width` cells where there is room."""
        lines = max(len(wrap_phrases(said, width)) for said in self._captions)
        return min(MOST_CAPTION_LINES, lines)

    def _needed_caption_lines(self) -> int:
        """As many as it takes, but no more than half of the view: the map comes first."""
        wanted = self.caption_lines(self.line_width or self.size.width)
        return max(1, min(wanted, self.size.height // 2))

    def _caption_at(self, y: int) -> str | None:
        """The line of the caption at line `y` of the view: right under the map, or at the view's bottom."""
        line = y - min(self._body_lines, self._rows)
        if not 0 <= line < self._caption_lines:
            return None
        lines = wrap_phrases(self.caption, self.line_width)
        last = self._caption_lines - 1
        return "   ".join(lines[last:]) if line == last else "".join(lines[line : line + 1])

    @property
    def _body_lines(self) -> int:
        return max(1, self.size.height - self._caption_lines)

    def _move(self, at: int) -> None:
        if not self._stops:
            return
        self._at = max(0, min(at, self._stops - 1))
        self._show_cursor()
        self._repaint_changed()
        self._tell_cursor()

    def _show_cursor(self) -> None:
        """Scroll as far as it takes to see the cursor's row."""
        row, top = self._cursor_row, self.scroll_offset.y
        if row < top:
            self.jump(row)
        elif row >= top + self._body_lines:
            self.jump(row - self._body_lines + 1)

    def _tell_cursor(self) -> None:
        key = self.cursor_key
        if key is not None and key != self._cursor_key:
            self.post_message(self._highlighted(key))
        self._cursor_key = key

    def _repaint_changed(self) -> None:
        if not self.is_attached:
            return
        drawn = self._drawn
        self.repaint_lines([y for y in range(self.size.height) if y in drawn and drawn[y] != self._token(y)])
