"""Alerts of Alertmanager on *Now*: alone and beside findings, opened, resolved; and that they are unknown."""

from typing import Any

import pytest
from cockpit_widgets import ResourceTable
from textual.pilot import Pilot

from cockpit.clock import ManualClock
from cockpit.model.alert import Alert
from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.job import JobState
from cockpit.model.record import Kind
from cockpit.screens.alike import AlikeScreen
from cockpit.screens.job import JobScreen
from cockpit.screens.node import NodeScreen
from tests.tui import looking
from tests.tui.deck import ScriptedApp, settle
from tests.tui.estate import NOW, Estate
from tests.tui.test_detail import drawn_detail, rest

SIZES = [(80, 24), (200, 60)]


def alert(name: str, kind: str, about: str, severity: str = "warning", summary: str = "") -> Alert:
    return Alert(
        uid=f"{name}/{about}", name=name, severity=severity, about=((kind, about),), since_seconds=NOW - 240,
        summary=summary or f"{name} on {about}", runbook="https://runbooks.example/nodes",
    )  # fmt: skip


def hear(app: ScriptedApp, *alerts: Alert, phase: Phase = Phase.LIVE, **status: Any) -> None:
    """What the last read of Alertmanager gave."""
    store = app.attachment.store
    if phase is Phase.LIVE:
        status.setdefault("heard_seconds", app.clock.now())
        gone = tuple(uid for uid in store.records(Kind.ALERT) if uid not in {each.uid for each in alerts})
        store.apply(Batch(kind=Kind.ALERT, changed=alerts, removed=gone))
    store.apply(Batch(kind=Kind.ALERT, status=StreamStatus(kind=Kind.ALERT, phase=phase, **status)))


def rows(app: ScriptedApp) -> list[str]:
    table = app.screen.query_one("#attention", ResourceTable)
    return [line.strip() for line in looking.table_lines(app, table)]


async def again(app: ScriptedApp, pilot: Pilot[Any], seconds: float = 0.0) -> None:
    assert isinstance(app.clock, ManualClock)
    app.clock.advance(seconds)
    app._signal.at_once()
    await settle(pilot)


async def onto(app: ScriptedApp, pilot: Pilot[Any], words: str) -> None:
    """The cursor rests on the row that holds these words."""
    table = app.screen.query_one("#attention", ResourceTable)
    keys = [table.source.key(at) for at in range(len(table.source))]
    key = next(key for key in keys if words in key)
    await pilot.press("home", *["down"] * keys.index(key))
    await settle(pilot)
    await rest(app, pilot)
    assert table.cursor_key == key


def detail(app: ScriptedApp) -> str:
    return " ".join(drawn_detail(app).replace("│", " ").split())


@pytest.mark.parametrize("size", SIZES)
async def test_a_row_says_that_it_is_an_alert_and_opens_its_node(size: tuple[int, int]) -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        hear(app, alert("NodeHot", "host", "gpu-a100-03", "critical"))
        await again(app, pilot)
        (row,) = [line for line in rows(app) if "gpu-a100-03" in line]
        assert row.startswith("▲") and "4m00s" in row and "Alertmanager: NodeHot" in row
        assert " 1 alert " in looking.text(app)
        await onto(app, pilot, "alert/NodeHot")
        await pilot.press("enter")
        await settle(pilot)
        assert isinstance(app.screen, NodeScreen)


async def test_the_detail_names_each_alert_with_its_runbook() -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(200, 60)) as pilot:
        await settle(pilot)
        both = alert("NodeHot", "host", "gpu-a100-03"), alert("FanStopped", "host", "gpu-a100-03", "critical")
        hear(app, *both)
        await again(app, pilot)
        await onto(app, pilot, "alert/FanStopped")
        shown = detail(app)
        assert "Alertmanager: FanStopped and 1 more: FanStopped on gpu-a100-03" in shown
        assert (
            "Alertmanager: FanStopped, critical, 4m" in shown
            and "Alertmanager: NodeHot, warning, 4m" in shown
        )
        assert "https://runbooks.example/nodes" in shown


@pytest.mark.parametrize("size", SIZES)
async def test_an_alert_joins_the_row_of_our_finding(size: tuple[int, int]) -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        before = len(rows(app))
        hear(app, alert("KubeNodeNotReady", "host", "gpu-h100-19", "critical"))
        await again(app, pilot)
        assert len(rows(app)) == before
        (row,) = [line for line in rows(app) if "gpu-h100-19" in line]
        assert "kubelet is silent · 1 alert" in row
        await onto(app, pilot, "gpu-h100-19")
        assert "Alertmanager: KubeNodeNotReady, critical, 4m00s" in detail(app)


async def test_an_alert_about_a_job_opens_it_and_many_nodes_open_their_list() -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        job = next(job for job in app.attachment.jobs.jobs.values() if job.state == JobState.RUNNING)
        nodes = [alert("NodeHot", "host", f"gpu-l40s-0{at}") for at in range(5)]
        hear(app, alert("LossIsNaN", "job", f"{job.namespace}/{job.name}", "critical"), *nodes)
        await again(app, pilot)
        assert [line for line in rows(app) if "5 nodes" in line and "Alertmanager: NodeHot" in line]
        await onto(app, pilot, "alert/LossIsNaN")
        await pilot.press("enter")
        await settle(pilot)
        assert isinstance(app.screen, JobScreen)
        await pilot.press("escape")
        await settle(pilot)
        await onto(app, pilot, "alert/NodeHot")
        await pilot.press("enter")
        await settle(pilot)
        assert isinstance(app.screen, AlikeScreen)


async def test_what_no_longer_fires_is_resolved_and_what_joins_a_finding_is_not() -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        first, second = alert("NodeHot", "host", "gpu-a100-03"), alert("Slow", "host", "gpu-a100-04")
        hear(app, first, second)
        await again(app, pilot)
        hear(app, second, phase=Phase.BACKING_OFF, heard_seconds=NOW, since_seconds=NOW, message="gone")
        await again(app, pilot, 200)
        assert not [line for line in rows(app) if "resolved" in line]
        hear(app, second)
        for _ in range(3):
            await again(app, pilot, 15)
            hear(app, second)
        resolved = [line for line in rows(app) if "resolved" in line]
        assert len(resolved) == 1 and "gpu-a100-03" in resolved[0]


async def test_a_worse_alert_about_an_acknowledged_object_stands_again() -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        first = alert("NodeHot", "host", "gpu-a100-03")
        hear(app, first)
        await again(app, pilot)
        found = next(row.found for row in app.now_watch.look() if row.found.row == "gpu-a100-03")
        app.now_watch.acknowledge(found, "known", None, "ada")
        await again(app, pilot)
        assert next(line for line in rows(app) if "gpu-a100-03" in line).startswith("○")
        hear(app, first, alert("NodeDown", "host", "gpu-a100-03", "critical"))
        await again(app, pilot)
        assert [line[0] for line in rows(app) if "gpu-a100-03" in line] == ["▲"]


@pytest.mark.parametrize("size", SIZES)
async def test_alerts_that_cannot_be_read_are_said_with_their_age(size: tuple[int, int]) -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        hear(app, alert("NodeHot", "host", "gpu-a100-03"))
        words = "Alertmanager at monitoring/am:9093 cannot be reached: connection refused."
        about = {"heard_seconds": NOW, "since_seconds": NOW, "objects": 1}
        hear(app, phase=Phase.BACKING_OFF, message=words, **about)
        await again(app, pilot, 720)
        assert any(row.found.row == "gpu-a100-03" for row in app.now_watch.look())
        await onto(app, pilot, "alerts-unread")
        (row,) = [line.lstrip("▌ ") for line in rows(app) if "Alertmanager " in line]
        assert row.startswith("●") and "12m" in row and "alerts are old" in row
        if size != (80, 24):
            assert "alerts backing off, last update 12m ago" in looking.text(app)
