"""Who has to give way so that a workload fits: classical preemption, by priority and by whose quota it is.

Candidates are taken in order until the workload fits, then put back in reverse order as far as it still fits.
Fair sharing is not modelled. Source: kueue v0.15 to v0.19 pkg/scheduler/preemption.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from cockpit.k8s.admission.admission_specs import QueueSpec, QuotaReservation, WorkloadInfo
from cockpit.k8s.admission.flavor_assignment import Mode
from cockpit.k8s.admission.quota_tree import Amounts, FlavorResource, QuotaNode, level_that_fits

IN_QUEUE = "InClusterQueue"
RECLAIMED = "InCohortReclamation"
RECLAIMED_WHILE_BORROWING = "InCohortReclaimWhileBorrowing"

_WORDS = {
    IN_QUEUE: "prioritization in the ClusterQueue",
    RECLAIMED: "reclamation within the cohort",
    RECLAIMED_WHILE_BORROWING: "reclamation within the cohort while borrowing",
}

Reserved = Callable[[str], Iterable[QuotaReservation]]
"""The workloads that hold quota in a queue."""


class PreemptionTarget(NamedTuple):
    """One workload that gives way, and by which right."""

    reservation: QuotaReservation
    reason: str
    path: str


class _Candidate(NamedTuple):
    reservation: QuotaReservation
    reason: str
    top: QuotaNode | None  # the subtree in which both queues are; None for the own queue
    never_while_borrowing: bool = False


def preemption_message(uid: str, job_uid: str, reason: str, path: str, victim_path: str) -> str:
    """The sentence on the condition of who gives way."""
    return (
        f"Preempted to accommodate a workload (UID: {uid or 'UNKNOWN'}, JobUID: {job_uid or 'UNKNOWN'}) "
        f"due to {_WORDS[reason]}; preemptor path: {path}; preemptee path: {victim_path}"
    )


def satisfies(policy: str, info: WorkloadInfo, reservation: QuotaReservation) -> bool:
    """May `info` preempt `reservation` under this policy."""
    if policy == "Any":
        return True
    if policy not in ("LowerPriority", "LowerOrNewerEqualPriority"):
        return False
    if info.priority > reservation.priority:
        return True
    is_equal = info.priority == reservation.priority and info.moment < reservation.moment
    return policy == "LowerOrNewerEqualPriority" and is_equal


class Preemptor:
    """Finds targets for one workload on the tree as it is; leaves the tree as it was."""

    def __init__(
        self, nodes: Mapping[str, QuotaNode], spec: QueueSpec, info: WorkloadInfo, held: Reserved
    ) -> None:
        self._nodes = nodes
        self._node = nodes[spec.name]
        self._spec = spec
        self._info = info
        self._held = held

    def targets(
        self, usage: Mapping[FlavorResource, int], short: frozenset[FlavorResource]
    ) -> list[PreemptionTarget]:
        """The fewest found by the heuristic, [] when nothing helps."""
        own = self._own(short)
        above, others = self._elsewhere(usage, short)
        candidates = _in_order(above, others, own, self._spec.name)
        for may_borrow in self._tries(above, others, short):
            found = self._try(candidates, usage, short, may_borrow)
            if found:
                return found
        return []

    def oracle(self, key: FlavorResource, amount: int) -> tuple[Mode, int]:
        """Would preemption for this one amount work, and how far it would borrow then."""
        found = self.targets({key: amount}, frozenset((key,)))
        if not found:
            return Mode.NO_CANDIDATES, level_that_fits(self._node, key, amount)[0]
        for target in found:
            self._take(target.reservation)
        borrow = level_that_fits(self._node, key, amount)[0]
        for target in reversed(found):
            self._give_back(target.reservation)
        is_own = any(target.reservation.queue == self._spec.name for target in found)
        return (Mode.PREEMPT if is_own else Mode.RECLAIM), borrow

    def _own(self, short: frozenset[FlavorResource]) -> list[_Candidate]:
        if self._spec.within_queue == "Never":
            return []
        return [
            _Candidate(item, IN_QUEUE, None)
            for item in self._held(self._spec.name)
            if _uses(item, short) and satisfies(self._spec.within_queue, self._info, item)
        ]

    def _elsewhere(
        self, usage: Mapping[FlavorResource, int], short: frozenset[FlavorResource]
    ) -> tuple[list[_Candidate], list[_Candidate]]:
        """Those that sit on quota of a subtree which is this queue's first, and those that do not."""
        above: list[_Candidate] = []
        others: list[_Candidate] = []
        if self._node.parent is None or self._spec.reclaim == "Never":
            return above, others
        has_right, rest = _fits_quota(self._node, usage)
        done: QuotaNode | None = None
        for top in self._node.ancestors():
            into = above if has_right else others
            into.extend(
                self._classified(item, top, has_right)
                for queue in _borrowers(top, done, self._node, short)
                for item in self._held(queue.name)
                if _uses(item, short) and satisfies(self._spec.reclaim, self._info, item)
            )
            fits, rest = _fits_quota(top, rest)
            has_right = has_right or fits
            done = top
        return above, others

    def _classified(self, one: QuotaReservation, top: QuotaNode, has_right: bool) -> _Candidate:
        if has_right:
            return _Candidate(one, RECLAIMED, top)
        most = self._spec.borrow_most_priority
        is_forbidden = (
            self._spec.borrow_policy == "Never"
            or one.priority >= self._info.priority
            or (most is not None and one.priority > most)
        )
        if is_forbidden:
            return _Candidate(one, RECLAIMED, top, never_while_borrowing=True)
        return _Candidate(one, RECLAIMED_WHILE_BORROWING, top)

    def _tries(
        self, above: list[_Candidate], others: list[_Candidate], short: frozenset[FlavorResource]
    ) -> tuple[bool, ...]:
        is_forbidden = self._spec.borrow_policy == "Never"
        is_under = all(self._node.usage.get(key, 0) < self._node.nominal(key) for key in short)
        if (not above and not others) or (is_forbidden and not is_under):
            return (True,)
        if is_forbidden and not above:
            return False, True
        return True, False

    def _try(
        self,
        candidates: list[_Candidate],
        usage: Mapping[FlavorResource, int],
        short: frozenset[FlavorResource],
        may_borrow: bool,
    ) -> list[PreemptionTarget]:
        taken: list[PreemptionTarget] = []
        found: list[PreemptionTarget] = []
        for item in candidates:
            if not self._is_valid(item, short, may_borrow):
                continue
            self._take(item.reservation)
            taken.append(
                PreemptionTarget(item.reservation, item.reason, self._nodes[item.reservation.queue].path)
            )
            if self._fits(usage, may_borrow):
                found = self._filled_back(taken, usage, may_borrow)
                break
        still_out = found or taken
        for target in reversed(still_out):
            self._give_back(target.reservation)
        return found

    def _filled_back(
        self, taken: list[PreemptionTarget], usage: Mapping[FlavorResource, int], may_borrow: bool
    ) -> list[PreemptionTarget]:
        targets = list(taken)
        for index in range(len(targets) - 2, -1, -1):
            self._give_back(targets[index].reservation)
            if self._fits(usage, may_borrow):
                targets[index] = targets[-1]
                targets.pop()
            else:
                self._take(targets[index].reservation)
        return targets

    def _is_valid(self, one: _Candidate, short: frozenset[FlavorResource], may_borrow: bool) -> bool:
        """Taking earlier candidates may have brought a queue back to its own quota."""
        if one.top is None:
            return True
        if may_borrow and one.never_while_borrowing:
            return False
        queue = self._nodes[one.reservation.queue]
        if not queue.exceeds_any(short):
            return False
        for node in queue.ancestors():
            if node is one.top:
                break
            if not node.exceeds_any(short):
                return False
        return True

    def _fits(self, usage: Mapping[FlavorResource, int], may_borrow: bool) -> bool:
        for key, amount in usage.items():
            if not may_borrow and self._node.exceeds(key, amount):
                return False
            if amount > max(0, self._node.free(key)):
                return False
        return True

    def _take(self, one: QuotaReservation) -> None:
        node = self._nodes[one.queue]
        for key, amount in one.usage.items():
            node.remove(key, amount)

    def _give_back(self, one: QuotaReservation) -> None:
        node = self._nodes[one.queue]
        for key, amount in one.usage.items():
            node.add(key, amount)


def _borrowers(
    cohort: QuotaNode, done: QuotaNode | None, own: QuotaNode, short: frozenset[FlavorResource]
) -> Iterator[QuotaNode]:
    """Queues below `cohort` that use more than their own quota, without the subtree that was looked at."""
    for child in cohort.cohorts:
        if child is not done and child.exceeds_any(short):
            yield from _borrowers(child, done, own, short)
    for queue in cohort.queues:
        if queue is not own and queue.exceeds_any(short):
            yield queue


def _uses(one: QuotaReservation, short: frozenset[FlavorResource]) -> bool:
    return any(key in short for key in one.usage)


def _fits_quota(node: QuotaNode, usage: Mapping[FlavorResource, int]) -> tuple[bool, Amounts]:
    fits = not any(node.exceeds(key, amount) for key, amount in usage.items())
    return fits, {key: max(0, amount - node.local_free(key)) for key, amount in usage.items()}


def _in_order(
    above: list[_Candidate], others: list[_Candidate], own: list[_Candidate], queue: str
) -> list[_Candidate]:
    """Who is going already first; then by right; in each: other queues, low priority, latest come."""

    def order(one: _Candidate) -> tuple[bool, int, float, str]:
        reservation = one.reservation
        return (
            reservation.queue == queue,
            reservation.priority,
            -reservation.reserved_seconds,
            reservation.uid,
        )

    groups = [sorted(group, key=order) for group in (above, others, own)]
    going = [item for group in groups for item in group if item.reservation.is_evicted]
    return going + [item for group in groups for item in group if not item.reservation.is_evicted]
