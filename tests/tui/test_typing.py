"""Keys that arrive in one burst, as over a slow line, do what they would have done one by one."""

import pytest
from cockpit_widgets import Form
from cockpit_widgets.form_fields import ChoiceField
from cockpit_widgets.form_row import FieldRow
from textual import events
from textual.pilot import Pilot

from cockpit.screens.events import EventsScreen
from cockpit.screens.job import JobScreen
from cockpit.screens.node import NodeScreen
from tests.tui.deck import ScriptedApp, settle
from tests.tui.estate import Estate

NAMES = {"/": "slash", ":": "colon", "-": "minus", "\r": "enter", "\t": "tab"}


def burst(app: ScriptedApp, text: str) -> None:
    """Every key at once: nothing is processed in between."""
    for character in text:
        app.post_message(events.Key(NAMES.get(character, character), character))


async def all_taken(app: ScriptedApp, pilot: Pilot[int]) -> None:
    """Until every key of a burst was handed on, however busy the machine is."""
    while not app._message_queue.empty():
        await settle(pilot)
    for _ in range(5):
        await settle(pilot)


async def test_a_filter_typed_in_one_burst_is_whole_and_the_next_key_is_the_tables() -> None:
    app = ScriptedApp(Estate(), place="jobs")
    async with app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        burst(app, "/sweep\rr")
        await all_taken(app, pilot)
        state = app.state_of("jobs")
        assert (state.filter, state.sort, state.descending) == ("sweep", "", True)


async def test_a_slash_in_a_field_is_text() -> None:
    app = ScriptedApp(Estate(), write=True, place="jobs")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("N")
        await settle(pilot)
        burst(app, "a-job\texample/train:1")
        await all_taken(app, pilot)
        values = app.screen.query_one("#fields", Form).values
        assert (values["name"], values["image"]) == ("a-job", "example/train:1")


async def test_a_choice_that_is_cleared_in_one_burst_leaves_the_next_fields_alone() -> None:
    app = ScriptedApp(Estate(), write=True, place="jobs")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("N")
        await settle(pilot)
        form = app.screen.query_one("#fields", Form)
        form.set_value("name", "a-job")
        await settle(pilot)
        before = dict(form.values)
        choice = next(one for one in form.query(ChoiceField))
        row = next(one for one in form.query(FieldRow) if one.editor is choice)
        choice.focus()
        await settle(pilot)
        for _ in range(5):
            app.post_message(events.Key("ctrl+u", "\x15"))
        burst(app, "\t")
        for _ in range(2):
            app.post_message(events.Key("shift+tab", None))
        await settle(pilot)
        assert dict(form.values) == before, row.spec.id


@pytest.mark.parametrize("place", ["jobs", "nodes", "pods", "now"])
async def test_a_page_that_is_opened_in_a_burst_is_left_by_the_key_behind(place: str) -> None:
    app = ScriptedApp(Estate(), place=place)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        burst(app, "\r6")
        await all_taken(app, pilot)
        assert isinstance(app.screen, EventsScreen)
        assert len(app.screen_stack) == 2


async def test_a_device_opens_its_job_once() -> None:
    app = ScriptedApp(Estate(), place="nodes")
    async with app.run_test(size=(160, 50)) as pilot:
        await settle(pilot)
        await pilot.press("s", "home", "enter")  # by name: the first one works
        await settle(pilot)
        await pilot.press("enter")
        await settle(pilot)
        assert [type(one) for one in app.screen_stack[-2:]] == [NodeScreen, JobScreen]
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, NodeScreen)
