"""An idle node of a MachineDeployment is given back by key on the embedded cluster.

It is cordoned, then removed with its machine; the size goes down and the busy node stays.
"""

import random
from pathlib import Path

from cockpit_widgets import ChoiceDialog, ConfirmDialog
from textual.pilot import Pilot

from cockpit.app import AppOptions, CockpitApp
from cockpit.attach import AttachOptions
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.pools.index import pool_named
from cockpit.sim.scenarios.loading import parse
from tests.tui import looking
from tests.tui.stepped import Ground, OurClock, ground
from tests.waiting import until

KINDS = (Kind.NODE, Kind.POD, Kind.POOL, Kind.MACHINE)
SCENARIO = """
name: idle
title: Three nodes, one of them busy
story: One job of eight GPUs runs; two nodes idle.
seconds: 10m
namespaces: [{name: research}]
pools:
  - name: a100
    nodes: 3
    gpus: 8
    product: NVIDIA-A100-SXM4-80GB
    cpu: "96"
    memory: 1Ti
    owner: machines
    stages: {launch: 4s, join: 2s, ready: 1s, gpus: 2s}
steps:
  - {at: 5s, submit: {name: busy, namespace: research, gpus: 8, seconds: 30m}}
"""


class Reclaiming:
    """A cockpit that may write, beside that cluster."""

    def __init__(self, app: CockpitApp, pilot: Pilot[int], here: Ground) -> None:
        self._app, self._pilot, self._here = app, pilot, here

    @property
    def store(self) -> StoreReader:
        return self._app.attachment.store

    def screen(self) -> str:
        return looking.text(self._app)

    async def to(self, seconds: float) -> None:
        await self._here.cluster.engine.advance(seconds - self._here.seconds)

    async def press(self, *keys: str) -> None:
        await self._pilot.press(*keys)
        await self._pilot.pause()

    async def yes(self) -> None:
        await until(
            lambda: isinstance(self._app.screen, ConfirmDialog), lambda: f"the plan is shown: {self.screen()}"
        )
        await until(
            lambda: "the cluster would accept it" in self.screen(), lambda: f"it is tried: {self.screen()}"
        )
        await self.press("y")

    def busy(self) -> set[str]:
        return {one.node for one in self.store.records(Kind.POD).values() if one.gpus and one.node}

    def cordoned(self) -> set[str]:
        return {one.name for one in self.store.records(Kind.NODE).values() if one.unschedulable}

    def nodes(self) -> set[str]:
        return {one.name for one in self.store.records(Kind.NODE).values() if one.pool == "a100"}

    async def choose_all(self) -> None:
        await until(lambda: isinstance(self._app.screen, ChoiceDialog), lambda: f"a choice: {self.screen()}")
        await self.press(*"empty now", "enter")


async def test_an_idle_node_is_cordoned_then_removed_and_the_busy_one_stays(tmp_path: Path) -> None:
    async with ground(tmp_path / "cluster", parse(SCENARIO, "idle"), 1.0) as here:
        write = AttachOptions(kubeconfig=here.options.kubeconfig, write=True)
        options = AppOptions(write, state_folder=tmp_path / "state")
        app = CockpitApp(options, clock=OurClock(here.clock), rng=random.Random(1))
        async with app.run_test(size=(160, 45)) as pilot:
            one = Reclaiming(app, pilot, here)
            await one.to(40.5)
            await until(lambda: app.attachment.is_settled(KINDS), "the lists are in")
            await until(lambda: len(one.busy()) == 1 and len(one.nodes()) == 3, "a job runs")
            await one.press("5")
            await until(lambda: "a100" in one.screen(), lambda: f"its row is there: {one.screen()}")
            (busy,) = one.busy()

            await one.press("R")
            await one.choose_all()
            await one.yes()
            await until(lambda: len(one.cordoned()) == 1, lambda: f"one is cordoned: {one.screen()}")
            (idle,) = one.cordoned()
            assert idle != busy
            assert pool_named(one.store, "a100").target == 3, "nothing goes at once"

            await one.to(60.5)
            await one.press("R")
            await one.yes()
            await until(
                lambda: pool_named(one.store, "a100").target == 2,
                lambda: f"the size is lower: {one.screen()}",
            )
            await one.to(240.5)
            await until(lambda: idle not in one.nodes(), lambda: f"its node is gone: {one.screen()}")
            assert busy in one.nodes() and len(one.nodes()) == 2
            assert one.busy() == {busy}
