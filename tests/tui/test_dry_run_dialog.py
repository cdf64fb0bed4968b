"""The dialog of a plan stands at once; the server's answer to its dry run comes into it before yes counts."""

import asyncio
from pathlib import Path

import pytest
from cockpit_widgets import ConfirmDialog

from cockpit.model.job import JobState
from cockpit.screens.table_place import TablePlace
from tests.tui.deck import ScriptedApp, settle, until
from tests.tui.looking import flat, lines
from tests.tui.test_job_life import done, jobs, named, on, shown

SIZES = ((80, 24), (200, 60))
IMMUTABLE = (
    'admission webhook "vmpijob.kb.io" denied the request: metadata.labels[kueue.x-k8s.io/priority-class]: '
    'Invalid value: "high": field is immutable'
)
UNSUPPORTED = 'admission webhook "quota.example" does not support dry run'
NO_RIGHT = 'mpijobs is forbidden: User "ann" cannot delete resource "mpijobs"'


def stands(app: ScriptedApp) -> bool:
    return isinstance(app.screen, ConfirmDialog)


def text_of(app: ScriptedApp) -> str:
    """What the dialog says, on one line, without its frame and what lies beside it."""
    box = app.screen.children[0].region
    inside = [line[box.x : box.right] for line in lines(app)[box.y : box.bottom]]
    return " ".join(" ".join(inside).replace("│", " ").split())


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_what_the_server_would_refuse_cannot_be_confirmed(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with jobs(tmp_path, size) as (app, pilot, wire):
        job = named(app, state=JobState.RUNNING)
        wire.dry_answers[job.name] = (403, IMMUTABLE)
        await on(app, pilot, job)
        await pilot.press("K")
        await until(app, pilot, lambda: "refused:" in flat(app))
        text = text_of(app)
        assert f"Kill mpijob {job.namespace}/{job.name}" in text and "cockpit job kill" in text
        assert "× server: refused: " in text and "denied by admission webhook vmpijob.kb.io" in text
        assert "field is immutable" in text
        assert "y kill" not in text and "esc leave" in text
        await pilot.press("y", "K")
        await settle(pilot)
        assert stands(app), "there is nothing to say yes to"
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, TablePlace)
        assert wire.writes == [] and not (tmp_path / "audit.jsonl").exists()


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_a_silent_server_blocks_nothing_and_a_yes_waits_for_it(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with jobs(tmp_path, size) as (app, pilot, wire):
        wire.dry_gate = asyncio.Event()
        await on(app, pilot, named(app, state=JobState.RUNNING))
        await pilot.press("K")
        await shown(app, pilot)
        assert "asking the server for a dry run (10 s at most)" in text_of(app) and "y kill" in text_of(app)
        await pilot.press("y")
        await settle(pilot)
        assert stands(app) and wire.writes == []
        assert "y kill after the check" in text_of(app)
        wire.dry_gate.set()
        await until(app, pilot, lambda: bool(wire.writes))
        assert len(wire.rehearsed) == 1 and len(wire.writes) == 1


async def test_leaving_does_not_wait_for_the_server(tmp_path: Path) -> None:
    async with jobs(tmp_path) as (app, pilot, wire):
        wire.dry_gate = asyncio.Event()
        await on(app, pilot, named(app, state=JobState.RUNNING))
        await pilot.press("K")
        await shown(app, pilot)
        await pilot.press("y", "n")
        await settle(pilot)
        assert isinstance(app.screen, TablePlace)
        wire.dry_gate.set()
        await until(app, pilot, lambda: not [one for one in app.workers if one.group == "commands"])
        assert wire.writes == []


@pytest.mark.parametrize("is_deaf", [True, False], ids=["no answer", "no dry run"])
async def test_what_could_not_be_tried_says_so_and_asks_once_more(tmp_path: Path, is_deaf: bool) -> None:
    async with jobs(tmp_path) as (app, pilot, wire):
        job = named(app, state=JobState.RUNNING)
        wire.is_deaf = is_deaf
        wire.dry_answers[job.name] = (400, UNSUPPORTED)
        wire.dry_gate = asyncio.Event()
        await on(app, pilot, job)
        await pilot.press("K")
        await shown(app, pilot)
        await pilot.press("y")
        wire.dry_gate.set()
        await until(app, pilot, lambda: "could not be tried" in flat(app))
        assert "▲ server: could not be tried: " in text_of(app)
        assert ("no answer from the cluster" if is_deaf else UNSUPPORTED.replace('"', "")) in text_of(app)
        assert stands(app) and wire.writes == [], "the yes was said before that was known"
        await done(app, pilot)
        assert len(wire.writes) == 1


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_of_many_marked_jobs_the_refused_are_left_out_before_yes(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with jobs(tmp_path, size) as (app, pilot, wire):
        await pilot.press("home", "space", "down", "space", "down", "space")
        await settle(pilot)
        chosen = [app.attachment.jobs.job(key) for key in app.screen.table.marked]  # type: ignore[attr-defined]
        victim = next(job for job in chosen if job is not None and job.kind != "Pod")
        wire.dry_answers[victim.name] = (403, NO_RIGHT)
        wire.dry_gate = asyncio.Event()
        await pilot.press("K")
        assert "Kill 3 jobs" in await shown(app, pilot)
        assert "asking the server for a dry run (30 s at most)" in text_of(app)
        await pilot.press("y")
        wire.dry_gate.set()
        await until(app, pilot, lambda: "Kill 2 jobs" in flat(app))
        assert "1 job left out" in text_of(app) and "you cannot delete mpijobs" in text_of(app)
        assert stands(app) and wire.writes == [], "the yes was said to three"
        await done(app, pilot)
        sent = [path for _method, path, _body in wire.writes]
        assert sent and not any(path.endswith(f"/{victim.name}") for path in sent)


async def test_of_many_marked_jobs_none_is_left(tmp_path: Path) -> None:
    async with jobs(tmp_path) as (app, pilot, wire):
        names = [job.name for job in app.attachment.jobs.jobs.values()]
        pods = app.attachment.store.records("pods").values()
        wire.dry_answers |= dict.fromkeys((*names, *(one.name for one in pods)), (403, "no"))
        await pilot.press("home", "space", "down", "space", "K")
        await until(app, pilot, lambda: "refused:" in flat(app))
        assert "y kill" not in flat(app)
        await pilot.press("y", "escape")
        await settle(pilot)
        assert wire.writes == []
