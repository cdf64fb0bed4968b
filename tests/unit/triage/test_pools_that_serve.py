"""Which pools would serve a pod that waits, and what keeps just those from growing."""

import random
from collections import Counter
from typing import Any, NamedTuple

import msgspec
import pytest

from cockpit.fit.shape import Shape
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.k8s import labels as well_known
from cockpit.model.autoscaler import AutoscalerStatus, ScaledGroup
from cockpit.model.batch import Batch
from cockpit.model.finding import Finding, Subject
from cockpit.model.node import Taint
from cockpit.model.pool import PoolObject, PoolRequirement
from cockpit.model.record import Kind
from cockpit.model.scheduling import NodeTerm, Requirement, Toleration
from cockpit.pools.next_nodes import may_serve
from cockpit.pools.prospects import PoolGrowth, prospects, serving
from cockpit.store.store import Store
from cockpit.triage.attention import needs_human
from cockpit.triage.engine import explain
from tests.unit.triage.objects import NOW, Tree, decoded, node, view_of
from tests.unit.triage.test_group_refusals import BACKOFF, FULL, SELECTOR, TAINT, said
from tests.unit.triage.test_lost_gpus import pod

HINT = "capacity.cluster-autoscaler.kubernetes.io/"
WAITS = Subject("pod", "team-a", "answer")


class Drawn(NamedTuple):
    """A node group as its cluster has it."""

    name: str
    gpus: int
    kind: str
    is_tainted: bool
    size: int
    maximum: int
    backs_off: bool = False

    def suits(self, asked: dict[str, Any]) -> bool:
        return not self.reason(asked)

    def reason(self, asked: dict[str, Any]) -> str:
        """What the autoscaler would say of it, as far as the pod goes."""
        if asked.get("nodeSelector", {}).get("gpu", self.kind) != self.kind:
            return SELECTOR
        if self.is_tainted and "tolerations" not in asked:
            return TAINT
        return "" if asked["gpus"] <= self.gpus else "Insufficient nvidia.com/gpu"


def deployed(of: Drawn) -> PoolObject:
    taints = (("taints", "team=b:NoSchedule"),) if of.is_tainted else ()
    hints = (("gpu-count", str(of.gpus)), ("labels", f"gpu={of.kind}"), *taints)
    return PoolObject(
        uid=f"p-{of.name}",
        name=of.name,
        namespace="machines",
        kind="MachineDeployment",
        api_version="cluster.x-k8s.io/v1beta1",
        resource_path="/apis/cluster.x-k8s.io/v1beta1/namespaces/machines/machinedeployments",
        annotations=(
            *((HINT + key, value) for key, value in hints),
            (well_known.AUTOSCALER_MINIMUM, "0"),
            (well_known.AUTOSCALER_MAXIMUM, str(of.maximum)),
        ),
        template_labels=(("node.cluster.x-k8s.io/set", of.name),),
        replicas=of.size,
    )


def full_nodes(of: Drawn) -> list[Tree]:
    taints = [{"key": "team", "value": "b", "effect": "NoSchedule"}] if of.is_tainted else []
    labels = {"node.cluster.x-k8s.io/set": of.name, "gpu": of.kind}
    found: list[Tree] = []
    for at in range(of.size):
        name = f"{of.name}-{at}"
        found += [
            node(name, of.gpus, labels=labels, taints=taints),
            pod(f"holds-{name}", of.gpus, on=name),
        ]
    return found


def status(groups: list[Drawn], written_seconds: float = NOW - 10) -> AutoscalerStatus:
    return AutoscalerStatus(
        uid="s",
        name="cluster-autoscaler-status",
        namespace="kube-system",
        written_seconds=written_seconds,
        read_seconds=NOW,
        groups=tuple(
            ScaledGroup(
                name=f"MachineDeployment/machines/{one.name}",
                minimum=0,
                maximum=one.maximum,
                target=one.size,
                up="Backoff" if one.backs_off else "NoActivity",
            )
            for one in groups
        ),
    )


def seen(
    groups: list[Drawn],
    asked: dict[str, Any],
    *,
    text: str = "",
    told: AutoscalerStatus | None = None,
    later_seconds: float = 0.0,
) -> Finding:
    trees = [tree for one in groups for tree in full_nodes(one)]
    view = view_of([*trees, pod("answer", **asked)], pools=[deployed(one) for one in groups])
    store: Any = view.store
    if told is not None:
        store.apply(Batch(kind=Kind.AUTOSCALER, changed=(told,)))
    if text:
        store.apply(Batch(kind=Kind.EVENT, changed=(said(text),)))
    view = msgspec.structs.replace(view, now_seconds=NOW + later_seconds)
    return explain(WAITS, view)


def draw(dice: random.Random) -> tuple[list[Drawn], dict[str, Any]]:
    groups = []
    for name in "abcd"[: dice.randint(1, 4)]:
        size = dice.randint(0, 2)
        is_full = dice.random() < 0.5
        groups.append(
            Drawn(
                name,
                dice.choice((4, 8)),
                dice.choice(("t4", "h100")),
                dice.random() < 0.3,
                size,
                size if is_full else size + 2,
                backs_off=dice.random() < 0.6,
            )
        )
    asked: dict[str, Any] = {"gpus": dice.choice((1, 8, 12))}
    if dice.random() < 0.5:
        asked |= {"nodeSelector": {"gpu": dice.choice(("t4", "h100", "none"))}, "is_elsewhere": True}
    if dice.random() < 0.3:
        asked |= {"tolerations": [{"key": "team", "operator": "Exists"}]}
    return groups, asked


def event_text(groups: list[Drawn], asked: dict[str, Any]) -> str:
    """What the autoscaler counts; "" where it grows a group for the pod."""
    counts: Counter[str] = Counter()
    for one in groups:
        why = FULL if one.size >= one.maximum else BACKOFF if one.backs_off else one.reason(asked)
        counts[why] += 1
    return "" if counts[""] else ", ".join(f"{count} {why}" for why, count in counts.items())


@pytest.mark.parametrize("is_denied", [False, True])
def test_no_reason_of_one_group_becomes_the_reason_of_a_pod_that_another_would_serve(is_denied: bool) -> None:
    dice, tried = random.Random(2626), Counter[str]()
    while sum(tried.values()) < 300:
        groups, asked = draw(dice)
        text = event_text(groups, asked)
        if not text:
            continue
        states = {one.size >= one.maximum for one in groups if one.suits(asked)}
        cause = {frozenset({True}): "pool-at-maximum", frozenset({False}): "no-machine"}.get(
            frozenset(states), ""
        )
        found = seen(groups, asked, text=text, told=None if is_denied else status(groups))
        told = found.cause if found.cause in ("pool-at-maximum", "no-machine", "node-coming") else ""
        assert told == cause, (groups, asked, text, found.sentence)
        tried[cause] += 1
        assert text in "".join(one.value for one in found.evidence) or not told, "it is said by whom"
    assert min(tried.values()) >= 20 and len(tried) == 3, tried


AT_ZERO = Drawn("manual", 8, "h100", False, 0, 4)
BUSY = Drawn("busy", 8, "t4", False, 1, 1)
H100 = {"gpus": 8, "nodeSelector": {"gpu": "h100"}, "is_elsewhere": True}


def test_a_pod_that_a_pool_at_zero_serves_is_not_told_to_correct_its_selector() -> None:
    groups = [AT_ZERO, BUSY]
    found = seen(groups, H100, told=status(groups), later_seconds=-3_000)
    assert (found.cause, "manual, at 0 nodes" in found.sentence) == ("node-coming", True), found.sentence
    late = seen(groups, H100, told=status(groups))  # an hour
    assert late.cause == "no-machine" and "has not grown in 60 min" in late.sentence, "a hope has an end"


@pytest.mark.parametrize(
    ("pool", "cause"),
    [
        (AT_ZERO._replace(kind="a100"), "selector"),
        (AT_ZERO._replace(gpus=4), "gpus-short"),
        (AT_ZERO._replace(is_tainted=True), "taint"),
        (AT_ZERO._replace(gpus=4, is_tainted=True), "gpus-short"),
        (AT_ZERO._replace(kind="a100", is_tainted=True), "selector"),
        (AT_ZERO._replace(maximum=0), "pool-at-maximum"),
        (AT_ZERO._replace(backs_off=True), "no-machine"),
    ],
)
def test_a_pool_at_zero_serves_by_labels_taints_and_gpus(pool: Drawn, cause: str) -> None:
    groups = [pool, BUSY]
    assert seen(groups, H100, told=status(groups)).cause == cause


@pytest.mark.parametrize("text", ["", f"1 {TAINT}, 2 {SELECTOR}, 2 {FULL}"])
def test_a_pool_at_zero_that_has_its_labels_says_what_else_keeps_the_pod_off(text: str) -> None:
    """The real autoscaler's count of full groups is of others; to correct the selector would not help."""
    tainted = [AT_ZERO._replace(is_tainted=True), BUSY, Drawn("other", 8, "t4", False, 1, 1)]
    found = seen(tainted, H100, text=text, told=status(tainted))
    assert found.sentence == "pool manual, at 0 nodes, has taint team, not tolerated"
    assert found.root == Subject("pool", "", "manual")
    tolerant = {**H100, "tolerations": [{"key": "team", "operator": "Exists"}]}
    assert seen(tainted, tolerant, told=status(tainted), later_seconds=-3_000).cause == "node-coming"
    small = [AT_ZERO._replace(gpus=4), BUSY]
    found = seen(small, H100, text=text, told=status(small))
    assert found.sentence == "needs 8 GPUs on one node, pool manual, at 0 nodes, has 4"


def test_a_dead_autoscaler_is_the_cause_of_those_that_wait_for_it() -> None:
    groups = [Drawn("h100", 8, "h100", False, 1, 4)]
    alive = seen(groups, {"gpus": 8}, told=status(groups))
    dead = seen(groups, {"gpus": 8}, told=status(groups, NOW - 700))
    other = seen(groups, {"gpus": 12}, told=status(groups, NOW - 700))
    assert (alive.cause, dead.cause, other.cause) == ("gpus-short", "no-machine", "gpus-short")
    assert dead.sentence.endswith("; the autoscaler of pool h100 does not work"), dead.sentence


def test_an_autoscaler_that_does_not_work_is_a_row_of_now_and_one_that_works_is_none() -> None:
    groups = [Drawn("h100", 8, "h100", False, 1, 4)]
    for age_seconds, rows in ((10.0, 0), (700.0, 1)):
        view = view_of(full_nodes(groups[0]), pools=[deployed(groups[0])])
        store: Any = view.store
        store.apply(Batch(kind=Kind.AUTOSCALER, changed=(status(groups, NOW - age_seconds),)))
        found = [
            one for one in needs_human(view.store, view.jobs, NOW) if one.finding == "autoscaler-stopped"
        ]
        assert len(found) == rows
        assert all(one.is_bad and one.since_seconds == NOW - age_seconds for one in found)


def test_bounds_that_contradict_each_other_are_why_a_pool_does_not_grow() -> None:
    groups = [Drawn("h100", 8, "h100", False, 3, 2)]
    wrong = msgspec.structs.replace(
        deployed(groups[0]),
        annotations=(
            *deployed(groups[0]).annotations[:-2],
            (well_known.AUTOSCALER_MINIMUM, "5"),
            (well_known.AUTOSCALER_MAXIMUM, "2"),
        ),
    )
    view = view_of([*full_nodes(groups[0]), pod("answer", 8)], pools=[wrong])
    found = explain(WAITS, view)
    assert (found.cause, "; invalid bounds of pool h100" in found.sentence) == ("no-machine", True), (
        found.sentence
    )
    pool = explain(Subject("pool", "", "h100"), view)
    assert pool.cause == "no-machine" and "minimum 5" in pool.sentence and "maximum 2" in pool.sentence


def nodepool(*requirements: PoolRequirement, taints: tuple[Taint, ...] = ()) -> PoolObject:
    return PoolObject(
        uid="np",
        name="gpu",
        kind="NodePool",
        api_version="karpenter.sh/v1",
        resource_path="/apis/karpenter.sh/v1/nodepools",
        requirements=requirements,
        template_taints=taints,
    )


COUNT = PoolRequirement("karpenter.k8s.aws/instance-gpu-count", "In", ("4", "8"))
ZONES = PoolRequirement(well_known.ZONE, "In", ("eu-1a", "eu-1b"))
NOT_SPOT = PoolRequirement("karpenter.sh/capacity-type", "NotIn", ("spot",))


@pytest.mark.parametrize(
    ("selector", "gpus", "may"),
    [
        ({}, 8, True),
        ({}, 9, False),
        ({well_known.ZONE: "eu-1b"}, 8, True),
        ({well_known.ZONE: "eu-1c"}, 8, False),
        ({"karpenter.sh/capacity-type": "on-demand"}, 1, True),
        ({"karpenter.sh/capacity-type": "spot"}, 1, False),
        ({"karpenter.k8s.aws/instance-gpu-name": "h100"}, 1, True),
        ({"karpenter.sh/nodepool": "gpu", "kubernetes.io/arch": "amd64"}, 1, True),
        ({"karpenter.sh/nodepool": "other"}, 1, False),
        ({"team": "a"}, 1, False),
    ],
)
def test_requirements_leave_a_choice_of_labels(selector: dict[str, str], gpus: int, may: bool) -> None:
    found, store = nodepool(COUNT, ZONES, NOT_SPOT), Store()
    by_selector = Shape(requests=(("nvidia.com/gpu", gpus),), node_selector=tuple(selector.items()))
    terms = (NodeTerm(tuple(Requirement(key, "In", (value,)) for key, value in selector.items())),)
    by_terms = Shape(requests=(("nvidia.com/gpu", gpus),), node_terms=terms if selector else None)
    for shape in (by_selector, by_terms):
        assert may_serve(found, (), shape, ClusterSnapshot(store)) is may
    tainted = nodepool(COUNT, ZONES, NOT_SPOT, taints=(Taint("gpu", "", "NoSchedule"),))
    assert may_serve(tainted, (), by_selector, ClusterSnapshot(store)) is False
    tolerant = msgspec.structs.replace(by_selector, tolerations=(Toleration(operator="Exists"),))
    assert may_serve(tainted, (), tolerant, ClusterSnapshot(store)) is may


def test_how_many_gpus_is_not_guessed() -> None:
    shape = Shape(requests=(("nvidia.com/gpu", 8),))
    assert may_serve(nodepool(ZONES), (), shape, ClusterSnapshot(Store())) is None
    mine = msgspec.structs.replace(shape, node_selector=(("karpenter.sh/nodepool", "gpu"),))
    assert may_serve(nodepool(ZONES), (), mine, ClusterSnapshot(Store())) is True


def test_what_pools_become_is_judged_once_for_what_it_rests_on() -> None:
    groups = [AT_ZERO, BUSY]
    view = view_of([tree for one in groups for tree in full_nodes(one)], pools=map(deployed, groups))
    store: Any = view.store
    shape = Shape(requests=(("nvidia.com/gpu", 8),))
    first, served = prospects(store, NOW), serving(shape, store, NOW)
    assert [one.name for one in served or ()] == ["busy", "manual"]
    store.apply(Batch(kind=Kind.POD, removed=("team-a-holds-busy-0",)))
    store.apply(Batch(kind=Kind.POD, changed=tuple(decoded(pod("other", 1)))))
    assert prospects(store, NOW + 1) is first and serving(shape, store, NOW + 1) is served
    store.apply(Batch(kind=Kind.AUTOSCALER, changed=(status(groups, NOW - 700),)))
    assert {one.growth for one in prospects(store, NOW + 1)} == {PoolGrowth.STOPPED}
    other = msgspec.structs.replace(shape, requests=(("nvidia.com/gpu", 9),))
    assert serving(other, store, NOW + 1) == ()
