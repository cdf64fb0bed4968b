"""One line of text whose editing keys act at once."""

from collections.abc import Callable, Mapping

from textual import events
from textual.geometry import Size
from textual.reactive import Reactive
from textual.widgets import Input

_EDITS: Mapping[str, Callable[[Input], None]] = {
    "backspace": Input.action_delete_left,
    "delete": Input.action_delete_right,
    "left": Input.action_cursor_left,
    "right": Input.action_cursor_right,
    "home": Input.action_home,
    "ctrl+a": Input.action_home,
    "end": Input.action_end,
    "ctrl+e": Input.action_end,
    "ctrl+u": Input.action_delete_left_all,
    "ctrl+k": Input.action_delete_right_all,
    "ctrl+w": Input.action_delete_left_word,
}

EDITING_KEYS = frozenset(_EDITS)
"""Keys with which a person edits a line in any kind of field: a field takes them itself,
or they would act in the field that has the focus once they have bubbled through."""


class TextEntry:
    """Mixin of the widgets that a person types into: a screen knows them without importing them all."""


def joined_lines(text: str) -> tuple[str, int]:
    """Pasted text as one line, and how many lines it had: continued lines of a shell (a backslash at their
    end) and any others are joined by a space, empty ones are left out."""
    lines = [line.strip() for line in text.splitlines()]
    parts = [line[:-1].rstrip() if line.endswith("\\") else line for line in lines]
    kept = [part for part in parts if part]
    return " ".join(kept), len(kept)


class LineInput(Input, TextEntry):
    """An `Input` that edits in the order in which keys were pressed.

    Textual puts a character in when the field sees it, but runs a binding only after the key has bubbled
    through every queue up to the app, and then for the widget that has the focus by then. On a slow machine
    or a slow link a backspace would fall behind the characters typed after it, or into the next field.

    Its place does not depend on its text, so a character moves nothing else: Textual lays out the whole
    screen again for each. Its cursor stands still: one that blinks sends bytes for as long as a form is open.
    """

    cursor_blink = Reactive(False, init=False)
    virtual_size = Reactive(Size(0, 0))

    def on_key(self, event: events.Key) -> None:
        edit = _EDITS.get(event.key)
        if edit is not None:
            event.stop()
            event.prevent_default()
            edit(self)

    def on_paste(self, event: events.Paste) -> None:
        """Join several lines, and say so: Textual's own field takes the first and drops the rest."""
        event.stop()
        event.prevent_default()
        text, count = joined_lines(event.text)
        self.replace(text, *self.selection)
        if count > 1:
            self.app.notify(f"{count} pasted lines joined into one")
