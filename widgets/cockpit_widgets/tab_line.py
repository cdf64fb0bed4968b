"""Tabs on one line: key, name and count of each, the current one marked by a glyph and by weight."""

from collections.abc import Sequence

from rich.segment import Segment
from textual import events

from cockpit_widgets.one_line import ONE_LINE_CSS, OneLine
from cockpit_widgets.text import plain, width_of
from cockpit_widgets.types import Cell, Tab

CURRENT_GLYPH = "▎"
"""Stands before the current tab: weight and colour alone are lost on some terminals."""
_GAPS_WIDE, _GAPS_NARROW = (3, 2), (2, 1)


def fitting_tabs(tabs: Sequence[Tab], current: str, width: int) -> list[tuple[Cell, ...]]:
    """The pieces of each tab so that all of them fit `width` cells: with gaps of three or two cells, with
    short names and smaller gaps, by key and note, at last by key. The current one keeps its short name."""
    for is_short, gaps in ((False, _GAPS_WIDE), (True, _GAPS_NARROW)):
        names = [tab.short if is_short and tab.short else tab.name for tab in tabs]
        for gap in gaps:
            found = [
                _pieces(tab, name, tab.note, current, gap) for tab, name in zip(tabs, names, strict=True)
            ]
            if _width(found) <= width:
                return found
    for has_note in (True, False):
        found = [
            _pieces(tab, (tab.short or tab.name) * (tab.key == current), tab.note * has_note, current, 1)
            for tab in tabs
        ]
        if _width(found) <= width:
            break
    return found


def _pieces(tab: Tab, name: str, note: str, current: str, gap: int) -> tuple[Cell, ...]:
    is_current = tab.key == current
    lead = Cell(" " * (gap - 1) + (CURRENT_GLYPH if is_current else " "), "accent")
    key = Cell(tab.key, "accent")
    called = (Cell(f" {name}", "strong" if is_current else "dim"),) if name else ()
    noted = (Cell(f" {note}", tab.tone),) if note else ()
    return (lead, key, *called, *noted)


def _width(found: Sequence[tuple[Cell, ...]]) -> int:
    return sum(width_of(cell.text) for pieces in found for cell in pieces)


class TabLine(OneLine):
    """One line of tabs; an update never asks for layout. A click presses the key of its tab."""

    DEFAULT_CSS = "TabLine {" + ONE_LINE_CSS + "background: $surface; }"

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the word of every Textual widget
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._tabs: tuple[Tab, ...] = ()
        self._current = ""

    @property
    def tabs(self) -> tuple[Tab, ...]:
        """What is shown."""
        return self._tabs

    def set_tabs(self, tabs: Sequence[Tab], current: str) -> None:
        """Show these, that of the key `current` marked; the same ones again cost nothing."""
        if (tuple(tabs), current) != (self._tabs, self._current):
            self._tabs, self._current = tuple(tabs), current
            self.refresh()

    def segments(self, width: int) -> list[Segment]:
        return [
            Segment(plain(cell.text), self.palette.tone(cell.tone))
            for pieces in fitting_tabs(self._tabs, self._current, width)
            for cell in pieces
        ]

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        if at is None:
            return
        x = 0
        for tab, pieces in zip(
            self._tabs, fitting_tabs(self._tabs, self._current, self.size.width), strict=True
        ):
            x += _width([pieces])
            if at.x < x:
                self.app.simulate_key(tab.key)
                return
