"""Every page that tells of idle jobs, before the same estate as the commands are: they agree."""

from pathlib import Path
from typing import Any

import pytest
from cockpit_widgets import ChoiceDialog

from cockpit.model.batch import Batch, ListMark, Phase, StreamStatus
from cockpit.model.record import Kind
from cockpit.screens.why import WhyScreen
from tests.tui import looking
from tests.tui.deck import ScriptedApp, settle
from tests.tui.estate import NOW
from tests.unit.cli import resting
from tests.unit.cli.builders import ALL_KINDS, Cluster
from tests.unit.cli.resting import DARK, IDLE, JOBS
from tests.waiting import until

SAID = "idle: 2 GPUs at 0% duty"


class Resting(Cluster):
    """The estate of `tests.unit.cli.resting` as lists that are whole."""

    def __init__(self) -> None:
        super().__init__()
        resting.rest(self, NOW)

    def batches(self) -> list[Batch]:
        found = []
        for kind in ALL_KINDS:
            records = self.records.get(kind, ())
            status = StreamStatus(kind=kind, phase=Phase.LIVE, objects=len(records), heard_seconds=NOW - 1)
            if kind != Kind.GPU:
                found.append(Batch(kind=kind, mark=ListMark.BEGIN))
            mark = ListMark.END if kind != Kind.GPU else ListMark.NONE
            found.append(Batch(kind=kind, mark=mark, changed=tuple(records), status=status))
        return found


class RestingApp(ScriptedApp):
    """A cockpit before it, with a Prometheus that remembers its pods."""

    def __init__(self, **options: Any) -> None:
        estate: Any = Resting()
        super().__init__(estate, **options)
        self.attachment.lines = self._lines  # type: ignore[method-assign]

    async def _lines(self, pods: Any) -> Any:
        return await resting.lines(pods, NOW)


def drawn(app: RestingApp) -> str:
    return looking.text(app)


def is_read(app: RestingApp) -> bool:
    return isinstance(app.screen, WhyScreen) and app.screen.is_read


def lines_with(app: RestingApp, word: str) -> list[str]:
    return [line for line in drawn(app).splitlines() if word in line]


@pytest.mark.parametrize("size", [(100, 30), (200, 60)], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_now_jobs_fleet_and_pool_call_only_the_idle_job_idle(
    size: tuple[int, int], tmp_path: Path
) -> None:
    app = RestingApp(write=True, state_folder=tmp_path)
    assert await app.api.read_idle_jobs(), "what was told once stays on Now for a minute"
    async with app.run_test(size=size) as pilot:
        await until(lambda: "at 0% duty" in drawn(app), pilot=pilot)
        named = [name for name in JOBS if lines_with(app, f"team-a/{name}")]
        assert named == [IDLE, DARK]
        assert "duty 0%" in lines_with(app, f"team-a/{DARK}")[0]

        await pilot.press("2")
        await until(lambda: SAID in drawn(app), pilot=pilot)
        (row,) = lines_with(app, "idle: ")
        assert f"team-a/{IDLE}" in row or IDLE in row

        await pilot.press("8")
        await until(lambda: "2 allocated GPUs idle: 2.0 GPU-hours so far" in drawn(app), pilot=pilot)
        assert "2 allocated GPUs at 0% duty: whether idle is not known" in drawn(app)
        assert f"team-a/{IDLE}" in lines_with(app, "2 idle ")[0]
        assert f"team-a/{DARK}" in lines_with(app, "2 at 0%")[0]

        await pilot.press("5", "R")
        await until(lambda: isinstance(app.screen, ChoiceDialog), pilot=pilot)
        assert "1 idle job" in drawn(app)


@pytest.mark.parametrize("name", JOBS)
async def test_the_page_why_reads_what_the_job_did_itself(name: str) -> None:
    """Before anybody else has looked for idle jobs."""
    app = RestingApp(place="jobs")
    async with app.run_test(size=(160, 45)) as pilot:
        await settle(pilot)
        await pilot.press("slash", *f"name:{name}", "enter", "w")
        await until(lambda: f"why job team-a/{name}" in drawn(app) and is_read(app), pilot=pilot)
        await until(lambda: (SAID in drawn(app)) == (name == IDLE), pilot=pilot)
