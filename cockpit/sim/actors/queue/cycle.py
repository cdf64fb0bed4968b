"""One cycle: what was decided about the heads of the queues is carried out.

Quota is reserved, those in the way are evicted, who waits is told why. Facts: kueue v0.15
pkg/scheduler/scheduler.go; the decisions are `cockpit.k8s.admission.admission_cycle`.
"""

from collections.abc import Mapping

from cockpit.k8s.admission.admission_cycle import AdmissionDecision, AdmissionOutcome, decide
from cockpit.k8s.admission.admission_specs import (
    WorkloadInfo,
    text_of,
)
from cockpit.k8s.admission.flavor_assignment import FlavorAssignment
from cockpit.k8s.admission.quota_preemption import preemption_message
from cockpit.sim.actors.queue.conditions import condition_of, has_quota, is_true
from cockpit.sim.actors.queue.context import ADMISSION, QueueContext
from cockpit.sim.port import PortError, Tree
from cockpit.sim.times import seconds_of

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
        row: Tree = {"name": part.name, "count": part.pods, **_listed("resourceUsage", part.requests)}
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
