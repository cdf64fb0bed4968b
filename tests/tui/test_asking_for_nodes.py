"""`S` on a pool that grows by demand: the preview, yes, what the page tells then, and the same key back."""

from pathlib import Path

import pytest
from cockpit_widgets import ConfirmDialog

from cockpit.screens.pool import PoolScreen
from cockpit.screens.scale import AskScreen
from tests.tui import looking
from tests.tui.ask_app import JOBS, POOL, AskApp, AskEstate
from tests.tui.deck import settle, until
from tests.tui.looking import flat


@pytest.mark.parametrize("size", [(100, 40), (160, 45)], ids=["100x40", "160x45"])
async def test_nodes_are_asked_for_told_on_the_page_and_taken_back(
    size: tuple[int, int], tmp_path: Path
) -> None:
    app = AskApp(AskEstate(), write=True, place="pools", state_folder=tmp_path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await pilot.press("slash", *POOL, "enter", "enter")
        await until(app, pilot, lambda: isinstance(app.screen, PoolScreen) and "demand" in flat(app))
        assert "asked for" not in flat(app)
        assert "S ask for nodes" in flat(app), "the key is told by what it does here"

        await pilot.press("S")
        await until(app, pilot, lambda: isinstance(app.screen, AskScreen))
        await pilot.press("ctrl+u", "3", "ctrl+s")
        await until(app, pilot, lambda: "server: the cluster would accept it" in flat(app))
        shown = flat(app)
        for part in (
            "Ask Karpenter for 3 nodes more in pool spot",
            "+ 3 nodes of gpu-a100-8x x 8 GPUs = + 24 GPUs",
            "3 placeholder pods of 8 GPUs wait for nodes",
            "would start: team-c/sweep-13 (24 GPUs)",
            "undo: cockpit pool ask spot --withdraw",
            "cockpit pool ask spot --nodes 3",
        ):
            assert part in shown, f"{part}\n{looking.text(app)}"
        assert (app.sent, app.jobs_made) == ([], [])

        await pilot.press("y")
        await until(app, pilot, lambda: "S withdraws it" in flat(app))
        (job,) = app.jobs_made
        assert f"POST {JOBS}" in app.sent
        by = job["metadata"]["annotations"]["gpu-cockpit/asked-by"]
        assert f"3 nodes by {by}, until 15:13" in flat(app), looking.text(app)

        await pilot.press("S")
        await until(app, pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await until(app, pilot, lambda: "Withdraw what asks for nodes of pool spot" in flat(app))
        await until(app, pilot, lambda: "server: the cluster would accept it" in flat(app))
        await pilot.press("y")
        await until(app, pilot, lambda: not app.jobs_made)
        await until(app, pilot, lambda: isinstance(app.screen, PoolScreen) and "asked for" not in flat(app))
        assert f"DELETE {JOBS}/{job['metadata']['name']}" in app.sent


async def test_no_line_of_the_form_s_preview_is_cut_at_80_columns(tmp_path: Path) -> None:
    app = AskApp(AskEstate(), write=True, place="pools", state_folder=tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("slash", *POOL, "enter", "enter")
        await until(app, pilot, lambda: isinstance(app.screen, PoolScreen) and "demand" in flat(app))
        await pilot.press("S")
        await until(app, pilot, lambda: isinstance(app.screen, AskScreen))
        await until(app, pilot, lambda: "placeholder pod of 8 GPUs" in flat(app))
        assert "any pod of priority 0 preempts them" in flat(app), looking.text(app)
