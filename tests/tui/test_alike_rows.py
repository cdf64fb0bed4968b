"""Many nodes with the same trouble are one row of *Now*, and a page with each of them behind it."""

from typing import Any

import msgspec
from cockpit_widgets import ResourceTable
from textual.pilot import Pilot

from cockpit.clock import ManualClock
from cockpit.model.batch import Batch
from cockpit.model.node import Node
from cockpit.model.record import Condition, Kind
from cockpit.screens.alike import AlikeScreen
from cockpit.screens.node import NodeScreen
from cockpit.screens.now import NowScreen
from tests.tui import looking
from tests.tui.deck import ScriptedApp, settle
from tests.tui.estate import NOW, Estate

SIZE = (120, 40)
FALLS = Condition("Ready", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.", NOW - 300)


def break_nodes(app: ScriptedApp, number: int, condition: Condition = FALLS) -> list[str]:
    """The kubelets of so many nodes fall silent, or get well; their names."""
    store = app.attachment.store
    every = sorted(store.records(Kind.NODE).values(), key=lambda node: node.name)
    nodes = [node for node in every if isinstance(node, Node) and node.gpu_capacity][:number]
    changed = tuple(msgspec.structs.replace(node, conditions=(condition,)) for node in nodes)
    store.apply(Batch(kind=Kind.NODE, changed=changed))
    app.attachment.jobs.catch_up()
    return [node.name for node in nodes]


def rows(app: ScriptedApp) -> list[str]:
    table = app.screen.query_one(ResourceTable)
    return [line.strip() for line in looking.table_lines(app, table)]


async def again(app: ScriptedApp, pilot: Pilot[Any]) -> None:
    app._signal.at_once()
    await settle(pilot)


async def test_a_row_opens_the_list_and_a_row_of_that_its_node() -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        names = break_nodes(app, 14)
        await again(app, pilot)
        assert isinstance(app.screen, NowScreen)
        at = next(index for index, line in enumerate(rows(app)) if "nodes" in line and "enter list" in line)
        assert not [line for line in rows(app) if names[0] in line]
        await pilot.press("home", *["down"] * (at - 1), "enter")
        await settle(pilot)
        assert isinstance(app.screen, AlikeScreen)
        assert all(any(name in line for line in rows(app)) for name in names[:5])
        await pilot.press("home", "enter")
        await settle(pilot)
        assert isinstance(app.screen, NodeScreen)
        await pilot.press("escape")
        await settle(pilot)
        break_nodes(app, 14, Condition("Ready", "True"))
        await again(app, pilot)
        assert "they are on Now" in looking.text(app)


async def test_rows_that_become_one_are_not_called_resolved() -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        break_nodes(app, 8)
        await again(app, pilot)
        break_nodes(app, 14)
        await again(app, pilot)
        assert isinstance(app.clock, ManualClock)
        for _ in range(2):
            app.clock.advance(200)
            await again(app, pilot)
        assert "resolved" not in looking.text(app)
        assert any("nodes" in line and "enter list" in line for line in rows(app))
