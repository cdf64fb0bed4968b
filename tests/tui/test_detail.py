"""Beside a list its detail: where it stands, when it comes, what it says, how it is folded away."""

from pathlib import Path
from typing import Any

import pytest
from cockpit_widgets import ResourceTable
from cockpit_widgets.panel import Panel
from textual.pilot import Pilot

from cockpit.clock import ManualClock
from cockpit.screens.detail_side import REST_SECONDS
from tests.tui import looking
from tests.tui.deck import ScriptedApp, settle
from tests.tui.estate import Estate
from tests.tui.pseudo_terminal import PseudoTerminal

SIDES = {(80, 24): "", (120, 30): "", (120, 40): "below", (160, 45): "beside", (200, 60): "beside"}
SAYS = {
    "1": ("team-c/sweep-12", "proved by numbers", "Nodes 38 ─"),
    "2": ("team-c/sweep-12", "─ Members ─", "waiting for"),
    "3": ("gpu-h100-07", "─ GPUs ─", "Xid 79"),
    "4": ("team-a/gpu-lq", "─ Holders ─", "─ Waiting ─", "team-a/llm-400b"),
    "5": ("pool h100", "demand", "owner "),
    "6": ("Pod sweep-12-0-q2v9z", "Preemption is not helpful for scheduling.", "default-scheduler"),
    "7": ("team-c/sweep-12-0-q2v9z", "says", "Preemption is not helpful"),
}
"""Of the row that is under the cursor first: title, and words that no row of the list has."""


def drawn_detail(app: ScriptedApp) -> str:
    """The panel of the detail as drawn, its border too; "" where none is shown."""
    panel = app.screen.query_one("#detail", Panel)
    if not looking.is_shown(panel):
        return ""
    region = panel.region
    lines = looking.lines(app)[region.y : region.bottom]
    return "\n".join("".join(looking.cells(line)[region.x : region.right]) for line in lines)


async def rest(app: ScriptedApp, pilot: Pilot[Any], seconds: float = REST_SECONDS) -> None:
    """The cursor rests for so long."""
    assert isinstance(app.clock, ManualClock)
    app.clock.advance(seconds)
    app.screen.side.show()  # type: ignore[attr-defined]
    await settle(pilot)


@pytest.mark.parametrize(("size", "list_side"), SIDES.items(), ids=str)
async def test_the_detail_of_the_first_row_stands_where_there_is_room(
    size: tuple[int, int], list_side: str
) -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        for key, (title, *words) in SAYS.items():
            await pilot.press(key)
            await settle(pilot)
            detail = drawn_detail(app)
            side = list_side or ("below" if key == "1" else "")  # *Now* has room for one from 24 lines on
            assert bool(detail) is bool(side), f"{key}\n{looking.text(app)}"
            assert looking.size_fault(app) == ""
            for table in looking.shown_tables(app):
                assert looking.columns_fault(app, table) == "", f"{key}\n{looking.text(app)}"
            if side:
                said = " ".join(detail.replace("│", " ").split())
                assert title in detail.split("\n", 1)[0], detail
                assert all(word in said for word in words), f"{key}\n{detail}"
                region = app.screen.query_one("#detail").region
                assert (region.x > 0) is (side == "beside")
                if side == "beside":
                    assert abs(region.width - app.size.width * 0.4) <= 1


async def test_it_comes_once_the_cursor_rests_and_never_while_it_moves() -> None:
    app = ScriptedApp(Estate(), place="jobs")
    async with app.run_test(size=(160, 45)) as pilot:
        await settle(pilot)
        made: list[str] = []
        side = app.screen.side  # type: ignore[attr-defined]
        make = side._make

        def noted(key: str) -> Any:
            made.append(key)
            return make(key)

        side._make = noted
        for _ in range(3):
            await pilot.press("down")
        app.screen._tick()  # type: ignore[attr-defined]
        await settle(pilot)
        assert "team-c/sweep-12" in drawn_detail(app).split("\n", 1)[0], "the last one stays until then"
        assert not made
        await rest(app, pilot, REST_SECONDS * 0.9)
        assert "team-c/sweep-12" in drawn_detail(app).split("\n", 1)[0]
        await rest(app, pilot, REST_SECONDS * 0.2)
        assert "team-b/asr-large" in drawn_detail(app).split("\n", 1)[0]
        assert made[-1].endswith("team-b/asr-large")


@pytest.mark.parametrize("key", ["1", "2", "5"])
async def test_a_key_folds_it_away_for_this_place_and_the_choice_outlives_the_session(
    key: str, tmp_path: Path
) -> None:
    for is_shown in (True, False):
        app = ScriptedApp(Estate(), state_folder=tmp_path)
        async with app.run_test(size=(160, 45)) as pilot:
            await pilot.press(key)
            await settle(pilot)
            assert bool(drawn_detail(app)) is is_shown
            if is_shown:
                await pilot.press("backslash")
                await settle(pilot)
                assert not drawn_detail(app)
            await pilot.press("3")
            await settle(pilot)
            assert drawn_detail(app), "another place has its own choice"
    app = ScriptedApp(Estate(), state_folder=tmp_path)
    async with app.run_test(size=(160, 45)) as pilot:
        await pilot.press(key, "backslash")
        await settle(pilot)
        assert drawn_detail(app), "the same key brings it back"


async def test_a_list_without_rows_has_no_detail_and_says_why_over_the_whole_width() -> None:
    app = ScriptedApp(Estate(), place="jobs")
    async with app.run_test(size=(160, 45)) as pilot:
        await settle(pilot)
        await pilot.press("slash", *"nothing-like-it", "enter")
        await settle(pilot)
        assert not drawn_detail(app)
        assert "None of 9 jobs matches" in looking.text(app)


@pytest.mark.parametrize(
    ("key", "first", "by_name"),
    [("3", "gpu-h100-07", "gpu-a100-00"), ("5", "h100", "a100"), ("7", "team-c/sweep-12-0", "team-a/llm-7b")],
)
async def test_trouble_comes_first_until_a_person_sorts_and_0_brings_it_back(
    key: str, first: str, by_name: str
) -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(120, 30)) as pilot:
        for keys, expected in (((key,), first), (("s",), by_name), (("0",), first)):
            await pilot.press(*keys)
            await settle(pilot)
            source = app.screen.query_one("#table", ResourceTable).source
            assert source.cells(0)[0].text.startswith(expected), looking.text(app)


def test_in_a_real_terminal_it_stands_beside_the_list_and_folds_away() -> None:
    with PseudoTerminal(["-m", "tests.tui.scripted", "--place", "jobs"], (160, 45)) as terminal:
        terminal.shows("─ team-c/sweep-12 ─", "─ Members ─", "submitted 33m ago")
        terminal.press("\\")
        terminal.until(lambda seen: "─ Members ─" not in seen and "team-c/sweep-12" in seen, "the list alone")
        terminal.press("\\")
        terminal.shows("─ team-c/sweep-12 ─", "─ Members ─")
        terminal.press("q")
        assert terminal.ends() == 0


async def test_a_sentence_is_folded_before_the_detail_below_takes_its_lines() -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("2")
        await settle(pilot)
        table = app.screen.query_one("#table", ResourceTable)
        assert app.screen.has_class("below")
        for _ in range(len(table.source)):
            assert not table.is_cut("why"), table.cursor_key
            await pilot.press("down")
            await settle(pilot)
