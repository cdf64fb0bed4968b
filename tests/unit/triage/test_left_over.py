"""What a removal, a drain or a write that was broken off left: a row of *Now*, and a cause for `why node`."""

from typing import Any

import msgspec
import pytest

from cockpit.model.batch import Batch
from cockpit.model.broken_write import BrokenWrite, EndedDrain
from cockpit.model.finding import Subject
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.pool import Machine
from cockpit.model.record import Condition, Kind
from cockpit.pools.idle import RECLAIM, RECLAIM_AT, REMOVAL
from cockpit.pools.registry import marking_machines
from cockpit.triage.attention import needs_human
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import explain
from cockpit.triage.node_signs import LEFT_SECONDS
from cockpit.triage.verdicts import Verdicts
from tests.unit.jobs.builders import Cluster

NOW = 1_790_000_000.0
MARKS = ((RECLAIM, "pool-key"), (RECLAIM_AT, str(int(NOW - LEFT_SECONDS - 60))))
DRAIN = (
    ("gpu-cockpit/drain-id", "d1"),
    ("gpu-cockpit/drain-by", "ann@here"),
    ("gpu-cockpit/drain-pods", "2"),
)


def node(**fields: Any) -> Node:
    return Node(
        uid="n1",
        name="gpu-7",
        conditions=(Condition("Ready", "True"),),
        gpu_capacity=8,
        gpu_allocatable=8,
        created_seconds=0.0,
        **fields,
    )


def machine() -> Machine:
    """One with our mark to go before others, whichever owner's it is."""
    bare = Machine(
        uid="m1",
        name="m1",
        namespace="fleet",
        api_version="cluster.x-k8s.io/v1beta1",
        kind="Machine",
        resource_path="/apis/cluster.x-k8s.io/v1beta1/namespaces/fleet/machines",
        node="gpu-7",
    )
    marked = msgspec.structs.replace(bare, annotations=(("cluster.x-k8s.io/delete-machine", "gpu-cockpit"),))
    assert any(owner.unmark_calls(marked) for owner in marking_machines())
    return marked


def told(cluster: Cluster, *nodes: Node, ended: tuple[EndedDrain, ...] = ()) -> list[tuple[str, str, str]]:
    cluster.store.apply(Batch(kind=Kind.NODE, changed=nodes))
    cluster.put()
    verdicts = Verdicts(cluster.store, cluster.index)
    verdicts.on_demand.take_left_over((), ended)
    rows = needs_human(cluster.store, cluster.index, NOW, verdicts=verdicts)
    view = ClusterView(
        store=cluster.store,
        jobs=cluster.index,
        now_seconds=NOW,
        ended_drains=verdicts.on_demand.drains_ended,
    )
    why = explain(Subject("node", "", "gpu-7"), view)
    assert why.sentence == "".join(row.sentence for row in rows), "why node and Now agree"
    return [(row.key, row.sentence, row.remedies[0].key) for row in rows]


@pytest.mark.parametrize(
    ("fields", "left"),
    [
        ({"annotations": MARKS, "unschedulable": True}, "a cordon"),
        ({"annotations": MARKS, "unschedulable": True, "taints": (REMOVAL,)}, "a cordon, a taint"),
        ({"taints": (REMOVAL,)}, "a taint"),
        ({"annotations": MARKS}, "a mark"),
    ],
)
def test_what_a_removal_left_on_a_node_is_a_row_that_one_key_cleans(fields: Any, left: str) -> None:
    assert told(Cluster(), node(**fields)) == [
        ("node-left-over:gpu-7", f"a removal of it was begun and did not go on; it left {left}", "X")
    ]


def test_a_mark_on_the_machine_alone_is_told() -> None:
    cluster = Cluster()
    cluster.store.apply(Batch(kind=Kind.MACHINE, changed=(machine(),)))
    ((key, sentence, remedy),) = told(cluster, node())
    assert (key, remedy) == ("node-left-over:gpu-7", "X") and sentence.endswith(
        "it left a mark on its machine"
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"annotations": ((RECLAIM, "k"), (RECLAIM_AT, str(int(NOW - 60)))), "unschedulable": True},
        {"annotations": MARKS, "unschedulable": True, "taints": (REMOVAL,), "deleting_seconds": NOW - 5},
        {"unschedulable": True},
        {},
    ],
)
def test_a_removal_on_its_way_and_a_cordon_of_others_are_left_alone(fields: Any) -> None:
    assert told(Cluster(), node(**fields)) == []


def test_a_drain_that_nobody_carries_on_is_told_while_pods_are_left() -> None:
    cluster, ended = Cluster(), (EndedDrain(node="gpu-7", at_seconds=NOW - 60),)
    drained = node(annotations=DRAIN, unschedulable=True)
    assert told(cluster, drained, ended=ended) == []  # no pod is left
    pod = Pod(uid="p", name="p", namespace="a", phase="Running", node="gpu-7", gpus=8)
    cluster.store.apply(Batch(kind=Kind.POD, changed=(pod,)))
    assert told(cluster, drained) == []  # its cockpit runs, or is another host's
    assert told(cluster, drained, ended=ended) == [
        (
            "node-left-over:gpu-7",
            "its drain, begun by ann@here, ended with the cockpit that ran it: 1 pod left, cordoned",
            "X",
        )
    ]


@pytest.mark.parametrize(
    ("fields", "is_bad", "sentence"),
    [
        ({"effect": "applied"}, False, "begun 21 Sep 14:13 UTC, broken off: applied"),
        (
            {"effect": "not applied", "done": 2, "calls": 3},
            False,
            "begun 21 Sep 14:13 UTC, broken off: not applied; 2 of 3 calls before it done",
        ),
        (
            {"effect": "cannot be told", "why": "it is gone by now"},
            True,
            "begun 21 Sep 14:13 UTC, broken off: cannot be told: it is gone by now",
        ),
        (
            {"effect": "applied", "is_between": True, "done": 1, "calls": 3},
            True,
            "begun 21 Sep 14:13 UTC, broken off after 1 of 3 calls: the rest was not sent",
        ),
    ],
)
def test_a_write_that_was_broken_off_is_a_row(fields: Any, is_bad: bool, sentence: str) -> None:
    cluster = Cluster()
    cluster.put()
    verdicts = Verdicts(cluster.store, cluster.index)
    about: dict[str, Any] = {"audit_id": "id1", "verb": "kill", "target": "job a/b", "at_seconds": NOW}
    write = BrokenWrite(**about, method="DELETE", path="/x", **fields)
    verdicts.on_demand.take_left_over((write,), ())
    (row,) = needs_human(cluster.store, cluster.index, NOW, verdicts=verdicts)
    assert (row.key, row.title) == ("write-broken-off:id1/DELETE/x", "kill job a/b")
    assert (row.is_bad, row.sentence, row.remedies[0].key) == (is_bad, sentence, "a")
