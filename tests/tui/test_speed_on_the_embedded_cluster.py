"""The same cluster time gives the same screens, however fast it runs and whatever our own clock says."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from cockpit.app import AppOptions, CockpitApp
from cockpit.attach import AttachOptions
from cockpit.clock import ManualClock, SystemClock
from cockpit.commands.live import attached
from cockpit.model.quantity import Absent
from cockpit.model.record import Kind
from cockpit.sim.cluster import EmbeddedCluster
from cockpit.sim.scenarios.loading import parse
from cockpit.sim.scenarios.schema import Scenario
from cockpit.sim.server.run import serving
from tests.tui.looking import lines

SPEEDS = (1.0, 60.0, 3_600.0)
SIZE = (180, 40)
SECONDS = 60.0
START = 1_790_000_000.0
FIRST_SECONDS = 61.5  # stamps are whole seconds: no age lies on the edge between two texts
CHECKS = (0.0, 240.0, 700.0, 910.0)
"""Between two looks so many seconds pass in the cluster: ten minutes of waiting and of idling are over in the
third, and the exporter of a node is silent at the last."""
PLACES = {"now": "1", "jobs": "2", "nodes": "3", "queues": "4", "pools": "5", "events": "6", "pods": "7"}
KINDS = (Kind.NODE, Kind.POD, Kind.JOB, Kind.EVENT, Kind.WORKLOAD, Kind.LOCAL_QUEUE)
SCENARIO = """
name: thresholds
title: What needs a human only after a while
seconds: 30m
namespaces:
  - {name: team-a, queue: research}
pools:
  - {name: a100, nodes: 3, gpus: 2, product: NVIDIA-A100-80GB, cpu: "32", memory: 256Gi}
queues:
  - {name: research, flavors: [{pool: a100, gpus: 4}]}
steps:
  - {at: 2s, submit: {name: train, namespace: team-a, workers: 2, gpus: 2, load: training, seconds: 10h}}
  - {at: 20s, submit: {name: forgotten, namespace: team-a, gpus: 1, load: idle, seconds: 10h}}
  - {at: 30s, submit: {name: too-large, namespace: team-a, gpus: 8, seconds: 10h}}
  - {at: 50s, submit: {name: broken, namespace: team-a, gpus: 1, seconds: 60, exit-code: 1, retries: 0}}
  - {at: 5m, submit: {name: queued, namespace: team-a, gpus: 8, queue: main, seconds: 10h}}
  - {at: 18m, exporter: {node: a100-1}}
"""


class _Stepped(ManualClock):
    """The cluster's time in a demo of a speed, stepped."""

    def __init__(self, speed: float) -> None:
        super().__init__(START)
        self._speed = speed

    def cluster_pace(self) -> float:
        return self._speed


class _Ours(SystemClock):
    """The clock of a cockpit beside such a demo; what concerns connection and screen takes real time."""

    def __init__(self, cluster: _Stepped) -> None:
        super().__init__()
        self._cluster = cluster

    def now(self) -> float:
        return START + (self._cluster.now() - START) / self._cluster.cluster_pace()


class Ground:
    """A cluster that moves only when told, served over HTTPS."""

    def __init__(self, cluster: EmbeddedCluster, clock: _Stepped, kubeconfig: Path) -> None:
        self.cluster = cluster
        self.clock = clock
        self.options = AttachOptions(kubeconfig=str(kubeconfig))


@asynccontextmanager
async def ground(folder: Path, scenario: Scenario, speed: float) -> AsyncIterator[Ground]:
    """Served, and standing still."""
    clock, rng = _Stepped(speed), random.Random(3)
    async with serving(folder, clock, rng) as embedded:
        cluster = EmbeddedCluster(scenario, embedded.operations, clock, rng)
        cluster.install()
        await cluster.exporters.start()
        embedded.context.reroute = cluster.reroute
        await cluster.engine.start()
        try:
            yield Ground(cluster, clock, embedded.kubeconfig)
        finally:
            await cluster.engine.stop()
            await cluster.exporters.stop()


async def until(what: str, holds: Callable[[], bool], seen: Callable[[], object] = lambda: "") -> None:
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"not within {SECONDS:g} s: {what}: {seen()}"
        await asyncio.sleep(0.02)


async def caught_up(app: CockpitApp, here: Ground) -> None:
    """Until the app knows of the cluster what somebody who has just come reads, and has new GPU samples."""
    store = app.attachment.store
    async with attached(here.options, _Ours(here.clock)) as live:
        await live.settle(KINDS, SECONDS)
        other = live.attachment.store
        await until(
            "the app knows all",
            lambda: all(dict(store.records(one)) == dict(other.records(one)) for one in KINDS),
        )
    silent = here.cluster.exporters.silent
    app.attachment.step_away(is_away=False)

    def sampled() -> bool:
        cards = [card for card in store.records(Kind.GPU).values() if card.node not in silent]
        lost = [card for card in store.records(Kind.GPU).values() if card.node in silent]
        return (
            len(cards) + len(lost) == 6
            and all(abs((card.sampled_seconds or 0.0) - here.clock.now()) < 1.0 for card in cards)
            and all(card.duty_ratio is Absent.STALE for card in lost)
        )

    await until("cards are sampled", sampled, lambda: (store.status(Kind.GPU), store.records(Kind.GPU)))
    # no round is under way while the cluster is moved
    app.attachment.step_away(is_away=True)


async def screens(app: CockpitApp, here: Ground) -> dict[str, list[str]]:
    """Every place as text, without the header: how fast the server answers is real."""
    found: dict[str, list[str]] = {}
    await here.cluster.engine.advance(FIRST_SECONDS)
    async with app.run_test(size=SIZE) as pilot:
        for at, seconds in enumerate(CHECKS):
            await here.cluster.engine.advance(seconds)
            await until("the lists are in", lambda: app.attachment.is_settled(KINDS))
            await pilot.press(PLACES["nodes"])  # where numbers of cards are in sight they are asked for
            await caught_up(app, here)
            for place, key in PLACES.items():
                await pilot.press(key)
                await pilot.pause()
                found[f"{place} {at}"] = [line.rstrip() for line in lines(app)[1:]]
    return found


async def played(folder: Path, speed: float) -> dict[str, list[str]]:
    async with ground(folder, parse(SCENARIO, "the test's scenario"), speed) as here:
        app = CockpitApp(AppOptions(here.options), clock=_Ours(here.clock), rng=random.Random(1))
        return await screens(app, here)


async def test_the_same_cluster_time_gives_the_same_screens_at_every_speed(tmp_path: Path) -> None:
    told = {speed: await played(tmp_path / f"{speed:g}", speed) for speed in SPEEDS}
    expected = told[SPEEDS[0]]
    for speed in SPEEDS[1:]:
        for name, screen in expected.items():
            assert told[speed][name] == screen, f"{name} at speed {speed:g}"
