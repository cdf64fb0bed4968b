"""Nodes asked for by demand: the plan, what refuses it, and its withdrawal."""

import asyncio
import copy
import dataclasses
from typing import Any

import pytest

from cockpit.actions.ask import AskOptions, AskTerms, ask_as_now, plan_ask, withdraw_as_now
from cockpit.actions.execute.replan import confirmed
from cockpit.actions.planning import Planning, PoolTerms
from cockpit.actions.pool_lease import lease_name
from cockpit.actions.scale import scale_as_now
from cockpit.errors import BadInput, Unchanged
from cockpit.kube.answer import ApiAnswer
from cockpit.kube.decode.leases import FROM, TO
from cockpit.kube.resource import Resource
from cockpit.model.autoscaler import AutoscalerStatus, ScaledGroup
from cockpit.model.batch import Batch
from cockpit.model.plan import Plan
from cockpit.model.pool import Disruption, Pool, PoolObject, ResourceLimit
from cockpit.model.record import Kind
from cockpit.pools.capacity import DemandWay, demand_name
from cockpit.pools.index import pool_named
from tests.unit.actions.builders import REVIEWS, Line
from tests.unit.pools.builders import node, store_of

KARPENTER = "karpenter.sh/v1"
PATH = "/apis/karpenter.sh/v1/nodepools"
SPOT = Pool(name="spot", owner_group="karpenter.sh", owner_kind="NodePool", owner_key="spot")
NAME = demand_name(SPOT)
BUFFERS = Resource("autoscaling.x-k8s.io", "v1beta1", "capacitybuffers", "CapacityBuffer", namespaced=True)
CLASS = "/apis/scheduling.k8s.io/v1/priorityclasses/gpu-cockpit-placeholder"


def pool(gpus: str = "8", **more: Any) -> PoolObject:
    labels = (("karpenter.k8s.aws/instance-gpu-count", gpus),) if gpus else ()
    return PoolObject(
        uid="np", name="spot", api_version=KARPENTER, kind="NodePool", resource_path=PATH,
        template_labels=labels, **more,
    )  # fmt: skip


def planning(
    owner: PoolObject, *, nodes: Any = (), objects: Any = None, kinds: tuple[Resource, ...] = ()
) -> Planning:
    def lookup(api_version: str, kind: str) -> Resource | None:
        return next((one for one in kinds if (one.api_version, one.kind) == (api_version, kind)), None)

    session: Any = Line(objects=objects or {})
    terms = PoolTerms(at_seconds=1_800_000_000.0, holder="ann@h")
    return Planning(store_of(nodes, (), [owner]), session, lookup, "prod", pools=terms)


def asked(owner: PoolObject, terms: AskTerms, **more: Any) -> Any:
    return asyncio.run(ask_as_now(planning(owner, **more), "spot", terms))


def test_placeholders_where_nothing_else_is_served() -> None:
    plan = asked(pool(), AskTerms(nodes=2))
    job = next(one.body for one in plan.calls if one.path.endswith("/jobs"))
    assert job["metadata"]["name"] == NAME
    assert job["spec"]["parallelism"] == 2
    spec = job["spec"]["template"]["spec"]
    assert spec["nodeSelector"] == {"karpenter.sh/nodepool": "spot"}
    assert spec["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "8"}
    told = "\n".join(plan.lines)
    assert "+ 2 nodes x 8 GPUs = + 16 GPUs" in told
    assert "undo: cockpit pool ask spot --withdraw --context prod --write" in told
    assert plan.shell == "cockpit pool ask spot --nodes 2 --context prod --write"


def test_a_buffer_where_it_is_served() -> None:
    plan = asked(pool(), AskTerms(nodes=1), kinds=(BUFFERS,))
    assert [one.path.rpartition("/")[2] for one in plan.calls][-2:] == ["podtemplates", "capacitybuffers"]


def test_a_free_node_is_filled_besides() -> None:
    free = node("n1", labels=(("karpenter.sh/nodepool", "spot"),))
    plan = asked(pool(), AskTerms(nodes=2), nodes=(free,))
    job = next(one.body for one in plan.calls if one.path.endswith("/jobs"))
    assert job["spec"]["parallelism"] == 3
    assert "the pool has 1 free node: as many ask as well, so that 2 come" in plan.lines


def test_machines_of_unknown_size_are_asked_for_all_the_same() -> None:
    plan = asked(pool(""), AskTerms(nodes=2))
    job = next(one.body for one in plan.calls if one.path.endswith("/jobs"))
    assert "podAntiAffinity" in job["spec"]["template"]["spec"]["affinity"]
    assert any("how many GPUs each adds is not known" in one for one in plan.lines)


@pytest.mark.parametrize(
    ("owner", "terms", "words"),
    [
        (pool(max_replicas=1), AskTerms(nodes=2), "above its maximum of 1: raise it first"),
        (pool(replicas=1), AskTerms(nodes=2), "nodes are not asked for by demand"),
        (pool("0"), AskTerms(nodes=2), "has no GPUs"),
        (
            pool(limits=(ResourceLimit("nvidia.com/gpu", 16, 8),)),
            AskTerms(nodes=2),
            "limit nvidia.com/gpu 8 of 16 used",
        ),
        (pool(), AskTerms(nodes=2, way=DemandWay.REQUEST), "is not asked by request"),
        (pool(), AskTerms(nodes=2, way=DemandWay.BUFFER), "does not serve CapacityBuffer"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(owner: PoolObject, terms: AskTerms, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        asked(owner, terms)


def test_a_maximum_that_cannot_be_raised_from_here_is_not_asked_to_be_raised() -> None:
    some = [node("a", pool="spot", pool_label="agentpool")]
    group = ScaledGroup(name="aks-spot-99-vmss", minimum=0, maximum=1, target=1, registered=1)
    at = 1_800_000_000.0
    told = AutoscalerStatus(uid="s", name="s", written_seconds=at, read_seconds=at, groups=(group,))
    store = store_of(some)
    plans = dataclasses.replace(planning(pool()), store=store)
    store.apply(Batch(kind=Kind.AUTOSCALER, changed=(told,)))
    with pytest.raises(BadInput, match=r"maximum of 1: it cannot be raised from here: an AKS agent pool"):
        plan_ask(plans, pool_named(store, "spot"), AskTerms(nodes=1))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "--nodes: no number of nodes was given"),
        ({"nodes": "0"}, "--nodes: 0 nodes"),
        ({"nodes": "two"}, "--nodes: 'two'"),
        ({"nodes": "1", "way": "magic"}, "--way: 'magic' is none"),
        ({"nodes": "1", "time": "1s"}, "--for: 1s"),
        ({"nodes": "1", "space": "../x"}, "namespace"),
        ({"nodes": "1", "withdraw": True}, "--withdraw takes back all"),
    ],
)
def test_bad_words_are_refused_before_anything(options: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        AskOptions(**options)


def standing() -> dict[str, Any]:
    meta = {
        "name": NAME, "namespace": "default", "uid": "u-job", "labels": {"gpu-cockpit/pool": NAME},
        "annotations": {"gpu-cockpit/nodes": "2", "gpu-cockpit/asked-by": "bob\x1b[2J"},
    }  # fmt: skip
    return {"/apis/batch/v1/jobs": {"items": [{"metadata": meta, "status": {"active": 2}}]}}


def test_what_stands_refuses_a_second_one_and_is_withdrawn() -> None:
    with pytest.raises(BadInput, match=r"2 nodes are asked for already by bob\[2J"):
        asked(pool(), AskTerms(nodes=1), objects=standing())
    plan = asyncio.run(withdraw_as_now(planning(pool(), objects=standing()), "spot"))
    call = plan.calls[-1]
    assert (call.method, call.path) == ("DELETE", f"/apis/batch/v1/namespaces/default/jobs/{NAME}")
    assert call.body["preconditions"] == {"uid": "u-job"}
    assert plan.lines == (
        f"job default/{NAME} for 2 nodes by bob[2J",
        "nodes that came stay while pods need them",
    )
    with pytest.raises(Unchanged, match="nothing of the cockpit asks"):
        asyncio.run(withdraw_as_now(planning(pool()), "spot"))


KARPENTER_SAYS = {
    "30s": "Karpenter removes nodes later, once they idle for 30s (consolidateAfter)",
    "Never": "Karpenter never removes idle nodes on its own (consolidateAfter Never): R gives them back",
    "": "Karpenter removes idle nodes later by its own rules",
}


@pytest.mark.parametrize("after", KARPENTER_SAYS)
def test_a_withdrawal_says_by_which_rule_nodes_go_later(after: str) -> None:
    owner = pool(disruption=Disruption(after=after))
    plan = asyncio.run(withdraw_as_now(planning(owner, objects=standing()), "spot"))
    assert plan.expects[0] == KARPENTER_SAYS[after]


def test_a_withdrawal_from_the_cluster_autoscaler_says_its_usual_rule() -> None:
    one = node("n1", pool="spot", pool_label="pool", labels=(("pool", "spot"),))
    group = ScaledGroup(name="eks-spot-1", minimum=0, maximum=4)
    status = AutoscalerStatus(uid="s", name="s", groups=(group,), written_seconds=1e9, read_seconds=1e9)
    store = store_of((one,))
    store.apply(Batch(kind=Kind.AUTOSCALER, changed=(status,)))
    tree = copy.deepcopy(standing())
    tree["/apis/batch/v1/jobs"]["items"][0]["metadata"]["labels"]["gpu-cockpit/pool"] = demand_name(
        pool_named(store, "spot")
    )
    session: Any = Line(objects=tree)
    plan = asyncio.run(withdraw_as_now(Planning(store, session, lambda *_: None, "prod"), "spot"))
    assert plan.expects[0] == (
        "the cluster autoscaler removes unneeded nodes after 10 min,"
        " or what its flag --scale-down-unneeded-time says"
    )


class Holding(Line):
    """Where Leases may be written."""

    async def request(self, method: str, path: str, **more: Any) -> Any:
        if path == REVIEWS:
            return ApiAnswer(201, body=b'{"status": {"allowed": true}}')
        return await super().request(method, path, **more)


def withdrawn_where_leases_are(objects: dict[str, Any]) -> Plan:
    session: Any = Holding(objects=objects)
    made = dataclasses.replace(planning(pool()), session=session)
    return asyncio.run(withdraw_as_now(made, "spot"))


def test_a_withdrawal_is_the_same_once_our_hold_ends_and_more_pods_run() -> None:
    """What was read before yes, and what is there at yes: nothing is asked for again."""
    path = f"/apis/coordination.k8s.io/v1/namespaces/default/leases/{lease_name(SPOT)}"
    lease = {
        "metadata": {
            "name": "x", "namespace": "default", "uid": "u", "resourceVersion": "7",
            "annotations": {TO: "2", FROM: "0"},
        },
        "spec": {
            "holderIdentity": "ann@h", "leaseDurationSeconds": 600,
            "renewTime": "2999-01-01T00:00:00.000000Z",
        },
    }  # fmt: skip
    before = {**standing(), path: lease}
    plan = withdrawn_where_leases_are(before)
    assert "your change from 0 to 2 nodes is in flight: this replaces it" in plan.told
    after = copy.deepcopy(before)
    del after[path]["spec"]["holderIdentity"]
    after["/apis/batch/v1/jobs"]["items"][0]["status"] = {"active": 2, "ready": 2}
    now = withdrawn_where_leases_are(after)
    assert now.told != plan.told
    assert confirmed(plan, now) is now


@pytest.mark.parametrize(
    ("to", "remedy"),
    [
        (3, "; ask for 2 more nodes: cockpit pool ask spot --nodes 2 --context prod --write"),
        (0, "; give idle nodes back: cockpit pool reclaim spot --context prod --write"),
        (1, ""),
    ],
)
def test_to_set_its_number_is_refused_with_the_command_that_does_it(to: int, remedy: str) -> None:
    one = node("n1", labels=(("karpenter.sh/nodepool", "spot"),))
    with pytest.raises(BadInput) as caught:
        asyncio.run(scale_as_now(planning(pool(), nodes=(one,)), "spot", to))
    said = "pool spot cannot be resized from here: a dynamic NodePool: Karpenter sizes it from pending pods;"
    assert caught.value.sentence == f"{said} submit work, or change its limits{remedy}"
