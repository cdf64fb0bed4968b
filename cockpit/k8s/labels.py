"""Labels, annotations and taints that Kubernetes itself and cloud providers give a meaning.

Those of a queueing engine belong to the engine's own package in `cockpit.gangs`.
Source: kubernetes.io/docs/reference/labels-annotations-taints.
"""

HOSTNAME = "kubernetes.io/hostname"
NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""Every namespace carries its own name under this label."""
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
OLD_REGION = "failure-domain.beta.kubernetes.io/region"

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
MEMORY_PRESSURE = "node.kubernetes.io/memory-pressure"
DISK_PRESSURE = "node.kubernetes.io/disk-pressure"
PID_PRESSURE = "node.kubernetes.io/pid-pressure"
NETWORK_UNAVAILABLE = "node.kubernetes.io/network-unavailable"
CONDITION_TAINTS = {
    "MemoryPressure": MEMORY_PRESSURE,
    "DiskPressure": DISK_PRESSURE,
    "PIDPressure": PID_PRESSURE,
    "NetworkUnavailable": NETWORK_UNAVAILABLE,
}
"""Key of the taint that says that a node's condition of this type is True."""

RECLAIM_TAINTS = frozenset(
    {
        # github.com/aws/aws-node-termination-handler pkg/node/node.go; GKE's node termination handler
        *("aws-node-termination-handler/spot-itn", "aws-node-termination-handler/rebalance-recommendation"),
        *("cloud.google.com/impending-node-termination", "node.cloudprovider.kubernetes.io/shutdown"),
    }
)
"""Keys of taints by which a cloud says that it takes the node back."""

SPOT = frozenset(
    {
        ("karpenter.sh/capacity-type", "spot"),
        ("eks.amazonaws.com/capacityType", "SPOT"),
        ("cloud.google.com/gke-spot", "true"),
        ("cloud.google.com/gke-preemptible", "true"),
        ("kubernetes.azure.com/scalesetpriority", "spot"),
        ("oci.oraclecloud.com/oke-is-preemptible", "true"),
        ("nebius.com/preemptible", "true"),
        ("node.kubernetes.io/lifecycle", "spot"),
        ("cloud.google.com/gke-provisioning", "spot"),
        ("cloud.google.com/gke-provisioning", "preemptible"),
        ("machine.openshift.io/interruptible-instance", ""),
        ("node.alibabacloud.com/spot-strategy", "SpotWithPriceLimit"),
        ("node.alibabacloud.com/spot-strategy", "SpotAsPriceGo"),
        ("node-lifecycle", "spot"),
        ("lifecycle", "Ec2Spot"),
    }
)
"""Labels, with their value, of machines that the cloud may take back at any time. Sources:
awslabs/eks-node-viewer pkg/model/node.go, cloud.google.com/kubernetes-engine/docs/concepts/spot-vms,
learn.microsoft.com/azure/aks/spot-node-pool, docs.oracle.com/iaas/Content/ContEng preemptible capacity,
openshift machine-api-operator pkg/controller/machine, ACK release notes of January 2025, eksctl examples."""

POOL_LABELS: tuple[str, ...] = (
    "karpenter.sh/nodepool",
    "karpenter.sh/provisioner-name",
    "cluster.x-k8s.io/deployment-name",
    "node.cluster.x-k8s.io/deployment-name",
    "topology.cluster.x-k8s.io/deployment-name",
    "cluster.x-k8s.io/pool-name",
    "eks.amazonaws.com/nodegroup",
    "alpha.eksctl.io/nodegroup-name",
    "sagemaker.amazonaws.com/instance-group-name",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
    "agentpool",
    "compute.coreweave.com/node-pool",
    "oke.oraclecloud.com/pool.name",
    "nebius.com/node-group-id",
    "doks.digitalocean.com/node-pool",
    "alibabacloud.com/nodepool-id",
    "ibm-cloud.kubernetes.io/worker-pool-name",
    "k8s.scaleway.com/pool-name",
    "lke.linode.com/pool-id",
    "vke.vultr.com/node-pool",
    "kubernetes.civo.com/civo-node-pool",
    "node.exoscale.net/nodepool-id",
    "yandex.cloud/node-group-id",
    "tke.cloud.tencent.com/nodepool-id",
    "cce.cloud.com/cce-nodepool",
    "magnum.openstack.org/nodegroup",
    "worker.gardener.cloud/pool",
    "kops.k8s.io/instancegroup",
    "hcloud/node-group",
    "node-pool",
    "nodepool",
    "pool",
)
"""Labels that name a node's pool, the surest first (sources: karpenter pkg/apis/v1/labels.go, cluster-api
api/core common_types.go, eks-node-viewer pkg/model/node.go, cluster-autoscaler azure_template.go, the
providers' documents)."""

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
AUTOSCALER_MINIMUM = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
AUTOSCALER_MAXIMUM = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
PROVISIONING_MARKS = (
    "cluster-autoscaler.kubernetes.io/consume-provisioning-request",
    "cluster-autoscaler.kubernetes.io/provisioning-class-name",
    "autoscaling.x-k8s.io/consume-provisioning-request",
    "autoscaling.x-k8s.io/provisioning-class-name",
)
"""Annotations of pods for which an autoscaler was asked for machines: the request is that of one job."""
