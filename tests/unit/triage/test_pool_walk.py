"""*Why* of a pool: who waits for it, why no machine comes, and what makes it larger."""

from typing import Any

import msgspec
import pytest

from cockpit.model.autoscaler import AutoscalerStatus, ScaledGroup
from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.event import Event
from cockpit.model.finding import Finding, Subject
from cockpit.model.pool import PoolObject
from cockpit.model.record import Kind
from cockpit.triage.advice import advised
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import explain
from cockpit.views.why import HELPS, lines
from tests.unit.triage.objects import Tree, job, node, pods_of, view_of

H100 = Subject("pool", "", "h100")
AUTOSCALED = (
    ("cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size", "1"),
    ("cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size", "9"),
)


def pooled(**fields: Any) -> PoolObject:
    """The object of pool h100, one node large unless told otherwise."""
    return PoolObject(
        uid="pool-h100",
        name="h100",
        namespace="machines",
        kind="MachineDeployment",
        api_version="cluster.x-k8s.io/v1beta1",
        resource_path="/apis/cluster.x-k8s.io/v1beta1/namespaces/machines/machinedeployments",
        template_labels=(("nodepool", "h100"),),
        **{"replicas": 1, **fields},
    )


def world(members: int, *, other: bool = False, **fields: Any) -> ClusterView:
    """Pool h100 of one full node, and a job of that many pods of eight GPUs that waits; with `other` it waits
    for a node of another kind."""
    busy, waits = job("busy", 1, 8), job("waits", members, 8)
    pods: list[Tree] = [*pods_of(busy, ("a",)), *pods_of(waits)]
    if other:
        for one in pods[1:]:
            one["spec"]["nodeSelector"] = {"nodepool": "other"}
    trees = [node("a", labels={"nodepool": "h100"}), busy, waits, *pods]
    return view_of(trees, pools=(pooled(**fields),))


def told(view: ClusterView) -> Finding:
    return advised(explain(H100, view), view)


def test_who_waits_is_told_and_what_makes_it_larger() -> None:
    view = world(2, max_replicas=5)
    verdict = told(view)
    assert verdict.sentence == "2 pods wait for it (16 GPUs); no machine is on its way"
    assert not verdict.is_trouble, "nothing of the pool is broken"
    assert [one.verb for one in verdict.changes] == ["pool.scale"]
    assert verdict.changes[0].words == "grow pool h100 by 2 nodes, to 3"
    text = "\n".join(lines(verdict, view))
    assert HELPS in text and "16 GPUs that only it can serve; would start next: team-a/waits (16)" in text


def test_what_is_on_its_way_is_told() -> None:
    verdict = told(world(1, replicas=3, max_replicas=5))
    assert verdict.sentence == "1 pod waits for it (8 GPUs); 2 machines are on their way"


@pytest.mark.parametrize(("other", "sentence"), [(False, "pool h100 is at its maximum 1/1"), (True, "")])
def test_a_full_pool_is_in_trouble_only_where_somebody_waits_for_it(other: bool, sentence: str) -> None:
    verdict = told(world(1, other=other, max_replicas=1))
    assert (verdict.sentence, verdict.is_trouble) == (sentence, not other)
    assert bool(verdict.changes) is not other


def failing(view: ClusterView) -> ClusterView:
    """The cluster autoscaler backs off: the cloud has no quota left."""
    group = ScaledGroup(
        name="MachineDeployment/machines/h100",
        minimum=1,
        maximum=9,
        up="Backoff",
        error_code="QUOTA_EXCEEDED",
        error_message="Quota 'GPUS' exceeded. Limit: 8.0",
        up_since_seconds=view.now_seconds - 60,
    )
    status = AutoscalerStatus(
        uid="uid-status",
        name="cluster-autoscaler-status",
        namespace="kube-system",
        written_seconds=view.now_seconds - 10,
        read_seconds=view.now_seconds,
        groups=(group,),
    )
    store: Any = view.store
    store.apply(Batch(kind=Kind.AUTOSCALER, changed=(status,)))
    return view


def test_why_no_machine_comes_is_told_with_what_helps() -> None:
    view = failing(world(1, annotations=AUTOSCALED, max_replicas=9))
    verdict = told(view)
    assert verdict.is_trouble and "quota" in verdict.sentence.lower()
    text = "\n".join(lines(verdict, view))
    assert "What helps (for an administrator)" in text and verdict.fact("remedy") in text
    quiet = failing(world(1, other=True, annotations=AUTOSCALED, max_replicas=9))
    assert not told(quiet).is_trouble, "nobody waits for one any more"
    assert told(quiet).sentence.startswith("no pod waits for it; it did not grow: "), "and it is not well"


def test_a_pool_without_bounds_does_not_read_as_unknown() -> None:
    view = world(1)
    text = "\n".join(lines(told(view), view))
    assert "?" not in text.replace("pool?", ""), text


def test_a_pool_that_is_gone_says_so() -> None:
    gone = explain(H100._replace(name="nope"), world(1))
    assert gone.sentence == "no pool of that name is known here"


def nodepool(**fields: Any) -> PoolObject:
    """A NodePool without nodes that does not say which machines have GPUs."""
    return PoolObject(
        uid="pool-p5",
        name="gpu-p5",
        kind="NodePool",
        api_version="karpenter.sh/v1",
        resource_path="/apis/karpenter.sh/v1/nodepools",
        **fields,
    )


def stockout(at_seconds: float) -> Event:
    return Event(
        uid="e",
        name="e",
        reason="InsufficientCapacityError",
        message="creating instance, insufficient capacity, InsufficientInstanceCapacity: no p5.48xlarge",
        object_kind="NodeClaim",
        object_name="gpu-p5-aa1",
        last_seconds=at_seconds,
    )


def picks(selector: dict[str, str], *, failed: bool = True) -> Finding:
    waits = job("waits", 1, 8, nodeSelector=selector)
    view = view_of([waits, *pods_of(waits)], pools=(nodepool(),))
    store: Any = view.store
    if failed:
        store.apply(Batch(kind=Kind.OWNER_EVENT, changed=(stockout(view.now_seconds - 60),)))
    return told_of("gpu-p5", view)


def told_of(name: str, view: ClusterView) -> Finding:
    return explain(Subject("pool", "", name), view)


def test_a_pod_that_selects_a_pool_of_none_waits_for_it() -> None:
    mine, others = {"karpenter.sh/nodepool": "gpu-p5"}, {"karpenter.sh/nodepool": "other"}
    assert picks(mine, failed=False).sentence == "1 pod waits for it (8 GPUs); no machine is on its way"
    assert picks(others, failed=False).sentence == ""
    assert picks(mine).cause == "no-machine"
    assert picks(others).sentence.startswith("no pod waits for it; it did not grow: ")


def test_a_machine_that_came_later_heals_a_stockout() -> None:
    late = node("n", labels={"karpenter.sh/nodepool": "gpu-p5"})  # made an hour ago
    view = view_of([late], pools=(nodepool(),))
    store: Any = view.store
    store.apply(Batch(kind=Kind.OWNER_EVENT, changed=(stockout(view.now_seconds - 3_700),)))
    assert told_of("gpu-p5", view).sentence == ""
    store.apply(Batch(kind=Kind.OWNER_EVENT, changed=(stockout(view.now_seconds - 60),)))
    assert "did not grow" in told_of("gpu-p5", view).sentence


def test_nothing_is_wrong_is_said_only_where_the_lists_are_whole_and_current() -> None:
    view = view_of([node("n", labels={"karpenter.sh/nodepool": "gpu-p5"})], pools=(nodepool(),))
    store: Any = view.store
    whole = StreamStatus(kind=Kind.POD, phase=Phase.LIVE)
    for phase in Phase:
        store.apply(Batch(kind=Kind.POD, status=msgspec.structs.replace(whole, phase=phase)))
        for subject in (Subject("node", "", "n"), Subject("pool", "", "gpu-p5")):
            is_well = explain(subject, view).sentence == ""
            assert is_well is (phase in (Phase.LIVE, Phase.ABSENT)), (phase, subject)
