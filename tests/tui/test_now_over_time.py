"""*Now* over time: what is acknowledged stays so, what goes is resolved, what comes is told."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
from cockpit_widgets import ResourceTable
from textual.pilot import Pilot

from cockpit.clock import ManualClock
from cockpit.local_state.config import Settings
from cockpit.local_state.history import LocalHistory
from cockpit.local_state.shared_notes import SharedNotes
from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.node import Node
from cockpit.model.record import Condition, Kind
from cockpit.screens.since_left import SinceLeftScreen
from cockpit.services.problems import BEHIND_SECONDS, LONGEST_SECONDS, PAUSE_SECONDS, Files
from cockpit.triage.troubles import FIRST_SIGHT_SECONDS, RESOLVED_SECONDS, STAYS_SECONDS_OF
from tests.tui import looking
from tests.tui.deck import ScriptedApp, settle
from tests.tui.estate import NOW, Estate
from tests.tui.why_app import PAST, WhyEstate

SIZE = (120, 40)
SERVER = "https://api.example:6443"


class RememberingApp(ScriptedApp):
    """A cockpit whose history is in a folder of the test; rounds are called by the test, no task runs."""

    def __init__(self, folder: Path, **options: Any) -> None:
        super().__init__(Estate(), **options)
        shared = folder / "shared"
        shared.mkdir(exist_ok=True)
        self.kept = Files(LocalHistory(folder / "one.sqlite"), SharedNotes(shared, SERVER))
        self.bells = 0

    def files(self) -> Files:
        return self.kept

    def bell(self) -> None:
        self.bells += 1

    def pass_time(self, seconds: float) -> None:
        assert isinstance(self.clock, ManualClock)
        self.clock.advance(seconds)

    async def again(self, pilot: Pilot[Any]) -> None:
        """Draw anew."""
        self._signal.at_once()
        await settle(pilot)

    async def round(self, pilot: Pilot[Any]) -> None:
        await self.now_watch.keep()
        await self.again(pilot)


def row(app: ScriptedApp, subject: str) -> str:
    """The drawn line about a subject, "" where there is none."""
    table = app.screen.query_one("#attention", ResourceTable)
    return next((one.strip() for one in looking.table_lines(app, table) if subject in one), "")


async def acknowledge(pilot: Pilot[Any], *keys: str) -> None:
    await pilot.press("a", *keys, "enter")
    await settle(pilot)


async def test_what_was_acknowledged_stays_so_over_a_restart_and_for_others(tmp_path: Path) -> None:
    app = RememberingApp(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await acknowledge(pilot, *"vendor", "down")
        assert row(app, "team-c/sweep-12").removeprefix("▌ ").startswith("○")
        await app.round(pilot)
    for path in (tmp_path / "one.sqlite", tmp_path / "shared" / "none"):
        path.unlink(missing_ok=True)  # without the own history the others' folder still tells
        again = RememberingApp(tmp_path)
        async with again.run_test(size=SIZE) as pilot:
            await settle(pilot)
            await again.round(pilot)
            told = row(again, "team-c/sweep-12")
            assert "○" in told and "2h0m more: vendor" in told, told


async def test_an_acknowledgement_ends_with_its_time_and_can_be_taken_back(tmp_path: Path) -> None:
    app = RememberingApp(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await acknowledge(pilot)
        await app.round(pilot)
        app.pass_time(1_801)
        await app.again(pilot)
        assert "▲" in row(app, "team-c/sweep-12")
        await acknowledge(pilot)
        assert "○" in row(app, "team-c/sweep-12")
        await acknowledge(pilot)  # the first choice is now to take it back
        assert "▲" in row(app, "team-c/sweep-12")
        await app.round(pilot)
        assert list((tmp_path / "shared").iterdir()) == []
        assert LocalHistory(tmp_path / "one.sqlite").recall(app.clock.cluster_now()).acknowledgements == ()


def lift(app: ScriptedApp, name: str) -> Node:
    """A node that was not ready is ready, with every GPU; the node as it was."""
    node = app.attachment.store.by_key(Kind.NODE, name)
    assert isinstance(node, Node)
    mended = msgspec.structs.replace(
        node, conditions=(Condition("Ready", "True"),), gpu_allocatable=node.gpu_capacity
    )
    app.attachment.store.apply(Batch(kind=Kind.NODE, changed=(mended,)))
    app.attachment.jobs.catch_up()
    return node


async def test_what_goes_stays_for_its_time_and_then_reads_resolved(tmp_path: Path) -> None:
    app = RememberingApp(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        assert "▲" in row(app, "gpu-h100-19")
        lift(app, "gpu-h100-19")
        app.pass_time(1)
        await app.again(pilot)
        assert "▲" in row(app, "gpu-h100-19"), "rows do not flap"
        app.pass_time(STAYS_SECONDS_OF["node-not-ready"] + 120)
        await app.again(pilot)
        assert "✓" in row(app, "gpu-h100-19") and "resolved 4 min ago" in row(app, "gpu-h100-19")
        app.pass_time(RESOLVED_SECONDS)
        await app.again(pilot)
        assert row(app, "gpu-h100-19") == ""


async def test_nothing_is_resolved_while_the_nodes_cannot_be_seen(tmp_path: Path) -> None:
    app = RememberingApp(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        lift(app, "gpu-h100-19")
        broken = StreamStatus(kind=Kind.NODE, phase=Phase.BACKING_OFF, since_seconds=0.0)
        app.attachment.store.apply(Batch(kind=Kind.NODE, status=broken))
        for _ in range(3):
            app.pass_time(600)
            await app.again(pilot)
        assert "▲" in row(app, "gpu-h100-19")


async def test_ages_come_from_the_history_where_no_object_tells(tmp_path: Path) -> None:
    app = RememberingApp(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        assert "≥0s" in row(app, "gpu-h100-07")
        await app.round(pilot)
    later = RememberingApp(tmp_path)
    later.pass_time(1_500)
    async with later.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await later.round(pilot)
        assert "≥25m" in row(later, "gpu-h100-07") and "seen" not in row(later, "gpu-h100-07")


async def test_a_new_problem_is_told_once_wherever_one_is(tmp_path: Path) -> None:
    app = RememberingApp(tmp_path)
    app.options = replace(app.options, settings=Settings(bell=True))
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        assert not app._notifications and app.bells == 0
        broken = lift(app, "gpu-h100-19")
        app.pass_time(RESOLVED_SECONDS)
        await app.again(pilot)
        app.pass_time(RESOLVED_SECONDS + FIRST_SIGHT_SECONDS)
        await app.again(pilot)
        assert row(app, "gpu-h100-19") == ""
        await pilot.press("2")
        await settle(pilot)
        app.attachment.store.apply(Batch(kind=Kind.NODE, changed=(broken,)))
        bells = app.bells
        for _ in range(3):
            app.pass_time(10)
            app._look_behind()
            await settle(pilot)
        told = [one.message for one in app._notifications if "gpu-h100-19" in one.message]
        assert len(told) == 1 and app.bells == bells + 1


async def test_problems_are_looked_for_in_a_pause_of_who_types(tmp_path: Path) -> None:
    app = RememberingApp(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("2")
        await settle(pilot)

        def looks(after_seconds: float) -> bool:
            app.pass_time(after_seconds)
            before = app.now_watch._looked_at
            app._look_behind()
            return app.now_watch._looked_at != before

        assert looks(BEHIND_SECONDS)
        between = 0.75 * PAUSE_SECONDS
        for _ in range(int(LONGEST_SECONDS / between) - 1):
            await pilot.press("down")
            assert not looks(between)
        await pilot.press("down")
        assert looks(between), "one who types on and on is told, too"
        await pilot.press("down")
        assert not looks(between)
        assert looks(BEHIND_SECONDS)


async def test_since_you_left_is_a_line_that_opens_a_list_and_can_be_dismissed(tmp_path: Path) -> None:
    app = RememberingApp(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await app.round(pilot)
        assert row(app, "since you left") == "", "there was no session before"
    later = RememberingApp(tmp_path)
    nodes = later.attachment.store.records(Kind.NODE)
    later.attachment.store.apply(
        Batch(kind=Kind.NODE, removed=tuple(uid for uid, one in nodes.items() if one.name == "gpu-h100-03"))
    )
    later.pass_time(7_200)
    async with later.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await later.round(pilot)
        assert "2h0m  since you left" in row(later, "since you left")
        assert "1 node gone: gpu-h100-03" in row(later, "since you left")
        await pilot.press("home", "enter")
        await settle(pilot)
        assert isinstance(later.screen, SinceLeftScreen)
        assert "▲ node gone" in looking.text(later) and "since you left 2h0m ago" in looking.text(later)
        await pilot.press("slash", *"absent", "enter")
        await settle(pilot)
        assert "Nothing happened" not in looking.text(later)
        assert "None of 1 changes since you left matches 'absent'" in looking.text(later)
        await pilot.press("escape", "escape")
        await settle(pilot)
        await pilot.press("home", "a")
        await settle(pilot)
        assert row(later, "since you left") == ""


async def test_the_last_hour_stands_where_there_is_room_and_says_how_long_one_looked(tmp_path: Path) -> None:
    app = RememberingApp(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("backslash")  # the detail of a row comes first, else
        await settle(pilot)
        assert "Now  GPUs wanted" in looking.text(app)
        for _ in range(3):
            app.pass_time(60)
            await app.again(pilot)
        assert "Last 3 min  GPUs wanted" in looking.text(app)
        await app.round(pilot)
        for _ in range(9):
            app.pass_time(60)
            await app.again(pilot)
        drawn = [line.strip(" │") for line in looking.lines(app)]
        heading = next(row for row, line in enumerate(drawn) if line.startswith("Last 12 min  GPUs wanted"))
        assert "┤" in drawn[heading + 1] and any("└ -12m" in line for line in drawn), "enough for a chart"
        await app.round(pilot)
    later = RememberingApp(tmp_path)
    later.pass_time(780)
    async with later.run_test(size=SIZE) as pilot:
        await pilot.press("backslash")
        await settle(pilot)
        await later.round(pilot)
        assert "Last 13 min" in looking.text(later), "the history remembers"
    small = RememberingApp(tmp_path)
    async with small.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert "GPUs wanted" not in looking.text(small)


async def test_files_that_cannot_be_used_cost_one_sentence_each_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "one.sqlite").write_bytes(b"no database at all" * 200)
    app = RememberingApp(tmp_path)
    (tmp_path / "shared").rmdir()
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        for _ in range(3):
            await app.round(pilot)
        await acknowledge(pilot, *"mine")
        await app.round(pilot)
        assert "mine" in row(app, "team-c/sweep-12"), "it is kept for this session"
        told = [one.message for one in app._notifications]
        assert sum("is damaged: delete it" in one for one in told) == 1, told
        assert sum("acknowledgements-folder" in one and "cannot be read" in one for one in told) == 1, told


async def test_jobs_that_ended_are_remembered_for_the_next_session(tmp_path: Path) -> None:
    app = RememberingApp(tmp_path)
    for batch in WhyEstate().batches():
        app.attachment.store.apply(batch)
    app.attachment.jobs.catch_up()
    async with app.run_test(size=SIZE) as pilot:
        await app.round(pilot)
        assert app.now_watch.past == (), "nobody remembered any"
        await app.round(pilot)
    kept = LocalHistory(tmp_path / "one.sqlite").recall(NOW).runs
    assert len(kept) == PAST
    assert {one.shape for one in kept} == {"team-c/sweep/8"}
    assert len({one.uid for one in kept}) == PAST and all(one.ran_seconds for one in kept)
    again = RememberingApp(tmp_path)
    async with again.run_test(size=SIZE) as pilot:
        await again.round(pilot)
        assert again.now_watch.past == kept
