"""The autoscaler's decisions, without a cluster: who grows, by how much, who is not needed, what is told."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.sim.actors.autoscaler.groups import MAXIMUM, MINIMUM, NodeGroup, groups_of
from cockpit.sim.actors.autoscaler.room import pack, requests_of
from cockpit.sim.actors.autoscaler.scale_down import candidates, utilization
from cockpit.sim.actors.autoscaler.scale_up import ScaleUpPlan, plan
from cockpit.sim.actors.autoscaler.settings import AutoscalerSettings
from cockpit.sim.actors.common.machine_template import full_node
from cockpit.sim.port import Tree

GPU = "nvidia.com/gpu"
TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}


def deployment(name: str = "h100", replicas: int = 1, low: int = 0, high: int = 10, gpus: int = 8) -> Tree:
    capacity = {"cpu": "64", "memory": "512Gi"} | ({GPU: str(gpus)} if gpus else {})
    return {
        "metadata": {
            "name": name, "namespace": "pools",
            "annotations": {MINIMUM: str(low), MAXIMUM: str(high)},
        },
        "spec": {
            "replicas": replicas,
            "template": {"spec": {"node": {"capacity": capacity, "labels": {"pool": name}}}},
        },
    }  # fmt: skip


def node(owner: Tree, name: str, ready: str = "True") -> Tree:
    tree = full_node(owner, name)
    tree["status"]["conditions"] = [{"type": "Ready", "status": ready}]
    return tree


def pod(name: str, gpus: int = 1, cpu: str = "1", **spec: Any) -> Tree:
    asked = {"cpu": cpu} | ({GPU: str(gpus)} if gpus else {})
    return {
        "metadata": {"name": name, "namespace": "team", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"containers": [{"name": "main", "resources": {"limits": asked, "requests": asked}}], **spec},
        "status": {
            "phase": "Pending",
            "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
        },
    }


def group(owner: Tree, *nodes: Tree, machines: tuple[Tree, ...] = ()) -> NodeGroup:
    (found,) = groups_of([owner], nodes, machines)
    return found


def scan(
    groups: list[NodeGroup],
    pods: list[Tree],
    *,
    daemons: tuple[Tree, ...] = (),
    backing_off: dict[str, str] | None = None,
    max_nodes_total: int = 0,
) -> ScaleUpPlan:
    return plan(
        groups, pods, daemons, backing_off=backing_off or {}, nodes_total=4, max_nodes_total=max_nodes_total
    )


def test_three_gangs_of_eight_need_three_nodes_and_the_maximum_holds() -> None:
    owner = deployment(replicas=1, high=3)
    pods = [pod(f"p{n}", 8) for n in range(5)]
    one = scan([group(owner, node(owner, "n0"))], pods)
    assert one.growth is not None
    assert (one.growth.to, len(one.growth.pods)) == (3, 2)
    assert one.unhelped == ()  # a scan that grows something tells the others nothing


def test_what_is_on_its_way_takes_its_pods_first() -> None:
    owner = deployment(replicas=2)
    pods = [pod("p0", 8), pod("p1", 8)]
    one = scan([group(owner, node(owner, "n0"), node(owner, "n1", ready="False"))], pods)
    assert [tree["metadata"]["name"] for tree in one.awaiting] == ["p0"]
    assert one.growth is not None
    assert one.growth.to == 3


def test_a_node_without_its_gpus_is_still_on_its_way() -> None:
    owner = deployment(replicas=1)
    bare = node(owner, "n0")
    del bare["status"]["allocatable"][GPU]
    assert scan([group(owner, bare)], [pod("p0", 8)]).growth is None


@pytest.mark.parametrize(
    ("owner", "asked", "more", "text"),
    [
        (deployment(replicas=2, high=2), pod("p"), {}, "1 max node group size reached"),
        (deployment(gpus=4), pod("p", 8), {}, f"1 Insufficient {GPU}"),
        (deployment(), pod("p", cpu="100"), {}, "1 Insufficient cpu"),
        (
            deployment(),
            pod("p", nodeSelector={"pool": "other"}),
            {},
            "1 node(s) didn't match Pod's node affinity/selector",
        ),
        (
            deployment(),
            pod("p"),
            {"backing_off": {"MachineDeployment/pools/h100": "quota"}},
            "1 in backoff after failed scale-up",
        ),
        (deployment(), pod("p"), {"max_nodes_total": 4}, "1 max total nodes in cluster reached"),
    ],
)
def test_why_nothing_grows(owner: Tree, asked: Tree, more: dict[str, Any], text: str) -> None:
    full = [node(owner, f"n{number}") for number in range(owner["spec"]["replicas"])]
    one = scan([group(owner, *full)], [asked], **more)
    assert one.growth is None
    assert [why for _, why in one.unhelped] == [text]


def test_a_tainted_template_takes_only_those_who_tolerate() -> None:
    owner = deployment()
    owner["spec"]["template"]["spec"]["node"]["taints"] = [TAINT]
    groups = [group(owner, node(owner, "n0"))]
    one = scan(groups, [pod("p")])
    assert [why for _, why in one.unhelped] == ["1 node(s) had untolerated taint {nvidia.com/gpu: present}"]
    for toleration in (
        {"key": "nvidia.com/gpu", "operator": "Exists"},
        {"operator": "Exists"},
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
    ):
        assert scan(groups, [pod("p", tolerations=[toleration])]).growth is not None


def test_least_waste_prefers_the_small_card() -> None:
    big, small = deployment("h100", gpus=8), deployment("t4", gpus=1)
    groups = [group(big, node(big, "a")), group(small, node(small, "b"))]
    one = scan(groups, [pod("p", 1)])
    assert one.growth is not None
    assert one.growth.group.name == "t4"


def test_daemons_take_their_share_of_a_fresh_node() -> None:
    owner = deployment()
    daemon = pod("exporter", 0, cpu="10")
    full = pod("p", 8, cpu="60")
    assert scan([group(owner, node(owner, "n"))], [full], daemons=(daemon,)).growth is None
    assert scan([group(owner, node(owner, "n"))], [full]).growth is not None


@given(st.lists(st.integers(1, 8), max_size=12), st.integers(0, 6))
def test_packing_never_overfills_and_never_uses_more_nodes_than_allowed(gpus: list[int], most: int) -> None:
    template = full_node(deployment(), "template")
    pods = [pod(f"p{number}", count) for number, count in enumerate(gpus)]
    packed = pack(template, pods, most, GPU)
    asked = sum(requests_of(one)[GPU] for one in packed.pods)
    assert packed.nodes <= min(most, len(pods))
    assert asked + packed.wasted == 8 * packed.nodes


# ---- down


def owned(tree: Tree, kind: str = "Job") -> Tree:
    tree["metadata"]["ownerReferences"] = [{"kind": kind, "name": "x", "controller": True}]
    tree["status"] = {"phase": "Running"}
    return tree


def names(found: Any) -> list[str]:
    return [one.node for one in found]


def test_empty_nodes_above_the_minimum_are_not_needed() -> None:
    owner = deployment(replicas=3, low=1)
    nodes = [node(owner, f"n{number}") for number in range(3)]
    pods_on = {"n0": [owned(pod("busy", 8))], "n1": [owned(pod("agent", 0), "DaemonSet")]}
    assert names(candidates([group(owner, *nodes)], pods_on, nodes, AutoscalerSettings())) == ["n1", "n2"]
    nodes[2]["metadata"]["annotations"]["cluster-autoscaler.kubernetes.io/scale-down-disabled"] = "true"
    assert names(candidates([group(owner, *nodes)], pods_on, nodes, AutoscalerSettings())) == ["n1"]
    owner["metadata"]["annotations"][MINIMUM] = "3"
    assert names(candidates([group(owner, *nodes)], pods_on, nodes, AutoscalerSettings())) == []


def test_a_node_half_in_use_goes_only_if_its_pods_find_another_place() -> None:
    owner = deployment(replicas=2)
    nodes = [node(owner, "n0"), node(owner, "n1")]
    light = {"n0": [owned(pod("small", 2))], "n1": [owned(pod("half", 6))]}
    (found,) = candidates([group(owner, *nodes)], light, nodes, AutoscalerSettings())
    assert (found.node, found.utilization_ratio) == ("n0", 0.25)
    full = {"n0": [owned(pod("small", 2))], "n1": [owned(pod("large", 8))]}
    assert candidates([group(owner, *nodes)], full, nodes, AutoscalerSettings()) == []
    bare = pod("bare", 2)
    bare["status"] = {"phase": "Running"}
    assert (
        candidates([group(owner, *nodes)], {"n0": [bare], "n1": light["n1"]}, nodes, AutoscalerSettings())
        == []
    )


def test_gpu_nodes_are_judged_by_their_gpus_alone() -> None:
    tree = node(deployment(), "n")
    assert utilization(tree, [pod("p", 0, cpu="60")]) == 0.0
    plain = node(deployment("cpu", gpus=0), "n")
    assert utilization(plain, [pod("p", 0, cpu="32")]) == 0.5
