"""The two sides of a queue play: ours in this process, and a real API server with real Kueue."""

import asyncio
import re
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
from cockpit.sim.engine import Engine
from cockpit.sim.local_port import LocalPort
from cockpit.sim.port import PortError
from cockpit.sim.resources import (
    COHORTS,
    CUSTOM_RESOURCE_DEFINITIONS,
    RESOURCE_FLAVORS,
    WORKLOAD_PRIORITY_CLASSES,
)
from cockpit.sim.server.assembly import assemble
from tests.bed.api import Api, ApiError
from tests.bed.manifests import documents
from tests.differential.ahead import Record, awaited

Tree = dict[str, Any]
Sight = dict[str, Any]
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
_KUEUE = ("kueue-admission", "kueue-workload-controller", "job-kueue-controller", "mpijob-kueue-controller")
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
        self._engine = Engine(LocalPort(operations), clock, Random(3), actors)
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
        (workload,) = _owned(self._list(WORKLOADS), job)
        return str(workload["metadata"]["name"])

    def end_pods(self, job: str, phase: str) -> None:
        self.found.append(len(pods := _pods_of(self._list(PODS), job)))
        for name in pods:
            patch = {"status": {"phase": phase}}
            self._do(self._port.patch(PODS, self.space, name, patch, subresource="status"))
        self._settle()

    def look(self) -> None:
        queues = [tree for tree in self._list(CLUSTER_QUEUES, "") if _is_mine(tree, self.space)]
        doors = self._list(LOCAL_QUEUES)
        places: dict[str, Any] = {}
        for kind, trees in (("clusterqueues", queues), ("localqueues", doors)):
            for tree in trees:
                name = tree["metadata"]["name"]
                where = kind if kind == "clusterqueues" else f"namespaces/{self.space}/{kind}"
                try:
                    places[f"{kind}/{name}"] = answer(
                        self._controller.estate, f"{where}/{name}/pendingworkloads", {}
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
        self.found.append(_admissions(self._list(WORKLOADS)))

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
        (workload,) = _owned(self._list(WORKLOADS), job)
        return str(workload["metadata"]["name"])

    def end_pods(self, job: str, phase: str) -> None:
        count = next(self._found)
        pods = awaited(
            lambda: _pods_of(self._list(PODS), job), lambda found: len(found) == count, _PATIENCE_SECONDS
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
        queues = [tree for tree in self._list(CLUSTER_QUEUES, "") if _is_mine(tree, self.space)]
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
        awaited(lambda: _admissions(self._list(WORKLOADS)), expected.__eq__, _PATIENCE_SECONDS)
        time.sleep(_STEP_SECONDS)


def differences(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """Where two sights differ, one line each."""
    if ours == theirs:
        return []
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [
            line
            for key in sorted({*ours, *theirs})
            for line in differences(ours.get(key), theirs.get(key), f"{path}/{key}")
        ]
    if isinstance(ours, list) and isinstance(theirs, list):
        only_ours = [one for one in ours if one not in theirs]
        only_theirs = [one for one in theirs if one not in ours]
        return [f"{path}: ours {only_ours}, real {only_theirs}"]
    return [f"{path}: ours {ours!r}, real {theirs!r}"]


def _is_mine(tree: Tree, space: str) -> bool:
    return str(tree["metadata"]["name"]).endswith(f"-{space}")


def _pods_of(pods: list[Tree], job: str) -> list[str]:
    label = "batch.kubernetes.io/job-name"
    return [pod["metadata"]["name"] for pod in pods if pod["metadata"]["labels"].get(label) == job]


def _admissions(workloads: list[Tree]) -> list[str]:
    """The jobs that have a Workload, with a sign of whether it holds its quota."""
    return sorted(
        one["metadata"]["ownerReferences"][0]["name"] + "+" * ("admission" in one.get("status", {}))
        for one in workloads
        if one["metadata"].get("ownerReferences")
    )


def _owned(workloads: list[Tree], job: str) -> list[Tree]:
    return [
        one
        for one in workloads
        if any(owner["name"] == job for owner in one["metadata"].get("ownerReferences") or ())
    ]


def _levels(workloads: list[Tree], jobs: list[Tree]) -> dict[str, str]:
    """What differs by chance, and the words for it."""
    words = {}
    for tree in (*workloads, *jobs):
        kind = "Workload" if "podSets" in tree.get("spec", {}) else "Job"
        name = tree["metadata"]["name"]
        if kind == "Workload":
            level = re.sub(r"-[0-9a-f]{5}$", "-#####", name)
            words[name] = level
            name = level
        words[tree["metadata"]["uid"]] = f"<uid of {kind} {name}>"
    return words


def _levelled(value: Any, words: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {_levelled(key, words): _levelled(one, words) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_levelled(one, words) for one in value]
    if isinstance(value, str):
        for old, new in words.items():
            value = value.replace(old, new)
    return value


def _conditions(tree: Tree) -> list[str]:
    return sorted(
        f"{one['type']} {one['status']} {one['reason']} | {one['message']}"
        for one in (tree.get("status") or {}).get("conditions") or ()
    )


def _workload(tree: Tree) -> Tree:
    metadata, spec, status = tree["metadata"], tree["spec"], tree.get("status") or {}
    return {
        "conditions": _conditions(tree),
        "labels": metadata.get("labels"),
        "finalizers": metadata.get("finalizers") or [],
        "owner": [(one["kind"], one["name"], one["uid"]) for one in metadata.get("ownerReferences") or ()],
        "spec": {
            **{key: spec.get(key) for key in ("active", "queueName", "priorityClassRef")},
            "priority": spec.get("priority") or 0,
            "podSets": [(one["name"], one["count"]) for one in spec["podSets"]],
        },
        "admission": status.get("admission"),
        "resourceRequests": status.get("resourceRequests") or [],
        "evictions": (status.get("schedulingStats") or {}).get("evictions") or [],
        "requeues": (status.get("requeueState") or {}).get("count") or 0,
    }


def _job(tree: Tree) -> Tree:
    spec = tree["spec"]
    if tree["kind"] == "MPIJob":
        templates = [spec["mpiReplicaSpecs"][role]["template"] for role in ("Launcher", "Worker")]
        suspended = spec["runPolicy"].get("suspend")
    else:
        templates, suspended = [spec["template"]], spec.get("suspend")
    chosen = ("job-name", "controller-uid")
    return {
        "suspend": suspended,
        "templates": [
            {
                "nodeSelector": one["spec"].get("nodeSelector") or {},
                "tolerations": one["spec"].get("tolerations") or [],
                "labels": {
                    key: value
                    for key, value in ((one.get("metadata") or {}).get("labels") or {}).items()
                    if not key.endswith(chosen)
                },
                "annotations": (one.get("metadata") or {}).get("annotations") or {},
            }
            for one in templates
        ],
    }


def _queue(tree: Tree) -> Tree:
    status = tree.get("status") or {}
    counts = ("pendingWorkloads", "reservingWorkloads", "admittedWorkloads")
    return {
        "conditions": _conditions(tree),
        **{key: status.get(key) or 0 for key in counts},
        **{key: status.get(key) or [] for key in ("flavorsReservation", "flavorsUsage")},
    }


def _places(items: Any) -> Any:
    if isinstance(items, str):
        return items
    return [
        (
            one["metadata"]["name"],
            one["metadata"]["ownerReferences"],
            one["priority"],
            one["localQueueName"],
            one["positionInClusterQueue"],
            one["positionInLocalQueue"],
        )
        for one in items
    ]


def sight(
    workloads: list[Tree], jobs: list[Tree], queues: list[Tree], doors: list[Tree], places: dict[str, Any]
) -> Sight:
    """Everything that is compared, levelled."""
    jobs = [one if "kind" in one else {**one, "kind": _kind(one)} for one in jobs]
    mine = [one for one in jobs if "kueue.x-k8s.io/queue-name" in (one["metadata"].get("labels") or {})]
    seen = {
        "workloads": {one["metadata"]["name"]: _workload(one) for one in workloads},
        "jobs": {one["metadata"]["name"]: _job(one) for one in mine},
        "queues": {one["metadata"]["name"]: _queue(one) for one in queues},
        "doors": {one["metadata"]["name"]: _queue(one) for one in doors},
        "places": {key: _places(items) for key, items in places.items()},
    }
    levelled: Sight = _levelled(seen, _levels(workloads, jobs))
    return levelled


def _kind(tree: Tree) -> str:
    """Items of a list from a real server say no kind."""
    return "MPIJob" if "mpiReplicaSpecs" in tree["spec"] else "Job"


def events(trees: list[Tree], workloads: list[Tree], jobs: list[Tree]) -> list[str]:
    """What Kueue told, each once."""
    told = set()
    for one in trees:
        component = (one.get("source") or {}).get("component") or one.get("reportingComponent") or ""
        if not component.endswith(_KUEUE) or one["reason"] == "Pending":
            continue
        about = f"{one['involvedObject']['kind']}/{one['involvedObject']['name']}"
        message = re.sub(r"\b\d+s\b", "Ns", one["message"])
        told.add(f"{one['type']} {one['reason']} {about} [{component}] {message}")
    words = _levels(workloads, jobs)
    return sorted(
        {re.sub(r"(job-[a-z0-9-]+?)-[0-9a-f]{5}\b", r"\1-#####", _levelled(one, words)) for one in told}
    )
