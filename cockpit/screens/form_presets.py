"""Values that a form is loaded with: presets, the last ones, none; and where values are kept. `F4`."""

from collections.abc import Mapping
from typing import Final

from cockpit_widgets.types import ChoiceItem

from cockpit.local_state.kept_forms import FormValues

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
