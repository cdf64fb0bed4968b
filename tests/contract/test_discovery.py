"""What a server serves: groups, versions, scopes, subresources; kinds that come and go."""

import pytest

from cockpit.clock import ManualClock
from cockpit.errors import CockpitError
from cockpit.kube.discovery import Served, discover
from cockpit.kube.resource import CLUSTER_QUEUES, JOBS, MPIJOBS, NODES, PODS, Resource
from cockpit.model.batch import Phase
from cockpit.sim.faults.exchange import Exchange
from tests.adapters.faults.proxy import FaultProxy
from tests.bed.api import Api
from tests.contract.conftest import Connect, define
from tests.contract.faults import html, status
from tests.contract.following import following
from tests.contract.mirror import eventually, in_time
from tests.contract.shapes import GROUP, crd, crd_in_two_versions, custom

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


VERSIONED = "versions.cockpit.test"


@pytest.fixture(scope="session")
def scalers(admin: Api) -> Resource:
    """A kind that is served as v1 and as v2."""
    return define(admin, crd_in_two_versions(VERSIONED, "scalers", "Scaler"))


@pytest.fixture
async def served(connect: Connect, pools: Resource, scalers: Resource) -> Served:
    session = await connect("viewer")

    async def both() -> Served | None:
        found = await discover(session)
        return found if found.find(VERSIONED, "Scaler") and found.find(pools.group, pools.kind) else None

    told: Served = await in_time(both, "custom kinds are discovered")
    return told


@pytest.mark.parametrize(
    ("group", "word", "expected"),
    [
        ("", "Pod", PODS),
        ("", "pods", PODS),
        ("", "Node", NODES),
        ("batch", "Job", JOBS),
        ("batch", "jobs", JOBS),
        ("apps", "Deployment", Resource("apps", "v1", "deployments", "Deployment", namespaced=True)),
    ],
)
async def test_a_kind_is_found_by_kind_and_by_plural(
    served: Served, group: str, word: str, expected: Resource
) -> None:
    assert served.find(group, word) == expected


async def test_what_is_not_served_is_not_found(served: Served) -> None:
    assert served.find("kubeflow.org", "MPIJob") is None
    assert served.find("", "Job") is None, "a kind of another group"


async def test_groups_are_told(served: Served) -> None:
    assert {"", "apps", "batch", "rbac.authorization.k8s.io", GROUP} <= served.groups()
    assert served.incomplete == ()


def scalable(served: Served) -> set[str]:
    return {one.resource.label for one in served.resources if "scale" in one.subresources}


async def test_scalable_kinds_are_those_with_a_scale(served: Served, pools: Resource) -> None:
    labels = scalable(served)
    assert {"deployments.apps", "replicasets.apps", pools.label} <= labels
    assert "pods" not in labels
    assert "jobs.batch" not in labels


async def test_the_preferred_version_comes_first(served: Served) -> None:
    found = served.find(VERSIONED, "Scaler")
    assert found is not None
    assert found.version == "v2"
    older = served.find(VERSIONED, "Scaler", "v1")
    assert older is not None
    assert older.version == "v1"


async def test_what_can_be_watched_is_told(served: Served) -> None:
    pods = served.entry("", "pods")
    assert pods is not None
    assert pods.can_watch
    assert "eviction" in pods.subresources
    reviews = served.entry("authorization.k8s.io", "SelfSubjectAccessReview")
    assert reviews is not None
    assert not reviews.can_watch


async def test_nobody_may_discover_too(connect: Connect) -> None:
    """Every authenticated user has system:discovery; without rights one still learns what is there."""
    served = await discover(await connect("nobody"))
    assert served.find("", "pods") == PODS


async def test_discovery_takes_two_requests(connect: Connect, proxy: FaultProxy) -> None:
    session = await connect("viewer", through=proxy)
    proxy.seen.clear()
    await discover(session)
    assert sorted(seen.path for seen in proxy.seen) == ["/api", "/apis"]


async def test_a_server_without_aggregated_discovery_gives_the_same(
    served: Served, connect: Connect, proxy: FaultProxy
) -> None:
    async def old(exchange: Exchange) -> None:
        exchange.headers["Accept"] = "application/json"
        await exchange.forward()

    proxy.plan(old, times=None)
    again = await discover(await connect("viewer", through=proxy))
    assert len(proxy.seen) > 10
    assert {one.resource for one in again.resources} == {one.resource for one in served.resources}
    assert scalable(again) == scalable(served)
    assert again.find("apps", "deploy") is None, "short names are kubectl's"
    found = again.find(VERSIONED, "Scaler")
    assert found is not None
    assert found.version == "v2"


async def test_one_group_that_does_not_answer_does_not_hide_the_others(
    connect: Connect, proxy: FaultProxy
) -> None:
    async def old(exchange: Exchange) -> None:
        exchange.headers["Accept"] = "application/json"
        await exchange.forward()

    proxy.plan(status(503, message="its server is away"), times=None, path="/apis/batch/v1")
    proxy.plan(old, times=None)
    served = await discover(await connect("viewer", through=proxy))
    assert "batch/v1" in served.incomplete
    assert served.find("", "pods") == PODS
    assert served.find("apps", "Deployment") is not None


@pytest.mark.parametrize(
    "fault", [status(500), status(403, reason="Forbidden"), html()], ids=["500", "403", "html"]
)
async def test_a_failed_discovery_is_one_sentence(connect: Connect, proxy: FaultProxy, fault: object) -> None:
    session = await connect("viewer", through=proxy)
    proxy.plan(fault, times=None)  # type: ignore[arg-type]
    with pytest.raises(CockpitError) as caught:
        await discover(session)
    assert "\n" not in caught.value.sentence


# ---- kinds that come and go


async def test_a_new_kind_appears(admin: Api, connect: Connect) -> None:
    session = await connect()
    assert (await discover(session)).find(GROUP, "Arrival") is None
    made = define(admin, crd("arrivals", "Arrival", scale=False))

    async def look() -> Resource | None:
        return (await discover(session)).find(GROUP, "Arrival")

    found = await in_time(look, "the new kind is discovered")
    assert found == made
    admin.delete(f"{CRDS}/arrivals.{GROUP}")


async def test_a_cluster_scoped_kind_is_told_as_such(admin: Api, connect: Connect) -> None:
    made = define(admin, crd("flavors", "Flavor", namespaced=False))
    admin.create(made.path(), custom("Flavor", "h100"))
    async with following(await connect(), made) as one:
        await one.mirror.until(lambda: one.mirror.names == ["h100"])
        assert one.mirror.named("h100").namespace == ""
    admin.delete(f"{CRDS}/flavors.{GROUP}")


@pytest.mark.parametrize("resource", [MPIJOBS, CLUSTER_QUEUES], ids=lambda one: one.label)
async def test_a_kind_that_is_not_served_is_absent_and_not_empty(
    connect: Connect, resource: Resource
) -> None:
    async with following(await connect("viewer"), resource, clock=ManualClock()) as one:
        one.naps.gate.clear()
        await one.mirror.until(lambda: one.mirror.phase is Phase.ABSENT)
        assert resource.label in one.mirror.message
        assert one.mirror.lists_ended == 0


async def test_a_kind_that_is_installed_later_comes_to_life(admin: Api, space: str, connect: Connect) -> None:
    late = Resource(GROUP, "v1", "latecomers", "Latecomer", namespaced=True)
    async with following(await connect(), late, namespace=space, clock=ManualClock()) as one:
        await one.mirror.until(lambda: one.mirror.phase is Phase.ABSENT)
        one.naps.gate.clear()
        define(admin, crd("latecomers", "Latecomer"))
        admin.create(late.path(space), custom("Latecomer", "first", replicas=1))
        one.naps.gate.set()
        await one.mirror.until(lambda: one.mirror.names == ["first"])
    admin.delete(f"{CRDS}/latecomers.{GROUP}")


async def test_a_kind_that_is_removed_under_a_stream_is_absent(
    admin: Api, space: str, connect: Connect
) -> None:
    doomed = define(admin, crd("doomeds", "Doomed"))
    admin.create(doomed.path(space), custom("Doomed", "one"))
    async with following(await connect(), doomed, namespace=space, clock=ManualClock()) as one:
        await one.mirror.until(lambda: one.mirror.names == ["one"])
        admin.delete(f"{CRDS}/doomeds.{GROUP}")
        await one.mirror.until(lambda: one.mirror.phase is Phase.ABSENT)
        assert one.mirror.rows == {}, "its objects went before it"
    await eventually(lambda: admin.request("GET", doomed.path()).status == 404)
