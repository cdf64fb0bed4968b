"""A cluster in memory with nothing but storage, jobs and the queue controller on it."""

from random import Random
from typing import Any

from cockpit.clock import ManualClock
from cockpit.kube.resource import (
    CLUSTER_QUEUES,
    EVENTS,
    JOBS,
    LOCAL_QUEUES,
    MPIJOBS,
    NAMESPACES,
    WORKLOADS,
    Resource,
)
from cockpit.sim.actors.queue.actor import QueueController
from cockpit.sim.actors.queue.context import KueueSettings
from cockpit.sim.engine import ActorEngine
from cockpit.sim.port import Tree
from cockpit.sim.resources import COHORTS, PRIORITY_CLASSES, RESOURCE_FLAVORS, WORKLOAD_PRIORITY_CLASSES
from cockpit.sim.server.kinds import Kinds, ServedKind
from cockpit.sim.server.local_port import LocalPort
from cockpit.sim.server.operations import Operations
from cockpit.sim.server.storage import Storage

GPU = "nvidia.com/gpu"
WITH_STATUS = (NAMESPACES, CLUSTER_QUEUES, LOCAL_QUEUES, WORKLOADS, JOBS, MPIJOBS, COHORTS)
PLAIN = (EVENTS, RESOURCE_FLAVORS, PRIORITY_CLASSES, WORKLOAD_PRIORITY_CLASSES)


class Scene:
    """`await scene.begin()`, make objects, `await scene.pass_(seconds)`, look at them."""

    def __init__(self, settings: KueueSettings | None = None) -> None:
        self.clock = ManualClock()
        kinds = Kinds(
            [ServedKind(resource=one, has_status=True, has_generation=True) for one in WITH_STATUS]
            + [ServedKind(resource=one) for one in PLAIN]
        )
        operations = Operations(Storage(), kinds, self.clock, Random(7))
        self.port = LocalPort(operations)
        self.controller = QueueController(Random(8), settings)
        operations.admissions.append(self.controller.admission())
        self.engine = ActorEngine(LocalPort(operations), self.clock, Random(9), [self.controller])

    async def begin(self, *namespaces: str) -> "Scene":
        for name in namespaces or ("team-a",):
            metadata = {"name": name, "labels": {"kubernetes.io/metadata.name": name}}
            await self.make(NAMESPACES, {"metadata": metadata})
        await self.engine.start()
        return self

    async def make(self, resource: Resource, tree: Tree) -> Tree:
        full = {"apiVersion": resource.api_version, "kind": resource.kind, **tree}
        return await self.port.create(resource, full, tree["metadata"].get("namespace", ""))

    async def pass_(self, seconds: float = 1.0) -> None:
        await self.engine.advance(seconds)

    async def flavor(self, name: str = "h100", **spec: Any) -> None:
        await self.make(RESOURCE_FLAVORS, {"metadata": {"name": name}, "spec": spec})

    async def queue(self, name: str = "research", *, gpus: int = 8, **spec: Any) -> None:
        quota: Tree = {key: spec.pop(key) for key in ("borrowingLimit", "lendingLimit") if key in spec}
        await self.make(CLUSTER_QUEUES, cluster_queue(name, gpus=gpus, quota=quota, **spec))

    async def door(self, name: str = "main", *, namespace: str = "team-a", queue: str = "research") -> None:
        metadata = {"name": name, "namespace": namespace}
        await self.make(LOCAL_QUEUES, {"metadata": metadata, "spec": {"clusterQueue": queue}})

    async def usual(self, *, gpus: int = 8, **spec: Any) -> None:
        """Flavor h100, ClusterQueue research, LocalQueue main in team-a."""
        await self.flavor()
        await self.queue(gpus=gpus, **spec)
        await self.door()

    async def job(self, name: str, gpus: int = 4, **more: Any) -> Tree:
        return await self.make(JOBS, job(name, gpus=gpus, **more))

    async def change(self, resource: Resource, namespace: str, name: str, **spec: Any) -> None:
        await self.port.patch(resource, namespace, name, {"spec": spec})

    async def job_status(self, name: str, namespace: str = "team-a", **status: Any) -> None:
        await self.port.patch(JOBS, namespace, name, {"status": status}, subresource="status")

    async def workload(self, job_name: str, namespace: str = "team-a") -> Tree:
        found = [
            one
            for one in await self.port.list(WORKLOADS, namespace)
            if any(owner["name"] == job_name for owner in one["metadata"].get("ownerReferences") or ())
        ]
        assert len(found) == 1, f"{len(found)} workloads of {job_name}"
        return found[0]

    async def words(self, job_name: str, namespace: str = "team-a") -> list[str]:
        """Conditions of a job's Workload as `type status reason | message`."""
        return words_of(await self.workload(job_name, namespace))

    async def events(self, reason: str = "") -> list[str]:
        """Events as `type reason Kind/name [component] message`, in the order in which they were made."""
        trees = sorted(
            await self.port.list(EVENTS), key=lambda tree: int(tree["metadata"]["resourceVersion"])
        )
        return [
            f"{one['type']} {one['reason']} {one['involvedObject']['kind']}/{one['involvedObject']['name']} "
            f"[{one['source']['component']}] {one['message']}"
            for one in trees
            if reason in ("", one["reason"])
        ]


def words_of(tree: Tree) -> list[str]:
    return [
        f"{one['type']} {one['status']} {one['reason']} | {one['message']}"
        for one in (tree.get("status") or {}).get("conditions") or ()
    ]


def cluster_queue(
    name: str, *, gpus: int, quota: Tree | None = None, flavors: tuple[str, ...] = ("h100",), **spec: Any
) -> Tree:
    rows = [
        {"name": one, "resources": [{"name": GPU, "nominalQuota": str(gpus), **(quota or {})}]}
        for one in flavors
    ]
    groups = [{"coveredResources": [GPU], "flavors": rows}]
    return {"metadata": {"name": name}, "spec": {"namespaceSelector": {}, "resourceGroups": groups, **spec}}


def job(
    name: str,
    *,
    gpus: int,
    namespace: str = "team-a",
    queue: str = "main",
    priority: str = "",
    pods: int = 1,
    pod: Tree | None = None,
) -> Tree:
    labels = {"kueue.x-k8s.io/queue-name": queue}
    if priority:
        labels["kueue.x-k8s.io/priority-class"] = priority
    container = {"name": "main", "image": "train:1", "resources": {"limits": {GPU: str(gpus)}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container], **(pod or {})}}
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"suspend": False, "parallelism": pods, "completions": pods, "template": template},
    }
