"""Nodes that a pool's object promises GPUs of and that never show any: no hope, and no reason to buy more."""

from typing import Any

import pytest

from cockpit.model.batch import Batch
from cockpit.model.event import Event
from cockpit.model.finding import Finding, Subject
from cockpit.model.record import Kind
from cockpit.pools.index import pools_of
from cockpit.triage.advice import advised
from cockpit.triage.attention import needs_human
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import explain
from tests.unit.triage.objects import NOW, Tree, view_of
from tests.unit.triage.test_lost_gpus import bare, pod
from tests.unit.triage.test_pools_that_serve import Drawn, deployed, full_nodes, status

WAITS = Subject("pod", "team-a", "answer")
FRESH = {"creationTimestamp": "2027-01-15T07:55:00Z"}


def dark(count: int, *, fresh: int = 0) -> list[Tree]:
    """Nodes of the pool that were made an hour ago, then `fresh` ones of five minutes ago."""
    labels = {"node.cluster.x-k8s.io/set": "dark", "gpu": "h100"}
    made = [bare(f"dark-{at}", labels=labels) for at in range(count + fresh)]
    for one in made[count:]:
        one["metadata"] |= FRESH
    return made


def world(nodes: list[Tree], *others: Drawn, **asked: Any) -> ClusterView:
    """The autoscaler grew pool dark for the pod a minute ago, as it does again and again."""
    pools = [Drawn("dark", 8, "h100", False, len(nodes), 9), *others]
    trees = [*nodes, *(tree for one in others for tree in full_nodes(one))]
    view = view_of([*trees, pod("answer", **{"gpus": 8, **asked})], pools=map(deployed, pools))
    store: Any = view.store
    store.apply(Batch(kind=Kind.AUTOSCALER, changed=(status(pools),)))
    grown = Event(
        uid="e",
        name="e",
        namespace="team-a",
        reason="TriggeredScaleUp",
        message="pod triggered scale-up: [{MachineDeployment/machines/dark 0->1 (max: 9)}]",
        object_kind="Pod",
        object_name="answer",
        object_namespace="team-a",
        object_uid="team-a-answer",
        last_seconds=NOW - 60,
    )
    store.apply(Batch(kind=Kind.EVENT, changed=(grown,)))
    return view


def told(view: ClusterView, subject: Subject = WAITS) -> Finding:
    return advised(explain(subject, view), view)


@pytest.mark.parametrize("fresh", [0, 1, 3])
def test_nodes_that_never_show_their_gpus_are_the_cause_and_no_more_of_them_are_offered(fresh: int) -> None:
    view = world(dark(1, fresh=fresh))
    found = told(view)
    assert found.cause == "gpu-stack-down" and "node dark-0: " in found.sentence, found.sentence
    assert "its 8 GPUs" in found.sentence and found.root == Subject("node", "", "dark-0")
    assert not any(one.kind in ("more_nodes", "scale_pool", "raise_maximum") for one in found.changes)
    (pool,) = pools_of(view.store)
    assert (pool.nodes_ready, pool.nodes_joining, pool.nodes_unadvertised) == (1 + fresh,) * 3
    of_pool = told(view, Subject("pool", "", "dark"))
    assert of_pool.is_trouble and "dark-0" in of_pool.sentence, of_pool.sentence
    assert not any(one.kind in ("more_nodes", "scale_pool", "raise_maximum") for one in of_pool.changes)
    rows = needs_human(view.store, view.jobs, NOW)
    assert [one.row for one in rows if one.subject.kind == "node"] == ["dark-0"]


def test_a_node_that_came_just_now_may_still_show_them() -> None:
    found = told(world(dark(0, fresh=2)))
    assert found.cause == "node-coming" and "waits for the GPU driver on" in found.sentence


def test_another_pool_that_would_serve_is_the_hope() -> None:
    full = Drawn("h100", 8, "h100", False, 1, 1)
    found = told(world(dark(1), full, Drawn("spare", 8, "h100", False, 0, 2)))
    assert (found.cause, "dark" in found.sentence) == ("gpus-short", False), found.sentence
    backs_off = Drawn("h100", 8, "h100", False, 1, 4, backs_off=True)
    found = told(world(dark(1), backs_off))
    assert "backs off from pool h100" in found.sentence and "dark" not in found.sentence, found.sentence
