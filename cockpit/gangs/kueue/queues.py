"""What waits in a queue of Kueue, and how its last day was."""

from statistics import median

from cockpit.gangs.engine import Queue
from cockpit.gangs.kueue.line import place_of
from cockpit.gangs.kueue.standing import cluster_queue_name, is_in_line
from cockpit.gangs.kueue.verdict import verdict
from cockpit.gangs.standing import QueueDay, WaitingView
from cockpit.k8s.gpu_resources import gpus_asked
from cockpit.model.gang import LocalQueue, Workload
from cockpit.model.record import Kind, condition
from cockpit.model.store_reader import StoreReader


def waiting(store: StoreReader, queue: Queue) -> tuple[WaitingView, ...]:
    """What waits in the queue, next first.

    Places are those of Kueue's visibility API; workloads that it does not name get an estimated place.
    """
    told = {uid: place.position for uid, place in store.records(Kind.PLACE).items()}
    views = []
    for workload in store.records(Kind.WORKLOAD).values():
        if is_in_line(workload) and _is_in(workload, queue, store):
            is_told = workload.uid in told
            place = told[workload.uid] if is_told else place_of(store, workload.uid) or 0
            views.append(_view(workload, store, place, is_told=is_told))
    return tuple(sorted(views, key=lambda view: (view.position or 1_000_000, view.job)))


_DAY_SECONDS = 86_400.0


def lately(store: StoreReader, name: str, now_seconds: float) -> QueueDay:
    """The last day of the ClusterQueue. A wait is from the creation to the quota, of those that were never
    evicted (their second wait is shorter than it looks); a preemption counts whose moment is known.

    Source: kueue pkg/workload/workload.go: a new reservation sets Evicted and Preempted to False.
    """
    since = now_seconds - _DAY_SECONDS
    waits: list[float] = []
    preempted = 0
    for workload in store.records(Kind.WORKLOAD).values():
        if cluster_queue_name(workload, store) != name:
            continue
        reserved = condition(workload.conditions, "QuotaReserved")
        evicted = condition(workload.conditions, "Evicted")
        was_preempted = condition(workload.conditions, "Preempted")
        created = workload.created_seconds
        if was_preempted is not None:
            at = was_preempted.changed_seconds if was_preempted.status == "True" else created
            preempted += at is not None and at >= since
        at = None if reserved is None or reserved.status != "True" else reserved.changed_seconds
        if evicted is None and at is not None and created is not None and at >= since:
            waits.append(max(0.0, at - created))
    return QueueDay(median(waits) if waits else None, len(waits), preempted)


def queue_name(queue: Queue) -> str:
    """`localqueue/team-a/main`, `clusterqueue/research`."""
    return f"{'localqueue' if isinstance(queue, LocalQueue) else 'clusterqueue'}/{queue.key}"


def _is_in(workload: Workload, queue: Queue, store: StoreReader) -> bool:
    if isinstance(queue, LocalQueue):
        return (workload.namespace, workload.queue) == (queue.namespace, queue.name)
    return cluster_queue_name(workload, store) == queue.name


def _view(workload: Workload, store: StoreReader, place: int, *, is_told: bool) -> WaitingView:
    return WaitingView(
        workload_uid=workload.uid,
        namespace=workload.namespace,
        job=workload.job_key,
        position=place,
        is_estimate=not is_told,
        gpus=gpus_asked(workload.pod_sets),
        priority=workload.priority,
        created_seconds=workload.created_seconds,
        reason=verdict(workload, store, {workload.uid: place}, is_told=is_told).why.sentence,
    )
