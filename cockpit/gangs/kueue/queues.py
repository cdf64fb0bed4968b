"""Rows of Kueue's queues: what they may use, what they use, who waits."""

from collections.abc import Mapping

from cockpit.gangs.kueue.queue_state import queue_state
from cockpit.gangs.kueue.standing import cluster_queue_name, estimate_positions, is_in_line
from cockpit.gangs.kueue.verdict import verdict
from cockpit.gangs.standing import QueueView, QuotaView, WaitingView
from cockpit.k8s.gpu_resources import gpus_asked, is_gpu_resource
from cockpit.model.gang import ClusterQueue, LocalQueue, Workload
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader


def queue_rows(store: StoreReader) -> tuple[QueueView, ...]:
    """LocalQueues by namespace and name, then ClusterQueues by name.

    Places are those that Kueue's visibility API told; those that it does not name, or all without it, are
    estimated.
    """
    estimates = estimate_positions(store)
    told = {uid: one.position for uid, one in store.records(Kind.PLACE).items()}
    by_local: dict[str, list[WaitingView]] = {}
    by_cluster: dict[str, list[WaitingView]] = {}
    for workload in store.records(Kind.WORKLOAD).values():
        if not is_in_line(workload):
            continue
        row = _waiting(workload, store, told, estimates)
        by_local.setdefault(f"{workload.namespace}/{workload.queue}", []).append(row)
        by_cluster.setdefault(cluster_queue_name(workload, store), []).append(row)
    local = sorted(store.records(Kind.LOCAL_QUEUE).values(), key=lambda one: (one.namespace, one.name))
    cluster = sorted(store.records(Kind.CLUSTER_QUEUE).values(), key=lambda one: str(one.name))
    targets = {one.name: one for one in cluster}
    return (
        *(_local(one, targets.get(one.cluster_queue), by_local.get(one.key, [])) for one in local),
        *(_cluster(one, by_cluster.get(one.name, [])) for one in cluster),
    )


def _waiting(
    workload: Workload, store: StoreReader, told: Mapping[str, int], estimates: Mapping[str, int]
) -> WaitingView:
    place = told.get(workload.uid)
    is_estimate = place is None
    if place is None:
        place = estimates.get(workload.uid, 0)
    found = verdict(workload, store, {workload.uid: place}, is_told=not is_estimate)
    name = workload.owner.name if workload.owner is not None else workload.name
    return WaitingView(
        workload_uid=workload.uid,
        namespace=workload.namespace,
        job=f"{workload.namespace}/{name}",
        position=place,
        is_estimate=is_estimate,
        gpus=gpus_asked(workload.pod_sets),
        priority=workload.priority,
        created_seconds=workload.created_seconds,
        reason=found.why.sentence,
    )


def _in_order(waiting: list[WaitingView]) -> tuple[WaitingView, ...]:
    return tuple(sorted(waiting, key=lambda one: (one.position or 1_000_000, one.job)))


def _quotas(queue: ClusterQueue) -> tuple[QuotaView, ...]:
    return tuple(
        QuotaView(row.flavor, row.resource, row.nominal, row.used, row.borrowed, row.borrowing_limit)
        for row in queue.quotas
        if is_gpu_resource(row.resource)
    )


def _local(queue: LocalQueue, target: ClusterQueue | None, waiting: list[WaitingView]) -> QueueView:
    """A tenant's queue; its quota is that of the ClusterQueue behind it, shared with its other queues."""
    state, why = queue_state(queue)
    if state in ("active", "inactive") and target is not None and queue_state(target).state != "active":
        behind = queue_state(target)
        state, why = "inactive", f"ClusterQueue {target.name}: {behind.why}"
    return QueueView(
        uid=queue.uid,
        kind="LocalQueue",
        name=queue.name,
        namespace=queue.namespace,
        resource_version=queue.resource_version,
        cluster_queue=queue.cluster_queue,
        cohort="" if target is None else target.cohort,
        strategy="" if target is None else target.strategy,
        preemption="" if target is None else target.preemption,
        stop_policy=queue.stop_policy,
        state=state,
        why=why,
        quotas=() if target is None else _quotas(target),
        pending=queue.pending,
        reserving=queue.reserving,
        admitted=queue.admitted,
        waiting=_in_order(waiting),
    )


def _cluster(queue: ClusterQueue, waiting: list[WaitingView]) -> QueueView:
    state, why = queue_state(queue)
    return QueueView(
        uid=queue.uid,
        kind="ClusterQueue",
        name=queue.name,
        resource_version=queue.resource_version,
        cluster_queue=queue.name,
        cohort=queue.cohort,
        strategy=queue.strategy,
        preemption=queue.preemption,
        stop_policy=queue.stop_policy,
        state=state,
        why=why,
        quotas=_quotas(queue),
        pending=queue.pending,
        reserving=queue.reserving,
        admitted=queue.admitted,
        waiting=_in_order(waiting),
    )


def waiting(store: StoreReader, uid: str) -> tuple[WaitingView, ...]:
    """What waits in the queue with that uid, next first."""
    return next((one.waiting for one in queue_rows(store) if one.uid == uid), ())
