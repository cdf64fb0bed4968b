"""A situation on the embedded server: its own scheduler reads it by the port and places the pod, or not."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from random import Random

from cockpit.clock import ManualClock
from cockpit.kube.resource import EVENTS, NAMESPACES, NODES, PODS, Resource
from cockpit.sim.actors.scheduler.actor import Scheduler
from cockpit.sim.engine import ActorEngine
from cockpit.sim.resources import (
    BUDGETS,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PRIORITY_CLASSES,
    STORAGE_CLASSES,
)
from cockpit.sim.server.assembly import assemble
from cockpit.sim.server.local_port import LocalPort
from tests.differential.scheduling_situations import SPACE, Situation, Tree
from tests.differential.scheduling_wakes import SPACES, Create, Merge, Step, Wake

PRIORITIES = (("words-high", "PreemptLowerPriority"), ("words-never", "Never"))
RESOURCES: dict[str, Resource] = {
    each.kind: each
    for each in (
        NODES,
        PODS,
        PERSISTENT_VOLUME_CLAIMS,
        PERSISTENT_VOLUMES,
        STORAGE_CLASSES,
        BUDGETS,
        PRIORITY_CLASSES,
        NAMESPACES,
    )
}


def priority_class(name: str, policy: str) -> Tree:
    """A class above the default of 0."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": 1000,
        "preemptionPolicy": policy,
    }


async def _put(port: LocalPort, tree: Tree) -> None:
    """Create an object with its status; a node without the mark that admission gives new ones."""
    resource = RESOURCES[tree["kind"]]
    metadata = tree["metadata"]
    space = metadata.get("namespace", "")
    made = await port.create(resource, tree, space)
    if resource == NODES:
        wanted = tree["spec"].get("taints") or None
        await port.patch(resource, "", metadata["name"], {"spec": {"taints": wanted}})
    elif "status" in tree and made.get("status") != tree["status"]:
        patch = {"status": tree["status"]}
        await port.patch(resource, space, metadata["name"], patch, subresource="status")


async def _step(port: LocalPort, step: Step) -> None:
    if isinstance(step, Create):
        await _put(port, step.tree)
        return
    resource, space = RESOURCES[step.kind], SPACES.get(step.kind, "")
    if isinstance(step, Merge):
        await port.patch(resource, space, step.name, step.patch, subresource=step.subresource)
    else:
        await port.delete(resource, space, step.name, grace_seconds=0)


async def _play(situation: Situation, steps: Sequence[Step] = ()) -> LocalPort:
    clock = ManualClock()
    operations = assemble(clock, Random(1)).operations
    port = LocalPort(operations)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}
    await port.create(NAMESPACES, namespace)
    for name, policy in PRIORITIES:
        await port.create(PRIORITY_CLASSES, priority_class(name, policy))
    for tree in (*situation.nodes, *situation.objects, *situation.placed):
        await _put(port, tree)
    for name in situation.going:
        await port.delete(PERSISTENT_VOLUME_CLAIMS, SPACE, name)
    engine = ActorEngine(LocalPort(operations), clock, Random(1), [Scheduler(Random(1))])
    await engine.start()
    for tree in situation.waiting:
        await _put(port, tree)
        await engine.advance(0)
    await _put(port, situation.pod)
    await engine.advance(0)
    for step in steps:
        await _step(port, step)
        await engine.advance(0)
    if steps:
        await engine.advance(3.0)
    await engine.stop()
    return port


def said(pod: Tree) -> tuple[str, str]:
    """Node and sentence of a pod, as far as the scheduler has spoken."""
    conditions = pod["status"].get("conditions") or ()
    about: Tree = next((c for c in conditions if c["type"] == "PodScheduled"), {})
    return pod["spec"].get("nodeName", ""), about.get("message", "")


def embedded(situation: Situation) -> Tree:
    """The pod in question after the embedded scheduler has looked at it once."""

    async def ask() -> Tree:
        port = await _play(situation)
        return await port.get(PODS, SPACE, situation.pod["metadata"]["name"])

    return asyncio.run(ask())


def woken(wake: Wake) -> tuple[str, str]:
    """What the embedded scheduler said at first, and the node that it chose after the steps."""

    async def ask() -> tuple[str, str]:
        name = wake.situation.pod["metadata"]["name"]
        before = await (await _play(wake.situation)).get(PODS, SPACE, name)
        after = await (await _play(wake.situation, wake.steps)).get(PODS, SPACE, name)
        return said(before)[1], said(after)[0]

    return asyncio.run(ask())


async def played(situation: Situation) -> tuple[list[Tree], list[Tree]]:
    """Pods and events after the embedded scheduler has looked at a situation once."""
    port = await _play(situation)
    return await port.list(PODS, SPACE), await port.list(EVENTS, SPACE)


def recorded() -> dict[str, list[str]]:
    """Node and sentence that kube-scheduler 1.36.3 gave for each situation; the real test keeps it true."""
    found: dict[str, list[str]] = json.loads((Path(__file__).parent / "kube_scheduler_1_36.json").read_text())
    return found
