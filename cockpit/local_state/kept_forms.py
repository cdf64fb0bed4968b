"""What forms were filled in with, by template: drafts, the values submitted last, presets."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from cockpit.local_state.state import keep_json, kept_json
from cockpit.mask import mask_value

_LARGEST_BYTES: Final = 256 * 1024
_MOST_TEMPLATES: Final = 50
_MOST_PRESETS: Final = 50
Texts = dict[str, str]


class FormValues(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Values by parameter; `presets` by their names."""

    draft: Texts = {}
    last: Texts = {}
    presets: dict[str, Texts] = {}


class KeptForms:
    """The file of filled-in values, without secrets: a value that holds one is kept with its mark.

    Without a path, values are kept until the end of the run. `note` says why the file was not read or written
    last; "" where it was.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.note = ""
        self._by_template: dict[str, FormValues] = {}
        if path is not None:
            kept, self.note = kept_json(path, _LARGEST_BYTES, dict[str, FormValues], "saved values")
            self._by_template = kept or {}

    def of(self, template: str) -> FormValues:
        """What is kept for a template; empty where nothing is."""
        return self._by_template.get(template, FormValues())

    @property
    def latest_draft(self) -> tuple[str, FormValues] | None:
        """(template, its values) of the draft that was left last; None where there is none."""
        newest_first = reversed(self._by_template.items())
        return next(((name, kept) for name, kept in newest_first if kept.draft), None)

    def keep_draft(self, template: str, values: Mapping[str, str]) -> None:
        """Keep what was typed; {} drops the draft."""
        kept = self.of(template)
        self._put(template, msgspec.structs.replace(kept, draft=_masked(values)))

    def keep_last(self, template: str, values: Mapping[str, str]) -> None:
        """Keep what was submitted; the draft is done with."""
        self._put(template, msgspec.structs.replace(self.of(template), last=_masked(values), draft={}))

    def keep_preset(self, template: str, name: str, values: Mapping[str, str]) -> None:
        """Keep values under a name; the oldest preset goes where there are too many."""
        presets = {**self.of(template).presets, name: _masked(values)}
        while len(presets) > _MOST_PRESETS:
            presets.pop(next(iter(presets)))
        self._put(template, msgspec.structs.replace(self.of(template), presets=presets))

    def _put(self, template: str, kept: FormValues) -> None:
        if kept == self.of(template):
            return
        self._by_template.pop(template, None)
        self._by_template[template] = kept
        while len(self._by_template) > _MOST_TEMPLATES:
            self._by_template.pop(next(iter(self._by_template)))
        if self._path is not None:
            self.note = keep_json(self._path, _LARGEST_BYTES, self._by_template, "values")


def _masked(values: Mapping[str, str]) -> Texts:
    return {name: mask_value(name, text) for name, text in values.items()}
