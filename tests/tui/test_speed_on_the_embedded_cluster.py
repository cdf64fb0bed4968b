"""The same cluster time gives the same screens, however fast it runs and whatever our own clock says."""

import random
from pathlib import Path

from cockpit.app import AppOptions, CockpitApp
from cockpit.model.quantity import Absent
from cockpit.model.record import Kind
from cockpit.sim.scenarios.loading import parse
from tests.tui.looking import lines
from tests.tui.stepped import Ground, OurClock, ground, knows_all
from tests.waiting import until

SPEEDS = (1.0, 60.0, 3_600.0)
SIZE = (180, 40)
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


async def caught_up(app: CockpitApp, here: Ground) -> None:
    """Until the app knows of the cluster what somebody who has just come reads, and has new GPU samples."""
    await knows_all(app, here, KINDS)
    store = app.attachment.store
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

    await until(sampled, lambda: f"cards are sampled: {store.status(Kind.GPU)} {store.records(Kind.GPU)}")
    # no round is under way while the cluster is moved
    app.attachment.step_away(is_away=True)


async def screens(app: CockpitApp, here: Ground) -> dict[str, list[str]]:
    """Every place as text, without the header: how fast the server answers is real."""
    found: dict[str, list[str]] = {}
    await here.cluster.engine.advance(FIRST_SECONDS)
    async with app.run_test(size=SIZE) as pilot:
        for at, seconds in enumerate(CHECKS):
            await here.cluster.engine.advance(seconds)
            await until(lambda: app.attachment.is_settled(KINDS), "the lists are in")
            await pilot.press(PLACES["nodes"])  # where numbers of cards are in sight they are asked for
            await caught_up(app, here)
            for place, key in PLACES.items():
                await pilot.press(key)
                await pilot.pause()
                found[f"{place} {at}"] = [line.rstrip() for line in lines(app)[1:]]
    return found


async def played(folder: Path, speed: float) -> dict[str, list[str]]:
    async with ground(folder, parse(SCENARIO, "the test's scenario"), speed) as here:
        app = CockpitApp(AppOptions(here.options), clock=OurClock(here.clock), rng=random.Random(1))
        return await screens(app, here)


async def test_the_same_cluster_time_gives_the_same_screens_at_every_speed(tmp_path: Path) -> None:
    told = {speed: await played(tmp_path / f"{speed:g}", speed) for speed in SPEEDS}
    expected = told[SPEEDS[0]]
    for speed in SPEEDS[1:]:
        for name, screen in expected.items():
            assert told[speed][name] == screen, f"{name} at speed {speed:g}"
