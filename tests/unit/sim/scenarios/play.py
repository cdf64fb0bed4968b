"""A scenario that is played sped up, and what a reader of the API would have seen of it."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from cockpit.kube.resource import EVENTS, JOBS, MACHINE_DEPLOYMENTS, NODES, PODS, WORKLOADS, Resource
from cockpit.sim.actors.common.machine_template import MACHINES
from cockpit.sim.cluster import EmbeddedCluster
from cockpit.sim.port import ChangeType, ObjectChange, Tree
from cockpit.sim.resources import POD_GROUPS
from cockpit.sim.scenarios.loading import find, load
from cockpit.sim.scenarios.schema import Churn, Scenario
from cockpit.sim.server.local_port import LocalPort

WATCHED = (NODES, PODS, EVENTS, JOBS, WORKLOADS, MACHINE_DEPLOYMENTS, MACHINES, POD_GROUPS)


class Seen(NamedTuple):
    """One event of a watch: when (seconds since the start), what, and the object as it was then."""

    at: float
    type: ChangeType
    resource: Resource
    tree: Tree

    @property
    def name(self) -> str:
        return str(self.tree["metadata"]["name"])


class Play:
    """One cluster, stepped; `seen` is everything that the watches of `WATCHED` handed over."""

    def __init__(self, scenario: Scenario, seed: int = 1) -> None:
        self.cluster = EmbeddedCluster.stepped(scenario, seed)
        self.seen: list[Seen] = []
        self._port = LocalPort(self.cluster.operations)
        self._began = self.cluster.clock.now()

    @classmethod
    async def of(cls, name: str, seed: int = 1) -> "Play":
        """A shipped scenario, at its first moment."""
        play = cls(load(find(name)), seed)
        await play.begin()
        return play

    async def begin(self) -> None:
        """Watch, and let everything that is there at the start be created."""
        for resource in WATCHED:
            await self._port.follow(resource, self._note)
        await self.cluster.engine.start()

    def _note(self, change: ObjectChange) -> None:
        self.seen.append(Seen(self.at, change.type, change.resource, change.tree))

    @property
    def at(self) -> float:
        """Seconds since the start."""
        return round(self.cluster.clock.now() - self._began, 3)

    async def to(self, seconds: float) -> None:
        """Let time pass until so many seconds after the start."""
        await self.cluster.engine.advance(seconds - self.at)

    async def get(self, resource: Resource, namespace: str, name: str) -> Tree:
        """An object as a GET answers it."""
        return await self._port.get(resource, namespace, name)

    async def list(self, resource: Resource, namespace: str = "", labels: str = "") -> Sequence[Tree]:
        """Objects as a list answers them."""
        return await self._port.list(resource, namespace, labels=labels)

    async def phases(self, namespace: str, prefix: str) -> dict[str, str]:
        """Pods by name, those whose names begin so -> their phases."""
        found = await self.list(PODS, namespace)
        return {
            pod["metadata"]["name"]: pod["status"]["phase"]
            for pod in found
            if pod["metadata"]["name"].startswith(prefix)
        }

    async def pod_of(self, namespace: str, prefix: str) -> Tree:
        """The one pod whose name begins so."""
        found = await self.list(PODS, namespace)
        (one,) = [pod for pod in found if pod["metadata"]["name"].startswith(prefix)]
        return one

    def of_kind(self, resource: Resource, prefix: str = "") -> Iterable[Seen]:
        """What was seen of a resource, of objects whose names begin so, in order."""
        return (one for one in self.seen if one.resource == resource and one.name.startswith(prefix))

    def first(self, resource: Resource, prefix: str, holds: Callable[[Tree], bool]) -> float:
        """When something was first seen to hold of an object. Raises AssertionError if it never was."""
        for one in self.of_kind(resource, prefix):
            if one.type is not ChangeType.DELETED and holds(one.tree):
                return one.at
        raise AssertionError(f"never seen of {prefix}* among {resource.plural}")

    def gone(self, resource: Resource, name: str) -> float:
        """When an object was deleted. Raises AssertionError if it never was."""
        for one in self.of_kind(resource, name):
            if one.type is ChangeType.DELETED and one.name == name:
                return one.at
        raise AssertionError(f"{name} was never deleted")

    def events(self, reason: str, about: str = "") -> Sequence[Seen]:
        """Events of a reason, about objects whose names begin so, in order."""
        return [
            one
            for one in self.of_kind(EVENTS)
            if one.tree.get("reason") == reason and one.tree["involvedObject"]["name"].startswith(about)
        ]

    def counts(self, resource: Resource) -> Sequence[tuple[float, int]]:
        """(seconds, how many there were from then on), at each change."""
        alive: set[tuple[str, str]] = set()
        found: list[tuple[float, int]] = []
        for one in self.of_kind(resource):
            key = (one.tree["metadata"].get("namespace", ""), one.name)
            before = len(alive)
            (alive.discard if one.type is ChangeType.DELETED else alive.add)(key)
            if len(alive) != before:
                found.append((one.at, len(alive)))
        return found


def condition(tree: Tree, type_: str) -> dict[str, Any]:
    """A condition by its type; {} where there is none."""
    found = [one for one in (tree.get("status") or {}).get("conditions") or () if one["type"] == type_]
    return found[0] if found else {}


def is_true(tree: Tree, type_: str) -> bool:
    """True when a condition says True."""
    return condition(tree, type_).get("status") == "True"


def phase(tree: Tree) -> str:
    """Of a pod or a machine."""
    return str((tree.get("status") or {}).get("phase", ""))


def node_of(pod: Tree) -> str:
    """Where a pod is bound, "" for nowhere."""
    return str(pod["spec"].get("nodeName") or "")


def gpus_of(node: Tree) -> int:
    """Whole or shared GPUs that a node offers now."""
    return int(node["status"].get("allocatable", {}).get("nvidia.com/gpu", 0))


def small_fleet(changes_per_second: float) -> Scenario:
    """The fleet at a fiftieth of its size."""
    fleet = load(find("fleet"))
    return msgspec.structs.replace(
        fleet,
        pools=tuple(msgspec.structs.replace(pool, nodes=25) for pool in fleet.pools),
        churn=Churn(per_second=changes_per_second),
        bulk=tuple(msgspec.structs.replace(bulk, count=max(1, bulk.count // 50)) for bulk in fleet.bulk),
    )
