"""Questions that stand over the screen: yes or no, and one of many."""

from collections.abc import Sequence
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Input

from cockpit_widgets.calm_focus import CalmFocus
from cockpit_widgets.choices import ChoiceRows, box_cells, search
from cockpit_widgets.dialog_box import BOX_CSS, DialogBox, body_lines
from cockpit_widgets.flow_text import Paragraphs
from cockpit_widgets.key_footer import KeyFooter
from cockpit_widgets.line_input import LineInput
from cockpit_widgets.question import Question
from cockpit_widgets.resource_table import ResourceTable
from cockpit_widgets.text import plain, wrap
from cockpit_widgets.types import Cell, ChoiceItem, KeyHint

_MOST_CHOICES_SHOWN = 24
_LONGEST_LINE = 200
"""An equivalent command that is longer is folded until a key asks for all of it."""

_MOST_VERDICT_LINES = 8
_BOX_TEXT_CELLS = 70
"""Cells of the text in a dialog before it was laid out."""


class ConfirmDialog(CalmFocus, Question):
    """Show what would happen and ask. The default is no.

    Without `danger` enter says yes too. With `danger` only `y` or the confirm key says yes, and enter says
    which key that is. Escape and `n` say no.

    With `checking` the question is still being checked: a yes is noted, and counts once `settle` said so.
    Where that says no there is no yes any more.

    With `typed` yes is that text, typed, and enter: no single key says it.
    """

    DEFAULT_CSS = (
        "ConfirmDialog {"
        + BOX_CSS
        + """
        & .dialog--verdict { margin: 1 0 0 0; max-height: 8; }
        & Input { border: none; height: 1; padding: 0; margin: 1 0 0 0; background: $surface-lighten-1; }
        & Input:focus { border: none; }
        }"""
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "yes", "Yes", show=False),
        Binding("n,escape,q", "no", "No", show=False),
        Binding("enter", "enter", "Yes", show=False),
        Binding("up", "scroll_text(-1)", show=False),
        Binding("down", "scroll_text(1)", show=False),
        Binding("pageup", "scroll_text(-10)", show=False),
        Binding("pagedown", "scroll_text(10)", show=False),
        Binding("k", "unfold", "Whole lines", show=False),
    ]

    def __init__(
        self,
        title: str,
        lines: Sequence[str | Cell] = (),
        *,
        warnings: Sequence[str] = (),
        command: str = "",
        equivalents: Sequence[str] = (),
        danger: bool = False,
        confirm_key: str = "y",
        confirm_label: str = "yes",
        checking: str = "",
        typed: str = "",
    ) -> None:
        """`command` is the shell line that would do the same, `equivalents` those of other tools, folded
        where they are long and the screen has no room; `confirm_key` says yes as well as `y`;
        `checking` says what is waited for before a yes counts."""
        super().__init__()
        self._danger = danger
        self._confirm_key = confirm_key
        self._confirm_label = confirm_label
        self._is_checking = bool(checking)
        self._may_confirm = True
        self._has_said_yes = False
        self._box = DialogBox(title, danger=danger)
        self._typed = plain(typed)
        self._body = (lines, warnings, command, equivalents)
        self._is_folded, self._has_room = True, False
        self._text = Paragraphs(_paragraphs(*self._body, folds=self._folds))
        self._verdict_cell = Cell(checking, "dim")
        self._verdict = Paragraphs([self._verdict_cell], classes="dialog--verdict")
        self._line = LineInput(max_length=200)
        self._line.can_focus = bool(self._typed)  # else it would take the keys of a question without it
        self._keys = KeyFooter(self._hints())

    def compose(self) -> ComposeResult:
        with self._box:
            yield self._text
            yield self._verdict
            yield self._line
            yield self._keys

    def on_mount(self) -> None:
        self._ask_for_text()
        self._fit()

    def _ask_for_text(self) -> None:
        """The line stands there where a name has to be typed, and takes the keys then."""
        self._line.display = self._line.can_focus = bool(self._typed)
        self._line.placeholder = f"type {self._typed} to {self._confirm_label}"
        if self._typed:
            self.set_focus(self._line)

    def put(
        self,
        title: str,
        lines: Sequence[str | Cell] = (),
        *,
        warnings: Sequence[str] = (),
        command: str = "",
        equivalents: Sequence[str] = (),
        danger: bool = False,
        typed: str = "",
    ) -> None:
        """Ask about something else from now on: a yes that was noted for the former text is forgotten."""
        self._danger, self._has_said_yes = danger, False
        if plain(typed) != self._typed:
            self._typed, self._line.value = plain(typed), ""
            self._ask_for_text()
        self._box.set_title(title, danger=danger)
        self._body, self._is_folded = (lines, warnings, command, equivalents), True
        self._fit()
        self._text.scroll_home(animate=False)
        self.ask_anew()

    def settle(self, verdict: Cell, *, may_confirm: bool = True, keeps_yes: bool = True) -> None:
        """The check is over. With `may_confirm` a yes counts, also one that was noted where `keeps_yes`."""
        self._is_checking, self._may_confirm = False, may_confirm
        is_yes = self._has_said_yes and may_confirm and keeps_yes
        self._has_said_yes = False
        self._verdict_cell = verdict
        self._verdict.set_paragraphs([verdict])
        self._fit()
        if is_yes and self.is_current:
            self.dismiss(True)

    def _renew_keys(self, *, asked: bool = False) -> None:
        self._keys.set_hints(self._hints(asked=asked))

    @property
    def is_drawn(self) -> bool:
        return self._text.is_drawn or not any(self._body)  # some have a title alone

    def says_no(self, key: str) -> bool:
        return key == "escape" or (key in {"n", "q"} and not self._typed)

    def tell_blind(self) -> None:
        ahead = KeyHint("", "keys typed ahead do not count", 3, enabled=False)
        self._keys.set_hints([*self._hints(), ahead])

    def _hints(self, *, asked: bool = False) -> list[KeyHint]:
        if not self._may_confirm:
            return [KeyHint("escape", "leave", 1, display="esc")]
        if self._typed:
            label = f"{self._confirm_label} after the check" if self._has_said_yes else self._confirm_label
            found = [
                KeyHint("enter", label, 1, display=f"{self._typed} and enter"),
                KeyHint("escape", "no", 2, display="esc"),
            ]
            if asked:
                found.append(KeyHint("", "that is another name", 1, enabled=False))
            return found
        keys = "y" if self._confirm_key == "y" else f"y or {self._confirm_key}"
        if not self._danger:
            keys += " or enter"
        label = f"{self._confirm_label} after the check" if self._has_said_yes else self._confirm_label
        hints = [
            KeyHint(self._confirm_key, label, 1, display=keys),
            KeyHint("n", "no", 2, display="n or esc"),
        ]
        if not self._has_room and any(len(item) > _LONGEST_LINE for item in self._body[3]):
            hints.append(KeyHint("k", "whole lines" if self._is_folded else "fold lines", 4))
        if asked:
            hints.append(KeyHint("enter", "does not confirm this", 3, enabled=False))
        return hints

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        """The keys and what the check said stay on the screen; the text above them scrolls, and its commands
        are folded, where they have no room."""
        self._verdict.display = bool(self._verdict_cell.text)
        lines, width = 0, self._text.scrollable_content_region.width or _BOX_TEXT_CELLS
        if self._verdict_cell.text:
            lines = 1 + min(_MOST_VERDICT_LINES, len(wrap(self._verdict_cell.text, width)))
        lines += 2 * bool(self._typed)
        room = body_lines(self.size.height, lines)
        self._text.styles.max_height = room
        whole = _paragraphs(*self._body, folds=False)
        self._has_room = sum(len(wrap(cell.text, width)) for cell in whole) <= room
        self._text.set_paragraphs(_paragraphs(*self._body, folds=self._folds))
        self._renew_keys()

    @on(Input.Submitted)
    def _on_typed_line(self, event: Input.Submitted) -> None:
        event.stop()
        if event.value.strip() == self._typed or not self._may_confirm:
            self._say_yes()
        else:
            self._renew_keys(asked=True)

    def on_key(self, event: events.Key) -> None:
        if not self._typed and self._confirm_key in {event.key, event.character}:
            event.stop()
            self.action_yes()

    def action_yes(self) -> None:
        if not self._typed:
            self._say_yes()

    def _say_yes(self) -> None:
        if not self._may_confirm:
            return
        if self._is_checking:
            self._has_said_yes = True
            self._renew_keys()
        else:
            self.dismiss(True)

    def action_no(self) -> None:
        self.dismiss(False)

    def action_enter(self) -> None:
        if self._may_confirm and (self._danger or self._typed):
            self._renew_keys(asked=True)
        elif self._may_confirm:
            self.action_yes()
        else:
            self.dismiss(False)

    @property
    def _folds(self) -> bool:
        """Nothing is where the screen has room, and where a name is typed: the key is a letter of it."""
        return self._is_folded and not self._typed and not self._has_room

    def action_unfold(self) -> None:
        self._is_folded = not self._is_folded
        self._text.set_paragraphs(_paragraphs(*self._body, folds=self._folds))
        self._renew_keys()

    def action_scroll_text(self, lines: int) -> None:
        self._text.scroll_relative(y=lines, animate=False)


def _paragraphs(
    lines: Sequence[str | Cell],
    warnings: Sequence[str],
    command: str,
    equivalents: Sequence[str],
    *,
    folds: bool,
) -> list[Cell]:
    parts = [line if isinstance(line, Cell) else Cell(line) for line in lines]
    if warnings:
        parts += [Cell(""), *(Cell(f"▲ {warning}", "warn") for warning in warnings)]
    if command:
        parts += [Cell(""), Cell("The same from a shell:", "dim"), Cell(f"  {command}", "info")]
        shown = (_folded(item) if folds else item for item in equivalents)
        parts += [Cell(f"  {item}", "dim") for item in shown]
    return parts


def _folded(line: str) -> str:
    """Its two ends, where it is long."""
    if len(line) <= _LONGEST_LINE:
        return line
    return f"{line[: _LONGEST_LINE // 2]} … {line[-_LONGEST_LINE // 2 :]}"


class ChoiceDialog(CalmFocus, ModalScreen[str | None]):
    """One of many, found by typing. Gives the entry's value, or None when left by escape."""

    DEFAULT_CSS = (
        "ChoiceDialog {"
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
        Binding("pageup", "move(-10)", "Page up", show=False, priority=True),
        Binding("pagedown", "move(10)", "Page down", show=False, priority=True),
    ]
    SEARCH: ClassVar[type[LineInput]] = LineInput

    def __init__(
        self,
        title: str,
        items: Sequence[ChoiceItem | str],
        *,
        current: str = "",
        placeholder: str = "type to search",
        is_free: bool = False,
    ) -> None:
        """`current` is the value that is in force: it is marked and under the cursor at first. With `is_free`
        what was typed is the answer where no entry matches it."""
        super().__init__()
        self._title = title
        self._items = [item if isinstance(item, ChoiceItem) else ChoiceItem(item) for item in items]
        self._current = current
        self._is_free = is_free
        self._search = self.SEARCH(placeholder=placeholder)
        self._table = ResourceTable(self.rows(""), header=False)
        self._table.can_focus = False
        nothing = "Nothing matches." if items else "There is nothing to choose from."
        self._table.set_placeholder("Enter accepts your text." if is_free else nothing)

    def compose(self) -> ComposeResult:
        with DialogBox(self._title):
            yield self._search
            yield self._table
            yield KeyFooter(self.hints())

    def hints(self) -> list[KeyHint]:
        """The keys of the footer."""
        return [
            KeyHint("enter", "choose", 1, display="enter"),
            KeyHint("escape", "leave", 2, display="esc"),
            KeyHint("down", "move", 3, display="up/down"),
        ]

    def rows(self, words: str) -> ChoiceRows:
        """The entries that hold these words."""
        return ChoiceRows(search(self._items, words), (self._current,))

    def answer(self) -> str | None:
        """What enter gives; None where it is what was typed, or nothing."""
        return self._table.cursor_key

    def on_mount(self) -> None:
        self._search.focus()
        self.query_one(DialogBox).styles.width = box_cells(self._items)
        self._set_height()
        self.call_after_refresh(self._table.move_to, self._current)

    def on_resize(self) -> None:
        self._set_height()

    def _set_height(self) -> None:
        # As high as all entries, found or not: a dialog that jumps while one types cannot be read.
        room = body_lines(self.size.height, others=2)
        self._table.styles.height = max(1, min(len(self._items), room, _MOST_CHOICES_SHOWN))

    @on(Input.Changed)
    def _on_typed(self, event: Input.Changed) -> None:
        event.stop()
        self._table.set_source(self.rows(event.value))
        self._table.action_first()

    @on(Input.Submitted)
    def _on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if (answer := self.answer()) is not None:
            self.dismiss(answer)
        elif self._is_free and event.value.strip():
            self.dismiss(event.value.strip())

    @on(ResourceTable.RowActivated)
    def _on_row(self, event: ResourceTable.RowActivated) -> None:
        event.stop()
        self.dismiss(self.answer())

    def action_move(self, rows: int) -> None:
        self._table.action_cursor_by(rows)

    def action_leave(self) -> None:
        self.dismiss(None)
