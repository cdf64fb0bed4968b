"""Errors that nobody expected: the terminal is given back, and the command line has one sentence to tell."""

import asyncio
import gc
import warnings

import pytest
from cockpit_widgets import LogView
from textual.screen import Screen

from cockpit.api_server import ApiServer
from cockpit.app import AppOptions, CockpitApp
from cockpit.attach import AttachOptions
from cockpit.clock import ManualClock
from cockpit.screens.now import NowScreen
from cockpit.screens.text import YamlScreen


class OddError(Exception):
    """Nobody expects this."""


def app() -> CockpitApp:
    return CockpitApp(AppOptions(AttachOptions(), attach=False), clock=ManualClock())


async def fail() -> None:
    raise OddError("a secret value")


async def test_an_error_of_a_worker_is_handed_on_and_not_printed() -> None:
    made = app()
    with pytest.raises(Exception, match="a secret value"):
        async with made.run_test() as pilot:
            made.spawn(fail, "odd")
            await pilot.pause()
    assert isinstance(made.fault, OddError)
    assert made._exit_renderables == []


class FilledScreen(Screen[None]):
    has_input = True


async def test_a_question_that_is_dropped_before_it_began_was_never_made() -> None:
    """The key that leaves pressed twice at once: the second ends the app before the first has asked."""
    made = app()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        async with made.run_test():
            await made.push_screen(FilledScreen())
            await made.action_quit()
            await made.action_quit()
            assert made._exit
        gc.collect()
    assert not [str(one.message) for one in warned if "never awaited" in str(one.message)]


async def test_an_answer_for_a_page_that_was_left_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made = app()
    asked, may_answer = asyncio.Event(), asyncio.Event()

    async def read_yaml(_api: ApiServer, *_address: str) -> list[str]:
        asked.set()
        await may_answer.wait()
        return ["kind: Node"]

    monkeypatch.setattr(ApiServer, "read_yaml", read_yaml)
    async with made.run_test() as pilot:
        made.push_screen(YamlScreen("v1", "Node", "", "n1"))
        await asked.wait()
        await pilot.press("escape")
        await pilot.pause()
        may_answer.set()
        await pilot.pause()
    assert made.fault is None


async def test_an_answer_for_the_page_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    made = app()

    async def read_yaml(_api: ApiServer, *_address: str) -> list[str]:
        return ["kind: Node"]

    monkeypatch.setattr(ApiServer, "read_yaml", read_yaml)
    async with made.run_test() as pilot:
        page = YamlScreen("v1", "Node", "", "n1")
        made.push_screen(page)
        await pilot.pause()
        await made.workers.wait_for_complete([one for one in made.workers if one.name == "yaml"])
        assert page.query_one("#text", LogView).text() == "kind: Node"


async def test_news_for_a_screen_that_is_gone_change_nothing() -> None:
    made = app()
    async with made.run_test() as pilot:
        await pilot.pause()
        place = made.screen
        assert isinstance(place, NowScreen)
        place.show()
    place.show()
