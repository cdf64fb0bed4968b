"""Component classes count from their first use on, and look as those that Textual resolves itself."""

from typing import ClassVar

import pytest
from cockpit_widgets.one_line import ONE_LINE_CSS, OneLine
from cockpit_widgets.palette import TONE_CLASSES
from rich.style import Style
from textual.app import App, ComposeResult
from textual.widget import Widget

TONES = sorted(TONE_CLASSES)


class Lazy(OneLine):
    """Draws by the palette."""

    DEFAULT_CSS = "Lazy {" + ONE_LINE_CSS + "}"

    def __init__(self) -> None:
        super().__init__()
        self.paints = 0

    def refresh(self, *args: object, **more: object) -> "Lazy":
        self.paints += 1
        super().refresh(*args, **more)  # type: ignore[arg-type]
        return self


class Eager(Widget):
    """The same rules, in Textual's own way."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {*TONE_CLASSES}
    DEFAULT_CSS = "Eager {" + ONE_LINE_CSS + "}"

    def style(self, name: str) -> Style:
        return self.get_visual_style(name).rich_style


class Host(App[None]):
    """One of each."""

    def compose(self) -> ComposeResult:
        yield Lazy()
        yield Eager()


async def test_a_class_looks_as_textual_resolves_it_under_each_theme() -> None:
    app = Host()
    async with app.run_test() as pilot:
        lazy, eager = app.query_one(Lazy), app.query_one(Eager)
        seen = set()
        for theme in ("textual-dark", "textual-light", "nord"):
            app.theme = theme
            await pilot.pause()
            assert {name: lazy.palette.style(name) for name in TONES} == {
                name: eager.style(name) for name in TONES
            }
            seen.add(lazy.palette.tone("bad"))
        assert len(seen) == 3


async def test_what_nothing_was_drawn_with_is_not_laid() -> None:
    app = Host()
    async with app.run_test() as pilot:
        lazy = app.query_one(Lazy)
        lazy.palette.tone("bad")
        app.theme = "textual-light"
        await pilot.pause()
        assert set(lazy._component_styles) == {"tone--bad"}


async def test_a_class_whose_rules_change_is_painted_again() -> None:
    app = Host()
    async with app.run_test() as pilot:
        lazy = app.query_one(Lazy)
        lazy.palette.tone("bad")
        before = lazy.paints
        app.stylesheet.add_source("Lazy.-loud > .tone--bad { color: #00ff00; }")
        app.stylesheet.reparse()
        lazy.add_class("-loud")
        await pilot.pause()
        assert lazy.paints > before
        assert lazy.palette.tone("bad") == lazy.get_visual_style("tone--bad").rich_style


async def test_an_unknown_class_is_an_error() -> None:
    app = Host()
    async with app.run_test():
        with pytest.raises(KeyError, match="one-line--none"):
            app.query_one(Lazy).palette.style("one-line--none")
