"""What each screen asks of telemetry: nodes on screen, details of an open page, nothing if nobody looks."""

from typing import Any

import pytest
from textual.pilot import Pilot

from cockpit.attach import Attachment
from cockpit.model.record import Kind
from cockpit.screens.place import Place
from cockpit.telemetry.focus import Focus, RefreshPace
from cockpit.telemetry.history import Past
from cockpit.views.fleet import fleet
from tests.tui import looking
from tests.tui.deck import ScriptedApp, settle
from tests.tui.estate import Estate
from tests.tui.shared_estate import SharedEstate


def look_of(attachment: Attachment) -> Focus:
    return attachment._look


async def visit(pilot: Pilot[Any], *keys: str) -> None:
    """Press, and let the second pass after which a screen is drawn anew."""
    await pilot.press(*keys)
    await settle(pilot)
    if isinstance(pilot.app.screen, Place):
        pilot.app.screen.show()


async def test_each_place_says_what_is_in_sight() -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        gpu_nodes = fleet(app.attachment.store).gpu_nodes
        assert look_of(app.attachment) == Focus(past=Past(key="fleet/duty", gpu_nodes=gpu_nodes))
        await visit(pilot, "3")
        nodes = look_of(app.attachment).nodes
        assert nodes[0] == "gpu-h100-07", "trouble first"
        assert 20 <= len(nodes) < 40
        await visit(pilot, "end")
        assert look_of(app.attachment).nodes != nodes, "other nodes came in sight"
        await visit(pilot, "home", "enter")
        first = "gpu-h100-07"
        assert look_of(app.attachment) == Focus(nodes=(first,), details=(first,), past=Past(node=first))
        await visit(pilot, "escape", "5", "enter")
        past = look_of(app.attachment).past
        assert past is not None
        assert past.key.startswith("pool/")
        assert set(past.nodes) >= set(look_of(app.attachment).nodes) > set()
        await visit(pilot, "escape", "6")
        assert look_of(app.attachment).pace is RefreshPace.SLOW


async def test_a_job_looks_at_the_nodes_of_its_members() -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        await visit(pilot, "2", *["down"] * 5, "enter")
        look = look_of(app.attachment)
        assert look.pace is RefreshPace.LIVE
        assert set(look.nodes) <= {one.name for one in app.attachment.store.records(Kind.NODE).values()}
        assert look.nodes
        assert look.past is not None
        assert len(look.past.pods) == len(look.pods) > 0


async def test_while_a_shell_has_the_terminal_nothing_is_polled() -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        app.app_suspend_signal.publish(app)
        assert app.attachment.is_away
        app.app_resume_signal.publish(app)
        assert not app.attachment.is_away


async def test_x_turns_members_into_devices_and_cells_and_back() -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        await visit(pilot, "2", *["down"] * 5, "enter", "x")
        assert "Rank by device" in looking.text(app)
        await visit(pilot, "enter")
        assert "Pods on this node" in looking.text(app), "a device opens its node"
        await visit(pilot, "escape", "x", "x")
        assert "Members by rank" in looking.text(app)


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_cut_and_shared_cards_are_counted_once_and_named(size: tuple[int, int]) -> None:
    app = ScriptedApp(SharedEstate())
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        assert "/280 GPUs busy" in looking.text(app)
        await visit(pilot, "3", "slash", *"cut", "enter", "enter")
        text = looking.flat(app)
        assert "cut into MIG instances" in text
        assert "3g.20gb" in text


async def test_the_device_under_the_cursor_is_spoken_of() -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        await visit(pilot, "3", "slash", *"a100-00", "enter", "enter", "down", "down")
        assert "GPU 2: throttled: too hot: the hardware slows it" in looking.flat(app)
