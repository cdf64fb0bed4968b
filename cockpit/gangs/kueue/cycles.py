"""Cycles of admission played to rest: who gets quota, and who loses it for that.

A job that is preempted leaves at once here, in the cluster when its pods have ended; the one that it made
room for stays at the head of its queue until then. Source: kueue v0.19 pkg/scheduler/scheduler.go,
pkg/cache/queue/cluster_queue.go (the sticky workload).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from cockpit.k8s.admission.admission_cycle import AdmissionDecision, AdmissionOutcome, decide
from cockpit.k8s.admission.admission_specs import (
    STRICT,
    FlavorSpec,
    QueueSpec,
    QuotaReservation,
    WorkloadInfo,
)
from cockpit.k8s.admission.flavor_assignment import FlavorAssignment
from cockpit.k8s.admission.quota_preemption import satisfies
from cockpit.k8s.admission.quota_tree import Forest

_MOST_CYCLES: Final = 256


def takes_from_others(
    forest: Forest, specs: Mapping[str, QueueSpec], held: Iterable[QuotaReservation], info: WorkloadInfo
) -> bool:
    """Whether a policy lets the job take quota from any that holds some, whatever the amounts."""
    spec, root = specs[info.queue], forest.queues[info.queue].root
    for one in held:
        other = forest.queues.get(one.queue)
        if one.uid == info.uid or other is None or other.root is not root:
            continue
        policy = spec.within_queue if one.queue == info.queue else spec.reclaim
        if satisfies(policy, info, one):
            return True
    return False


class Cycles:
    """One play. `held` are the reservations by uid, `queued_again` what a preempted job asks for, None where
    it is left out. `victims` and `admitted` (with its flavors) are by uid in the order in which it happened,
    `waiting` who asks still."""

    def __init__(
        self,
        forest: Forest,
        specs: Mapping[str, QueueSpec],
        flavors: Mapping[str, FlavorSpec],
        held: Mapping[str, QuotaReservation],
        *,
        queued_again: Callable[[QuotaReservation], WorkloadInfo | None],
        now_seconds: float,
    ) -> None:
        self._forest = forest
        self._specs = specs
        self._flavors = flavors
        self._held = dict(held)
        self._queued_again = queued_again
        self._now = now_seconds
        self._parked: set[str] = set()
        self._sticky: set[str] = set()
        self.waiting: dict[str, WorkloadInfo] = {}
        self.victims: dict[str, None] = {}
        self.admitted: dict[str, FlavorAssignment] = {}

    def run(self, asking: Iterable[WorkloadInfo], others: Iterable[WorkloadInfo] = ()) -> bool:
        """Play until nobody moves; False where that did not come. `others` were looked at before, and wait
        until quota becomes free."""
        self.waiting = {one.uid: one for one in (*asking, *others)}
        self._parked = {one.uid for one in others}
        for _ in range(_MOST_CYCLES):
            heads = self._heads()
            if all(one.uid in self._parked for one in heads):
                return True
            before = (len(self.victims), len(self.waiting), len(self._parked))
            for decision in decide(self._forest, self._specs, self._flavors, self._by_queue, heads):
                self._take(decision)
            if before == (len(self.victims), len(self.waiting), len(self._parked)):
                return True  # each cycle ends as this one
        return False

    def _heads(self) -> list[WorkloadInfo]:
        """One of each queue. Who does not fit is left out until quota becomes free, but at the head of a
        strict queue it stays: nobody behind it is looked at, and its quota is kept for it."""
        heads: dict[str, WorkloadInfo] = {}
        for one in sorted(self.waiting.values(), key=self._turn):
            if one.uid not in self._parked or self._specs[one.queue].strategy == STRICT:
                heads.setdefault(one.queue, one)
        return list(heads.values())

    def _turn(self, one: WorkloadInfo) -> tuple[bool, int, float, str]:
        return one.uid not in self._sticky, -one.priority, one.moment, one.uid

    def _take(self, decision: AdmissionDecision) -> None:
        info = decision.info
        if decision.outcome is AdmissionOutcome.ADMIT:
            self._admit(decision)
        elif decision.outcome is AdmissionOutcome.PREEMPT:
            self._sticky.add(info.uid)
            self._parked.clear()
            for target in decision.targets:
                self._evict(target.reservation)
        elif decision.outcome is AdmissionOutcome.WAIT:
            self._parked.add(info.uid)

    def _by_queue(self, queue: str) -> Iterator[QuotaReservation]:
        return (one for one in self._held.values() if one.queue == queue)

    def _admit(self, decision: AdmissionDecision) -> None:
        info, usage = decision.info, dict(decision.assignment.usage)
        for key, amount in usage.items():
            self._forest.queues[info.queue].add(key, amount)
        self._held[info.uid] = QuotaReservation(
            key=info.key,
            uid=info.uid,
            queue=info.queue,
            priority=info.priority,
            moment=info.moment,
            usage=usage,
            reserved_seconds=self._now,
            is_admitted=True,
            is_evicted=False,
        )
        self.admitted[info.uid] = decision.assignment
        del self.waiting[info.uid]

    def _evict(self, gone: QuotaReservation) -> None:
        for key, amount in gone.usage.items():
            self._forest.queues[gone.queue].remove(key, amount)
        del self._held[gone.uid]
        self.victims[gone.uid] = None
        again = self._queued_again(gone)
        if again is not None:
            self.waiting[gone.uid] = again
