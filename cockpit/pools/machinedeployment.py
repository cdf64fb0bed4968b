"""Pools owned by a Cluster API shaped object: MachineDeployment, MachineSet, MachinePool and other scalables.

Sources: cluster-api api/core/v1beta2/machinedeployment_types.go (scale subresource), common_types.go
(`topology.cluster.x-k8s.io/owned`: replicas then belong to Cluster.spec.topology and a direct change is
reverted); kubernetes/autoscaler cluster-autoscaler/cloudprovider/clusterapi/README.md (the two size
annotations: both present means that the autoscaler owns the size).
"""

from cockpit.k8s import labels as well_known
from cockpit.model.pool import PoolObject
from cockpit.model.record import Labels, label
from cockpit.pools.owner import Ownership

TOPOLOGY_OWNED = "topology.cluster.x-k8s.io/owned"
DEPLOYMENT_NAME = "cluster.x-k8s.io/deployment-name"
AUTOSCALER_MINIMUM = well_known.AUTOSCALER_MINIMUM
AUTOSCALER_MAXIMUM = well_known.AUTOSCALER_MAXIMUM
GPUS_HINT = "capacity.cluster-autoscaler.kubernetes.io/gpu-count"
_CLUSTER_NAME = "cluster.x-k8s.io/cluster-name"
_TOPOLOGY_NAME = "topology.cluster.x-k8s.io/deployment-name"


def is_part_of_another(pool: PoolObject) -> bool:
    """True for a MachineSet that belongs to a MachineDeployment: the deployment is the pool."""
    return pool.kind == "MachineSet" and bool(label(pool.labels, DEPLOYMENT_NAME))


def ownership(pool: PoolObject) -> Ownership:
    """Who decides the size of this pool, and its bounds."""
    minimum = _whole(pool.annotations, AUTOSCALER_MINIMUM)
    maximum = _whole(pool.annotations, AUTOSCALER_MAXIMUM)
    bounds = (
        minimum if minimum is not None else pool.min_replicas,
        maximum if maximum is not None else pool.max_replicas,
    )
    if any(key == TOPOLOGY_OWNED for key, _ in pool.labels):
        cluster = label(pool.labels, _CLUSTER_NAME) or "its Cluster"
        member = label(pool.labels, _TOPOLOGY_NAME) or pool.name
        return Ownership(
            f"owned by the topology of cluster {cluster}: a change here would be reverted;"
            f" set replicas of {member} in Cluster.spec.topology.workers",
            *bounds,
        )
    if minimum is not None and maximum is not None:
        return Ownership(
            f"the cluster autoscaler controls the size, between {minimum} and {maximum}:"
            " it would undo a change; raise its maximum, or let pending pods trigger it",
            *bounds,
        )
    if pool.replicas is None:
        return Ownership(f"{pool.kind} {pool.key} has no replicas field to change", *bounds)
    return Ownership("", *bounds)


def gpus_hinted(pool: PoolObject) -> int | None:
    """GPUs that the object promises for each node, for a pool without nodes; None when it does not say."""
    return _whole(pool.annotations, GPUS_HINT)


def _whole(labels: Labels, key: str) -> int | None:
    text = label(labels, key)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
