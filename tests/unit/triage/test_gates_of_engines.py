"""A scheduling gate that an engine takes off by itself: its queue holds the pod, and no hand has to."""

import pytest

from cockpit.catalogue import Cause
from cockpit.model.finding import Subject
from cockpit.triage.changes.smallest import changes_for
from cockpit.triage.engine import explain
from tests.unit.triage.objects import Tree, node, view_of

SUBJECT = Subject("pod", "team-a", "worker")


def gated(gate: str, **labels: str) -> Tree:
    requests = {"nvidia.com/gpu": "1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "worker",
            "namespace": "team-a",
            "uid": "u-worker",
            "resourceVersion": "7",
            "creationTimestamp": "2027-01-15T07:00:00Z",
            "labels": {f"kueue.x-k8s.io/{key.replace('_', '-')}": value for key, value in labels.items()},
        },
        "spec": {
            "schedulingGates": [{"name": gate}],
            "containers": [{"name": "main", "resources": {"requests": requests, "limits": requests}}],
        },
        "status": {"phase": "Pending"},
    }


def offered(trees: list[Tree]) -> set[str]:
    view = view_of(trees)
    return {one.kind for one in changes_for(explain(SUBJECT, view), view)}


@pytest.mark.parametrize("gate", ["kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology"])
def test_its_queue_holds_it_and_the_gate_is_left_alone(gate: str) -> None:
    trees = [node("a"), gated(gate, queue_name="research-lq", pod_group_name="g1")]
    found = explain(SUBJECT, view_of(trees))
    assert found.cause == Cause.NOT_TAKEN_BY_QUEUE
    assert found.sentence == "Kueue has not taken it into queue research-lq"
    assert "drop_gate" not in offered(trees)


def test_without_a_queue_its_engine_is_named() -> None:
    found = explain(SUBJECT, view_of([node("a"), gated("kueue.x-k8s.io/admission")]))
    assert found.sentence == "Kueue has not taken it"


def test_a_gate_of_another_stays_one() -> None:
    trees = [node("a"), gated("acme.example/review", queue_name="research-lq")]
    assert explain(SUBJECT, view_of(trees)).cause == Cause.SCHEDULING_GATE
    assert "drop_gate" in offered(trees)
