"""A job put into a Kueue queue, and the warning for a gang that its quota admits beyond the free GPUs."""

from collections.abc import Mapping
from typing import Any, Final

from cockpit.errors import BadInput
from cockpit.gangs.engine import Topologies
from cockpit.gangs.kueue.standing import cluster_queue_of
from cockpit.gangs.kueue.topology import asks_for_topology, topology_of
from cockpit.gangs.manifests import Attached, copied, mapping
from cockpit.gangs.sentence import counted
from cockpit.k8s.gpu_resources import is_gpu_resource
from cockpit.model.gang import ClusterQueue
from cockpit.model.listing import listing
from cockpit.model.node import Node
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader

QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL: Final = "kueue.x-k8s.io/priority-class"
_POLICY: Final = ("MPIJob", "PyTorchJob", "TFJob", "XGBoostJob", "JAXJob", "PaddleJob")
_MANAGED: Final = (*_POLICY, "Job", "JobSet", "TrainJob", "RayJob", "RayCluster")


def is_managed(api_version: str, kind: str) -> bool:
    """True for the kinds of jobs that Kueue takes as it comes; plain pods it takes only where told to."""
    return kind in _MANAGED and not api_version.startswith("batch.volcano.sh/")


def attach(manifest: Mapping[str, Any], *, queue: str = "", priority: str = "") -> Attached:
    """The manifest in a LocalQueue, suspended; "" leaves the queue that it names already.

    Raises BadInput without a queue and for what Kueue does not manage.
    """
    kind, version = str(manifest.get("kind")), str(manifest.get("apiVersion"))
    if not is_managed(version, kind) and (kind, version) != ("Pod", "v1"):
        raise BadInput(f"Kueue does not manage {kind} of {version}: take the engine that it belongs to")
    tree = copied(manifest)
    labels = tree.setdefault("metadata", {}).setdefault("labels", {})
    queue = queue or str(labels.get(QUEUE_LABEL) or "")
    if not queue:
        raise BadInput("queue: Kueue needs one; name a LocalQueue of the namespace, or take engine none")
    labels[QUEUE_LABEL] = queue
    if priority:
        labels[PRIORITY_LABEL] = priority
    spec = tree.setdefault("spec", {})
    if kind in _POLICY:
        spec.setdefault("runPolicy", {})["suspend"] = True
    elif kind != "Pod":  # a gate keeps a pod, which Kueue's webhook sets
        spec["suspend"] = True
    return Attached(tree)


def queue_of(manifest: Mapping[str, Any]) -> str:
    """The LocalQueue that a manifest names, "" for none."""
    return str(mapping(mapping(manifest.get("metadata")).get("labels")).get(QUEUE_LABEL) or "")


def half_bind_warning(
    manifest: Mapping[str, Any],
    namespace: str,
    gpus: int,
    free: int | None,
    store: StoreReader,
    *,
    topologies: Topologies | None = None,
) -> str:
    """A sentence when Kueue would admit `gpus` although only `free` can be bound now; "" else.

    `free` None: not known, nothing is said. The quota is that of the LocalQueue's ClusterQueue as it stands.
    With `topologies` (None: not known) it is silent where the queue places what it admits.
    """
    queue = queue_of(manifest)
    if not queue or free is None or gpus <= free:
        return ""
    topology = topology_of(manifest, namespace, queue, store, topologies)
    if topology or (topology is None and asks_for_topology(manifest)):
        return ""
    name = cluster_queue_of(store, namespace, queue)
    target: ClusterQueue | None = store.by_key(Kind.CLUSTER_QUEUE, name) if name else None
    room = None if target is None else unused_quota(target)
    if room is not None and gpus > room:
        return ""  # it waits for quota first, and nothing of it starts
    return (
        f"Kueue counts quota, not places: it may admit all {counted(gpus, 'GPU')} while {free} are free,"
        " so a part starts and holds its GPUs while the rest waits"
        + (" (unless its flavor has a topology)" if topology is None else "")
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
