"""A GPU that ought to be there and is not: one cause on the node, its pods and *Now*."""

from typing import Any

import pytest

from cockpit.model.finding import Finding, Subject
from cockpit.model.record import Kind
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import explain
from cockpit.triage.now_findings import NodeReads, gpu_node_finding
from tests.unit.triage.objects import NOW, NVIDIA, Tree, meta, node, view_of

PRESENT = {"nvidia.com/gpu.present": "true", "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
KARPENTER = "karpenter.sh/nodepool"


def bare(name: str, *, capacity: int | None = None, offered: int | None = None, **more: Any) -> Tree:
    """A Ready node that shows no GPU, or `offered` of `capacity`."""
    made = node(name, 0, **more)
    for field, count in (("capacity", capacity), ("allocatable", offered)):
        if count is not None:
            made["status"][field] = {**made["status"][field], NVIDIA: str(count)}
    return made


def pod(
    name: str, gpus: int = 1, *, on: str = "", space: str = "team-a", is_elsewhere: bool = False, **spec: Any
) -> Tree:
    """A pod that the scheduler has refused, unless it is `on` a node."""
    amounts = {"cpu": "1", "memory": "1Gi", **({NVIDIA: str(gpus)} if gpus else {}), **spec.pop("more", {})}
    why = "node(s) didn't match Pod's node affinity/selector" if is_elsewhere else f"Insufficient {NVIDIA}"
    refused = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": f"0/3 nodes are available: 3 {why}.",
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta(name, space),
        "spec": {
            "containers": [{"name": "main", "image": "train:1", "resources": {"requests": amounts}}],
            **({"nodeName": on} if on else {}),
            **spec,
        },
        "status": {"phase": "Pending", "conditions": [] if on else [refused]},
    }


def stack_pod(name: str, on: str, init: str, state: Tree, ended: Tree | None = None) -> Tree:
    """A pod of the GPU stack whose init container is in that state."""
    made = pod(name, 0, on=on, space="gpu-operator")
    made["spec"]["initContainers"] = [{"name": init, "image": "x"}]
    last = {} if ended is None else {"lastState": {"terminated": ended}}
    status = {"name": init, "ready": False, "restartCount": 300, "state": state, **last}
    main = {"name": "main", "ready": False, "state": {"waiting": {"reason": "PodInitializing"}}}
    made["status"] |= {"initContainerStatuses": [status], "containerStatuses": [main]}
    return made


TOOLKIT = stack_pod(
    "nvidia-container-toolkit-daemonset-664",
    "sick",
    "driver-validation",
    {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}},
    {"exitCode": 1, "reason": "Error", "finishedAt": "2027-01-15T07:55:00Z"},
)
PLUGIN = stack_pod("nvidia-device-plugin-daemonset-q46", "sick", "toolkit-validation", {"running": {}})


def claim(node_name: str, gpus: int = 1) -> Tree:
    """A NodeClaim whose node has joined, and whose GPU never came up."""
    waits = {"status": "Unknown", "reason": "ResourceNotRegistered", "message": f'Resource "{NVIDIA}" was'}
    date = {"lastTransitionTime": "2027-01-15T07:10:00Z"}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": meta(f"claim-{node_name}", labels={KARPENTER: "gpu-spot"}),
        "spec": {"resources": {"requests": {NVIDIA: str(gpus), "cpu": "2"}}},
        "status": {
            "nodeName": node_name,
            "capacity": {NVIDIA: str(gpus), "cpu": "4"},
            "conditions": [
                {"type": "Launched", "status": "True", **date},
                {"type": "Registered", "status": "True", **date},
                {"type": "Initialized", **waits, **date},
            ],
        },
    }


def of_node(view: ClusterView, name: str = "sick") -> Finding:
    return explain(Subject("node", "", name), view)


def of_pod(view: ClusterView, name: str = "answer") -> Finding:
    return explain(Subject("pod", "team-a", name), view)


def on_now(view: ClusterView) -> dict[str, str]:
    reads = NodeReads(frozenset(), frozenset(), None, frozenset())
    nodes = view.store.records(Kind.NODE).values()
    found = (gpu_node_finding(node, view.store, NOW, reads) for node in nodes)
    return {row.row: row.sentence for row in found if row is not None}


SELECT: dict[str, Any] = {"nodeSelector": {"team": "zero"}}
LABELS = {**PRESENT, "team": "zero"}
SITUATIONS: dict[str, tuple[list[Tree], str, str]] = {
    "labels promise": (
        [bare("sick", labels=LABELS)],
        "gpu-stack-down",
        "ready, but offers none of its GPUs (NVIDIA-H100-80GB-HBM3): driver or device plugin is down",
    ),
    "all unhealthy": (
        [bare("sick", capacity=16, offered=0, labels=LABELS)],
        "gpus-unhealthy",
        "all 16 GPUs are unhealthy",
    ),
    "the stack fails": (
        [bare("sick", labels={**LABELS, "nvidia.com/gpu.count": "8"}), TOOLKIT, PLUGIN],
        "gpu-stack-down",
        "offers 0 of 8 GPUs: nvidia-container-toolkit fails (driver-validation crashes); device plugin waits",
    ),
    "the machine promises": (
        [bare("sick", labels={KARPENTER: "gpu-spot", "team": "zero"}), claim("sick")],
        "gpu-stack-down",
        "joined, its GPUs never came: driver or device plugin is down",
    ),
    "other nodes of the pool promise": (
        [
            bare("sick", labels={"eks.amazonaws.com/nodegroup": "a", "team": "zero"}),
            node("well", 4, labels={"eks.amazonaws.com/nodegroup": "a"}),
        ],
        "gpu-stack-down",
        "joined, its 4 GPUs never came: driver or device plugin is down",
    ),
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_it_is_one_cause_on_the_node_the_pod_and_now(name: str) -> None:
    objects, cause, sentence = SITUATIONS[name]
    company = [node("full", 1, labels={"pool": "b"}), pod("holder", 1, on="full")]
    view = view_of([*objects, *company, pod("answer", **SELECT)])
    found = of_node(view)
    assert (found.cause, found.sentence.startswith(sentence)) == (cause, True), found.sentence
    assert on_now(view) == {"sick": found.sentence}
    waits = of_pod(view)
    assert (waits.cause, waits.root) == (cause, Subject("node", "", "sick"))
    assert waits.sentence.startswith("node sick: ") and "selector" not in waits.sentence


def test_what_waits_for_the_failing_part_is_told() -> None:
    found = of_node(view_of(SITUATIONS["the stack fails"][0]))
    assert found.fact("pod") == "gpu-operator/nvidia-container-toolkit-daemonset-664"
    objects = [one.object for one in found.evidence]
    assert "Pod gpu-operator/nvidia-device-plugin-daemonset-q46" in objects


def test_what_the_owner_of_the_machine_says_is_evidence() -> None:
    found = of_node(view_of(SITUATIONS["the machine promises"][0]))
    said = {one.object: one.field for one in found.evidence}
    assert said["NodeClaim claim-sick"] == "condition Initialized"


def test_a_taint_that_would_hold_it_next_is_told_too() -> None:
    taint = [{"key": "zero", "value": "1", "effect": "NoSchedule"}]
    sick = bare("sick", capacity=16, offered=0, labels=LABELS, taints=taint)
    found = of_pod(view_of([sick, pod("answer", **SELECT)]))
    assert (found.cause, found.root) == ("gpus-unhealthy", Subject("node", "", "sick"))
    assert "taint" in found.also


def test_a_pod_that_selects_other_nodes_is_not_told_of_it() -> None:
    view = view_of(
        [
            bare("sick", labels=LABELS),
            node("full", 8),
            pod("answer", is_elsewhere=True, nodeSelector={"team": "one"}),
        ]
    )
    found = of_pod(view)
    assert (found.cause, found.root) == ("selector", Subject("label", "", "team=one"))
    assert "sick" not in found.sentence


def test_a_node_that_has_room_is_what_counts() -> None:
    """Where another node may take the pod, it waits for that one."""
    holder = pod("holder", 8, on="full")
    view = view_of([bare("sick", labels=PRESENT), node("full", 8), holder, pod("answer")])
    assert of_pod(view).cause == "gpus-short"


@pytest.mark.parametrize("labels", [{}, {"accelerator": "none"}, {"pool": "a"}])
def test_a_node_of_which_nothing_promises_gpus_is_well(labels: dict[str, str]) -> None:
    view = view_of([bare("cpu", labels=labels), node("gpu", 8, labels={"pool": "a"})])
    assert (of_node(view, "cpu").cause, on_now(view)) == ("", {})


# ---- hope


YOUNG = {"creationTimestamp": "2027-01-15T07:55:00Z"}
FITS: dict[str, tuple[dict[str, Any], bool]] = {
    "one GPU": ({}, True),
    "more GPUs": ({"gpus": 16}, False),
    "CPU": ({"more": {"cpu": "300"}}, False),
    "memory": ({"more": {"memory": "7Ti"}}, False),
    "huge pages": ({"more": {"hugepages-1Gi": "64Gi"}}, False),
    "rdma": ({"more": {"rdma/hca": "1"}}, False),
    "another node": ({"nodeSelector": {"kubernetes.io/hostname": "other"}}, False),
    "another pool": ({"nodeSelector": {"eks.amazonaws.com/nodegroup": "b"}}, False),
    "GPU label of its pool": ({"nodeSelector": {"nvidia.com/gpu.product": "H100"}}, True),
}


def joining(ready: str = "True", **more: Any) -> Tree:
    made = bare("new", labels={"eks.amazonaws.com/nodegroup": "a", "nvidia.com/gpu.count": "8"}, **more)
    made["metadata"] |= YOUNG
    made["status"]["conditions"] = [
        {"type": "Ready", "status": ready, "lastTransitionTime": "2027-01-15T07:56:00Z"}
    ]
    return made


@pytest.mark.parametrize("ready", ["True", "False"])
@pytest.mark.parametrize("name", FITS)
def test_hope_is_only_for_a_pod_that_the_node_takes_as_it_will_be(name: str, ready: str) -> None:
    asked, is_taken = FITS[name]
    up = node("up", 8, labels={"eks.amazonaws.com/nodegroup": "a", "nvidia.com/gpu.product": "H100"})
    view = view_of([joining(ready), up, pod("holder", 8, on="up"), pod("answer", **asked)])
    found = of_pod(view)
    assert (found.cause == "node-coming") is is_taken, found.sentence
    assert ("new" in found.sentence and "UTC at most" in found.sentence) is is_taken


def test_a_taint_of_the_pool_stays_and_one_of_its_start_goes() -> None:
    start = [{"key": "example.com/starting", "effect": "NoSchedule"}]
    lasting = [{"key": "team", "value": "b", "effect": "NoSchedule"}]
    group = {"eks.amazonaws.com/nodegroup": "a"}
    held, asks = pod("holder", 8, on="up"), pod("answer")
    starts = view_of([joining(taints=start), node("up", 8, labels=group), held, asks])
    assert of_pod(starts).cause == "node-coming"
    stays = view_of([joining(taints=lasting), node("up", 8, labels=group, taints=lasting), held, asks])
    assert of_pod(stays).cause != "node-coming"


def test_a_hope_ends_and_the_node_is_the_cause() -> None:
    new = joining()
    new["metadata"]["creationTimestamp"] = "2027-01-15T07:10:00Z"
    new["status"]["conditions"][0]["lastTransitionTime"] = "2027-01-15T07:14:00Z"
    found = of_pod(view_of([new, pod("answer")]))
    assert (found.cause, found.root) == ("gpu-stack-down", Subject("node", "", "new"))


def test_a_part_of_the_stack_that_crashes_ends_the_hope_at_once() -> None:
    crashes = stack_pod(
        "nvidia-driver-daemonset-1", "new", "k8s-driver-manager", {"waiting": {"reason": "ImagePullBackOff"}}
    )
    found = of_pod(view_of([joining(), crashes, pod("answer")]))
    assert found.cause == "gpu-stack-down" and "nvidia-driver fails" in found.sentence
