"""The whole feed: which streams start, what is told about kinds that are not there, owners."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from cockpit.attach import watched_kinds
from cockpit.clock import ManualClock
from cockpit.kube.decode.decoders import OWNER
from cockpit.kube.feed import Feed
from cockpit.kube.owners import Holders, Owners
from cockpit.kube.session import ApiSession
from cockpit.model.batch import Batch, ListMark, Phase
from cockpit.model.job import OwnerObject
from cockpit.model.namespaces import Namespaces
from cockpit.model.record import Kind
from tests.unit.kube.builders import FakeServer, bookmark, event, meta, owner, pod, refuse, reply, stream
from tests.unit.kube.test_discovery import aggregated, entry, group

CORE_PATHS = ("/api/v1/nodes", "/api/v1/pods", "/apis/batch/v1/jobs", "/api/v1/events", "/api/v1/namespaces")
END = bookmark("9", ends_list=True)


class Hearing:
    """A sink that waits for what is hoped for."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self._told = asyncio.Event()

    def __call__(self, batch: Batch) -> None:
        self.batches.append(batch)
        self._told.set()

    async def until(self, running: Any, holds: Callable[[], bool]) -> None:
        task = asyncio.create_task(running)
        try:
            async with asyncio.timeout(10):
                while not holds():
                    self._told.clear()
                    waiting = asyncio.create_task(self._told.wait())
                    await asyncio.wait({waiting, task}, return_when=asyncio.FIRST_COMPLETED)
                    waiting.cancel()
                    if task.done():
                        task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def phases(self, kind: str) -> set[Phase]:
        return {b.status.phase for b in self.batches if b.kind == kind and b.status is not None}

    def ended(self) -> set[tuple[str, str]]:
        return {(b.kind, b.scope) for b in self.batches if b.mark is ListMark.END}

    def owners(self) -> dict[str, OwnerObject]:
        return {one.uid: one for b in self.batches if b.kind == Kind.OWNER for one in b.changed}


def feed_of(session: ApiSession, hearing: Hearing, clock: ManualClock, **options: Any) -> Feed:
    return Feed(session, hearing, clock=clock, rng=random.Random(3), watched=watched_kinds(), **options)


def serve_core(server: FakeServer, *groups: dict[str, Any]) -> None:
    for path in CORE_PATHS:
        server.on(path, stream(END, stays=True))
    server.on("/api", reply(aggregated(group("", v1=[entry("pods", "Pod")]))))
    server.on("/apis", reply(aggregated(*groups)))


async def test_core_kinds_and_absent_kinds(
    server: FakeServer, session: ApiSession, clock: ManualClock
) -> None:
    serve_core(server)
    hearing = Hearing()
    feed = feed_of(session, hearing, clock)
    absent = (Kind.MPIJOB, Kind.WORKLOAD, Kind.LOCAL_QUEUE, Kind.CLUSTER_QUEUE, Kind.POOL)
    await hearing.until(
        feed.run(),
        lambda: len(hearing.ended()) == 5 and all(Phase.ABSENT in hearing.phases(kind) for kind in absent),
    )
    assert {kind for kind, _ in hearing.ended()} == {
        Kind.NODE,
        Kind.POD,
        Kind.JOB,
        Kind.EVENT,
        Kind.NAMESPACE,
    }
    assert feed.served is not None


async def test_custom_kinds_in_their_best_known_version(
    server: FakeServer, session: ApiSession, clock: ManualClock
) -> None:
    kueue = [
        entry("workloads", "Workload"),
        entry("localqueues", "LocalQueue"),
        entry("clusterqueues", "ClusterQueue", scope="Cluster"),
    ]
    serve_core(
        server,
        group("kueue.x-k8s.io", v1=[entry("workloads", "Workload")], v1beta1=kueue, v1beta2=kueue),
        group("kubeflow.org", v1=[entry("mpijobs", "MPIJob")], v2beta1=[entry("mpijobs", "MPIJob")]),
        group("cluster.x-k8s.io", v1beta2=[entry("machinedeployments", "MachineDeployment", "scale")]),
        group("karpenter.sh", v1=[entry("nodepools", "NodePool", "scale", scope="Cluster")]),
    )
    for path in (
        "/apis/kueue.x-k8s.io/v1beta2/workloads",
        "/apis/kueue.x-k8s.io/v1beta2/localqueues",
        "/apis/kueue.x-k8s.io/v1beta2/clusterqueues",
        "/apis/kubeflow.org/v2beta1/mpijobs",
        "/apis/cluster.x-k8s.io/v1beta2/machinedeployments",
        "/apis/karpenter.sh/v1/nodepools",
    ):
        server.on(path, stream(END, stays=True))
    hearing = Hearing()
    await hearing.until(feed_of(session, hearing, clock).run(), lambda: len(hearing.ended()) == 11)
    assert (Kind.POOL, "machinedeployments.cluster.x-k8s.io") in hearing.ended()
    assert (Kind.POOL, "nodepools.karpenter.sh") in hearing.ended()
    assert Phase.ABSENT not in hearing.phases(Kind.POOL) | hearing.phases(Kind.WORKLOAD)


async def test_one_namespace_only(server: FakeServer, session: ApiSession, clock: ManualClock) -> None:
    serve_core(server)
    for path in (
        "/api/v1/namespaces/team-a/pods",
        "/apis/batch/v1/namespaces/team-a/jobs",
        "/api/v1/namespaces/team-a/events",
    ):
        server.on(path, stream(END, stays=True))
    hearing = Hearing()
    await hearing.until(
        feed_of(session, hearing, clock, namespaces=Namespaces(("team-a",)), is_narrow=True).run(),
        lambda: len(hearing.ended()) == 5,
    )
    assert (Kind.POD, "team-a") in hearing.ended()
    assert (Kind.NODE, "") in hearing.ended()
    assert server.count("/api/v1/pods") == 0


async def soon(_seconds: float) -> None:
    await asyncio.sleep(0.01)


async def test_a_kind_that_is_installed_later_is_looked_for_every_13_seconds_by_a_line(
    server: FakeServer, session: ApiSession, clock: ManualClock
) -> None:
    """Where nothing has changed the server says so by its ETag, and nothing is read or started."""
    serve_core(server)
    with_mpi = aggregated(group("kubeflow.org", v2beta1=[entry("mpijobs", "MPIJob")]))
    tags: list[str | None] = []

    async def groups(request: Any) -> Any:
        tags.append(request.headers.get("If-None-Match"))
        if len(tags) in (2, 3):
            return web.Response(status=304)
        return await reply(aggregated() if len(tags) == 1 else with_mpi, ETag=f'"{len(tags)}"')(request)

    server.on("/apis", groups)
    server.on("/apis/kubeflow.org/v2beta1/mpijobs", stream(END, stays=True))
    naps: list[float] = []

    async def sleep(seconds: float) -> None:
        naps.append(seconds)
        await asyncio.sleep(0.01)

    hearing = Hearing()
    feed = feed_of(session, hearing, clock, sleep=sleep)
    await hearing.until(feed.run(), lambda: (Kind.MPIJOB, "") in hearing.ended())
    assert tags[:4] == [None, '"1"', '"1"', '"1"']
    assert len(naps) >= 3
    assert all(12.0 <= nap <= 13.2 for nap in naps[:3])


async def test_a_look_that_failed_is_repeated_within_eight_seconds(
    server: FakeServer, session: ApiSession, clock: ManualClock
) -> None:
    serve_core(server)
    with_mpi = aggregated(group("kubeflow.org", v2beta1=[entry("mpijobs", "MPIJob")]))
    server.on("/apis", refuse(500, "InternalError", "no"), reply(with_mpi))
    server.on("/apis/kubeflow.org/v2beta1/mpijobs", stream(END, stays=True))
    naps: list[float] = []

    async def sleep(seconds: float) -> None:
        naps.append(seconds)
        await asyncio.sleep(0.01)

    hearing = Hearing()
    feed = feed_of(session, hearing, clock, sleep=sleep)
    await hearing.until(feed.run(), lambda: (Kind.MPIJOB, "") in hearing.ended())
    assert naps[0] == 8.0


async def test_a_kind_that_is_installed_later(
    server: FakeServer, session: ApiSession, clock: ManualClock
) -> None:
    serve_core(server)
    with_mpi = aggregated(group("kubeflow.org", v2beta1=[entry("mpijobs", "MPIJob")]))
    server.on("/apis", reply(aggregated()), reply(with_mpi))
    server.on("/apis/kubeflow.org/v2beta1/mpijobs", stream(END, stays=True))
    hearing = Hearing()
    feed = feed_of(session, hearing, clock, sleep=soon)
    await hearing.until(feed.run(), lambda: (Kind.MPIJOB, "") in hearing.ended())
    assert Phase.ABSENT in hearing.phases(Kind.MPIJOB)
    assert server.count("/apis/kubeflow.org/v2beta1/mpijobs") == 1


async def test_failed_discovery_is_told(server: FakeServer, session: ApiSession, clock: ManualClock) -> None:
    serve_core(server)
    server.on("/apis", refuse(403, "Forbidden", "no"))
    hearing = Hearing()
    await hearing.until(
        feed_of(session, hearing, clock).run(), lambda: Phase.BACKING_OFF in hearing.phases(Kind.POOL)
    )
    assert (
        len({kind for kind in (Kind.MPIJOB, Kind.WORKLOAD) if Phase.BACKING_OFF in hearing.phases(kind)}) == 2
    )


# ---- owners

KUBEFLOW = group("kubeflow.org", v1=[entry("pytorchjobs", "PyTorchJob")])
RAY = group("ray.io", v1=[entry("rayclusters", "RayCluster"), entry("rayjobs", "RayJob")])
METADATA = "/apis/ray.io/v1/namespaces/team-a/"


def gpu_pod(name: str, owned: dict[str, Any]) -> dict[str, Any]:
    return pod(name, metadata=meta(name) | {"ownerReferences": [owned]})


async def test_the_chain_of_owners_is_followed_once(
    server: FakeServer, session: ApiSession, clock: ManualClock
) -> None:
    serve_core(server, RAY)
    cluster, job = owner("RayCluster", "rc", "ray.io/v1"), owner("RayJob", "rj", "ray.io/v1")
    pods = [event("ADDED", gpu_pod(f"p{i}", cluster)) for i in range(20)]
    server.on("/api/v1/pods", stream(*pods, END, stays=True))
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
    server.on(
        METADATA + "rayclusters/rc",
        reply(partial | {"metadata": meta("rc", labels={"a": "b"}) | {"ownerReferences": [job]}}),
    )
    server.on(METADATA + "rayjobs/rj", reply(partial | {"metadata": meta("rj")}))
    hearing = Hearing()
    await hearing.until(feed_of(session, hearing, clock).run(), lambda: len(hearing.owners()) == 2)
    found = hearing.owners()["uid-rc"]
    assert (found.kind, found.api_version, found.labels) == ("RayCluster", "ray.io/v1", (("a", "b"),))
    assert found.owner is not None
    assert found.owner.uid == "uid-rj"
    assert not found.is_missing
    assert server.count(METADATA + "rayclusters/rc") == 1
    accept = next(one.headers["Accept"] for one in server.seen if one.path.endswith("rayjobs/rj"))
    assert "as=PartialObjectMetadata" in accept


@pytest.mark.parametrize(
    ("step", "is_missing"),
    [
        (refuse(403, "Forbidden", "no"), True),
        (refuse(404, "NotFound", "no"), True),
        (reply({"metadata": meta("llm", uid="another")}), True),
        (reply("<html>"), True),
        (reply({"metadata": meta("llm")}), False),
    ],
)
async def test_owners_that_cannot_be_seen(
    server: FakeServer, session: ApiSession, clock: ManualClock, step: Any, *, is_missing: bool
) -> None:
    serve_core(server, KUBEFLOW)
    server.on(
        "/api/v1/pods", stream(event("ADDED", gpu_pod("p", owner("PyTorchJob", "llm"))), END, stays=True)
    )
    server.on("/apis/kubeflow.org/v1/namespaces/team-a/pytorchjobs/llm", step)
    hearing = Hearing()
    await hearing.until(feed_of(session, hearing, clock).run(), lambda: bool(hearing.owners()))
    found = hearing.owners()["uid-llm"]
    assert (found.is_missing, found.kind, found.name, found.namespace) == (
        is_missing,
        "PyTorchJob",
        "llm",
        "team-a",
    )


async def test_an_owner_of_an_unserved_kind_is_missing(
    server: FakeServer, session: ApiSession, clock: ManualClock
) -> None:
    serve_core(server)
    server.on("/api/v1/pods", stream(event("ADDED", gpu_pod("p", owner("Notebook", "nb"))), END, stays=True))
    hearing = Hearing()
    await hearing.until(feed_of(session, hearing, clock).run(), lambda: bool(hearing.owners()))
    assert hearing.owners()["uid-nb"].is_missing


async def test_an_owner_is_asked_for_again_after_trouble(
    server: FakeServer, session: ApiSession, clock: ManualClock
) -> None:
    """A 500 says nothing about the owner: the next batch that names it asks again."""
    serve_core(server, KUBEFLOW)
    path = "/apis/kubeflow.org/v1/namespaces/team-a/pytorchjobs/llm"
    server.on(path, refuse(500, "InternalError", "no"), reply({"metadata": meta("llm")}))
    hearing = Hearing()
    owners = Owners(session, hearing, pause_seconds=0.0)
    feed = feed_of(session, hearing, clock)
    feed._owners = owners

    async def answer(request: Any) -> Any:
        line = event("ADDED", gpu_pod("p", owner("PyTorchJob", "llm")))
        return await stream(line, END, stays=True)(request)

    server.on("/api/v1/pods", answer)

    def again() -> bool:
        if server.count(path) == 1:
            for batch in [b for b in hearing.batches if b.kind == Kind.POD and b.changed]:
                owners.look(batch)
        return bool(hearing.owners())

    async def both() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(feed.run())
            tasks.create_task(ticking())

    async def ticking() -> None:
        while True:
            hearing(Batch(kind="tick"))
            await asyncio.sleep(0.01)

    await hearing.until(both(), again)
    assert not hearing.owners()["uid-llm"].is_missing


@pytest.mark.parametrize(
    "tree",
    [
        pod("p", metadata=meta("p") | {"ownerReferences": [owner("ReplicaSet", "web", "apps/v1")]}, spec={}),
        gpu_pod("p", owner("MPIJob", "hvd", "kubeflow.org/v2beta1")),
        gpu_pod("p", owner("Job", "j", "batch/v1")),
        pod("p"),
    ],
)
async def test_who_is_not_asked_for(
    server: FakeServer, session: ApiSession, clock: ManualClock, tree: dict[str, Any]
) -> None:
    serve_core(server, KUBEFLOW)
    server.on("/api/v1/pods", stream(event("ADDED", tree), END, stays=True))
    hearing = Hearing()
    await hearing.until(
        feed_of(session, hearing, clock).run(),
        lambda: (Kind.POD, "") in hearing.ended() and Phase.ABSENT in hearing.phases(Kind.POOL),
    )
    assert hearing.owners() == {}
    single = {
        f"/api/v1/namespaces/{one.namespace}/configmaps/{one.name}" for one in watched_kinds() if one.name
    }
    known = {*CORE_PATHS, *single, "/api", "/apis"}
    assert {one.path for one in server.seen} <= known


async def test_an_owner_is_let_go_with_its_last_pod(
    server: FakeServer, session: ApiSession, clock: ManualClock
) -> None:
    serve_core(server)
    notebook = owner("Notebook", "nb")
    server.on(
        "/api/v1/pods",
        stream(
            event("ADDED", gpu_pod("p1", notebook)),
            event("ADDED", gpu_pod("p2", notebook)),
            END,
            event("DELETED", gpu_pod("p1", notebook)),
            event("DELETED", gpu_pod("p2", notebook)),
            stays=True,
        ),
    )
    hearing = Hearing()
    await hearing.until(
        feed_of(session, hearing, clock).run(),
        lambda: any("uid-nb" in b.removed for b in hearing.batches if b.kind == Kind.OWNER),
    )


def test_holders_let_go_of_chains_and_of_what_a_list_does_not_name() -> None:
    holders, pods = Holders(), ("pods", "")
    holders.hold("p1", "cluster", pods)
    holders.hold("p2", "cluster", pods)
    holders.hold("cluster", "job", ("", ""))
    assert holders.let_go("p1") == []
    holders.list_begins(pods)
    holders.hold("p2", "cluster", pods)
    assert holders.list_ends(pods) == []
    holders.list_begins(pods)
    assert holders.list_ends(pods) == ["cluster", "job"]
    assert holders.let_go("p2") == []


async def test_another_preferred_version_replaces_the_stream(
    server: FakeServer, session: ApiSession, clock: ManualClock
) -> None:
    serve_core(server)
    old, new = (
        aggregated(group("kueue.x-k8s.io", **{version: [entry("workloads", "Workload")]}))
        for version in ("v1beta1", "v1beta2")
    )
    server.on("/apis", reply(old), reply(new))
    server.on("/apis/kueue.x-k8s.io/v1beta1/workloads", stream(END, stays=True))
    server.on("/apis/kueue.x-k8s.io/v1beta2/workloads", stream(END, stays=True))
    hearing = Hearing()
    feed = feed_of(session, hearing, clock, sleep=soon)
    await hearing.until(
        feed.run(),
        lambda: [b.kind for b in hearing.batches if b.mark is ListMark.END].count(Kind.WORKLOAD) == 2,
    )
    assert feed.served is not None
    assert server.count("/apis/kueue.x-k8s.io/v1beta2/workloads") == 1


def test_the_decoder_of_owners_keeps_labels() -> None:
    made = OWNER.from_json(
        b'{"apiVersion":"a/v1","kind":"K","metadata":{"uid":"u","name":"n","labels":{"b":"2","a":"1"}}}'
    )
    assert isinstance(made, OwnerObject)
    assert made.labels == (("a", "1"), ("b", "2"))
