"""A job that is not submitted yet, behind two walls: both are named, and what is offered takes both away."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from cockpit.fit.what_if import pushed_by
from cockpit.gangs import registry
from cockpit.jobs.planned import planned_gang
from cockpit.model.contender import PreemptedJob, Preemptions
from cockpit.triage.context import ClusterView
from cockpit.triage.planned_start import PlannedStart, planned_start
from cockpit.views.planned_start import start_lines
from tests.unit.triage.changes.test_changes import holding, pooled, queues, workload
from tests.unit.triage.changes.test_gates import flavor
from tests.unit.triage.objects import Tree, job, meta, node, view_of

QUEUE = {"kueue.x-k8s.io/queue-name": "research-lq"}
H100, A100 = {"card": "h100"}, {"card": "a100"}
QUOTA = "queue research has 4 of the 8 GPUs left (flavor default)"
ROOM = "needs 8 GPUs as 1 x 8, 4 free, largest free block 4"


def planned(members: int = 1, gpus: int = 8, *, is_queued: bool = False, **spec: Any) -> Tree:
    made = job("new", members, gpus, **spec)
    del made["status"]
    if is_queued:
        made["metadata"]["labels"] = QUEUE
        made["spec"]["suspend"] = True
    return made


def with_read(view: ClusterView, *trees: Tree) -> ClusterView:
    """The view with objects that a form reads."""
    read = dict(view.trees)
    for tree in trees:
        place = (tree["kind"], tree["metadata"].get("namespace", ""))
        read[place] = [*read.get(place, ()), tree]
    return msgspec.structs.replace(view, trees=read)


def told(view: ClusterView, manifest: Tree, preempts: Preemptions | None = None) -> list[str]:
    found = planned_start(manifest, view, "team-a", preempts, most=4)
    assert isinstance(found, PlannedStart)
    return [line.strip() for line in start_lines(found)]


def walls(lines: Sequence[str]) -> list[str]:
    marks = ("pending: ", "then also: ")
    return [line.removeprefix(mark) for line in lines for mark in marks if line.startswith(mark)]


def offered(lines: Sequence[str]) -> list[str]:
    marks = ("would start if: ", "or: ")
    return [line.removeprefix(mark) for line in lines for mark in marks if line.startswith(mark)]


def test_a_job_that_nothing_holds_is_said_to_fit() -> None:
    assert told(view_of([node("a"), node("b")]), planned(2)) == ["fits now on 2 nodes", "a x 1, b x 1"]


def test_members_without_a_role_are_pods() -> None:
    lines = told(view_of([node("a"), node("b")]), planned(3))
    assert any(line.startswith("no room for 1 of 3 pods") for line in lines), lines


def test_the_only_member_is_named_without_counts() -> None:
    lines = told(view_of([node("a", gpus=4)]), planned(1, gpus=8))
    assert any(line.startswith("no room for its only pod: ") for line in lines), lines


def test_a_scheduler_that_has_bound_nothing_yet_is_doubted_and_is_no_wall() -> None:
    mine = planned(2)
    mine["spec"]["template"]["spec"]["schedulerName"] = "our-own"
    fits, doubt, places = told(view_of([node("a"), node("b")]), mine)
    assert (fits, places) == ("fits now on 2 nodes", "a x 1, b x 1")
    assert doubt == "no pod was bound by a scheduler called our-own yet: whether it runs is not known"
    (pod,) = [one for one in holding("x", "c") if one["kind"] == "Pod"]
    pod["spec"]["schedulerName"] = "our-own"
    assert told(view_of([node("a"), node("b"), node("c"), pod]), mine) == [fits, places]


@pytest.mark.parametrize("name", sorted(registry.schedulers()))
def test_the_scheduler_of_an_engine_is_doubted_until_it_or_its_controller_is_seen(name: str) -> None:
    """A CRD alone is no scheduler; a pod that it bound or a pod of its controller that runs is."""
    mine = planned(2)
    mine["spec"]["template"]["spec"]["schedulerName"] = name
    nodes = [node("a"), node("b"), node("c")]
    doubts = [line for line in told(view_of(nodes), mine) if "whether it runs is not known" in line]
    assert doubts == [f"no pod was bound by a scheduler called {name} yet: whether it runs is not known"]
    (bound,) = [one for one in holding("x", "c") if one["kind"] == "Pod"]
    bound["spec"]["schedulerName"] = name
    (engine,) = [one for one in registry.engines() if one.scheduling.scheduler == name]
    signs = engine.controller
    space = next(iter(signs.namespaces), "kube-system")
    named = {**bound["metadata"], "name": f"{signs.pods[0]}-0", "namespace": space, "ownerReferences": []}
    ready = [{"type": "Ready", "status": "True"}]
    runs = {**bound, "metadata": named, "spec": {"nodeName": "c"}, "status": {"phase": "Running"}}
    runs["status"] |= {"conditions": ready}
    for sign in (bound, runs):
        assert not [line for line in told(view_of([*nodes, sign]), mine) if "not known" in line]


def test_quota_and_room() -> None:
    lines = told(view_of([node("a"), *queues(8, 4), *holding("x", "a", gpus=4)]), planned(is_queued=True))
    assert walls(lines) == [QUOTA, ROOM]
    # neither more quota nor the end of x starts it alone
    assert offered(lines) == ["4 GPUs instead of 8"]


def test_quota_with_room_on_nodes_of_another_flavor() -> None:
    trees = [node("a", labels=H100), node("b", labels=A100), *queues(8, 0), *holding("x", "a", gpus=4)]
    lines = told(with_read(view_of(trees), flavor(**H100)), planned(is_queued=True))
    assert walls(lines) == [ROOM]
    assert "wait for team-a/x (4 GPUs)" in offered(lines)
    trees = [node("a", labels=H100), node("b", labels=A100), *queues(8, 4), *holding("x", "a", gpus=4)]
    lines = told(with_read(view_of(trees), flavor(**H100)), planned(is_queued=True))
    assert walls(lines) == [QUOTA, ROOM]


def test_a_selector_that_no_flavor_of_the_queue_has() -> None:
    trees = [node("a", labels=H100), node("b", labels=A100), *queues(8, 0)]
    lines = told(with_read(view_of(trees), flavor(**H100)), planned(is_queued=True, nodeSelector=A100))
    assert walls(lines) == ["queue research: no flavor has the label card=a100"]
    assert offered(lines) == ["without the node selector card=a100"]


def test_a_stopped_queue_quota_and_room() -> None:
    trees = [node("a"), *queues(8, 0, stop="Hold"), *holding("x", "a", gpus=4)]
    lines = told(view_of(trees), planned(2, is_queued=True))
    first, *others = walls(lines)
    assert first == "queue research is stopped"
    assert others == [
        "queue research has 8 of the 16 GPUs left (flavor default)",
        "needs 16 GPUs as 2 x 8, 4 free, largest free block 4",
    ]
    assert offered(lines) == ["resume queue research, then 2 GPUs instead of 8 for each of its 2 pods"]


def test_those_that_wait_before_it_in_its_queue_take_the_quota() -> None:
    before = job("before", 1, 8)
    before["spec"]["suspend"] = True
    trees = [node("a"), node("b"), *queues(12, 0), before, workload(before, "research-lq")]
    lines = told(view_of(trees), planned(is_queued=True))
    assert walls(lines) == [QUOTA]
    assert offered(lines) == ["raise research's quota of GPUs in flavor default to 16"]


def test_the_quota_of_the_namespace_and_room() -> None:
    limit: Tree = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": meta("team", "team-a"),
        "spec": {"hard": {"requests.nvidia.com/gpu": "8"}},
        "status": {"used": {"requests.nvidia.com/gpu": "4"}},
    }
    lines = told(with_read(view_of([node("a"), *holding("x", "a", gpus=4)]), limit), planned())
    assert walls(lines) == ["quota team of the namespace is used up: asks 8 GPUs, 4 left", ROOM]
    assert offered(lines) == ["4 GPUs instead of 8"]


def full(maximum: int, *, is_autoscaled: bool = True) -> ClusterView:
    """A pool of two nodes of zone a, all in use."""
    trees = [node(name, labels={"nodepool": "h100", "zone": "a"}) for name in ("n0", "n1")]
    pool = pooled(replicas=2, max_replicas=maximum, is_autoscaled=is_autoscaled)
    return view_of([*trees, *holding("x", "n0", "n1")], pools=[pool])


def test_a_pool_grows_by_itself_up_to_its_maximum_only() -> None:
    lines = told(full(3), planned())
    grows = "the autoscaler adds 1 node to pool h100 (now 2 of at most 3)"
    assert grows in offered(lines)
    lines = told(full(3), planned(2))
    assert not any("autoscaler adds" in words for words in offered(lines))
    assert any(words.startswith("raise the maximum of pool h100 from 3 to 4") for words in offered(lines))


def test_a_selector_that_the_full_pool_has_not() -> None:
    lines = told(full(3), planned(nodeSelector={"zone": "b"}))
    assert len(walls(lines)) == 1
    # without the selector the pool is still full: both are needed
    assert offered(lines)
    for words in offered(lines):
        assert "without the node selector zone=b" in words or "zone=a instead of b" in words
        assert ", then " in words


@pytest.mark.parametrize("quota", [8, 4])
def test_whom_it_preempts_counts_only_where_that_starts_it(quota: int) -> None:
    trees = [node("a"), *queues(quota, 0), *holding("x", "a", priority=-5)]
    view, manifest = view_of(trees), planned(is_queued=True)
    pushed = pushed_by(view.store, planned_gang(manifest, "team-a"))
    victims = Preemptions(
        jobs=(PreemptedJob(name="team-a/x", gpus=8),), pods=frozenset(pod.uid for pod in pushed)
    )
    lines = told(view, manifest, victims)
    if quota == 8:
        assert lines == ["fits on node a once it has preempted team-a/x (8 GPUs)"]
    else:
        assert walls(lines)[0] == "queue research has 4 of the 8 GPUs left (flavor default)"
