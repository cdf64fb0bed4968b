"""Pools that are known only from their nodes: no object in this cluster owns their size.

Sources of the label keys: awslabs/eks-node-viewer pkg/model/node.go, kubernetes/autoscaler
cluster-autoscaler/cloudprovider/azure/azure_template.go.
"""

from cockpit.model.node import Node
from cockpit.model.pool import PoolObject
from cockpit.model.store_reader import StoreReader
from cockpit.pools.owner import Nodes, Ownership, OwnerTraits, PoolOwner, refused

_NO_POOL = "(no pool)"


def unlabelled(node: Node) -> str:
    """`(no pool) g5.12xlarge`, `(no pool) 8 x H100`: nodes that no label puts in a pool, by their shape."""
    gpus = node.gpu_capacity or node.gpus_expected or 0
    shape = node.instance_type or (f"{gpus} x {node.gpu_model or 'GPU'}" if gpus else node.gpu_model)
    return f"{_NO_POOL} {shape}" if shape else _NO_POOL


def is_unlabelled(pool: str) -> bool:
    """Whether that is the name of nodes that no label puts in a pool."""
    return pool.startswith(_NO_POOL)


_WHO = {
    "eks.amazonaws.com/nodegroup": "an EKS node group: resize it at AWS (aws eks update-nodegroup-config)",
    "cloud.google.com/gke-nodepool": "a GKE node pool: resize it at Google (gcloud container)",
    "kubernetes.azure.com/agentpool": "an AKS agent pool: resize it at Azure (az aks nodepool scale)",
    "machine.openshift.io/machine": (
        "an OpenShift machine set: resize it there (oc scale machineset -n openshift-machine-api)"
    ),
    "agentpool": "an AKS agent pool: resize it at Azure (az aks nodepool scale)",
}


class NodeLabels(PoolOwner):
    """Nobody: asked last, it says who must resize such a pool."""

    traits = OwnerTraits(name="labels of nodes", decides_size=False)

    def ownership(self, found: PoolObject | None, nodes: Nodes, truth: StoreReader) -> Ownership:
        """A sentence: who must resize it."""
        no = refused(_object_without_owner(found) if found is not None else _why_not(nodes))
        return Ownership(owner=self.traits.name, may_resize=no, may_limit=no)


def _object_without_owner(found: PoolObject) -> str:
    return f"the cockpit does not know how {found.kind} {found.key} of {found.api_version} is resized"


def _why_not(nodes: Nodes) -> str:
    for node in nodes:
        if node.pool_label in _WHO:
            return _WHO[node.pool_label]
        if node.provider_id.startswith("aws:///"):
            return "machines of AWS without a node group: resize their auto scaling group at AWS"
    if nodes and nodes[0].pool_label:
        return f"known only from the label {nodes[0].pool_label}: no object in this cluster controls the size"
    return "these nodes carry no pool label: resize them where they were created"
