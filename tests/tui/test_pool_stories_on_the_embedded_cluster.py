"""The four stories of pools as a person sees them, at several speeds: two nodes and three jobs, a pool of one
that becomes two, a wave of forty nodes and back, a driver that takes twelve minutes.

The cluster stands still while a screen is read, so every age can be told beforehand.
"""

import random
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from cockpit.app import AppOptions, CockpitApp
from cockpit.model.record import Kind
from cockpit.model.remembered import Growth
from cockpit.sim.scenarios.loading import parse
from cockpit.views import format as fmt
from tests.tui.folded import fold_details
from tests.tui.looking import lines
from tests.tui.stepped import START, Ground, OurClock, ground, knows_all
from tests.waiting import until

SHIPPED = Path(__file__).resolve().parents[2] / "jobspecs" / "scenarios"
KINDS = (Kind.NODE, Kind.POD, Kind.JOB, Kind.EVENT, Kind.POOL)
SPEEDS = (1.0, 60.0, 3_600.0)
JOBS, NODES, POOLS = "2", "3", "5"


class Watched:
    """A cockpit beside a cluster that moves only when told."""

    def __init__(self, app: CockpitApp, pilot: Pilot[int], here: Ground) -> None:
        self._app, self._pilot, self._here = app, pilot, here

    async def to(self, seconds: float) -> None:
        """The cluster's time since its start; the app then knows all of it."""
        await self._here.cluster.engine.advance(seconds - self._here.seconds)
        await until(lambda: self._app.attachment.is_settled(KINDS), "the lists are in")
        await knows_all(self._app, self._here, KINDS)

    async def seen(self, *keys: str, until_shown: str = "") -> str:
        await self._pilot.press(*keys)
        await self._pilot.pause()
        if until_shown:
            await until(lambda: until_shown in self.screen(), lambda: f"{until_shown}: {self.screen()}")
        return self.screen()

    def screen(self) -> str:
        return "\n".join(line.rstrip() for line in lines(self._app))

    async def row(self, place: str, name: str) -> str:
        """The row of that name in a place, whatever is told beneath the rows."""
        rows, _, _ = (await self.seen(place)).partition("\n Pool ")
        return line_of(rows, name)


def line_of(screen: str, name: str, words: str = "") -> str:
    named = re.compile(rf"[ /▌]{re.escape(name)} ")
    found = [line for line in screen.splitlines() if named.search(line) and words in line]
    assert len(found) == 1, (name, screen)
    return found[0]


@asynccontextmanager
async def played(
    folder: Path, story: str, speed: float, grown: Growth | None = None, text: str = ""
) -> AsyncIterator[Watched]:
    """The story that is shipped, or that of the text; with a growth that a former session on this host has
    seen."""
    scenario = parse(text or (SHIPPED / f"{story}.yaml").read_text(), story)
    async with ground(folder / "cluster", scenario, speed) as here:
        fold_details(folder / "state")
        options = AppOptions(here.options, state_folder=folder / "state")
        if grown is not None:
            former = CockpitApp(options, clock=OurClock(here.clock), rng=random.Random(1))
            async with former.run_test(size=(180, 60)):
                await until(lambda: former.attachment.is_settled(KINDS), "the lists are in")
                history = former.run_history()
                assert history is not None and history.put_growth(grown)
        app = CockpitApp(options, clock=OurClock(here.clock), rng=random.Random(1))
        async with app.run_test(size=(180, 60)) as pilot:
            yield Watched(app, pilot, here)


def has_age(row: str, seconds: float) -> bool:
    return fmt.age_cell(0.0, seconds).text in row.split()


@pytest.mark.parametrize("speed", SPEEDS)
async def test_two_nodes_and_three_jobs(tmp_path: Path, speed: float) -> None:
    async with played(tmp_path, "two-nodes", speed) as watched:
        await watched.to(40.5)
        third = await watched.row(JOBS, "team-a/cifar-3")
        assert "pending" in third and "all 2 GPUs on 2 nodes are allocated" in third
        assert has_age(third, 40.5 - 6)
        await watched.to(75.5)
        third = await watched.row(JOBS, "team-a/cifar-3")
        assert "waits for the GPU driver on nc6-2" in third and has_age(third, 75.5 - 6)
        node = await watched.row(NODES, "nc6-2")
        assert "no GPUs yet" in node and has_age(node, 75.5 - 60)
        await watched.to(180.5)
        third = await watched.row(JOBS, "team-a/cifar-3")
        assert "running" in third and has_age(third, 180.5 - 6)


@pytest.mark.parametrize("speed", SPEEDS)
async def test_a_driver_of_twelve_minutes_is_waited_for_and_is_not_broken(
    tmp_path: Path, speed: float
) -> None:
    stages = (("joined", 60.0), ("ready", 70.0), ("GPUs up", 790.0))
    grown = Growth(pool_key="t4", asked_seconds=START - 86_400, machine_type="t4.large", stages=stages)
    async with played(tmp_path, "late-gpus", speed, grown) as watched:
        for seconds in (90.5, 400.5, 700.5):
            await watched.to(seconds)
            patient = await watched.row(JOBS, "vision/patient")
            assert "waits for the GPU driver on t4-late" in patient and has_age(patient, seconds - 10)
            late = await watched.row(NODES, "t4-late")
            assert "no GPUs yet" in late and has_age(late, seconds - 30)
            await watched.seen(POOLS)
            page = await watched.seen("enter", until_shown="usually 12m")
            assert f"now {fmt.age(seconds - 30).removesuffix('00s')}" in line_of(page, "t4-late", "usually")
            now = await watched.seen("1")
            assert "is down" not in now and "node t4-late" not in now, f"not broken before its limit: {now}"
        await watched.to(800.5)
        patient = await watched.row(JOBS, "vision/patient")
        assert "running" in patient and has_age(patient, 800.5 - 10)
        assert "1/1" in await watched.row(NODES, "t4-late")


@pytest.mark.parametrize("speed", SPEEDS[1:])
async def test_one_node_becomes_two_then_forty_more_come_and_go(tmp_path: Path, speed: float) -> None:
    async with played(tmp_path, "pool-wave", speed) as watched:
        await watched.to(270.5)
        second = await watched.row(JOBS, "research/second")
        assert "pool a100 grows from 1 to 2" in second
        assert has_age(second, 270.5 - 240)
        assert "1→2" in await watched.row(POOLS, "a100")
        await watched.to(345.5)
        assert "waits for the GPU driver on a100-" in await watched.row(JOBS, "research/second")
        await watched.to(420.5)
        assert "running" in await watched.row(JOBS, "research/second")

        await watched.to(600.5)
        assert "42/42 max" in await watched.row(POOLS, "a100"), "all have joined, their GPUs are to come"
        wave = await watched.row(JOBS, "research/wave")
        assert has_age(wave, 600.5 - 480)
        await watched.to(720.5)
        assert "· 42 nodes ·" in await watched.seen(POOLS)
        wave = await watched.row(JOBS, "research/wave")
        assert "running" in wave and "320/320" in wave and has_age(wave, 720.5 - 480)

        await watched.to(2_400.5)
        assert "· 1 node ·" in await watched.seen(POOLS)
