"""What the preview says of a job, against the embedded cluster's own queue, scheduler and job controller.

A job of which it says that it fits is placed whole, one that it calls pending is not, and after each change
that it offers it is."""

import asyncio
import copy
import re
from random import Random
from typing import Any

import msgspec

from cockpit.clock import ManualClock
from cockpit.kube.resource import (
    CLUSTER_QUEUES,
    JOBS,
    LOCAL_QUEUES,
    NODES,
    PODS,
    WORKLOADS,
)
from cockpit.model.finding import Change
from cockpit.sim.actors.controllers.garbage import Garbage
from cockpit.sim.actors.controllers.job.jobs import Jobs
from cockpit.sim.actors.queue.actor import QueueController
from cockpit.sim.actors.scheduler.actor import Scheduler
from cockpit.sim.cluster import install_definitions
from cockpit.sim.engine import ActorEngine
from cockpit.sim.resources import RESOURCE_FLAVORS
from cockpit.sim.server.assembly import assemble
from cockpit.sim.server.local_port import LocalPort
from cockpit.triage.context import ClusterView
from cockpit.triage.planned_start import planned_start
from tests.unit.triage.objects import NVIDIA, Tree, job, node, view_of

SPACE, CARD, QUEUE = "team-a", "card", "main"
LISTED = (NODES, PODS, JOBS, WORKLOADS, CLUSTER_QUEUES, LOCAL_QUEUES)
PUT = {each.kind: each for each in (*LISTED, RESOURCE_FLAVORS)}


class World:
    """A cluster in memory of the objects drawn for a seed."""

    def __init__(self) -> None:
        clock = ManualClock()
        self.operations = assemble(clock, Random(1)).operations
        install_definitions(self.operations)
        queue = QueueController(Random(2))
        self.operations.admissions.append(queue.admission())
        self.port = LocalPort(self.operations)
        actors = [Garbage((PODS, WORKLOADS, JOBS)), Jobs(), queue, Scheduler(Random(3))]
        self.engine = ActorEngine(LocalPort(self.operations), clock, Random(4), actors)

    async def begin(self, trees: list[Tree]) -> "World":
        await self.engine.start()
        for tree in trees:
            await self.put(tree)
        return self

    async def put(self, tree: Tree) -> None:
        tree = copy.deepcopy(tree)
        resource, meta = PUT[tree["kind"]], tree["metadata"]
        for field in ("uid", "resourceVersion", "creationTimestamp"):
            meta.pop(field, None)
        await self.port.create(resource, tree, meta.get("namespace", ""))
        if resource == NODES:
            taints = {"spec": {"taints": tree["spec"].get("taints") or None}}
            await self.port.patch(NODES, "", meta["name"], taints)
        await self.engine.advance(2.0)
        for pod in await self.port.list(PODS, SPACE):  # no kubelet is there: what has a node runs
            if pod["spec"].get("nodeName") and pod["status"].get("phase") != "Running":
                ready = [*pod["status"].get("conditions", ()), {"type": "Ready", "status": "True"}]
                running = {"status": {"phase": "Running", "conditions": ready}}
                await self.port.patch(PODS, SPACE, pod["metadata"]["name"], running, subresource="status")
        await self.engine.advance(2.0)

    async def view(self) -> ClusterView:
        """What a cockpit has in its tables, with what it reads for a form."""
        trees: list[Tree] = []
        for resource in LISTED:
            named = {"apiVersion": resource.api_version, "kind": resource.kind}
            trees += [{**named, **one} for one in await self.port.list(resource)]
        seen = view_of(trees)
        flavors = await self.port.list(RESOURCE_FLAVORS)
        return msgspec.structs.replace(seen, trees={**seen.trees, ("ResourceFlavor", ""): flavors})

    async def is_placed(self, manifest: Tree) -> bool:
        """Submit it and see whether each of its pods has a node."""
        await self.put(manifest)
        await self.engine.advance(5.0)
        name = manifest["metadata"]["name"]
        pods = [
            pod
            for pod in await self.port.list(PODS, SPACE)
            if pod["metadata"].get("labels", {}).get("job-name") == name
        ]
        wanted = manifest["spec"]["parallelism"]
        return len(pods) == wanted and all(pod["spec"].get("nodeName") for pod in pods)

    async def end(self, name: str) -> None:
        """A job ends, and with it its pods: no kubelet is there to end them."""
        await self.port.delete(JOBS, SPACE, name)
        loose = {"metadata": {"finalizers": None}}
        for resource in (PODS, WORKLOADS):
            for tree in await self.port.list(resource, SPACE):
                if tree["metadata"]["name"].startswith((f"{name}-", f"job-{name}-")):
                    await self.port.patch(resource, SPACE, tree["metadata"]["name"], loose)
                    await self.port.delete(resource, SPACE, tree["metadata"]["name"], grace_seconds=0)
        await self.engine.advance(3.0)

    async def do(self, change: Change, manifest: Tree) -> Tree:
        """Do a change; the manifest as it is submitted then."""
        for step in change.steps:
            manifest = await self.do(step, manifest)
        if change.steps:
            return manifest
        manifest = copy.deepcopy(manifest)
        spec, words = manifest["spec"]["template"]["spec"], list(change.command)
        assert change.target is not None
        match change.kind:
            case "wait_for" | "suspend" | "kill":
                for name in re.findall(rf"{SPACE}/([\w-]+)", change.words):
                    await self.end(name)
            case "fewer_gpus":
                asked = {
                    **spec["containers"][0]["resources"]["limits"],
                    NVIDIA: words[words.index("--gpus") + 1],
                }
                spec["containers"][0]["resources"] = {"limits": asked, "requests": asked}
            case "fewer_members":
                count = int(words[words.index("--workers") + 1])
                manifest["spec"] |= {"parallelism": count, "completions": count}
            case "uncordon_node":
                for name in change.words.removeprefix("uncordon ").split(", "):
                    await self.port.patch(NODES, "", name, {"spec": {"unschedulable": None}})
            case "drop_selector":
                spec.pop("nodeSelector")
            case "other_pool":
                spec["nodeSelector"] = {CARD: change.target.name}
            case "tolerate":
                spec["tolerations"] = [{"key": "team", "operator": "Exists"}]
            case "more_nodes":
                await self.more_nodes(change.target.name, change.words)
            case "raise_quota":
                await self.raise_quota(change.target.name, change.words)
            case "resume_queue":
                patch = {"spec": {"stopPolicy": "None"}}
                await self.port.patch(CLUSTER_QUEUES, "", change.target.name, patch)
            case "other_queue":
                manifest["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = change.target.name
            case _:
                raise AssertionError(change)
        await self.engine.advance(5.0)
        return manifest

    async def more_nodes(self, like_name: str, words: str) -> None:
        """As many nodes as the words count, like that one."""
        like = await self.port.get(NODES, "", like_name)
        for number in range(int(words.partition(" ")[0])):
            name = f"more-{number}"
            labels = {**like["metadata"]["labels"], "kubernetes.io/hostname": name}
            metadata = {"name": name, "labels": labels}
            spec = {"taints": like["spec"].get("taints")}
            made = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec}
            await self.put({**made, "status": like["status"]})

    async def raise_quota(self, name: str, words: str) -> None:
        """The GPU quota of the flavors that the words name."""
        tree = await self.port.get(CLUSTER_QUEUES, "", name)
        groups = tree["spec"]["resourceGroups"]
        for flavor, amount in re.findall(r"in flavor (\w+) to (\d+)", words):
            for one in (each for each in groups[0]["flavors"] if each["name"] == flavor):
                for row in (each for each in one["resources"] if each["name"] == NVIDIA):
                    row["nominalQuota"] = amount
        await self.port.patch(CLUSTER_QUEUES, "", name, {"spec": {"resourceGroups": groups}})


def queue(name: str, quota: dict[str, int], **spec: Any) -> list[Tree]:
    flavors = [
        {
            "name": flavor,
            "resources": [
                {"name": "cpu", "nominalQuota": "1000"},
                {"name": NVIDIA, "nominalQuota": str(count)},
            ],
        }
        for flavor, count in quota.items()
    ]
    group = {"coveredResources": ["cpu", NVIDIA], "flavors": flavors}
    version = CLUSTER_QUEUES.api_version
    return [
        {
            "apiVersion": version,
            "kind": "ClusterQueue",
            "metadata": {"name": f"of-{name}"},
            "spec": {"namespaceSelector": {}, "resourceGroups": [group], **spec},
        },
        {
            "apiVersion": version,
            "kind": "LocalQueue",
            "metadata": {"name": name, "namespace": SPACE},
            "spec": {"clusterQueue": f"of-{name}"},
        },
    ]


def asks(name: str, members: int, gpus: int, in_queue: str, **spec: Any) -> Tree:
    made = job(name, members, gpus, restartPolicy="Never", **spec)
    del made["status"]
    if in_queue:
        made["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": in_queue}
        made["spec"]["suspend"] = True
    return made


def drawn(seed: int) -> tuple[list[Tree], Tree]:
    """Nodes of two kinds, queues with little quota, jobs that hold some of both, and the job of the form."""
    rng = Random(seed)
    trees: list[Tree] = []
    for number in range(rng.randint(1, 4)):
        spec: Tree = {"unschedulable": True} if rng.random() < 0.2 else {}
        if rng.random() < 0.15:
            spec["taints"] = [{"key": "team", "value": "b", "effect": "NoSchedule"}]
        card = rng.choice(("h100", "a100"))
        trees.append(node(f"n{number}", rng.choice((2, 4, 8)), labels={CARD: card}, **spec))
    version = RESOURCE_FLAVORS.api_version
    for card in ("h100", "a100"):
        spec = {"nodeLabels": {CARD: card}}
        trees += [{"apiVersion": version, "kind": "ResourceFlavor", "metadata": {"name": card}, "spec": spec}]
    has_queue = rng.random() < 0.75
    if has_queue:
        cards = rng.choice((["h100"], ["a100"], ["h100", "a100"]))
        stop = {"stopPolicy": "Hold"} if rng.random() < 0.15 else {}
        trees += queue(QUEUE, {card: rng.choice((2, 4, 8, 16)) for card in cards}, **stop)
        if rng.random() < 0.3:
            trees += queue("spare", {rng.choice(("h100", "a100")): 8})
    for number in range(rng.randint(0, 3)):
        where = QUEUE if has_queue and rng.random() < 0.6 else ""
        trees.append(asks(f"holds-{number}", rng.randint(1, 2), rng.choice((1, 2, 4)), where))
    spec = {"nodeSelector": {CARD: rng.choice(("h100", "a100"))}} if rng.random() < 0.3 else {}
    wanted = QUEUE if has_queue else ""
    return trees, asks("new", rng.randint(1, 3), rng.choice((1, 2, 4, 8)), wanted, **spec)


async def judged(seed: int) -> tuple[bool, tuple[str, ...]]:
    """Whether it starts as the preview says, and the kinds of change that were tried."""
    trees, manifest = drawn(seed)
    world = await World().begin(trees)
    found = planned_start(manifest, await world.view(), SPACE, most=4)
    assert found is not None
    if found.answer.is_sure:
        assert await world.is_placed(manifest) == found.starts, (found.walls, found.answer.missing)
    for change in found.changes:
        again = await World().begin(trees)
        after = await again.do(change, manifest)
        assert await again.is_placed(after), change.words
    return found.starts, tuple(change.kind for change in found.changes)


def test_what_the_preview_promises_a_submit_does() -> None:
    found = []
    for seed in range(60):
        try:
            found.append(asyncio.run(judged(seed)))
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
    assert 3 < sum(starts for starts, _ in found) < 57
    kinds = {kind for _, kinds in found for kind in kinds}
    assert {"raise_quota", "fewer_gpus", "more_nodes"} <= {step for kind in kinds for step in kind.split()}
    assert any(" " in kind for kind in kinds), "no two changes together"
