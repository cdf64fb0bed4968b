"""Commands of clouds that are shipped: what a configuration names by one word.

None was run on a real account. Sources: learn.microsoft.com/cli/azure/aks/nodepool (show, scale, update),
learn.microsoft.com/cli/azure/vmss (show, scale), docs.cloud.google.com/sdk/gcloud/reference/container
(clusters resize, node-pools describe, node-pools update); fields of the answers from the REST references of
agentPools, virtual machine scale sets and projects.locations.clusters.nodePools.
"""

from cockpit.model.reach import Commands

_AKS = ("--resource-group", "{resource-group}", "--cluster-name", "{cluster}", "--name", "{pool}")
_GKE = ("--cluster", "{cluster}", "--location", "{location}", "--project", "{project}")
_VMSS = ("--resource-group", "{resource-group}", "--name", "{pool}")

AKS = Commands(
    who="AKS",
    read=("az", "aks", "nodepool", "show", *_AKS, "--output", "json"),
    resize=("az", "aks", "nodepool", "scale", *_AKS, "--node-count", "{size}", "--no-wait"),
    limit=(
        *("az", "aks", "nodepool", "update", *_AKS, "--update-cluster-autoscaler"),
        *("--min-count", "{minimum}", "--max-count", "{maximum}", "--no-wait"),
    ),
    desired="count",
    minimum="minCount",
    maximum="maxCount",
    machine="vmSize",
    status="provisioningState",
    autoscaled="enableAutoScaling",
    identity="id",
    busy=("Creating", "Scaling", "Updating", "Upgrading", "Deleting"),
    failed=("Failed", "Canceled"),
    labels=("kubernetes.azure.com/agentpool", "agentpool"),
    environment=("AZURE_CONFIG_DIR",),
)

GKE = Commands(
    who="GKE",
    read=("gcloud", "container", "node-pools", "describe", "{pool}", *_GKE, "--format", "json"),
    resize=(
        *("gcloud", "container", "clusters", "resize", "{cluster}", "--node-pool", "{pool}"),
        *(
            "--num-nodes",
            "{size}",
            "--location",
            "{location}",
            "--project",
            "{project}",
            "--async",
            "--quiet",
        ),
    ),
    limit=(
        *("gcloud", "container", "node-pools", "update", "{pool}", *_GKE),
        *("--enable-autoscaling", "--min-nodes", "{minimum}", "--max-nodes", "{maximum}", "--quiet"),
    ),
    desired="initialNodeCount",  # a resize writes it; an autoscaler does not
    is_desired_stale_when_autoscaled=True,
    minimum="autoscaling.minNodeCount",
    maximum="autoscaling.maxNodeCount",
    machine="config.machineType",
    status="status",
    message="conditions.0.message",
    zones="locations",
    autoscaled="autoscaling.enabled",
    identity="selfLink",
    busy=("PROVISIONING", "RECONCILING", "STOPPING"),
    failed=("ERROR", "RUNNING_WITH_ERROR"),
    labels=("cloud.google.com/gke-nodepool",),
    environment=("CLOUDSDK_CONFIG", "CLOUDSDK_ACTIVE_CONFIG_NAME"),
)

VMSS = Commands(
    who="Azure",
    read=("az", "vmss", "show", *_VMSS, "--output", "json"),
    resize=("az", "vmss", "scale", *_VMSS, "--new-capacity", "{size}", "--no-wait"),
    desired="sku.capacity",
    machine="sku.name",
    status="provisioningState",
    identity="id",
    busy=("Creating", "Updating", "Deleting"),
    failed=("Failed", "Canceled"),
    environment=("AZURE_CONFIG_DIR",),
)

PROFILES = {"aks": AKS, "gke": GKE, "vmss": VMSS}
