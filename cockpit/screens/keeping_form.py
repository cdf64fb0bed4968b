"""A form whose values outlive it: the draft that was left, presets, last values, an own template."""

import os
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Final

from cockpit_widgets import ChoiceDialog
from cockpit_widgets.types import ChoiceItem

from cockpit.errors import BadInput
from cockpit.jobs.template import Template, with_defaults
from cockpit.local_state.kept_forms import FormValues
from cockpit.local_state.paths import config_folder, write_private
from cockpit.screens.form_page import FormPage

EMPTY: Final = "=empty"
LAST: Final = "=last"
TEMPLATE: Final = "=template"
_PRESET: Final = "=preset "
_LONGEST_NAME: Final = 40
_MOST_TOLD: Final = 4


def preset_items(kept: FormValues) -> list[ChoiceItem]:
    """What can be chosen for a form: presets by name, the last values, defaults alone, a new template."""
    items = [ChoiceItem(f"{_PRESET}{name}", name, _told(values)) for name, values in kept.presets.items()]
    if kept.last:
        items.append(ChoiceItem(LAST, "last values", _told(kept.last)))
    items.append(ChoiceItem(EMPTY, "start empty", "every field at its default"))
    items.append(ChoiceItem(TEMPLATE, "save as template", "a file with these values as its defaults"))
    return items


def loaded(kept: FormValues, chosen: str) -> Mapping[str, str] | None:
    """The values of what was chosen; None where that is the name of a new preset."""
    if chosen == EMPTY:
        return {}
    if chosen == LAST:
        return kept.last
    return kept.presets.get(chosen.removeprefix(_PRESET)) if chosen.startswith(_PRESET) else None


def name_fault(name: str) -> str:
    """Why a preset cannot have this name, "" where it can."""
    if name.startswith("=") or not name.isprintable():
        return f"{name!r} is no name of a preset: begin with a letter or a digit"
    return "" if len(name) <= _LONGEST_NAME else f"a preset's name has at most {_LONGEST_NAME} characters"


def _told(values: Mapping[str, str]) -> str:
    shown = [f"{name}={text}" for name, text in values.items() if name != "name"][:_MOST_TOLD]
    return " ".join(shown)


class KeepingForm(FormPage):
    """Base of the forms of a template."""

    keeps_values: ClassVar[bool] = True
    """False where the values are those of one object, and no draft of another."""

    @property
    @abstractmethod
    def template(self) -> Template:
        """What the form fills in."""

    @abstractmethod
    def own_values(self) -> dict[str, str]:
        """Values by parameter that a person chose: neither a default nor what follows from the cluster."""

    @abstractmethod
    def load_values(self, values: Mapping[str, str]) -> None:
        """Fill the form with these, every other field with its default."""

    def keep_draft(self) -> None:
        """Keep what was typed, where the form goes with its app."""
        if self.keeps_values and self.has_input:
            self.cockpit.kept_forms.keep_draft(self.template.name, self.own_values())

    def action_back(self) -> None:
        """Leave; what was typed comes back with the next form."""
        if not self.keeps_values:
            super().action_back()
            return
        values = self.own_values() if self.has_input else {}
        kept = self.cockpit.kept_forms
        kept.keep_draft(self.template.name, values)
        if values:
            words = f"draft kept until the end: {kept.note}" if kept.note else "draft kept: N brings it back"
            self.app.notify(words, severity="warning" if kept.note else "information")
        self.dismiss(None)

    def action_presets(self) -> None:
        """Load values, or keep those of the form under a name that is typed."""
        items = preset_items(self.cockpit.kept_forms.of(self.template.name))
        placeholder = "choose, or type a name to keep these values"
        dialog = ChoiceDialog(f"Values of {self.template.name}", items, placeholder=placeholder, is_free=True)
        self.app.push_screen(dialog, self._preset_chosen)

    def _preset_chosen(self, chosen: str | None) -> None:
        if chosen is None:
            return
        kept = self.cockpit.kept_forms
        if chosen == TEMPLATE:
            dialog = ChoiceDialog("Save as template", (), placeholder="name of the template", is_free=True)
            self.app.push_screen(dialog, self._save_template)
        elif (values := loaded(kept.of(self.template.name), chosen)) is not None:
            self.load_values(values)
        elif fault := name_fault(chosen):
            self.say(fault)
        else:
            kept.keep_preset(self.template.name, chosen, self.own_values())
            self.say(f"preset {chosen} kept: F4 loads it" if not kept.note else kept.note)

    def _save_template(self, name: str | None) -> None:
        if name is None:
            return
        source = self.template.source
        folders = self.cockpit.template_folders
        folder = next(iter(folders), config_folder(os.environ) / "templates")
        path = folder / f"{name}.yaml"
        values = {key: text for key, text in self.own_values().items() if key not in ("name", "engine")}
        try:
            if path.exists():
                raise BadInput(f"{path} already exists: choose another name")
            write_private(path, with_defaults(Path(source).read_text(encoding="utf-8"), source, name, values))
        except BadInput as error:
            self.say(error.sentence)
        except OSError as error:
            self.say(f"{path} cannot be written: {error.strerror}")
        else:
            hint = "" if folders else f'; add template-folders = ["{folder}"] to the configuration'
            self.say(f"template {name} saved in {path}{hint}")
