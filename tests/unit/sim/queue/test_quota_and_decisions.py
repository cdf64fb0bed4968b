"""Quota, flavors, order and preemption as pure functions: tables, and what holds for any cluster."""

from collections.abc import Mapping
from typing import Any

from cockpit.k8s.admission.admission_cycle import AdmissionDecision, decide
from cockpit.k8s.admission.admission_specs import (
    FlavorSpec,
    PodSetRequests,
    QueueSpec,
    QuotaReservation,
    ResourceGroup,
    WorkloadInfo,
)
from cockpit.k8s.admission.flavor_assignment import Assigner, Mode
from cockpit.k8s.admission.quota_tree import Forest, Quota
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


def test_cohorts_that_go_round_are_left_apart() -> None:
    forest = Forest.grown({"a": ("x", {KEY: Quota(4)})}, {"x": ("y", {}), "y": ("x", {})})
    assert forest.looped == {"x", "y"}
    assert forest.queues["a"].free(KEY) == 4


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
