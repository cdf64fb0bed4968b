"""The detail beside a list, or below it: of the row that the cursor rests on, folded away by a key."""

from collections.abc import Callable
from dataclasses import replace

from cockpit_widgets.flow_text import FLOW_CSS, FlowText
from cockpit_widgets.panel import Panel
from cockpit_widgets.types import Line

from cockpit.screens.place import Place
from cockpit.views.detail import Detail

REST_SECONDS = 0.15
"""Time that a row has to be under the cursor before its detail is made."""
BESIDE_COLUMNS, BELOW_LINES = 140, 40
"""Least columns for a detail at the right of the list; with fewer, least lines for one below it."""
_PLACES = ("beside", "below")


class DetailPane(FlowText):
    """As many lines as it has room for: nothing scrolls, so nothing is laid out again."""

    DEFAULT_CSS = "DetailPane { padding: 0 1;" + FLOW_CSS + " height: 1fr; }"

    _detail = Detail("")

    def set_detail(self, detail: Detail) -> None:
        """Show this; lines that are the same are not painted again."""
        self._detail = detail
        self.reflow()

    def flow(self, width: int) -> list[Line]:
        height = self.scrollable_content_region.height
        lines = self._detail.lines(width, height)
        return [*lines, *((),) * (height - len(lines))]

    def on_resize(self) -> None:
        self._lines_width = 0


class DetailSide:
    """Where the detail of a place stands and what it shows. `make` gives the detail of a row by its key, None
    where the row has none; `cursor` is the key under the cursor. From `below_lines` on it stands below a list
    that has too few columns for one beside it."""

    def __init__(
        self,
        place: Place,
        make: Callable[[str], Detail | None],
        cursor: Callable[[], str | None],
        below_lines: int = BELOW_LINES,
    ) -> None:
        self._place = place
        self._make = make
        self._cursor = cursor
        self._below_lines = below_lines
        self._key: str | None = None  # whose detail is shown
        self._moved_at: float | None = None  # monotonic; None: the cursor rests
        self._is_watched = False
        self.panel = Panel(DetailPane(), id="detail")

    @property
    def is_shown(self) -> bool:
        """Whether it takes room on the screen now."""
        return any(map(self._place.has_class, _PLACES))

    def arrange(self) -> None:
        """Take the place that the size of the screen gives it, or none: folded, or with no row to tell of."""
        place = self._place
        columns, lines = place.size
        side = "beside" if columns >= BESIDE_COLUMNS else "below" if lines >= self._below_lines else ""
        if place.state.is_detail_folded or self._cursor() is None:
            side = ""
        for name in _PLACES:
            place.set_class(name == side, name)

    def fold(self) -> None:
        """Fold it away, or show it again; the choice is kept for this place."""
        state = self._place.state
        folded = not state.is_detail_folded
        self._place.keep(replace(state, is_detail_folded=folded))
        self._place.show()

    def moved(self) -> None:
        """The cursor stands on another row: its detail comes once it rests there."""
        self._moved_at = self._place.cockpit.clock.monotonic()
        if not self._is_watched:
            self._watch(REST_SECONDS)

    def _watch(self, seconds: float) -> None:
        self._is_watched = True
        self._place.set_timer(seconds, self._look)

    def _look(self) -> None:
        self._is_watched = False
        if self._place.is_going or self._moved_at is None:
            return
        if (left := self._left_seconds()) > 0:
            self._watch(left)
        else:
            self.show()

    def _left_seconds(self) -> float:
        """Until the cursor has rested long enough."""
        if self._moved_at is None or self._key is None:
            return 0.0
        left = REST_SECONDS - (self._place.cockpit.clock.monotonic() - self._moved_at)
        return round(max(0.0, left), 6)

    def show(self) -> None:
        """Draw the detail as the store stands now: of the row under the cursor once it rests there."""
        self.arrange()
        if not self.is_shown:
            return
        if self._left_seconds() <= 0:
            self._key, self._moved_at = self._cursor(), None
        detail = None if self._key is None else self._make(self._key)
        detail = detail or Detail("", "nothing to show")
        self.panel.set_title(detail.title, detail.figure)
        self.panel.query_one(DetailPane).set_detail(detail)
