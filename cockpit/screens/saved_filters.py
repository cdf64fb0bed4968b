"""Filters of a list that are kept by name: `@name` in the filter line stands for one."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from cockpit_widgets.note_dialog import NoteDialog
from cockpit_widgets.types import ChoiceItem
from textual.app import App

MARK: Final = "@"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
_LONGEST_FILTER: Final = 500
MOST_FILTERS: Final = 50


class Recalled(NamedTuple):
    """What a filter line means: the filter, None where its name is not known; and a sentence for that."""

    filter: str | None
    note: str = ""


def recalled(text: str, saved: Mapping[str, str]) -> Recalled:
    """The text itself, but for `@name` alone."""
    name = text.strip()
    if not name.startswith(MARK) or " " in name:
        return Recalled(text)
    if (found := saved.get(name.removeprefix(MARK))) is not None:
        return Recalled(found)
    names = ", ".join(f"{MARK}{known}" for known in sorted(saved))
    return Recalled(None, f"Filter: {name} is not saved for this list; saved: {names or 'none'}.")


def fault_of(name: str, filter_: str, saved: Mapping[str, str]) -> str:
    """Why that filter cannot be kept under that name, in one sentence; "" where it can."""
    if not filter_.strip():
        return "there is no filter to save; type one first"
    if len(filter_) > _LONGEST_FILTER:
        return f"a saved filter has at most {_LONGEST_FILTER} characters; this one has {len(filter_)}"
    if not _NAME.fullmatch(name):
        return f"{name!r} cannot name a filter: use up to 32 letters, digits, - and _"
    if name not in saved and len(saved) >= MOST_FILTERS:
        return f"{MOST_FILTERS} filters are saved for this list; delete one first"
    return ""


async def ask_name(app: App[Any], noun: str, filter_: str, saved: Mapping[str, str]) -> str:
    """The name that a person gives to the filter, "" where none was given; a bad one is refused and asked for
    once more."""
    name = ""
    while True:
        if not name and (fault := fault_of("x", filter_, {})):
            app.notify(fault, severity="error")
            return ""
        items = [ChoiceItem("save", f"save for {noun}", filter_)]
        answer = await app.push_screen_wait(
            NoteDialog("Save the filter by name", items, note=name, placeholder="name, e.g. idle")
        )
        if answer is None:
            return ""
        name = answer[1].removeprefix(MARK)
        if not (fault := fault_of(name, filter_, saved)):
            return name
        app.notify(fault, severity="error")


def filter_items(saved: Mapping[str, str], filter_: str) -> Iterator[ChoiceItem]:
    """What the palette offers: each saved filter, to forget it, and to save the one in force."""
    for name, text in sorted(saved.items()):
        yield ChoiceItem(f"key use_filter({name!r})", f"filter {MARK}{name}", text)
    if filter_:
        yield ChoiceItem("key save_filter", "save the filter by name", filter_)
    for name, text in sorted(saved.items()):
        yield ChoiceItem(f"key forget_filter({name!r})", f"delete filter {MARK}{name}", text)
