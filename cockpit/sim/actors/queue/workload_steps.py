"""What becomes of one Workload, apart from the cycle: holds, drains, time-outs, and why it is inadmissible.

Facts: kueue v0.15 pkg/controller/core/workload_controller.go.
"""

from cockpit.kube.resource import WORKLOADS
from cockpit.sim.actors.queue.conditions import condition_of, has_quota, is_admitted, is_finished, is_true
from cockpit.sim.actors.queue.context import WORKLOAD_CONTROLLER, QueueContext
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


async def settle_workload(context: QueueContext, key: Key) -> float | None:
    """One step for a Workload; answers in how many seconds to look again, None for never.

    Raises PortError as the port does.
    """
    tree = context.queue_cache.workload(key)
    if tree is None:
        return None
    metadata = tree["metadata"]
    if metadata.get("deletionTimestamp") and not metadata.get("ownerReferences"):
        await drop_finalizer(context, tree)
        return None
    if is_finished(tree):
        return None
    if (tree.get("spec") or {}).get("active") is False:
        await _deactivated(context, tree)
        return None
    if is_true(tree, "DeactivationTarget"):
        await context.port.patch(WORKLOADS, *key, {"spec": {"active": False}})
        return None
    wait = _seconds_left(context, tree)
    if wait is not None and wait > 0:
        return wait
    if await _requeued(context, tree, is_over=wait is not None and is_waiting(tree)):
        return None
    if has_quota(tree):
        return await _with_quota(context, tree)
    await _inadmissible(context, tree)
    return None


async def drop_finalizer(context: QueueContext, tree: Tree) -> None:
    """Let a Workload go that is being deleted, or that nobody needs to hold any more."""
    held = tree["metadata"].get("finalizers") or []
    if IN_USE in held:
        rest = [one for one in held if one != IN_USE]
        await context.port.patch(WORKLOADS, *key_of(tree), {"metadata": {"finalizers": rest or None}})


def _seconds_left(context: QueueContext, tree: Tree) -> float | None:
    """Seconds of a back-off that are left, None without one."""
    at = ((tree.get("status") or {}).get("requeueState") or {}).get("requeueAt")
    return None if at is None else seconds_of(at) - context.now()


async def _deactivated(context: QueueContext, tree: Tree) -> None:
    edit = context.edit(tree)
    target = condition_of(tree, "DeactivationTarget")
    edit.status.pop("requeueState", None)
    if is_true(tree, "Evicted"):
        await context.write(tree, edit)
        return
    message, cause = "The workload is deactivated", ""
    if target is not None:
        cause = target["reason"]
        message += f" due to {target['message']}"
    await context.evict(WORKLOAD_CONTROLLER, tree, edit, reason="Deactivated", message=message, cause=cause)


async def _requeued(context: QueueContext, tree: Tree, *, is_over: bool) -> bool:
    """What was told not to line up may again: reactivated, back-off over, queue restarted."""
    edit = context.edit(tree)
    if is_over:
        edit.clear_requeue_time()
    told = edit.find("Requeued")
    if told is not None and told["status"] == "False":
        reason = told["reason"]
        local = context.queue_cache.local_queue(
            (key_of(tree)[0], (tree.get("spec") or {}).get("queueName") or "")
        )
        if reason == "Deactivated":
            edit.requeued(True, "Reactivated", "The workload was reactivated")
        elif reason == "PodsReadyTimeout":
            edit.requeued(True, "BackoffFinished", "The workload backoff was finished")
        elif reason in _STOPPED and local is not None and local[1] == "None":
            spec = context.queue_cache.specs.get(local[0])
            if reason == "LocalQueueStopped" or (spec is not None and spec.stop_policy == "None"):
                edit.requeued(True, *_STOPPED[reason])
    if not edit.changed:
        return False
    await context.write(tree, edit)
    context.queue_cache.line_up(key_of(tree))
    return True


async def _with_quota(context: QueueContext, tree: Tree) -> float | None:
    if not is_admitted(tree):
        edit = context.edit(tree)
        edit.sync_admitted()
        tree = await context.write(tree, edit)
    if is_true(tree, "Evicted"):
        return None
    namespace, _ = key_of(tree)
    local = context.queue_cache.local_queue((namespace, (tree.get("spec") or {}).get("queueName") or ""))
    if local is not None and local[1] == "HoldAndDrain":
        await _evict(context, tree, "LocalQueueStopped", "The LocalQueue is stopped")
        return None
    spec = None if local is None else context.queue_cache.specs.get(local[0])
    if spec is not None and local is not None and local[1] == "None" and spec.stop_policy == "HoldAndDrain":
        await _evict(context, tree, "ClusterQueueStopped", "The ClusterQueue is stopped")
        return None
    waits = [await _not_ready(context, tree), await _too_long(context, tree)]
    return min((one for one in waits if one is not None), default=None)


async def _evict(context: QueueContext, tree: Tree, reason: str, message: str) -> None:
    await context.evict(WORKLOAD_CONTROLLER, tree, context.edit(tree), reason=reason, message=message)


async def _not_ready(context: QueueContext, tree: Tree) -> float | None:
    """Evict what did not get its pods ready in time; answers the seconds that are left."""
    settings = context.settings
    ready, admitted = condition_of(tree, "PodsReady"), condition_of(tree, "Admitted")
    if settings.pods_ready_seconds is None or admitted is None or is_true(tree, "PodsReady"):
        return None
    cause, since, most = "WaitForStart", admitted["lastTransitionTime"], settings.pods_ready_seconds
    if ready is not None and ready["reason"] == "WaitForRecovery":
        if settings.recovery_seconds is None:
            return None
        cause, since, most = "WaitForRecovery", ready["lastTransitionTime"], settings.recovery_seconds
    left = seconds_of(since) + most - context.now()
    if left > 0:
        return left
    count = int(((tree.get("status") or {}).get("requeueState") or {}).get("count") or 0)
    edit = context.edit(tree)
    if settings.requeue_limit is not None and count + 1 > settings.requeue_limit:
        edit.put("DeactivationTarget", True, _LIMIT, _LIMIT_WORDS)
        await context.write(tree, edit)
        return None
    edit.back_off(settings.backoff_base_seconds, settings.backoff_most_seconds)
    message = f"Exceeded the PodsReady timeout {'/'.join(key_of(tree))}"
    await context.evict(
        WORKLOAD_CONTROLLER, tree, edit, reason="PodsReadyTimeout", message=message, cause=cause
    )
    return None


async def _too_long(context: QueueContext, tree: Tree) -> float | None:
    """Deactivate what ran longer than it may; answers the seconds that are left."""
    most, admitted = (
        (tree.get("spec") or {}).get("maximumExecutionTimeSeconds"),
        condition_of(tree, "Admitted"),
    )
    if most is None or admitted is None or admitted["status"] != "True":
        return None
    past = int((tree.get("status") or {}).get("accumulatedPastExecutionTimeSeconds") or 0)
    left = seconds_of(admitted["lastTransitionTime"]) + int(most) - past - context.now()
    if left > 0:
        return left
    if not is_true(tree, "DeactivationTarget"):
        edit = context.edit(tree)
        edit.put("DeactivationTarget", True, _MAX_TIME, "exceeding the maximum execution time")
        edit.status.pop("accumulatedPastExecutionTimeSeconds", None)
        after = await context.write(tree, edit)
        message = f"The maximum execution time ({most}s) exceeded"
        await context.event(WORKLOAD_CONTROLLER, after, "Warning", _MAX_TIME, message)
    return None


async def _inadmissible(context: QueueContext, tree: Tree) -> None:
    """Say which queue is missing or closed."""
    if not is_waiting(tree):
        return
    queue_cache = context.queue_cache
    namespace, _ = key_of(tree)
    name = (tree.get("spec") or {}).get("queueName") or ""
    local = queue_cache.local_queue((namespace, name))
    if local is None:
        message = f"LocalQueue {name} doesn't exist"
    elif local[1] != "None":
        message = f"LocalQueue {name} is inactive"
    elif local[0] not in queue_cache.specs:
        message = f"ClusterQueue {local[0]} doesn't exist"
    elif not queue_cache.is_open(local[0]):
        message = f"ClusterQueue {local[0]} is inactive"
    else:
        return
    edit = context.edit(tree)
    edit.unreserve("Inadmissible", message)
    await context.write(tree, edit)
