"""A form made from field specifications, checked in place while one types."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from cockpit_widgets.form_fields import ChoiceField, Edited, ParagraphField
from cockpit_widgets.form_groups import FieldGroup, GroupHead
from cockpit_widgets.form_row import FieldRow
from cockpit_widgets.form_rules import faults, normal
from cockpit_widgets.form_words import FieldLabel, FormHelp
from cockpit_widgets.text import width_of
from cockpit_widgets.types import FieldSpec

_WIDEST_LABEL = 28
_WIDEST_GROUPED = 22
Summary = Callable[[str, Mapping[str, str]], str]
"""From the title of a section and all values to one line about the section."""
Check = Callable[[Mapping[str, str]], Mapping[str, str]]
"""From all values to a sentence for each field that cannot stay as it is."""


class Form(VerticalScroll, can_focus=False):
    """Fields one under the other. Tab, shift+tab, up and down move; enter submits, and ctrl+s from anywhere.

    A field says what is wrong with it once it was edited or left, and all say so when submitting is tried.
    Where the fields have groups they stand in sections, of which the one with the focus is open.
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
        Binding("pagedown", "group(1)", "next", priority=True),
        Binding("pageup", "group(-1)", "Section before", show=False, priority=True),
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
        summary: Summary = lambda _title, _values: "",
        check: Check = lambda _values: {},
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the word of every Textual widget
        classes: str | None = None,
    ) -> None:
        """`summary` tells a folded section, `check` the faults that are no matter of a field's kind alone."""
        super().__init__(name=name, id=id, classes=classes)
        self._summary, self._check = summary, check
        self._rows = self._make_rows(fields)
        self._groups = self._make_groups(self._rows)
        self._help = FormHelp()
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
        values = self.values
        checked = self._check(values)
        found = {**self._told, **faults(self.fields, values), **checked}
        return {row.spec.id: found[row.spec.id] for row in self._rows if row.spec.id in found}

    @property
    def required_left(self) -> tuple[int, int]:
        """How many of the required fields are empty, and how many there are."""
        needed = [row for row in self._rows if row.spec.required and row.spec.kind in ("text", "integer")]
        return sum(not row.editor.text.strip() for row in needed), len(needed)

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
            if row.editor is self.screen.focused:
                self._help.show(spec.help)
            self._show_faults()

    def set_errors(self, errors: Mapping[str, str]) -> None:
        """Show sentences that others found, such as a server; each goes when its field is edited."""
        self._told = {field_id: errors[field_id] for field_id in errors if self._has(field_id)}
        self._touched.update(self._told)
        self._show_faults()

    def focus_first(self) -> None:
        """Put the focus into the first field, at once: a later one would take it away from who tabbed on."""
        if self._rows:
            self._focus(self._rows[0])

    def focus_field(self, field_id: str) -> None:
        """Put the focus into that field, its section open. Raises KeyError for an unknown field."""
        self._focus(self._row(field_id))

    def compose(self) -> ComposeResult:
        yield from self._content()

    def _content(self) -> list[Widget]:
        return [*self._groups, self._help] if self._groups else [*self._rows]

    def on_mount(self) -> None:
        if self._groups and not any(group.is_open for group in self._groups):
            self._open(self._rows[0])
        self._show_faults()

    def _focus(self, row: FieldRow) -> None:
        """Its section first: what is not displayed loses the focus again."""
        self._open(row)
        self.screen.set_focus(row.editor)

    def _open(self, row: FieldRow) -> None:
        """Open the section of that row, and fold the others."""
        for group in self._groups:
            group.set_open(row in group.rows)
        self._show_heads(self.errors)

    @property
    def focused_field(self) -> FieldSpec | None:
        """The field that has the focus."""
        at = self._focused_at()
        return None if at is None else self._rows[at].spec

    def _focused_at(self) -> int | None:
        focused = self.screen.focused
        return next((at for at, row in enumerate(self._rows) if row.editor is focused), None)

    def action_move(self, by: int) -> None:
        """Leave the field up or down; at either end the focus stays."""
        at = self._focused_at()
        if at is not None and 0 <= at + by < len(self._rows):
            self._focus(self._rows[at + by])

    def action_group(self, by: int) -> None:
        """To the first field of the section below or above."""
        at = self._focused_at()
        here = next(
            (n for n, group in enumerate(self._groups) if at is not None and self._rows[at] in group.rows),
            None,
        )
        if here is not None and 0 <= here + by < len(self._groups):
            self._focus(self._groups[here + by].rows[0])

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Sections have their keys only where there are sections: else the form scrolls by them."""
        if action == "group" and not self._groups:
            return False
        return super().check_action(action, parameters)

    @on(GroupHead.Picked)
    def _on_head_picked(self, event: GroupHead.Picked) -> None:
        event.stop()
        self._focus(next(group for group in self._groups if group.title == event.title).rows[0])

    def action_submit(self) -> None:
        errors = self.errors
        self._touched.update(row.spec.id for row in self._rows)
        self._show_faults()
        if errors:
            self._focus(self._row(next(iter(errors))))
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
            self._help.show(row.spec.help)
            if row.spec.group:
                self._open(row)
            if not isinstance(row.editor, ParagraphField):
                row.scroll_visible(animate=False)

    def _show_faults(self) -> None:
        errors = self.errors
        for row in self._rows:
            shown = row.spec.id in self._touched
            row.set_fault(errors.get(row.spec.id, "") if shown else "")
        self._show_heads(errors)

    def _show_heads(self, errors: Mapping[str, str]) -> None:
        values = self.values if self._groups else {}
        for group in self._groups:
            wrong = sum(row.spec.id in errors and row.spec.id in self._touched for row in group.rows)
            group.head.show(self._summary(group.title, values), wrong, is_open=group.is_open)

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
        order = list(dict.fromkeys(spec.group for spec in specs))
        specs.sort(key=lambda spec: order.index(spec.group))
        widest = _WIDEST_GROUPED if any(order) else _WIDEST_LABEL if len(specs) > 1 else 2 * _WIDEST_LABEL
        width = min(widest, max((FieldLabel.least_width(spec) for spec in specs), default=0))
        return [FieldRow(spec, width) for spec in specs]

    @staticmethod
    def _make_groups(rows: Sequence[FieldRow]) -> list[FieldGroup]:
        """Sections in the order of their first fields; [] where no field has a group."""
        by_title: dict[str, list[FieldRow]] = {}
        for row in rows:
            if row.spec.group:
                by_title.setdefault(row.spec.group, []).append(row)
        width = max(map(width_of, by_title), default=0)
        return [FieldGroup(title, its, width) for title, its in by_title.items()]
