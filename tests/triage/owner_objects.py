"""Objects as the cluster autoscaler, Cluster API, Karpenter and kubelets write them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import yaml

NOW = 1_800_000_000.0
"""2027-01-15T08:00:00Z."""
Tree = dict[str, Any]
SET = "cluster.x-k8s.io/set-name"
DEPLOYMENT = "cluster.x-k8s.io/deployment-name"
HINT = "capacity.cluster-autoscaler.kubernetes.io/"
MINIMUM = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
MAXIMUM = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
GPU = "nvidia.com/gpu"


def at(seconds_ago: float) -> str:
    """As Kubernetes writes a time."""
    return datetime.fromtimestamp(NOW - seconds_ago, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def meta(name: str, space: str = "", *, ago: float = 3_600.0, **more: Any) -> Tree:
    place = {"namespace": space} if space else {}
    made = {"name": name, "uid": f"uid-{space}-{name}", "resourceVersion": "7", "creationTimestamp": at(ago)}
    return {**made, **place, **more}


# ---- nodes and pods


def node(
    name: str,
    gpus: int | None = 4,
    labels: Mapping[str, str] | None = None,
    *,
    ago: float = 3_600.0,
    ready: str = "True",
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> Tree:
    """A node that is Ready since just after it was made; `gpus` None: it shows none."""
    offered = {
        "cpu": "48",
        "memory": "192Gi",
        "pods": "110",
        **({GPU: str(gpus)} if gpus is not None else {}),
    }
    ready_condition = {
        "type": "Ready",
        "status": ready,
        "reason": "Kubelet",
        "lastTransitionTime": at(ago - 5),
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": meta(
            name,
            ago=ago,
            labels={"kubernetes.io/hostname": name, **(labels or {})},
            annotations=dict(annotations or {}),
        ),
        "spec": spec,
        "status": {"capacity": offered, "allocatable": offered, "conditions": [ready_condition]},
    }


def capi_nodes(pool: str, count: int, gpus: int | None = 4, **more: Any) -> list[Tree]:
    """Nodes of a MachineDeployment with their Machines, as Cluster API marks them."""
    found: list[Tree] = []
    labels = more.pop("labels", {"ca-pool": pool})
    for number in range(count):
        name = f"{pool}-nlp9v-x{number:03d}"
        notes = {
            "cluster.x-k8s.io/cluster-name": "c",
            "cluster.x-k8s.io/machine": name,
            "cluster.x-k8s.io/owner-kind": "MachineSet",
            "cluster.x-k8s.io/owner-name": f"{pool}-nlp9v",
            **more.get("annotations", {}),
        }
        rest = {key: value for key, value in more.items() if key != "annotations"}
        found += [
            node(name, gpus, labels, annotations=notes, providerID=f"fake://{name}", **rest),
            machine(name, pool, on=name, ago=more.get("ago", 3_600.0)),
        ]
    return found


def pod(
    name: str,
    gpus: int = 4,
    *,
    on: str = "",
    ago: float = 300.0,
    message: str = "",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    space: str = "team-a",
    owner: str = "ReplicaSet",
    **spec: Any,
) -> Tree:
    """A running pod on a node, or one that the scheduler refuses with that message."""
    amounts = {"cpu": "1", **({GPU: str(gpus)} if gpus else {})}
    resources = {"requests": amounts, "limits": amounts}
    ref = {
        "apiVersion": "apps/v1",
        "kind": owner,
        "name": f"{name}-rs",
        "uid": f"rs-{name}",
        "controller": True,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta(
            name,
            space,
            ago=ago,
            labels=dict(labels or {}),
            annotations=dict(annotations or {}),
            **({"ownerReferences": [ref]} if owner else {}),
        ),
        "spec": {
            "containers": [{"name": "main", "image": "train:1", "resources": resources}],
            **({"nodeName": on} if on else {}),
            **spec,
        },
        "status": _running(ago) if on else _refused(ago, message),
    }


def _refused(ago: float, message: str) -> Tree:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    text = message or f"0/3 nodes are available: 3 Insufficient {GPU}."
    return {
        "phase": "Pending",
        "conditions": [{**condition, "message": text, "lastTransitionTime": at(ago)}],
    }


def _running(ago: float) -> Tree:
    state = {"running": {"startedAt": at(ago)}}
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": at(ago)}
    return {
        "phase": "Running",
        "startTime": at(ago),
        "conditions": [{"type": "PodScheduled", "status": "True"}, ready],
        "containerStatuses": [{"name": "main", "ready": True, "image": "i", "state": state}],
    }


def event(kind: str, name: str, reason: str, message: str, *, ago: float = 60.0, **more: Any) -> Tree:
    """By the autoscaler; on its status where the kind is ConfigMap."""
    space = more.get("space", {"ConfigMap": "kube-system", "Pod": "team-a"}.get(kind, ""))
    about = {"kind": kind, "name": name, "namespace": space, "uid": f"uid-{space}-{name}"}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": meta(f"{name}.{abs(hash((reason, message, ago))):x}"[:60], space or "default", ago=ago),
        "involvedObject": about,
        "reason": reason,
        "message": message,
        "type": more.get("type", "Normal"),
        "source": {"component": more.get("component", "cluster-autoscaler")},
        "firstTimestamp": at(more.get("first", ago)),
        "lastTimestamp": at(ago),
        "count": 1,
    }


# ---- the autoscaler's groups


def group(
    name: str, size: int = 0, most: int = 4, *, least: int = 0, target: int | None = None, **more: Any
) -> Tree:
    """One group of its status, as version 1.37 writes it."""
    up = {"status": more.get("up", "NoActivity"), "lastProbeTime": at(5), "lastTransitionTime": at(600)}
    if more.get("why"):
        up["backoffInfo"] = {"errorCode": more.get("code", "Other"), "errorMessage": more["why"]}
    unready = {"total": 0, "resourceUnready": more.get("dark", 0)}
    registered = {"total": size, "ready": more.get("ready", size), "notStarted": 0, "unready": unready}
    counts = {"registered": registered, "longUnregistered": 0, "unregistered": 0}
    return {
        "name": name,
        "health": {
            "status": more.get("health", "Healthy"),
            "nodeCounts": counts,
            "cloudProviderTarget": size if target is None else target,
            "minSize": least,
            "maxSize": most,
            "lastProbeTime": at(5),
            "lastTransitionTime": at(600),
        },
        "scaleUp": up,
        "scaleDown": {"status": more.get("down", "NoCandidates"), "lastProbeTime": at(5)},
    }


def status(*groups: Tree, ago: float = 5.0, state: str = "Running") -> Tree:
    written = datetime.fromtimestamp(NOW - ago, UTC)
    text = {
        "time": written.strftime("%Y-%m-%d %H:%M:%S.%f +0000 UTC"),
        "autoscalerStatus": state,
        "clusterWide": {"health": {"status": "Healthy"}},
        "nodeGroups": list(groups),
    }
    updated = written.strftime("%Y-%m-%d %H:%M:%S.%f000 +0000 UTC")
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": meta(
            "cluster-autoscaler-status",
            "kube-system",
            annotations={"cluster-autoscaler.kubernetes.io/last-updated": updated},
        ),
        "data": {"status": yaml.safe_dump(text)},
    }


# ---- objects of Cluster API and Karpenter


def deployment(
    name: str,
    size: int = 0,
    bounds: tuple[str, str] | None = None,
    *,
    hints: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    **more: Any,
) -> Tree:
    notes = {HINT + key: value for key, value in (hints or {}).items()}
    notes |= dict(zip((MINIMUM, MAXIMUM), bounds or (), strict=False))
    own = {"cluster.x-k8s.io/cluster-name": "c", DEPLOYMENT: name}
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineDeployment",
        "metadata": meta(name, "default", annotations=notes | more.get("annotations", {}), labels=own),
        "spec": {
            "clusterName": "c",
            "replicas": size,
            "template": {"metadata": {"labels": {**own, **(labels or {})}}, "spec": {}},
            **more.get("spec", {}),
        },
        "status": {"replicas": more.get("now", size), "conditions": more.get("conditions", [])},
    }


def machine(name: str, pool: str, *, on: str = "", ago: float = 3_600.0, **more: Any) -> Tree:
    conditions = [{"type": "NodeHealthy", "status": "True", "lastTransitionTime": at(ago)}] if on else []
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Machine",
        "metadata": meta(
            name,
            "default",
            ago=ago,
            labels={
                "cluster.x-k8s.io/cluster-name": "c",
                DEPLOYMENT: pool,
                SET: more.get("set", f"{pool}-nlp9v"),
            },
            annotations=more.get("annotations", {}),
            ownerReferences=[
                {
                    "apiVersion": "cluster.x-k8s.io/v1beta2",
                    "kind": "MachineSet",
                    "name": more.get("set", f"{pool}-nlp9v"),
                    "uid": f"set-{pool}",
                    "controller": True,
                }
            ],
        ),
        "spec": {"clusterName": "c", "providerID": f"fake://{name}" if on or more.get("is_made") else None},
        "status": {
            "phase": more.get("phase", "Running" if on else "Provisioning"),
            **({"nodeRef": {"kind": "Node", "name": on}} if on else {}),
            "conditions": more.get("conditions", conditions),
        },
    }


def node_pool(name: str, **more: Any) -> Tree:
    labels = more.get("labels", {"karpenter.k8s.aws/instance-gpu-count": "4"})
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": meta(name),
        "spec": {
            "template": {
                "metadata": {"labels": labels},
                "spec": {"requirements": more.get("requirements", [])},
            },
            "disruption": {
                "consolidationPolicy": "WhenEmptyOrUnderutilized",
                "consolidateAfter": more.get("after", "30s"),
                "budgets": [{"nodes": "100%"}],
            },
            "limits": more.get("limits", {}),
        },
        "status": {"conditions": [{"type": "Ready", "status": "True"}], "resources": {}},
    }


def node_claim(name: str, pool: str, on: str = "", *, ago: float = 3_600.0, **more: Any) -> Tree:
    done = [
        {"type": kind, "status": "True", "lastTransitionTime": at(ago - 5)}
        for kind in ("Launched", "Registered", "Initialized")
    ]
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": meta(name, ago=ago, labels={"karpenter.sh/nodepool": pool}),
        "spec": {"resources": {"requests": {GPU: "4"}}},
        "status": {
            **({"nodeName": on, "providerID": f"kwok://{on}"} if on else {}),
            "conditions": more.get("conditions", done if on else []),
            **({"lastPodEventTime": at(more["pods_moved"])} if "pods_moved" in more else {}),
        },
    }
