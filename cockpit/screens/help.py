"""The help of a screen, read from the bindings that are active on it now."""

from typing import Any

from cockpit_widgets.types import HelpEntry
from textual.screen import Screen

from cockpit.screens.keymap import KEYS

MOVING = "Moving"
_NOT_HERE = frozenset({"scroll_left", "scroll_right", "page_left", "page_right"})
"""Textual binds these to everything that scrolls; nothing here scrolls sideways by them."""
_NAMES = {
    "pageup": "pgup",
    "pagedown": "pgdn",
    "colon": ":",
    "slash": "/",
    "question_mark": "?",
    "escape": "esc",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "circumflex_accent": "^",
}


def entries(screen: Screen[Any]) -> tuple[HelpEntry, ...]:
    """One entry for each key that works on `screen` now: those of the keymap in its order, then those of
    the widget that has the focus, alternatives for one action on one line."""
    here: set[str] = set()
    moving: dict[str, list[str]] = {}
    for key, (node, binding, is_enabled, _) in screen.active_bindings.items():
        if not is_enabled or binding.action in _NOT_HERE:
            continue
        if binding.id:
            here.add(binding.id)
        elif node is not screen and node is not screen.app and binding.description:
            moving.setdefault(binding.description, []).append(key)
    known = [HelpEntry(pretty(one.keys), one.help, one.group, one.is_write) for one in KEYS if one.id in here]
    return (*known, *(HelpEntry(pretty(",".join(keys)), text, MOVING) for text, keys in moving.items()))


def pretty(keys: str) -> str:
    """Keys as a person reads them: `ctrl+n`, `:`, `?`."""
    return " ".join(_NAMES.get(one, one) for one in keys.split(","))
