"""The help of every page: whole where a screen can hold it, else its end is announced."""

import pytest
from cockpit_widgets.dialog_box import DialogBox
from cockpit_widgets.help_dialog import HelpText

from tests.tui import looking
from tests.tui.deck import settle
from tests.tui.test_layout import FORMS, STOPS, cockpit, go

PAGES = [stop for stop in STOPS if stop.name != "filter"]


@pytest.mark.parametrize("size", [(120, 40), (160, 45)], ids=str)
async def test_the_help_of_every_page_stands_without_scrolling(size: tuple[int, int]) -> None:
    scrolled: list[str] = []
    async with cockpit(size, write=True) as (app, pilot):
        for stop in (*PAGES, *FORMS):
            await go(app, pilot, stop)
            key = "f1" if stop in FORMS else "question_mark"
            await pilot.press(key)
            await settle(pilot)
            text = app.screen.query_one(HelpText)
            if text.max_scroll_y:
                scrolled.append(f"{stop.name}: {text.virtual_size.height} lines")
            assert ("up/down" in looking.text(app).split("esc leave")[-1]) == bool(text.max_scroll_y)
            await pilot.press("escape")
    assert not scrolled


async def test_a_help_that_scrolls_tells_how_much_is_left() -> None:
    async with cockpit((80, 24), write=True) as (app, pilot):
        await go(app, pilot, PAGES[1])
        await pilot.press("question_mark")
        await settle(pilot)
        dialog = app.screen
        text = dialog.query_one(HelpText)

        def words() -> str:
            return dialog.query_one(DialogBox).border_subtitle or ""

        assert words() == f"{text.max_scroll_y} more lines"
        await pilot.press("down")
        await settle(pilot)
        assert words() == f"{text.max_scroll_y - 1} more lines"
        text.scroll_end(animate=False)
        await settle(pilot)
        assert words() == "the end"
