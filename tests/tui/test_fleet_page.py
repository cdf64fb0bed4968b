"""Place 8: the fleet, counted apart from the keys and only when something moved."""

from typing import Any

import pytest
from cockpit_widgets import ResourceTable
from textual.pilot import Pilot

from cockpit.model.batch import Batch
from cockpit.model.record import Kind
from cockpit.screens.fleet import FleetScreen
from cockpit.screens.job import JobScreen
from cockpit.screens.node import NodeScreen
from cockpit.screens.nodes import NodesScreen
from cockpit.store.store import Store
from cockpit.views import fleet_use
from tests.screenshots.scenes import denied
from tests.tui import looking
from tests.tui.deck import ScriptedApp, settle
from tests.tui.estate import Estate
from tests.tui.fleet_estate import FleetApp, FleetEstate
from tests.tui.pseudo_terminal import PseudoTerminal
from tests.waiting import until

SIZES = ((80, 24), (200, 60))


async def opened(app: ScriptedApp, pilot: Pilot[Any], *keys: str) -> FleetScreen:
    for key in ("8", *keys):
        await pilot.press(key)
        await settle(pilot)
    await until(
        lambda: isinstance(app.screen, FleetScreen) and "needed for" in looking.text(app), pilot=pilot
    )
    assert isinstance(app.screen, FleetScreen)
    return app.screen


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_answers_the_cards_what_is_free_and_what_does_nothing(size: tuple[int, int]) -> None:
    app = FleetApp(FleetEstate())
    async with app.run_test(size=size) as pilot:
        await opened(app, pilot, "down")
        assert "36 GPU nodes, 28 needed for the current load: 8 to spare" in looking.text(app)
        await until(lambda: "GPU-hours so far" in looking.text(app), pilot=pilot)
        drawn = looking.text(app)
        assert "11 allocated GPUs idle: at least 33.0 GPU-hours so far" in drawn
        assert "10 GPUs lost on 2 nodes" in drawn
        assert "16 of 19" in drawn and "127/150" in drawn
        assert "H100-80GB-HBM3: nodes by free GPUs" in drawn and "8 GPUs each" in drawn
        assert "7 idle" in drawn and "21.0" in drawn and "node gpu-h100-19" in drawn
        assert ("L40S: nodes by free GPUs" in drawn) == (size[1] > 24), "all cards where there is room"


async def test_it_is_in_the_palette() -> None:
    app = FleetApp(FleetEstate())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        for key in ("2", "colon", *"gangs that fit", "enter"):
            await pilot.press(key)
            await settle(pilot)
        await until(lambda: "needed for" in looking.text(app), pilot=pilot)


async def test_rows_lead_to_nodes_of_the_card_to_the_job_and_to_the_node() -> None:
    app = FleetApp(FleetEstate())
    async with app.run_test(size=(120, 40)) as pilot:
        page = await opened(app, pilot, "tab", "down")
        one = page.thing("job")
        assert one is not None and one.name == "notebook-3"
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, JobScreen), pilot=pilot)
        for key in ("escape", "down", "enter"):
            await pilot.press(key)
            await settle(pilot)
        await until(lambda: isinstance(app.screen, NodeScreen), pilot=pilot)
        for key in ("escape", "tab", "enter"):
            await pilot.press(key)
            await settle(pilot)
        await until(lambda: isinstance(app.screen, NodesScreen), pilot=pilot)
        await settle(pilot)
        assert app.state_of("nodes").filter == "model:A100-SXM4-40GB"
        assert len(app.screen.query_one("#table", ResourceTable).source) == 12


async def test_it_counts_when_something_moved_and_only_then(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    real = fleet_use.fleet_sight

    def sight(store: Store, *rest: Any) -> fleet_use.FleetSight:
        counted.append(store.revision)
        return real(store, *rest)

    monkeypatch.setattr(fleet_use, "fleet_sight", sight)
    monkeypatch.setattr("cockpit.screens.fleet.LEAST_SECONDS", 0.0)
    app = FleetApp(FleetEstate())
    async with app.run_test(size=(120, 40)) as pilot:
        page = await opened(app, pilot)
        for _ in range(5):
            page.show()
            await settle(pilot)
        assert len(counted) == 1, "nothing moved"
        store = app.attachment.store
        store.apply(Batch(kind=Kind.NODE, removed=("node-gpu-a100-00",)))
        page.show()
        await until(lambda: "35 GPU nodes" in looking.text(app), pilot=pilot)
        assert len(counted) == 2


async def test_without_telemetry_idle_is_not_known() -> None:
    class Dark(Estate):
        def batches(self) -> list[Batch]:
            return [one for one in super().batches() if one.kind != Kind.GPU]

    app = ScriptedApp(Dark())
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        drawn = looking.text(app)
        assert "idle GPUs are not known: GPU telemetry is not" in drawn
        assert "10 GPUs lost on 2 nodes" in drawn


async def test_where_nodes_may_not_be_listed_it_says_so() -> None:
    app = ScriptedApp(denied())
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("8")
        await until(lambda: "You cannot list nodes" in looking.text(app), pilot=pilot)
        assert " 0 GPU" not in looking.text(app), "what nobody may see is not none"


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_in_a_real_terminal(size: tuple[int, int]) -> None:
    with PseudoTerminal(["-m", "tests.tui.scripted", "--place", "jobs"], size) as terminal:
        terminal.shows("team-a/llm-70b", "enter open")
        terminal.press("8")
        lines = terminal.shows("36 GPU nodes, 27 needed for the", "A100-SXM4-40GB", "node gpu-h100-19")
        assert len(lines) == size[1] and lines[0].startswith(" prod-eu · ") and "▎8 Fleet" in lines[1]
        terminal.press("2")
        terminal.shows("team-a/llm-70b")
        terminal.press("q")
        assert terminal.ends() == 0
