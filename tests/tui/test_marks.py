"""Marks: on every page they are counted in sight, and what a key does is for them."""

from typing import Any

import pytest
from cockpit_widgets import ResourceTable
from msgspec.structs import replace
from textual.pilot import Pilot

from cockpit.clock import ManualClock
from cockpit.model.batch import Batch
from cockpit.model.record import Kind
from cockpit.screens.now import NowScreen
from cockpit.screens.place import Place
from tests.tui import looking
from tests.tui.deck import ScriptedApp, settle
from tests.tui.estate import Estate
from tests.tui.fleet_estate import FleetApp, FleetEstate
from tests.tui.test_layout import STOPS, cockpit, go


@pytest.mark.parametrize("size", [(80, 24), (160, 45)], ids=str)
async def test_marks_are_counted_in_sight_on_every_page(size: tuple[int, int]) -> None:
    seen, missing = 0, []
    async with cockpit(size, write=True) as (app, pilot):
        for stop in STOPS:
            if stop.name in ("filter", "why"):
                continue
            await go(app, pilot, stop)
            page, table = app.screen, app.screen.focused
            if not isinstance(table, ResourceTable) or not len(table.source):
                continue
            await pilot.press("space")
            await settle(pilot)
            assert isinstance(page, Place)
            is_marked = bool(table.marked)
            seen += is_marked
            if page.marked_count != is_marked or ("1 marked" in looking.text(app)) != is_marked:
                missing.append(stop.name)
            await pilot.press("up", "space")
    assert missing == []
    assert seen >= 8, "but for a list to which nothing is done"


async def first_row_marked(pilot: Pilot[Any]) -> NowScreen:
    await settle(pilot)
    await pilot.press("space")
    await settle(pilot)
    page = pilot.app.screen
    assert isinstance(page, NowScreen)
    return page


async def test_keys_on_now_are_for_the_marked_rows_and_not_for_the_one_below_them() -> None:
    app = ScriptedApp(Estate(), write=True)
    async with app.run_test(size=(120, 40)) as pilot:
        page = await first_row_marked(pilot)
        assert page.cursor_row != next(iter(page.marked_rows))
        assert [job.name for job in page.meant("job")] == ["sweep-12"]
        await pilot.press("K")
        for _ in range(50):
            await settle(pilot)
            if "sweep-12" in looking.text(app) and app.screen is not page:
                break
        assert "Kill job team-c/sweep-12" in looking.text(app)
        await pilot.press("escape")
        await settle(pilot)
        page.clear_marks()
        assert not page.marked_rows


async def test_a_marked_job_that_was_suspended_says_so_in_its_row_and_can_be_resumed() -> None:
    app = ScriptedApp(Estate(), write=True)
    async with app.run_test(size=(120, 40)) as pilot:
        page = await first_row_marked(pilot)
        (job,) = page.meant("job")
        record = app.attachment.store.records(Kind.JOB)[job.uid]
        app.attachment.store.apply(Batch(kind=Kind.JOB, changed=(replace(record, is_suspended=True),)))
        app.attachment.jobs.catch_up()
        assert isinstance(app.clock, ManualClock)
        app.clock.advance(1.0)
        page.show()
        await settle(pilot)
        row = next(line for line in looking.text(app).splitlines() if "team-c/sweep-12" in line)
        assert "suspended" in row
        assert "1 marked" in looking.text(app)
        assert [each.state for each in page.meant("job")] == ["suspended"]
        assert "P resume" in looking.text(app)


async def test_idle_jobs_of_the_fleet_are_marked_together() -> None:
    app = FleetApp(FleetEstate(), write=True)
    async with app.run_test(size=(160, 45)) as pilot:
        await settle(pilot)
        await pilot.press("8")
        for _ in range(100):
            await settle(pilot)
            if len(app.screen.query_one("#waste", ResourceTable).source):
                break
        page, waste = app.screen, app.screen.query_one("#waste", ResourceTable)
        assert isinstance(page, Place)
        page.set_focus(waste)
        await pilot.press("home", "space", "space")
        await settle(pilot)
        assert page.marked_count == 2
        assert "2 marked" in looking.text(app)
        assert len(page.meant("job")) + len(page.meant("node")) >= 2
