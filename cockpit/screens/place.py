"""A place: header, body, filter line, footer; projected when the store moved and the place is on screen."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import ClassVar, cast

from cockpit_widgets import KeyFooter, LineInput, StatusLine
from cockpit_widgets.types import HelpEntry
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.css.query import NoMatches
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, Static

from cockpit.screens.deck import Deck, deck_of
from cockpit.screens.keymap import EVERYWHERE, FOOTER_ORDER, KEYS, WRITE_ACTIONS, bindings
from cockpit.store.signal import SHARE_OF_TIME
from cockpit.views.now import header
from cockpit.views.view_state import ViewState

AGE_SECONDS = 1.0


class FilterLine(LineInput):
    """The `/` line: hidden until asked for, escape clears and hides it."""

    DEFAULT_CSS = """
    FilterLine { display: none; height: 1; border: none; padding: 0 1; }
    FilterLine.open { display: block; }
    FilterLine:focus { border: none; }
    """
    # Looked up before the line sees the key, so that what is typed right behind belongs to the table.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "close(False)", "Keep the filter", show=False, priority=True),
        Binding("escape", "close(True)", "Drop the filter", show=False, priority=True),
    ]

    def action_close(self, clear: bool) -> None:
        if isinstance(self.screen, Place):
            self.screen.close_filter(clear=clear)


class Place(Screen[None]):
    """Base of every screen of the cockpit.

    A subclass yields its widgets in `body`, and puts what the views say into them in `project`, which is
    called when the store moved, when the screen comes back, and once a second for ages.
    """

    DEFAULT_CSS = """
    Place { layout: vertical; background: $background; }
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

    def project(self) -> None:
        """Hand the widgets what the views make of the store now."""

    def compose(self) -> ComposeResult:
        yield StatusLine(id="header")
        yield from self.body()
        yield Static("", id="problem", markup=False)
        yield FilterLine(id="filter", placeholder="filter: text  field:value  field>number  !not")
        yield KeyFooter(id="footer", order=FOOTER_ORDER)

    def on_mount(self) -> None:
        self.set_interval(AGE_SECONDS, self._tick)

    def on_screen_resume(self) -> None:
        if self._leave is None:
            self._leave = self.deck.on_change(self.show)
        self.show()

    def on_screen_suspend(self) -> None:
        if self._leave is not None:
            self._leave()
            self._leave = None

    def _tick(self) -> None:
        """Ages grow although nothing moved; where something moves all the time, the signal renews them."""
        since = self.deck.clock.monotonic() - self._shown_at
        if self.is_current and since >= max(AGE_SECONDS * 0.9, self._show_seconds / SHARE_OF_TIME):
            self.show()

    def show(self) -> None:
        """Header and body anew; widgets repaint only the lines that changed."""
        if not self.is_mounted:
            return
        self._shown_at = self.deck.clock.monotonic()
        attachment = self.deck.attachment
        left, right = header(attachment, self.deck.clock.now(), self.state)
        self.query_one("#header", StatusLine).set_segments(left, right)
        self.project()
        self._show_seconds = self.deck.clock.monotonic() - self._shown_at

    # ---- keys that every place knows

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Capital keys are absent while read-only."""
        return not (action in WRITE_ACTIONS and self.deck.attachment.is_read_only)

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

    def action_back(self) -> None:
        line = self.query_one("#filter", FilterLine)
        if line.has_class("open"):
            self.close_filter(clear=True)
        elif len(self.app.screen_stack) > 1:
            self.dismiss(None)

    def action_help(self) -> None:
        from cockpit_widgets import HelpDialog

        self.app.push_screen(HelpDialog(self.help_entries()))

    def help_entries(self) -> tuple[HelpEntry, ...]:
        """Every key that works here now, from the bindings themselves."""
        here = {active.binding.id for active in self.active_bindings.values() if active.enabled}
        known = [key for key in KEYS if key.id in here]
        return tuple(HelpEntry(pretty(key.keys), key.help, key.group, key.is_write) for key in known)

    # ---- the filter line

    def action_filter(self) -> None:
        line = self.query_one("#filter", FilterLine)
        line.value = self.state.filter
        line.add_class("open")
        self.set_focus(line)

    def close_filter(self, *, clear: bool) -> None:
        """Hide the line, with or without its filter, and give the keys back."""
        line = self.query_one("#filter", FilterLine)
        line.remove_class("open")
        if clear:
            self.set_filter("")
        self.say_problem("")
        self.focus_body()

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
        line.set_class(bool(sentence), "open")
        line.update(sentence)


def pretty(keys: str) -> str:
    """Keys as a person reads them: `ctrl+n`, `:`, `?`."""
    names = {"colon": ":", "slash": "/", "question_mark": "?", "escape": "esc", "space": "space"}
    return " ".join(names.get(one, one) for one in keys.split(","))
