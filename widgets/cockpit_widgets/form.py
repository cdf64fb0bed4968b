"""A form made from field specifications, checked in place while one types."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from cockpit_widgets.form_fields import ChoiceField, Edited, Editor, ParagraphField, TextField, editor_for
from cockpit_widgets.form_rules import faults, normal
from cockpit_widgets.form_words import FieldLabel, FieldNote
from cockpit_widgets.types import FieldSpec

_WIDEST_LABEL = 28


class FieldRow(Vertical):
    """Label, editor, and under them the help or what is wrong."""

    DEFAULT_CSS = """
    FieldRow {
        height: auto;
        & > Horizontal { height: auto; }
    }
    """

    def __init__(self, spec: FieldSpec, label_width: int) -> None:
        super().__init__()
        self.spec = spec
        self.editor: Editor = editor_for(spec)
        self._given = self.editor.text
        self.label = FieldLabel(spec, label_width)
        self.note = FieldNote(spec.help, label_width + 1)

    @property
    def is_edited(self) -> bool:
        """Whether a person left another value than the one that was put there."""
        return self.editor.text != self._given

    def put(self, text: str) -> None:
        """Set the value from outside."""
        self.editor.put(text)
        self._given = self.editor.text

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield self.label
            yield self.editor
        yield self.note

    async def become(self, spec: FieldSpec) -> None:
        """Another kind, other choices or another help, in the same place; what was entered stays."""
        former, spec = self.editor, replace(spec, value=self.editor.text)
        was_edited = self.is_edited
        is_other = spec.kind != self.spec.kind
        self.spec = spec
        self.note.set_help(spec.help)
        if not is_other:
            if isinstance(former, (ChoiceField, TextField)):
                former.set_choices(spec.choices)
            return
        # Until it stands in the place of the former one, keys and Tab know only that: with two of them in the
        # row, a Tab went from one to the other, and what was typed meanwhile was lost.
        later = editor_for(spec)
        later.can_focus = False
        await self.query_one(Horizontal).mount(later, after=former)
        later.can_focus, self.editor = True, later
        if former.text != spec.value:
            later.put(former.text)
            was_edited = True
        if not was_edited:
            self._given = later.text
        if self.screen.focused is former:  # has_focus follows later, by a message
            self.screen.set_focus(later)
        former.can_focus = False
        await former.remove()


class Form(VerticalScroll, can_focus=False):
    """Fields one under the other. Tab, shift+tab, up and down move; enter submits, and ctrl+s from anywhere.

    A field says what is wrong with it once it was edited or left, and all say so when submitting is tried.
    """

    DEFAULT_CSS = """
    Form {
        height: 1fr;
        background: $background;
        padding: 0 1;
        scrollbar-size-vertical: 1;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        # before the field sees them, and at once: what is typed right behind a tab belongs to the next field
        Binding("tab", "move(1)", "Next field", show=False, priority=True),
        Binding("shift+tab", "move(-1)", "Previous field", show=False, priority=True),
        Binding("up", "move(-1)", "Field above", show=False),
        Binding("down", "move(1)", "Field below", show=False),
        Binding("enter", "submit", "submit", show=False),
        Binding("ctrl+s", "submit", "submit", id="form.submit"),
    ]

    @dataclass
    class Changed(Message):
        """A value changed; `errors` holds the sentence of every field that cannot stay as it is."""

        form: "Form"
        values: Mapping[str, str]
        errors: Mapping[str, str]

        @property
        def control(self) -> "Form":
            return self.form

    @dataclass
    class Submitted(Message):
        """The person submitted, and every field was right."""

        form: "Form"
        values: Mapping[str, str]

        @property
        def control(self) -> "Form":
            return self.form

    def __init__(
        self,
        fields: Sequence[FieldSpec] = (),
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the word of every Textual widget
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._rows = self._make_rows(fields)
        self._touched: set[str] = set()
        self._told: dict[str, str] = {}

    @property
    def fields(self) -> tuple[FieldSpec, ...]:
        """The fields from top to bottom."""
        return tuple(row.spec for row in self._rows)

    @property
    def values(self) -> Mapping[str, str]:
        """Every value as text by field id: blanks around trimmed, switches `true` or `false`."""
        return {row.spec.id: normal(row.spec, row.editor.text) for row in self._rows}

    @property
    def is_edited(self) -> bool:
        """Whether a person changed a value, and did not change it back."""
        return any(row.is_edited for row in self._rows)

    @property
    def errors(self) -> Mapping[str, str]:
        """One sentence for each field that cannot stay as it is, shown yet or not."""
        return {**self._told, **faults(self.fields, self.values)}

    async def set_fields(self, fields: Sequence[FieldSpec]) -> None:
        """Replace all fields; the first one takes the focus when the form had it."""
        had_focus = self.has_focus_within
        self._rows = self._make_rows(fields)
        self._touched.clear()
        self._told.clear()
        await self.remove_children()
        await self.mount_all(self._rows)
        if had_focus:
            self.focus_first()
        self.post_message(self.Changed(self, self.values, self.errors))

    def set_value(self, field_id: str, text: str) -> None:
        """Put a value into a field. Raises KeyError for an unknown field."""
        self._row(field_id).put(text)

    def set_choices(self, field_id: str, choices: tuple[str, ...]) -> None:
        """Offer other values in a choice field; the value stays. Raises KeyError for an unknown field."""
        row = self._row(field_id)
        row.spec = FieldSpec(
            **{name: getattr(row.spec, name) for name in FieldSpec.__slots__} | {"choices": choices}
        )
        if isinstance(row.editor, ChoiceField):
            row.editor.set_choices(choices)
        self._show_faults()

    async def change_field(self, spec: FieldSpec) -> None:
        """Make another field of one that is there; value and focus stay. Raises KeyError for a new one."""
        row = self._row(spec.id)
        if replace(row.spec, value="") != replace(spec, value=""):
            await row.become(spec)
            self._show_faults()

    def set_errors(self, errors: Mapping[str, str]) -> None:
        """Show sentences that others found, such as a server; each goes when its field is edited."""
        self._told = {field_id: errors[field_id] for field_id in errors if self._has(field_id)}
        self._touched.update(self._told)
        self._show_faults()

    def focus_first(self) -> None:
        """Put the focus into the first field, at once: a later one would take it away from who tabbed on."""
        if self._rows:
            self.screen.set_focus(self._rows[0].editor)

    def compose(self) -> ComposeResult:
        yield from self._rows

    def action_move(self, by: int) -> None:
        """Leave the field up or down; at either end the focus stays."""
        focused = self.screen.focused
        at = next((at for at, row in enumerate(self._rows) if row.editor is focused), None)
        if at is not None and 0 <= at + by < len(self._rows):
            self.screen.set_focus(self._rows[at + by].editor)

    def action_submit(self) -> None:
        errors = self.errors
        self._touched.update(row.spec.id for row in self._rows)
        self._show_faults()
        if errors:
            self.screen.set_focus(self._row(next(iter(errors))).editor)
        else:
            self.post_message(self.Submitted(self, self.values))

    @on(Input.Submitted)
    def _on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_submit()

    @on(Edited)
    def _on_edited(self, event: Edited) -> None:
        event.stop()
        row = self._row_of(event.editor)
        if row is None:
            return
        self._touched.add(row.spec.id)
        self._told.pop(row.spec.id, None)
        self._show_faults()
        self.post_message(self.Changed(self, self.values, self.errors))

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        row = self._row_of(event.widget)
        if row is not None:
            row.label.set_active(False)
            self._touched.add(row.spec.id)
            self._show_faults()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        row = self._row_of(event.widget)
        if row is not None:
            row.label.set_active(True)
            if not isinstance(row.editor, ParagraphField):
                row.scroll_visible(animate=False)

    def _show_faults(self) -> None:
        errors = self.errors
        for row in self._rows:
            shown = row.spec.id in self._touched
            row.note.set_fault(errors.get(row.spec.id, "") if shown else "")

    def _has(self, field_id: str) -> bool:
        return any(row.spec.id == field_id for row in self._rows)

    def _row(self, field_id: str) -> FieldRow:
        for row in self._rows:
            if row.spec.id == field_id:
                return row
        raise KeyError(field_id)

    def _row_of(self, editor: Widget) -> FieldRow | None:
        return next((row for row in self._rows if row.editor is editor), None)

    @staticmethod
    def _make_rows(fields: Iterable[FieldSpec]) -> list[FieldRow]:
        specs = list(fields)
        widest = _WIDEST_LABEL if len(specs) > 1 else 2 * _WIDEST_LABEL
        width = min(widest, max((FieldLabel.least_width(spec) for spec in specs), default=0))
        return [FieldRow(spec, width) for spec in specs]
