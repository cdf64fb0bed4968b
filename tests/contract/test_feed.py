"""The feed: every known kind of a context at once, with the rights one has, and never a Secret."""

import asyncio
import random
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from cockpit.attach import watched_kinds
from cockpit.clock import SystemClock
from cockpit.kube.feed import CORE, CUSTOM, Feed
from cockpit.kube.resource import Resource
from cockpit.kube.session import ApiSession
from cockpit.model.batch import Batch, ListMark, Phase
from cockpit.model.namespaces import Namespaces
from cockpit.model.record import Kind
from cockpit.store.store import Store
from cockpit.triage.namespace_notes import namespace_notes
from tests.adapters.faults.proxy import FaultProxy
from tests.bed.api import Api
from tests.bed.rights import RBAC, allow, binding
from tests.contract.asking import in_space
from tests.contract.conftest import Connect, defined
from tests.contract.faults import status
from tests.contract.mirror import Mirror, eventually
from tests.contract.server import Server
from tests.contract.shapes import crd, custom, job, pod, role
from tests.reliability.figures import Tell

CORE_KINDS = {decoder.kind for _, decoder in CORE}
OTHER_KINDS = {known.kind for known in CUSTOM} | {Kind.POOL}
OTHER_KINDS |= {one.kind for one in watched_kinds()} - {Kind.POD_GROUP, Kind.OTHER_JOB}
TOLD = (Phase.LIVE, Phase.DENIED)
JOBS_OF_THE_SERVER = ("/deployments", "/statefulsets", "/cronjobs")
"""Kinds whose objects may be jobs, of which not every server has all."""
CLAIM_KINDS = {Kind.DEVICE_SLICE, Kind.DEVICE_CLAIM}
POOL_GROUP = "cluster.x-k8s.io"


class Fed:
    """A mirror for each kind and scope."""

    def __init__(self) -> None:
        self.mirrors: dict[tuple[str, str], Mirror] = {}
        self.batches: list[Batch] = []

    def __call__(self, batch: Batch) -> None:
        self.batches.append(batch)
        if batch.mark is ListMark.DROP:
            self.mirrors.pop((batch.kind, batch.scope), None)
            return
        self.mirrors.setdefault((batch.kind, batch.scope), Mirror())(batch)

    def phase(self, kind: str) -> Phase | None:
        found = [mirror.phase for (one, _), mirror in self.mirrors.items() if one == kind]
        return found[0] if len(found) == 1 else None

    def live(self) -> set[tuple[str, str]]:
        return {where for where, mirror in self.mirrors.items() if mirror.phase is Phase.LIVE}

    def denied(self) -> set[tuple[str, str]]:
        return {where for where, mirror in self.mirrors.items() if mirror.phase is Phase.DENIED}

    def names(self, kind: str) -> list[str]:
        return [name for (one, _), mirror in self.mirrors.items() if one == kind for name in mirror.names]

    def named(self, kind: str, name: str) -> Any:
        for (one, _), mirror in self.mirrors.items():
            if one == kind and name in mirror.names:
                return mirror.named(name)
        return None


@asynccontextmanager
async def _feeding(session: ApiSession, **options: Any) -> AsyncIterator[Fed]:
    fed = Fed()
    feed = Feed(session, fed, clock=SystemClock(), rng=random.Random(3), watched=watched_kinds(), **options)
    task = asyncio.create_task(feed.run())
    try:
        yield fed
    finally:
        assert not task.done(), "a feed ends only when it is told to"
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _all_told(fed: Fed, phase: Phase) -> None:
    await eventually(
        lambda: all(fed.phase(kind) is phase for kind in CORE_KINDS), f"core kinds {phase.value}"
    )


async def test_core_kinds_live_and_the_others_are_told_absent(connect: Connect) -> None:
    async with _feeding(await connect("viewer")) as fed:
        await _all_told(fed, Phase.LIVE)
        await eventually(
            lambda: all(fed.phase(kind) is Phase.ABSENT for kind in OTHER_KINDS - CLAIM_KINDS),
            "others absent",
        )
        await eventually(
            lambda: all(fed.phase(kind) in TOLD for kind in CLAIM_KINDS),
            "claims are read, or denied to a viewer",
        )


async def test_one_stream_a_kind_and_nothing_but_reads(connect: Connect, proxy: FaultProxy) -> None:
    kinds = CORE_KINDS | CLAIM_KINDS
    async with _feeding(await connect("viewer", through=proxy)) as fed:
        await _all_told(fed, Phase.LIVE)
        await eventually(lambda: fed.phase(Kind.POOL) is Phase.ABSENT, "discovery is done")
        await eventually(lambda: all(fed.phase(kind) in TOLD for kind in kinds), "all kinds told")
        paths = [seen.path for seen in proxy.seen if seen.is_watch]
        assert len(paths) == len(set(paths))
        assert len([path for path in paths if not path.endswith(JOBS_OF_THE_SERVER)]) == len(kinds)
        assert {seen.method for seen in proxy.seen} == {"GET"}
        assert not [seen.path for seen in proxy.seen if "secret" in seen.path.lower()]


async def test_a_namespace_narrows_what_has_one(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> None:
    admin.create(in_space(space, "pods"), pod("mine"))
    async with _feeding(
        await connect("viewer", through=proxy), namespaces=Namespaces((space,)), is_narrow=True
    ) as fed:
        await _all_told(fed, Phase.LIVE)
        assert fed.names(Kind.POD) == ["mine"]
        paths = {seen.path for seen in proxy.seen if seen.is_watch}
        assert f"/api/v1/namespaces/{space}/pods" in paths
        assert "/api/v1/nodes" in paths
        assert "/api/v1/pods" not in paths


async def test_nobody_is_denied_everything_and_stays(connect: Connect) -> None:
    async with _feeding(await connect("nobody")) as fed:
        await _all_told(fed, Phase.DENIED)


async def test_an_engineer_sees_home_and_is_told_what_is_missing(server: Server, connect: Connect) -> None:
    async with _feeding(
        await connect("engineer"), namespaces=Namespaces((server.engineer_namespace,))
    ) as fed:
        await eventually(lambda: fed.phase(Kind.POD) is Phase.LIVE, "pods at home")
        await eventually(lambda: fed.phase(Kind.JOB) is Phase.LIVE, "jobs at home")
        await eventually(lambda: fed.phase(Kind.NODE) is Phase.DENIED, "no nodes")


async def test_without_a_choice_the_engineer_reads_home_by_one_review_a_kind(
    server: Server, connect: Connect, proxy: FaultProxy
) -> None:
    home = server.engineer_namespace
    async with _feeding(await connect("engineer", through=proxy), namespaces=Namespaces((home,))) as fed:
        await eventually(lambda: (Kind.POD, home) in fed.live() and (Kind.JOB, home) in fed.live(), "home")
        await eventually(lambda: (Kind.NODE, "") in fed.denied(), "no nodes")
        refused = [seen.path for seen in proxy.seen if seen.path in ("/api/v1/pods", "/apis/batch/v1/jobs")]
        assert sorted(set(refused)) == ["/api/v1/pods", "/apis/batch/v1/jobs"]
        assert len(refused) <= 4, "a streaming list and a list of each, and never again"
        reviews = [seen for seen in proxy.seen if seen.path.endswith("/selfsubjectaccessreviews")]
        assert 2 <= len(reviews) <= len(CORE_KINDS) + len(OTHER_KINDS)


async def test_several_namespaces_have_a_watch_each_and_the_denied_one_is_told(
    server: Server, space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> None:
    home = server.engineer_namespace
    admin.create(in_space(space, "pods"), pod("not-mine"))
    chosen = Namespaces((home, space))
    async with _feeding(await connect("engineer", through=proxy), namespaces=chosen) as fed:
        await eventually(lambda: (Kind.POD, home) in fed.live(), "pods at home")
        await eventually(lambda: (Kind.POD, space) in fed.denied(), "no pods elsewhere")
        assert "not-mine" not in fed.names(Kind.POD)
        store = Store()
        for batch in fed.batches:
            store.apply(batch)
        told = store.status(Kind.POD)
        assert told is not None and told.phase is Phase.LIVE and told.is_partial
        assert space in told.message, told.message
        assert namespace_notes(store, chosen)[0].endswith(f"list pods in {space}")


@pytest.mark.row(30, "first screen", most=2, unit="s")
@pytest.mark.row(30, "namespaces read", least=3)
@pytest.mark.row(30, "lists and watches everywhere that were refused, of a kind", most=2)
async def test_three_namespaces_are_read_by_who_may_list_nothing_else(
    server: Server, space: str, admin: Api, connect: Connect, proxy: FaultProxy, figure: Tell
) -> None:
    spaces = (space, f"{space}-b", f"{space}-c")
    for name in spaces:
        if name != space:
            admin.create("/api/v1/namespaces", {"metadata": {"name": name}})
        allow(admin, server.usernames["nobody"], name, role("see", ("", "pods", ("list", "watch"))))
        admin.create(in_space(name, "pods"), pod("mine"))
    session = await connect("nobody", through=proxy)
    began = time.monotonic()
    async with _feeding(session, namespaces=Namespaces(spaces)) as fed:
        await eventually(lambda: len(fed.names(Kind.POD)) == 3, "a pod of each")
        figure("first screen", time.monotonic() - began)
        figure("namespaces read", sum((Kind.POD, name) in fed.live() for name in spaces))
        refused = proxy.requests("/api/v1/pods")
        figure("lists and watches everywhere that were refused, of a kind", len(refused))


async def test_a_right_to_all_that_is_given_later_brings_all(
    server: Server, space: str, admin: Api, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cockpit.kube.namespaced_streams.REVIEW_SECONDS", (0.2,))
    admin.create(in_space(space, "pods"), pod("mine"))
    made = role(f"reads-pods-{space}", ("", "pods", ("list", "watch"))) | {"kind": "ClusterRole"}
    bound = binding(made["metadata"]["name"], server.usernames["nobody"]) | {"kind": "ClusterRoleBinding"}
    bound["roleRef"] = {**bound["roleRef"], "kind": "ClusterRole"}
    async with _feeding(await connect("nobody"), namespaces=Namespaces((space,))) as fed:
        await eventually(lambda: (Kind.POD, space) in fed.denied(), "denied at home, too")
        admin.create(f"{RBAC}/clusterroles", made)
        admin.create(f"{RBAC}/clusterrolebindings", bound)
        try:
            await eventually(lambda: (Kind.POD, "") in fed.live(), "all pods")
            assert "mine" in fed.names(Kind.POD)
        finally:
            admin.delete(f"{RBAC}/clusterrolebindings/{bound['metadata']['name']}")
            admin.delete(f"{RBAC}/clusterroles/{made['metadata']['name']}")


async def test_one_failing_kind_does_not_hold_the_others(connect: Connect, proxy: FaultProxy) -> None:
    proxy.plan(status(500, message="no nodes today"), times=None, path="/api/v1/nodes")
    async with _feeding(await connect("viewer", through=proxy)) as fed:
        for kind in CORE_KINDS - {Kind.NODE}:
            await eventually(lambda kind=kind: fed.phase(kind) is Phase.LIVE, kind)  # type: ignore[misc]
        assert fed.phase(Kind.NODE) is Phase.BACKING_OFF


async def test_a_failed_discovery_leaves_the_core_kinds(connect: Connect, proxy: FaultProxy) -> None:
    session = await connect("viewer", through=proxy)
    proxy.plan(
        status(503, message="discovery is away"), times=None, only=lambda seen: seen.path in ("/api", "/apis")
    )
    async with _feeding(session) as fed:
        await _all_told(fed, Phase.LIVE)
        await eventually(lambda: fed.phase(Kind.MPIJOB) is Phase.BACKING_OFF, "what needs discovery says so")


async def test_a_stream_comes_back_after_all_were_cut(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> None:
    async with _feeding(await connect("viewer", through=proxy)) as fed:
        await _all_told(fed, Phase.LIVE)
        proxy.cut_all()
        admin.create(in_space(space, "pods"), pod("after-the-cut"))
        admin.create(in_space(space, "jobs", base="/apis/batch/v1"), job("after-the-cut"))
        await eventually(lambda: "after-the-cut" in fed.names(Kind.POD), "pods are back")
        await eventually(lambda: "after-the-cut" in fed.names(Kind.JOB), "jobs are back")


@pytest.fixture
def machines(admin: Api) -> Iterator[None]:
    """A MachineDeployment-shaped kind."""
    definition = crd("machinedeployments", "MachineDeployment")
    definition["metadata"]["name"] = f"machinedeployments.{POOL_GROUP}"
    # Groups below k8s.io are protected: their kinds need the note that says who approved them.
    definition["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, for a test"}
    definition["spec"]["group"] = POOL_GROUP
    definition["spec"]["versions"][0]["name"] = "v1"
    with defined(admin, definition):
        yield


async def test_pools_are_found_where_machines_have_an_owner(
    space: str, admin: Api, connect: Connect, machines: None
) -> None:
    path = f"/apis/{POOL_GROUP}/v1/namespaces/{space}/machinedeployments"
    tree = custom("MachineDeployment", "gpu-pool", replicas=3) | {"apiVersion": f"{POOL_GROUP}/v1"}
    admin.create(path, tree)
    async with _feeding(await connect("viewer")) as fed:
        await eventually(lambda: fed.named(Kind.POOL, "gpu-pool"), "the pool")
        assert fed.named(Kind.POOL, "gpu-pool").replicas == 3
        admin.merge(f"{path}/gpu-pool/scale", {"spec": {"replicas": 4}})
        await eventually(lambda: fed.named(Kind.POOL, "gpu-pool").replicas == 4, "the new size")


def _owned(tree: dict[str, Any], owner: dict[str, Any]) -> dict[str, Any]:
    tree["metadata"]["ownerReferences"] = [
        {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "controller": True,
        }
    ]
    return tree


async def test_the_controllers_of_a_gpu_pod_are_looked_up(
    space: str, admin: Api, connect: Connect, pools: Resource
) -> None:
    """A pod of one custom object of another: both are told, so that any controller can become a job row."""
    top = admin.create(pools.path(space), custom(pools.kind, "top"))
    made = _owned(custom(pools.kind, "middle"), top)
    middle = admin.create(pools.path(space), made)
    admin.create(in_space(space, "pods"), _owned(pod("worker-0", gpus=1), middle))
    async with _feeding(await connect(), namespaces=Namespaces((space,)), is_narrow=True) as fed:
        await eventually(lambda: fed.named(Kind.OWNER, "middle"), "the pod's controller")
        await eventually(lambda: fed.named(Kind.OWNER, "top"), "its controller")
        assert fed.named(Kind.OWNER, "middle").owner.name == "top"
        assert not fed.named(Kind.OWNER, "top").is_missing


async def test_a_controller_that_is_gone_is_told_missing(
    space: str, admin: Api, connect: Connect, pools: Resource
) -> None:
    gone = custom(pools.kind, "gone") | {"metadata": {"name": "gone", "uid": str(uuid.uuid4())}}
    held = _owned(pod("worker-0", gpus=1), gone)
    held["metadata"]["finalizers"] = ["contract.test/hold"]
    admin.create(in_space(space, "pods"), held)
    try:
        async with _feeding(await connect(), namespaces=Namespaces((space,)), is_narrow=True) as fed:
            await eventually(lambda: fed.named(Kind.OWNER, "gone"), "the controller's name")
            assert fed.named(Kind.OWNER, "gone").is_missing
    finally:
        admin.merge(f"{in_space(space, 'pods')}/worker-0", {"metadata": {"finalizers": None}})
