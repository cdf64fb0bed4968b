"""A panel with its title at the left and its figure at the right: in a thin frame, or under a rule."""

from rich.segment import Segment
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widget import Widget

from cockpit_widgets.one_line import ONE_LINE_CSS, OneLine
from cockpit_widgets.text import cut_middle, width_of

_RULE = "─"
_FRAME_CELLS = 4
"""Cells inside a frame's corners that its title does not get: a line and a blank at each end."""


def ruled(title: str, figure: str, width: int) -> str:
    """`Title ───── figure` in `width` cells; the figure goes first where both have no room."""
    shown = cut_middle(title, max(1, width))
    room = width - width_of(shown) - width_of(figure) - 2
    return f"{shown} {_RULE * room} {figure}" if figure and room > 0 else shown


class _RuleLine(OneLine):
    """The title of a panel without a frame."""

    DEFAULT_CSS = "_RuleLine {" + ONE_LINE_CSS + "}"

    def __init__(self) -> None:
        super().__init__()
        self._parts = ("", "")

    def show(self, title: str, figure: str) -> None:
        """Draw these."""
        if (parts := (title, figure)) != self._parts:
            self._parts = parts
            self.refresh()

    def segments(self, width: int) -> list[Segment]:
        title, figure = self._parts
        behind = f" {figure} {_RULE}" if figure and width_of(title) + width_of(figure) + 6 <= width else ""
        shown = cut_middle(title, max(1, width - 4))
        rule = _RULE * max(0, width - width_of(shown) - width_of(behind) - 3)
        dim, strong = self.palette.tone("dim"), self.palette.tone("strong")
        return [Segment(f"{_RULE} ", dim), Segment(shown, strong), Segment(f" {rule}{behind}", dim)]


class TitledPanel(Vertical):
    """Content under a title. With the class `-framed` a thin frame carries the title, else a rule above it.

    The frame of the panel that has the focus stands out.
    """

    DEFAULT_CSS = """
    TitledPanel {
        height: 1fr;
        background: $background;
        &.-framed { border: round $surface-lighten-3; border-title-color: $foreground; }
        &.-framed:focus-within { border: round $primary; }
        &.-framed > _RuleLine { display: none; }
    }
    """

    def __init__(self, *content: Widget, id: str) -> None:  # noqa: A002 - the word of every Textual widget
        super().__init__(id=id)
        self._content = content
        self._rule = _RuleLine()
        self._parts = ("", "")

    def compose(self) -> ComposeResult:
        yield self._rule
        yield from self._content

    def set_title(self, title: str, figure: str = "") -> None:
        """Another title and figure."""
        self._parts = (title, figure)
        self._show()

    def on_resize(self) -> None:
        self._show()

    def _show(self) -> None:
        title, figure = self._parts
        self._rule.show(title, figure)
        framed = ruled(title, figure, max(1, self.size.width - _FRAME_CELLS)).replace("[", r"\[")
        if framed != self.border_title:
            self.border_title = framed
