"""Workloads that Kueue evicted and whose quota it never released: nothing of them runs, and others wait."""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from cockpit.catalogue.cause import Cause
from cockpit.gangs.draft import draft
from cockpit.gangs.kueue.line import lines_of
from cockpit.gangs.kueue.standing import cluster_queue_name, is_true
from cockpit.gangs.sentence import counted
from cockpit.k8s.gpu_resources import is_gpu_resource
from cockpit.model.finding import Finding, Subject
from cockpit.model.gang import ClusterQueue, LocalQueue, Workload
from cockpit.model.listing import listing
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.model.sureness import Sureness

_DEPTH = 4
"""Controllers between a pod and the job that a workload admits: RayJob, RayCluster, and one to spare."""


_MAKERS = (Kind.JOB, Kind.MPIJOB, Kind.OTHER_JOB, Kind.OWNER)


def of_workload(workload: Workload, store: StoreReader) -> Finding | None:
    """That it holds quota without a pod; None where it holds none, or where its pods are not known."""
    held = _held(workload)
    if not held or not _is_unreleased(workload, store):
        return None
    text = "evicted, but Kueue has not released its quota: it holds {gpus} and has no pod"
    return _drafted(text, workload, {"gpus": counted(held, "GPU")})


def before(workload: Workload, found: Finding, store: StoreReader, cluster_queue: str) -> Finding:
    """What holds a workload that quota is short for: the one that does not release it, where that is all
    that it needs; else as it was found."""
    flavor = found.fact("flavor")
    for other in _all(store, cluster_queue):
        if other.uid != workload.uid and (not flavor or any(one.flavor == flavor for one in other.pod_sets)):
            text = "needs {asks}: evicted {holder} still holds {gpus} of quota {queue}"
            names = {"asks": counted(_held(workload), "GPU"), "gpus": counted(_held(other), "GPU")}
            made = _drafted(text, other, {**names, "queue": cluster_queue})
            is_enough = _unused(store, cluster_queue, found) + _held(other) >= _held(workload)
            return made if is_enough else replace(made, then=(found,))
    return found


def _unused(store: StoreReader, cluster_queue: str, found: Finding) -> int:
    """What the queue itself has free of the flavor that was found short; 0 where that is not known."""
    target: ClusterQueue | None = store.by_key(Kind.CLUSTER_QUEUE, cluster_queue)
    key = found.fact("flavor"), found.fact("resource")
    row = next((one for one in target.quotas if (one.flavor, one.resource) == key), None) if target else None
    return 0 if row is None or row.used is None else max(0, row.nominal - row.used)


def of_queue(queue: LocalQueue | ClusterQueue, store: StoreReader) -> Finding | None:
    """The first of the workloads that hold the quota of a queue without a pod, and how many more do."""
    name = queue.cluster_queue if isinstance(queue, LocalQueue) else queue.name
    found = [one for one in _all(store, name) if cluster_queue_name(one, store) == name]
    if not found:
        return None
    more = f", as do {len(found) - 1} more" if len(found) > 1 else ""
    text = "evicted {holder} still holds {gpus} of its quota and has no pod" + more
    return _drafted(text, found[0], {"gpus": counted(_held(found[0]), "GPU")})


def _drafted(text: str, holder: Workload, names: dict[str, str]) -> Finding:
    used = {**names, "holder": holder.job_key}
    return draft(
        Cause.QUOTA_NOT_RELEASED,
        text,
        {key: value for key, value in used.items() if f"{{{key}}}" in text},
        facts=(("workload", holder.key),),
        sureness=Sureness.PROVED,
        root=Subject("Workload", holder.namespace, holder.name),
    )


def _all(store: StoreReader, cluster_queue: str) -> Iterator[Workload]:
    """Those that hold quota of that ClusterQueue or of its cohort, the most first."""
    cohort = _cohort(store, cluster_queue)
    table: Mapping[str, Workload] = store.records(Kind.WORKLOAD)
    every = [table[uid] for uid in lines_of(store).evicted if _held(table[uid])]
    for one in sorted(every, key=lambda one: (-_held(one), one.key)):
        queue = cluster_queue_name(one, store)
        is_near = queue == cluster_queue or (bool(cohort) and _cohort(store, queue) == cohort)
        if is_near and _is_unreleased(one, store):
            yield one


def _cohort(store: StoreReader, cluster_queue: str) -> str:
    target: ClusterQueue | None = store.by_key(Kind.CLUSTER_QUEUE, cluster_queue)
    return "" if target is None else target.cohort


def _held(workload: Workload) -> int:
    return sum(count for part in workload.pod_sets for name, count in part.resources if is_gpu_resource(name))


def _is_unreleased(workload: Workload, store: StoreReader) -> bool:
    marks = ("Evicted", "QuotaReserved")
    if workload.is_finished or workload.owner is None or not all(is_true(workload, one) for one in marks):
        return False
    is_read = store.status(Kind.POD) is not None  # has_all holds as well where no stream of pods is there
    return is_read and listing(store, Kind.POD).has_all and not _may_have_pods(workload, store)


def _may_have_pods(workload: Workload, store: StoreReader) -> bool:
    """Whether a pod of its namespace that asks for GPUs and has not ended belongs to its job, or to an object
    that is not known."""
    root = "" if workload.owner is None else workload.owner.uid
    for pod in store.gpu_pods():
        if pod.namespace != workload.namespace or pod.is_finished:
            continue
        uid = pod.owner_uid
        for _ in range(_DEPTH):
            if uid == root:
                return True
            above = next((found for kind in _MAKERS if uid and (found := store.get(kind, uid))), None)
            if above is None:
                break
            uid = above.owner.uid if above.owner is not None else ""
        if uid:
            return True
    return False
