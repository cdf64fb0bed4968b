"""The values of a choice field, listed under it while it has the focus."""

from collections.abc import Sequence

from textual import events
from textual.message import Message

from cockpit_widgets.flow_text import FLOW_CSS, FlowText
from cockpit_widgets.text import cut, fit
from cockpit_widgets.types import Cell, Line

MOST_LISTED = 6


class ChoiceList(FlowText):
    """Lies over what is below its field, so that nothing moves; a click takes a value."""

    DEFAULT_CSS = (
        "ChoiceList {"
        + FLOW_CSS
        + "display: none; overlay: screen; constrain: none inside; background: $panel; max-width: 64;"
        "padding: 0 1; &.-open { display: block; } }"
    )

    class Taken(Message):
        """A value was clicked."""

        def __init__(self, value: str) -> None:
            super().__init__()
            self.value = value

    def __init__(self, indent: int) -> None:
        super().__init__()
        self.styles.margin = (0, 0, 0, indent)
        self._values: tuple[str, ...] = ()
        self._at = -1
        self._is_active = False
        self._missed = ""

    def show(self, values: Sequence[str], current: str, *, is_active: bool, missed: str = "") -> None:
        """List these around the current one; () hides the list. `is_active`: arrows move in it. `missed` was
        typed and finds none."""
        self._values, self._is_active, self._missed = tuple(values), is_active, missed
        self._at = self._values.index(current) if current in self._values else -1
        self.set_class(len(self._values) > (not is_active), "-open")
        self.reflow()

    @property
    def _first(self) -> int:
        return max(0, min(self._at - MOST_LISTED // 2, len(self._values) - MOST_LISTED))

    def flow(self, width: int) -> list[Line]:
        shown = self._values[self._first : self._first + MOST_LISTED]
        lines: list[Line] = [
            (self._line(value or "none", number == self._at, width),)
            for number, value in enumerate(shown, self._first)
        ]
        if self._missed:
            return [*lines, (Cell(cut(f"  no match for {self._missed!r}", width), "warn"),)]
        more = len(self._values) - len(shown)
        keys = "up down move  enter takes" if self._is_active else "type to search  space to move"
        return [*lines, (Cell(cut(f"  {f'{more} more  ' if more else ''}{keys}", width), "dim"),)]

    def _line(self, value: str, is_current: bool, width: int) -> Cell:
        if not is_current:
            return Cell(f"  {cut(value, width - 2)}")
        return Cell(fit(f"› {value}", width), "accent" if self._is_active else "strong")

    def on_click(self, event: events.Click) -> None:
        event.stop()
        at = self._first + event.y
        if event.y < MOST_LISTED and at < len(self._values):
            self.post_message(self.Taken(self._values[at]))
