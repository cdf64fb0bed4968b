"""`a` on a row of *Now*: a note, and for how long it needs no human."""

from typing import Any

from cockpit_widgets import NoteDialog
from cockpit_widgets.types import ChoiceItem
from textual.app import App

from cockpit.local_state.audit import local_user
from cockpit.screens.app_protocol import cockpit_of
from cockpit.triage.troubles import Trouble

_TIMES: dict[str, float | None] = {
    "30 min": 1_800.0,
    "2 h": 7_200.0,
    "8 h": 28_800.0,
    "until it changes": None,
}
_BACK = "back"


async def acknowledge(app: App[Any], trouble: Trouble) -> None:
    """Ask, and take it over."""
    known, watch = trouble.acknowledged, cockpit_of(app).now_watch
    items = [ChoiceItem(one, one if seconds is None else f"for {one}") for one, seconds in _TIMES.items()]
    if known is not None:
        items.insert(0, ChoiceItem(_BACK, "take it back", f"acknowledged by {known.who}"))
    title = f"Acknowledge {trouble.found.title}"
    note = "" if known is None else known.note
    answer = await app.push_screen_wait(
        NoteDialog(title, items, note=note, placeholder="note, e.g. vendor comes at 14:00")
    )
    if answer is None:
        return
    chosen, note = answer
    if chosen == _BACK:
        watch.take_back(trouble.found)
    else:
        watch.acknowledge(trouble.found, note, _TIMES[chosen], local_user().partition("@")[0])
