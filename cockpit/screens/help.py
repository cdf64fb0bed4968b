"""The help of a screen, read from the bindings that are active on it now."""

from collections.abc import Callable
from typing import Any

from cockpit_widgets.types import HelpEntry
from textual.screen import Screen

from cockpit.screens.keymap import KEYS
from cockpit.views.attention import problem_signs
from cockpit.views.place_tabs import PLACE_MARKS_BY_NAME
from cockpit.views.states import job_signs, node_signs, pod_signs

MOVING, SIGNS = "Moving", "Signs"
_GROUPS = ("Looking", "Logs", "Form", SIGNS, MOVING, "Changing the cluster", "Places")
"""What this page has comes first, what every page has last."""
_SIGNS_OF: dict[str, Callable[[], dict[str, str]]] = {
    "now": problem_signs,
    "jobs": job_signs,
    "queue": job_signs,
    "nodes": node_signs,
    "pool": node_signs,
    "pods": pod_signs,
    "job": pod_signs,
}
"""By place: what the glyphs of its rows mean."""
PLACE_KEY = "place."
_NOT_HERE = frozenset({"scroll_left", "scroll_right", "page_left", "page_right"})
"""Textual binds these to everything that scrolls; nothing here scrolls sideways by them."""
_NAMES = {
    "pageup": "pgup",
    "pagedown": "pgdn",
    "colon": ":",
    "slash": "/",
    "backslash": "\\",
    "vertical_line": "|",
    "question_mark": "?",
    "escape": "esc",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "circumflex_accent": "^",
}


def entries(screen: Screen[Any], why_barred: Callable[[str], str] = lambda _id: "") -> tuple[HelpEntry, ...]:
    """One entry for each key of `screen` now: in groups, those of the keymap in its order, then those of the
    widget that has the focus, alternatives for one action on one line; and for each glyph of its rows.

    `why_barred` says of a key that cannot be used why that is; without a word for it there is no entry.
    """
    here: dict[str, str] = {}
    barred: dict[str, str] = {}
    moving: dict[str, list[str]] = {}
    for key, (node, binding, is_enabled, _) in screen.active_bindings.items():
        if not is_enabled and binding.id:
            barred[binding.id] = why_barred(binding.id)
        if not (is_enabled or barred.get(binding.id or "")) or binding.action in _NOT_HERE:
            continue
        if binding.id:
            here[binding.id] = binding.tooltip
        elif node is not screen and node is not screen.app and binding.description:
            moving.setdefault(binding.description, []).append(key)
    known = [
        HelpEntry(
            pretty(key.keys),
            _with_count(key.id, here[key.id] or key.help),
            key.group,
            key.is_write,
            barred.get(key.id, ""),
        )
        for key in KEYS
        if key.id in here
    ]
    known += [HelpEntry(pretty(",".join(keys)), text, MOVING) for text, keys in moving.items()]
    signs = _SIGNS_OF.get(getattr(screen, "place", ""), dict)()
    known += [HelpEntry(glyph, words, SIGNS) for glyph, words in signs.items()]
    return tuple(sorted(known, key=lambda entry: _GROUPS.index(entry.group)))


def _with_count(key_id: str, text: str) -> str:
    """The help of a place with what the count in its tab means: `...; 3◔: pending`."""
    mark = PLACE_MARKS_BY_NAME.get(key_id.removeprefix(PLACE_KEY))
    return f"{text}; {mark.form.format('3')}: {mark.means}" if mark is not None and mark.means else text


def pretty(keys: str) -> str:
    """Keys as a person reads them: `ctrl+n`, `:`, `?`."""
    return " ".join(_NAMES.get(item, item) for item in keys.split(","))
