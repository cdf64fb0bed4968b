"""A question with a note: typed text and chosen answer come together."""

import pytest
from cockpit_widgets import NoteDialog
from cockpit_widgets.types import ChoiceItem
from textual.app import App

ITEMS = (ChoiceItem("30", "for 30 min"), ChoiceItem("120", "for 2 h"))


class Asking(App[None]):
    answer: tuple[str, str] | None = ("not", "asked")

    def on_mount(self) -> None:
        self.push_screen(NoteDialog("Acknowledge [x]", ITEMS, note="old"), self.take)

    def take(self, answer: tuple[str, str] | None) -> None:
        self.answer = answer


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (("enter",), ("30", "old")),
        (("ctrl+u", *"jk", "down", "enter"), ("120", "jk")),
        (("down", "down", "up", "enter"), ("30", "old")),
        (("escape",), None),
    ],
)
async def test_the_note_and_the_choice_are_the_answer(
    keys: tuple[str, ...], answer: tuple[str, str] | None
) -> None:
    app = Asking()
    async with app.run_test() as pilot:
        await pilot.pause()
        await pilot.press(*keys)
        await pilot.pause()
        assert app.answer == answer
