"""What one cycle decides: the heads of the queues against the quota that is left.

A cycle looks at one head of every queue: those that need not borrow go first, then higher priority, then who
came first; each sees what was given to those before it. Source: kueue v0.15 to v0.19, pkg/scheduler.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from cockpit.k8s.admission.admission_specs import (
    FlavorSpec,
    QueueSpec,
    QuotaReservation,
    WorkloadInfo,
)
from cockpit.k8s.admission.flavor_assignment import Assigner, FlavorAssignment, Mode
from cockpit.k8s.admission.quota_preemption import PreemptionTarget, Preemptor, Reserved
from cockpit.k8s.admission.quota_tree import Amounts, FlavorResource, Forest, QuotaNode


class AdmissionOutcome(StrEnum):
    """What a cycle decided about one head."""

    ADMIT = "admit"
    WAIT = "wait"
    PREEMPT = "preempt"
    SKIP = "skip"


class AdmissionDecision(NamedTuple):
    """The outcome for one workload, with the sentence for its condition ("" when it is admitted)."""

    info: WorkloadInfo
    outcome: AdmissionOutcome
    message: str
    assignment: FlavorAssignment
    targets: tuple[PreemptionTarget, ...] = ()


class _Entry(NamedTuple):
    info: WorkloadInfo
    assignment: FlavorAssignment
    targets: tuple[PreemptionTarget, ...]


def decide(
    forest: Forest,
    specs: Mapping[str, QueueSpec],
    flavors: Mapping[str, FlavorSpec],
    held: Reserved,
    heads: Sequence[WorkloadInfo],
) -> list[AdmissionDecision]:
    """Decisions in the order in which they were made. The usage in `forest` is left as it was."""
    before = forest.saved()
    entries = [_nominated(forest, specs[info.queue], flavors, held, info) for info in heads]
    entries.sort(
        key=lambda one: (one.assignment.borrow, -one.info.priority, one.info.moment, one.info.serial)
    )
    going: dict[tuple[str, str], PreemptionTarget] = {}
    try:
        return [_settled(forest, specs[entry.info.queue], entry, going) for entry in entries]
    finally:
        forest.restore(before)


def _nominated(
    forest: Forest,
    spec: QueueSpec,
    flavors: Mapping[str, FlavorSpec],
    held: Reserved,
    info: WorkloadInfo,
) -> _Entry:
    preemptor = Preemptor(forest.queues, spec, info, held)
    assignment = Assigner(spec, forest.queues[spec.name], flavors, preemptor.oracle).assign(info)
    targets: list[PreemptionTarget] = []
    if assignment.mode is Mode.PREEMPT:
        targets = preemptor.targets(assignment.usage, assignment.short)
    return _Entry(info, assignment, tuple(targets))


def _settled(
    forest: Forest, spec: QueueSpec, entry: _Entry, going: dict[tuple[str, str], PreemptionTarget]
) -> AdmissionDecision:
    info, assignment, mode = entry.info, entry.assignment, entry.assignment.mode
    node = forest.queues[spec.name]
    is_short = mode is Mode.PREEMPT and not entry.targets
    if is_short and spec.reclaim != "Any":
        _reserve(node, assignment)
    if is_short or mode is Mode.NO_FIT:
        return AdmissionDecision(info, AdmissionOutcome.WAIT, assignment.message, assignment)
    if any(target.reservation.key in going for target in entry.targets):
        message = "Workload has overlapping preemption targets with another workload"
        return AdmissionDecision(info, AdmissionOutcome.SKIP, message, assignment)
    if not _fits(forest, node, assignment.usage, (*going.values(), *entry.targets)):
        message = "Workload no longer fits after processing another workload"
        return AdmissionDecision(info, AdmissionOutcome.SKIP, message, assignment)
    for key, amount in assignment.usage.items():
        node.add(key, amount)
    if mode is Mode.FIT:
        return AdmissionDecision(info, AdmissionOutcome.ADMIT, "", assignment)
    going.update({target.reservation.key: target for target in entry.targets})
    message = f"{assignment.message}. Pending the preemption of {len(entry.targets)} workload(s)"
    return AdmissionDecision(info, AdmissionOutcome.PREEMPT, message, assignment, entry.targets)


def _reserve(node: QuotaNode, assignment: FlavorAssignment) -> None:
    """Keep for a workload that waits for room what is free of its own quota, so that none slips in."""
    for key, amount in assignment.usage.items():
        quota, used = node.quotas.get(key), node.usage.get(key, 0)
        nominal = node.nominal(key)
        if assignment.borrow > 0:
            limit = None if quota is None else quota.borrowing_limit
            kept = amount if limit is None else min(amount, nominal + limit - used)
        else:
            kept = max(0, min(amount, nominal - used))
        node.add(key, kept)


def _fits(
    forest: Forest,
    node: QuotaNode,
    usage: Mapping[FlavorResource, int] | Amounts,
    targets: Sequence[PreemptionTarget],
) -> bool:
    gone: list[QuotaReservation] = [target.reservation for target in targets]
    for item in gone:
        for key, amount in item.usage.items():
            forest.queues[item.queue].remove(key, amount)
    fits = all(max(0, node.free(key)) >= amount for key, amount in usage.items())
    for one in reversed(gone):
        for key, amount in one.usage.items():
            forest.queues[one.queue].add(key, amount)
    return fits
