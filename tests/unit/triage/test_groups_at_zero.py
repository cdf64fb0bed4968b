"""Groups that only the autoscaler's status names: pools in the list, and what pods select."""

from typing import Any

import msgspec
import pytest

from cockpit.model.autoscaler import AutoscalerStatus, ScaledGroup
from cockpit.model.batch import Batch
from cockpit.model.finding import Finding, Subject
from cockpit.model.pool import Pool
from cockpit.model.record import Kind
from cockpit.pools.demand import demand_by_pool
from cockpit.pools.failures import failures_of
from cockpit.pools.index import pools_of
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import explain
from cockpit.views.pools import table
from cockpit.views.view_state import ViewState
from tests.unit.triage.objects import NOW, Tree, node, view_of
from tests.unit.triage.test_group_refusals import BACKOFF, FULL, said
from tests.unit.triage.test_lost_gpus import pod
from tests.unit.views.builders import line

UUID = "0cc8a5a3-1111-2222-3333-0123456789ab"
GKE = "https://www.googleapis.com/compute/v1/projects/p/zones/z/instanceGroups/gke-train-h100-a3-1f2e3d4c-grp"
WAITS = Subject("pod", "team-a", "answer")
SHORT = "Insufficient nvidia.com/gpu"


def group(name: str, target: int = 0, maximum: int = 4, **more: Any) -> ScaledGroup:
    known = {"minimum": 0, "registered": 0, "up": "NoActivity"}
    return ScaledGroup(name=name, maximum=maximum, target=target, **{**known, **more})


def world(
    *groups: ScaledGroup, nodes: list[Tree] | None = None, age: float = 10.0, **asked: Any
) -> ClusterView:
    """A full node of pool t4, and a pod that waits since 5 minutes."""
    busy = [node("t4-0", 8, labels={"agentpool": "t4"}), pod("holds", 8, on="t4-0")]
    view = view_of([*busy, *(nodes or []), pod("answer", **{"gpus": 8, **asked})])
    status = AutoscalerStatus(
        uid="s",
        name="cluster-autoscaler-status",
        namespace="kube-system",
        written_seconds=NOW - age,
        read_seconds=NOW,
        groups=(group("aks-t4-1234-vmss", 1, 1, registered=1), *groups),
    )
    store: Any = view.store
    store.apply(Batch(kind=Kind.AUTOSCALER, changed=(status,)))
    return msgspec.structs.replace(view, now_seconds=NOW - 3_300)


def selecting(key: str, value: str) -> dict[str, Any]:
    return {"nodeSelector": {key: value}, "is_elsewhere": True}


def listed(view: ClusterView) -> dict[str, Pool]:
    return {one.name: one for one in pools_of(view.store)}


def demand(name: str, view: ClusterView) -> list[str]:
    by_pool = demand_by_pool(view.store, pools_of(view.store)) or {}
    return [one.name for one in (*by_pool[name].only, *by_pool[name].shared)] if name in by_pool else []


@pytest.mark.parametrize(
    ("id_", "name", "key", "value"),
    [
        ("aks-h100-99-vmss", "h100", "kubernetes.azure.com/agentpool", "h100"),
        (f"eks-h100-{UUID}", "h100", "eks.amazonaws.com/nodegroup", "h100"),
        (f"eks-t4-h100-{UUID}", "t4-h100", "eks.amazonaws.com/nodegroup", "t4-h100"),
        (GKE, "gke-train-h100-a3-1f2e3d4c-grp", "cloud.google.com/gke-nodepool", "h100-a3"),
        ("MachineDeployment/machines/h100", "h100", "cluster.x-k8s.io/deployment-name", "h100"),
        ("h100", "h100", "ca-pool", "h100"),
    ],
)
def test_a_group_at_zero_is_a_pool_and_what_selects_it_waits_for_it(
    id_: str, name: str, key: str, value: str
) -> None:
    view = world(group(id_), **selecting(key, value))
    pool = listed(view)[name]
    assert (pool.nodes_now, pool.target, pool.minimum, pool.maximum) == (0, 0, 0, 4)
    assert pool.grows_by_demand and "controls the size, between 0 and 4" in pool.why_not
    assert demand(name, view) == ["answer"]
    row = line(table([pool], ViewState(), view.now_seconds))
    assert (row["name"], row["owner"], row["now"], row["max"]) == (name, "autoscaler's status", "0/4", "4")
    of_pool = explain(Subject("pool", "", name), view)
    assert of_pool.sentence == "1 pod waits for it (8 GPUs); no machine is on its way"
    found = explain(WAITS, view)
    assert (found.cause, f"pool {name}, at 0 nodes" in found.sentence) == ("node-coming", True), (
        found.sentence
    )


@pytest.mark.parametrize("key", ["kubernetes.azure.com/agentpool", "eks.amazonaws.com/nodegroup", "ca-pool"])
def test_a_pod_that_selects_no_group_is_told_of_its_selector(key: str) -> None:
    view = world(group("aks-h100-99-vmss"), **selecting(key, "h200"))
    assert explain(WAITS, view).cause == "selector"
    assert demand("h100", view) == []


def test_what_a_group_waits_for_is_its_target() -> None:
    pool = listed(world(group("aks-h100-99-vmss", 2)))["h100"]
    assert (pool.target, pool.nodes_joining) == (2, 2)
    dark = [node("h100-0", 0, labels={"agentpool": "h100"})]
    joined = listed(world(group("aks-h100-99-vmss", 2, registered=1), nodes=dark))["h100"]
    assert (joined.nodes_now, joined.target, joined.node_names) == (1, 2, ("h100-0",))
    up = [node("h100-0", 8, labels={"agentpool": "h100"})]
    view = world(group("aks-h100-99-vmss", 2, registered=1), nodes=up)
    assert listed(view).keys() == {"h100", "t4"}, "no pool is listed twice"
    assert (listed(view)["h100"].target, listed(view)["h100"].nodes_joining) == (2, 1)
    gone = world(group("aks-h100-99-vmss", 2, registered=2), nodes=up)
    went = listed(gone)["h100"]
    assert (went.target, went.nodes_joining) == (1, 0), "a node that went is not on its way"


def told(text: str, *groups: ScaledGroup, age: float = 10.0, **asked: Any) -> Finding:
    view = world(*groups, age=age, **asked)
    store: Any = view.store
    store.apply(Batch(kind=Kind.EVENT, changed=(said(text),)))
    return explain(WAITS, view)


AT_ZERO = (group("aks-cpu-7-vmss"), group("aks-h100-99-vmss"))


def test_the_reason_of_a_full_pool_is_none_of_a_group_that_may_grow() -> None:
    found = told(f"1 {FULL}, 2 {SHORT}", *AT_ZERO, gpus=12)
    assert found.cause == "gpus-short" and "maximum" not in found.sentence, found.sentence
    backs_off = group("aks-h100-99-vmss", up="Backoff", error_code="QUOTA_EXCEEDED")
    mine = selecting("agentpool", "h100")
    found = told(f"1 {FULL}, 1 {BACKOFF}", backs_off, **mine)
    assert (found.cause, "backs off from pool h100" in found.sentence) == ("no-machine", True), found.sentence
    found = told(f"2 {FULL}", group("aks-h100-99-vmss", maximum=0), **mine)
    assert (found.cause, "pool h100 is at its maximum" in found.sentence) == ("pool-at-maximum", True)


def test_a_group_of_a_dead_autoscaler_comes_to_nothing() -> None:
    view = world(group("aks-h100-99-vmss"), age=700.0, **selecting("agentpool", "h100"))
    pool = listed(view)["h100"]
    assert (pool.nodes_now, pool.maximum, pool.grows_by_demand) == (0, 4, False)
    found = explain(WAITS, view)
    assert found.cause == "no-machine" and "the autoscaler of pool h100 does not work" in found.sentence
    assert [one.kind.value for one in failures_of(pool, view.store, NOW)] == ["no autoscaler"]
