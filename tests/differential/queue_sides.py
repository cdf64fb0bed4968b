"""The two sides of a queue play: ours in this process, and a real API server with real Kueue."""

import asyncio
import time
from collections.abc import Coroutine
from pathlib import Path
from random import Random
from typing import Any

import cockpit.sim
from cockpit.clock import ManualClock
from cockpit.kube.resource import (
    CLUSTER_QUEUES,
    EVENTS,
    JOBS,
    LOCAL_QUEUES,
    MPIJOBS,
    NAMESPACES,
    PODS,
    WORKLOADS,
    Resource,
)
from cockpit.sim.actors.controllers.garbage import Garbage
from cockpit.sim.actors.controllers.job.jobs import Jobs
from cockpit.sim.actors.controllers.mpijob.mpijobs import MpiJobs
from cockpit.sim.actors.queue.actor import QueueController
from cockpit.sim.actors.queue.positions import answer
from cockpit.sim.engine import ActorEngine
from cockpit.sim.port import PortError
from cockpit.sim.resources import (
    COHORTS,
    CUSTOM_RESOURCE_DEFINITIONS,
    RESOURCE_FLAVORS,
    WORKLOAD_PRIORITY_CLASSES,
)
from cockpit.sim.server.assembly import assemble
from cockpit.sim.server.local_port import LocalPort
from tests.bed.api import Api, ApiError
from tests.bed.manifests import documents
from tests.differential.ahead import Record, awaited
from tests.differential.queue_sights import (
    Sight,
    admissions,
    differences,
    events,
    is_mine,
    owned,
    pods_of,
    sight,
)

Tree = dict[str, Any]
CUSTOM = (
    CLUSTER_QUEUES,
    LOCAL_QUEUES,
    WORKLOADS,
    COHORTS,
    RESOURCE_FLAVORS,
    WORKLOAD_PRIORITY_CLASSES,
    MPIJOBS,
)
CRDS = Path(next(iter(cockpit.sim.__path__))) / "crds"
BY_KIND = {one.kind: one for one in (*CUSTOM, JOBS, PODS, NAMESPACES)}
BY_PLURAL = {one.plural: one for one in BY_KIND.values()}
_STEP_SECONDS = 1.2
_PATIENCE_SECONDS = 20.0


class Ours:
    """The embedded server with our queue, Job and MPIJob controllers; records what it shows at every look."""

    def __init__(self, space: str) -> None:
        self.space = space
        self.sights: list[Sight] = []
        self.found: list[Any] = []
        self._loop = asyncio.new_event_loop()
        clock = ManualClock()
        operations = assemble(clock, Random(1)).operations
        self._port = LocalPort(operations)
        for file in sorted([*(CRDS / "kueue").glob("*.yaml"), *(CRDS / "kubeflow").glob("*.yaml")]):
            for definition in documents(file):
                self._do(self._port.create(CUSTOM_RESOURCE_DEFINITIONS, definition))
        self._controller = QueueController(Random(2))
        operations.admissions.append(self._controller.admission())
        actors = [self._controller, Jobs(), MpiJobs(), Garbage((*CUSTOM, JOBS, PODS))]
        self._engine = ActorEngine(LocalPort(operations), clock, Random(3), actors)
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}
        self._do(self._port.create(NAMESPACES, namespace))
        self._do(self._engine.start())

    def close(self) -> None:
        self._loop.close()

    def make(self, tree: Tree) -> None:
        self._do(self._port.create(BY_KIND[tree["kind"]], tree, tree["metadata"].get("namespace", "")))
        self._settle()

    def change(self, kind: str, name: str, patch: Tree, *, namespaced: bool = True) -> None:
        self._do(self._port.patch(BY_PLURAL[kind], self.space if namespaced else "", name, patch))
        self._settle()

    def remove(self, kind: str, name: str) -> None:
        self._do(self._port.delete(BY_PLURAL[kind], self.space, name, propagation="Background"))
        self._settle()

    def workload_of(self, job: str) -> str:
        (workload,) = owned(self._list(WORKLOADS), job)
        return str(workload["metadata"]["name"])

    def end_pods(self, job: str, phase: str) -> None:
        self.found.append(len(pods := pods_of(self._list(PODS), job)))
        for name in pods:
            patch = {"status": {"phase": phase}}
            self._do(self._port.patch(PODS, self.space, name, patch, subresource="status"))
        self._settle()

    def look(self) -> None:
        queues = [tree for tree in self._list(CLUSTER_QUEUES, "") if is_mine(tree, self.space)]
        doors = self._list(LOCAL_QUEUES)
        places: dict[str, Any] = {}
        for kind, trees in (("clusterqueues", queues), ("localqueues", doors)):
            for tree in trees:
                name = tree["metadata"]["name"]
                where = kind if kind == "clusterqueues" else f"namespaces/{self.space}/{kind}"
                try:
                    places[f"{kind}/{name}"] = answer(
                        self._controller.queue_cache, f"{where}/{name}/pendingworkloads", {}
                    )["items"]
                except PortError as error:
                    places[f"{kind}/{name}"] = error.message
        workloads, jobs = self._list(WORKLOADS), [*self._list(JOBS), *self._list(MPIJOBS)]
        self.sights.append(sight(workloads, jobs, queues, doors, places))

    def events(self) -> list[str]:
        return events(self._list(EVENTS), self._list(WORKLOADS), [*self._list(JOBS), *self._list(MPIJOBS)])

    def _list(self, resource: Resource, namespace: str | None = None) -> list[Tree]:
        found: list[Tree] = self._do(
            self._port.list(resource, self.space if namespace is None else namespace)
        )
        return found

    def _settle(self) -> None:
        self._do(self._engine.advance(30.0))
        self.found.append(admissions(self._list(WORKLOADS)))

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(work)


class Theirs:
    """A real API server with real Kueue: at every look it must come to show what ours showed."""

    def __init__(self, api: Api, space: str, ours: Record) -> None:
        self.space = space
        self._api = api
        self._sights = iter(ours.sights)
        self._found = iter(ours.found)
        self._told = ours.told
        api.create("/api/v1/namespaces", {"metadata": {"name": space}})

    def make(self, tree: Tree) -> None:
        resource = BY_KIND[tree["kind"]]
        self._api.create(resource.path(tree["metadata"].get("namespace", "")), tree)
        self._wait()

    def change(self, kind: str, name: str, patch: Tree, *, namespaced: bool = True) -> None:
        self._api.merge(BY_PLURAL[kind].path(self.space if namespaced else "", name), patch)
        self._wait()

    def remove(self, kind: str, name: str) -> None:
        self._api.delete(BY_PLURAL[kind].path(self.space, name), {"propagationPolicy": "Background"})
        self._wait()

    def workload_of(self, job: str) -> str:
        (workload,) = owned(self._list(WORKLOADS), job)
        return str(workload["metadata"]["name"])

    def end_pods(self, job: str, phase: str) -> None:
        count = next(self._found)
        pods = awaited(
            lambda: pods_of(self._list(PODS), job), lambda found: len(found) == count, _PATIENCE_SECONDS
        )
        for name in pods:
            self._api.merge(PODS.path(self.space, name, "status"), {"status": {"phase": phase}})
        self._wait()

    def look(self) -> None:
        expected = next(self._sights)
        seen = awaited(self._sight, expected.__eq__, _PATIENCE_SECONDS)
        found = differences(expected, seen)
        assert not found, "\n".join(found)

    def check_events(self) -> None:
        seen = awaited(self._events, self._told.__eq__, _PATIENCE_SECONDS)
        found = differences(self._told, seen)
        assert not found, "\n".join(found)

    def _events(self) -> list[str]:
        jobs = [*self._list(JOBS), *self._list(MPIJOBS)]
        return events(self._list(EVENTS), self._list(WORKLOADS), jobs)

    def _sight(self) -> Sight:
        queues = [tree for tree in self._list(CLUSTER_QUEUES, "") if is_mine(tree, self.space)]
        doors = self._list(LOCAL_QUEUES)
        places: dict[str, Any] = {}
        for kind, trees in (("clusterqueues", queues), ("localqueues", doors)):
            for tree in trees:
                name = tree["metadata"]["name"]
                where = kind if kind == "clusterqueues" else f"namespaces/{self.space}/{kind}"
                path = f"/apis/visibility.kueue.x-k8s.io/v1beta2/{where}/{name}/pendingworkloads"
                try:
                    places[f"{kind}/{name}"] = self._api.items(path)
                except ApiError as error:
                    places[f"{kind}/{name}"] = error.message
        jobs = [*self._list(JOBS), *self._list(MPIJOBS)]
        return sight(self._list(WORKLOADS), jobs, queues, doors, places)

    def _list(self, resource: Resource, namespace: str | None = None) -> list[Tree]:
        return self._api.items(resource.path(self.space if namespace is None else namespace))

    def _wait(self) -> None:
        """Until Kueue has made up its mind; it orders by whole seconds, so steps are more than one apart."""
        expected = next(self._found)
        awaited(lambda: admissions(self._list(WORKLOADS)), expected.__eq__, _PATIENCE_SECONDS)
        time.sleep(_STEP_SECONDS)
