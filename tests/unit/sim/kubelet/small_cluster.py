"""A cluster in memory for kubelets: merge patches, versions, graceful deletion, and what happened to whom."""

import copy
from random import Random
from typing import Any

from cockpit.clock import ManualClock
from cockpit.kube.resource import EVENTS, NODES, PODS, Resource
from cockpit.sim.actors.kubelet.actor import MARK, Kubelets
from cockpit.sim.engine import Engine
from cockpit.sim.port import Change, ChangeType, Patch, PatchType, PortError, Sink, Tree
from cockpit.sim.times import rfc3339

START = ManualClock().now()


class MemoryPort:
    """Enough of an API server for one actor: no rights, no defaults."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.objects: dict[tuple[Resource, str, str], Tree] = {}
        self.sinks: list[tuple[Resource, Sink]] = []
        self.version = 0
        self.history: list[tuple[float, str, str, Tree]] = []
        self.refusals: list[PortError] = []

    def _tell(self, change: ChangeType, resource: Resource, tree: Tree) -> None:
        name = tree["metadata"]["name"]
        if resource is PODS or resource is NODES:
            self.history.append((round(self.clock.now() - START, 3), change.value, name, tree))
        for watched, sink in self.sinks:
            if watched == resource:
                sink(Change(change, resource, tree))

    def put(self, resource: Resource, tree: Tree) -> Tree:
        """Store a new version of an object."""
        self.version += 1
        tree = copy.deepcopy(tree)
        metadata = tree["metadata"]
        key = (resource, metadata.get("namespace", ""), metadata["name"])
        metadata["resourceVersion"] = str(self.version)
        metadata.setdefault("uid", f"uid-{metadata['name']}")
        metadata.setdefault("creationTimestamp", rfc3339(self.clock.now()))
        tree.setdefault("kind", resource.kind)
        tree.setdefault("apiVersion", resource.api_version)
        known = key in self.objects
        self.objects[key] = tree
        self._tell(ChangeType.MODIFIED if known else ChangeType.ADDED, resource, tree)
        return tree

    async def get(self, resource: Resource, namespace: str, name: str) -> Tree:
        try:
            return self.objects[(resource, namespace, name)]
        except KeyError:
            raise PortError(404, "NotFound", f'{resource.label} "{name}" not found') from None

    async def list(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> list[Tree]:
        return [
            tree for (kind, space, _), tree in self.objects.items() if kind == resource and space == namespace
        ]

    async def follow(self, resource: Resource, sink: Sink) -> None:
        for (kind, _, _), tree in list(self.objects.items()):
            if kind == resource:
                sink(Change(ChangeType.ADDED, resource, tree))
        self.sinks.append((resource, sink))

    async def create(self, resource: Resource, tree: Tree, namespace: str = "") -> Tree:
        key = (resource, namespace, tree["metadata"]["name"])
        if key in self.objects:
            raise PortError(409, "AlreadyExists", "it is there")
        return self.put(resource, tree)

    async def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Patch,
        *,
        type: PatchType = PatchType.MERGE,  # noqa: A002
        subresource: str = "",
    ) -> Tree:
        assert isinstance(patch, dict) and type is PatchType.MERGE
        if self.refusals:
            raise self.refusals.pop(0)
        tree = await self.get(resource, namespace, name)
        wanted = patch.get("metadata", {}).get("resourceVersion")
        if wanted and wanted != tree["metadata"]["resourceVersion"]:
            raise PortError(409, "Conflict", "the object has been modified")
        return self.put(resource, _merged(tree, patch))

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        version: str = "",
        grace_seconds: int | None = None,
        propagation: str = "",
    ) -> None:
        tree = await self.get(resource, namespace, name)
        if uid and uid != tree["metadata"]["uid"]:
            raise PortError(409, "Conflict", "another uid")
        if resource is PODS and grace_seconds != 0 and tree["spec"].get("nodeName"):
            grace = grace_seconds
            if grace is None:
                grace = int(tree["spec"].get("terminationGracePeriodSeconds", 30))
            marks = {
                "deletionTimestamp": rfc3339(self.clock.now() + grace),
                "deletionGracePeriodSeconds": grace,
            }
            self.put(resource, _merged(tree, {"metadata": marks}))
            return
        del self.objects[(resource, namespace, name)]
        self._tell(ChangeType.DELETED, resource, tree)

    async def bind(self, namespace: str, pod: str, node: str, *, uid: str = "") -> None:
        raise NotImplementedError

    async def evict(self, namespace: str, pod: str, *, grace_seconds: int | None = None) -> None:
        raise NotImplementedError

    async def close(self) -> None:
        self.sinks.clear()


def _merged(tree: Tree, patch: Tree) -> Tree:
    merged = dict(tree)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = _merged(merged[key], value)
        else:
            merged[key] = value
    return merged


class SmallCluster:
    """One engine, one clock, kubelets; words to say what a test wants to say."""

    def __init__(self, seed: int = 7, **options: Any) -> None:
        self.clock = ManualClock()
        self.port = MemoryPort(self.clock)
        self.kubelets = Kubelets(random=Random(seed), **options)
        self.engine = Engine(self.port, self.clock, Random(seed), [self.kubelets])

    async def started(self) -> "SmallCluster":
        await self.engine.start()
        return self

    def node(self, name: str = "gpu-0", *, gpus: int = 8, runtime: str = "simulated", **marks: str) -> None:
        """A node with a mark; further annotations without their prefix, `_` for `-`."""
        annotations = {MARK: runtime}
        annotations |= {f"cockpit.dev/{key.replace('_', '-')}": value for key, value in marks.items()}
        room = {"cpu": "64", "memory": "512Gi", "pods": "110", "ephemeral-storage": "1Ti"}
        if gpus:
            room["nvidia.com/gpu"] = str(gpus)
        self.port.put(
            NODES,
            {
                "metadata": {"name": name, "annotations": annotations},
                "status": {"capacity": room, "allocatable": room},
            },
        )

    def pod(self, name: str = "train", **fields: Any) -> Tree:
        """A bound pod of one container `main`; see `pod_tree`."""
        return self.port.put(PODS, pod_tree(name, **fields))

    def annotate(self, resource: Resource, name: str, namespace: str = "", **marks: str | None) -> None:
        """Set or take annotations, written as in `node`."""
        tree = self.port.objects[(resource, namespace, name)]
        changes = {f"cockpit.dev/{key.replace('_', '-')}": value for key, value in marks.items()}
        self.port.put(resource, _merged(tree, {"metadata": {"annotations": changes}}))

    async def pass_(self, seconds: float) -> None:
        """Let time pass."""
        await self.engine.advance(seconds)

    async def delete(self, name: str = "train", grace_seconds: int | None = None) -> None:
        """Delete a pod, as kubectl does."""
        await self.port.delete(PODS, "a", name, grace_seconds=grace_seconds)

    def status(self, name: str = "train") -> Tree:
        """The status of a pod."""
        status: Tree = self.port.objects[(PODS, "a", name)]["status"]
        return status

    def main(self, name: str = "train") -> Tree:
        """The status of a pod's first container."""
        container: Tree = self.status(name)["containerStatuses"][0]
        return container

    def condition(self, kind: str, name: str = "train") -> Tree:
        """One condition of a pod."""
        return next(one for one in self.status(name)["conditions"] if one["type"] == kind)

    def exists(self, name: str = "train") -> bool:
        """True while the pod's object is there."""
        return (PODS, "a", name) in self.port.objects

    def events(self, name: str = "train") -> list[tuple[str, str, str]]:
        """(type, reason, message) of the events about an object, in their order; repeated ones once."""
        return [
            (tree["type"], tree["reason"], tree["message"])
            for (kind, _, _), tree in self.port.objects.items()
            if kind == EVENTS and tree["involvedObject"]["name"] == name
        ]

    def reasons(self, name: str = "train") -> list[str]:
        """Reasons of the events."""
        return [reason for _, reason, _ in self.events(name)]

    def states(self, name: str = "train") -> list[tuple[str, str]]:
        """(phase, state of the first container) of a pod over time, each change once."""
        seen: list[tuple[str, str]] = []
        for _, _, who, tree in self.port.history:
            status = tree.get("status", {})
            if who != name or "phase" not in status:
                continue
            line = (status["phase"], _word(status.get("containerStatuses", [])))
            if not seen or seen[-1] != line:
                seen.append(line)
        return seen


def _word(containers: list[Tree]) -> str:
    if not containers:
        return "-"
    state = containers[0]["state"]
    for kind in ("waiting", "terminated"):
        if kind in state:
            return str(state[kind]["reason"])
    return "Running"


def pod_tree(
    name: str = "train",
    *,
    node: str = "gpu-0",
    restart: str = "Never",
    gpus: int = 0,
    container: Tree | None = None,
    init: list[Tree] | None = None,
    spec: Tree | None = None,
    requests: Tree | None = None,
    **marks: str,
) -> Tree:
    """A pod in namespace `a`; annotations as keywords without their prefix, `_` for `-`, `__` for `.`."""
    resources: Tree = {"requests": dict(requests)} if requests else {}
    if gpus:
        resources = {**resources, "limits": {"nvidia.com/gpu": str(gpus)}}
        resources["requests"] = {**resources.get("requests", {}), "nvidia.com/gpu": str(gpus)}
    main = {"name": "main", "image": "pytorch/pytorch:2.9", "resources": resources, **(container or {})}
    annotations = {
        f"cockpit.dev/{key.replace('__', '.').replace('_', '-')}": value for key, value in marks.items()
    }
    tree: Tree = {
        "metadata": {"name": name, "namespace": "a", "annotations": annotations},
        "spec": {"nodeName": node, "restartPolicy": restart, "containers": [main], **(spec or {})},
        "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}]},
    }
    if init:
        tree["spec"]["initContainers"] = init
    return tree
