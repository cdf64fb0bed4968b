"""Manifests that cases create: as small as the API server lets them be, plus what a case is about."""

from typing import Any

Tree = dict[str, Any]
GROUP = "contract.cockpit.test"


def configmap(name: str, **data: str) -> Tree:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def pod(name: str, *, gpus: int = 0, labels: dict[str, str] | None = None, node: str = "") -> Tree:
    container: Tree = {"name": "main", "image": "registry.test/train:1", "command": ["train"]}
    if gpus:
        container["resources"] = {"limits": {"nvidia.com/gpu": str(gpus)}}
    spec: Tree = {"containers": [container], "restartPolicy": "Never"}
    if node:
        spec["nodeName"] = node
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": spec,
    }


def job(name: str, *, parallelism: int = 1, suspend: bool = True) -> Tree:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "suspend": suspend,
            "parallelism": parallelism,
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [
                        {
                            "name": "main",
                            "image": "registry.test/train:1",
                            "resources": {"limits": {"nvidia.com/gpu": "2"}},
                        }
                    ],
                }
            },
        },
    }


def deployment(name: str, replicas: int) -> Tree:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "registry.test/serve:1"}]},
            },
        },
    }


def node(name: str, *, gpus: int = 8, labels: dict[str, str] | None = None) -> Tree:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels or {}},
        "status": {
            "capacity": {"cpu": "96", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": str(gpus)},
            "allocatable": {"cpu": "95500m", "memory": "1000Gi", "pods": "110", "nvidia.com/gpu": str(gpus)},
        },
    }


def event(name: str, namespace: str, about: Tree, *, reason: str, message: str, count: int = 1) -> Tree:
    metadata = about["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "involvedObject": {
            "apiVersion": about.get("apiVersion", "v1"),
            "kind": about["kind"],
            "namespace": namespace,
            "name": metadata["name"],
            "uid": metadata["uid"],
        },
        "reason": reason,
        "message": message,
        "type": "Warning",
        "count": count,
        "source": {"component": "contract"},
        "firstTimestamp": "2026-01-02T03:04:05Z",
        "lastTimestamp": "2026-01-02T03:09:05Z",
    }


def crd(plural: str, kind: str, *, scale: bool = True, status: bool = True, namespaced: bool = True) -> Tree:
    """A pool-shaped kind: spec.replicas, status.replicas, the rest kept as it comes."""
    subresources: Tree = {}
    if status:
        subresources["status"] = {}
    if scale:
        subresources["scale"] = {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        }
    loose = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced" if namespaced else "Cluster",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "subresources": subresources,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {
                                        "replicas": {"type": "integer", "minimum": 0},
                                        "size": {"type": "string"},
                                    },
                                },
                                "status": loose,
                            },
                        }
                    },
                }
            ],
        },
    }


def crd_in_two_versions(group: str, plural: str, kind: str) -> Tree:
    """The same kind as v1, which is stored, and as v2."""
    tree = crd(plural, kind)
    tree["metadata"]["name"] = f"{plural}.{group}"
    tree["spec"]["group"] = group
    (first,) = tree["spec"]["versions"]
    tree["spec"]["versions"] = [first, first | {"name": "v2", "storage": False}]
    return tree


def custom(kind: str, name: str, **spec: Any) -> Tree:
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def role(name: str, *rules: tuple[str, str, tuple[str, ...]]) -> Tree:
    """`rules` are (group, resource, verbs)."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": name},
        "rules": [
            {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}
            for group, resource, verbs in rules
        ],
    }


def budget(name: str, min_available: int, labels: dict[str, str]) -> Tree:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"minAvailable": min_available, "selector": {"matchLabels": labels}},
    }
