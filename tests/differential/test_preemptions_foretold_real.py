"""Whom a change preempts on real Kueue, beside whom a plan named before it: the same jobs, seed by seed.

No nodes: a job that is admitted has pods that wait, and quota is what is fought for.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest

from cockpit.kube.resource import CLUSTER_QUEUES, JOBS, LOCAL_QUEUES, NAMESPACES, WORKLOADS, Resource
from cockpit.sim.resources import RESOURCE_FLAVORS, WORKLOAD_PRIORITY_CLASSES
from tests.bed import sandbox
from tests.bed.api import Api
from tests.bed.fixtures import fresh
from tests.unit.gangs.kueue.drawn_queues import (
    CLASSES,
    Came,
    Change,
    NeverAtRest,
    lowered,
    opened,
    prioritised,
    resumed,
    submitted,
)
from tests.unit.sim.queue.scene import cluster_queue, job

pytestmark = [pytest.mark.real, pytest.mark.heavy]

SEEDS = 12
EVENTFUL = 1
FENCES = "fences"
AT_ONCE = 6
QUIET_SECONDS = 4.0
PATIENCE_SECONDS = 90.0


class RealQueues:
    """One namespace on real Kueue; names of the cluster begin with it."""

    def __init__(self, api: Api, space: str) -> None:
        self._api = api
        self.space = space
        self.prefix = f"{space}-"
        self._fences = count()
        self._send("POST", NAMESPACES.path(), _tree(NAMESPACES, {"metadata": {"name": space}}))

    def _send(self, method: str, path: str, body: Any) -> None:
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            reply = self._api.request(method, path, body, content_type=kind)
            if reply.status < 500 or time.monotonic() > until:  # a webhook that has yet to listen
                reply.checked()
                return
            time.sleep(0.5)

    async def make(self, resource: Resource, tree: dict[str, Any]) -> None:
        path = resource.path(self._where(resource))
        await asyncio.to_thread(self._send, "POST", path, _tree(resource, tree))
        await asyncio.sleep(1.1)  # of jobs of one second any may be first

    async def patch(self, resource: Resource, name: str, body: dict[str, Any]) -> None:
        await asyncio.to_thread(self._send, "PATCH", resource.path(self._where(resource), name), body)

    async def list(self, resource: Resource) -> list[dict[str, Any]]:
        found = await asyncio.to_thread(self._api.items, resource.path(self._where(resource)))
        if resource.namespaced or resource == WORKLOAD_PRIORITY_CLASSES:
            return found
        return [one for one in found if one["metadata"]["name"].startswith(self.prefix)]

    def _where(self, resource: Resource) -> str:
        return self.space if resource.namespaced else ""

    async def rest(self) -> None:
        """Until Kueue has come to what was written last, and no workload was written for a while since."""
        await self._fence()
        until, quiet, seen = time.monotonic() + PATIENCE_SECONDS, time.monotonic(), None
        while time.monotonic() - quiet < QUIET_SECONDS:
            if time.monotonic() > until:
                raise NeverAtRest
            now = sorted(one["metadata"]["resourceVersion"] for one in await self.list(WORKLOADS))
            if now != seen:
                seen, quiet = now, time.monotonic()
            await asyncio.sleep(0.3)

    async def _fence(self) -> None:
        """Makes a job in a queue where there is always room, and waits until it has quota: on a busy machine
        Kueue may write nothing for seconds because it has not yet had its turn."""
        name = f"{self.space}-{next(self._fences)}"
        tree = job(name, gpus=1, namespace=FENCES, queue=FENCES)
        await asyncio.to_thread(self._send, "POST", JOBS.path(FENCES), _tree(JOBS, tree))
        until = time.monotonic() + PATIENCE_SECONDS
        while (await asyncio.to_thread(self._api.get, JOBS.path(FENCES, name)))["spec"]["suspend"]:
            if time.monotonic() > until:
                raise NeverAtRest
            await asyncio.sleep(0.3)

    async def preempted(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for tree in await self.list(WORKLOADS):
            stats = tree.get("status", {}).get("schedulingStats", {})
            found[tree["metadata"]["uid"]] = sum(
                one["count"] for one in stats.get("evictions", ()) if one["reason"] == "Preempted"
            )
        return +found

    def now(self) -> float:
        return time.time()


@pytest.fixture(scope="module")
def api(request: pytest.FixtureRequest) -> Iterator[Api]:
    """Real Kueue and the Job controller, with the classes of the plays."""
    if (reason := sandbox.why_not()) is not None:
        pytest.skip(reason)
    for bed in fresh({"kueue"}, request):
        found = bed.api()
        for name, value in CLASSES.items():
            tree: dict[str, Any] = {"metadata": {"name": name}, "value": value}
            found.create(WORKLOAD_PRIORITY_CLASSES.path(), _tree(WORKLOAD_PRIORITY_CLASSES, tree))
        fences = RealQueues(found, FENCES)
        for resource, tree in (
            (RESOURCE_FLAVORS, {"metadata": {"name": FENCES}, "spec": {}}),
            (CLUSTER_QUEUES, cluster_queue(FENCES, gpus=1_000_000, flavors=(FENCES,))),
            (LOCAL_QUEUES, {"metadata": {"name": FENCES}, "spec": {"clusterQueue": FENCES}}),
        ):
            asyncio.run(fences.make(resource, tree))
        yield found


def _tree(resource: Resource, tree: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": resource.api_version, "kind": resource.kind, **tree}


@pytest.mark.parametrize("change", [submitted, prioritised, resumed, lowered, opened])
def test_those_are_preempted_that_were_foretold(api: Api, change: Change) -> None:
    def play(seed: int) -> Came | None:
        async def one() -> Came:
            return await change(RealQueues(api, f"{change.__name__}-{seed}"), seed)

        try:
            return asyncio.run(one())
        except NeverAtRest:
            return None

    with ThreadPoolExecutor(AT_ONCE) as threads:
        found = list(threads.map(play, range(SEEDS)))
    differ = {
        seed: (sorted(one.told), sorted(one.came))
        for seed, one in enumerate(found)
        if one is not None and not one.unknown and one.told != one.came
    }
    eventful = sum(bool(one and one.came) for one in found)
    unknown = [one.unknown for one in found if one is not None and one.unknown]
    print(f"{change.__name__}: {eventful} of {SEEDS} preempted, {len(unknown)} unknown")
    assert differ == {}
    assert not unknown and eventful >= EVENTFUL
