"""What becomes of one Workload, apart from the cycle: holds, drains, time-outs, and why it is inadmissible.

Facts: kueue v0.15 pkg/controller/core/workload_controller.go.
"""

from cockpit.kube.resource import WORKLOADS
from cockpit.sim.actors.queue.conditions import condition_of, has_quota, is_admitted, is_finished, is_true
from cockpit.sim.actors.queue.desk import WORKLOAD_CONTROLLER, Desk
from cockpit.sim.actors.queue.reading import Key, is_waiting, key_of
from cockpit.sim.actors.queue.spec import IN_USE
from cockpit.sim.port import Tree
from cockpit.sim.times import seconds_of

_LIMIT = "RequeuingLimitExceeded"
_LIMIT_WORDS = "exceeding the maximum number of re-queuing retries"
_MAX_TIME = "MaximumExecutionTimeExceeded"
_STOPPED = {
    "LocalQueueStopped": ("LocalQueueRestarted", "The LocalQueue was restarted after being stopped"),
    "ClusterQueueStopped": ("ClusterQueueRestarted", "The ClusterQueue was restarted after being stopped"),
}


async def settle_workload(desk: Desk, key: Key) -> float | None:
    """One step for a Workload; answers in how many seconds to look again, None for never.

    Raises PortError as the port does.
    """
    tree = desk.estate.workload(key)
    if tree is None:
        return None
    metadata = tree["metadata"]
    if metadata.get("deletionTimestamp") and not metadata.get("ownerReferences"):
        await drop_finalizer(desk, tree)
        return None
    if is_finished(tree):
        return None
    if tree["spec"].get("active") is False:
        await _deactivated(desk, tree)
        return None
    if is_true(tree, "DeactivationTarget"):
        await desk.port.patch(WORKLOADS, *key, {"spec": {"active": False}})
        return None
    wait = _seconds_left(desk, tree)
    if wait is not None and wait > 0:
        return wait
    if await _requeued(desk, tree, is_over=wait is not None and is_waiting(tree)):
        return None
    if has_quota(tree):
        return await _with_quota(desk, tree)
    await _inadmissible(desk, tree)
    return None


async def drop_finalizer(desk: Desk, tree: Tree) -> None:
    """Let a Workload go that is being deleted, or that nobody needs to hold any more."""
    held = tree["metadata"].get("finalizers") or []
    if IN_USE in held:
        rest = [one for one in held if one != IN_USE]
        await desk.port.patch(WORKLOADS, *key_of(tree), {"metadata": {"finalizers": rest or None}})


def _seconds_left(desk: Desk, tree: Tree) -> float | None:
    """Seconds of a back-off that are left, None without one."""
    at = ((tree.get("status") or {}).get("requeueState") or {}).get("requeueAt")
    return None if at is None else seconds_of(at) - desk.now()


async def _deactivated(desk: Desk, tree: Tree) -> None:
    edit = desk.edit(tree)
    target = condition_of(tree, "DeactivationTarget")
    edit.status.pop("requeueState", None)
    if is_true(tree, "Evicted"):
        await desk.write(tree, edit)
        return
    message, cause = "The workload is deactivated", ""
    if target is not None:
        cause = target["reason"]
        message += f" due to {target['message']}"
    await desk.evict(WORKLOAD_CONTROLLER, tree, edit, reason="Deactivated", message=message, cause=cause)


async def _requeued(desk: Desk, tree: Tree, *, is_over: bool) -> bool:
    """What was told not to line up may again: reactivated, back-off over, queue restarted."""
    edit = desk.edit(tree)
    if is_over:
        edit.clear_requeue_time()
    told = edit.find("Requeued")
    if told is not None and told["status"] == "False":
        reason = told["reason"]
        local = desk.estate.local_queue((key_of(tree)[0], tree["spec"].get("queueName") or ""))
        if reason == "Deactivated":
            edit.requeued(True, "Reactivated", "The workload was reactivated")
        elif reason == "PodsReadyTimeout":
            edit.requeued(True, "BackoffFinished", "The workload backoff was finished")
        elif reason in _STOPPED and local is not None and local[1] == "None":
            spec = desk.estate.specs.get(local[0])
            if reason == "LocalQueueStopped" or (spec is not None and spec.stop_policy == "None"):
                edit.requeued(True, *_STOPPED[reason])
    if not edit.changed:
        return False
    await desk.write(tree, edit)
    desk.estate.line_up(key_of(tree))
    return True


async def _with_quota(desk: Desk, tree: Tree) -> float | None:
    if not is_admitted(tree):
        edit = desk.edit(tree)
        edit.sync_admitted()
        tree = await desk.write(tree, edit)
    if is_true(tree, "Evicted"):
        return None
    namespace, _ = key_of(tree)
    local = desk.estate.local_queue((namespace, tree["spec"].get("queueName") or ""))
    if local is not None and local[1] == "HoldAndDrain":
        await _evict(desk, tree, "LocalQueueStopped", "The LocalQueue is stopped")
        return None
    spec = None if local is None else desk.estate.specs.get(local[0])
    if spec is not None and local is not None and local[1] == "None" and spec.stop_policy == "HoldAndDrain":
        await _evict(desk, tree, "ClusterQueueStopped", "The ClusterQueue is stopped")
        return None
    waits = [await _not_ready(desk, tree), await _too_long(desk, tree)]
    return min((one for one in waits if one is not None), default=None)


async def _evict(desk: Desk, tree: Tree, reason: str, message: str) -> None:
    await desk.evict(WORKLOAD_CONTROLLER, tree, desk.edit(tree), reason=reason, message=message)


async def _not_ready(desk: Desk, tree: Tree) -> float | None:
    """Evict what did not get its pods ready in time; answers the seconds that are left."""
    settings = desk.settings
    ready, admitted = condition_of(tree, "PodsReady"), condition_of(tree, "Admitted")
    if settings.pods_ready_seconds is None or admitted is None or is_true(tree, "PodsReady"):
        return None
    cause, since, most = "WaitForStart", admitted["lastTransitionTime"], settings.pods_ready_seconds
    if ready is not None and ready["reason"] == "WaitForRecovery":
        if settings.recovery_seconds is None:
            return None
        cause, since, most = "WaitForRecovery", ready["lastTransitionTime"], settings.recovery_seconds
    left = seconds_of(since) + most - desk.now()
    if left > 0:
        return left
    count = int(((tree.get("status") or {}).get("requeueState") or {}).get("count") or 0)
    edit = desk.edit(tree)
    if settings.requeue_limit is not None and count + 1 > settings.requeue_limit:
        edit.put("DeactivationTarget", True, _LIMIT, _LIMIT_WORDS)
        await desk.write(tree, edit)
        return None
    edit.back_off(settings.backoff_base_seconds, settings.backoff_most_seconds)
    message = f"Exceeded the PodsReady timeout {'/'.join(key_of(tree))}"
    await desk.evict(WORKLOAD_CONTROLLER, tree, edit, reason="PodsReadyTimeout", message=message, cause=cause)
    return None


async def _too_long(desk: Desk, tree: Tree) -> float | None:
    """Deactivate what ran longer than it may; answers the seconds that are left."""
    most, admitted = tree["spec"].get("maximumExecutionTimeSeconds"), condition_of(tree, "Admitted")
    if most is None or admitted is None or admitted["status"] != "True":
        return None
    past = int((tree.get("status") or {}).get("accumulatedPastExecutionTimeSeconds") or 0)
    left = seconds_of(admitted["lastTransitionTime"]) + int(most) - past - desk.now()
    if left > 0:
        return left
    if not is_true(tree, "DeactivationTarget"):
        edit = desk.edit(tree)
        edit.put("DeactivationTarget", True, _MAX_TIME, "exceeding the maximum execution time")
        edit.status.pop("accumulatedPastExecutionTimeSeconds", None)
        after = await desk.write(tree, edit)
        message = f"The maximum execution time ({most}s) exceeded"
        await desk.event(WORKLOAD_CONTROLLER, after, "Warning", _MAX_TIME, message)
    return None


async def _inadmissible(desk: Desk, tree: Tree) -> None:
    """Say which queue is missing or closed."""
    if not is_waiting(tree):
        return
    estate = desk.estate
    namespace, _ = key_of(tree)
    name = tree["spec"].get("queueName") or ""
    local = estate.local_queue((namespace, name))
    if local is None:
        message = f"LocalQueue {name} doesn't exist"
    elif local[1] != "None":
        message = f"LocalQueue {name} is inactive"
    elif local[0] not in estate.specs:
        message = f"ClusterQueue {local[0]} doesn't exist"
    elif not estate.is_open(local[0]):
        message = f"ClusterQueue {local[0]} is inactive"
    else:
        return
    edit = desk.edit(tree)
    edit.unreserve("Inadmissible", message)
    await desk.write(tree, edit)
