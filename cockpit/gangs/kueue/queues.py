"""What waits in a queue of Kueue."""

from cockpit.gangs.engine import Queue
from cockpit.gangs.kueue.line import place_of
from cockpit.gangs.kueue.standing import cluster_queue_name, is_in_line
from cockpit.gangs.kueue.verdict import verdict
from cockpit.gangs.standing import WaitingView
from cockpit.k8s.gpu_resources import gpus_asked
from cockpit.model.gang import LocalQueue, Workload
from cockpit.model.record import Kind
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
