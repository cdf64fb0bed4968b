"""The ground of widgets that are one line high and change often: drawn by line, never asking for layout."""

from typing import ClassVar

from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from cockpit_widgets.palette import TONE_CLASSES, TONE_RULES, Palette

ONE_LINE_CSS = (
    """
    height: 1;
    background: $background;
    color: $foreground;
"""
    + TONE_RULES
)
"""Rules of every one-line widget, to stand inside the widget's own block of DEFAULT_CSS."""


class OneLine(Widget):
    """One line of segments. Subclasses give `segments(width)`, at most `width` cells; the rest is filled."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {*TONE_CLASSES}

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the word of every Textual widget
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.palette = Palette(self)

    def segments(self, width: int) -> list[Segment]:
        """What stands on the line now."""
        return []

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self.palette.clear()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        base = self.palette.style()
        if y:
            return Strip.blank(width, base)
        return Strip(self.segments(width)).adjust_cell_length(width, base)
