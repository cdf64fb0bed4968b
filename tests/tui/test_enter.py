"""`E`: which pod and container the key means, and what is told where no shell can be had."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cockpit.errors import Refused
from cockpit.kube.exec import Command
from cockpit.local_state.audit import local_user
from cockpit.model.batch import Batch
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.screens import enter
from cockpit.screens.job import JobScreen
from cockpit.screens.node import NodeScreen
from tests.tui.deck import ScriptedApp, settle
from tests.tui.estate import Estate

SIZE = (160, 45)


class Peer:
    """A shell that has ended."""

    def __init__(self, code: int) -> None:
        self.exit_code: int | None = code


class House:
    """What was asked for, and how it ends."""

    def __init__(self) -> None:
        self.asked: list[Command] = []
        self.code = 0
        self.refusal = ""

    @asynccontextmanager
    async def open_exec(self, _session: Any, command: Command) -> AsyncIterator[Peer]:
        self.asked.append(command)
        if self.refusal:
            raise Refused(self.refusal)
        yield Peer(self.code)


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch) -> House:
    """Shells end as soon as they have begun; the terminal is not really given away."""
    made = House()

    async def join(_running: object, *, is_tty: bool) -> None:
        assert is_tty

    monkeypatch.setattr("cockpit.actions.enter.open_exec", made.open_exec)
    monkeypatch.setattr("cockpit.terminal.join", join)
    return made


@pytest.fixture
def given_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a terminal to give."""
    monkeypatch.setattr("textual.drivers.headless_driver.HeadlessDriver.can_suspend", True)
    for name in ("suspend_application_mode", "resume_application_mode"):
        monkeypatch.setattr(f"textual.drivers.headless_driver.HeadlessDriver.{name}", lambda self: None)


def app_of(tmp_path: Path, *, write: bool = True, place: str = "now") -> ScriptedApp:
    return ScriptedApp(Estate(), write=write, place=place, state_folder=tmp_path)


def running(app: ScriptedApp) -> Pod:
    """A member of a gang that runs."""
    pods = app.attachment.store.records(Kind.POD).values()
    return next(one for one in pods if isinstance(one, Pod) and one.rank == 1 and one.phase == "Running")


def told(app: ScriptedApp) -> str:
    return " ".join(one.message for one in app._notifications)


async def test_on_the_jobs_page_the_rank_under_the_cursor(
    tmp_path: Path, house: House, given_away: None
) -> None:
    app = app_of(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        job = app.attachment.jobs.job_of_pod(running(app))
        assert job is not None
        app.push_screen(JobScreen(job.key))
        await settle(pilot)
        members = app.attachment.jobs.members(job.key)
        await pilot.press("down", "E")
        await settle(pilot)
        assert [(one.namespace, one.pod) for one in house.asked] == [(job.namespace, members[1].name)]
        assert house.asked[0].is_tty and house.asked[0].has_stdin
        assert told(app) == "", "a shell that ended well needs no word"
        assert isinstance(app.screen, JobScreen)
    lines = [json.loads(one) for one in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert [one["verb"] for one in lines] == ["enter", "enter"]
    assert {one["local_user"] for one in lines} == {local_user()}


async def test_on_a_nodes_page_its_pods_and_the_holder_of_a_device(
    tmp_path: Path, house: House, given_away: None
) -> None:
    app = app_of(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        node = running(app).node
        app.push_screen(NodeScreen(node))
        await settle(pilot)
        await pilot.press("E")
        await settle(pilot)
        app.screen.query_one("#pods").focus()
        await pilot.press("E")
        await settle(pilot)
        names = {one.name for one in app.attachment.store.pods_on(node)}
        assert len(house.asked) == 2 and {one.pod for one in house.asked} <= names


async def test_read_only_has_no_such_key(tmp_path: Path, house: House) -> None:
    app = app_of(tmp_path, write=False, place="pods")
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("E")
        await settle(pilot)
        assert house.asked == []
        assert "E" not in {key for key, one in app.screen.active_bindings.items() if one.enabled}


async def test_several_containers_ask_which(tmp_path: Path, house: House, given_away: None) -> None:
    app = app_of(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        both = msgspec.structs.replace(running(app), containers="main,side")
        app.attachment.store.apply(Batch(kind=Kind.POD, changed=(both,)))
        app.enter_pod(both)
        await settle(pilot)
        await pilot.press("down", "enter")
        await settle(pilot)
        assert [(one.pod, one.container) for one in house.asked] == [(both.name, "side")]
        app.enter_pod(both)
        await settle(pilot)
        await pilot.press("escape")
        await settle(pilot)
        assert len(house.asked) == 1, "who leaves the question enters nothing"


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"phase": "Succeeded"}, "has ended"),
        ({"phase": "Failed", "containers": "main,side"}, "has ended"),
        ({"node": "", "phase": "Pending"}, "is not scheduled yet"),
    ],
)
async def test_where_nothing_runs_nothing_is_asked(
    tmp_path: Path, house: House, change: dict[str, str], part: str
) -> None:
    app = app_of(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        app.enter_pod(msgspec.structs.replace(running(app), **change))
        await settle(pilot)
        assert part in told(app)
        assert house.asked == []


async def test_a_refusal_and_a_bad_end_are_told(tmp_path: Path, house: House, given_away: None) -> None:
    app = app_of(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        house.refusal = "No command runs in a/b: you may not"
        app.enter_pod(running(app))
        await settle(pilot)
        assert "you may not" in told(app)
        house.refusal, house.code = "", 130
        app.enter_pod(running(app))
        await settle(pilot)
        assert "the shell ended with exit code 130" in told(app)


async def test_screens_without_a_terminal_of_their_own_say_so(tmp_path: Path, house: House) -> None:
    app = app_of(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        app.enter_pod(running(app))
        await settle(pilot)
        assert enter.NO_TERMINAL in told(app)
        assert not app._batch_count, "the screens are painted on"
