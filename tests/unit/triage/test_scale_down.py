"""A node that an autoscaler, a drain or the cloud takes away: what its pods, those that wait, the pool and
*Now* say, and what is never offered."""

from typing import Any

import msgspec
import pytest

from cockpit.fit.scheduling_context import Budget, Surroundings
from cockpit.k8s.labels import RECLAIM_TAINTS
from cockpit.k8s.selectors import selector_of
from cockpit.model.autoscaler import AutoscalerStatus, ScaledGroup
from cockpit.model.batch import Batch, ListMark, Phase, StreamStatus
from cockpit.model.event import Event
from cockpit.model.finding import Finding, Subject
from cockpit.model.record import Kind
from cockpit.pools.index import pools_of
from cockpit.pools.registry import going_taints
from cockpit.pools.sightings import kept_events
from cockpit.triage.attention import needs_human
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import explain
from cockpit.triage.on_demand import OnDemand
from cockpit.views.pool_json import owner_words
from cockpit.views.why import lines
from tests.unit.triage.objects import NOW, Tree, changes_of, job, node, pods_of, view_of
from tests.unit.triage.test_lost_gpus import claim, pod

AUTOSCALER, KARPENTER = "ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted"
TAKING = sorted(going_taints() | RECLAIM_TAINTS)
DRAIN = {"gpu-cockpit/drain-id": "1", "gpu-cockpit/drain-by": "ann@bastion"}


def tainted(key: str, name: str = "going", **more: Any) -> Tree:
    return node(name, 8, taints=[{"key": key, "effect": "NoSchedule"}], **more)


def leaving(name: str, on: str, *, evicted: bool = True) -> Tree:
    """A pod that was deleted 90 s ago, and has ten minutes to end."""
    made = pod(name, 4, on=on)
    made["metadata"] |= {"deletionTimestamp": "2027-01-15T08:08:30Z", "deletionGracePeriodSeconds": 600}
    made["status"]["phase"] = "Running"
    if evicted:
        mark = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
        made["status"]["conditions"] = [{**mark, "message": "Eviction API: evicting"}]
    return made


def told(kind: str, name: str, *trees: Tree) -> Finding:
    return explain(Subject(kind, "team-a" if kind in {"pod", "job"} else "", name), view_of(trees))


# ---- pods on it


@pytest.mark.parametrize(
    ("of", "words"),
    [
        (tainted(AUTOSCALER), "node going is being drained and deleted by the cluster autoscaler"),
        (tainted("cluster.x-k8s.io/deletion"), "node going is being removed"),
        (
            tainted(KARPENTER, labels={"karpenter.sh/nodepool": "a"}),
            "node going is chosen by Karpenter: no new pods, being drained",
        ),
        (tainted("aws-node-termination-handler/spot-itn"), "node going is taken back by the cloud"),
        (node("going", 8), ""),
        (tainted("team"), ""),
    ],
)
@pytest.mark.parametrize("evicted", [True, False])
def test_a_pod_that_ends_says_who_takes_its_node(of: Tree, words: str, *, evicted: bool) -> None:
    found = told("pod", "answer", of, node("stays", 8), leaving("answer", "going", evicted=evicted))
    head = "is being evicted" if evicted else "is being deleted"
    assert found.sentence == (f"{head}; {words}" if words else head)
    assert not found.is_trouble


def test_a_drain_is_told_with_who_does_it() -> None:
    drained = node("going", 8, unschedulable=True)
    drained["metadata"]["annotations"] = DRAIN
    found = told("pod", "answer", drained, leaving("answer", "going"))
    assert found.sentence == "is being evicted; node going is being drained by ann@bastion"


def test_a_removal_that_goes_its_way_is_no_row_of_now() -> None:
    """Not of the node, and not of the job whose member moves, though that one was made an hour ago."""
    run = job("bert", 2, 4)
    pods = pods_of(run, ["going", "stays"])
    pods[0] |= {"status": leaving("x", "going")["status"]}
    pods[0]["metadata"] |= leaving("x", "going")["metadata"] | pods[0]["metadata"]
    for key in (AUTOSCALER, KARPENTER):
        view = view_of([tainted(key), node("stays", 8), run, *pods])
        assert needs_human(view.store, view.jobs, NOW) == ()
        assert explain(Subject("job", "team-a", "bert"), view).sentence.startswith("bert-0: is being evicted")
        late = needs_human(view.store, view.jobs, NOW + 700)
        assert [one.subject.name for one in late] == ["bert"], "a pod that does not go is told"


@pytest.mark.parametrize("reason", ["EvictionByEvictionAPI", "DeletionByTaintManager", "DeletionByPodGC"])
def test_a_pod_that_was_evicted_did_not_crash(reason: str) -> None:
    ended = leaving("answer", "going")
    ended["status"]["phase"] = "Failed"
    ended["status"]["conditions"][0]["reason"] = reason
    state = {"terminated": {"exitCode": 143, "reason": "Error", "finishedAt": "2027-01-15T07:58:00Z"}}
    ended["status"]["containerStatuses"] = [{"name": "main", "ready": False, "state": state}]
    found = told("pod", "answer", tainted(AUTOSCALER), ended)
    assert found.sentence == "evicted from node going: Eviction API: evicting"
    assert "recreates it" in found.fact("remedy") and "143" not in found.sentence


# ---- pods that wait


def waiting(
    *nodes: Tree, text: str, nodes_are_known: bool = True, **asked: Any
) -> tuple[ClusterView, Finding]:
    made = pod("answer", 8, **asked)
    made["status"]["conditions"][0]["message"] = text
    view = view_of([*nodes, made])
    if not nodes_are_known:
        store: Any = view.store
        store.apply(Batch(kind=Kind.NODE, mark=ListMark.DROP))
        store.apply(Batch(kind=Kind.NODE, status=StreamStatus(kind=Kind.NODE, phase=Phase.DENIED)))
    return view, explain(Subject("pod", "team-a", "answer"), view)


@pytest.mark.parametrize("key", TAKING)
@pytest.mark.parametrize("nodes_are_known", [True, False])
def test_nobody_is_told_to_tolerate_that_a_node_goes(key: str, *, nodes_are_known: bool) -> None:
    text = f"0/1 nodes are available: 1 node(s) had untolerated taint {{{key}: }}."
    view, found = waiting(tainted(key), text=text, nodes_are_known=nodes_are_known)
    assert found.cause == "nodes-not-ready", found.sentence
    assert "removed" in found.sentence or "taken back" in found.sentence
    assert not [one for one in changes_of(found.subject, view) if "tolerat" in one.words]
    if nodes_are_known:
        assert found.root == Subject("node", "", "going")
        assert found.fact("remedy").startswith("Wait for another node, or add one")


def test_a_taint_that_stays_is_told_beside_one_of_a_node_that_goes() -> None:
    text = f"0/2 nodes are available: 1 node(s) had untolerated taint {{{AUTOSCALER}: }}, 1 node(s) had"
    other = tainted("team", "other")
    view, found = waiting(tainted(AUTOSCALER), other, text=f"{text} untolerated taint {{team: }}.")
    assert (found.cause, "taint team, not tolerated" in found.sentence) == ("taint", True), found.sentence
    assert "nodes-not-ready" in found.also
    offered = [one.words for one in changes_of(found.subject, view) if "tolerat" in one.words]
    assert offered == ["tolerate the taint team"]


# ---- the node


LETS_NONE_GO = Budget(namespace="team-a", name="keep", selector=selector_of({}), allowed=0)


@pytest.mark.parametrize("key", [AUTOSCALER, KARPENTER])
def test_a_budget_that_blocks_the_drain_of_an_owner_is_told(key: str) -> None:
    stays = pod("answer", 4, on="going")
    stays["status"]["phase"] = "Running"
    view = view_of([tainted(key), node("stays", 8), stays], Surroundings(budgets=(LETS_NONE_GO,)))
    found = explain(Subject("node", "", "going"), view)
    assert found.sentence == "its drain is blocked: budget team-a/keep lets no pod go, 1 pod left"
    known = OnDemand()
    assert known.needs_budgets(view.store, NOW), "a row of Now needs them, too"
    assert not known.needs_budgets(view_of([node("stays", 8), stays]).store, NOW)
    kept = explain(Subject("node", "", "stays"), view)
    assert not kept.is_trouble


def test_why_of_a_node_and_of_its_pool_names_the_budget_that_keeps_it() -> None:
    labels = {"karpenter.sh/nodepool": "gpu-spot"}
    stays = pod("answer", 4, on="sick")
    stays["status"]["phase"] = "Running"
    trees = [node("sick", 8, labels=labels), claim("sick"), stays]
    view = view_of(trees, Surroundings(budgets=(LETS_NONE_GO,)))
    words = "budget team-a/keep lets no pod go"
    for subject in (Subject("node", "", "sick"), Subject("pool", "", "gpu-spot")):
        assert words in "\n".join(lines(explain(subject, view), view)), subject
    unread = view_of(trees)
    assert "not read" in "\n".join(lines(explain(Subject("node", "", "sick"), unread), unread))


# ---- the pool


SAID = [
    (
        "ScaleDown",
        "Scale-down: removing node h100-0, utilization: {0 0.1 nvidia.com/gpu 0.2}, pods to reschedule: a,b",
        "ScaleDown: node h100-0 removed with drain; pods to reschedule: a,b",
    ),
    ("ScaleDown", "Scale-down: node h100-0 removed with drain", "ScaleDown: node h100-0 removed with drain"),
    ("ScaleDownEmpty", "Scale-down: empty node h100-0 removed", "ScaleDownEmpty: empty node h100-0 removed"),
    (
        "ScaleDownFailed",
        "failed to drain/delete node: timed out",
        "ScaleDownFailed: node h100-0: failed to drain/delete node: timed out",
    ),
]


@pytest.mark.parametrize(("reason", "message", "words"), SAID)
@pytest.mark.parametrize("prefix", ["", "(combined from similar events): "])
def test_a_scale_down_is_told_of_its_pool(reason: str, message: str, words: str, prefix: str) -> None:
    group = ScaledGroup(name="h100", minimum=0, maximum=4, target=1, registered=1)
    other = msgspec.structs.replace(group, name="t4")
    status = AutoscalerStatus(
        uid="s",
        name="cluster-autoscaler-status",
        namespace="kube-system",
        written_seconds=NOW - 5,
        read_seconds=NOW,
        groups=(group, other),
    )
    nodes = [node(f"{name}-0", 8, labels={"agentpool": name}) for name in ("h100", "t4")]
    view = view_of(nodes)
    store: Any = view.store
    store.apply(Batch(kind=Kind.AUTOSCALER, changed=(status,)))
    about = ("Node", "h100-0") if reason == "ScaleDownFailed" else ("ConfigMap", "s")
    said = Event(
        uid="e",
        name="e",
        reason=reason,
        message=(prefix if "Scale-down" in message else "") + message,
        last_seconds=NOW - 60,
        object_kind=about[0],
        object_name=about[1],
    )
    of_pod = msgspec.structs.replace(
        said, uid="p", message="deleting pod for node scale down", object_kind="Pod", object_name="h100-0"
    )
    kept = kept_events(Batch(kind=Kind.EVENT, changed=(said, of_pod)), view.store)
    assert kept is not None and [one.uid for one in kept.changed] == ["e"], "of its pods nothing is kept"
    store.apply(kept)
    for pool in pools_of(view.store):
        shown = [one.text for one in owner_words(pool, view.store) if one.source == "event"]
        assert shown == [words] * (pool.name == "h100"), pool.name
