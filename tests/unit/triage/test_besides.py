"""What is told besides a cause: what would hold the pod as well, not each filter that some node fails."""

from typing import Any

import pytest

from cockpit.catalogue import Cause
from cockpit.fit.demand import shape_of_pod
from cockpit.fit.scheduling_context import Surroundings
from cockpit.model.finding import Finding, Subject
from cockpit.triage.context import Context
from cockpit.triage.engine import explain
from cockpit.triage.filters import of_pods
from tests.unit.triage.objects import NOW, Tree, job, node, pods_of, view_of

NIGHT = {"key": "team", "value": "night", "effect": "NoSchedule"}
OTHER = {"key": "tenant", "value": "b", "effect": "NoSchedule"}
TAINTED, SHORT = "node(s) had untolerated taint(s)", "Insufficient nvidia.com/gpu"
SUBJECT = Subject("job", "team-a", "waits")


def down(name: str, **spec: Any) -> Tree:
    made = node(name, **spec)
    made["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    return made


def held(name: str) -> list[Tree]:
    """A job that has all GPUs of the node."""
    made = job(f"holds-{name}", 1, 8, namespace="team-b", tolerations=[{"operator": "Exists"}])
    return [made, *pods_of(made, (name,))]


def waiting(said: str, **spec: Any) -> list[Tree]:
    made = job("waits", 1, 8, **spec)
    (pod,) = pods_of(made)
    pod["status"]["conditions"][0]["message"] = said
    return [made, pod]


def why(*trees: Tree) -> Finding:
    return explain(SUBJECT, view_of(trees))


@pytest.mark.parametrize(
    ("others", "said", "also"),
    [
        ([node("b", taints=[OTHER]), *held("b")], f"1 {TAINTED}, 1 {SHORT}", ()),
        ([down("b", taints=[OTHER])], f"1 {TAINTED}, 1 {SHORT}", ()),
        ([down("b", labels={"tenant": "b"})], f"1 {TAINTED}, 1 {SHORT}", (Cause.NODES_NOT_READY,)),
        ([node("b", taints=[OTHER])], f"1 {TAINTED}, 1 {SHORT}", (Cause.TAINT,)),
        ([node("b", unschedulable=True)], f"1 node(s) were unschedulable, 1 {SHORT}", (Cause.CORDONED,)),
        ([node("b", 0, taints=[OTHER])], f"1 {TAINTED}, 1 {SHORT}", ()),
    ],
    ids=[
        "full and tainted",
        "dead and tainted",
        "dead alone",
        "tainted alone",
        "cordoned alone",
        "no GPU and tainted",
    ],
)
def test_a_filter_is_told_besides_where_it_alone_keeps_a_node_from_the_pod(
    others: list[Tree], said: str, also: tuple[Cause, ...]
) -> None:
    found = why(node("a"), *held("a"), *others, *waiting(f"0/2 nodes are available: {said}."))
    assert (found.cause, found.also) == (Cause.GPUS_SHORT, also)


def test_what_the_scheduler_counts_and_no_node_shows_is_told() -> None:
    said = f"0/2 nodes are available: 1 {TAINTED}, 1 {SHORT}."
    found = why(node("a"), *held("a"), node("b"), *held("b"), *waiting(said))
    assert (found.cause, found.also) == (Cause.GPUS_SHORT, (Cause.TAINT,))


def test_the_taint_that_is_named_is_all_that_keeps_the_pod_from_a_node() -> None:
    full = [tree for name in "bcd" for tree in (node(name, taints=[OTHER]), *held(name))]
    found = why(node("a", taints=[NIGHT]), *full, *waiting(f"0/4 nodes are available: 4 {TAINTED}."))
    assert found.sentence == "1 of the 4 nodes that suit it has taint team=night, not tolerated"


def test_pods_of_one_shape_are_counted_against_nodes_that_are_for_them() -> None:
    view = view_of([node("a"), node("b", taints=[OTHER]), node("c", labels={"own": "x"}), *waiting("")])
    (pod,) = view.jobs.members(next(iter(view.jobs.jobs)))
    context = Context(store=view.store, now_seconds=NOW)
    (found,) = of_pods(shape_of_pod(pod), 3, context)
    assert found.sentence == "needs 24 GPUs in all, the nodes that suit it have 16"


def test_a_pod_without_its_claim_and_without_its_scheduler_is_told_both() -> None:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "corpus"}}]
    made = job("waits", 1, 8, volumes=volumes, schedulerName="volcano-sched")
    (pod,) = pods_of(made)
    pod["status"]["conditions"] = []
    found = explain(SUBJECT, view_of([node("a"), made, pod], Surroundings(claims={})))
    assert {found.cause, *found.also} == {Cause.CLAIM_MISSING, Cause.NO_SUCH_SCHEDULER}
