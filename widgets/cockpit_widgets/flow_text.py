"""Toned lines that are wrapped for every width: the base of key values, help and dialogs."""

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from cockpit_widgets.palette import TONE_CLASSES, TONE_RULES, Palette
from cockpit_widgets.text import plain, wrap
from cockpit_widgets.types import Cell, Line

FLOW_CSS = (
    """
    height: auto;
    overflow-x: hidden;
    overflow-y: auto;
    scrollbar-size-vertical: 1;
    background: $background;
    color: $foreground;
"""
    + TONE_RULES
)
"""Rules of every flowing text, to stand inside the widget's own block of DEFAULT_CSS."""


class FlowText(ScrollView, can_focus=False):
    """Subclasses give `flow(width)`: lines of pieces, at most `width` cells each.

    As high as its lines when its height is auto, else it scrolls.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {*TONE_CLASSES}
    DEFAULT_CSS = "FlowText {" + FLOW_CSS + "}"

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the word of every Textual widget
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._palette = Palette(self)
        self._lines: list[Line] = []
        self._lines_width = 0
        self.is_drawn = False
        """Whether a line of the text as it is now was drawn."""

    def flow(self, width: int) -> list[Line]:
        """The lines in `width` cells."""
        return []

    def _text_width(self) -> int:
        """Cells of a line; 0 before the layout. A blank cell stays between the text and a scrollbar."""
        width = self.scrollable_content_region.width
        return max(1, width - 1) if width and self.show_vertical_scrollbar else width

    def reflow(self) -> None:
        """The text changed: paint it again where its lines did; layout is asked for only when their number
        changed."""
        before, before_width = self._lines, self._lines_width
        self._lines_width = 0
        width = self._text_width()
        if width:
            lines = self._lines_in(width)
            if lines == before and width == before_width:
                return
            count = len(lines)
            if count != len(before):
                self.virtual_size = Size(0, count)
            self.refresh(layout=count != len(before))
        self.is_drawn = False

    def _lines_in(self, width: int) -> list[Line]:
        if self._lines_width != width:
            self._lines_width = width
            self._lines = self.flow(width)
        return self._lines

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._lines_in(width))

    def on_resize(self) -> None:
        width = self._text_width()
        if width:
            self.virtual_size = Size(0, len(self._lines_in(width)))

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._palette.clear()

    def render_line(self, y: int) -> Strip:
        self.is_drawn = True
        width = self.scrollable_content_region.width
        lines = self._lines_in(self._text_width())
        row = y + self.scroll_offset.y
        base = self._palette.style()
        if row >= len(lines):
            return Strip.blank(width, base)
        segments = [Segment(plain(cell.text), self._palette.tone(cell.tone)) for cell in lines[row]]
        return Strip(segments).adjust_cell_length(width, base)


class ToneLines(FlowText):
    """Toned lines as they are, made for the width."""

    DEFAULT_CSS = "ToneLines {" + FLOW_CSS + "}"

    def set_lines(self, lines: Sequence[Line]) -> None:
        """Show these; the same ones again cost nothing."""
        self._set = list(lines)
        self.reflow()

    _set: Sequence[Line] = ()

    def flow(self, width: int) -> list[Line]:
        return list(self._set)


class Paragraphs(FlowText):
    """Toned paragraphs, each broken at its spaces."""

    DEFAULT_CSS = "Paragraphs {" + FLOW_CSS + "}"

    def __init__(
        self,
        paragraphs: Sequence[Cell] = (),
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the word of every Textual widget
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._paragraphs = tuple(paragraphs)

    def set_paragraphs(self, paragraphs: Sequence[Cell]) -> None:
        """Show these; the same ones again cost nothing."""
        if tuple(paragraphs) != self._paragraphs:
            self._paragraphs = tuple(paragraphs)
            self.reflow()

    def flow(self, width: int) -> list[Line]:
        return [(Cell(line, part.tone),) for part in self._paragraphs for line in wrap(part.text, width)]
