"""The bad day, served: the API server misbehaves as the scenario says, and the cockpit's feed survives."""

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from cockpit.attach import watched_kinds
from cockpit.clock import SystemClock
from cockpit.kube.feed import Feed
from cockpit.kube.resource import JOBS, NODES, PODS, Resource
from cockpit.kube.session import SessionOptions, open_session
from cockpit.model.batch import Batch, Phase
from cockpit.model.record import Kind
from cockpit.sim.faults.script import Script
from cockpit.sim.scenarios.loading import find, load
from cockpit.sim.serve import Options, running
from cockpit.sim.server.operations import Operations
from cockpit.store.store import Store

pytestmark = pytest.mark.waits

SPEEDS = (15.0, 4.0, 1.5)
"""A busy machine opens few streams in a fast day: then it is played again, slower."""
_PATIENCE_SECONDS = 300.0
LAST_FAULT_SECONDS = 190.0
MIRRORED = ((Kind.POD, PODS), (Kind.NODE, NODES), (Kind.JOB, JOBS))


class Reading:
    """A store that a feed fills, and what happened to its streams."""

    def __init__(self) -> None:
        self.store = Store()
        self.troubles: set[str] = set()
        self._stirred = asyncio.Event()

    def __call__(self, batch: Batch) -> None:
        self.store.apply(batch)
        if batch.status is not None and batch.status.phase not in (Phase.LIVE, Phase.ABSENT):
            self.troubles.add(batch.status.message)
        self._stirred.set()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for batches until something holds."""
        while not holds():
            self._stirred.clear()
            await asyncio.wait_for(self._stirred.wait(), _PATIENCE_SECONDS)


def _versions(operations: Operations, resource: Resource) -> dict[str, str]:
    found = operations.storage.shelf(resource).objects.values()
    return {one.tree["metadata"]["uid"]: one.tree["metadata"]["name"] for one in found}


async def test_the_feed_lives_through_it_and_ends_with_the_truth(tmp_path: Path) -> None:
    for speed in SPEEDS:
        folder = tmp_path / f"{speed}"
        fired, troubles = await _day(folder, speed)
        assert (folder / "truth.jsonl").read_text().startswith("{")
        if len(set(fired)) >= 3 and len(fired) >= 10:
            assert troubles, "what went wrong was told"
            return
    # Which windows a stream meets depends on the wall; that it meets several does not.
    raise AssertionError(f"hardly anything went wrong: {fired}")


async def _day(folder: Path, speed: float) -> tuple[list[str], set[str]]:
    """One day with a feed that survives it: the faults that it met, and what it told of them."""
    scenario = load(find("bad-day"))
    options = Options(scenario="bad-day", speed=speed, seed=3)
    async with running(scenario, folder, options) as (embedded, cluster):
        choose = embedded.faults.choose
        script = getattr(choose, "__self__", None)
        assert isinstance(script, Script), "the scenario's faults are at work"
        session = await open_session(SessionOptions(kubeconfig=str(embedded.kubeconfig)), SystemClock())
        reading = Reading()
        began = cluster.clock.now()
        task = asyncio.create_task(
            Feed(session, reading, clock=SystemClock(), rng=random.Random(1), watched=watched_kinds()).run(),
            name="feed",
        )
        try:
            await reading.until(lambda: cluster.clock.now() - began > LAST_FAULT_SECONDS)

            def is_true_to_life() -> bool:
                return all(
                    {uid: one.name for uid, one in reading.store.records(kind).items()}
                    == _versions(cluster.operations, resource)
                    for kind, resource in MIRRORED
                )

            await reading.until(is_true_to_life)
            assert not task.done(), "the feed never ends by itself"
            for kind, _ in MIRRORED:
                status = reading.store.status(kind)
                assert status is not None
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await session.close()
        return [str(one.fault) for one in script.fired], reading.troubles
