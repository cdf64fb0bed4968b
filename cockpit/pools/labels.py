"""Pools that are known only from labels of their nodes: no object in this cluster owns their size.

Sources of the label keys: awslabs/eks-node-viewer pkg/model/node.go, kubernetes/autoscaler
cluster-autoscaler/cloudprovider/azure/azure_template.go and coreweave_utils.go, karpenter
pkg/apis/v1/labels.go, cluster-api api/core/v1beta2/common_types.go.
"""

from cockpit.model.node import Node
from cockpit.model.record import label

NO_POOL = "(no pool)"

_WHO = {
    "eks.amazonaws.com/nodegroup": "an EKS node group: resize it at AWS (aws eks update-nodegroup-config)",
    "cloud.google.com/gke-nodepool": "a GKE node pool: resize it at Google (gcloud container)",
    "kubernetes.azure.com/agentpool": "an AKS agent pool: resize it at Azure (az aks nodepool scale)",
    "agentpool": "an AKS agent pool: resize it at Azure (az aks nodepool scale)",
    "compute.coreweave.com/node-pool": "a CoreWeave NodePool: set its targetNodes (kubectl edit nodepool)",
    "karpenter.sh/nodepool": "a Karpenter NodePool that cannot be read: list nodepools.karpenter.sh",
}
_ANNOTATED = "cluster.x-k8s.io/owner-name"


def why_not(nodes: tuple[Node, ...]) -> str:
    """One sentence: who must resize a pool without an owner object in this cluster."""
    for node in nodes:
        if node.pool_label in _WHO:
            return _WHO[node.pool_label]
        owner = label(node.annotations, _ANNOTATED)
        if owner:
            cluster = label(node.annotations, "cluster.x-k8s.io/cluster-name")
            where = f" of cluster {cluster}" if cluster else ""
            return f"Cluster API owner {owner}{where}: resize it in the management cluster"
        if node.provider_id.startswith("aws:///"):
            return "machines of AWS without a node group: resize their auto scaling group at AWS"
    if nodes and nodes[0].pool_label:
        return f"known only from the label {nodes[0].pool_label}: no object in this cluster controls the size"
    return "these nodes carry no pool label: resize them where they were created"
