"""The status of ClusterQueues and LocalQueues: counts, what is reserved and used, and Active.

Facts: kueue v0.15 pkg/controller/core/clusterqueue_controller.go, localqueue_controller.go,
pkg/cache/scheduler/cache.go. A queue that is being deleted keeps its last condition (seen on the real one).
"""

from collections.abc import Iterable

from cockpit.k8s.admission.admission_specs import QueueSpec, QuotaReservation, text_of
from cockpit.k8s.admission.quota_tree import Amounts
from cockpit.kube.resource import CLUSTER_QUEUES, LOCAL_QUEUES
from cockpit.sim.actors.queue.cache import QueueCache
from cockpit.sim.actors.queue.conditions import Edit
from cockpit.sim.actors.queue.context import QueueContext
from cockpit.sim.actors.queue.reading import Key
from cockpit.sim.actors.queue.spec import IN_USE
from cockpit.sim.port import Tree

_CLOSED = "Can't submit new workloads to clusterQueue"


def readiness(queue_cache: QueueCache, queue: str) -> tuple[bool, str, str]:
    """Status, reason and message of a ClusterQueue's Active."""
    reasons, words = [], []
    if queue_cache.specs[queue].stop_policy != "None":
        reasons.append("Stopped")
        words.append("is stopped")
    missing = queue_cache.missing_flavors(queue)
    if missing:
        reasons.append("FlavorNotFound")
        words.append(f"references missing ResourceFlavor(s): {','.join(missing)}")
    if reasons:
        return False, reasons[0], f"Can't admit new workloads: {', '.join(words)}."
    return True, "Ready", "Can admit new workloads"


def usage_rows(spec: QueueSpec, usage: Amounts, *, tells_borrowed: bool, in_cohort: bool) -> list[Tree]:
    """`flavorsReservation` or `flavorsUsage`: by group, flavor and name of the resource."""
    rows: list[Tree] = []
    for group in spec.groups:
        for flavor in group.flavors:
            resources = []
            for name in sorted(group.resources):
                used = usage.get((flavor, name), 0)
                row = {"name": name, "total": text_of(name, used)}
                if tells_borrowed:
                    quota = spec.quotas.get((flavor, name))
                    over = used - (quota.nominal if quota is not None else 0)
                    row["borrowed"] = text_of(name, max(0, over) if in_cohort else 0)
                resources.append(row)
            rows.append({"name": flavor, "resources": resources})
    return rows


def _sum(reservations: Iterable[QuotaReservation]) -> Amounts:
    total: Amounts = {}
    for one in reservations:
        for key, amount in one.usage.items():
            total[key] = total.get(key, 0) + amount
    return total


def _counts(
    spec: QueueSpec, reservations: list[QuotaReservation], waiting: int, *, tells_borrowed: bool
) -> Tree:
    admitted = [one for one in reservations if one.is_admitted]
    in_cohort = bool(spec.cohort)
    return {
        "pendingWorkloads": waiting,
        "reservingWorkloads": len(reservations),
        "admittedWorkloads": len(admitted),
        "flavorsReservation": usage_rows(
            spec, _sum(reservations), tells_borrowed=tells_borrowed, in_cohort=in_cohort
        ),
        "flavorsUsage": usage_rows(spec, _sum(admitted), tells_borrowed=tells_borrowed, in_cohort=in_cohort),
    }


async def settle_cluster_queue(context: QueueContext, name: str) -> None:
    """Write the status of a ClusterQueue where it is another, and hold it while it is in use.

    Raises PortError as the port does.
    """
    tree = context.cache(CLUSTER_QUEUES).get("", name)
    spec = context.queue_cache.specs.get(name)
    if tree is None or spec is None:
        return
    reservations = list(context.queue_cache.held(name))
    finalizers = tree["metadata"].get("finalizers") or []
    if tree["metadata"].get("deletionTimestamp"):
        if IN_USE in finalizers and not reservations:
            rest = [one for one in finalizers if one != IN_USE]
            await context.port.patch(CLUSTER_QUEUES, "", name, {"metadata": {"finalizers": rest or None}})
        return
    if IN_USE not in finalizers:
        await context.port.patch(
            CLUSTER_QUEUES, "", name, {"metadata": {"finalizers": [*finalizers, IN_USE]}}
        )
    edit = context.edit(tree)
    edit.status.update(_counts(spec, reservations, len(context.queue_cache.lines[name]), tells_borrowed=True))
    edit.put("Active", *readiness(context.queue_cache, name))
    if edit.changed:
        await context.port.patch(CLUSTER_QUEUES, "", name, {"status": edit.patch}, subresource="status")


async def settle_local_queue(context: QueueContext, key: Key) -> None:
    """Write the status of a LocalQueue where it is another. Raises PortError as the port does."""
    tree = context.cache(LOCAL_QUEUES).get(*key)
    found = context.queue_cache.local_queue(key)
    if tree is None or found is None:
        return
    target, stop_policy = found
    edit = context.edit(tree)
    spec = context.queue_cache.specs.get(target)
    if spec is not None:
        mine = set(context.queue_cache.workloads_of(key))
        reservations = [one for one in context.queue_cache.held(target) if one.key in mine]
        waiting = context.queue_cache.waiting_in(key)
        edit.status.update(_counts(spec, reservations, waiting, tells_borrowed=False))
    else:
        waiting = context.queue_cache.waiting_in(key)
        edit.status.update(pendingWorkloads=waiting, reservingWorkloads=0, admittedWorkloads=0)
        for name in ("flavorsReservation", "flavorsUsage"):
            edit.status.pop(name, None)
    _judge(edit, context.queue_cache, target, stop_policy)
    if edit.changed:
        await context.port.patch(LOCAL_QUEUES, *key, {"status": edit.patch}, subresource="status")


def _judge(edit: Edit, queue_cache: QueueCache, target: str, stop_policy: str) -> None:
    if stop_policy != "None":
        edit.put("Active", False, "Stopped", "LocalQueue is stopped")
    elif target not in queue_cache.specs:
        edit.put("Active", False, "ClusterQueueDoesNotExist", _CLOSED)
    elif not queue_cache.is_open(target):
        edit.put("Active", False, "ClusterQueueIsInactive", _CLOSED)
    else:
        edit.put("Active", True, "Ready", "Can submit new workloads to localQueue")
