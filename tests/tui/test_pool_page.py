"""The page of a pool on a screen: its ladder, who waits, and the key of a log that is not there."""

import asyncio
from typing import Any

import pytest

from tests.tui import looking
from tests.tui.deck import settle
from tests.tui.pools_estate import FailingEstate, PoolsApp, PoolsEstate

PATIENCE_SECONDS = 60.0


async def open_page(pilot: Any, app: PoolsApp) -> str:
    for key in ("5", "slash", *"b200", "enter", "enter"):
        await pilot.press(key)
        await settle(pilot)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while "HPA" not in looking.text(app):
            await pilot.pause(0.05)
    return looking.text(app)


@pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=str)
async def test_a_growth_half_way_is_told_with_what_is_usual(size: tuple[int, int]) -> None:
    app = PoolsApp(PoolsEstate())
    async with app.run_test(size=size) as pilot:
        drawn = await open_page(pilot, app)
        for said in (
            "accepted 14:05:41",
            "joined 1/2",
            "usually",
            "GPU driver is being installed",
            "gpu-b200-02",
        ):
            assert said in drawn, f"{said}\n{drawn}"
        assert looking.size_fault(app) == ""


async def test_a_failed_machine_and_a_log_that_is_nowhere_say_so() -> None:
    app = PoolsApp(FailingEstate())
    async with app.run_test(size=(120, 40)) as pilot:
        drawn = await open_page(pilot, app)
        assert "✗" in drawn and "no pod of Karpenter runs in this cluster" in drawn
        before = len(app.screen_stack)
        await pilot.press("l")
        await settle(pilot)
        assert len(app.screen_stack) == before, "a barred key opens nothing"
        assert "no pod of Karpenter" in " ".join(one.message for one in app._notifications)
