"""Filters saved by name: in the filter line and by the palette, kept for each list, deleted, refused."""

from pathlib import Path
from typing import Any

import pytest
from cockpit_widgets import ResourceTable
from textual.pilot import Pilot

from cockpit.local_state.state import Choices
from cockpit.screens.place import Place
from cockpit.screens.saved_filters import MOST_FILTERS, fault_of, recalled
from tests.tui import looking
from tests.tui.deck import ScriptedApp, settle
from tests.tui.estate import Estate

SIZE = (80, 24)


async def press(app: ScriptedApp, pilot: Pilot[Any], *keys: str) -> None:
    await pilot.press(*keys)
    await settle(pilot)


def shown(app: ScriptedApp) -> Place:
    assert isinstance(app.screen, Place)
    return app.screen


def rows(app: ScriptedApp) -> int:
    return len(app.screen.query_one("#table", ResourceTable).source)


def told(app: ScriptedApp) -> list[str]:
    return [item.message for item in app._notifications]


async def test_a_filter_is_saved_recalled_in_the_next_run_and_deleted(tmp_path: Path) -> None:
    app = ScriptedApp(Estate(), place="jobs", state_folder=tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        every = rows(app)
        await press(app, pilot, "slash", *"state:running", "ctrl+s")
        assert "Save the filter by name" in looking.text(app)
        await press(app, pilot, *"live", "enter", "enter")
        few = rows(app)
        assert 0 < few < every and shown(app).state.filter == "state:running"
    again = ScriptedApp(Estate(), place="jobs", state_folder=tmp_path)
    async with again.run_test(size=SIZE) as pilot:
        await settle(pilot)
        assert rows(again) == every, "a filter does not outlive the run"
        await press(again, pilot, "slash", *"@live", "enter")
        assert rows(again) == few and shown(again).state.filter == "state:running"
        await press(again, pilot, "escape", "colon", *"filter @live", "enter")
        assert rows(again) == few
        await press(again, pilot, "3", "slash", *"@live", "enter")
        assert told(again)[-1] == "Filter: @live is not saved for this list; saved: none."
        await press(again, pilot, "2", "colon", *"delete filter", "enter")
        assert Choices(tmp_path / "choices.json").of("jobs").filters == {}


async def test_an_unknown_name_leaves_the_rows_and_says_which_are_known() -> None:
    app = ScriptedApp(Estate(), place="jobs")
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        every = rows(app)
        app.kept_views.keep_filters("jobs", {"live": "state:running"})
        await press(app, pilot, "slash", *"@nope")
        assert rows(app) == every and "saved: @live" in looking.text(app)
        await press(app, pilot, "escape")
        assert "saved: @live" not in looking.text(app)


async def test_a_bad_name_is_refused_and_asked_for_again() -> None:
    app = ScriptedApp(Estate(), place="jobs")
    async with app.run_test(size=SIZE) as pilot:
        await press(app, pilot, "slash", *"gpus>8", "ctrl+s", *"a/b", "enter")
        assert told(app)[-1] == "'a/b' cannot name a filter: use up to 32 letters, digits, - and _"
        assert "Save the filter by name" in looking.text(app)
        await press(app, pilot, "escape", "escape")
        assert shown(app).saved_filters == {}


async def test_columns_and_saved_filters_do_not_drop_each_other(tmp_path: Path) -> None:
    app = ScriptedApp(Estate(), place="jobs", state_folder=tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        app.kept_views.keep_filters("jobs", {"live": "state:running"})
        await press(app, pilot, "vertical_line", *"owner", "enter", "s")
    kept = Choices(tmp_path / "choices.json").of("jobs")
    assert kept.filters == {"live": "state:running"} and kept.shown == ("owner",)
    assert app.kept_views.of("jobs", app.attachment.context).sort


@pytest.mark.parametrize(
    ("name", "filter_", "sentence"),
    [
        ("ok-1", "a", ""),
        ("ok", "", "no filter to save"),
        ("", "a", "cannot name a filter"),
        ("x" * 33, "a", "cannot name a filter"),
        ("é", "a", "cannot name a filter"),
        ("ok", "a" * 501, "at most 500 characters"),
    ],
)
def test_what_can_be_saved(name: str, filter_: str, sentence: str) -> None:
    assert sentence in fault_of(name, filter_, {}) and bool(sentence) == bool(fault_of(name, filter_, {}))


def test_the_number_of_saved_filters_is_bounded() -> None:
    full = {f"f{at}": "a" for at in range(MOST_FILTERS)}
    assert "delete one first" in fault_of("more", "a", full)
    assert fault_of("f1", "b", full) == ""


def test_only_a_name_alone_is_recalled() -> None:
    saved = {"live": "state:running"}
    assert recalled("@live", saved).filter == "state:running"
    assert recalled("@live x", saved).filter == "@live x"
    assert recalled("a@live", saved).filter == "a@live"
    assert recalled("@", saved).filter is None


async def test_choices_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    (tmp_path / "choices.json").write_text("{")
    app = ScriptedApp(Estate(), place="jobs", state_folder=tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        assert any("its saved choices are ignored" in sentence for sentence in told(app))
