"""Which columns a list draws, chosen by marks."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from cockpit_widgets.marking_dialog import TogglingDialog
from cockpit_widgets.types import ChoiceItem, Column
from textual.app import App

from cockpit.views.view_state import ViewState

OURS = "our columns"


class ColumnChoice(NamedTuple):
    """Columns that are drawn before others, and columns that are not drawn; the rest is left to the room
    there is."""

    shown: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


async def ask_columns(
    app: App[Any], noun: str, columns: Sequence[Column], in_sight: Collection[str], state: ViewState
) -> ColumnChoice | None:
    """What a person marks of the columns of a list; None where that is left. Those in sight are marked."""
    marked = [column.id for column in columns if column.id in in_sight or column.id in state.shown]
    items = [ChoiceItem(column.id, column.title, column.id) for column in columns]
    dialog = TogglingDialog(f"Columns of {noun}", [*items, ChoiceItem("", OURS)], marks=marked)
    answer = await app.push_screen_wait(dialog)
    if answer is None:
        return None
    after = answer.split(",") if answer else ()
    return chosen(ColumnChoice(state.shown, state.hidden), marked, after)


def chosen(known: ColumnChoice, before: Collection[str], after: Collection[str]) -> ColumnChoice:
    """The choice after a person changed the marks; no mark at all is our own choice."""
    if not after:
        return ColumnChoice()
    wanted = {*known.shown} & {*after} | {*after} - {*before}
    unwanted = {*known.hidden} - {*after} | {*before} - {*after}
    return ColumnChoice(tuple(sorted(wanted)), tuple(sorted(unwanted)))
