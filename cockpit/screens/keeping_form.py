"""A form whose values outlive it: the draft that was left, presets, last values, an own template."""

import os
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from cockpit_widgets import ChoiceDialog

from cockpit.errors import BadInput
from cockpit.jobs.template import Template, with_defaults
from cockpit.local_state.paths import config_folder, write_private
from cockpit.screens.form_page import FormPage
from cockpit.screens.form_presets import TEMPLATE, loaded, name_fault, preset_items


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
