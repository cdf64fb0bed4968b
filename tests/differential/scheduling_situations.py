"""Situations of nodes and pods that are put before the real kube-scheduler and before ours.

`says` is a piece that the sentence must hold, so that a situation cannot come to mean something else; ""
means that the pod is placed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Tree = dict[str, Any]

SPACE = "words"
ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"


@dataclass(frozen=True)
class Situation:
    """Nodes, pods that are placed, pods that wait (tried before), other objects, and the pod in question."""

    name: str
    says: str
    pod: Tree
    nodes: Sequence[Tree] = ()
    placed: Sequence[Tree] = ()
    waiting: Sequence[Tree] = ()
    objects: Sequence[Tree] = ()
    going: Sequence[str] = field(default=())
    """Names of claims that are deleted before the pod comes; the finalizer keeps them."""


def node(
    name: str,
    *,
    cpu: str = "8",
    memory: str = "32Gi",
    gpus: int = 0,
    pods: str = "110",
    labels: dict[str, str] | None = None,
    taints: Sequence[str] = (),
    cordoned: bool = False,
    more: dict[str, str] | None = None,
) -> Tree:
    """A node; taints as `key=value:Effect`."""
    allocatable = {"cpu": cpu, "memory": memory, "pods": pods, **(more or {})}
    if gpus:
        allocatable["nvidia.com/gpu"] = str(gpus)
    spec: Tree = {"taints": [_taint(text) for text in taints]}
    if cordoned:
        spec["unschedulable"] = True
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOST: name, **(labels or {})}},
        "spec": spec,
        "status": {"capacity": allocatable, "allocatable": allocatable},
    }


def _taint(text: str) -> Tree:
    pair, effect = text.rsplit(":", 1)
    key, _, value = pair.partition("=")
    return {"key": key, "value": value, "effect": effect}


def pod(
    name: str = "asked",
    *,
    cpu: str = "",
    memory: str = "",
    gpus: int = 0,
    on: str = "",
    labels: dict[str, str] | None = None,
    priority: str = "",
    ports: Sequence[Tree] = (),
    claim: str = "",
    more: dict[str, str] | None = None,
    **spec: Any,
) -> Tree:
    """A pod; `on` puts it on a node without the scheduler's doing."""
    requests = dict(more or {})
    if cpu:
        requests["cpu"] = cpu
    if memory:
        requests["memory"] = memory
    if gpus:
        requests["nvidia.com/gpu"] = str(gpus)
    limits = {key: value for key, value in requests.items() if "/" in key or key.startswith("hugepages-")}
    container: Tree = {
        "name": "main",
        "image": "example/train:1",
        "resources": {"requests": requests, "limits": limits},
    }
    if ports:
        container["ports"] = list(ports)
    body: Tree = {"containers": [container], "terminationGracePeriodSeconds": 30, **spec}
    if on:
        body["nodeName"] = on
    if priority:
        body["priorityClassName"] = priority
    if claim:
        body["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": SPACE, "labels": labels or {}},
        "spec": body,
    }


def port(number: int, address: str = "", protocol: str = "TCP") -> Tree:
    """A host port."""
    one: Tree = {"containerPort": number, "hostPort": number, "protocol": protocol}
    return {**one, "hostIP": address} if address else one


def near(app: str, key: str = HOST, *, away: bool = False, **more: Any) -> Tree:
    """Required (anti-)affinity to pods labelled app=`app`."""
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **more}
    kind = "podAntiAffinity" if away else "podAffinity"
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def on_nodes(*terms: Tree) -> Tree:
    """Required node affinity."""
    selector = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}


def named(*names: str) -> Tree:
    """A field requirement on the node's name."""
    return {"key": "metadata.name", "operator": "In", "values": list(names)}


def spread(app: str, key: str = ZONE, **more: Any) -> list[Tree]:
    """A hard constraint with a skew of one."""
    one = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
    return [{**one, "labelSelector": {"matchLabels": {"app": app}}, **more}]


def claim(
    name: str,
    *,
    storage_class: str = "",
    volume: str = "",
    phase: str = "Pending",
    mode: str = "ReadWriteOnce",
) -> Tree:
    """A claim; with a volume it is bound."""
    spec: Tree = {
        "accessModes": [mode],
        "resources": {"requests": {"storage": "10Gi"}},
        "storageClassName": storage_class,
    }
    metadata: Tree = {"name": name, "namespace": SPACE, "finalizers": ["kubernetes.io/pvc-protection"]}
    if volume:
        spec["volumeName"] = volume
        metadata["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        phase = "Bound" if phase == "Pending" else phase
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": phase},
    }


def volume(
    name: str,
    *,
    zone: str = "",
    nodes: Sequence[str] = (),
    storage_class: str = "",
    size: str = "20Gi",
    phase: str = "Available",
) -> Tree:
    """A volume, labelled with a zone or reachable from some nodes only."""
    spec: Tree = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": size},
        "storageClassName": storage_class,
        "csi": {"driver": "csi.example.com", "volumeHandle": name},
    }
    if nodes:
        term = {"matchExpressions": [{"key": HOST, "operator": "In", "values": list(nodes)}]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": {ZONE: zone} if zone else {}},
        "spec": spec,
        "status": {"phase": phase},
    }


def storage_class(name: str, *, provisioner: str, waits: bool = True, zones: Sequence[str] = ()) -> Tree:
    """A class, by default one that waits for the first consumer."""
    tree: Tree = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer" if waits else "Immediate",
    }
    if zones:
        expressions = [{"key": ZONE, "values": list(zones)}]
        tree["allowedTopologies"] = [{"matchLabelExpressions": expressions}]
    return tree


def budget(app: str, minimum: int) -> Tree:
    """A disruption budget that allows nothing (no controller computes it here)."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": f"keep-{app}", "namespace": SPACE},
        "spec": {"minAvailable": minimum, "selector": {"matchLabels": {"app": app}}},
    }
