"""Quota, flavors, order and preemption as pure functions: tables, and what holds for any cluster."""

from collections.abc import Mapping
from typing import Any

import pytest

from cockpit.k8s.admission.admission_cycle import AdmissionDecision, AdmissionOutcome, decide
from cockpit.k8s.admission.admission_specs import (
    FlavorSpec,
    PodSetRequests,
    QueueSpec,
    QuotaReservation,
    ResourceGroup,
    WorkloadInfo,
    text_of,
)
from cockpit.k8s.admission.flavor_assignment import Assigner, Mode
from cockpit.k8s.admission.quota_tree import Forest, Quota
from cockpit.k8s.pod_requests import pod_requests
from cockpit.k8s.quantity import base_units
from cockpit.sim.actors.queue.pending_queue import PendingQueue

GPU = "nvidia.com/gpu"


KEY = ("h100", GPU)


H100 = {"h100": FlavorSpec("h100", {})}


def spec(name: str, quota: Quota, cohort: str = "", **more: Any) -> QueueSpec:
    return QueueSpec(
        name=name,
        cohort=cohort,
        strategy="BestEffortFIFO",
        groups=(ResourceGroup(frozenset((GPU,)), ("h100",)),),
        quotas={KEY: quota},
        selector=(),
        **more,
    )


def ask(name: str, gpus: int, queue: str = "a", priority: int = 0, moment: float = 0.0) -> WorkloadInfo:
    part = PodSetRequests("main", 1, {GPU: gpus}, {})
    return WorkloadInfo(("ns", name), f"uid-{name}", f"job-{name}", queue, priority, moment, (part,))


def hold(name: str, gpus: int, queue: str = "a", priority: int = 0, moment: float = 0.0) -> QuotaReservation:
    return QuotaReservation(
        ("ns", name), f"uid-{name}", queue, priority, moment, {KEY: gpus}, moment, True, False
    )


class Bench:
    """Queues with reservations, to decide about heads."""

    def __init__(
        self,
        specs: list[QueueSpec],
        reservations: list[QuotaReservation] | None = None,
        cohorts: Mapping[str, tuple[str, Mapping[tuple[str, str], Quota]]] | None = None,
    ) -> None:
        self.specs = {one.name: one for one in specs}
        self.forest = Forest.grown({one.name: (one.cohort, one.quotas) for one in specs}, cohorts or {})
        self.reservations = reservations or []
        for one in self.reservations:
            self.count(one)

    def count(self, one: QuotaReservation) -> None:
        for key, amount in one.usage.items():
            self.forest.queues[one.queue].add(key, amount)

    def held(self, queue: str) -> list[QuotaReservation]:
        return [one for one in self.reservations if one.queue == queue]

    def decide(
        self, *heads: WorkloadInfo, flavors: Mapping[str, FlavorSpec] = H100
    ) -> list[AdmissionDecision]:
        return decide(self.forest, self.specs, flavors, self.held, heads)


@pytest.mark.parametrize(
    ("resource", "text", "amount", "canonical"),
    [
        ("cpu", "1500m", 1500, "1500m"),
        ("cpu", "10000", 10_000_000, "10k"),
        ("cpu", "4", 4000, "4"),
        ("memory", "16Gi", 16 * 2**30, "16Gi"),
        ("memory", "1000", 1000, "1k"),
        ("memory", "102400Gi", 100 * 2**40, "100Ti"),
        (GPU, "8", 8, "8"),
        (GPU, "2000", 2000, "2k"),
        (GPU, "0", 0, "0"),
    ],
)
def test_quantities_as_kueue_writes_them(resource: str, text: str, amount: int, canonical: str) -> None:
    assert base_units(resource, text) == amount
    assert text_of(resource, amount) == canonical


def test_what_a_pod_is_charged() -> None:
    def container(cpu: str, **more: Any) -> dict[str, Any]:
        return {"resources": {"requests": {"cpu": cpu}, "limits": {"cpu": "9", GPU: "1"}}, **more}

    pod = {
        "containers": [container("1"), container("2")],
        "initContainers": [container("1", restartPolicy="Always"), container("8")],
        "overhead": {"cpu": "500m"},
    }
    assert pod_requests(pod) == {"cpu": 9500, GPU: 3}


QUEUE_CASES = [
    # borrowing and lending limits of a and b (8 each), use of a and b; what a has free and could ever have
    ((None, None), (None, None), (0, 0), (16, 16)),
    ((4, None), (None, None), (0, 0), (12, 12)),
    ((None, None), (None, 2), (0, 0), (10, 10)),
    ((None, None), (None, None), (8, 6), (2, 16)),
    ((None, 3), (None, None), (0, 16), (5, 16)),  # five are held back, b took the three that a lends
    ((0, None), (None, None), (8, 0), (0, 8)),
]


@pytest.mark.parametrize(("mine", "other", "used", "expected"), QUEUE_CASES)
def test_what_a_queue_has_free(
    mine: tuple[int | None, int | None],
    other: tuple[int | None, int | None],
    used: tuple[int, int],
    expected: tuple[int, int],
) -> None:
    used_b = min(used[1], 11) if mine[1] is not None else used[1]
    bench = Bench(
        [spec("a", Quota(8, *mine), "site"), spec("b", Quota(8, *other), "site")],
        [hold("1", used[0], "a"), hold("2", used_b, "b")],
    )
    node = bench.forest.queues["a"]
    assert (node.free(KEY), node.capacity(KEY)) == expected


def test_a_cohort_above_a_cohort_lends_too() -> None:
    bench = Bench(
        [spec("a", Quota(4), "left"), spec("b", Quota(4), "right")],
        cohorts={"left": ("root", {}), "right": ("root", {}), "root": ("", {KEY: Quota(2)})},
    )
    assert bench.forest.queues["a"].free(KEY) == 10
    assert bench.forest.queues["a"].path == "/root/left/a"


def test_cohorts_that_go_round_are_left_apart() -> None:
    forest = Forest.grown({"a": ("x", {KEY: Quota(4)})}, {"x": ("y", {}), "y": ("x", {})})
    assert forest.looped == {"x", "y"}
    assert forest.queues["a"].free(KEY) == 4


FLAVOR_CASES = [
    ({}, {}, "flavor h100 not found"),
    ({}, {"h100": FlavorSpec("h100", {}, ({"key": "instance", "value": "spot", "effect": "NoSchedule"},))},
     "untolerated taint {instance spot NoSchedule <nil>} in flavor h100"),
    ({"nodeSelector": {"pool": "a100"}}, {"h100": FlavorSpec("h100", {"pool": "h100"})},
     "flavor h100 doesn't match node affinity"),
    ({"nodeSelector": {"other": "x"}}, {"h100": FlavorSpec("h100", {"pool": "h100"})}, ""),
    ({"nodeSelector": {"pool": "h100"}}, {"h100": FlavorSpec("h100", {"pool": "h100"})}, ""),
    ({"tolerations": [{"key": "instance", "operator": "Exists"}]},
     {"h100": FlavorSpec("h100", {}, ({"key": "instance", "value": "spot", "effect": "NoSchedule"},))}, ""),
    ({}, {"h100": FlavorSpec("h100", {}, ({"key": "k", "effect": "NoSchedule"},), ({"operator": "Exists"},))},
     ""),
    ({}, {"h100": FlavorSpec("h100", {}, ({"key": "k", "effect": "PreferNoSchedule"},))}, ""),
]  # fmt: skip


@pytest.mark.parametrize(("pod", "flavors", "why"), FLAVOR_CASES)
def test_which_flavor_pods_may_use(pod: dict[str, Any], flavors: dict[str, FlavorSpec], why: str) -> None:
    part = PodSetRequests("main", 1, {GPU: 1}, pod)
    head = WorkloadInfo(("ns", "x"), "u", "j", "a", 0, 0.0, (part,))
    (decision,) = Bench([spec("a", Quota(8))]).decide(head, flavors=flavors)
    expected = f"couldn't assign flavors to pod set main: {why}" if why else ""
    assert decision.message == expected
    assert decision.outcome is (AdmissionOutcome.WAIT if why else AdmissionOutcome.ADMIT)


def test_a_resource_that_the_queue_does_not_cover() -> None:
    part = PodSetRequests("main", 1, {GPU: 1, "cpu": 1}, {})
    (decision,) = Bench([spec("a", Quota(8))]).decide(
        WorkloadInfo(("ns", "x"), "u", "j", "a", 0, 0.0, (part,))
    )
    assert decision.message == (
        "couldn't assign flavors to pod set main: resource cpu unavailable in ClusterQueue"
    )


def two_flavors(**more: Any) -> QueueSpec:
    return QueueSpec(
        name="a",
        cohort=more.pop("cohort", ""),
        strategy="BestEffortFIFO",
        groups=(ResourceGroup(frozenset((GPU,)), ("h100", "a100")),),
        quotas={("h100", GPU): Quota(4), ("a100", GPU): Quota(8)},
        selector=(),
        **more,
    )


BOTH = {**H100, "a100": FlavorSpec("a100", {})}


def test_the_second_flavor_when_the_first_is_full() -> None:
    bench = Bench([two_flavors()], [hold("1", 4)])
    (decision,) = bench.decide(ask("x", 2), flavors=BOTH)
    assert decision.assignment.usage == {("a100", GPU): 2}
    assert decision.assignment.considered == (
        "main: h100(Preempt;insufficient unused quota for nvidia.com/gpu in flavor h100, 2 more needed)"
    )


def test_the_reasons_of_all_flavors_in_one_sentence() -> None:
    (decision,) = Bench([two_flavors()], [hold("1", 4)]).decide(ask("x", 9), flavors=BOTH)
    assert decision.message == (
        "couldn't assign flavors to pod set main: insufficient quota for nvidia.com/gpu in flavor a100, "
        "previously considered podsets requests (0) + current podset request (9) > maximum capacity (8), "
        "insufficient quota for nvidia.com/gpu in flavor h100, previously considered podsets requests (0) + "
        "current podset request (9) > maximum capacity (4)"
    )


def test_pod_sets_count_together() -> None:
    parts = (PodSetRequests("launcher", 1, {GPU: 3}, {}), PodSetRequests("worker", 2, {GPU: 6}, {}))
    (decision,) = Bench([spec("a", Quota(8))]).decide(WorkloadInfo(("ns", "x"), "u", "j", "a", 0, 0.0, parts))
    assert decision.message == (
        "couldn't assign flavors to pod set worker: insufficient quota for nvidia.com/gpu in flavor h100, "
        "previously considered podsets requests (3) + current podset request (6) > maximum capacity (8)"
    )


PREEMPTION_CASES = [
    # policy of the queue, reservations (name, gpus, priority, moment), who gives way for 4 GPUs at priority 5
    ("Never", [("x", 8, 0, 0)], []),
    ("LowerPriority", [("x", 4, 0, 0), ("y", 4, 1, 0)], ["x"]),
    ("LowerPriority", [("x", 4, 0, 0), ("y", 4, 0, 9)], ["y"]),
    ("LowerPriority", [("x", 2, 0, 9), ("y", 2, 0, 8), ("z", 4, 0, 7)], ["x", "y"]),
    ("LowerPriority", [("x", 1, 0, 9), ("y", 7, 0, 8)], ["y"]),  # x alone does not help: it is put back
    ("LowerPriority", [("x", 8, 5, 0)], []),
    ("LowerOrNewerEqualPriority", [("x", 4, 5, 99), ("y", 4, 5, 1)], ["x"]),
]


@pytest.mark.parametrize(("policy", "reservations", "expected"), PREEMPTION_CASES)
def test_who_gives_way_in_the_own_queue(
    policy: str, reservations: list[tuple[str, int, int, float]], expected: list[str]
) -> None:
    held = [hold(name, gpus, "a", priority, moment) for name, gpus, priority, moment in reservations]
    bench = Bench([spec("a", Quota(8), within_queue=policy)], held)
    (decision,) = bench.decide(ask("new", 4, priority=5, moment=50))
    assert sorted(target.reservation.key[1] for target in decision.targets) == expected
    ending = f". Pending the preemption of {len(expected)} workload(s)" if expected else ""
    assert decision.message.endswith(f"4 more needed{ending}")


RECLAIM_CASES: list[tuple[dict[str, Any], int, int, list[str]]] = [
    # policies of a, priority of the head, its GPUs, who of b (16 used of 8) gives way
    ({}, 0, 4, []),
    ({"reclaim": "Any"}, 0, 4, ["b4"]),
    ({"reclaim": "LowerPriority"}, 0, 4, []),
    ({"reclaim": "LowerPriority"}, 3, 4, ["b4"]),
    ({"reclaim": "Any"}, 0, 12, []),  # above its own quota: it would borrow
    ({"reclaim": "LowerPriority", "borrow_policy": "LowerPriority"}, 3, 12, []),
]


@pytest.mark.parametrize(("policies", "priority", "gpus", "expected"), RECLAIM_CASES)
def test_who_gives_way_in_the_cohort(
    policies: dict[str, Any], priority: int, gpus: int, expected: list[str]
) -> None:
    held = [hold(f"b{number}", 4, "b", 0, number) for number in range(1, 5)]
    bench = Bench([spec("a", Quota(8), "site", **policies), spec("b", Quota(8), "site")], held)
    (decision,) = bench.decide(ask("new", gpus, priority=priority))
    assert [target.reservation.key[1] for target in decision.targets] == expected
    assert all(target.reason == "InCohortReclamation" for target in decision.targets)


def test_reclaim_while_borrowing() -> None:
    held = [hold("b1", 8, "b", 0, 1), hold("c1", 8, "c", 0, 2)]
    policies = {"reclaim": "LowerPriority", "borrow_policy": "LowerPriority", "borrow_most_priority": 1}
    bench = Bench(
        [
            spec("a", Quota(4), "site", **policies),
            spec("b", Quota(4), "site"),
            spec("c", Quota(8), "site"),
        ],
        held,
    )
    (decision,) = bench.decide(ask("new", 6, priority=3))
    assert [(one.reservation.key[1], one.reason) for one in decision.targets] == [
        ("b1", "InCohortReclaimWhileBorrowing")
    ]


def test_two_heads_that_need_the_same_room() -> None:
    held = [hold("b1", 8, "b", 0, 1)]
    specs = [spec(name, Quota(4), "site", reclaim="Any") for name in ("a", "c")]
    bench = Bench([*specs, spec("b", Quota(0), "site")], held)
    first, second = bench.decide(ask("x", 4, "a", moment=1), ask("y", 4, "c", moment=2))
    assert (first.outcome, second.outcome) == (AdmissionOutcome.PREEMPT, AdmissionOutcome.SKIP)
    assert second.message == "Workload has overlapping preemption targets with another workload"


def test_the_second_head_no_longer_fits() -> None:
    bench = Bench([spec("a", Quota(4), "site"), spec("b", Quota(4), "site")])
    first, second = bench.decide(ask("x", 6, "a", priority=1), ask("y", 6, "b"))
    assert (first.info.key[1], first.outcome, second.outcome) == (
        "x",
        AdmissionOutcome.ADMIT,
        AdmissionOutcome.SKIP,
    )
    assert second.message == "Workload no longer fits after processing another workload"


def test_who_need_not_borrow_goes_first() -> None:
    bench = Bench([spec("a", Quota(4), "site"), spec("b", Quota(4), "site")])
    done = bench.decide(ask("borrows", 6, "a", priority=9), ask("own", 4, "b"))
    assert [one.info.key[1] for one in done] == ["own", "borrows"]


def test_a_best_effort_line_tries_the_next() -> None:
    line = PendingQueue("BestEffortFIFO")
    big, small = ask("big", 9, moment=1), ask("small", 1, moment=2)
    for one in (small, big):
        line.put(one, ready=True)
    assert line.head() == big
    assert line.failed(big)
    assert line.head() == small
    assert [one.key[1] for one in line.in_order()] == ["big", "small"]
    line.release(lambda _: True)
    assert line.head() == big


def test_one_that_others_give_way_to_stays_first() -> None:
    line = PendingQueue("BestEffortFIFO")
    first, later = ask("first", 1, moment=1), ask("later", 1, moment=2, priority=9)
    line.put(first, ready=True)
    line.stick(first)
    line.put(later, ready=True)
    assert line.head() == first
    line.drop(first.key)
    assert line.head() == later


def test_the_assigner_asks_for_room_only_where_it_may_be_had() -> None:
    bench = Bench([spec("a", Quota(8), "site", reclaim="Never"), spec("b", Quota(8), "site")], [hold("1", 8)])
    asked: list[int] = []

    def oracle(key: tuple[str, str], amount: int) -> tuple[Mode, int]:
        asked.append(amount)
        return Mode.NO_CANDIDATES, 0

    node, one = bench.forest.queues["a"], bench.specs["a"]
    node.parent.usage[KEY] = 16  # type: ignore[union-attr]
    assigner = Assigner(one, node, H100, oracle)
    assert assigner.assign(ask("x", 9)).mode is Mode.NO_FIT
    assert asked == []
    assert assigner.assign(ask("x", 8)).mode is Mode.PREEMPT
    assert asked == [8]
