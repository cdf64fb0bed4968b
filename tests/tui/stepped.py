"""A cluster that moves only when told, served over HTTPS, and a cockpit beside it that keeps its time."""

import random
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from cockpit.app import CockpitApp
from cockpit.attach import AttachOptions
from cockpit.clock import ManualClock, SystemClock
from cockpit.commands.attached import attached
from cockpit.sim.cluster import EmbeddedCluster
from cockpit.sim.scenarios.schema import Scenario
from cockpit.sim.serve import kubelet_server
from cockpit.sim.server.run import serving
from tests.waiting import until

START = 1_790_000_000.0
PATIENCE_SECONDS = 60.0


class SteppedClock(ManualClock):
    """The cluster's time in a demo of a speed, stepped."""

    def __init__(self, speed: float) -> None:
        super().__init__(START)
        self._speed = speed

    def cluster_pace(self) -> float:
        return self._speed


class OurClock(SystemClock):
    """The clock of a cockpit beside such a demo; what concerns connection and screen takes real time."""

    def __init__(self, cluster: SteppedClock) -> None:
        super().__init__()
        self._cluster = cluster

    def now(self) -> float:
        return START + (self._cluster.now() - START) / self._cluster.cluster_pace()


class Ground:
    """A cluster that moves only when told, served over HTTPS."""

    def __init__(self, cluster: EmbeddedCluster, clock: SteppedClock, kubeconfig: Path) -> None:
        self.cluster = cluster
        self.clock = clock
        self.options = AttachOptions(kubeconfig=str(kubeconfig))

    @property
    def seconds(self) -> float:
        """Of the cluster's time since its start."""
        return self.clock.now() - START


@asynccontextmanager
async def ground(folder: Path, scenario: Scenario, speed: float) -> AsyncIterator[Ground]:
    """Served, and standing still."""
    clock, rng = SteppedClock(speed), random.Random(3)
    async with serving(folder, clock, rng) as embedded:
        cluster = EmbeddedCluster(scenario, embedded.operations, clock, rng)
        cluster.install()
        await cluster.exporters.start()
        kubelets = kubelet_server(embedded, cluster)
        await kubelets.start()
        embedded.context.reroute, embedded.context.listens = cluster.reroute, cluster.listens
        await cluster.engine.start()
        try:
            yield Ground(cluster, clock, embedded.kubeconfig)
        finally:
            await cluster.engine.stop()
            await kubelets.stop()
            await cluster.exporters.stop()


async def knows_all(app: CockpitApp, here: Ground, kinds: Collection[str]) -> None:
    """Until the app knows of the cluster what somebody who has just come reads."""
    store = app.attachment.store
    wanted = tuple(kinds)
    async with attached(here.options, OurClock(here.clock)) as live:
        await live.settle(wanted, PATIENCE_SECONDS)
        other = live.attachment.store
        await until(
            lambda: all(dict(store.records(one)) == dict(other.records(one)) for one in wanted),
            "the app knows all",
        )
