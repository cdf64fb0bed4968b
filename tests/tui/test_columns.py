"""The columns of a list: marked, kept, ours again; a folded one comes in sight and sorts the list."""

from pathlib import Path
from typing import Any

import pytest
from cockpit_widgets import ResourceTable
from textual.pilot import Pilot

from cockpit.local_state.state import Choices
from cockpit.screens.kept_views import KeptViews
from cockpit.screens.table_place import ColumnChoice, TablePlace, chosen
from cockpit.views.view_state import ViewState
from tests.tui import looking
from tests.tui.deck import ScriptedApp, settle
from tests.tui.estate import Estate

SIZE = (80, 24)


async def press(app: ScriptedApp, pilot: Pilot[Any], *keys: str) -> None:
    await pilot.press(*keys)
    await settle(pilot)


def head(app: ScriptedApp) -> list[str]:
    """The titles in sight."""
    return looking.table_lines(app, app.screen.query_one("#table", ResourceTable))[0].split()


async def test_a_folded_column_is_brought_in_sight_and_kept(tmp_path: Path) -> None:
    app = ScriptedApp(Estate(), place="jobs", state_folder=tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        ours = head(app)
        assert "Owner" not in ours
        await press(app, pilot, "vertical_line")
        assert "Columns of jobs" in looking.text(app) and "State ✓" in looking.text(app)
        await press(app, pilot, *"owner", "enter")
        assert head(app) == [*ours[:-1], "Owner", "Why"]
    again = ScriptedApp(Estate(), place="jobs", state_folder=tmp_path)
    async with again.run_test(size=SIZE) as pilot:
        await settle(pilot)
        assert head(again) == [*ours[:-1], "Owner", "Why"]
        await press(again, pilot, "vertical_line", *"our", "enter")
        assert head(again) == ours


async def test_a_hidden_column_still_filters_and_sorts(tmp_path: Path) -> None:
    app = ScriptedApp(Estate(), place="jobs", state_folder=tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await press(app, pilot, "vertical_line", *"state", "space", "enter")
        assert "State" not in head(app)
        await press(app, pilot, "slash", *"state:running", "enter")
        table = app.screen.query_one("#table", ResourceTable)
        assert 0 < len(table.source) < table.source.total  # type: ignore[attr-defined]
        await press(app, pilot, "escape", "colon", *"sort by state", "enter")
        screen = app.screen
        assert isinstance(screen, TablePlace)
        assert screen.state.sort == "state" and "State" not in head(app)


async def test_a_list_is_sorted_by_a_folded_column_which_then_is_in_sight() -> None:
    app = ScriptedApp(Estate(), place="jobs")
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        assert "Runs" not in head(app)
        await press(app, pilot, "colon", *"sort by runs", "enter")
        assert "▲Runs" in head(app)
        await press(app, pilot, "0")
        assert "Runs" not in head(app)


async def test_what_only_filters_can_be_a_column() -> None:
    app = ScriptedApp(Estate(), place="pods")
    async with app.run_test(size=SIZE) as pilot:
        await press(app, pilot, "vertical_line", *"scheduler", "enter")
        assert "Scheduler" in head(app)


async def test_leaving_the_choice_changes_nothing() -> None:
    app = ScriptedApp(Estate(), place="nodes")
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        ours = head(app)
        for keys in (("space", "down", "space", "escape"), ("enter",), (*"nosuchcolumn", "enter", "escape")):
            await press(app, pilot, "vertical_line", *keys)
            assert head(app) == ours, keys
            assert app.screen.query("#table")


@pytest.mark.parametrize(
    ("known", "before", "after", "wanted"),
    [
        (ColumnChoice(), "abc", "abc", ColumnChoice()),
        (ColumnChoice(), "abc", "ab", ColumnChoice(hidden=("c",))),
        (ColumnChoice(), "ab", "abx", ColumnChoice(shown=("x",))),
        (ColumnChoice(("x",), ("c",)), "abx", "ab", ColumnChoice(hidden=("c", "x"))),
        (ColumnChoice((), ("c",)), "ab", "abc", ColumnChoice(shown=("c",))),
        (ColumnChoice(("x",), ("c",)), "abx", "", ColumnChoice()),
    ],
)
def test_marks_make_the_choice(known: ColumnChoice, before: str, after: str, wanted: ColumnChoice) -> None:
    assert chosen(known, before, after) == wanted


@pytest.mark.parametrize("size", [SIZE, (160, 45)])
async def test_marked_rows_are_counted_in_sight(size: tuple[int, int]) -> None:
    app = ScriptedApp(Estate(), place="jobs")
    async with app.run_test(size=size) as pilot:
        await press(app, pilot, "home", "space", "space")
        assert "2 marked" in looking.text(app)
        await press(app, pilot, "ctrl+a")
        table = app.screen.query_one("#table", ResourceTable)
        assert f"{len(table.source)} marked" in looking.text(app)
        await press(app, pilot, "ctrl+a")
        assert " marked" not in looking.text(app)


def test_the_order_is_kept_for_its_context_and_columns_for_all(tmp_path: Path) -> None:
    """Also in the next run; our own order again forgets it."""
    path = tmp_path / "choices.json"
    kept = KeptViews(Choices(path))
    kept.keep("jobs", "prod", ViewState(sort="duty", descending=True, shown=("team",), filter="x"))
    for views in (kept, KeptViews(Choices(path))):
        there, here = views.of("jobs", "prod"), views.of("jobs", "dev")
        assert (there.sort, there.descending, here.sort, here.descending) == ("duty", True, "", False)
        assert there.shown == here.shown == ("team",)
        assert views.of("nodes", "prod").sort == ""
    assert KeptViews(Choices(path)).of("jobs", "prod").filter == ""
    kept.keep("jobs", "prod", ViewState())
    assert KeptViews(Choices(path)).of("jobs", "prod") == ViewState()
