"""A form with input: no key of the app acts in it, whatever has the focus, and leaving loses nothing."""

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from cockpit_widgets import ConfirmDialog, Form, LogView
from cockpit_widgets.form_fields import ChoiceField, SwitchField
from textual import events
from textual.pilot import Pilot
from textual.screen import Screen

from cockpit.screens.place import Place
from cockpit.screens.scale import ScaleScreen
from cockpit.screens.submit import SubmitScreen
from tests.tui import looking
from tests.tui.deck import ScriptedApp, settle
from tests.tui.estate import Estate
from tests.tui.test_typing import burst

SIZES = ((80, 24), (200, 60))
EACH_SIZE = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
APP_KEYS = ("1", "2", "3", "4", "5", "6", "7", "q", "colon", "ctrl+p", "ctrl+n", "ctrl+x", "slash")
CHARACTERS = {"colon": ":", "slash": "/"}


@asynccontextmanager
async def form(
    size: tuple[int, int], typed: str = "my-job", place: str = "jobs", key: str = "N"
) -> AsyncIterator[tuple[ScriptedApp, Pilot[Any], Form]]:
    """The form of a new job with `typed` in its first field."""
    app = ScriptedApp(Estate(), write=True, place=place)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await pilot.press(key)
        await settle(pilot)
        await pilot.press(*typed)
        await settle(pilot)
        yield app, pilot, app.screen.query_one("#fields", Form)


def key(name: str) -> events.Key:
    return events.Key(name, CHARACTERS.get(name, name if len(name) == 1 else None))


def name_in(fields: Form) -> str:
    return fields.values["name"]


async def send(app: ScriptedApp, pilot: Pilot[Any], *names: str) -> None:
    """All keys at once, as over a slow line."""
    for name in names:
        app.post_message(key(name))
    await settle(pilot)


# ---- the focus comes back


WAYS = {
    "preview and back": ("f3", "escape"),
    "preview twice": ("f3", "f3"),
    "preview four times": ("f3", "f3", "f3", "f3"),
    "preview, scrolled": ("f3", "down", "pagedown", "escape"),
    "templates": ("f2", "escape"),
    "a wrong form sent": ("ctrl+s",),
}


@EACH_SIZE
@pytest.mark.parametrize("is_burst", [False, True], ids=["one by one", "burst"])
async def test_after_every_way_out_and_back_one_types_on(size: tuple[int, int], is_burst: bool) -> None:
    async with form(size) as (app, pilot, fields):
        screen = app.screen
        for what, keys in WAYS.items():
            fields.focus_first()
            # on a wide terminal the preview stands beside the form, and there is nothing to come back from
            way = ("f3",) if size[0] > 100 and "f3" in keys else keys
            for one in (way,) if is_burst else ((name,) for name in way):
                await send(app, pilot, *one)
            assert app.screen is screen, f"{what}: {type(app.screen).__name__}"
            assert screen.focused is not None and fields in screen.focused.ancestors, what
            fields.focus_first()
            before = name_in(fields)
            await send(app, pilot, "3", "q")
            assert app.screen is screen and name_in(fields) == f"{before}3q", what
            assert name_in(fields).startswith("my-job")


@EACH_SIZE
async def test_the_field_that_had_the_focus_has_it_again(size: tuple[int, int]) -> None:
    async with form(size) as (app, pilot, _fields):
        screen = app.screen
        await send(app, pilot, "tab", "tab")
        field = screen.focused
        assert field is not None
        for way in (("f3", "escape"), ("f3", "f3")) if size[0] < 100 else (("f2", "escape"),):
            await send(app, pilot, *way)
            assert screen.focused is field, way


async def test_a_wider_terminal_shows_the_form_beside_the_preview_with_its_focus() -> None:
    async with form((80, 24)) as (app, pilot, fields):
        await pilot.press("f3")
        await settle(pilot)
        await pilot.resize_terminal(200, 60)
        await settle(pilot)
        await pilot.press("3", "q")
        await settle(pilot)
        assert isinstance(app.screen, SubmitScreen) and name_in(fields) == "my-job3q"


@EACH_SIZE
async def test_a_field_that_was_scrolled_out_of_sight_keeps_the_keys(size: tuple[int, int]) -> None:
    async with form(size) as (app, pilot, fields):
        fields.scroll_end(animate=False)
        await settle(pilot)
        await send(app, pilot, "3", "q")
        assert isinstance(app.screen, SubmitScreen) and name_in(fields) == "my-job3q"


# ---- no key of the app acts


async def nothing(app: ScriptedApp, _fields: Form) -> None:
    app.screen.set_focus(None)


async def preview(app: ScriptedApp, _fields: Form) -> None:
    app.screen.set_focus(app.screen.query_one("#preview", LogView))


async def switch(app: ScriptedApp, fields: Form) -> None:
    app.screen.set_focus(fields.query(SwitchField).first())


async def choice(app: ScriptedApp, fields: Form) -> None:
    app.screen.set_focus(fields.query(ChoiceField).first())


async def another_window(app: ScriptedApp, _fields: Form) -> None:
    """The terminal lost the focus, and keys come all the same (tmux send-keys)."""
    app.post_message(events.AppBlur())


@EACH_SIZE
@pytest.mark.parametrize("is_burst", [False, True], ids=["one by one", "burst"])
async def test_whatever_has_the_focus_no_key_leaves_the_form(size: tuple[int, int], is_burst: bool) -> None:
    async with form(size) as (app, pilot, fields):
        screen = app.screen
        for focus in (nothing, preview, switch, choice, another_window):
            keys = (
                APP_KEYS[:-1] if focus in (switch, choice, another_window) else APP_KEYS
            )  # there / jumps to a field
            for one in (keys,) if is_burst else ((name,) for name in keys):
                await focus(app, fields)
                await send(app, pilot, *one)
                assert app.screen is screen, f"{focus.__name__} {one}: {type(app.screen).__name__}"
        assert app.is_running and name_in(fields).startswith("my-job")


@EACH_SIZE
async def test_keys_typed_while_nothing_has_the_focus_are_text_of_the_last_field(
    size: tuple[int, int],
) -> None:
    async with form(size) as (app, pilot, fields):
        app.screen.set_focus(None)
        await send(app, pilot, *"-3q7")
        assert name_in(fields) == "my-job-3q7"


@EACH_SIZE
async def test_keys_right_behind_the_one_that_opens_a_form_do_not_leave_it(size: tuple[int, int]) -> None:
    app = ScriptedApp(Estate(), write=True, place="jobs")
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        burst(app, "N3q7")
        await settle(pilot)
        assert app.is_running and isinstance(app.screen, SubmitScreen)


@EACH_SIZE
async def test_help_and_footer_name_no_key_that_does_not_act(size: tuple[int, int]) -> None:
    async with form(size) as (app, _pilot, _fields):
        assert isinstance(app.screen, Place)
        listed = {entry.text for entry in app.screen.help_entries()}
        assert not any("Jobs: every" in text or text.startswith("Everything by name") for text in listed)
        assert not any(hint.startswith(("q ", ": ")) for hint in looking.footer(app))
        assert any(hint.startswith("esc ") for hint in looking.footer(app))


# ---- leaving keeps a draft


@EACH_SIZE
async def test_leaving_a_form_with_input_keeps_a_draft(size: tuple[int, int]) -> None:
    async with form(size) as (app, pilot, _fields):
        await pilot.press("escape")
        await settle(pilot)
        assert getattr(app.screen, "place", "") == "jobs"
        await pilot.press("N")
        await settle(pilot)
        assert name_in(app.screen.query_one("#fields", Form)) == "my-job"


@EACH_SIZE
@pytest.mark.parametrize("typed", ["", "abc"])
async def test_a_form_without_input_is_left_at_once(size: tuple[int, int], typed: str) -> None:
    async with form(size, typed) as (app, pilot, _fields):
        await pilot.press(*["backspace"] * len(typed))
        await pilot.press("escape")
        await settle(pilot)
        assert getattr(app.screen, "place", "") == "jobs"


@EACH_SIZE
@pytest.mark.parametrize("last", ["ctrl+c", "ctrl+q"])
async def test_the_keys_that_end_the_program_ask_once(size: tuple[int, int], last: str) -> None:
    async with form(size) as (app, pilot, fields):
        for over in ((), ("f2",), ("f3",)):
            await send(app, pilot, *over)
            await send(app, pilot, last)
            assert app.is_running and isinstance(app.screen, ConfirmDialog), over
            assert "Leave the cockpit?" in looking.text(app)
            await send(app, pilot, "n")
            assert app.is_running and name_in(fields) == "my-job"
            await send(app, pilot, *["escape"] * bool(over and (over == ("f2",) or size[0] < 100)))
            assert isinstance(app.screen, SubmitScreen), over
        await send(app, pilot, last)
        assert "a form is open; its draft is kept" in looking.flat(app)
        await send(app, pilot, last)
        assert app._exit
        assert app.kept_forms.of("mpijob").draft["name"] == "my-job"


async def test_a_terminal_that_is_closed_leaves_a_draft_without_its_secrets() -> None:
    async with form((80, 24)) as (app, _pilot, fields):
        fields.set_value("command", "train --token 0123456789abcdef")
        fields.set_value("secret-names", "hf-token:/run/hf")
        await settle(_pilot)
        app.exit(128 + signal.SIGHUP)  # as `on_ready` binds the signal
        draft = app.kept_forms.of("mpijob").draft
        assert draft["name"] == "my-job" and draft["command"] == "train --token [hidden]"
        assert draft["secret-names"] == "hf-token:/run/hf"


@EACH_SIZE
async def test_what_was_typed_goes_along_to_another_template_and_counts_there(size: tuple[int, int]) -> None:
    async with form(size) as (app, pilot, _fields):
        await pilot.press("f2")
        await settle(pilot)
        await pilot.press(*"job", "enter")
        await settle(pilot)
        assert isinstance(app.screen, SubmitScreen)
        fields = app.screen.query_one("#fields", Form)
        assert name_in(fields) == "my-job"
        await send(app, pilot, "escape")
        assert app.kept_forms.of("job").draft["name"] == "my-job"


@EACH_SIZE
async def test_the_form_of_a_pools_machines_is_kept_alike(size: tuple[int, int]) -> None:
    app = ScriptedApp(Estate(), write=True, place="pools")
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        for _ in range(12):
            await pilot.press("S")
            await settle(pilot)
            if isinstance(app.screen, ScaleScreen):
                break
            await pilot.press("down")
        screen: Screen[Any] = app.screen
        assert isinstance(screen, ScaleScreen)
        await pilot.press("escape")
        await settle(pilot)
        assert getattr(app.screen, "place", "") == "pools", "nothing was typed"
        await pilot.press("S")
        await settle(pilot)
        await pilot.press("ctrl+u", "9")
        screen = app.screen
        for focus in (None, screen.query_one("#preview", LogView)):
            screen.set_focus(focus)
            await send(app, pilot, "q", "3", "colon")
            assert app.screen is screen
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, ConfirmDialog)
        await pilot.press("y")
        await settle(pilot)
        assert getattr(app.screen, "place", "") == "pools"


# ---- a filter that is being typed


@EACH_SIZE
@pytest.mark.parametrize("place", ["jobs", "logs"])
async def test_a_filter_line_that_lost_the_focus_takes_what_is_typed(
    size: tuple[int, int], place: str
) -> None:
    app = ScriptedApp(Estate(), write=True, place="jobs")
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        if place == "logs":
            await pilot.press("l")
            await settle(pilot)
        screen = app.screen
        await pilot.press("slash", "a")
        await settle(pilot)
        app.post_message(events.AppBlur())
        await settle(pilot)
        await send(app, pilot, "q", "3")
        assert app.screen is screen and app.state_of(place).filter == "aq3"
