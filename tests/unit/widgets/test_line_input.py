"""Keys edit in the order in which they were pressed, however many wait."""

from cockpit_widgets import LineInput
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
