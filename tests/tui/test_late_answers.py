"""What a server or the layout still says to a screen that was left: nothing happens, the app lives on."""

import pytest

from cockpit.screens.jobs import JobsScreen
from cockpit.screens.place import Place
from cockpit.screens.submit import SubmitScreen
from cockpit.screens.table_place import TablePlace
from cockpit.screens.text import TextScreen, YamlScreen
from tests.tui import looking
from tests.tui.deck import ScriptedApp, settle
from tests.tui.estate import Estate


@pytest.mark.parametrize("phase", ["on the way", "gone"])
@pytest.mark.parametrize(
    "make",
    [SubmitScreen, JobsScreen, lambda: YamlScreen("v1", "Node", "", "node-1")],
    ids=["form", "table", "text"],
)
async def test_a_screen_that_was_left_hears_late_answers_in_peace(
    make: type[SubmitScreen], phase: str
) -> None:
    app = ScriptedApp(Estate(), write=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        screen: Place = make()
        await app.push_screen(screen)
        await settle(pilot)
        leaving = screen.dismiss(None)
        if phase == "on the way":
            while not screen.is_going:
                await pilot.pause()
        else:
            await leaving
            await settle(pilot)
        _tell_late(screen)
        await settle(pilot)
        assert app._exception is None
        assert looking.text(app), "the place below is drawn"


def _tell_late(screen: Place) -> None:
    """All that may still be called: a repaint, the answer of a dry run, what stands at the foot, a text."""
    screen.show()
    if isinstance(screen, SubmitScreen):
        screen._draw()
    if isinstance(screen, TablePlace):
        screen._say()
    if isinstance(screen, TextScreen):
        screen.put(["late"])
