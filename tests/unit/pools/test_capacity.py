"""Capacity asked for by demand: what is sent, what undoes it, and what is refused."""

from typing import Any

import msgspec
import pytest

from cockpit.errors import BadInput
from cockpit.model.batch import Batch
from cockpit.model.node import Taint
from cockpit.model.pod import POOL_MARK
from cockpit.model.pool import Pool
from cockpit.model.record import Kind
from cockpit.pools import registry
from cockpit.pools.capacity import (
    PRIORITY,
    PRIORITY_CLASS,
    CapacityWish,
    DemandWay,
    demand_name,
    plan_capacity,
    priority_class,
    rights_for,
)
from tests.unit.pools.builders import able, deployment, node, store_of
from tests.unit.pools.test_ladder import claim, nodepool

WISH: dict[str, Any] = {
    "name": "warm-h100",
    "namespace": "team-a",
    "pods": 2,
    "gpus": 8,
    "resource": "nvidia.com/gpu",
    "selector": (("pool", "h100"),),
    "taints": (Taint("nvidia.com/gpu", "", "NoSchedule"), Taint("team", "a", "NoExecute")),
    "deadline_seconds": 1_800,
    "nodes": 2,
    "by": "ann@h",
}


def wish(**more: Any) -> CapacityWish:
    """Two pods of eight GPUs."""
    return CapacityWish(**{**WISH, **more})


def _pod_of(body: dict[str, Any]) -> Any:
    return (body.get("template") or body["spec"]["template"])["spec"]


@pytest.mark.parametrize("way", [DemandWay.PLACEHOLDER, DemandWay.REQUEST, DemandWay.BUFFER])
def test_its_pods_are_those_that_the_pool_suits(way: DemandWay) -> None:
    pod = _pod_of(plan_capacity(way, wish()).calls[0].body)
    assert pod["nodeSelector"] == {"pool": "h100"}
    assert pod["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "8"}
    assert pod["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "team", "operator": "Equal", "value": "a", "effect": "NoExecute"},
    ]


@pytest.mark.parametrize(
    ("way", "paths", "rights"),
    [
        (DemandWay.PLACEHOLDER, ["/apis/batch/v1/namespaces/team-a/jobs"], ["create jobs.batch in team-a"]),
        (
            DemandWay.REQUEST,
            [
                "/api/v1/namespaces/team-a/podtemplates",
                "/apis/autoscaling.x-k8s.io/v1/namespaces/team-a/provisioningrequests",
            ],
            [
                "create podtemplates in team-a",
                "create provisioningrequests.autoscaling.x-k8s.io in team-a",
            ],
        ),
        (
            DemandWay.BUFFER,
            [
                "/api/v1/namespaces/team-a/podtemplates",
                "/apis/autoscaling.x-k8s.io/v1beta1/namespaces/team-a/capacitybuffers",
            ],
            ["create podtemplates in team-a", "create capacitybuffers.autoscaling.x-k8s.io in team-a"],
        ),
    ],
)
def test_what_is_sent_and_what_it_needs(way: DemandWay, paths: list[str], rights: list[str]) -> None:
    calls = plan_capacity(way, wish()).calls
    assert [(one.method, one.path) for one in calls] == [("POST", path) for path in paths]
    assert [one.words for one in rights_for(way, "team-a")] == rights
    for one in calls:
        meta = one.body["metadata"]
        assert (meta["name"], meta["labels"][POOL_MARK]) == ("warm-h100", "warm-h100")
        assert meta["annotations"] == {"gpu-cockpit/nodes": "2", "gpu-cockpit/asked-by": "ann@h"}


def test_placeholders_end_by_themselves_give_way_and_do_not_come_back() -> None:
    spec = plan_capacity(DemandWay.PLACEHOLDER, wish()).calls[0].body["spec"]
    assert (spec["parallelism"], spec["activeDeadlineSeconds"]) == (2, 1_800)
    assert (spec["completionMode"], spec["backoffLimitPerIndex"]) == ("Indexed", 0)
    assert spec["template"]["spec"]["priorityClassName"] == PRIORITY_CLASS
    assert "affinity" not in spec["template"]["spec"]
    body = priority_class().body
    assert (body["value"], body["preemptionPolicy"]) == (PRIORITY, "Never")


def test_pods_of_machines_of_unknown_size_keep_away_from_each_other() -> None:
    spec = plan_capacity(DemandWay.PLACEHOLDER, wish(gpus=1, is_alone=True)).calls[0].body["spec"]
    (term,) = spec["template"]["spec"]["affinity"]["podAntiAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    assert term["labelSelector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()


@pytest.mark.parametrize("name", ["h100", "H100/Große Maschinen", "-", "x" * 250])
def test_the_name_of_what_asks_is_allowed_and_the_pools_alone(name: str) -> None:
    def asked(kind: str) -> str:
        return demand_name(Pool(name=name, owner_kind=kind, owner_key=name))

    made = asked("NodePool")
    wish(name=made)
    assert made != asked("MachineSet")


def test_a_request_is_for_all_or_nothing() -> None:
    spec = plan_capacity(DemandWay.REQUEST, wish()).calls[1].body["spec"]
    assert spec["provisioningClassName"].startswith("best-effort-atomic")
    assert spec["podSets"] == [{"podTemplateRef": {"name": "warm-h100"}, "count": 2}]
    assert spec["parameters"] == {"ValidUntilSeconds": "1800"}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"pods": 0}, "0 pods"),
        ({"pods": 1_001}, "1001 pods"),
        ({"gpus": 0}, "0 GPUs"),
        ({"name": "Warm"}, "'Warm'"),
        ({"name": "../x"}, "'../x'"),
        ({"deadline_seconds": 10}, "10 s"),
    ],
)
def test_what_cannot_be_is_refused(more: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words.replace(".", r"\.")):
        wish(**more)


def test_owners_say_how_they_are_asked() -> None:
    assert registry.owner_named("the cluster autoscaler").traits.demand_ways[-1] is DemandWay.PLACEHOLDER
    assert DemandWay.REQUEST not in registry.owner_named("Karpenter").traits.demand_ways
    assert registry.owner_named("CoreWeave").traits.demand_ways == ()


def test_chosen_machines_go_guarded_and_are_not_replaced() -> None:
    some = node("n")
    one = msgspec.structs.replace(claim("c", on="n"), resource_version="5")
    machine = msgspec.structs.replace(
        one, api_version="cluster.x-k8s.io/v1beta2", pool_kind="MachineDeployment", pool_key="capi/h100"
    )
    store = store_of([some])
    store.apply(Batch(kind=Kind.MACHINE, changed=(one,)))
    karpenter, capi = able(None, "Karpenter"), able(None, "Cluster API")
    (call,) = karpenter.removal_calls(nodepool(replicas=None), (some,), store)
    assert (call.method, call.path) == ("DELETE", f"{one.resource_path}/c")
    assert call.body["preconditions"] == {"uid": one.uid, "resourceVersion": "5"}
    with pytest.raises(BadInput, match="no machine of n is seen"):
        capi.removal_calls(deployment(replicas=3), (some,), store)
    store.apply(Batch(kind=Kind.MACHINE, changed=(machine,)))
    marked, scaled = capi.removal_calls(deployment(replicas=3), (some,), store)
    assert marked.body["metadata"]["annotations"] == {"cluster.x-k8s.io/delete-machine": "gpu-cockpit"}
    assert scaled.body["spec"] == {"replicas": 2}
    with pytest.raises(BadInput, match="has 0 nodes"):
        capi.removal_calls(deployment(replicas=0), (some,), store)
    assert registry.ownership(nodepool(replicas=2), (), store).may_remove.may is False
    assert registry.ownership(nodepool(replicas=None), (), store).may_remove.may is True
