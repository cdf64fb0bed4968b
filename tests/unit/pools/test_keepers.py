"""Why an autoscaler leaves a node where it is: annotations, budgets of pods, what its pool says; what a
smaller number and a reclaim make of a node that is to stay."""

from collections.abc import Iterable
from typing import Any

import pytest
from msgspec.structs import replace

from cockpit.errors import BadInput
from cockpit.fit.scheduling_context import Budget, budget_of
from cockpit.k8s.durations import go_seconds
from cockpit.k8s.labels import AUTOSCALER_MAXIMUM, AUTOSCALER_MINIMUM
from cockpit.k8s.selectors import selector_of
from cockpit.model.autoscaler import AutoscalerStatus, ScaledGroup
from cockpit.model.batch import Batch
from cockpit.model.event import Event
from cockpit.model.node import Node, Taint
from cockpit.model.pod import Pod
from cockpit.model.pool import Disruption, DisruptionBudget, Machine, PoolObject
from cockpit.model.record import Condition, Kind
from cockpit.model.scheduling import PodWishes, Toleration, Traits
from cockpit.pools import registry
from cockpit.pools.idle import idle_nodes
from cockpit.pools.index import pools_of
from cockpit.pools.shrink import shrink_of
from cockpit.store.store import Store
from cockpit.views.node_page import removal_pairs
from tests.unit.pools.builders import deployment, machine, node, pod, store_of

NOW = 1_790_000_000.0
KEEP = "karpenter.sh/do-not-disrupt"
SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
FILES = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
OFF = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
ALL = Toleration(operator="Exists")


def ours(name: str = "n", **more: Any) -> Node:
    return node(name, pool="burst", pool_label="karpenter.sh/nodepool", **more)


def node_pool(*, replicas: int | None = None, **disruption: Any) -> PoolObject:
    return PoolObject(
        uid="np",
        name="burst",
        api_version="karpenter.sh/v1",
        kind="NodePool",
        resource_path="/apis/karpenter.sh/v1/nodepools",
        replicas=replicas,
        disruption=Disruption(**disruption) if disruption else None,
    )


def claim(*conditions: Condition, **more: Any) -> Machine:
    return Machine(
        uid="c",
        name="burst-x",
        api_version="karpenter.sh/v1",
        kind="NodeClaim",
        resource_path="/apis/karpenter.sh/v1/nodeclaims",
        pool_kind="NodePool",
        pool_key="burst",
        node="n",
        conditions=conditions,
        **more,
    )


def budget(name: str = "llm", *, allowed: int = 0, **more: Any) -> Budget:
    return Budget("team-a", name, selector_of({"matchLabels": {"job": "llm"}}), allowed, 1, **more)


def member(name: str = "llm-0", **more: Any) -> Pod:
    return replace(pod(name, "n"), traits=Traits(labels=(("job", "llm"),)), **more)


def told(
    one: Node,
    pods: Iterable[Pod] = (),
    pool: PoolObject | None = None,
    claims: Iterable[Machine] = (),
    budgets: tuple[Budget, ...] | None = (),
    others: Iterable[Node] = (),
) -> list[str]:
    store = store_of([one, *others], pods, () if pool is None else [pool])
    store.apply(Batch(kind=Kind.MACHINE, changed=tuple(claims)))
    return [f"{pair.name}: {pair.value}" for pair in removal_pairs(one, store, NOW, budgets)]


LEAVES = "kept: Karpenter does not take it away: "


@pytest.mark.parametrize(
    ("value", "started", "said"),
    [
        ("true", NOW - 60, f"annotation {KEEP} on pod team-a/llm-0"),
        ("90m", NOW - 1800, f"annotation {KEEP} on pod team-a/llm-0 for 60 min more"),
        ("24h", NOW - 3600, f"annotation {KEEP} on pod team-a/llm-0 for 23 h more"),
        ("24h", None, f"annotation {KEEP} on pod team-a/llm-0"),
        ("30m", NOW - 1800, ""),
        ("false", NOW - 60, ""),
        ("soon", NOW - 60, ""),
        ("-1h", NOW - 60, ""),
    ],
)
def test_a_pod_that_is_not_to_be_disrupted_holds_its_node_while_it_says_so(
    value: str, started: float | None, said: str
) -> None:
    one = replace(pod("llm-0", "n"), stay_notes=((KEEP, value),), started_seconds=started)
    assert told(ours(), [one]) == ([LEAVES + said] if said else [])
    daemon = replace(one, owner_kind="DaemonSet")
    assert told(ours(), [daemon]) == ([LEAVES + said] if said else []), "also one of a DaemonSet"
    for over in (replace(one, phase="Succeeded"), replace(one, deleting_seconds=NOW)):
        assert told(ours(), [over]) == []
    assert told(node("n"), [one]) == [], "a node that it does not own"


def test_a_budget_that_lets_no_pod_go_holds_the_node_of_its_pods() -> None:
    says = "budget team-a/llm lets no pod go, team-a/llm-0 is one of its pods"
    assert told(ours(), [member()], budgets=(budget(),)) == [LEAVES + says]
    assert told(ours(), [member()], budgets=(budget(allowed=1),)) == []
    assert told(ours(), [member(namespace="team-b")], budgets=(budget(),)) == []
    assert told(ours(), [member(is_ready=False)], budgets=(budget(takes_unready=True),)) == []
    assert told(ours(), [member(is_ready=True)], budgets=(budget(takes_unready=True),)) == [LEAVES + says]
    two = (budget("a", allowed=1), budget("b", allowed=1))
    assert told(ours(), [member()], budgets=two) == [
        LEAVES + "pod team-a/llm-0 is in several budgets (team-a/a, team-a/b), so it cannot be evicted"
    ]


def test_a_pod_that_no_drain_evicts_is_held_by_no_budget() -> None:
    stays = Traits(labels=(("job", "llm"),), wishes=PodWishes(tolerations=(ALL,)))
    assert told(ours(), [replace(member(), traits=stays)], budgets=(budget(),)) == []
    assert told(ours(), [member(owner_kind="Node")], budgets=(budget(),)) == []


def test_budgets_that_nobody_read_are_not_taken_for_none() -> None:
    said = told(ours(), [member()], budgets=None)
    (line,) = said
    assert line.startswith("kept: Whether Karpenter may take it away is not known: ")
    assert line.endswith("the disruption budgets of its pods are not read")
    assert told(ours(), budgets=None) == []


def test_many_keepers_are_counted() -> None:
    pods = [replace(pod(f"p{at}", "n", 1), stay_notes=((KEEP, "true"),)) for at in range(5)]
    said = told(ours(), pods)
    assert said[-1] == ": and 3 more like these" and len(said) == 3


def test_what_its_pool_says_keeps_a_node() -> None:
    when_empty: dict[str, Any] = {"policy": "WhenEmpty", "after": "30s", "after_seconds": 30.0}
    none_now = (DisruptionBudget("0", ("Empty",)),)
    assert told(ours(), [pod("p", "n")], node_pool(**when_empty)) == [
        LEAVES + "NodePool burst gives up empty nodes only, and 1 pod is on it"
    ]
    assert told(ours(), (), node_pool(after="Never")) == [
        LEAVES + "NodePool burst says consolidateAfter Never"
    ]
    assert told(ours(), (), node_pool(replicas=2)) == [
        LEAVES + "NodePool burst has a set number of nodes, and only a lower one takes nodes away"
    ]
    assert told(ours(), (), node_pool(**when_empty, budgets=none_now)) == [
        LEAVES + "the disruption budget of NodePool burst lets no node go now"
    ]
    under = {**when_empty, "policy": "WhenEmptyOrUnderutilized"}
    assert told(ours(), [pod("p", "n")], node_pool(**under, budgets=none_now)) == []
    drifted = [claim(Condition("Drifted", "True", changed_seconds=NOW - 60))]
    (said,) = told(ours(), (), node_pool(replicas=2), drifted)
    assert "drifted from its NodePool" in said, "also one of a set number"
    closed = node_pool(replicas=2, budgets=(DisruptionBudget("0"),))
    assert told(ours(), (), closed, drifted) == [
        LEAVES + "the disruption budget of NodePool burst lets no node go now"
    ]


def test_a_node_that_nothing_holds_says_how_long_it_has() -> None:
    pool = node_pool(policy="WhenEmpty", after="5m", after_seconds=300.0)
    (said,) = told(ours(), (), pool, [claim(pod_moved_seconds=NOW - 60)])
    assert said.startswith("removal: no pod came or went") and said.endswith("for 1m00s, 4m00s left")
    (said,) = told(ours(), (), pool, [claim(initialized_seconds=NOW - 400)])
    assert said.endswith("due now")
    held = replace(pod("p", "n", 0, owner_kind="DaemonSet"), stay_notes=((KEEP, "true"),))
    assert told(ours(), [held], pool, [claim(pod_moved_seconds=NOW - 60)])[0].startswith(LEAVES)
    going = replace(ours(), taints=(Taint("karpenter.sh/disrupted", "", "NoSchedule"),))
    assert told(going, [held], pool)[0].startswith("removal: chosen by Karpenter")


def test_what_it_says_itself_is_told_last_and_not_for_long() -> None:
    store = store_of([ours()])
    event = Event(
        uid="e",
        name="e",
        object_uid="uid-n",
        reason="DisruptionBlocked",
        message="Node is nominated for a pending pod",
        last_seconds=NOW - 60,
    )
    store.apply(Batch(kind=Kind.EVENT, changed=(event,)))
    (pair,) = removal_pairs(ours(), store, NOW, ())
    assert pair.value == "Karpenter does not take it away: Node is nominated for a pending pod"
    assert removal_pairs(ours(), store, NOW + 300, ()) == []
    for ready, is_told in ((NOW - 80, True), (NOW - 61, False)):  # said of a node that was not ready yet
        store.apply(Batch(kind=Kind.MACHINE, changed=(claim(initialized_seconds=ready),)))
        assert bool(removal_pairs(ours(), store, NOW, ())) == is_told


@pytest.mark.parametrize(
    "message",
    [
        'Node is disrupted through the node annotation ("karpenter.sh/do-not-disrupt")',
        'Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=team-a/llm)',
        "Pdb prevents pod evictions (PodDisruptionBudget=[team-a/llm])",
    ],
)
def test_event_about_a_removed_annotation_or_budget_keeps_nothing(message: str) -> None:
    store = store_of([ours()])
    event = Event(
        uid="e",
        name="e",
        object_uid="uid-n",
        reason="DisruptionBlocked",
        message=message,
        last_seconds=NOW - 20,
    )
    store.apply(Batch(kind=Kind.EVENT, changed=(event,)))
    assert removal_pairs(ours(), store, NOW, ()) == []


def autoscaled(
    pods: Iterable[Pod], *taints: Taint, target: int | None = None, minimum: int | None = None
) -> tuple[Node, Store]:
    one = replace(node("n", pool="h100"), taints=taints)
    store = store_of([one], pods)
    status = AutoscalerStatus(
        uid="s",
        name="cluster-autoscaler-status",
        written_seconds=NOW,
        read_seconds=NOW,
        groups=(ScaledGroup(name="asg-h100-1", target=target, minimum=minimum),),
    )
    store.apply(Batch(kind=Kind.AUTOSCALER, changed=(status,)))
    return one, store


def test_a_pod_that_is_not_safe_to_evict_holds_its_node_where_the_autoscaler_scales_the_pool() -> None:
    unsafe = replace(pod("llm-0", "n"), stay_notes=((SAFE, "false"),))
    one, store = autoscaled([unsafe], Taint("DeletionCandidateOfClusterAutoscaler", "1", "PreferNoSchedule"))
    (pair,) = removal_pairs(one, store, NOW, ())
    assert (
        pair.value == f"The cluster autoscaler does not take it away: annotation {SAFE} on pod team-a/llm-0"
    )
    for free in (
        replace(unsafe, stay_notes=((SAFE, "true"),)),
        replace(unsafe, owner_kind="DaemonSet"),
    ):
        one, store = autoscaled([free])
        assert removal_pairs(one, store, NOW, ()) == []
    one, store = autoscaled([member(owner_kind="Job")])
    assert "budget team-a/llm lets no pod go" in removal_pairs(one, store, NOW, (budget(),))[0].value
    one, store = autoscaled([unsafe], Taint("ToBeDeletedByClusterAutoscaler", "1", "NoSchedule"))
    assert removal_pairs(one, store, NOW, ())[0].name == "removal"
    alone = store_of([one], [unsafe])
    assert removal_pairs(node("n", pool="h100"), alone, NOW, ()) == [], "nobody is seen to scale it"


THOUGHT_OF = Taint("DeletionCandidateOfClusterAutoscaler", "1", "PreferNoSchedule")
CA_LEAVES = "The cluster autoscaler does not take it away: "


def test_a_pod_that_nobody_makes_anew_holds_its_node() -> None:
    bare = pod("shell", "n")
    for taints in ((), (THOUGHT_OF,)):
        one, store = autoscaled([bare], *taints)
        (pair,) = removal_pairs(one, store, NOW, ())
        assert pair.value == CA_LEAVES + "pod team-a/shell has no controller to recreate it"
    one, store = autoscaled([replace(bare, stay_notes=((SAFE, "true"),))], THOUGHT_OF)
    assert removal_pairs(one, store, NOW, ())[0].name == "removal"


def test_a_pod_of_kube_system_without_a_budget_holds_its_node_unless_a_flag_says_otherwise() -> None:
    dns = replace(member("dns-0", owner_kind="ReplicaSet"), namespace="kube-system")
    one, store = autoscaled([dns])
    (pair,) = removal_pairs(one, store, NOW, ())
    assert pair.value == CA_LEAVES + "pod kube-system/dns-0 is of kube-system and has no disruption budget"
    under = Budget("kube-system", "dns", selector_of({"matchLabels": {"job": "llm"}}), 1, 1)
    assert removal_pairs(one, store, NOW, (under,)) == []
    one, store = autoscaled([dns], THOUGHT_OF)
    assert removal_pairs(one, store, NOW, ())[0].name == "removal"


@pytest.mark.parametrize(
    ("notes", "is_held"), [((), True), (((FILES, "cache"),), False), (((SAFE, "true"),), False)]
)
def test_files_on_the_node_hold_it_unless_a_flag_says_that_they_do_not(
    notes: tuple[tuple[str, str], ...], is_held: bool
) -> None:
    works = member(owner_kind="Job", stay_notes=notes)
    works = replace(works, traits=Traits(wishes=PodWishes(keeps_files=True)))
    one, store = autoscaled([works])
    said = CA_LEAVES + "pod team-a/llm-0 keeps files on the node (emptyDir or hostPath)"
    assert [pair.value for pair in removal_pairs(one, store, NOW, ())] == [said] * is_held
    assert (said in [pair.value for pair in removal_pairs(one, store, NOW)]) is is_held
    one, store = autoscaled([works], THOUGHT_OF)
    assert removal_pairs(one, store, NOW, ())[0].name == "removal"


@pytest.mark.parametrize(("target", "is_held"), [(2, True), (3, False), (None, False)])
def test_the_minimum_of_its_group_holds_a_node(target: int | None, is_held: bool) -> None:
    one, store = autoscaled((), target=target, minimum=2)
    said = CA_LEAVES + "group asg-h100-1 (2 nodes) is at its minimum"
    assert [pair.value for pair in removal_pairs(one, store, NOW, ())] == [said] * is_held


@pytest.mark.parametrize(
    ("conditions", "sets", "is_held"),
    [
        ((), ("h100-aaaaa",), False),
        ((), ("h100-aaaaa", "h100-bbbbb"), True),
        ((Condition("RollingOut", "True"),), ("h100-aaaaa",), True),
        ((Condition("RollingOut", "False"),), ("h100-aaaaa", "h100-bbbbb"), False),
    ],
)
def test_a_rollout_holds_nodes_and_none_that_a_person_sizes(
    conditions: tuple[Condition, ...], sets: tuple[str, ...], is_held: bool
) -> None:
    bounds = ((AUTOSCALER_MINIMUM, "0"), (AUTOSCALER_MAXIMUM, "4"))
    marks = (("cluster.x-k8s.io/owner-kind", "MachineSet"), ("cluster.x-k8s.io/owner-name", "h100-aaaaa"))
    one = replace(node("n", annotations=marks), taints=(THOUGHT_OF,))
    machines = [
        machine("" if at else "n", name, set_name=name, pool_kind="MachineDeployment", pool_key="capi/h100")
        for at, name in enumerate(sets)
    ]
    said = "MachineDeployment capi/h100 is being rolled out, and no node of it is taken before that ends"
    for notes in (bounds, ()):
        pool = replace(deployment(annotations=notes), conditions=conditions)
        store = store_of([one], [], [pool], machines=machines)
        (pair,) = removal_pairs(one, store, NOW, ())
        holds = is_held and bool(notes)
        assert (pair.value == CA_LEAVES + said, pair.name) == (holds, "kept" if holds else "removal")
        lines = registry.page_lines(pool, (one,), store, NOW, ())
        assert (f"the cluster autoscaler: {said}" in lines) is holds


def test_the_page_of_a_pool_names_who_is_held_and_by_what() -> None:
    pods = [replace(pod(f"p{at}", f"n{at}"), stay_notes=((KEEP, "true"),)) for at in range(4)]
    nodes = [ours(f"n{at}") for at in range(5)]
    store = store_of(nodes, [*pods, member(node="n4")], [node_pool(after="Never")])
    lines = registry.page_lines(node_pool(after="Never"), nodes, store, NOW, (budget(),))
    (held,) = [line for line in lines if line.startswith("not taken away")]
    assert f"n0 (Karpenter: annotation {KEEP} on pod team-a/p0); " in held
    assert held.endswith("; and 2 more")
    lines = registry.page_lines(None, nodes, store, NOW)
    assert "disruption budgets" not in "".join(lines), "it takes none away anyway"
    store = store_of(nodes, [*pods, member(node="n4")], [node_pool(after="30s")])
    lines = registry.page_lines(None, nodes, store, NOW)
    assert lines[-1] == "disruption budgets are not read: whether one holds 1 node is not known"


# ---- a smaller number, and a reclaim


def kept(name: str, key: str = OFF) -> Node:
    return node(name, pool="h100", annotations=((key, "true"),))


def shrunk(store: Store, to: int) -> list[str]:
    (pool,) = pools_of(store)
    (owner,) = store.records(Kind.POOL).values()
    return [one.name for one in shrink_of(pool, owner, to, store, 0.0).victims]


def test_a_smaller_number_leaves_a_kept_node_and_takes_another() -> None:
    nodes = [kept("a"), node("b", pool="h100"), node("c", pool="h100")]
    machines = [machine(name) for name in "abc"]
    store = store_of(nodes, [], [deployment(replicas=3)], machines=machines)
    assert sorted(shrunk(store, 1)) == ["b", "c"]
    with pytest.raises(BadInput) as refused:
        shrunk(store, 0)
    assert refused.value.sentence == (
        "pool h100: 3 of 3 nodes would go and only 2 are empty and not kept: a is kept"
        f" (annotation {OFF}); let go of what may go (H, cockpit node keep --off)"
    )


def test_an_owner_that_chooses_by_itself_could_take_a_kept_node() -> None:
    nodes = [ours("a", annotations=((KEEP, "true"),)), ours("b")]
    store = store_of(nodes, [], [node_pool(replicas=2)])
    with pytest.raises(BadInput, match="Karpenter chooses among the empty nodes, and a is kept"):
        shrunk(store, 1)


def test_a_daemon_that_is_not_to_be_disrupted_makes_its_node_no_empty_one() -> None:
    """Karpenter would take the busy one first: so the number is not lowered."""
    daemon = replace(pod("d", "b", 0, owner_kind="DaemonSet"), stay_notes=((KEEP, "true"),))
    busy = pod("p", "a", owner_kind="Job")
    store = store_of([ours("a"), ours("b")], [busy, daemon], [node_pool(replicas=2)])
    with pytest.raises(BadInput, match=r"could remove a busy node instead.*team-a/d on b"):
        shrunk(store, 1)


def test_an_idle_node_with_such_a_pod_is_not_reclaimed() -> None:
    daemon = replace(pod("d", "b", 0, owner_kind="DaemonSet"), stay_notes=((KEEP, "true"),))
    store = store_of([ours("a"), ours("b")], [daemon], [node_pool()])
    (pool,) = pools_of(store)
    assert [(one.node.name, one.why_kept) for one in idle_nodes(pool, store, NOW)] == [
        ("a", ""),
        ("b", f"{KEEP} on pod team-a/d"),
    ]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1h30m0s", 5400.0),
        ("1.5h", 5400.0),
        ("500ms", 0.5),
        ("0s", 0.0),
        ("", None),
        ("h", None),
        ("5", None),
        ("-5m", None),
        ("5d", None),
        ("1" * 50 + "s", None),
    ],
)
def test_durations_of_go(text: str, seconds: float | None) -> None:
    assert go_seconds(text) == seconds


def test_a_budget_says_whether_it_lets_unready_pods_go() -> None:
    tree = {
        "metadata": {"namespace": "a", "name": "b"},
        "spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"},
    }
    assert budget_of(tree).takes_unready and not budget_of({**tree, "spec": {}}).takes_unready
