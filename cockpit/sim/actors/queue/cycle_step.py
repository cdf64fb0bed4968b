"""One cycle carried out: quota is reserved, those in the way are evicted, and who waits is told why."""

from collections.abc import Mapping

from cockpit.sim.actors.queue.assignment import Assignment
from cockpit.sim.actors.queue.conditions import condition_of, has_quota, is_true
from cockpit.sim.actors.queue.cycle import Decision, Outcome, decide
from cockpit.sim.actors.queue.desk import ADMISSION, Desk
from cockpit.sim.actors.queue.preemption import preemption_message
from cockpit.sim.actors.queue.spec import Ask, text_of
from cockpit.sim.port import PortError, Tree
from cockpit.sim.times import seconds_of

_WRONG_NAMESPACE = "Workload namespace doesn't match ClusterQueue selector"


async def run_cycle(desk: Desk) -> bool:
    """One look at the heads of the queues that were stirred; answers whether another is needed.

    Raises PortError as the port does; what was not settled then is looked at again.
    """
    estate = desk.estate
    roots = list(estate.stirred)
    estate.stirred.clear()
    asks = estate.heads(roots)
    try:
        heads = [ask for ask in asks if estate.may_enter(ask)]
        for ask in asks:
            if not estate.may_enter(ask):
                await _wait(desk, ask, None, _WRONG_NAMESPACE)
                if estate.lines[ask.queue].failed(ask, never_here=True):
                    estate.stir(estate.root_of(ask.queue))
        for decision in decide(estate.forest, estate.specs, estate.flavors, estate.held, heads):
            await _carry_out(desk, decision)
    except PortError:
        for root in roots:
            estate.stir(root)
        raise
    return bool(estate.stirred)


async def _carry_out(desk: Desk, decision: Decision) -> None:
    ask, estate = decision.ask, desk.estate
    tree = estate.workload(ask.key)
    if tree is None or has_quota(tree):
        return
    line = estate.lines[ask.queue]
    if decision.outcome is Outcome.ADMIT:
        await _admit(desk, tree, decision)
        estate.stir(estate.root_of(ask.queue))
        return
    if decision.outcome is Outcome.PREEMPT:
        line.stick(ask)
        for target in decision.targets:
            await _preempt(desk, ask, target.holding.key, target.reason, target.path)
    elif decision.outcome is Outcome.WAIT and line.failed(ask):
        estate.stir(estate.root_of(ask.queue))
    await _wait(desk, ask, decision.assignment, decision.message)


async def _wait(desk: Desk, ask: Ask, assignment: Assignment | None, message: str) -> None:
    tree = desk.estate.workload(ask.key)
    if tree is None:
        return
    edit = desk.edit(tree)
    edit.unreserve("Pending", message)
    edit.status["resourceRequests"] = [
        {"name": part.name, **_listed("resources", part.requests)} for part in ask.pod_sets
    ]
    tree = await desk.write(tree, edit)
    await desk.event(ADMISSION, tree, "Warning", "Pending", message)


async def _admit(desk: Desk, tree: Tree, decision: Decision) -> None:
    queue = decision.ask.queue
    edit = desk.edit(tree)
    edit.reserve(admission_of(queue, decision.assignment))
    requeued = condition_of(tree, "Requeued")
    since = tree["metadata"]["creationTimestamp"] if requeued is None else requeued["lastTransitionTime"]
    waited = max(0.0, desk.now() - seconds_of(since))
    after = await desk.write(tree, edit)
    message = f"Quota reserved in ClusterQueue {queue}, wait time since queued was {waited:.0f}s"
    if decision.assignment.considered:
        message += f"; Flavors considered: {decision.assignment.considered}"
    await desk.event(ADMISSION, after, "Normal", "QuotaReserved", message)
    message = f"Admitted by ClusterQueue {queue}, wait time since reservation was 0s"
    await desk.event(ADMISSION, after, "Normal", "Admitted", message)


def admission_of(queue: str, assignment: Assignment) -> Tree:
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


async def _preempt(desk: Desk, ask: Ask, key: tuple[str, str], reason: str, path: str) -> None:
    tree = desk.estate.workload(key)
    if tree is None or is_true(tree, "Evicted"):
        return
    own_path = desk.estate.forest.queues[ask.queue].path
    message = preemption_message(ask.uid, ask.job_uid, reason, own_path, path)
    edit = desk.edit(tree)
    edit.preempted(reason, message)
    after = await desk.evict(ADMISSION, tree, edit, reason="Preempted", message=message)
    await desk.event(ADMISSION, after, "Normal", "Preempted", message)
