"""What no node has, behind a gate at which the scheduler stops before: told first, and the gate besides."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from cockpit.catalogue import Cause, Permanence
from cockpit.fit.scheduling_context import UNKNOWN, Surroundings
from cockpit.model.finding import Finding, Subject
from cockpit.triage.engine import explain
from tests.unit.triage.objects import NVIDIA, Tree, job, node, pods_of, view_of

Edit = Callable[[Tree], Any]
TAINTED = "node(s) had untolerated taint(s)"
UNSELECTED = "node(s) didn't match Pod's node affinity/selector"
PORT = [{"hostPort": 9000, "containerPort": 9000}]


def asking(resource: str, count: int) -> Edit:
    """One of these instead of GPUs; CPU and other devices beside them."""

    def edit(made: Tree) -> None:
        resources = template(made)["containers"][0]["resources"]
        is_gpu = "gpu" in resource or "mig-" in resource
        kept = {name: amount for name, amount in resources["limits"].items() if not is_gpu or name != NVIDIA}
        resources["limits"] = resources["requests"] = {**kept, resource: str(count)}

    return edit


def template(made: Tree) -> Tree:
    spec: Tree = made["spec"]["template"]["spec"]
    return spec


def affinity(name: str) -> Tree:
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]}]
    terms = {"nodeSelectorTerms": [{"matchFields": fields}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


class Never(NamedTuple):
    """What no node has, and what the scheduler says of a node on which it comes to that."""

    cause: str
    ask: Edit
    said: str


NEVER = {
    "vendor": Never(Cause.RESOURCE_NOT_OFFERED, asking("amd.com/gpu", 1), "Insufficient amd.com/gpu"),
    "device": Never(
        Cause.RESOURCE_NOT_OFFERED, asking("example.com/fpga", 1), "Insufficient example.com/fpga"
    ),
    "unit": Never(
        Cause.OTHER_GPU_UNIT, asking("nvidia.com/mig-1g.10gb", 1), "Insufficient nvidia.com/mig-1g.10gb"
    ),
    "GPUs": Never(Cause.GPUS_SHORT, asking(NVIDIA, 16), f"Insufficient {NVIDIA}"),
    "CPU": Never(Cause.OTHER_RESOURCE_SHORT, asking("cpu", 400), "Insufficient cpu"),
    "label": Never(
        Cause.SELECTOR, lambda made: template(made).update(nodeSelector={"gpu": "b300"}), UNSELECTED
    ),
    "node": Never(Cause.SELECTOR, lambda made: template(made).update(affinity=affinity("gone")), UNSELECTED),
}


class Gate(NamedTuple):
    """What else holds the pod off each of its nodes. `is_early`: the scheduler looks at it first, and says
    nothing of what comes behind it; None: only before what it counts."""

    cause: str
    said: str
    node: Edit = lambda _: None
    job: Edit = lambda _: None
    is_early: bool | None = True


def down(made: Tree) -> None:
    made["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]


def tainted(key: str) -> Edit:
    return lambda made: made["spec"].update(taints=[{"key": key, "value": "x", "effect": "NoSchedule"}])


def with_port(made: Tree) -> None:
    template(made)["containers"][0]["ports"] = PORT


GATES = {
    "taint": Gate(Cause.TAINT, TAINTED, node=tainted("team")),
    "cordon": Gate(
        Cause.CORDONED,
        "node(s) were unschedulable",
        node=lambda made: made["spec"].update(unschedulable=True),
    ),
    "down": Gate(Cause.NODES_NOT_READY, TAINTED, node=down),
    "port": Gate(
        Cause.HOST_PORT,
        "node(s) didn't have free ports for the requested pod ports",
        job=with_port,
        is_early=None,
    ),
    "pods": Gate(
        Cause.POD_LIMIT,
        "Too many pods",
        node=lambda made: made["status"]["allocatable"].update(pods="0"),
        is_early=False,
    ),
}


def holder(name: str, gpus: int, edit: Edit = lambda _: None) -> list[Tree]:
    made = job(f"holds-{name}", 1, gpus, namespace="team-b", tolerations=[{"operator": "Exists"}])
    edit(made)
    return [made, *pods_of(made, (name,))]


def explained(never: Never, gate: Gate, *, has_neighbour: bool) -> Finding:
    """Two nodes with the gate, and a full one of other people."""
    nodes = [node(name) for name in "ab"]
    others: list[Tree] = []
    for each in nodes:
        gate.node(each)
        others += holder(each["metadata"]["name"], 0, gate.job) if gate.is_early is None else []
    if has_neighbour:
        others += [node("z"), *holder("z", 8)]
        tainted("tenant")(others[-3])
    made = job("waits", 1, 1)
    never.ask(made)
    gate.job(made)
    (pod,) = pods_of(made)
    counts_nodes = never.said == UNSELECTED
    is_first = gate.is_early or (gate.is_early is None and not counts_nodes)
    said = f"2 {gate.said}" if is_first else f"2 {never.said}"
    if not is_first and not counts_nodes:
        said += f", 2 {gate.said}"
    said += f", 1 {TAINTED}" if has_neighbour else ""
    count = 3 if has_neighbour else 2
    pod["status"]["conditions"][0]["message"] = f"0/{count} nodes are available: {said}."
    return explain(Subject("job", "team-a", "waits"), view_of([*nodes, *others, made, pod]))


@pytest.mark.parametrize("has_neighbour", [False, True], ids=["alone", "beside others"])
@pytest.mark.parametrize("gate", GATES.values(), ids=GATES.keys())
@pytest.mark.parametrize("never", NEVER.values(), ids=NEVER.keys())
def test_what_no_node_has_is_told_before_the_gate_that_hides_it(
    never: Never, gate: Gate, *, has_neighbour: bool
) -> None:
    found = explained(never, gate, has_neighbour=has_neighbour)
    assert (found.cause, found.permanence) == (never.cause, Permanence.NEVER)
    assert gate.cause in found.also
    behind = {one.cause for one in found.then}
    assert gate.cause in behind or (has_neighbour and behind)  # else of the neighbour's node


def test_a_pod_without_its_claim_hears_what_no_cordoned_node_has() -> None:
    made = job("waits", 1, 1, volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "corpus"}}])
    asking("cpu", 400)(made)
    (pod,) = pods_of(made)
    pod["status"]["conditions"][0]["message"] = 'persistentvolumeclaim "corpus" not found'
    nodes = [node(name, unschedulable=True) for name in "ab"]
    found = explain(Subject("job", "team-a", "waits"), view_of([*nodes, made, pod], Surroundings(claims={})))
    assert (found.cause, found.also) == (Cause.OTHER_RESOURCE_SHORT, (Cause.CLAIM_MISSING, Cause.CORDONED))


def test_a_node_that_took_the_scheduler_to_its_amounts_speaks_against_what_was_computed() -> None:
    made = job("waits", 1, 1, nodeSelector={"gpu": "b300"})
    (pod,) = pods_of(made)
    said = f"0/2 nodes are available: 1 {TAINTED}, 1 Insufficient {NVIDIA}."
    pod["status"]["conditions"][0]["message"] = said
    found = explain(Subject("job", "team-a", "waits"), view_of([node("a"), node("b"), made, pod], UNKNOWN))
    assert found.cause in (Cause.TAINT, Cause.GPUS_SHORT)
