"""The plan of a resize and the stages of a node."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from cockpit.actions.execute.replan import Differs, confirmed
from cockpit.errors import BadInput
from cockpit.model.plan import Plan
from cockpit.model.pod import Pod
from cockpit.pools.cluster_api import AUTOSCALER_MAXIMUM, AUTOSCALER_MINIMUM
from cockpit.pools.idle import RECLAIM, RECLAIM_AT
from cockpit.pools.index import pool_object, pools_of
from cockpit.pools.plan import plan_scale
from cockpit.pools.shrink import most_at_once
from cockpit.pools.stage import NodeStage, node_stage
from cockpit.store.store import Store
from tests.unit.pools.builders import BORN, deployment, machine, node, pod, store_of

NOW = BORN + 3_600.0


def _plan(store: Store, replicas: int, at_once: int | None = None) -> Plan:
    (pool,) = pools_of(store)
    owner = pool_object(store, pool)
    return plan_scale(pool, owner, replicas, store, now_seconds=NOW, at_once=at_once)


def _two(**more: int) -> Store:
    return store_of([node("a", pool="h100"), node("b", pool="h100")], pools=[deployment(**more)])  # type: ignore[arg-type]


def test_growing_is_one_patch_of_the_scale_subresource() -> None:
    plan = _plan(_two(), 4)
    (call,) = plan.calls
    assert call.method == "PATCH"
    assert call.path == "/apis/cluster.x-k8s.io/v1beta1/namespaces/capi/machinedeployments/h100/scale"
    assert call.content_type == "application/merge-patch+json"
    assert call.body == {
        "metadata": {"uid": "uid-MachineDeployment-h100", "resourceVersion": "77"},
        "spec": {"replicas": 4},
    }
    assert plan.title == "Grow pool h100 from 2 to 4"
    assert plan.lines == (
        "MachineDeployment capi/h100: from 2 to 4 nodes",
        "+ 2 nodes of p5.48xlarge x 8 GPUs H100 = + 16 GPUs",
    )
    assert (plan.warnings, plan.is_destructive) == ((), False)


def _busy(*names: str) -> list[Pod]:
    return [pod(f"p-{name}", name, 8, owner_kind="Job") for name in names]


def test_a_shrink_that_would_take_work_is_refused_with_the_busy_nodes() -> None:
    nodes = [node(name, pool="h100") for name in "abcd"]
    with pytest.raises(BadInput) as refused:
        _plan(store_of(nodes, _busy("a", "b", "c"), [deployment(replicas=4)]), 2)
    assert refused.value.sentence == (
        "pool h100: 2 of 4 nodes would go and only 1 is empty: a, b, c are busy;"
        " drain what may go first (D, cockpit node drain)"
    )


def test_a_node_that_is_kept_by_pods_without_gpus_says_by_which() -> None:
    pods = [pod("web", "b", 0, owner_kind="ReplicaSet"), *_busy("a")]
    with pytest.raises(BadInput, match=r"a, b are busy \(pods without GPUs count, too: team-a/web\); drain"):
        _plan(store_of([node("a", pool="h100"), node("b", pool="h100")], pods, [deployment(replicas=2)]), 1)


def test_so_many_nodes_at_once_are_a_slip_of_the_finger() -> None:
    store = store_of(pools=[deployment(replicas=2)])
    assert _plan(store, 1_002).calls
    with pytest.raises(
        BadInput, match="1001 nodes more at once are too many, at most 1000: scale it to 1002"
    ):
        _plan(store, 1_003)


def test_empty_nodes_are_chosen_where_the_owner_lets_us() -> None:
    nodes = [node(name, pool="h100") for name in "abcd"]
    machines = [machine(name) for name in "abcd"]
    plan = _plan(store_of(nodes, _busy("a", "c"), [deployment(replicas=4)], machines=machines), 3)
    (cordon,), (mark, scale) = plan.calls, plan.later
    assert (cordon.path, cordon.body["spec"]) == ("/api/v1/nodes/b", {"unschedulable": True})
    assert "resourceVersion" in cordon.body["metadata"], "as its pods were read"
    assert mark.path == "/apis/cluster.x-k8s.io/v1beta1/namespaces/capi/machines/m-b"
    assert mark.body["metadata"] == {
        "uid": "uid-m-b",
        "resourceVersion": "5",
        "annotations": {"cluster.x-k8s.io/delete-machine": "gpu-cockpit"},
    }
    assert scale.path.endswith("/scale") and scale.body["spec"] == {"replicas": 3}
    assert plan.lines[2] == "cordoned first: b; removed 10 s later if still empty, else uncordoned"
    assert (plan.lines[1], plan.is_destructive, plan.typed) == ("chosen, all empty: b", True, "")


def test_nodes_that_have_been_cordoned_for_long_enough_go_at_once() -> None:
    marks = {RECLAIM: "MachineDeployment.cluster.x-k8s.io/capi/h100", RECLAIM_AT: str(int(NOW - 11.0))}
    ours = replace(node("d", pool="h100", unschedulable=True), annotations=tuple(marks.items()))
    theirs = node("c", pool="h100", unschedulable=True)
    nodes = [node("a", pool="h100"), node("b", pool="h100"), theirs, ours]
    machines = [machine(name) for name in "abcd"]
    store = store_of(nodes, pools=[deployment(replicas=4)], machines=machines)
    (pool,) = pools_of(store)
    assert pool.key == marks[RECLAIM]
    plan = _plan(store, 2)
    assert [one.path.rpartition("/")[2] for one in plan.calls] == ["d", "c", "m-d", "m-c", "scale"]
    assert not plan.later and "chosen, all empty: d, c" in plan.lines
    later = _plan(store, 1)
    assert [one.path for one in later.calls] == ["/api/v1/nodes/a"], "only what still takes pods is cordoned"
    young = replace(theirs, cordoned_seconds=NOW - 3.0)
    store = store_of([*nodes[:2], young, ours], pools=[deployment(replicas=4)], machines=machines)
    (call,) = _plan(store, 2).calls
    assert call.path == "/api/v1/nodes/c" and "annotations" not in call.body["metadata"], "it stays theirs"


def test_a_machine_that_never_came_goes_before_any_node() -> None:
    """One whose node comes in that moment would leave its place to a busy one."""
    of_pool = {"pool_kind": "MachineDeployment", "pool_key": "capi/h100"}
    bare = [machine("", name, created_seconds=BORN + at, **of_pool) for at, name in enumerate(("m-b", "m-c"))]
    store = store_of(
        [node("a", pool="h100")],
        _busy("a"),
        [deployment(replicas=3)],
        machines=[machine("a", **of_pool), *bare],
    )
    plan = _plan(store, 2)
    assert [one.path.rpartition("/")[2] for one in plan.calls] == ["m-c", "scale"]


def test_where_none_stays_all_are_cordoned_first_whoever_chooses() -> None:
    nodes = [node(name, pool="h100") for name in "ab"]
    plan = _plan(store_of(nodes, pools=[deployment(replicas=2)]), 0)
    assert [one.path for one in plan.calls] == ["/api/v1/nodes/a", "/api/v1/nodes/b"]
    assert [one.body["spec"] for one in plan.later] == [{"replicas": 0}]
    some = _plan(store_of(nodes, pools=[deployment(replicas=2)]), 1)
    assert "its owner chooses which: a pod scheduled there meanwhile may be evicted" in some.lines


def test_where_nobody_chooses_a_busy_node_keeps_the_pool_as_it_is() -> None:
    nodes = [node(name, pool="h100") for name in "abcd"]
    with pytest.raises(BadInput, match="h100 chooses which nodes go, and a is busy; drain what may go first"):
        _plan(store_of(nodes, _busy("a"), [deployment(replicas=4)]), 3)


def test_pods_of_daemons_keep_no_node() -> None:
    nodes = [node(name, pool="h100") for name in "ab"]
    pods = [pod(f"exporter-{name}", name, 0, owner_kind="DaemonSet") for name in "ab"]
    plan = _plan(store_of(nodes, pods, [deployment(replicas=2)]), 1)
    assert len(plan.calls) == 1 and "empty: a, b" in plan.told


@pytest.mark.parametrize(
    ("to", "typed"), [(19, ""), (18, ""), (17, "3"), (11, "9"), (10, "h100"), (0, "h100")]
)
def test_a_large_shrink_is_stated_and_half_the_pool_by_its_name(to: int, typed: str) -> None:
    nodes = [node(f"n{at}", pool="h100") for at in range(20)]
    plan = _plan(store_of(nodes, pools=[deployment(replicas=20)]), to)
    assert plan.typed == typed
    assert any("of the pool at once" in one for one in plan.warnings) is bool(typed)


@pytest.mark.parametrize(
    ("at_once", "to", "typed"),
    [(1, 19, ""), (1, 18, "2"), (5, 15, ""), (5, 14, "6"), (30, 11, ""), (30, 10, "h100")],
)
def test_a_stated_number_goes_unasked_and_never_half_the_pool(at_once: int, to: int, typed: str) -> None:
    nodes = [node(f"n{at}", pool="h100") for at in range(20)]
    plan = _plan(store_of(nodes, pools=[deployment(replicas=20)]), to, at_once)
    assert plan.typed == typed
    assert any("of the pool at once" in one for one in plan.warnings) is bool(typed)


def test_one_node_goes_unasked_however_small_the_pool() -> None:
    assert [most_at_once(nodes, None) for nodes in (1, 2, 19, 20, 30)] == [1, 1, 1, 2, 3]
    assert [most_at_once(nodes, 4) for nodes in (1, 2, 3, 8, 9, 100)] == [1, 1, 1, 3, 4, 4]


@pytest.mark.parametrize(
    ("replicas", "sentence_part"),
    [
        (-1, "-1 nodes are too few, at least 0"),
        (2, "is already set to 2; nothing was changed"),
        (11, "11 is above its maximum of 10"),
        (0, "0 is below its minimum of 1"),
        (10_001, "too many"),
    ],
)
def test_limits(replicas: int, sentence_part: str) -> None:
    with pytest.raises(BadInput) as caught:
        _plan(_two(minimum=1, maximum=10), replicas)
    assert sentence_part in caught.value.sentence
    assert "h100" in caught.value.sentence


def test_a_pool_with_another_owner_is_refused_with_its_reason() -> None:
    bounds = ((AUTOSCALER_MAXIMUM, "40"), (AUTOSCALER_MINIMUM, "2"))
    store = store_of(pools=[deployment(annotations=bounds)])
    with pytest.raises(
        BadInput, match="cannot be resized from here: the cluster autoscaler controls the size"
    ):
        _plan(store, 4)


@pytest.mark.parametrize(
    ("paused", "how"),
    [
        ({"is_paused": True}, "spec.paused"),
        ({"annotations": (("cluster.x-k8s.io/paused", ""),)}, "annotation cluster.x-k8s.io/paused"),
    ],
)
def test_a_paused_pool_is_refused_with_who_paused_it(paused: dict[str, Any], how: str) -> None:
    store = store_of([node("a", pool="h100")], pools=[replace(deployment(), **paused)])
    with pytest.raises(BadInput) as refused:
        _plan(store, 4)
    assert f"MachineDeployment capi/h100 is paused ({how})" in refused.value.sentence
    assert "unpause it first" in refused.value.sentence


def test_a_shrink_is_the_same_while_the_nodes_that_go_are_the_same() -> None:
    """Other nodes get busy, join, or are counted: nothing of that is confirmed."""
    nodes = [node(name, pool="h100", unschedulable=name == "d") for name in "abcd"]
    machines = [machine(name) for name in "abcd"]
    before = _plan(store_of(nodes, _busy("a"), [deployment(replicas=4)], machines=machines), 3)
    owner = deployment(replicas=4, status_replicas=3)
    after = _plan(store_of(nodes, _busy("a", "b"), [owner], machines=machines), 3)
    assert before.expects != after.expects, "the counts have moved"
    assert confirmed(before, after) is after
    others = _plan(store_of(nodes, _busy("a", "b", "d"), [deployment(replicas=4)], machines=machines), 3)
    with pytest.raises(Differs):
        confirmed(before, others)


def test_a_change_in_flight_is_told() -> None:
    assert any(
        "a resize is in progress: 2 requested, 1 present" in one
        for one in _plan(_two(status_replicas=1), 4).expects
    )


def test_an_unknown_number_of_gpus_is_said_and_not_zero() -> None:
    plan = _plan(store_of(pools=[deployment(replicas=0)]), 1)
    assert plan.lines[1] == "+ 1 node; how many GPUs each adds is not known yet"


@given(st.integers(0, 12), st.integers(0, 12))
@settings(deadline=None, max_examples=60)
def test_a_plan_says_its_size_absolutely_and_shrinks_are_destructive(now: int, wanted: int) -> None:
    store = store_of([node(f"n{at}", pool="h100") for at in range(now)], pools=[deployment(replicas=now)])
    if now == wanted:
        with pytest.raises(BadInput):
            _plan(store, wanted)
        return
    plan = _plan(store, wanted)
    assert (*plan.calls, *plan.later)[-1].body["spec"] == {"replicas": wanted}
    assert plan.is_destructive == (wanted < now)


@pytest.mark.parametrize(
    ("made", "stage"),
    [
        ({"ready": ""}, NodeStage.JOINED),
        ({"ready": "False", "ready_after_seconds": 5.0}, NodeStage.JOINED),
        ({"ready": "False", "ready_after_seconds": None}, NodeStage.JOINED),
        ({"ready": "False", "ready_after_seconds": 5000.0}, NodeStage.NOT_READY),
        ({"ready": "Unknown", "ready_after_seconds": 5.0}, NodeStage.NOT_READY),
        ({"gpus": None, "expected": 8}, NodeStage.NOT_ADVERTISED),
        ({"gpus": 0, "expected": 8}, NodeStage.NOT_ADVERTISED),
        ({"gpus": None}, NodeStage.READY),
        ({}, NodeStage.GPUS_UP),
        ({"unschedulable": True}, NodeStage.CORDONED),
        ({"taints": ("karpenter.sh/disrupted",)}, NodeStage.DRAINING),
        ({"deleting_seconds": BORN}, NodeStage.LEAVING),
    ],
)
def test_stages(made: dict[str, object], stage: str) -> None:
    one = node("a", **made)  # type: ignore[arg-type]
    assert node_stage(one, store_of([one])) == stage


def test_stages_that_pods_tell() -> None:
    one = node("a")
    assert node_stage(one, store_of([one], [pod("p", "a")])) == NodeStage.USED
    assert node_stage(one, store_of([one], [pod("p", "a", 0)])) == NodeStage.GPUS_UP
    cordoned = node("a", unschedulable=True)
    assert node_stage(cordoned, store_of([cordoned], [pod("p", "a")])) == NodeStage.CORDONED
    assert node_stage(cordoned, store_of([cordoned], [pod("p", "a", deleting=BORN)])) == NodeStage.DRAINING


def _static(*pods: Pod) -> Store:
    """A static NodePool of three: c works, a and b are empty but for these."""
    label = "karpenter.sh/nodepool"
    nodes = [node(name, pool="h100", pool_label=label) for name in "abc"]
    owner = deployment(
        kind="NodePool", api_version="karpenter.sh/v1", replicas=3, template_labels=((label, "h100"),)
    )
    return store_of(nodes, [pod("w", "c"), *pods], [owner])


def test_an_owner_that_takes_empty_nodes_first_is_told_only_where_it_calls_enough_of_them_empty() -> None:
    ended = replace(pod("old", "a"), phase="Succeeded")
    plan = _plan(_static(ended), 2)
    assert "its owner takes empty nodes first: b" in plan.lines
    with pytest.raises(BadInput, match=r"could remove a busy node instead.*team-a/old on a; delete"):
        _plan(_static(ended), 1)
    assert _plan(_static(pod("d", "a", 0, owner_kind="DaemonSet")), 1).calls


def test_a_static_pod_counts_as_work_for_it_too() -> None:
    with pytest.raises(BadInput, match="team-a/proxy on a"):
        _plan(_static(pod("proxy", "a", 0, owner_kind="Node")), 1)
