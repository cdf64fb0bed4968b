"""Whoever types ahead gets what he would get by typing slowly, but answers no question unseen."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from cockpit_widgets import ConfirmDialog, ResourceTable
from textual import events
from textual.pilot import Pilot

from cockpit.errors import BadInput
from cockpit.model.job import JobState
from cockpit.screens import typed_ahead, verb_forms
from cockpit.screens.jobs import JobsScreen
from cockpit.screens.pages import place_class
from cockpit.screens.submit import SubmitScreen
from cockpit.screens.text import YamlScreen
from tests.tui import looking
from tests.tui.deck import ScriptedApp, settle, until
from tests.tui.looking import flat
from tests.tui.pools_estate import PoolsApp, PoolsEstate
from tests.tui.test_job_life import done, jobs, named, on, shown
from tests.tui.test_typing import NAMES, burst

SIZES = pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=lambda size: f"{size[0]}x{size[1]}")
BURSTS = (
    "3y",
    "5S",
    "5/a100\rS16\r",
    "2/sweep\rr",
    "2N" + "my-job\tresearch",
    ":nodes\ry",
    "5/a100\rS14\r",
    "3D\r",
)
NEVER_SECONDS = 600.0
PoolsPlace = place_class("pools")


@asynccontextmanager
async def opened(
    place: str = "now", size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[Any, Pilot[Any]]]:
    app = PoolsApp(PoolsEstate(), write=True, place=place)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        yield app, pilot


ASKING = "asking for a dry run"


async def at_rest(app: ScriptedApp, pilot: Pilot[Any]) -> list[str]:
    """The screen, once nothing of it changes any more and the server has answered."""
    before: list[str] = []
    for _ in range(60):
        await settle(pilot)
        if (now := looking.lines(app)) == before and ASKING not in looking.text(app):
            return now
        before = now
    raise AssertionError("it never came to rest\n" + "\n".join(before))


def told(app: ScriptedApp) -> list[str]:
    return [one.message for one in app._notifications]


# ---- the same as slowly


@SIZES
@pytest.mark.parametrize("keys", BURSTS, ids=ascii)
async def test_a_burst_does_what_the_same_keys_do_one_by_one(keys: str, size: tuple[int, int]) -> None:
    async with opened(size=size) as (slow, pilot):
        for key in keys:
            await pilot.press(NAMES.get(key, key))
            await at_rest(slow, pilot)
        wanted, page = await at_rest(slow, pilot), type(slow.screen)
    async with opened(size=size) as (fast, pilot):
        burst(fast, keys)
        await until(fast, pilot, lambda: type(fast.screen) is page)
        assert await at_rest(fast, pilot) == wanted
        assert told(fast) == told(slow)


async def test_what_is_pasted_behind_a_key_lands_in_the_form_that_the_key_opens() -> None:
    async with opened("jobs") as (app, pilot):
        burst(app, "N")
        app.post_message(events.Paste("my-"))
        burst(app, "job")
        await until(app, pilot, lambda: isinstance(app.screen, SubmitScreen))
        await settle(pilot)
        assert app.screen.form.values["name"] == "my-job"


async def test_twenty_keys_in_one_burst_move_twenty_rows_of_the_page_that_they_follow() -> None:
    async with opened(size=(200, 60)) as (app, pilot):
        burst(app, "7" + 20 * "j" + 3 * "k")
        await at_rest(app, pilot)
        assert app.screen.query_one("#table", ResourceTable).cursor_index == 17


# ---- what a key opens may never come


async def hang(*_: object) -> None:
    await asyncio.Event().wait()


async def refuse(*_: object) -> None:
    await asyncio.sleep(0)
    raise BadInput("the pool is gone")


def with_opener(monkeypatch: pytest.MonkeyPatch, opener: Callable[..., Any], seconds: float) -> None:
    """`S` asks by that, and is waited for so long."""
    monkeypatch.setitem(verb_forms.OPENERS, "scale", opener)
    monkeypatch.setattr(typed_ahead, "OPEN_SECONDS", seconds)


async def test_an_opener_that_hangs_does_not_freeze_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    with_opener(monkeypatch, hang, 0.05)
    async with opened("pools") as (app, pilot):
        burst(app, "S2/sweep\r")
        await settle(pilot)
        await until(app, pilot, lambda: app.state_of("jobs").filter == "sweep")
        assert isinstance(app.screen, JobsScreen)


async def test_keys_go_on_with_the_refusal_and_not_with_the_time_that_it_may_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_opener(monkeypatch, refuse, NEVER_SECONDS)
    async with opened("pools") as (app, pilot):
        burst(app, "S2y")
        await until(app, pilot, lambda: isinstance(app.screen, YamlScreen))
        assert told(app) == ["the pool is gone"]


@pytest.mark.parametrize("last", ["escape", "ctrl+c", "ctrl+q"])
async def test_whoever_wants_out_waits_for_no_opener(last: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with_opener(monkeypatch, hang, NEVER_SECONDS)
    async with opened("pools") as (app, pilot):
        burst(app, "S2")
        await settle(pilot)
        assert isinstance(app.screen, PoolsPlace), "the second key waits"
        app.post_message(events.Key(last, None))
        if last == "escape":
            await until(app, pilot, lambda: isinstance(app.screen, JobsScreen))
        else:
            await until(app, pilot, lambda: app._exit)


async def test_a_key_that_fails_does_not_keep_the_next_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("odd")

    monkeypatch.setattr(JobsScreen, "action_sort", fail)
    app = PoolsApp(PoolsEstate(), place="jobs")
    app._note = lambda error, where: f"{where}: {error}"
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        burst(app, "ss5")
        await until(app, pilot, lambda: isinstance(app.screen, PoolsPlace))


class BusyPump:
    """What takes its messages when the test says so."""

    _closing, _pending_message = False, None

    def __init__(self) -> None:
        self._message_queue = asyncio.Queue[Callable[[], None]]()

    def call_later(self, callback: Callable[[], None]) -> bool:
        self._message_queue.put_nowait(callback)
        return True


async def test_a_wait_that_was_given_up_does_not_turn_in_circles_with_the_next() -> None:
    pump: Any = BusyPump()
    pump.call_later(lambda: None)
    waits = []
    for _ in range(2):
        waits.append(asyncio.create_task(typed_ahead._worked_off(pump)))
        await asyncio.sleep(0)
    waits[0].cancel()
    await asyncio.gather(waits[0], return_exceptions=True)
    for _ in range(20):
        if not pump._message_queue.empty():
            pump._message_queue.get_nowait()()
    assert pump._message_queue.empty(), "they look for each other"
    assert await waits[1]


# ---- no question is answered unseen

IGNORED = "keys typed ahead do not count"


@SIZES
@pytest.mark.parametrize("answer", ["y", "\r", "yyy", "jy"], ids=ascii)
async def test_a_kill_is_not_confirmed_by_who_has_not_seen_it(
    tmp_path: Path, answer: str, size: tuple[int, int]
) -> None:
    async with jobs(tmp_path, size) as (app, pilot, wire):
        await on(app, pilot, named(app, state=JobState.RUNNING))
        burst(app, "K" + answer)
        await shown(app, pilot)
        await until(app, pilot, lambda: "the cluster would accept it" in flat(app))
        assert isinstance(app.screen, ConfirmDialog)
        assert IGNORED in flat(app) and "after the check" not in flat(app)
        assert wire.writes == []
        await done(app, pilot)
        assert len(wire.writes) == 1, "it counts by who sees it"


@pytest.mark.parametrize("no", ["escape", "n", "q"])
async def test_no_may_be_typed_ahead(tmp_path: Path, no: str) -> None:
    async with jobs(tmp_path) as (app, pilot, wire):
        await on(app, pilot, named(app, state=JobState.RUNNING))
        burst(app, "K")
        app.post_message(events.Key(no, None))
        burst(app, "5")
        await until(app, pilot, lambda: isinstance(app.screen, PoolsPlace))
        assert wire.writes == []


async def test_the_number_of_a_form_may_be_typed_ahead_and_not_the_yes_to_its_plan() -> None:
    async with opened() as (app, pilot):
        burst(app, "5/a100\rS16\ry")
        await shown(app, pilot)
        await at_rest(app, pilot)
        assert "Grow pool a100 from 13 to 16" in flat(app) and IGNORED in flat(app)


@pytest.mark.parametrize("is_pasted", [False, True], ids=["typed", "pasted"])
async def test_a_name_that_is_asked_for_is_not_typed_ahead(is_pasted: bool) -> None:
    async with opened() as (app, pilot):
        answers: list[bool | None] = []
        dialog = ConfirmDialog("Lose node gpu-1", typed="gpu-1")
        app.push_screen(dialog, answers.append)
        if is_pasted:
            app.post_message(events.Paste("gpu-1"))
        burst(app, "\r" if is_pasted else "gpu-1\r")
        await at_rest(app, pilot)
        assert app.screen is dialog and IGNORED in flat(app)
        burst(app, "gpu-1\r")
        await until(app, pilot, lambda: answers == [True])


async def test_a_question_that_becomes_another_one_is_not_answered_unseen() -> None:
    async with opened() as (app, pilot):
        answers: list[bool | None] = []
        dialog = ConfirmDialog("Kill 3 jobs", ["one", "two", "three"])
        app.push_screen(dialog, answers.append)
        await at_rest(app, pilot)
        dialog.put("Kill 2 jobs", ["one", "two"])
        burst(app, "y")
        await at_rest(app, pilot)
        assert app.screen is dialog and answers == []
        dialog.put("Kill 2 jobs", ["one", "two"])
        await at_rest(app, pilot)
        burst(app, "y")
        await until(app, pilot, lambda: answers == [True])


@SIZES
async def test_a_question_counts_as_seen_once_it_is_on_the_screen(size: tuple[int, int]) -> None:
    async with opened(size=size) as (app, pilot):
        frames: list[tuple[bool, bool]] = []
        display = app._display

        def note(screen: Any, renderable: Any) -> None:
            display(screen, renderable)
            if isinstance(screen, ConfirmDialog):
                frames.append((screen.is_blind(events.Key("y", "y")), "two lines" in looking.text(app)))

        app._display = note
        app.push_screen(ConfirmDialog("Really?", ["two lines", "of text"]))
        await at_rest(app, pilot)
        first = frames.index((True, True))
        assert all(is_blind for is_blind, _ in frames[: first + 1])
        assert not app.screen.is_blind(events.Key("y", "y"))
