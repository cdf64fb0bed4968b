"""A question with a note: one of a few answers, and a line of text that may stay empty."""

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Input

from cockpit_widgets.calm_focus import CalmFocus
from cockpit_widgets.choices import ChoiceRows
from cockpit_widgets.dialog_box import BOX_CSS, DialogBox
from cockpit_widgets.key_footer import KeyFooter
from cockpit_widgets.line_input import LineInput
from cockpit_widgets.resource_table import ResourceTable
from cockpit_widgets.types import ChoiceItem, KeyHint


class NoteDialog(CalmFocus, ModalScreen[tuple[str, str] | None]):
    """Type a note, choose with the arrows. Gives (value of the choice, note), None when left by escape."""

    DEFAULT_CSS = (
        "NoteDialog {"
        + BOX_CSS
        + """
        & Input { border: none; height: 1; padding: 0; margin: 0 0 1 0; background: $surface; }
        & Input:focus { border: none; }
        & ResourceTable > .resource-table--cursor-blurred { background: $primary 40%; text-style: bold; }
        &:ansi ResourceTable > .resource-table--cursor-blurred { text-style: reverse; }
    }
    """
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", show=False),
        Binding("up,ctrl+p", "move(-1)", "Up", show=False, priority=True),
        Binding("down,ctrl+n", "move(1)", "Down", show=False, priority=True),
    ]

    def __init__(
        self, title: str, items: Sequence[ChoiceItem], *, note: str = "", placeholder: str = "note"
    ) -> None:
        """`note` is what the line holds at first."""
        super().__init__()
        self._title = title
        self._items = tuple(items)
        self._line = LineInput(note, placeholder=placeholder, max_length=200)
        self._table = ResourceTable(ChoiceRows(list(self._items), ""), header=False)
        self._table.can_focus = False

    def compose(self) -> ComposeResult:
        with DialogBox(self._title):
            yield self._line
            yield self._table
            yield KeyFooter(
                [
                    KeyHint("enter", "choose", 1, display="enter"),
                    KeyHint("escape", "leave", 2, display="esc"),
                    KeyHint("down", "move", 3, display="up/down"),
                ]
            )

    def on_mount(self) -> None:
        self._table.styles.height = len(self._items)
        self._line.focus()

    @on(Input.Submitted)
    def _on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if self._table.cursor_key is not None:
            self.dismiss((self._table.cursor_key, event.value.strip()))

    @on(ResourceTable.RowActivated)
    def _on_row(self, event: ResourceTable.RowActivated) -> None:
        event.stop()
        self.dismiss((event.key, self._line.value.strip()))

    def action_move(self, rows: int) -> None:
        self._table.action_cursor_by(rows)

    def action_leave(self) -> None:
        self.dismiss(None)
