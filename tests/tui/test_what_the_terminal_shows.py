"""What the terminal was told, key by key, against what the screen is: nothing left over, nothing missing."""

import time
from collections.abc import Sequence
from typing import Any

import pyte
import pytest
from cockpit_widgets.frugal_app import pieces
from rich.control import Control
from textual.app import App
from textual.drivers.headless_driver import HeadlessDriver
from textual.pilot import Pilot

from tests.tui.deck import ScriptedApp
from tests.tui.estate import Estate

PATIENCE_SECONDS = 20.0

WAYS: dict[str, Sequence[str]] = {
    "tables and a filter": (
        *(
            "2",
            "down",
            "down",
            "slash",
            "t",
            "e",
            "a",
            "m",
            "enter",
            "escape",
            "3",
            "down",
            "enter",
            "escape",
        ),
        *("4", "5", "6", *["down"] * 30, *["up"] * 5, "7", "pagedown", "pagedown", "pageup", "end", "home"),
        *("s", "r", "ctrl+a", "space"),
    ),
    "dialogs": (
        *("2", "question_mark", "pagedown", "escape", "colon", "n", "o", "escape", "down", "K", "n"),
        *("ctrl+n", "escape", "N", "tab", "x", "f3", "f3"),
    ),
    "pages of a job": (
        *(
            "2",
            *["down"] * 5,
            "enter",
            "x",
            "x",
            "x",
            "d",
            "escape",
            "tab",
            "y",
            "pagedown",
            "pagedown",
            "up",
            "end",
        ),
        *("escape", "l", "up", "up", "pageup", "f", "i", "escape", "w", "escape", "m", "1", "m"),
    ),
}
SIZES = ((80, 24), (160, 45), (200, 60))


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the app writes, though no terminal is there."""
    written: list[str] = []
    monkeypatch.setattr(HeadlessDriver, "is_headless", False)
    monkeypatch.setattr(HeadlessDriver, "write", lambda _, text: written.append(text))
    return written


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_terminal_shows_what_the_screen_is(
    told: list[str], size: tuple[int, int], way: str
) -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        shown = pyte.Screen(*size)
        for key in WAYS[way]:
            await pilot.press(key)
            await pilot.pause()
            await compare(pilot, told, shown, key)
        for width, height in ((size[0] - 7, size[1] - 3), size):
            await resize(pilot, width, height)
            shown = pyte.Screen(width, height)
            await compare(pilot, told, shown, "resize")


async def resize(pilot: Pilot[Any], width: int, height: int) -> None:
    """A terminal of another size, and empty: where it was made smaller it lost what it showed."""
    await pilot.resize_terminal(width, height)
    await pilot.pause()


async def compare(pilot: Pilot[Any], told: list[str], shown: pyte.Screen, key: str) -> None:
    """The terminal shows the whole screen, once it is painted: Textual does that by a timer, and not as soon
    as nothing else is to be done."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while differing := differing_lines(pilot.app, told, shown):
        assert time.monotonic() < deadline, (key, differing)
        await pilot.pause(0.01)


def differing_lines(app: App[Any], told: list[str], shown: pyte.Screen) -> list[tuple[object, ...]]:
    """Draw what was told since the last time, and beside it the whole screen: lines that are not the same."""
    whole = pyte.Screen(shown.columns, shown.lines)
    for screen in (shown, whole):
        screen.reset_mode(pyte.modes.DECAWM >> 5, private=True)
    pyte.Stream(shown).feed("".join(told))
    told.clear()
    update = app.screen._compositor.render_full_update()
    for y, x, strip in pieces(update):
        pyte.Stream(whole).feed(Control.move_to(x, y).segment.text + strip.render(app.console))
    differing = [y for y in range(whole.lines) if looks(shown, y) != looks(whole, y)]
    return [first_difference(shown, whole, y) for y in differing]


def first_difference(shown: pyte.Screen, whole: pyte.Screen, y: int) -> tuple[object, ...]:
    """Where a line begins to differ, how its cell looks on either, and its text, both where they differ."""
    here, there = looks(shown, y), looks(whole, y)
    x = next(x for x in range(whole.columns) if here[x] != there[x])
    texts = (shown.display[y], whole.display[y])
    return (y, x, here[x], there[x], *(texts if texts[0] != texts[1] else texts[:1]))


def looks(screen: pyte.Screen, y: int) -> list[tuple[object, ...]]:
    """What a person sees of a line: of a blank the background alone, unless it is marked."""
    cells = (screen.buffer[y][x] for x in range(screen.columns))
    return [
        (cell.data, cell.bg, cell.reverse, cell.underscore, cell.fg, cell.bold)
        if cell.data.strip() or cell.reverse or cell.underscore
        else (cell.bg,)
        for cell in cells
    ]
