"""A place: header, body, filter line, footer; projected when the store moved and the place is on screen."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import ClassVar, cast

from cockpit_widgets import KeyFooter, LineInput, StatusLine
from cockpit_widgets.calm_focus import CalmFocus
from cockpit_widgets.text import plain
from cockpit_widgets.types import HelpEntry, KeyHint, StatusSegment
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.css.query import NoMatches
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from cockpit.screens.deck import Deck, deck_of
from cockpit.screens.help import entries
from cockpit.screens.keymap import BEFORE_TYPING, EVERYWHERE, WRITE_ACTIONS, bindings
from cockpit.store.signal import SHARE_OF_TIME
from cockpit.telemetry.look import Look, Pace
from cockpit.views.now import header
from cockpit.views.view_state import ViewState

AGE_SECONDS = 1.0
_FILTER_HINTS = (KeyHint("enter", "keep the filter", 1), KeyHint("escape", "drop it", 2, display="esc"))


class FilterLine(LineInput):
    """The `/` line: it takes keys only while open, and stays in sight as long as it hides rows."""

    DEFAULT_CSS = """
    FilterLine { height: 1; width: 1fr; border: none; padding: 0 1; background: $surface; }
    FilterLine:focus { border: none; }
    """

    def on_key(self, event: events.Key) -> None:
        """Enter and escape close the line in the order in which they were typed.

        Keys that were sent here before the table had the focus again are handed back to the app.
        """
        screen = self.screen
        if not isinstance(screen, Place):
            return
        if not self.has_class("open"):
            event.stop()
            event.prevent_default()
            if screen.focused is not self:
                self.app.post_message(events.Key(event.key, event.character))
        elif event.key in ("enter", "escape"):
            event.stop()
            event.prevent_default()
            screen.close_filter(clear=event.key == "escape")


class Place(CalmFocus, Screen[None]):
    """Base of every screen of the cockpit.

    A subclass yields its widgets in `body`, and puts what the views say into them in `project`, which is
    called when the store moved, when the screen comes back, and once a second for ages.
    """

    DEFAULT_CSS = """
    Place { layout: vertical; background: $background; }
    Place #foot { dock: bottom; height: auto; }
    Place #filter-row { display: none; height: 1; background: $surface; }
    Place #filter-row.shown { display: block; layout: horizontal; }
    Place #slash { width: 2; padding-left: 1; color: $text-accent; }
    Place #problem { display: none; height: 1; color: $warning; padding: 0 1; }
    Place #problem.open { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*EVERYWHERE)]
    place: ClassVar[str] = ""
    has_filter: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self._leave: Callable[[], None] | None = None
        self._shown_at = 0.0  # monotonic
        self._show_seconds = 0.0
        self._problem = ""

    @property
    def deck(self) -> Deck:
        return deck_of(self.app)

    @property
    def state(self) -> ViewState:
        """Filter, order and namespace of this place; kept by the app."""
        return self.deck.state_of(self.place)

    def body(self) -> Iterable[Widget]:
        """The widgets between header and footer."""
        return ()

    def foot(self) -> Iterable[Widget]:
        """Widgets that stand at the bottom, right above the filter and the keys."""
        return ()

    @property
    def heading(self) -> str:
        """What the header calls this screen: a word for a place, the name of its object for a page."""
        return self.place

    @property
    def aside(self) -> str:
        """What the header says of that object where there is room, "" for nothing."""
        return ""

    def project(self) -> None:
        """Hand the widgets what the views make of the store now."""

    def compose(self) -> ComposeResult:
        yield StatusLine(id="header")
        yield from self.body()
        with Vertical(id="foot"):
            yield from self.foot()
            yield Static("", id="problem", markup=False)
            with Horizontal(id="filter-row"):
                yield Static("/", id="slash", markup=False)
                yield FilterLine(id="filter", placeholder="text  field:value  field>number  !not")
            yield KeyFooter(id="footer", order=self.footer_order())

    def footer_order(self) -> tuple[str, ...]:
        """Ids of the keys, the most useful first: in the order in which this screen names them."""
        own = [one.id for one in type(self).BINDINGS if isinstance(one, Binding) and one.id]
        return (*own, *EVERYWHERE)

    def on_mount(self) -> None:
        line = self.query_one("#filter", FilterLine)
        line.can_focus = False
        line.value = self.state.filter if self.has_filter else ""
        self._show_filter_row()
        self.set_interval(AGE_SECONDS, self._tick)

    def on_screen_resume(self) -> None:
        if self._leave is None:
            self._leave = self.deck.on_change(self.show)
        self.show()

    def look(self) -> Look:
        """What telemetry is to read for this place: what the header needs, where its body has no GPUs."""
        return Look(Pace.SLOW)

    def on_screen_suspend(self) -> None:
        self.deck.attachment.look_at(Look(Pace.SLOW))
        if self._leave is not None:
            self._leave()
            self._leave = None

    def _tick(self) -> None:
        """Ages grow although nothing moved; where something moves all the time, the signal renews them."""
        since = self.deck.clock.monotonic() - self._shown_at
        if self.is_current and since >= max(AGE_SECONDS * 0.9, self._show_seconds / SHARE_OF_TIME):
            self.show()

    @property
    def is_going(self) -> bool:
        """Taken down or about to be: it has lost its widgets, whatever answer still reaches it."""
        return not self.display

    def show(self) -> None:
        """Header and body anew; widgets repaint only the lines that changed."""
        if self.is_going or not self.is_mounted:
            return
        self._shown_at = self.deck.clock.monotonic()
        attachment = self.deck.attachment
        left, right = header(attachment, self.deck.clock.now(), self.state)
        heading = [StatusSegment(self.heading, "accent", 2)] if self.heading else []
        if self.aside:
            heading.append(StatusSegment(self.aside, "accent", 4))
        self.query_one("#header", StatusLine).set_segments((*left[:1], *heading, *left[1:]), right)
        self.project()
        if self.app.screen is self:  # `is_current` holds for screens behind this one, too
            attachment.look_at(self.look())
        self._show_seconds = self.deck.clock.monotonic() - self._shown_at

    # ---- keys that every place knows

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Capital keys are absent while read-only, the way back where there is none, `/` while one types."""
        if action in WRITE_ACTIONS and self.deck.attachment.is_read_only:
            return False
        if action in BEFORE_TYPING and isinstance(self.focused, Input | TextArea):
            return False
        return action != "back" or self.can_go_back

    def action_place(self, name: str) -> None:
        self.deck.go(name)

    def action_pick_namespace(self) -> None:
        self.deck.choose_namespace()

    def action_pick_context(self) -> None:
        self.deck.choose_context()

    def action_palette(self) -> None:
        self.deck.open_palette()

    def action_quit(self) -> None:
        self.app.exit()

    @property
    def can_go_back(self) -> bool:
        """False on a place without a filter: below it there is only the empty screen of the start."""
        return bool(self.has_filter and self.state.filter) or self in self.app.screen_stack[2:]

    def action_back(self) -> None:
        if self.has_filter and self.state.filter:
            self.close_filter(clear=True)
        elif self.can_go_back:
            self.dismiss(None)

    def action_help(self) -> None:
        from cockpit_widgets import HelpDialog

        self.app.push_screen(HelpDialog(self.help_entries()))

    def help_entries(self) -> tuple[HelpEntry, ...]:
        """Every key that works here now, from the bindings themselves."""
        return entries(self)

    # ---- the filter line

    def action_filter(self) -> None:
        line = self.query_one("#filter", FilterLine)
        line.value = self.state.filter
        line.add_class("open")
        line.can_focus = True
        self._show_filter_row()
        self.query_one("#footer", KeyFooter).set_hints(_FILTER_HINTS)
        self.set_focus(line)

    def close_filter(self, *, clear: bool) -> None:
        """Hide the line, with or without its filter, and give the keys back."""
        line = self.query_one("#filter", FilterLine)
        line.remove_class("open")
        line.can_focus = False
        if clear:
            line.value = ""
        self.set_filter(line.value)
        self._show_filter_row()
        self.query_one("#footer", KeyFooter).set_hints(None)
        self.focus_body()
        self.refresh_bindings()

    def _show_filter_row(self) -> None:
        line = self.query_one("#filter", FilterLine)
        self.query_one("#filter-row").set_class(bool(line.value) or line.has_class("open"), "shown")

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.input.id == "filter" and event.input.has_class("open"):
            event.stop()
            self.set_filter(event.value)

    def focus_body(self) -> None:
        """Give the keys back to the main widget."""

    def set_filter(self, text: str) -> None:
        """Filter by that text from now on."""
        self._keep(replace(self.state, filter=text))

    def set_sort(self, column_id: str, *, descending: bool) -> None:
        """Sort by that column from now on, "" for the view's own order; the choice stays."""
        self._keep(replace(self.state, sort=column_id, descending=descending))

    def _keep(self, state: ViewState) -> None:
        self.deck.keep_state(self.place, state)
        self.show()

    def say_problem(self, sentence: str) -> None:
        """A mistake in the filter, told beneath it; the last good rows stay."""
        try:
            line = cast(Static, self.query_one("#problem"))
        except NoMatches:
            return
        if sentence != self._problem:
            self._problem = sentence
            line.set_class(bool(sentence), "open")
            line.update(plain(sentence))
