"""Idle nodes given back by key: what is read before yes, at both ends of the sizes, and what is sent."""

from pathlib import Path

from tests.tui.deck import settle, until
from tests.tui.idle_app import IdleApp, IdleEstate
from tests.tui.looking import flat
from tests.tui.test_growing_a_pool import EACH


@EACH
async def test_the_plan_names_the_idle_node_what_it_saves_and_the_way_back(
    size: tuple[int, int], tmp_path: Path
) -> None:
    app = IdleApp(IdleEstate(), write=True, place="pools", state_folder=tmp_path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        app.screen.set_sort("name", descending=False)  # type: ignore[attr-defined]
        await pilot.press("home", "R")
        await until(app, pilot, lambda: "server: the cluster would accept it" in flat(app))
        shown = flat(app)
        for part in (
            "Reclaim 1 idle node of pool a100: cordon",
            "cordon 1 idle node (8 GPUs): gpu-a100-09",
            "gpu-a100-09: 8 GPUs, idle for 42 min (seen empty by this cockpit)",
            "saves 8 GPU-hours an hour, $32 an hour",
            "1 more idle",
        ):
            assert part in shown, part
        assert app.sent == []
        await pilot.press("y")
        await until(app, pilot, lambda: bool(app.sent))
        assert app.sent == ["PATCH /api/v1/nodes/gpu-a100-09"]


async def test_a_pool_without_idle_nodes_says_so(tmp_path: Path) -> None:
    app = IdleApp(IdleEstate(), write=True, place="pools", state_folder=tmp_path)
    app.pool_watch.empty.look(app.attachment.store, app.clock.cluster_now() + 1e9)  # all is forgotten
    async with app.run_test(size=(160, 45)) as pilot:
        await settle(pilot)
        app.screen.set_sort("name", descending=False)  # type: ignore[attr-defined]
        await pilot.press("home", "R")
        await until(app, pilot, lambda: bool(app._notifications))
        (said,) = app._notifications
        assert said.message == "pool a100 has no node to reclaim (2 nodes idle for less than was asked)"
        assert app.sent == []
