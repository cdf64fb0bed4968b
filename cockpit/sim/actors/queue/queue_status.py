"""The status of ClusterQueues and LocalQueues: counts, what is reserved and used, and Active.

Facts: kueue v0.15 pkg/controller/core/clusterqueue_controller.go, localqueue_controller.go,
pkg/cache/scheduler/cache.go. A queue that is being deleted keeps its last condition (seen on the real one).
"""

from collections.abc import Iterable

from cockpit.kube.resource import CLUSTER_QUEUES, LOCAL_QUEUES
from cockpit.sim.actors.queue.conditions import Edit
from cockpit.sim.actors.queue.desk import Desk
from cockpit.sim.actors.queue.estate import Estate
from cockpit.sim.actors.queue.quota import Amounts
from cockpit.sim.actors.queue.reading import Key
from cockpit.sim.actors.queue.spec import IN_USE, Holding, QueueSpec, text_of
from cockpit.sim.port import Tree

_CLOSED = "Can't submit new workloads to clusterQueue"


def readiness(estate: Estate, queue: str) -> tuple[bool, str, str]:
    """Status, reason and message of a ClusterQueue's Active."""
    reasons, words = [], []
    if estate.specs[queue].stop_policy != "None":
        reasons.append("Stopped")
        words.append("is stopped")
    missing = estate.missing_flavors(queue)
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


def _sum(holdings: Iterable[Holding]) -> Amounts:
    total: Amounts = {}
    for one in holdings:
        for key, amount in one.usage.items():
            total[key] = total.get(key, 0) + amount
    return total


def _counts(spec: QueueSpec, holdings: list[Holding], waiting: int, *, tells_borrowed: bool) -> Tree:
    admitted = [one for one in holdings if one.is_admitted]
    in_cohort = bool(spec.cohort)
    return {
        "pendingWorkloads": waiting,
        "reservingWorkloads": len(holdings),
        "admittedWorkloads": len(admitted),
        "flavorsReservation": usage_rows(
            spec, _sum(holdings), tells_borrowed=tells_borrowed, in_cohort=in_cohort
        ),
        "flavorsUsage": usage_rows(spec, _sum(admitted), tells_borrowed=tells_borrowed, in_cohort=in_cohort),
    }


async def settle_cluster_queue(desk: Desk, name: str) -> None:
    """Write the status of a ClusterQueue where it is another, and hold it while it is in use.

    Raises PortError as the port does.
    """
    tree = desk.cache(CLUSTER_QUEUES).get("", name)
    spec = desk.estate.specs.get(name)
    if tree is None or spec is None:
        return
    holdings = list(desk.estate.held(name))
    finalizers = tree["metadata"].get("finalizers") or []
    if tree["metadata"].get("deletionTimestamp"):
        if IN_USE in finalizers and not holdings:
            rest = [one for one in finalizers if one != IN_USE]
            await desk.port.patch(CLUSTER_QUEUES, "", name, {"metadata": {"finalizers": rest or None}})
        return
    if IN_USE not in finalizers:
        await desk.port.patch(CLUSTER_QUEUES, "", name, {"metadata": {"finalizers": [*finalizers, IN_USE]}})
    edit = desk.edit(tree)
    edit.status.update(_counts(spec, holdings, len(desk.estate.lines[name]), tells_borrowed=True))
    edit.put("Active", *readiness(desk.estate, name))
    if edit.changed:
        await desk.port.patch(CLUSTER_QUEUES, "", name, {"status": edit.patch}, subresource="status")


async def settle_local_queue(desk: Desk, key: Key) -> None:
    """Write the status of a LocalQueue where it is another. Raises PortError as the port does."""
    tree = desk.cache(LOCAL_QUEUES).get(*key)
    found = desk.estate.local_queue(key)
    if tree is None or found is None:
        return
    target, stop_policy = found
    edit = desk.edit(tree)
    spec = desk.estate.specs.get(target)
    if spec is not None:
        mine = set(desk.estate.workloads_of(key))
        holdings = [one for one in desk.estate.held(target) if one.key in mine]
        waiting = desk.estate.waiting_in(key)
        edit.status.update(_counts(spec, holdings, waiting, tells_borrowed=False))
    else:
        waiting = desk.estate.waiting_in(key)
        edit.status.update(pendingWorkloads=waiting, reservingWorkloads=0, admittedWorkloads=0)
        for name in ("flavorsReservation", "flavorsUsage"):
            edit.status.pop(name, None)
    _judge(edit, desk.estate, target, stop_policy)
    if edit.changed:
        await desk.port.patch(LOCAL_QUEUES, *key, {"status": edit.patch}, subresource="status")


def _judge(edit: Edit, estate: Estate, target: str, stop_policy: str) -> None:
    if stop_policy != "None":
        edit.put("Active", False, "Stopped", "LocalQueue is stopped")
    elif target not in estate.specs:
        edit.put("Active", False, "ClusterQueueDoesNotExist", _CLOSED)
    elif not estate.is_open(target):
        edit.put("Active", False, "ClusterQueueIsInactive", _CLOSED)
    else:
        edit.put("Active", True, "Ready", "Can submit new workloads to localQueue")
