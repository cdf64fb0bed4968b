"""A pool grown by key, from the pools and from *Why*: what is read before yes, at both ends of the sizes."""

from pathlib import Path

import pytest
from cockpit_widgets import ConfirmDialog

from cockpit.screens.one_number import OneNumberScreen
from cockpit.screens.pools import PoolsScreen
from cockpit.screens.scale import LimitScreen, ScaleScreen
from cockpit.screens.why import WhyScreen
from tests.tui import looking
from tests.tui.deck import settle, until
from tests.tui.looking import flat
from tests.tui.why_app import GrowingApp, WhyEstate

SIZES = [(80, 24), (200, 60)]
EACH = pytest.mark.parametrize("size", SIZES, ids=["80x24", "200x60"])
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


@EACH
async def test_the_preview_tells_who_would_start_what_it_costs_and_how_long(
    size: tuple[int, int], tmp_path: Path
) -> None:
    app = GrowingApp(WhyEstate(), write=True, place="pools", state_folder=tmp_path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await pilot.press("s", "home", "S")  # by name: a100 first
        await until(app, pilot, lambda: isinstance(app.screen, ScaleScreen))
        await pilot.press("ctrl+u", "1", "6", "ctrl+s")
        await until(app, pilot, lambda: "server: the cluster would accept it" in looking.text(app))
        shown = flat(app)
        for part in (
            "MachineDeployment fleet/a100: from 13 to 16 nodes (allowed 0 to 40)",
            "would start: team-c/sweep-13 (24 GPUs)",
            "not counted: 2 wait for quota or a gate, not for nodes",
            "costs $96 an hour more, $32 a node",
            "usually there in 9 min, from 3 growths of this pool",
            "other cockpits are kept out by lease default/gpu-cockpit-a100-",
            "cockpit pool scale a100 --to 16",
        ):
            assert part in shown, part
        assert app.sent == []
        await pilot.press("y")
        await until(app, pilot, lambda: len(app.sent) >= 2)
        assert app.sent[0] == f"POST {LEASES}"
        assert app.sent[1].endswith("/machinedeployments/a100/scale")


async def test_what_is_typed_takes_the_place_of_the_number_that_stands_there(tmp_path: Path) -> None:
    app = GrowingApp(WhyEstate(), write=True, place="pools", state_folder=tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        for key, number, title in (
            ("S", "16", "Grow pool a100 from 13 to 16"),
            ("M", "42", "Raise the maximum of pool a100 from 40 to 42"),
        ):
            await settle(pilot)
            app.screen.set_sort("name", descending=False)  # type: ignore[attr-defined]
            await pilot.press("home", key)
            await until(app, pilot, lambda: isinstance(app.screen, OneNumberScreen))
            await pilot.press("enter")
            await until(app, pilot, lambda: "nothing was changed: type another number" in flat(app))
            await pilot.press(*number, "enter")
            await until(app, pilot, lambda: isinstance(app.screen, ConfirmDialog))
            assert title in flat(app)
            await pilot.press("n", "escape", "y")
            await until(app, pilot, lambda: isinstance(app.screen, PoolsScreen))
        assert app.sent == []


@EACH
async def test_an_offer_of_why_opens_the_plan_with_its_number(size: tuple[int, int]) -> None:
    app = GrowingApp(WhyEstate(), write=True, place="jobs")
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await pilot.press("slash", *"sweep-13", "enter", "w")
        await until(app, pilot, lambda: "grow pool a100 by 2 nodes, to 15" in looking.text(app))
        assert isinstance(app.screen, WhyScreen)
        (offer,) = [one for one in app.screen.offers if one.kind == "scale_pool"]
        assert offer.words == "grow pool a100 by 2 nodes, to 15 (about 9 min, $64 an hour)"
        while app.screen.offer != offer:
            await pilot.press("down")
            await settle(pilot)
        await pilot.press("enter")
        await until(app, pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await until(app, pilot, lambda: "Grow pool a100 from 13 to 15" in looking.text(app))
        assert "would start: team-c/sweep-13 (24 GPUs)" in flat(app)


@EACH
async def test_the_maximum_is_a_form_with_its_meaning(size: tuple[int, int], tmp_path: Path) -> None:
    app = GrowingApp(WhyEstate(), write=True, place="pools", state_folder=tmp_path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await pilot.press("s", "home", "M")  # by name: a100 first
        await until(app, pilot, lambda: isinstance(app.screen, LimitScreen))
        await pilot.press("ctrl+u", "3")
        await settle(pilot)
        assert "a maximum of 3 is below what it has, 13 nodes: shrink it first" in flat(app)
        await pilot.press("ctrl+u", "4", "2", "ctrl+s")
        await until(app, pilot, lambda: "Raise the maximum of pool a100 from 40 to 42" in looking.text(app))
        await until(app, pilot, lambda: "server: the cluster would accept it" in looking.text(app))
        assert "if the pool grows to it: would start: team-c/sweep-13" not in flat(app), "it has room already"
        await pilot.press("y")
        await until(app, pilot, lambda: bool(app.sent))
        assert [one.split("/")[-1] for one in app.sent] == ["a100"]
