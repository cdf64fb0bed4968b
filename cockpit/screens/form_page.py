"""A page with a form: keys are typed into it, none of the app acts, and leaving it with input asks."""

from typing import ClassVar

from cockpit_widgets import ConfirmDialog, Form, HelpDialog
from cockpit_widgets.types import HelpEntry
from textual.binding import BindingType
from textual.widget import Widget

from cockpit.screens.keymap import BEFORE_TYPING, LEAVING, at_once, bindings
from cockpit.screens.place import Place


class FormPage(Place):
    """Base of the screens with a `Form` called `fields`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("form.submit"),
        *at_once("form.help", "back"),
    ]

    brings_input: bool = False
    """What the form began with was typed by a person, in a form before this one."""
    _last_field: Widget | None = None

    @property
    def form(self) -> Form:
        return self.query_one("#fields", Form)

    @property
    def has_input(self) -> bool:
        """Whether something would be lost with the form."""
        return self.brings_input or any(item.is_edited for item in self.query(Form))

    @property
    def typed_into(self) -> Widget | None:
        """The field that was typed into last, wherever the focus is lost to."""
        return self._last_field if self.is_form_shown else None

    @property
    def is_form_shown(self) -> bool:
        """False while something else of this page stands in the place of the form."""
        return True

    def watch_focused(self, _before: Widget | None, focused: Widget | None) -> None:
        """Remember the field. Where the focus is lost (its widget was hidden) it comes back."""
        if focused is not None and any(isinstance(item, Form) for item in focused.ancestors):
            self._last_field = focused
        elif focused is None and self.app.app_focus:
            self.call_later(self.focus_form)

    def focus_form(self) -> None:
        """Give the keys back to the field that had them last, where nothing else has them."""
        field = self.typed_into
        if self.focused is None and field is not None and field.is_attached:
            self.set_focus(field)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """No key of the app acts here, with any focus."""
        if action in LEAVING | BEFORE_TYPING or action == "help":
            return False
        return super().check_action(action, parameters)

    def action_form_help(self) -> None:
        """The help of the field that has the focus, whole, and every key."""
        spec = self.form.focused_field
        told = () if spec is None or not spec.help else (HelpEntry(spec.label, spec.help, "This field"),)
        self.app.push_screen(HelpDialog((*told, *self.help_entries()), barred_note="a right is missing"))

    def action_back(self) -> None:
        """Leave; where something was typed, after asking."""
        if not self.has_input:
            self.dismiss(None)
            return
        dialog = ConfirmDialog(
            "Leave this form?", ("its input will be lost",), danger=True, confirm_label="leave"
        )
        self.app.push_screen(dialog, self._left)

    def _left(self, is_yes: bool | None) -> None:
        if is_yes:
            self.dismiss(None)
