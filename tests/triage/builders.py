"""Objects that scripts play with: pools of nodes, healthy neighbours, jobs and pods that ask for GPUs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cockpit.model.finding import Subject
from tests.triage.case import Tree
from tests.triage.stage import Stage

GPU = "nvidia.com/gpu"
HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
FAKE = {"kwok.x-k8s.io/node": "fake"}
"""The annotation by which kwok plays the kubelet of a node."""


@dataclass(frozen=True)
class Pool:
    """Nodes of one make. `word` is the value of their label `pool`."""

    word: str
    product: str
    nodes: tuple[str, ...]
    gpus: int


def taint(text: str) -> Tree:
    """`key=value:Effect` as an object."""
    pair, effect = text.rsplit(":", 1)
    key, _, value = pair.partition("=")
    return {"key": key, **({"value": value} if value else {}), "effect": effect}


def node(
    name: str,
    *,
    allocatable: Mapping[str, str],
    capacity: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[str] = (),
    is_cordoned: bool = False,
    is_played: bool = True,
) -> Tree:
    """A node; kwok plays its kubelet if `is_played`."""
    spec: Tree = {"taints": [taint(one) for one in taints]} if taints else {}
    if is_cordoned:
        spec["unschedulable"] = True
    has = {"cpu": "96", "memory": "1Ti", "pods": "110", "ephemeral-storage": "2Ti", **allocatable}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": dict(FAKE) if is_played else {},
            "labels": {
                HOST: name,
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/os": "linux",
                **(labels or {}),
            },
        },
        "spec": spec,
        "status": {"capacity": {**has, **(capacity or {})}, "allocatable": has},
    }


def pool(
    stage: Stage,
    *,
    count: int = 0,
    gpus: int = 8,
    labels: Mapping[str, str] | None = None,
    more: Mapping[str, str] | None = None,
    taints: Sequence[str] = (),
    cordoned: Sequence[int] = (),
    resource: str = GPU,
    zones: Sequence[str] = (),
) -> Pool:
    """Make nodes of one make; `count` 0 draws it. `cordoned` are indexes, `more` further amounts."""
    draw = stage.draw
    short, product = draw.product()
    word = draw.word(short) if gpus else draw.word("cpu", "general")
    names = tuple(f"{word}-{index:02d}" for index in range(1, (count or draw.number(2, 4)) + 1))
    offered = {resource: str(gpus)} if gpus else {}
    marks = {"pool": word, **({"nvidia.com/gpu.product": product} if gpus else {})}
    if gpus and resource == GPU:
        marks |= {"nvidia.com/gpu.present": "true", "nvidia.com/gpu.count": str(gpus)}
    trees = [
        node(
            name,
            allocatable={**offered, **(more or {})},
            labels={**marks, **({ZONE: zones[index % len(zones)]} if zones else {}), **(labels or {})},
            taints=taints,
            is_cordoned=index in cordoned,
        )
        for index, name in enumerate(names)
    ]
    stage.make(*trees)
    ready(stage, names)
    return Pool(word, product, names, gpus)


def ready(stage: Stage, names: Sequence[str]) -> None:
    """Until these nodes are Ready and the mark of a new node is gone from them."""
    for name in names:

        def is_its(tree: Tree, name: str = name) -> bool:
            return tree["metadata"]["name"] == name and is_up(tree)

        stage.until("nodes", is_its)


def is_up(node: Tree) -> bool:
    """Ready, and the mark of a new node is gone from it."""
    conditions = node["status"].get("conditions") or []
    is_ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
    marks = node["spec"].get("taints") or []
    return is_ready and not any(one["key"].startswith("node.kubernetes.io/not-ready") for one in marks)


def requests(
    *,
    gpus: int = 0,
    cpu: str = "",
    memory: str = "",
    more: Mapping[str, str] | None = None,
    resource: str = GPU,
) -> Tree:
    """A container's resources."""
    asked = {**({"cpu": cpu} if cpu else {}), **({"memory": memory} if memory else {}), **(more or {})}
    if gpus:
        asked[resource] = str(gpus)
    hard = {key: value for key, value in asked.items() if "/" in key or key.startswith("hugepages-")}
    return {"requests": asked, **({"limits": hard} if hard else {})}


def pod_spec(
    *,
    gpus: int = 0,
    cpu: str = "4",
    memory: str = "16Gi",
    more: Mapping[str, str] | None = None,
    resource: str = GPU,
    container: Tree | None = None,
    **spec: Any,
) -> Tree:
    """A pod's spec with one container; further fields as they stand."""
    one: Tree = {
        "name": "train",
        "image": "registry.example.com/ml/train:24.10",
        "resources": requests(gpus=gpus, cpu=cpu, memory=memory, more=more, resource=resource),
        **(container or {}),
    }
    return {"restartPolicy": "Never", "containers": [one], **spec}


def pod(name: str, spec: Tree, *, labels: Mapping[str, str] | None = None, **metadata: Any) -> Tree:
    """A pod in the case's namespace."""
    whole = {"name": name, **({"labels": dict(labels)} if labels else {}), **metadata}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": whole, "spec": spec}


def job(
    name: str,
    spec: Tree,
    *,
    pods: int = 1,
    labels: Mapping[str, str] | None = None,
    pod_labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **fields: Any,
) -> Tree:
    """A batch Job of `pods` pods; further fields of its spec as they stand."""
    marks: Tree = {}
    if pod_labels:
        marks["labels"] = dict(pod_labels)
    if annotations:
        marks["annotations"] = dict(annotations)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, **({"labels": dict(labels)} if labels else {})},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "backoffLimit": 4,
            "template": {"metadata": marks, "spec": spec} if marks else {"spec": spec},
            **fields,
        },
    }


def node_like(stage: Stage, name: str, key: str = "") -> Tree:
    """The node, once it has a taint with this key."""

    def is_it(tree: Tree) -> bool:
        marks = tree["spec"].get("taints") or []
        return tree["metadata"]["name"] == name and (not key or any(one["key"] == key for one in marks))

    return stage.until("nodes", is_it)


def elsewhere(stage: Stage) -> Tree:
    """The second cause, where one is drawn: fields of a pod's spec that select nodes which are not there."""
    return {"nodeSelector": {"gpu": "b300"}} if stage.draw.has_second else {}


def also_elsewhere(stage: Stage) -> tuple[str, ...]:
    """The row of `elsewhere`, where it was drawn."""
    return ("selector",) if stage.draw.has_second else ()


def ask(stage: Stage, spec: Tree, *, labels: Mapping[str, str] | None = None) -> Subject:
    """The subject: by draw a bare pod or a Job of one pod with this spec."""
    name = stage.draw.job()
    if stage.draw.chance(0.4):
        stage.make(pod(name, spec, labels=labels))
        return Subject("pod", stage.space, name)
    stage.make(job(name, spec, pod_labels=labels))
    return Subject("job", stage.space, name)


def run(
    stage: Stage, spec: Tree, *, on: str = "", pods: int = 1, labels: Mapping[str, str] | None = None
) -> str:
    """A healthy Job, on this node or where the scheduler puts it; its name, once its pods run."""
    name = stage.draw.job()
    there = {**spec, "nodeName": on} if on else spec
    stage.make(job(name, there, pods=pods, pod_labels=labels))

    def runs(tree: Tree) -> bool:
        status = tree.get("status") or {}
        return bool(tree["metadata"]["name"] == name and status.get("ready", 0) >= pods)

    stage.until("jobs.batch", runs)
    return name


def fill(stage: Stage, where: Pool, used: int | Sequence[int]) -> None:
    """A healthy Job of so many GPUs on each node of a pool (0 for none)."""
    each = [used] * len(where.nodes) if isinstance(used, int) else used
    for name, gpus in zip(where.nodes, each, strict=True):
        if gpus:
            run(stage, pod_spec(gpus=gpus, tolerations=[{"operator": "Exists"}]), on=name)


def neighbours(stage: Stage) -> None:
    """Others in the cluster, by draw: nodes without GPUs, and a healthy Job there."""
    if stage.draw.chance(0.5):
        plain = pool(stage, count=1, gpus=0)
        if stage.draw.chance(0.5):
            run(stage, pod_spec(cpu="8"), on=plain.nodes[0])


def unschedulable(tree: Tree, text: str = "") -> bool:
    """A pod that the scheduler refused with words that hold `text`."""
    for one in (tree.get("status") or {}).get("conditions") or []:
        if one["type"] == "PodScheduled" and one["status"] == "False":
            return text in one.get("message", "")
    return False


def refused(stage: Stage, text: str, subject: Subject) -> None:
    """Until the scheduler said so of a pod of the subject, in its condition and in an event."""

    def mine(name: str) -> bool:
        return name == subject.name or name.startswith(f"{subject.name}-")

    stage.until("pods", lambda one: mine(one["metadata"]["name"]) and unschedulable(one, text))
    told(stage, "FailedScheduling", text)


def told(stage: Stage, reason: str, text: str = "") -> Tree:
    """Until an event with this reason holds this text; the event."""
    return stage.until("events", lambda one: one["reason"] == reason and text in (one.get("message") or ""))
