"""A small embedded cluster with schedulers in it, moved by a stepped clock."""

import json
from collections.abc import Sequence
from random import Random
from typing import Any

from cockpit.clock import ManualClock
from cockpit.kube.resource import EVENTS, NAMESPACES, NODES, PODS, Resource
from cockpit.sim.actors.scheduler.actor import Scheduler
from cockpit.sim.actors.scheduler.gangs import GangRules
from cockpit.sim.actors.scheduler.native_gangs import PodGroupProtection
from cockpit.sim.actors.scheduler.pod_groups import GROUP_LABEL, PodGroupStatuses
from cockpit.sim.engine import Actor, ActorEngine
from cockpit.sim.port import Tree
from cockpit.sim.resources import BUDGETS, POD_GROUPS, PRIORITY_CLASSES
from cockpit.sim.server.assembly import assemble
from cockpit.sim.server.kinds import ServedKind
from cockpit.sim.server.local_port import LocalPort
from cockpit.sim.server.native_groups import pod_group_kind
from tests.differential.scheduling_situations import node

SPACE = "team"


def pod(name: str, *, gpus: int = 1, group: str = "", priority: str = "", **spec: Any) -> Tree:
    """A pod that asks for GPUs."""
    container: Tree = {"name": "main", "image": "example/train:1"}
    if gpus:
        container["resources"] = {"limits": {"nvidia.com/gpu": str(gpus)}}
    if priority:
        spec["priorityClassName"] = priority
    labels = {"app": name.rstrip("0123456789-")}
    if group:
        labels[GROUP_LABEL] = group
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": SPACE, "labels": labels},
        "spec": {"containers": [container], **spec},
    }


class Estate:
    """The cluster and its doors. Made by `started`."""

    def __init__(self, seed: int, schedulers: Sequence[Scheduler], others: Sequence[Actor] = ()) -> None:
        self.clock = ManualClock()
        self.operations = assemble(self.clock, Random(seed)).operations
        self.port = LocalPort(self.operations)
        self.schedulers = schedulers
        actors = [*schedulers, *others]
        self.engine = ActorEngine(LocalPort(self.operations), self.clock, Random(seed), actors)

    async def put(self, *trees: Tree) -> None:
        """Create objects; a node without the taint of a new one."""
        for tree in trees:
            resource = _RESOURCES[tree["kind"]]
            await self.port.create(resource, tree, tree["metadata"].get("namespace", ""))
            if resource == NODES:
                taints = tree["spec"].get("taints") or None
                await self.port.patch(NODES, "", tree["metadata"]["name"], {"spec": {"taints": taints}})

    async def get(self, name: str) -> Tree:
        return await self.port.get(PODS, SPACE, name)

    async def node_of(self, name: str) -> str:
        """Where a pod is; "" while it waits."""
        return str((await self.get(name))["spec"].get("nodeName") or "")

    async def nodes_of(self, *names: str) -> list[str]:
        return [await self.node_of(name) for name in names]

    async def said(self, name: str) -> str:
        """The sentence of PodScheduled."""
        return str((await self.condition(name)).get("message", ""))

    async def condition(self, name: str, type_: str = "PodScheduled") -> Tree:
        conditions = (await self.get(name))["status"].get("conditions") or ()
        found: Tree = next((c for c in conditions if c["type"] == type_), {})
        return found

    async def events(self, name: str) -> list[Tree]:
        """Events of one pod, oldest first."""
        found = await self.port.list(EVENTS, SPACE)
        return sorted(
            (e for e in found if e["involvedObject"]["name"] == name), key=lambda e: str(e["eventTime"])
        )

    async def end(self, name: str) -> None:
        """The pod is gone, as after its kubelet's word."""
        await self.port.delete(PODS, SPACE, name, grace_seconds=0)

    async def advance(self, seconds: float = 0.0) -> None:
        await self.engine.advance(seconds)

    async def history(self) -> str:
        """Every pod and event, as JSON."""
        trees = [*await self.port.list(PODS), *await self.port.list(EVENTS)]
        return json.dumps(trees, sort_keys=True)


async def started(seed: int = 1, *, gangs: GangRules | None = None, is_native: bool = False) -> Estate:
    """A cluster with a namespace and priorities; with `gangs` a second scheduler `gang-scheduler`.

    `is_native`: the gates of kube-scheduler's own groups are on.
    """
    schedulers = [Scheduler(Random(seed), is_native=is_native)]
    others: list[Actor] = [PodGroupProtection()] if is_native else []
    if gangs is not None:
        schedulers.append(Scheduler(Random(seed), "gang-scheduler", gangs))
        others.append(PodGroupStatuses())
    estate = Estate(seed, schedulers, others)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}
    await estate.port.create(NAMESPACES, namespace)
    for name, value in (("high", 1000), ("higher", 2000)):
        tree: Tree = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": value}
        await estate.port.create(PRIORITY_CLASSES, {**tree, "metadata": {"name": name}})
    if gangs is not None:
        estate.operations.kinds.add(
            ServedKind(resource=POD_GROUPS, singular="podgroup", is_custom=True, has_status=True)
        )
    if is_native:
        estate.operations.kinds.add(pod_group_kind())
    await estate.engine.start()
    return estate


def gpu_node(name: str, gpus: int = 1, **more: Any) -> Tree:
    """A node with GPUs."""
    return node(name, gpus=gpus, **more)


def pod_group(name: str, minimum: int, timeout_seconds: int = 20) -> Tree:
    """A group of at least `minimum` pods."""
    return {
        "apiVersion": POD_GROUPS.api_version,
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": SPACE},
        "spec": {"minMember": minimum, "scheduleTimeoutSeconds": timeout_seconds},
    }


_RESOURCES: dict[str, Resource] = {each.kind: each for each in (NODES, PODS, BUDGETS, POD_GROUPS)}
