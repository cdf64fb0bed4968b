"""One row of a form: label, editor, and under them the help or what is wrong."""

from dataclasses import replace

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from cockpit_widgets.choice_list import ChoiceList
from cockpit_widgets.form_fields import ChoiceField, Editor, Listed, TextField, editor_for
from cockpit_widgets.form_words import FieldLabel, FieldNote
from cockpit_widgets.types import FieldSpec


class FieldRow(Vertical):
    """Label, editor, and under them the help or what is wrong."""

    DEFAULT_CSS = """
    FieldRow {
        height: auto;
        & > Horizontal { height: auto; }
        &.-brief > FieldNote { display: none; }
        &.-brief.-wrong > FieldNote { display: block; }
    }
    """

    def __init__(self, spec: FieldSpec, label_width: int) -> None:
        super().__init__()
        self.spec = spec
        self.editor: Editor = editor_for(spec)
        self._given = self.editor.text
        self.label = FieldLabel(spec, label_width)
        self.note = FieldNote(spec.help, label_width + 1)
        self.values = ChoiceList(label_width)
        self.set_class(bool(spec.group), "-brief")  # its help stands at the foot of the form

    def set_fault(self, sentence: str) -> None:
        """Say under the editor what is wrong; "" where nothing is."""
        self.set_class(bool(sentence), "-wrong")
        self.note.set_fault(sentence)

    def on_listed(self, event: Listed) -> None:
        """Under the editor: which values are left of the choices, and that what was typed finds none."""
        event.stop()
        if event.field is not self.editor:
            return
        self.values.show(event.found, event.field.text, is_active=event.is_active, missed=event.missed)

    def on_choice_list_taken(self, event: ChoiceList.Taken) -> None:
        event.stop()
        self.editor.put(event.value)

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
        yield self.values
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
