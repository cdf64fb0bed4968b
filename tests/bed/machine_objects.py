"""A CRD in the shape of Cluster API's MachineDeployment: a `scale` subresource, the rest free."""

from tests.bed.api import Tree

GROUP = "cluster.x-k8s.io"
VERSION = "v1beta1"
PLURAL = "machinedeployments"
# The label by which Cluster API marks what belongs to a deployment.
DEPLOYMENT_LABEL = "cluster.x-k8s.io/deployment-name"
POOL_LABEL = "node-pool"
OWNER_KIND = "cluster.x-k8s.io/owner-kind"
OWNER_NAME = "cluster.x-k8s.io/owner-name"
MACHINE = "cluster.x-k8s.io/machine"
CLUSTER_NAMESPACE = "cluster.x-k8s.io/cluster-namespace"


def definition() -> Tree:
    """The CustomResourceDefinition."""
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    columns = [
        ("Replicas", ".spec.replicas"),
        ("Ready", ".status.readyReplicas"),
        ("Updated", ".status.updatedReplicas"),
    ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{PLURAL}.{GROUP}",
            # Groups under k8s.io want a pointer to their approval.
            "annotations": {"api-approved.kubernetes.io": "unapproved, a test double"},
        },
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": "MachineDeployment",
                "listKind": "MachineDeploymentList",
                "plural": PLURAL,
                "singular": "machinedeployment",
                "shortNames": ["md"],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {
                        "status": {},
                        "scale": {
                            "specReplicasPath": ".spec.replicas",
                            "statusReplicasPath": ".status.replicas",
                            "labelSelectorPath": ".status.selector",
                        },
                    },
                    "additionalPrinterColumns": [
                        {"name": name, "type": "integer", "jsonPath": path} for name, path in columns
                    ],
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    **free,
                                    "properties": {"replicas": {"type": "integer", "minimum": 0}},
                                },
                                "status": free,
                            },
                        }
                    },
                }
            ],
        },
    }


def machine_deployment(name: str, replicas: int, *, namespace: str = "default", gpus: int = 8) -> Tree:
    """A pool of `replicas` nodes with `gpus` GPUs each, as the test controller understands it."""
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "MachineDeployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "clusterName": "bed",
            "replicas": replicas,
            "selector": {"matchLabels": {DEPLOYMENT_LABEL: name}},
            "template": {
                "metadata": {"labels": {DEPLOYMENT_LABEL: name}},
                "spec": {"clusterName": "bed", "gpus": gpus},
            },
        },
    }
