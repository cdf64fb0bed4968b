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

    def flow(self, width: int) -> list[Line]:
        return help_lines(self._entries, width)


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
        self._hints = [
            KeyHint("escape", "leave", 1, display="esc"),
            KeyHint("down", "scroll", 2, display="up/down"),
        ]
        if any(entry.dangerous for entry in entries):
            self._hints.append(KeyHint("", danger_note, 3, enabled=False, display=DANGER_GLYPH))
        if any(entry.barred for entry in entries):
            self._hints.append(KeyHint("", barred_note, 4, enabled=False, display=BARRED_GLYPH))
        self._text = HelpText(entries)

    def compose(self) -> ComposeResult:
        with DialogBox(self._title):
            yield self._text
            yield KeyFooter(self._hints)

    def on_resize(self) -> None:
        self._text.styles.max_height = body_lines(self.size.height)

    def on_mount(self) -> None:
        self._text.focus()

    def action_leave(self) -> None:
        self.dismiss(None)
