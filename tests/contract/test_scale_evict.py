"""The scale subresource of whatever has one, and eviction under a disruption budget."""

import pytest

from cockpit.actions.execute.execute_plan import carry_out
from cockpit.clock import ManualClock
from cockpit.errors import Refused
from cockpit.kube.calls import perform
from cockpit.kube.resource import Resource
from cockpit.kube.session import ApiSession
from cockpit.model.plan import Call, Plan
from tests.adapters.faults.proxy import FaultProxy
from tests.bed.api import Api
from tests.bed.rights import allow
from tests.contract.asking import JSON_PATCH, MERGE, in_space, patch
from tests.contract.conftest import Connect, needs
from tests.contract.following import following
from tests.contract.mirror import eventually
from tests.contract.server import Capability, Server
from tests.contract.shapes import budget, custom, deployment, pod, role
from tests.reliability.figures import Tell
from tests.unit.actions.builders import Lines

APPS = "/apis/apps/v1"


@pytest.fixture
def scale_of_pool(space: str, admin: Api, pools: Resource) -> str:
    """Path of the scale subresource of a pool of 2."""
    admin.create(pools.path(space), custom(pools.kind, "pool", replicas=2, size="8xH100"))
    return pools.path(space, "pool", "scale")


def _to(replicas: int, version: str = "") -> dict[str, object]:
    body: dict[str, object] = {"spec": {"replicas": replicas}}
    return body | {"metadata": {"resourceVersion": version}} if version else body


# ---- scale


async def test_a_scale_can_be_read(scale_of_pool: str, connect: Connect) -> None:
    reader = await connect()
    tree = (await reader.request("GET", scale_of_pool)).json()
    assert (tree["kind"], tree["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert tree["spec"]["replicas"] == 2


async def test_a_scale_of_a_custom_kind_changes_only_its_replicas(
    scale_of_pool: str, space: str, admin: Api, session: ApiSession, pools: Resource
) -> None:
    await perform(session, Call(method="PATCH", path=scale_of_pool, body=_to(5), content_type=MERGE))
    assert admin.get(pools.path(space, "pool"))["spec"] == {"replicas": 5, "size": "8xH100"}


async def test_a_scale_is_seen_by_the_watch(
    scale_of_pool: str, space: str, session: ApiSession, pools: Resource
) -> None:
    async with following(session, pools, namespace=space) as one:
        await one.mirror.until(lambda: one.mirror.named("pool").replicas == 2)
        await perform(session, Call(method="PATCH", path=scale_of_pool, body=_to(3), content_type=MERGE))
        await one.mirror.until(lambda: one.mirror.named("pool").replicas == 3)


async def test_a_scale_with_an_old_version_is_a_conflict(
    scale_of_pool: str, space: str, admin: Api, session: ApiSession, pools: Resource
) -> None:
    version = admin.get(scale_of_pool)["metadata"]["resourceVersion"]
    admin.merge(scale_of_pool, _to(4))
    call = Call(method="PATCH", path=scale_of_pool, body=_to(5, version), content_type=MERGE, target="pool")
    with pytest.raises(Refused) as caught:
        await perform(session, call)
    assert caught.value.said.is_changed
    assert admin.get(pools.path(space, "pool"))["spec"]["replicas"] == 4


async def test_a_scale_dry_run_changes_nothing(scale_of_pool: str, admin: Api, session: ApiSession) -> None:
    call = Call(method="PATCH", path=scale_of_pool, body=_to(5), content_type=MERGE)
    answer = await perform(session, call, dry_run=True)
    assert answer.json()["spec"]["replicas"] == 5
    assert admin.get(scale_of_pool)["spec"]["replicas"] == 2


async def test_a_scale_below_zero_is_refused(scale_of_pool: str, admin: Api, session: ApiSession) -> None:
    with pytest.raises(Refused, match="replicas"):
        await perform(session, Call(method="PATCH", path=scale_of_pool, body=_to(-1), content_type=MERGE))
    assert admin.get(scale_of_pool)["spec"]["replicas"] == 2


async def test_a_scale_by_json_patch_with_a_test_of_what_was_seen(
    scale_of_pool: str, admin: Api, session: ApiSession
) -> None:
    seen_three = [
        {"op": "test", "path": "/spec/replicas", "value": 3},
        {"op": "replace", "path": "/spec/replicas", "value": 6},
    ]
    assert (await patch(session, scale_of_pool, seen_three, JSON_PATCH)).status == 422
    assert admin.get(scale_of_pool)["spec"]["replicas"] == 2


async def test_a_scale_of_a_deployment(space: str, admin: Api, session: ApiSession) -> None:
    admin.create(in_space(space, "deployments", base=APPS), deployment("serve", 0))
    path = in_space(space, "deployments", "serve", base=APPS)
    await perform(session, Call(method="PATCH", path=f"{path}/scale", body=_to(2), content_type=MERGE))
    assert admin.get(path)["spec"]["replicas"] == 2


@needs(Capability.CONTROLLERS)
async def test_a_scaled_deployment_gets_its_pods(space: str, admin: Api, session: ApiSession) -> None:
    admin.create(in_space(space, "deployments", base=APPS), deployment("serve", 0))
    path = f"{in_space(space, 'deployments', 'serve', base=APPS)}/scale"
    await perform(session, Call(method="PATCH", path=path, body=_to(3), content_type=MERGE))
    await eventually(lambda: len(admin.items(in_space(space, "pods"))) == 3, "three pods")
    owners = {item["metadata"]["ownerReferences"][0]["kind"] for item in admin.items(in_space(space, "pods"))}
    assert owners == {"ReplicaSet"}


async def test_the_status_of_a_pool_is_its_controllers(
    space: str, scale_of_pool: str, admin: Api, session: ApiSession, pools: Resource
) -> None:
    path = pools.path(space, "pool")
    assert (await patch(session, path, {"status": {"replicas": 7}})).ok
    assert "status" not in admin.get(path), "the main path leaves status alone"
    assert (await patch(session, f"{path}/status", {"spec": {"replicas": 9}, "status": {"replicas": 1}})).ok
    tree = admin.get(path)
    assert (tree["spec"]["replicas"], tree["status"]["replicas"]) == (2, 1)
    assert admin.get(scale_of_pool)["status"]["replicas"] == 1


async def test_a_kind_without_scale_says_not_found(space: str, admin: Api, session: ApiSession) -> None:
    admin.create(in_space(space, "pods"), pod("p"))
    path = f"{in_space(space, 'pods', 'p')}/scale"
    call = Call(method="PATCH", path=path, body=_to(2), content_type=MERGE, target="pod p")
    with pytest.raises(Refused, match="pod p"):
        await perform(session, call)


async def test_scaling_takes_a_right_of_its_own(
    space: str, server: Server, scale_of_pool: str, admin: Api, connect: Connect, pools: Resource
) -> None:
    """Who may patch the object may not scale it, and the other way round."""
    scaler = role("scaler", (pools.group, f"{pools.plural}/scale", ("patch", "get")))
    allow(admin, server.usernames["nobody"], space, scaler)
    nobody = await connect("nobody", write=True)
    call = Call(method="PATCH", path=scale_of_pool, body=_to(3), content_type=MERGE)
    assert (await perform(nobody, call)).ok
    direct = Call(method="PATCH", path=pools.path(space, "pool"), body=_to(4), content_type=MERGE)
    with pytest.raises(Refused, match="cannot patch"):
        await perform(nobody, direct)
    assert admin.get(scale_of_pool)["spec"]["replicas"] == 3


# ---- eviction


def _eviction(name: str, **options: object) -> dict[str, object]:
    body: dict[str, object] = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    return body | {"deleteOptions": options} if options else body


def _evict(space: str, name: str, **options: object) -> Call:
    return Call(
        method="POST",
        path=f"{in_space(space, 'pods', name)}/eviction",
        body=_eviction(name, **options),
        target=f"pod {name}",
    )


def _running(admin: Api, space: str, *names: str) -> None:
    """Pods that a kubelet would call running and ready, bound to no real node."""
    for name in names:
        admin.create(in_space(space, "pods"), pod(name, labels={"app": "x"}))
        ready = [{"type": "Ready", "status": "True"}]
        admin.merge(
            f"{in_space(space, 'pods', name)}/status", {"status": {"phase": "Running", "conditions": ready}}
        )


async def test_an_eviction_without_a_budget_deletes_the_pod(
    space: str, admin: Api, session: ApiSession
) -> None:
    _running(admin, space, "p")
    assert (await perform(session, _evict(space, "p"))).status == 201
    assert admin.request("GET", in_space(space, "pods", "p")).status == 404


@pytest.mark.parametrize("options", [{}, {"gracePeriodSeconds": 30}, {"dryRun": ["All"]}])
async def test_an_eviction_can_be_tried_dry_while_read_only(
    space: str, admin: Api, connect: Connect, options: dict[str, object]
) -> None:
    """Unlike a delete, an eviction heeds the query whatever its body says."""
    _running(admin, space, "p")
    assert (await perform(await connect(), _evict(space, "p", **options), dry_run=True)).status == 201
    assert admin.request("GET", in_space(space, "pods", "p")).status == 200


async def test_an_eviction_of_what_is_gone_says_not_found(space: str, session: ApiSession) -> None:
    with pytest.raises(Refused) as caught:
        await perform(session, _evict(space, "gone"))
    assert caught.value.said.is_gone


async def test_an_eviction_keeps_the_uid(space: str, admin: Api, session: ApiSession) -> None:
    _running(admin, space, "p")
    wrong = {"uid": "00000000-0000-0000-0000-000000000000"}
    with pytest.raises(Refused) as caught:
        await perform(session, _evict(space, "p", preconditions=wrong))
    assert caught.value.said.is_recreated
    assert admin.request("GET", in_space(space, "pods", "p")).status == 200


@pytest.mark.row(18, "blind retries", most=0)
@pytest.mark.row(18, "evictions told as blocked", least=1)
@needs(Capability.CONTROLLERS)
async def test_a_budget_blocks_the_last_pods_eviction_in_words(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy, figure: Tell
) -> None:
    session = await connect(write=True, through=proxy)
    _running(admin, space, "p1", "p2")
    admin.create(f"/apis/policy/v1/namespaces/{space}/poddisruptionbudgets", budget("keep", 1, {"app": "x"}))
    path = f"/apis/policy/v1/namespaces/{space}/poddisruptionbudgets/keep"
    await eventually(lambda: admin.get(path).get("status", {}).get("disruptionsAllowed") == 1, "one may go")
    assert (await perform(session, _evict(space, "p1"))).status == 201
    plan = Plan(verb="evict", title="Evict pod p2", calls=(_evict(space, "p2"),))
    outcome = await carry_out(plan, session, Lines(), ManualClock())
    assert outcome.refusal is not None
    assert (outcome.refusal.status, outcome.refusal.has_cause("DisruptionBudget")) == (429, True)
    assert "try again" in outcome.sentence, "it may be tried again by hand"
    figure("evictions told as blocked", outcome.sentence.count("blocked by a PodDisruptionBudget"))
    figure("blind retries", len(proxy.requests("/p2/eviction")) - 1)
    assert admin.request("GET", in_space(space, "pods", "p2")).status == 200


@needs(Capability.CONTROLLERS)
async def test_two_budgets_for_one_pod_are_an_error_not_a_wait(
    space: str, admin: Api, session: ApiSession
) -> None:
    _running(admin, space, "p")
    base = f"/apis/policy/v1/namespaces/{space}/poddisruptionbudgets"
    for name in ("one", "two"):
        admin.create(base, budget(name, 0, {"app": "x"}))
    answer = await session.request("POST", f"{in_space(space, 'pods', 'p')}/eviction", body=_eviction("p"))
    assert answer.status == 500
    assert "more than one PodDisruptionBudget" in answer.message()
