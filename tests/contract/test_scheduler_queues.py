"""Queues of engines with a scheduler of their own, from the server to their rows; none where they are not
served."""

import asyncio
import random
from typing import Any

from cockpit.attach import watched_kinds
from cockpit.clock import SystemClock
from cockpit.kube.feed import Feed
from cockpit.kube.resource import Resource
from cockpit.kube.session import ApiSession
from cockpit.model.record import Kind
from cockpit.store.store import Store
from cockpit.views import queues
from tests.bed.api import MERGE, Api
from tests.contract.conftest import Connect, defined
from tests.contract.mirror import eventually
from tests.contract.verb_objects import loose, put

GPU = "nvidia.com/gpu"
VOLCANO = Resource("scheduling.volcano.sh", "v1beta1", "queues", "Queue", namespaced=False)
KAI = Resource("scheduling.run.ai", "v2", "queues", "Queue", namespaced=False)


def told(admin: Api, resource: Resource, name: str, spec: dict[str, Any], status: dict[str, Any]) -> None:
    put(admin, resource, name, "", spec)
    path = resource.path("", name, "status")
    reply = admin.request("PATCH", path, {"status": status}, content_type=MERGE)
    assert reply.status == 200, reply.body


async def rows_of(session: ApiSession, count: int) -> dict[str, queues.QueueRow]:
    """Rows of the two engines once so many are there and their lists are told."""
    store = Store()
    feed = Feed(session, store.apply, clock=SystemClock(), rng=random.Random(3), watched=watched_kinds())
    task = asyncio.create_task(feed.run())

    def mine() -> dict[str, queues.QueueRow]:
        every = {row.name: row for row in queues.rows(store)}
        return {name: row for name, row in every.items() if ":" in name}

    def is_told() -> bool:
        status = store.status(Kind.POD)
        return len(mine()) == count and status is not None and status.is_current

    try:
        await eventually(is_told, f"{count} queues are told")
        return mine()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_both_are_rows_with_amounts_state_and_parent(admin: Api, connect: Connect) -> None:
    with defined(admin, loose(VOLCANO), loose(KAI)):
        deserved = {"deserved": {GPU: "6"}, "capability": {GPU: "16"}, "weight": 3, "parent": "root"}
        told(admin, VOLCANO, "shared", deserved, {"state": "Closing", "allocated": {GPU: "8"}})
        quota = {"gpu": {"quota": 1.5, "limit": -1, "overQuotaWeight": 1}}
        told(admin, KAI, "shared", {"parentQueue": "lab", "resources": quota}, {"allocated": {GPU: "500m"}})
        rows = await rows_of(await connect("admin"), 2)
    one, other = rows["volcano:shared"], rows["kai:shared"]
    assert (queues.quota_text(one), one.state) == ("8/6+2", "closing")
    assert (queues.quota_text(other), other.state) == ("0.5/1.5", "open")
    assert one.cluster is not None and other.cluster is not None
    assert (one.cluster.cohort, other.cluster.cohort) == ("root", "lab")
    assert one.key != other.key


async def test_where_they_are_not_served_there_is_no_row(connect: Connect) -> None:
    assert await rows_of(await connect("admin"), 0) == {}
