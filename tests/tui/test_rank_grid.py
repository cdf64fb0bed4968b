"""The page of a job of 512 ranks: a cell each, the odd ones named, the cursor's line, and back to lines."""

import pytest

from cockpit.model.pod import Pod
from cockpit.screens.job import JobScreen
from cockpit.screens.node import NodeScreen
from tests.tui import looking
from tests.tui.crowd_estate import AGAIN, ELSEWHERE, LAGS, RANKS, STARTING, CrowdEstate
from tests.tui.deck import ScriptedApp, settle
from tests.tui.estate import Estate
from tests.tui.test_logs import shown

TO_CROWD = ("2", "slash", *"llm-512", "enter", "enter")
SIZES = [(80, 24), (200, 60)]


def page(app: ScriptedApp) -> JobScreen:
    assert isinstance(app.screen, JobScreen)
    return app.screen


@pytest.mark.parametrize("size", SIZES)
async def test_all_ranks_stand_there_and_the_odd_ones_are_named(size: tuple[int, int]) -> None:
    app = ScriptedApp(CrowdEstate())
    async with app.run_test(size=size) as pilot:
        seen = await shown(app, pilot, *TO_CROWD, has=f"rank {LAGS}")
        flat = " ".join(seen.split())
        assert f"rank {STARTING} waiting for a node · rank {LAGS} duty 31%, median 92%" in flat
        assert f"rank {AGAIN} restarted 3 times · rank {ELSEWHERE} on A100-SXM4-40GB, most on B200" in flat
        grid = page(app).ranks
        assert sum(stop - first for first, stop in grid.plan.rows) == RANKS + 1
        assert len(grid.plan.rows) + 1 <= grid.size.height, "all rows are in sight, with the caption"
        assert grid.has_focus and looking.is_shown(grid) and not looking.is_shown(page(app).table)


async def test_the_cursor_tells_each_rank_and_opens_its_node() -> None:
    app = ScriptedApp(CrowdEstate())
    async with app.run_test(size=(120, 40)) as pilot:
        await shown(app, pilot, *TO_CROWD, has="launcher ·")
        await shown(app, pilot, "down", has="worker 0 · llm-512-worker-0 · gpu-b200-00 · ● running")
        await shown(app, pilot, "end", has=f"worker {ELSEWHERE} · llm-512-worker-{ELSEWHERE}")
        chosen = page(app).thing("pod")
        assert isinstance(chosen, Pod) and chosen.rank == ELSEWHERE
        await pilot.press("enter")
        await settle(pilot)
        assert isinstance(app.screen, NodeScreen)


async def test_x_turns_to_lines_and_back_on_the_same_rank() -> None:
    app = ScriptedApp(CrowdEstate())
    async with app.run_test(size=(120, 40)) as pilot:
        await shown(app, pilot, *TO_CROWD, "down", "right", has="worker 1 · llm-512-worker-1")
        await shown(app, pilot, "x", has="Rank")
        table = page(app).table
        assert looking.is_shown(table) and not looking.is_shown(page(app).ranks) and table.has_focus
        assert isinstance(one := page(app).thing("pod"), Pod) and one.rank == 1
        await pilot.press("down")
        await shown(app, pilot, "x", has="Rank by device")
        assert isinstance(one := page(app).thing("pod"), Pod) and one.rank == 2
        await shown(app, pilot, "x", has="a cell each")
        assert page(app).ranks.has_focus
        assert isinstance(one := page(app).thing("pod"), Pod) and one.rank == 2


async def test_a_filter_leaves_its_ranks_and_without_any_the_sentence_of_the_table() -> None:
    app = ScriptedApp(CrowdEstate())
    async with app.run_test(size=(120, 40)) as pilot:
        await shown(app, pilot, *TO_CROWD, has=f"rank {LAGS}")
        await shown(app, pilot, "slash", *"duty<50%", "enter", has="duty 31%, median 92%")
        assert page(app).ranks.plan.rows == ((0, 1),)
        await shown(app, pilot, "slash", "ctrl+u", *"nobody", "enter", has="None of 513 members matches")
        await shown(app, pilot, "escape", has="a cell each")
        assert page(app).ranks.has_focus


async def test_few_members_are_lines_until_somebody_asks_and_devices_are_lines_always() -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(120, 40)) as pilot:
        await shown(app, pilot, "2", "slash", *"vision", "enter", "enter", has="Members by rank")
        assert not page(app).is_grid
        await shown(app, pilot, "x", has="Rank by device")
        assert not page(app).is_grid and looking.is_shown(page(app).table)
        seen = await shown(app, pilot, "x", has="a cell each")
        assert "rank 3 duty 31%, median" in seen
        await shown(app, pilot, "x", has="Members by rank")
        assert not page(app).is_grid


@pytest.mark.parametrize("size", SIZES)
async def test_in_a_terminal_nothing_is_too_wide(size: tuple[int, int]) -> None:
    app = ScriptedApp(CrowdEstate())
    async with app.run_test(size=size) as pilot:
        await shown(app, pilot, *TO_CROWD, has=f"rank {LAGS}")
        assert looking.size_fault(app) == ""
