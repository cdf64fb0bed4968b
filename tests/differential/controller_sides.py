"""The two sides of a controller play: ours in this process, and an API server with the real controllers."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from random import Random
from typing import Any, TypeVar

from cockpit.clock import ManualClock
from cockpit.kube.resource import MPIJOBS, NAMESPACES, NODES, PODS, Resource
from cockpit.sim.actors.controllers.budgets import Budgets
from cockpit.sim.actors.controllers.deployments import Deployments
from cockpit.sim.actors.controllers.garbage import BUILT_IN, Garbage
from cockpit.sim.actors.controllers.job.jobs import Jobs
from cockpit.sim.actors.controllers.leftovers import FinishedJobs
from cockpit.sim.actors.controllers.mpijob.mpijobs import MpiJobs
from cockpit.sim.actors.controllers.namespaces import NamespaceEnd
from cockpit.sim.actors.controllers.nodes.daemon_sets import DaemonSets
from cockpit.sim.actors.controllers.nodes.lifecycle import NodeLifecycle
from cockpit.sim.actors.controllers.nodes.taint_eviction import TaintEviction
from cockpit.sim.actors.controllers.replica_sets import ReplicaSets
from cockpit.sim.actors.controllers.resource_claims import ResourceClaims
from cockpit.sim.actors.controllers.stateful_set.stateful_sets import StatefulSets
from cockpit.sim.engine import ActorEngine
from cockpit.sim.port import PatchType
from cockpit.sim.server.assembly import assemble
from cockpit.sim.server.kinds import ServedKind
from cockpit.sim.server.local_port import LocalPort
from cockpit.sim.times import rfc3339
from tests.bed.api import MERGE, Api
from tests.differential.ahead import Record, awaited
from tests.differential.controller_sights import SEEN, Sight, Tree, differing, events, exchanged, sight

STRATEGIC = "application/strategic-merge-patch+json"

PodT = TypeVar("PodT")

BY_KIND = {one.kind: one for one in SEEN}
BY_PLURAL = {one.plural: one for one in SEEN}
_PATIENCE_SECONDS = 120.0
"""Only a failure waits so long."""
_STEP_SECONDS = 1.2
_BEAT_SECONDS = 5.0
"""Controllers take a node for lost after 50 s; on a busy machine one step may take that long."""


class Ours:
    """The embedded server with our controllers; records what it shows at every look."""

    def __init__(self, space: str, *, settle_seconds: float = 15.0) -> None:
        """`settle_seconds` pass after each step."""
        self.space = space
        self._settle_seconds = settle_seconds
        self.sights: list[Sight] = []
        self.found: list[int] = []
        self._awake: tuple[str, ...] = ()
        self._loop = asyncio.new_event_loop()
        self._clock = ManualClock()
        operations = assemble(self._clock, Random(1)).operations
        operations.kinds.add(
            ServedKind(resource=MPIJOBS, has_status=True, has_generation=True, is_custom=True)
        )
        self._port = LocalPort(operations)
        actors = [
            Jobs(),
            MpiJobs(),
            Deployments(),
            ReplicaSets(),
            Budgets(),
            FinishedJobs(),
            DaemonSets(),
            StatefulSets(),
            ResourceClaims(),
            NodeLifecycle(),
            TaintEviction(),
            NamespaceEnd(),
            Garbage((*BUILT_IN, MPIJOBS)),
        ]
        self._engine = ActorEngine(LocalPort(operations), self._clock, Random(2), actors)
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}
        self._do(self._port.create(NAMESPACES, namespace))
        self._do(self._engine.start())

    def close(self) -> None:
        self._loop.close()

    def make(self, tree: Tree) -> None:
        resource = BY_KIND[tree["kind"]]
        self._do(self._port.create(resource, tree, self.space if resource.namespaced else ""))
        self._settle()

    def change(self, plural: str, name: str, patch: Tree) -> None:
        resource = BY_PLURAL[plural]
        self._do(self._port.patch(resource, self.space if resource.namespaced else "", name, patch))
        self._settle()

    def remove(self, plural: str, name: str, propagation: str = "Background") -> None:
        self._do(self._port.delete(BY_PLURAL[plural], self.space, name, propagation=propagation))
        self._settle()

    def pods(self, prefix: str) -> list[str]:
        return self._noted(alive(self.listed(PODS), prefix))

    def named(self, plural: str) -> list[str]:
        return self._noted(sorted(tree["metadata"]["name"] for tree in self.listed(BY_PLURAL[plural])))

    def become(self, *names: str, **status: Any) -> None:
        patch = {"status": dated(status, self._clock.now())}
        for name in names:
            self._do(self._port.patch(PODS, self.space, name, patch, subresource="status"))
        self._settle()

    def look(self, *alike: str) -> None:
        self.sights.append(sight(self.listed))

    def events(self) -> list[str]:
        return events(self.listed)

    def place(self) -> None:
        for name, node in self._noted(unplaced(self.listed(PODS))):
            self._do(self._port.bind(self.space, name, node))
        self._settle()

    def bury(self) -> None:
        for name in self._noted(deleting(self.listed(PODS))):
            self._do(self._port.delete(PODS, self.space, name, grace_seconds=0))
        self._settle()

    def beat(self, *nodes: str) -> None:
        self._awake = nodes
        self._beat()

    def wait(self, seconds: float) -> None:
        while seconds > 0:
            step = min(seconds, _BEAT_SECONDS)
            self._do(self._engine.advance(step))
            self._beat()
            seconds -= step

    def listed(self, resource: Resource) -> list[Tree]:
        """The objects of one kind that belong to the play."""
        where = self.space if resource.namespaced else ""
        return of_space(self._do(self._port.list(resource, where)), self.space)

    def _beat(self) -> None:
        for name in self._awake:
            patch = {"status": {"conditions": [ready(self._clock.now())]}}
            self._do(self._port.patch(NODES, "", name, patch, type=PatchType.STRATEGIC, subresource="status"))

    def _noted(self, pods: list[PodT]) -> list[PodT]:
        self.found.append(len(pods))
        return pods

    def _settle(self) -> None:
        self.wait(self._settle_seconds)

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(work)


class Theirs:
    """A real API server with the real controllers: at every look it must come to show what ours showed."""

    def __init__(self, api: Api, space: str, ours: Record) -> None:
        self.space = space
        self._api = api
        self._sights = iter(ours.sights)
        self._found = iter(ours.found)
        self._expected: Sight = {}
        self._told = ours.told
        self._awake: tuple[str, ...] = ()
        self._last_beat = 0.0
        self._has_mpi = any(one["name"] == "kubeflow.org" for one in api.get("/apis")["groups"])
        api.create("/api/v1/namespaces", {"metadata": {"name": space}})

    def make(self, tree: Tree) -> None:
        self._api.create(BY_KIND[tree["kind"]].path(self.space), tree)
        self.wait(_STEP_SECONDS)

    def change(self, plural: str, name: str, patch: Tree) -> None:
        self._api.merge(BY_PLURAL[plural].path(self.space, name), patch)
        self.wait(_STEP_SECONDS)

    def remove(self, plural: str, name: str, propagation: str = "Background") -> None:
        self._api.delete(BY_PLURAL[plural].path(self.space, name), {"propagationPolicy": propagation})
        self.wait(_STEP_SECONDS)

    def pods(self, prefix: str) -> list[str]:
        return self._as_many(lambda: alive(self.listed(PODS), prefix))

    def named(self, plural: str) -> list[str]:
        resource = BY_PLURAL[plural]
        return self._as_many(lambda: sorted(tree["metadata"]["name"] for tree in self.listed(resource)))

    def become(self, *names: str, **status: Any) -> None:
        patch = {"status": dated(status, datetime.now(UTC).timestamp())}
        for name in names:
            reply = self._api.request(
                "PATCH", PODS.path(self.space, name, "status"), patch, content_type=MERGE
            )
            # A rollout may have taken a pod away as soon as another was ready.
            assert reply.status in (200, 404), reply.body
        self.wait(_STEP_SECONDS)

    def look(self, *alike: str) -> None:
        expected = next(self._sights)
        allowed = list(exchanged(expected, alike))
        seen = awaited(lambda: sight(self.listed), allowed.__contains__, _PATIENCE_SECONDS, self.wait)
        assert seen in allowed, differing(expected, seen)

    def check_events(self) -> None:
        seen = awaited(lambda: events(self.listed), self._told.__eq__, _PATIENCE_SECONDS, self.wait)
        assert self._told == seen, differing(self._told, seen)

    def place(self) -> None:
        for name, node in self._as_many(lambda: unplaced(self.listed(PODS))):
            target = {"apiVersion": "v1", "kind": "Node", "name": node}
            self._api.create(
                PODS.path(self.space, name, "binding"), {"metadata": {"name": name}, "target": target}
            )
        self.wait(_STEP_SECONDS)

    def bury(self) -> None:
        for name in self._as_many(lambda: deleting(self.listed(PODS))):
            self._api.delete(PODS.path(self.space, name), {"gracePeriodSeconds": 0})
        self.wait(_STEP_SECONDS)

    def beat(self, *nodes: str) -> None:
        self._awake = nodes
        self._beat()

    def wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _BEAT_SECONDS))
            if time.monotonic() - self._last_beat >= _BEAT_SECONDS:
                self._beat()

    def _beat(self) -> None:
        self._last_beat = time.monotonic()
        for name in self._awake:
            patch = {"status": {"conditions": [ready(datetime.now(UTC).timestamp())]}}
            reply = self._api.request("PATCH", NODES.path("", name, "status"), patch, content_type=STRATEGIC)
            assert reply.status == 200, reply.body

    def _as_many(self, look: Callable[[], list[PodT]]) -> list[PodT]:
        """As many pods as ours had at this step, as soon as the controllers have made or ended them."""
        count = next(self._found)
        return awaited(look, lambda pods: len(pods) == count, _PATIENCE_SECONDS, self.wait)

    def listed(self, resource: Resource) -> list[Tree]:
        if resource == MPIJOBS and not self._has_mpi:
            return []
        where = self.space if resource.namespaced else ""
        found = self._api.items(resource.path(where))
        for tree in found:
            tree.setdefault("kind", resource.kind)
        return of_space(found, self.space)


def unplaced(pods: list[Tree]) -> list[tuple[str, str]]:
    """Pods of DaemonSets that are not bound, each with the node that it is meant for."""
    found = []
    for pod in pods:
        required = ((pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}).get(
            "requiredDuringSchedulingIgnoredDuringExecution"
        )
        if required and not pod["spec"].get("nodeName"):
            field = required["nodeSelectorTerms"][0]["matchFields"][0]
            found.append((pod["metadata"]["name"], field["values"][0]))
    return found


def deleting(pods: list[Tree]) -> list[str]:
    """Names of the pods that wait for their end."""
    return [pod["metadata"]["name"] for pod in pods if "deletionTimestamp" in pod["metadata"]]


def of_space(trees: list[Tree], space: str) -> list[Tree]:
    """Of what has no namespace, what the play made: its names begin with that of the play."""
    return [
        tree
        for tree in trees
        if tree["metadata"].get("namespace") or tree["metadata"]["name"].startswith(space)
    ]


def ready(now: float) -> Tree:
    """The condition of a node that was just heard of."""
    at = rfc3339(now)
    return {"type": "Ready", "status": "True", "lastHeartbeatTime": at, "lastTransitionTime": at}


def dated(status: Tree, now: float) -> Tree:
    """Where a status wants a time, it is now."""
    at = rfc3339(now)
    conditions = [{**c, "lastTransitionTime": at} for c in status.get("conditions", ())]
    containers = [
        {**c, "state": {"terminated": {**c["state"]["terminated"], "finishedAt": at}}}
        for c in status.get("containerStatuses", ())
    ]
    return {
        **status,
        **({"conditions": conditions} if conditions else {}),
        **({"containerStatuses": containers} if containers else {}),
    }


def alive(pods: list[Tree], prefix: str) -> list[str]:
    """Pods that have not ended, by index and name."""
    found = [
        pod["metadata"]["name"]
        for pod in pods
        if pod["metadata"]["name"].startswith(prefix)
        and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")
    ]
    return sorted(found)
