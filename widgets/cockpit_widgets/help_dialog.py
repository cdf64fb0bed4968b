"""The help that stands over the screen."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from cockpit_widgets.calm_focus import CalmFocus
from cockpit_widgets.dialog_box import BOX_CSS, DialogBox, body_lines
from cockpit_widgets.flow_text import FLOW_CSS, FlowText
from cockpit_widgets.glyphs import BARRED_GLYPH
from cockpit_widgets.help_layout import DANGER_GLYPH, help_lines
from cockpit_widgets.key_footer import KeyFooter
from cockpit_widgets.types import HelpEntry, KeyHint, Line


class HelpText(FlowText, can_focus=True):
    """The entries of the help in columns."""

    DEFAULT_CSS = "HelpText {" + FLOW_CSS + "}"

    def __init__(self, entries: Sequence[HelpEntry]) -> None:
        super().__init__()
        self._entries = tuple(entries)
        self._most_lines = 0

    def fit_lines(self, most: int) -> None:
        """At most that many lines are shown; what is longer scrolls."""
        if most != self._most_lines:
            self._most_lines = most
            self.styles.max_height = most
            self.reflow()

    def flow(self, width: int) -> list[Line]:
        return help_lines(self._entries, width, self._most_lines)


class HelpDialog(CalmFocus, ModalScreen[None]):
    """Keys and what they do, in columns by group; scrolls when it is long."""

    DEFAULT_CSS = (
        "HelpDialog {" + BOX_CSS + "& > .dialog--box { width: 96%; max-width: 240; padding: 1 2 0 2; } }"
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,enter", "leave", "Leave", show=False),
    ]

    def __init__(
        self,
        entries: Sequence[HelpEntry],
        title: str = "Keys",
        *,
        danger_note: str = "changes the cluster",
        barred_note: str = "not available now",
    ) -> None:
        """The notes say what the marks beside a dangerous key and a barred one mean."""
        super().__init__()
        self._title = title
        self._hints = [KeyHint("escape", "leave", 1, display="esc")]
        if any(entry.dangerous for entry in entries):
            self._hints.append(KeyHint("", danger_note, 3, enabled=False, display=DANGER_GLYPH))
        if any(entry.barred for entry in entries):
            self._hints.append(KeyHint("", barred_note, 4, enabled=False, display=BARRED_GLYPH))
        self._text = HelpText(entries)
        self._footer = KeyFooter(self._hints)

    def compose(self) -> ComposeResult:
        with DialogBox(self._title):
            yield self._text
            yield self._footer

    def on_resize(self) -> None:
        self._text.fit_lines(body_lines(self.size.height))
        self.call_after_refresh(self._say_below)

    def on_mount(self) -> None:
        self._text.focus()
        for changing in ("scroll_y", "virtual_size"):
            self.watch(self._text, changing, self._say_below)

    def _say_below(self) -> None:
        """At the foot of the frame how much more there is, where it scrolls at all."""
        most, below = self._text.max_scroll_y, self._text.max_scroll_y - self._text.scroll_offset.y
        words = f"{below} more {'line' if below == 1 else 'lines'}" if below else "the end"
        self.query_one(DialogBox).border_subtitle = words if most else ""
        scroll = KeyHint("down", "scroll", 2, display="up/down")
        self._footer.set_hints([*self._hints, scroll] if most else self._hints)

    def action_leave(self) -> None:
        self.dismiss(None)
