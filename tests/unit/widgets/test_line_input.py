"""Keys edit in the order in which they were pressed, however many wait."""

import pytest
from cockpit_widgets import LineInput
from cockpit_widgets.line_input import joined_lines
from textual import events
from textual.app import App, ComposeResult


class OneLine(App[None]):
    def compose(self) -> ComposeResult:
        yield LineInput(id="line")


async def test_a_burst_of_typing_keeps_its_order() -> None:
    app = OneLine()
    async with app.run_test() as pilot:
        line = app.query_one(LineInput)
        line.focus()
        await pilot.pause()
        # all at once, as a slow machine reads them: nothing is processed in between
        for key, character in (
            *(("a", "a"), ("b", "b"), ("backspace", "\x7f"), ("c", "c")),
            *(("home", None), ("x", "x"), ("end", None), ("d", "d")),
        ):
            app.post_message(events.Key(key, character))
        await pilot.pause()
        assert line.value == "xacd"
        for key, character in (("ctrl+u", "\x15"), ("4", "4")):
            app.post_message(events.Key(key, character))
        await pilot.pause()
        assert line.value == "4"


async def test_the_cursor_of_a_field_stands_still() -> None:
    """One that blinks sends bytes for as long as a form is open."""
    app = OneLine()
    async with app.run_test() as pilot:
        line = app.query_one(LineInput)
        line.focus()
        await pilot.pause()
        assert line._blink_timer is not None and not line._blink_timer._active.is_set()
        assert line._cursor_visible


@pytest.mark.parametrize(
    ("pasted", "line", "count"),
    [
        ("one", "one", 1),
        ("\n one \n", "one", 1),
        ("python train.py \\\n  --lr 0.1 \\\n  --epochs 3\n", "python train.py --lr 0.1 --epochs 3", 3),
        ("A=1\r\nB=2", "A=1 B=2", 2),
        ("", "", 0),
        ("\n\n", "", 0),
        ("\\", "", 0),
    ],
)
def test_lines_are_joined_as_a_shell_would(pasted: str, line: str, count: int) -> None:
    assert joined_lines(pasted) == (line, count)


async def test_pasted_lines_are_joined_where_the_cursor_stands_and_it_is_said() -> None:
    app = OneLine()
    async with app.run_test() as pilot:
        line = app.query_one(LineInput)
        line.value, line.cursor_position = "ad", 1
        line.focus()
        await pilot.pause()
        app.post_message(events.Paste("b \\\nc\n"))
        await pilot.pause()
        assert line.value == "ab cd"
        assert [item.message for item in app._notifications] == ["2 pasted lines joined into one"]
        line.select_all()
        app.post_message(events.Paste("e"))
        await pilot.pause()
        assert line.value == "e"
        assert len(app._notifications) == 1
