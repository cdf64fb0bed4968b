"""A cluster for tests of controllers: storage, a stepped clock, and a kubelet that does what it is told."""

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any

from cockpit.clock import ManualClock
from cockpit.kube.resource import EVENTS, MPIJOBS, NAMESPACES, NODES, PODS, Resource
from cockpit.sim.engine import Actor, ActorEngine, Key
from cockpit.sim.port import ChangeType, ObjectChange, PortError, Tree
from cockpit.sim.resources import POD_GROUPS
from cockpit.sim.server.builtin.table import built_in
from cockpit.sim.server.kinds import ServedKind
from cockpit.sim.server.local_port import LocalPort
from cockpit.sim.server.operations import Operations
from cockpit.sim.server.storage import Storage
from cockpit.sim.times import rfc3339

Fate = tuple[str, float]
"""How a pod ends and how many seconds after it began: ("Succeeded", 5), ("exit 3", 5), ("", 0) for never."""
FOR_EVER: Fate = ("", 0.0)


class Puppet(Actor):
    """Scheduler and kubelet in one: binds at once, runs after a second, ends as `fate` says."""

    name = "puppet"
    watches = (PODS,)

    def __init__(self, fate: Callable[[Tree], Fate], node: str) -> None:
        super().__init__()
        self.fate = fate
        self.node = node
        self.binds = True
        self.removes = True
        self.first_seconds = 1.0

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        if change.type is not ChangeType.DELETED:
            yield (change.tree["metadata"]["namespace"], change.tree["metadata"]["name"])

    async def reconcile(self, key: Key) -> None:
        pod = self.engine.cache(PODS).get(key[0], key[1])
        if pod is None:
            return
        metadata, phase = pod["metadata"], pod.get("status", {}).get("phase", "Pending")
        if metadata.get("deletionTimestamp"):
            if self.removes:
                await self._remove(key)
        elif not pod["spec"].get("nodeName"):
            if self.binds:
                await self.engine.port.bind(key[0], key[1], self.node)
                self.engine.after(self.first_seconds, self, key)
        elif phase == "Pending":
            await self._run(key, pod)
        elif phase == "Running":
            await self._end_when_due(key, pod)

    async def _remove(self, key: Key) -> None:
        try:
            await self.engine.port.delete(PODS, key[0], key[1], grace_seconds=0)
        except PortError as error:
            if not error.is_gone:
                raise

    async def _run(self, key: Key, pod: Tree) -> None:
        conditions = pod.get("status", {}).get("conditions") or []
        began = next(c["lastTransitionTime"] for c in conditions if c["type"] == "PodScheduled")
        now = self.engine.now()
        if rfc3339(now - self.first_seconds) < began:
            self.engine.after(self.first_seconds, self, key)
            return
        await self._status(key, "Running", {"running": {"startedAt": rfc3339(now)}}, is_ready=True)
        if self.fate(pod)[0]:
            self.engine.after(self.fate(pod)[1], self, key)

    async def _end_when_due(self, key: Key, pod: Tree) -> None:
        how, seconds = self.fate(pod)
        started = pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]
        now = self.engine.now()
        if not how or rfc3339(now - seconds) < started:
            return
        code = 0 if how == "Succeeded" else int(how.split()[1])
        state = {"terminated": {"exitCode": code, "startedAt": started, "finishedAt": rfc3339(now)}}
        await self._status(key, "Failed" if code else "Succeeded", state, is_ready=False)

    async def _status(self, key: Key, phase: str, state: Tree, *, is_ready: bool) -> None:
        pod = self.engine.cache(PODS).get(key[0], key[1]) or {}
        kept = [c for c in pod.get("status", {}).get("conditions") or () if c["type"] != "Ready"]
        at = rfc3339(self.engine.now())
        ready = {"type": "Ready", "status": str(is_ready), "lastTransitionTime": at}
        container = pod["spec"]["containers"][0]
        held = {
            "name": container["name"],
            "image": container.get("image", "i"),
            "imageID": "",
            "ready": is_ready,
            "restartCount": 0,
            "state": state,
        }
        status = {"phase": phase, "conditions": [*kept, ready], "containerStatuses": [held]}
        await self.engine.port.patch(PODS, key[0], key[1], {"status": status}, subresource="status")


class Stage:
    """The cluster of one test."""

    def __init__(
        self, actors: Sequence[Actor], fate: Callable[[Tree], Fate] = lambda _: FOR_EVER, seed: int = 1
    ) -> None:
        self.clock = ManualClock()
        self.random = Random(seed)
        kinds = built_in()
        for resource in (MPIJOBS, POD_GROUPS):
            kinds.add(ServedKind(resource=resource, has_status=True, has_generation=True, is_custom=True))
        self.operations = Operations(Storage(), kinds, self.clock, self.random)
        self.port = LocalPort(self.operations)
        self.puppet = Puppet(fate, "gpu-1")
        self.engine = ActorEngine(LocalPort(self.operations), self.clock, self.random, [*actors, self.puppet])

    async def start(self, *namespaces: str, nodes: int = 1) -> "Stage":
        for name in ("default", *(namespaces or ("team-a",))):
            await self.create(NAMESPACES, {"metadata": {"name": name}})
        for number in range(1, nodes + 1):
            await self.create(NODES, node(f"gpu-{number}", self.clock.now()))
            # As a node controller would, for the tests that have none: the taint of every new node.
            await self.patch(NODES, f"gpu-{number}", {"spec": {"taints": None}})
        await self.engine.start()
        await self.engine.advance(0)
        return self

    async def create(self, resource: Resource, tree: Tree) -> Tree:
        full = {"apiVersion": resource.api_version, "kind": resource.kind, **tree}
        return await self.port.create(resource, full, tree["metadata"].get("namespace", ""))

    async def get(self, resource: Resource, name: str, namespace: str = "team-a") -> Tree:
        return await self.port.get(resource, namespace if resource.namespaced else "", name)

    async def find(self, resource: Resource, name: str, namespace: str = "team-a") -> Tree | None:
        try:
            return await self.get(resource, name, namespace)
        except PortError as error:
            assert error.is_gone
            return None

    async def names(self, resource: Resource, namespace: str = "") -> list[str]:
        return [tree["metadata"]["name"] for tree in await self.port.list(resource, namespace)]

    async def pods(self, namespace: str = "team-a") -> list[Tree]:
        return await self.port.list(PODS, namespace)

    async def events(self, about: str = "", namespace: str = "") -> list[str]:
        """`Type Reason message [component]` of each event, in the order of their first times."""
        found = await self.port.list(EVENTS, namespace)
        found.sort(key=lambda e: (e["firstTimestamp"], int(e["metadata"]["resourceVersion"])))
        return [
            f"{e['type']} {e['reason']} {e['message']} [{e['source']['component']}]"
            for e in found
            if not about or e["involvedObject"]["name"] == about
        ]

    async def patch(
        self, resource: Resource, name: str, patch: Tree, *, namespace: str = "team-a", subresource: str = ""
    ) -> Tree:
        where = namespace if resource.namespaced else ""
        return await self.port.patch(resource, where, name, patch, subresource=subresource)


def node(name: str, now: float) -> Tree:
    at = rfc3339(now)
    ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": at, "lastTransitionTime": at}
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"conditions": [ready], "capacity": {"pods": "110"}, "allocatable": {"pods": "110"}},
    }


def template(**labels: str) -> Tree:
    """A pod template with one container, never restarted."""
    spec: Tree = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "train:1"}]}
    return {"metadata": {"labels": labels}, "spec": spec} if labels else {"spec": spec}


def job(name: str = "train", namespace: str = "team-a", **spec: Any) -> Tree:
    """A Job; keywords are fields of its spec."""
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {"template": template(), **spec}}


def conditions(tree: Tree) -> list[str]:
    """`Type Status Reason | message` of each condition."""
    return [
        f"{c['type']} {c['status']} {c.get('reason', '')} | {c.get('message', '')}"
        for c in tree.get("status", {}).get("conditions") or ()
    ]


def counts(tree: Tree, *names: str) -> dict[str, Any]:
    """These fields of the status."""
    return {name: tree["status"].get(name) for name in names}
