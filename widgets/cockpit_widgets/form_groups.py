"""Sections of a form: a head with its summary, and under it the fields while the section is open."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.segment import Segment
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from cockpit_widgets.form_row import FieldRow
from cockpit_widgets.one_line import ONE_LINE_CSS, OneLine
from cockpit_widgets.text import cut, width_of

_OPEN, _FOLDED = "▾", "▸"


class GroupHead(OneLine):
    """`▸ Where     team-a · gpu-lq`, or how many of its fields are wrong."""

    DEFAULT_CSS = "GroupHead {" + ONE_LINE_CSS + "}"

    @dataclass
    class Picked(Message):
        """The head was clicked."""

        title: str

    def __init__(self, title: str, title_width: int) -> None:
        super().__init__()
        self._title = title
        self._title_width = title_width
        self._shown = ("", 0, False)

    def show(self, summary: str, wrong: int, *, is_open: bool) -> None:
        """Draw this summary, behind the count of wrong fields where these are not in sight."""
        if (shown := (summary, wrong, is_open)) != self._shown:
            self._shown = shown
            self.refresh()

    def on_click(self) -> None:
        self.post_message(self.Picked(self._title))

    def segments(self, width: int) -> list[Segment]:
        summary, wrong, is_open = self._shown
        accent, dim = self.palette.tone("accent"), self.palette.tone("dim")
        glyph = Segment(f"{_OPEN} ", accent) if is_open else Segment(f"{_FOLDED} ", dim)
        title = Segment(self._title.ljust(self._title_width), self.palette.tone("strong"))
        told = f"× {wrong} to correct  " if wrong and not is_open else ""
        room = width - 2 - self._title_width - 2 - width_of(told)
        out = [glyph, title, Segment("  ", self.palette.style())]
        if told:
            out.append(Segment(told, self.palette.tone("bad")))
        if room > 0 and summary:
            out.append(Segment(cut(summary, room), dim))
        return out


class FieldGroup(Vertical):
    """One section. Its rows are displayed only while it is open."""

    DEFAULT_CSS = """
    FieldGroup {
        height: auto;
        & > FieldRow { display: none; padding-left: 2; }
        &.-open > FieldRow { display: block; }
        &.-open { margin-bottom: 1; }
    }
    """

    def __init__(self, title: str, rows: Sequence[FieldRow], title_width: int) -> None:
        super().__init__()
        self.title = title
        self.rows = tuple(rows)
        self.head = GroupHead(title, title_width)

    @property
    def is_open(self) -> bool:
        """Whether its rows are in sight."""
        return self.has_class("-open")

    def set_open(self, is_open: bool) -> None:
        """Show or fold the rows."""
        self.set_class(is_open, "-open")

    def compose(self) -> ComposeResult:
        yield self.head
        yield from self.rows
