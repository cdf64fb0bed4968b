"""A place: header, tabs, body, filter line, footer; projected when the store moved and it is on screen."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, cast

from cockpit_widgets import HelpDialog, KeyFooter, LineInput, StatusLine, TabLine
from cockpit_widgets.calm_focus import CalmFocus
from cockpit_widgets.line_input import EDITING_KEYS, TextEntry
from cockpit_widgets.panel import FRAMED, is_framed
from cockpit_widgets.text import plain
from cockpit_widgets.types import HelpEntry, KeyHint, StatusSegment
from textual import events
from textual.app import App, ComposeResult
from textual.binding import ActiveBinding, Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.css.query import NoMatches
from textual.widget import Widget
from textual.widgets import Input, Static

from cockpit.model.plan import Outcome
from cockpit.screens.bound_screen import BoundScreen
from cockpit.screens.help import entries
from cockpit.screens.key_rights import KeyRights, label_of, missing_rights, why_barred, why_unsuited
from cockpit.screens.keymap import BEFORE_TYPING, CHANGING, EVERYWHERE, LEAVING, VERB, bindings, why_not_here
from cockpit.screens.saved_filters import MARK, ask_name, recalled
from cockpit.screens.verb_keys import begin
from cockpit.store.signal import SHARE_OF_TIME
from cockpit.telemetry.focus import Focus, RefreshPace
from cockpit.views.now import Segments, header
from cockpit.views.place_tabs import counts_of, tab_key, tabs
from cockpit.views.view_state import ViewState

AGE_SECONDS = 1.0
_FILTER_HINTS = (
    KeyHint("enter", "keep the filter", 1),
    KeyHint("escape", "drop it", 2, display="esc"),
    KeyHint("ctrl+s", "save by name, @name recalls", 3),
)


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
        elif event.key == "ctrl+s":
            event.stop()
            event.prevent_default()
            screen.action_save_filter()


class Place(CalmFocus, BoundScreen):
    """Base of every screen of the cockpit.

    A subclass yields its widgets in `body`, and puts what the views say into them in `project`, which is
    called when the store moved, when the screen comes back, and once a second for ages.
    """

    DEFAULT_CSS = """
    Place { layout: vertical; background: $background; }
    Place.framed Panel { border: round $border-blurred; }
    Place.framed Panel:focus-within { border: round $primary; }
    Place #foot { dock: bottom; height: auto; }
    Place #filter-row { display: none; height: 1; background: $surface; }
    Place #filter-row.shown { display: block; layout: horizontal; }
    Place #slash { width: 2; padding-left: 1; color: $text-accent; }
    Place #problem { display: none; height: auto; max-height: 2; color: $warning; padding: 0 1; }
    Place #problem.open { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*EVERYWHERE)]
    place: ClassVar[str] = ""
    has_filter: ClassVar[bool] = False
    kinds: ClassVar[tuple[str, ...]] = ()
    """What its rows, or the page itself, are to the verbs (`cockpit.actions.target_kinds`)."""

    @property
    def why_kinds(self) -> tuple[str, ...]:
        """The same for `w`, the one that is meant first."""
        return self.kinds

    def __init__(self) -> None:
        super().__init__()
        self._leave: Callable[[], None] | None = None
        self._shown_at = 0.0  # monotonic
        self._show_seconds = 0.0
        self._problem = ""
        self._recall_note = ""  # why `@name` in the filter line stands for nothing
        self._key_rights = KeyRights(self)

    @property
    def state(self) -> ViewState:
        """Filter, order and namespace of this place; kept by the app."""
        return self.cockpit.state_of(self.kept_as)

    @property
    def kept_as(self) -> str:
        """The name under which order, columns and filters of this page are kept."""
        return self.place

    @property
    def noun(self) -> str:
        """What its rows are called together."""
        return self.place

    def body(self) -> Iterable[Widget]:
        """The widgets between the tabs and the footer."""
        return ()

    def foot(self) -> Iterable[Widget]:
        """Widgets that stand at the bottom, right above the filter and the keys."""
        return ()

    @property
    def heading(self) -> str:
        """What the header calls this page, "" for a place: that is marked among the tabs."""
        return "" if tab_key(self.place) else self.place

    @property
    def aside(self) -> str:
        """What the header says of that object where there is room, "" for nothing."""
        return ""

    @property
    def tab(self) -> str:
        """The key of the tab that is marked: that of this place, or of the one that this page is above."""
        stack = self.app.screen_stack
        below = (screen.place for screen in reversed(stack) if isinstance(screen, Place))
        return next(filter(None, map(tab_key, below)), "")

    def project(self) -> None:
        """Hand the widgets what the views make of the store now."""

    def compose(self) -> ComposeResult:
        yield StatusLine(id="header")
        yield TabLine(id="tabs")
        yield from self.body()
        with Vertical(id="foot"):
            yield from self.foot()
            yield Static("", id="problem", markup=False)
            with Horizontal(id="filter-row"):
                yield Static("/", id="slash", markup=False)
                yield FilterLine(id="filter", placeholder="text  field:value  field>number  !not  @saved")
            yield KeyFooter(id="footer", order=self.footer_order())

    def footer_order(self) -> tuple[str, ...]:
        """Ids of the keys, the most useful first: in the order in which this screen names them."""
        own = [item.id for item in type(self).BINDINGS if isinstance(item, Binding) and item.id]
        return (*own, *EVERYWHERE)

    def on_mount(self) -> None:
        line = self.query_one("#filter", FilterLine)
        line.can_focus = False
        line.value = self.state.filter if self.has_filter else ""
        self._show_filter_row()
        self.set_interval(AGE_SECONDS, self._tick)

    def on_resize(self) -> None:
        self.set_class(is_framed(*self.size), FRAMED)

    def on_screen_resume(self) -> None:
        if self._leave is None:
            self._leave = self.cockpit.on_change(self.show)
        self.show()

    def look(self) -> Focus:
        """What telemetry is to read for this place: what the header needs, where its body has no GPUs."""
        return Focus(RefreshPace.SLOW)

    def on_screen_suspend(self) -> None:
        for cluster in self.cockpit.clusters:
            cluster.cluster.look_at(Focus(RefreshPace.SLOW))
        if self._leave is not None:
            self._leave()
            self._leave = None

    def header(self, heading: Segments, now_seconds: float) -> tuple[Segments, Segments]:
        """The header line as (left, right), with ages by our clock."""
        return header(self.cockpit.cluster, now_seconds, self.state, heading)

    def look_around(self) -> None:
        """Tell telemetry what is in sight."""
        self.cockpit.cluster.look_at(self.look())

    def _tick(self) -> None:
        """Ages grow although nothing moved; where something moves all the time, the signal renews them."""
        since = self.cockpit.clock.monotonic() - self._shown_at
        if self.is_current and since >= max(AGE_SECONDS * 0.9, self._show_seconds / SHARE_OF_TIME):
            self.show()

    @property
    def is_going(self) -> bool:
        """Taken down or about to be: it has lost its widgets, whatever answer still reaches it."""
        return not self.display

    def show(self) -> None:
        """Refresh header and body; widgets repaint only the lines that changed."""
        if self.is_going or not self.is_mounted:
            return
        self._shown_at = self.cockpit.clock.monotonic()
        heading = [StatusSegment(self.heading, "accent", 1)] if self.heading else []
        if self.aside:
            heading.append(StatusSegment(self.aside, "accent", 4))
        forwards = [each for cluster in self.cockpit.clusters for each in cluster.port_forwards.open]
        if ports := [f":{forward.listener.port}" for forward in forwards]:
            heading.append(StatusSegment(f"forwards {' '.join(ports)}", "good", 3))
        self.query_one("#header", StatusLine).set_segments(
            *self.header(tuple(heading), self.cockpit.clock.now())
        )
        self.project()
        counts = counts_of(cluster.tab_counts.look() for cluster in self.cockpit.clusters)
        self.query_one("#tabs", TabLine).set_tabs(tabs(counts), self.tab)
        if self.app.screen is self:  # `is_current` holds for screens behind this one, too
            self.look_around()
            self.look_at_rights()
        self._show_seconds = self.cockpit.clock.monotonic() - self._shown_at

    # ---- keys that fall beside their field

    @property
    def typed_into(self) -> Widget | None:
        """Where one types, also while nothing has the focus; None where keys are commands."""
        line = self.query_one("#filter", FilterLine)
        return line if line.has_class("open") else None

    def on_key(self, event: events.Key) -> None:
        """A key came here and not to the field that one types into: the field was not there yet, or had lost
        the focus (the terminal tells that its window has none, and keys come all the same)."""
        if self.focused is None and self.is_mounted and (field := self.typed_into) is not None:
            self.set_focus(field)
        field = self.focused
        is_text = event.is_printable or event.key in EDITING_KEYS
        if is_text and isinstance(field, TextEntry):
            # what such a field has seen does not come up to here
            event.stop()
            event.prevent_default()
            field.post_message(events.Key(event.key, event.character))
        elif not self._has_key(event.key) and (sentence := why_not_here(event.key)):
            event.stop()
            self.say(sentence)

    def _has_key(self, key: str) -> bool:
        """Whether this screen, or what has the focus on it, does something by that key."""
        return any(key in bindings.key_to_bindings for _, bindings in self._binding_chain)

    # ---- keys that every place knows

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Capital keys are absent while read-only and barred where a right is missing; the way back is absent
        where there is none, `/` while one types."""
        if action in CHANGING and self.acting.cluster.is_read_only:
            return False
        if action == VERB and why_unsuited(self, str(parameters[0])):
            return False
        if action == VERB and missing_rights(self, str(parameters[0])):
            return None
        if action in BEFORE_TYPING and isinstance(self.focused, Input | TextEntry):
            return False
        if action in LEAVING and self.focused is None and self.typed_into is not None:
            return False
        return action != "back" or self.can_go_back

    @property
    def active_bindings(self) -> dict[str, ActiveBinding]:
        """Keys that verbs share are called by what they do to what is under the cursor."""
        return {key: self._as_meant(one) for key, one in super().active_bindings.items()}

    def _as_meant(self, found: ActiveBinding) -> ActiveBinding:
        is_verb = found.node is self and found.binding.action.startswith(VERB)
        label = label_of(self, found.binding.id or "") if is_verb else ""
        return found._replace(binding=replace(found.binding, description=label)) if label else found

    def why_not_now(self, action: str) -> str:
        """Why a key that only looks is barred on this screen, "" where none is."""
        return ""

    # ---- what is done to the cluster

    def thing(self, kind: str) -> Any | None:
        """What of that kind is under the cursor, or the page is about; None where nothing is."""
        return None

    @property
    def marked_count(self) -> int:
        """How many rows are marked."""
        return 0

    def marked_things(self, kind: str) -> tuple[Any, ...]:
        """What of that kind is marked."""
        return ()

    def meant(self, kind: str) -> tuple[Any, ...]:
        """What a verb is for: what is marked, else what is under the cursor."""
        if marked := self.marked_things(kind):
            return marked
        one = self.thing(kind)
        return () if one is None else (one,)

    def clear_marks(self) -> None:
        """Unmark every row, after what was marked for is done."""

    def say(self, sentence: str) -> None:
        """A small remark that changes nothing."""
        self.app.notify(sentence)

    def acted(self, outcome: Outcome) -> None:
        """A verb that began here has ended so."""
        if outcome.is_done:
            self.clear_marks()
        self.show()

    def look_at_rights(self) -> None:
        """What the keys mean has changed, or what is known of their rights."""
        self._key_rights.look()

    def action_verb(self, key: str) -> None:
        begin(self, key)

    def action_why(self) -> None:
        self.cockpit.inspect(self, "why")

    def action_logs(self) -> None:
        self.cockpit.inspect(self, "logs")

    def action_yaml(self) -> None:
        self.cockpit.inspect(self, "yaml")

    def action_describe(self) -> None:
        self.cockpit.inspect(self, "describe")

    def action_owners(self) -> None:
        self.cockpit.inspect(self, "owners")

    def action_copy(self) -> None:
        self.cockpit.inspect(self, "copy")

    def action_place(self, name: str) -> None:
        self.cockpit.go(name)

    def action_pick_namespace(self) -> None:
        self.cockpit.choose_namespace()

    def action_pick_context(self) -> None:
        self.cockpit.choose_context()

    def action_palette(self) -> None:
        self.cockpit.open_palette()

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
        self.app.push_screen(HelpDialog(self.help_entries(), barred_note="a right is missing"))

    def help_entries(self) -> tuple[HelpEntry, ...]:
        """Every key that works here now, from the bindings themselves."""
        return entries(self, lambda key: self.why_not_now(key) or why_barred(self, key))

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
        line.value = self.state.filter
        if self._recall_note:
            self.say(self._recall_note)
            self._recall_note = ""
            self.show()
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
        """Filter by that text from now on, or by what was saved under its `@name`; a name that is not known
        leaves the filter as it was."""
        found = recalled(text, self.saved_filters)
        self._recall_note = found.note
        self._keep(self.state if found.filter is None else replace(self.state, filter=found.filter))

    @property
    def saved_filters(self) -> Mapping[str, str]:
        """Filters of this list by their names."""
        return self.cockpit.kept_views.filters(self.kept_as)

    def action_save_filter(self) -> None:
        """Ask for a name, and keep the filter under it."""
        self.cockpit.spawn_foreground(self._save_filter, "filter")

    async def _save_filter(self) -> None:
        text = self.state.filter
        if name := await ask_name(self.app, self.noun, text, self.saved_filters):
            self.cockpit.kept_views.keep_filters(self.kept_as, {**self.saved_filters, name: text})
            self.say(f"saved: {MARK}{name} in the filter line stands for {text}")

    def action_use_filter(self, name: str) -> None:
        self.query_one("#filter", FilterLine).value = self.saved_filters.get(name, "")
        self.close_filter(clear=False)

    def action_forget_filter(self, name: str) -> None:
        left = {known: text for known, text in self.saved_filters.items() if known != name}
        self.cockpit.kept_views.keep_filters(self.kept_as, left)
        self.say(f"deleted: filter {MARK}{name}")

    def set_sort(self, column_id: str, *, descending: bool) -> None:
        """Sort by that column from now on, "" for the view's own order; the choice stays."""
        self._keep(replace(self.state, sort=column_id, descending=descending))

    def keep(self, state: ViewState) -> None:
        """Remember what is asked of this place."""
        self.cockpit.keep_state(self.kept_as, state)

    def _keep(self, state: ViewState) -> None:
        self.keep(state)
        self.show()

    def say_problem(self, sentence: str) -> None:
        """A mistake in the filter, told beneath it; the last good rows stay."""
        sentence = self._recall_note or sentence
        try:
            line = cast(Static, self.query_one("#problem"))
        except NoMatches:
            return
        if sentence != self._problem:
            self._problem = sentence
            line.set_class(bool(sentence), "open")
            line.update(plain(sentence))


def close_pages(app: App[Any]) -> None:
    """Back to the place, without its marks: they were made among other rows than come now."""
    while len(app.screen_stack) > 2:
        app.pop_screen()
    for screen in app.screen_stack:
        if isinstance(screen, Place):
            screen.clear_marks()
