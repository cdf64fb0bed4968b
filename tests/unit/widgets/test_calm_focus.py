"""A step of the focus draws two fields, a character one; Textual draws all of the screen or lays it out."""

import pytest
from cockpit_widgets.calm_focus import CalmFocus
from cockpit_widgets.line_input import LineInput
from textual._compositor import Compositor
from textual.app import App, ComposeResult
from textual.screen import Screen


class Calm(CalmFocus, Screen[None]):
    DEFAULT_CSS = "Calm LineInput { width: 1fr; }"

    def compose(self) -> ComposeResult:
        yield LineInput("one", id="one")
        yield LineInput("two", id="two")


class Host(App[None]):
    def get_default_screen(self) -> Calm:
        return Calm()


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was drawn whole or laid out anew, in this order."""
    found: list[str] = []
    whole, lay_out = Compositor.render_full_update, Screen._refresh_layout

    def render_full_update(self: Compositor, simplify: bool = False) -> object:
        found.append("whole")
        return whole(self, simplify)

    def refresh_layout(self: Screen[None], *args: object, **more: object) -> None:
        found.append("layout")
        lay_out(self, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Compositor, "render_full_update", render_full_update)
    monkeypatch.setattr(Screen, "_refresh_layout", refresh_layout)
    return found


async def test_the_focus_moves_and_a_text_grows_without_a_whole_screen(drawn: list[str]) -> None:
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("end")
        await pilot.pause()
        drawn.clear()
        await pilot.press("x", "y", "tab", "z", "shift+tab")
        await pilot.pause()
        assert app.screen.focused is app.screen.query_one("#one")
        assert [app.screen.query_one(name, LineInput).value for name in ("#one", "#two")] == ["onexy", "z"]
        assert drawn == []


async def test_a_text_longer_than_its_field_still_shows_where_one_types() -> None:
    app = Host()
    async with app.run_test(size=(30, 6)) as pilot:
        field = app.screen.query_one("#one", LineInput)
        field.focus()
        await pilot.press("end", *"abcdefghijklmnopqrstuvwxyz0123456789")
        await pilot.pause()
        lines = [field.render_line(y).text for y in range(field.size.height)]
        assert any("z0123456789" in line for line in lines)
        assert not any("one" in line for line in lines)
