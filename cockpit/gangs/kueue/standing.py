"""Where a Workload stands by its conditions and `spec.active` alone, in which queue, and in which order."""

from cockpit.gangs.standing import GangState
from cockpit.model.gang import LocalQueue, Workload
from cockpit.model.record import Kind, condition
from cockpit.model.store_reader import StoreReader


def local_queue_of(workload: Workload, store: StoreReader) -> LocalQueue | None:
    found: LocalQueue | None = store.by_key(Kind.LOCAL_QUEUE, f"{workload.namespace}/{workload.queue}")
    return found


def cluster_queue_name(workload: Workload, store: StoreReader) -> str:
    """Where quota is reserved, else where the LocalQueue leads, "" where that is unknown."""
    if workload.cluster_queue:
        return workload.cluster_queue
    queue = local_queue_of(workload, store)
    return "" if queue is None else queue.cluster_queue


def cluster_queue_of(store: StoreReader, namespace: str, queue: str) -> str:
    """The ClusterQueue that a LocalQueue leads to, "" where it is not known."""
    found: LocalQueue | None = store.by_key(Kind.LOCAL_QUEUE, f"{namespace}/{queue}")
    return "" if found is None else found.cluster_queue


def is_true(workload: Workload, type_: str) -> bool:
    found = condition(workload.conditions, type_)
    return found is not None and found.status == "True"


def gang_state(workload: Workload) -> str:
    """The state from conditions and `spec.active` alone."""
    if is_true(workload, "Finished"):
        return GangState.FINISHED
    if not workload.is_active:
        return GangState.DEACTIVATED
    if is_true(workload, "Admitted"):
        if is_true(workload, "Evicted"):
            return GangState.EVICTED
        return GangState.STARTED if is_true(workload, "PodsReady") else GangState.ADMITTED
    if is_true(workload, "QuotaReserved") and not is_true(workload, "Evicted"):
        return GangState.CHECKING
    return GangState.QUEUED


def is_in_line(workload: Workload) -> bool:
    """True while it stands in its queue, without quota."""
    return gang_state(workload) == GangState.QUEUED


def queue_order(workload: Workload) -> tuple[int, float, str]:
    """Sort key of the line: priority, then the time that counts, then name.

    Source: kueue pkg/workload/workload.go GetQueueOrderTimestamp: after an eviction for pods that were not
    ready or for an admission check, the eviction's time counts, else the creation's.
    """
    evicted = condition(workload.conditions, "Evicted")
    moment = workload.created_seconds
    if (
        evicted is not None
        and evicted.status == "True"
        and evicted.reason in ("PodsReadyTimeout", "AdmissionCheck")
    ):
        moment = evicted.changed_seconds
    return (-workload.priority, moment if moment is not None else 0.0, workload.key)


def lines(store: StoreReader) -> dict[str, dict[tuple[str, str], str]]:
    """Who stands in which ClusterQueue's line: (namespace, name) of each Workload to its uid."""
    found: dict[str, dict[tuple[str, str], str]] = {}
    for workload in store.records(Kind.WORKLOAD).values():
        if is_in_line(workload):
            name = cluster_queue_name(workload, store)
            if name:
                found.setdefault(name, {})[workload.namespace, workload.name] = workload.uid
    return found
