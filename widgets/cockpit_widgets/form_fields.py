"""The editors of a form: one line of text, a choice, a switch, several lines. Each posts `Edited`."""

from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.text import Text
from textual import events, on
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.suggester import SuggestFromList
from textual.widget import Widget
from textual.widgets import Input, TextArea

from cockpit_widgets.form_rules import NO, YES
from cockpit_widgets.line_input import EDITING_KEYS, LineInput, TextEntry
from cockpit_widgets.one_line import ONE_LINE_CSS, OneLine
from cockpit_widgets.palette import TONE_CLASSES
from cockpit_widgets.text import cut, plain
from cockpit_widgets.types import FieldSpec

_EDITOR_CSS = """
    background: $surface;
    width: 1fr;
    padding: 0 1;
    &:focus { background: $primary 30%; }
    &:ansi:focus { background: ansi_default; text-style: reverse; }
"""


@dataclass
class Edited(Message):
    """The person changed the text of an editor."""

    editor: Widget
    text: str


def _suggestions(choices: tuple[str, ...]) -> SuggestFromList | None:
    return SuggestFromList(choices) if choices else None


class TextField(LineInput):
    """One line of text or a number."""

    DEFAULT_CSS = """
    TextField.-textual-compact {
        background: $surface;
        width: 1fr;
        padding: 0 1;
        &:focus { border: none; background: $primary 30%; background-tint: transparent; }
        &:ansi:focus { background: ansi_default; text-style: underline; }
    }
    """

    def __init__(self, spec: FieldSpec) -> None:
        super().__init__(
            compact=True, select_on_focus=spec.kind == "integer", suggester=_suggestions(spec.choices)
        )
        # Set without its watchers: they want a running app, and a form may be made before there is one.
        self.set_reactive(TextField.value, plain(spec.value))

    def validate_value(self, value: str) -> str:
        """Pasted text may hold anything."""
        return plain(value)

    def on_mount(self) -> None:
        self.cursor_position = len(self.value)

    @property
    def text(self) -> str:
        return self.value

    def put(self, text: str) -> None:
        """Set the text from outside. Where a person is about to type, what is typed takes its place."""
        self.value = text
        if self.is_mounted and self.screen.focused is self:
            self.select_all()

    def set_choices(self, choices: tuple[str, ...]) -> None:
        """Complete to one of these from now on, with `right` at the end of what was typed."""
        self.suggester = _suggestions(choices)

    @on(Input.Changed)
    def _tell(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(Edited(self, event.value))


class ParagraphField(TextArea, TextEntry):
    """Several lines of text; up on the first line and down on the last one leave the field."""

    DEFAULT_CSS = """
    ParagraphField.-textual-compact {
        background: $surface;
        width: 1fr;
        height: auto;
        min-height: 3;
        max-height: 8;
        padding: 0 1;
        &:focus { border: none; background: $primary 30%; }
        & .text-area--cursor-line { background: transparent; }
    }
    """

    def __init__(self, spec: FieldSpec) -> None:
        super().__init__(spec.value, compact=True, soft_wrap=True, highlight_cursor_line=False)
        self.cursor_blink = False

    def put(self, text: str) -> None:
        """Set the text from outside."""
        self.text = text

    def get_line(self, line_index: int) -> Text:
        """The line as it is drawn: what cannot be printed shows as a dot, character for character."""
        line = super().get_line(line_index)
        if not line.plain.replace("\t", " ").isprintable():
            line.plain = "".join(char if char.isprintable() or char == "\t" else "·" for char in line.plain)
        return line

    def action_cursor_up(self, select: bool = False) -> None:
        if self.cursor_at_first_line and not select:
            self.screen.focus_previous()
        else:
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        if self.cursor_at_last_line and not select:
            self.screen.focus_next()
        else:
            super().action_cursor_down(select)

    @on(TextArea.Changed)
    def _tell(self, event: TextArea.Changed) -> None:
        event.stop()
        self.post_message(Edited(self, self.text))


class Listed(Message):
    """The values `found` by what is typed into a field with choices; () once it is left.

    `is_active`: arrows move in them. `missed` is what was typed and finds none.
    """

    def __init__(
        self, field: "ChoiceField", found: tuple[str, ...] = (), *, is_active: bool = False, missed: str = ""
    ) -> None:
        super().__init__()
        self.field, self.found, self.is_active, self.missed = field, found, is_active, missed

    @property
    def control(self) -> "ChoiceField":
        """The field."""
        return self.field


class ChoiceField(OneLine, TextEntry, can_focus=True):
    """One of several values, which are listed while it has the focus: left and right step, home and end take
    the first and the last. Typing narrows the list; then, and after space, up and down move in it, enter
    takes the value and esc leaves the former one. Keys that would edit a line forget what was typed."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"choice-field--typed", *TONE_CLASSES}
    DEFAULT_CSS = (
        "ChoiceField {"
        + ONE_LINE_CSS
        + _EDITOR_CSS
        + "& > .choice-field--typed { color: $text-accent; text-style: bold underline; } }"
    )

    def __init__(self, spec: FieldSpec) -> None:
        super().__init__()
        self._choices = spec.choices
        self._text = spec.value or (spec.choices[0] if spec.choices and spec.required else "")
        self._typed = ""
        self._is_listed = False
        self._former: str | None = None  # the value before the list was moved in; None while it is not

    @property
    def text(self) -> str:
        return self._text

    @property
    def choices(self) -> tuple[str, ...]:
        """All values that are offered."""
        return self._choices

    def put(self, text: str) -> None:
        """Set the value from outside."""
        self._take(text)

    def set_choices(self, choices: tuple[str, ...]) -> None:
        """Offer these values from now on; the value stays, also when it is no longer offered."""
        self._choices = choices
        self._list()
        self.refresh()

    def on_focus(self) -> None:
        self._is_listed = True
        self._list()

    def on_blur(self) -> None:
        self._is_listed = False
        self._leave()
        self.post_message(Listed(self))

    def on_click(self) -> None:
        self._enter()

    def on_key(self, event: events.Key) -> None:
        is_text = event.character is not None and event.is_printable
        moves = self._former is not None and event.key in ("up", "down", "enter", "escape")
        if not is_text and not moves and event.key not in EDITING_KEYS:
            return
        event.stop()
        event.prevent_default()
        match event.key:
            case "left" | "right":
                self._step(self._choices, -1 if event.key == "left" else 1)
            case "up" | "down":
                self._step(self._matches(self._typed), -1 if event.key == "up" else 1, keep=True)
            case "home" | "ctrl+a" | "end" | "ctrl+e":
                if self._choices:
                    self._take(self._choices[0 if event.key in ("home", "ctrl+a") else -1])
            case "space":
                self._enter()
            case "escape":
                self._take(self._former or "")
            case _ if event.character is not None and is_text:
                self._find(event.character)
            case _:
                self._leave()

    def _enter(self) -> None:
        """Arrows move in the list from now on."""
        if self._former is None and self._choices:
            self._former = self._text
        self._list()

    def _leave(self) -> None:
        """The value is taken, and what was typed forgotten."""
        self._typed, self._former = "", None
        self._list()
        self.refresh()

    def _list(self, missed: str = "") -> None:
        if self._is_listed:
            found, is_active = self._matches(self._typed), self._former is not None
            self.post_message(Listed(self, found, is_active=is_active, missed=missed))

    def _step(self, values: tuple[str, ...], by: int, *, keep: bool = False) -> None:
        if not values:
            return
        at = values.index(self._text) + by if self._text in values else min(0, -by)
        value = values[at % len(values)]
        if not keep:
            self._take(value)
            return
        self._set(value)
        self._list()

    def _find(self, character: str) -> None:
        """The value that begins with, or holds, what was typed and this; else what this alone finds."""
        for typed in (self._typed + character, character):
            found = self._matches(typed)
            if found:
                self._former = self._text if self._former is None else self._former
                self._typed = typed
                self._set(found[0])
                self._list()
                return
        self._list(self._typed + character)

    def _matches(self, typed: str) -> tuple[str, ...]:
        """Values that begin with it, then those that hold it."""
        wanted = typed.lower()
        begins = [choice for choice in self._choices if choice.lower().startswith(wanted)]
        holds = [choice for choice in self._choices if wanted in choice.lower()]
        return tuple(dict.fromkeys((*begins, *holds)))

    def _take(self, text: str) -> None:
        self._set(text)
        self._leave()

    def _set(self, text: str) -> None:
        changed = text != self._text
        self._text = text
        self.refresh()
        if changed:
            self.post_message(Edited(self, text))

    def segments(self, width: int) -> list[Segment]:
        dim = self.palette.tone("dim")
        if not self._choices and not self._text:
            return [Segment(cut("no choices", width), dim)]
        count = len(self._choices)
        at = self._choices.index(self._text) + 1 if self._text in self._choices else 0
        note = f"  {at or '-'}/{count}"
        text = cut(self._text, max(1, width - 4 - len(note)))
        out = [Segment("◂ ", dim)]
        if not text:
            return [*out, Segment(f"none ▸{note}", dim)]
        start = text.lower().find(self._typed.lower()) if self._typed else -1
        if start >= 0:
            stop = start + len(self._typed)
            out += [
                Segment(text[:start], self.palette.style()),
                Segment(text[start:stop], self.palette.style("choice-field--typed")),
                Segment(text[stop:], self.palette.style()),
            ]
        else:
            out.append(Segment(text, self.palette.style()))
        out += [Segment(" ▸", dim), Segment(note, dim)]
        return [segment for segment in out if segment.text]


class SwitchField(OneLine, can_focus=True):
    """Yes or no: space, left and right turn it, y and n set it."""

    DEFAULT_CSS = "SwitchField {" + ONE_LINE_CSS + _EDITOR_CSS + "}"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space,left,right", "turn", "Turn", show=False),
        Binding("y", "set(True)", "Yes", show=False),
        Binding("n", "set(False)", "No", show=False),
    ]

    def __init__(self, spec: FieldSpec) -> None:
        super().__init__()
        self._on = spec.value == YES

    @property
    def text(self) -> str:
        return YES if self._on else NO

    def put(self, text: str) -> None:
        """Set the value from outside: `true` or anything else."""
        self.action_set(text == YES)

    def action_turn(self) -> None:
        self.action_set(not self._on)

    def action_set(self, on: bool) -> None:
        if on != self._on:
            self._on = on
            self.refresh()
            self.post_message(Edited(self, self.text))

    def on_key(self, event: events.Key) -> None:
        """Its keys act at once; others that edit a line do nothing here, nor in the next field."""
        turns = event.key in ("space", "left", "right")
        if not turns and event.key not in ("y", "n") and event.key not in EDITING_KEYS:
            return
        event.stop()
        event.prevent_default()
        if turns:
            self.action_turn()
        elif event.key in ("y", "n"):
            self.action_set(event.key == "y")

    def on_click(self) -> None:
        self.action_turn()

    def segments(self, width: int) -> list[Segment]:
        box, word = ("[x]", "yes") if self._on else ("[ ]", "no")
        tone = self.palette.tone("good") if self._on else self.palette.tone("dim")
        return [Segment(f"{box} ", tone), Segment(word, self.palette.style())]


Editor = TextField | ParagraphField | ChoiceField | SwitchField


def editor_for(spec: FieldSpec) -> Editor:
    """A new editor of the field's kind."""
    if spec.kind == "choice":
        return ChoiceField(spec)
    if spec.kind == "switch":
        return SwitchField(spec)
    if spec.kind == "multiline":
        return ParagraphField(spec)
    return TextField(spec)
