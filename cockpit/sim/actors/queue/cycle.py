"""One cycle: the heads of the queues against the quota that is left, and what becomes of each.

Facts: kueue v0.15 pkg/scheduler/scheduler.go. A cycle looks at one head of every queue: those that need not
borrow go first, then higher priority, then who came first; each sees what was given to those before it.
Then what was decided is carried out: quota is reserved, those in the way are evicted, who waits is told why.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec

from cockpit.sim.actors.queue.assignment import Assigner, FlavorAssignment, Mode
from cockpit.sim.actors.queue.conditions import condition_of, has_quota, is_true
from cockpit.sim.actors.queue.context import ADMISSION, QueueContext
from cockpit.sim.actors.queue.preemption import PreemptionTarget, Preemptor, Reserved, preemption_message
from cockpit.sim.actors.queue.quota import Amounts, FlavorResource, Forest, QuotaNode
from cockpit.sim.actors.queue.spec import FlavorSpec, QueueSpec, QuotaReservation, WorkloadInfo, text_of
from cockpit.sim.port import PortError, Tree
from cockpit.sim.times import seconds_of


class AdmissionOutcome(StrEnum):
    """What a cycle decided about one head."""

    ADMIT = "admit"
    WAIT = "wait"
    PREEMPT = "preempt"
    SKIP = "skip"


class AdmissionDecision(msgspec.Struct, frozen=True):
    """The outcome for one workload, with the sentence for its condition ("" when it is admitted)."""

    info: WorkloadInfo
    outcome: AdmissionOutcome
    message: str
    assignment: FlavorAssignment
    targets: tuple[PreemptionTarget, ...] = ()


class _Entry(msgspec.Struct, frozen=True):
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
    info, assignment = entry.info, entry.assignment
    node = forest.queues[spec.name]
    wait = AdmissionDecision(info, AdmissionOutcome.WAIT, assignment.message, assignment)
    if assignment.mode is Mode.NO_FIT:
        return wait
    if assignment.mode is Mode.PREEMPT and not entry.targets:
        if spec.reclaim != "Any":
            _reserve(node, assignment)
        return wait
    if any(target.reservation.key in going for target in entry.targets):
        message = "Workload has overlapping preemption targets with another workload"
        return AdmissionDecision(info, AdmissionOutcome.SKIP, message, assignment)
    if not _fits(forest, node, assignment.usage, (*going.values(), *entry.targets)):
        message = "Workload no longer fits after processing another workload"
        return AdmissionDecision(info, AdmissionOutcome.SKIP, message, assignment)
    for key, amount in assignment.usage.items():
        node.add(key, amount)
    if assignment.mode is Mode.FIT:
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
    for one in gone:
        for key, amount in one.usage.items():
            forest.queues[one.queue].remove(key, amount)
    fits = all(max(0, node.free(key)) >= amount for key, amount in usage.items())
    for one in reversed(gone):
        for key, amount in one.usage.items():
            forest.queues[one.queue].add(key, amount)
    return fits


_WRONG_NAMESPACE = "Workload namespace doesn't match ClusterQueue selector"


async def run_cycle(context: QueueContext) -> bool:
    """One look at the heads of the queues that were stirred; answers whether another is needed.

    Raises PortError as the port does; what was not settled then is looked at again.
    """
    queue_cache = context.queue_cache
    roots = list(queue_cache.stirred)
    queue_cache.stirred.clear()
    asks = queue_cache.heads(roots)
    try:
        heads = [info for info in asks if queue_cache.may_enter(info)]
        for info in asks:
            if not queue_cache.may_enter(info):
                await _wait(context, info, None, _WRONG_NAMESPACE)
                if queue_cache.lines[info.queue].failed(info, never_here=True):
                    queue_cache.stir(queue_cache.root_of(info.queue))
        for decision in decide(
            queue_cache.forest, queue_cache.specs, queue_cache.flavors, queue_cache.held, heads
        ):
            await _carry_out(context, decision)
    except PortError:
        for root in roots:
            queue_cache.stir(root)
        raise
    return bool(queue_cache.stirred)


async def _carry_out(context: QueueContext, decision: AdmissionDecision) -> None:
    info, queue_cache = decision.info, context.queue_cache
    tree = queue_cache.workload(info.key)
    if tree is None or has_quota(tree):
        return
    line = queue_cache.lines[info.queue]
    if decision.outcome is AdmissionOutcome.ADMIT:
        await _admit(context, tree, decision)
        queue_cache.stir(queue_cache.root_of(info.queue))
        return
    if decision.outcome is AdmissionOutcome.PREEMPT:
        line.stick(info)
        for target in decision.targets:
            await _preempt(context, info, target.reservation.key, target.reason, target.path)
    elif decision.outcome is AdmissionOutcome.WAIT and line.failed(info):
        queue_cache.stir(queue_cache.root_of(info.queue))
    await _wait(context, info, decision.assignment, decision.message)


async def _wait(
    context: QueueContext, info: WorkloadInfo, assignment: FlavorAssignment | None, message: str
) -> None:
    tree = context.queue_cache.workload(info.key)
    if tree is None:
        return
    edit = context.edit(tree)
    edit.unreserve("Pending", message)
    edit.status["resourceRequests"] = [
        {"name": part.name, **_listed("resources", part.requests)} for part in info.pod_sets
    ]
    tree = await context.write(tree, edit)
    await context.event(ADMISSION, tree, "Warning", "Pending", message)


async def _admit(context: QueueContext, tree: Tree, decision: AdmissionDecision) -> None:
    queue = decision.info.queue
    edit = context.edit(tree)
    edit.reserve(admission_of(queue, decision.assignment))
    requeued = condition_of(tree, "Requeued")
    since = tree["metadata"]["creationTimestamp"] if requeued is None else requeued["lastTransitionTime"]
    waited = max(0.0, context.now() - seconds_of(since))
    after = await context.write(tree, edit)
    message = f"Quota reserved in ClusterQueue {queue}, wait time since queued was {waited:.0f}s"
    if decision.assignment.considered:
        message += f"; Flavors considered: {decision.assignment.considered}"
    await context.event(ADMISSION, after, "Normal", "QuotaReserved", message)
    message = f"Admitted by ClusterQueue {queue}, wait time since reservation was 0s"
    await context.event(ADMISSION, after, "Normal", "Admitted", message)


def admission_of(queue: str, assignment: FlavorAssignment) -> Tree:
    """`status.admission` of a Workload."""
    parts = []
    for part in assignment.pod_sets:
        row: Tree = {"name": part.name, "count": part.count, **_listed("resourceUsage", part.requests)}
        if part.flavors:
            row["flavors"] = {name: part.flavors[name].flavor for name in sorted(part.flavors)}
        parts.append(row)
    return {"clusterQueue": queue, "podSetAssignments": parts}


def _listed(field: str, amounts: Mapping[str, int]) -> Tree:
    """A resource list by name; nothing for an empty one."""
    return {field: {name: text_of(name, amounts[name]) for name in sorted(amounts)}} if amounts else {}


async def _preempt(
    context: QueueContext, info: WorkloadInfo, key: tuple[str, str], reason: str, path: str
) -> None:
    tree = context.queue_cache.workload(key)
    if tree is None or is_true(tree, "Evicted"):
        return
    own_path = context.queue_cache.forest.queues[info.queue].path
    message = preemption_message(info.uid, info.job_uid, reason, own_path, path)
    edit = context.edit(tree)
    edit.preempted(reason, message)
    after = await context.evict(ADMISSION, tree, edit, reason="Preempted", message=message)
    await context.event(ADMISSION, after, "Normal", "Preempted", message)
