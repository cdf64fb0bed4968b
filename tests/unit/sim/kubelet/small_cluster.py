"""A cluster in memory for kubelets, on a `MemoryPort`."""

from random import Random
from typing import Any

from cockpit.clock import ManualClock
from cockpit.kube.resource import EVENTS, NODES, PODS, Resource
from cockpit.sim.actors.kubelet.actor import MARK, Kubelets
from cockpit.sim.engine import ActorEngine
from cockpit.sim.port import Tree
from tests.adapters.memory_port import MemoryPort, merged


class SmallCluster:
    """One engine, one clock, kubelets; words to say what a test wants to say."""

    def __init__(self, seed: int = 7, **options: Any) -> None:
        self.clock = ManualClock()
        self.port = MemoryPort(self.clock)
        self.kubelets = Kubelets(random=Random(seed), **options)
        self.engine = ActorEngine(self.port, self.clock, Random(seed), [self.kubelets])

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
        self.port.put(resource, merged(tree, {"metadata": {"annotations": changes}}))

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
