"""A job put into a Kueue queue, and the warning for a gang that its quota admits beyond the free GPUs."""

from collections.abc import Mapping
from typing import Any, Final

from cockpit.errors import BadInput
from cockpit.gangs.engine import InstalledEngine, NewJob, Suited, Topologies
from cockpit.gangs.kueue.standing import cluster_queue_of
from cockpit.gangs.kueue.topology import asks_for_topology, binding_words, topology_of
from cockpit.gangs.manifests import Attached, copied, job_in
from cockpit.gangs.sentence import counted
from cockpit.k8s.gpu_resources import is_gpu_resource
from cockpit.k8s.json_values import mapping
from cockpit.model.gang import ClusterQueue
from cockpit.model.listing import listing
from cockpit.model.node import Node
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader

QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL: Final = "kueue.x-k8s.io/priority-class"
_DEFAULT_QUEUE: Final = "default"
"""The queue that Kueue itself takes for jobs without a label."""
_POLICY: Final = ("MPIJob", "PyTorchJob", "TFJob", "XGBoostJob", "JAXJob", "PaddleJob")
_MANAGED: Final = (*_POLICY, "Job", "JobSet", "TrainJob", "RayJob", "RayCluster", "CronJob")


def is_managed(api_version: str, kind: str) -> bool:
    """True for the kinds of jobs that Kueue takes as it comes, of a CronJob each run; of plain pods it takes
    those that it is configured for."""
    return kind in _MANAGED and not api_version.startswith("batch.volcano.sh/")


def suits(job: NewJob, installed: InstalledEngine) -> Suited | None:
    """Unless it is known to be dead: where the namespace has one queue, or one that Kueue defaults to."""
    if not installed.is_usable or not is_managed(job.api_version, job.kind) or job.queues is None:
        return None
    queues = job.queues
    queue = queues[0] if len(queues) == 1 else _DEFAULT_QUEUE if _DEFAULT_QUEUE in queues else ""
    if queue:
        return Suited(f"{installed.sentence}; queue {queue} is there", queue=queue)
    if queues:
        why = f"Kueue has {counted(len(queues), 'queue')} here: choose one to start as a gang"
    else:
        why = "Kueue has no queue in this namespace: choose one where it has, to start as a gang"
    return Suited(why, is_sure=False)


def attach(manifest: Mapping[str, Any], *, queue: str = "", scheduler: str = "") -> Attached:
    """The manifest in a LocalQueue, suspended; "" leaves the queue that it names already.

    Raises BadInput without a queue and for what Kueue does not manage.
    """
    kind, version = str(manifest.get("kind")), str(manifest.get("apiVersion"))
    if not is_managed(version, kind) and (kind, version) != ("Pod", "v1"):
        raise BadInput(f"Kueue does not manage {kind} of {version}: take the engine that it belongs to")
    tree = copied(manifest)
    job = job_in(tree)
    labels = job.setdefault("metadata", {}).setdefault("labels", {})
    queue = queue or str(labels.get(QUEUE_LABEL) or "")
    if not queue:
        raise BadInput("queue: Kueue needs one; name a LocalQueue of the namespace, or take engine none")
    labels[QUEUE_LABEL] = queue
    spec = job.setdefault("spec", {})
    if kind in _POLICY:
        spec.setdefault("runPolicy", {})["suspend"] = True
    elif kind != "Pod":  # a gate keeps a pod, which Kueue's webhook sets
        spec["suspend"] = True
    return Attached(tree)


def queue_of(manifest: Mapping[str, Any]) -> str:
    """The LocalQueue that a manifest names, "" for none."""
    return str(mapping(mapping(job_in(manifest).get("metadata")).get("labels")).get(QUEUE_LABEL) or "")


def submit_lines(
    manifest: Mapping[str, Any], namespace: str, store: StoreReader | None, topologies: Topologies | None
) -> tuple[str, ...]:
    """How the gang binds; () where nothing is known of topologies and it asks for none."""
    queue, found = queue_of(manifest), None
    if store is not None:
        found = topology_of(manifest, namespace, queue, store, topologies)
    if found is None and topologies is None and not asks_for_topology(manifest):
        return ()
    return (binding_words(manifest, found),)


def submit_warnings(
    manifest: Mapping[str, Any],
    namespace: str,
    gpus: int,
    store: StoreReader,
    topologies: Topologies | None,
) -> tuple[str, ...]:
    """A sentence when Kueue would admit `gpus` although fewer can be bound now, as far as pods are known.

    The quota is that of the LocalQueue's ClusterQueue as it stands. It is silent where the queue places what
    it admits.
    """
    queue, free = queue_of(manifest), free_gpus(store)
    if not queue or free is None or gpus <= free:
        return ()
    topology = topology_of(manifest, namespace, queue, store, topologies)
    if topology or (topology is None and asks_for_topology(manifest)):
        return ()
    name = cluster_queue_of(store, namespace, queue)
    target: ClusterQueue | None = store.by_key(Kind.CLUSTER_QUEUE, name) if name else None
    room = None if target is None else unused_quota(target)
    if room is not None and gpus > room:
        return ()  # it waits for quota first, and nothing of it starts
    return (
        f"Kueue counts quota, not places: it may admit all {counted(gpus, 'GPU')} while {free} are free,"
        " so a part starts and holds its GPUs while the rest waits"
        + (" (unless its flavor has a topology)" if topology is None else ""),
    )


def unused_quota(queue: ClusterQueue) -> int | None:
    """GPUs that are left of a ClusterQueue's own quota, over all flavors; None where it does not say."""
    rows = [row for row in queue.quotas if is_gpu_resource(row.resource)]
    if not rows or any(row.used is None for row in rows):
        return None
    return sum(max(0, row.nominal - (row.used or 0)) for row in rows)


def free_gpus(store: StoreReader) -> int | None:
    """GPUs that no pod holds on nodes that take pods; None where not every pod is known."""
    if store.status(Kind.POD) is None or not listing(store, Kind.POD).has_all:
        return None
    nodes: list[Node] = [one for one in store.records(Kind.NODE).values() if one.gpu_allocatable]
    return sum(
        max(0, (one.gpu_allocatable or 0) - store.requests_on(one.name).gpus)
        for one in nodes
        if not one.unschedulable and one.ready == "True"
    )
