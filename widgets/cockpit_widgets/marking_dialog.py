"""A choice of several entries, each marked by a key."""

from collections.abc import Collection, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from cockpit_widgets.choices import ChoiceRows, search
from cockpit_widgets.dialogs import ChoiceDialog
from cockpit_widgets.line_input import LineInput
from cockpit_widgets.types import ChoiceItem, KeyHint


class _WordInput(LineInput):
    """An input of one word: a space is left to the dialog."""

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        return key != "space" and super().check_consume_key(key, character)


class MarkingDialog(ChoiceDialog):
    """Some of many. Gives the values of the marked entries joined by commas, or None when left by escape.

    Where no mark was set or taken away it is the entry under the cursor, as in a plain choice. An entry
    without a value stands for all: to mark it takes every mark away.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "mark", "Mark", show=False, priority=True),
    ]
    SEARCH = _WordInput

    def __init__(
        self, title: str, items: Sequence[ChoiceItem], *, marks: Collection[str], is_free: bool = False
    ) -> None:
        """`marks` are the values marked at first; with `is_free` also what was typed is an answer."""
        self._marks = dict.fromkeys(marks)
        self._has_changed = False
        super().__init__(title, items, current=next(iter(marks), ""), is_free=is_free)

    def hints(self) -> list[KeyHint]:
        return [*super().hints(), KeyHint("space", "mark several", 1, display="space")]

    def rows(self, words: str) -> ChoiceRows:
        return ChoiceRows(search(self._items, words), self._marks)

    def answer(self) -> str | None:
        return ",".join(self._marks) if self._has_changed else super().answer()

    def action_mark(self) -> None:
        """Mark what is under the cursor, or take its mark away."""
        value = self._table.cursor_key
        if value is None:
            return
        self._has_changed = True
        if not value:
            self._marks.clear()
        elif value in self._marks:
            del self._marks[value]
        else:
            self._marks[value] = None
        self._table.set_source(self.rows(self._search.value))


class TogglingDialog(MarkingDialog):
    """Which of all, marked or not. Gives the values of the marked entries joined by commas, also where no
    mark was changed; enter behind a search changes the mark of the entry that was found."""

    def __init__(self, title: str, items: Sequence[ChoiceItem], *, marks: Collection[str]) -> None:
        super().__init__(title, items, marks=marks)

    def hints(self) -> list[KeyHint]:
        space = KeyHint("space", "mark", 1, display="space")
        return [*super().hints()[:-1], space]

    def answer(self) -> str | None:
        if self._table.cursor_key is None:
            return None
        if not self._has_changed and self._search.value.strip():
            self.action_mark()
        return ",".join(self._marks)
