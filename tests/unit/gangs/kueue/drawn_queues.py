"""Situations of queues drawn from a seed, on the queue controller of the embedded cluster, whose changes are
foretold before and looked at after."""

import json
from collections import Counter
from collections.abc import Awaitable, Callable
from itertools import count
from random import Random
from typing import Any, NamedTuple, Protocol

from cockpit.gangs.kueue import outlook
from cockpit.gangs.outlook import OutlookFacts, QuotaOutlook
from cockpit.kube.decode.decoders import CLUSTER_QUEUE, LOCAL_QUEUE, WORKLOAD, Decoder
from cockpit.kube.resource import CLUSTER_QUEUES, EVENTS, JOBS, LOCAL_QUEUES, WORKLOADS, Resource
from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.contender import Contender
from cockpit.model.record import Kind
from cockpit.sim.resources import COHORTS, PRIORITY_CLASSES, RESOURCE_FLAVORS, WORKLOAD_PRIORITY_CLASSES
from cockpit.store.store import Store
from tests.unit.sim.queue.scene import Scene, cluster_queue, job

MOST_STEPS = 4_000
CLASSES = {"low": -10, "mid": 10, "high": 100}
_TABLES: tuple[tuple[Resource, Decoder, str], ...] = (
    (WORKLOADS, WORKLOAD, Kind.WORKLOAD),
    (LOCAL_QUEUES, LOCAL_QUEUE, Kind.LOCAL_QUEUE),
    (CLUSTER_QUEUES, CLUSTER_QUEUE, Kind.CLUSTER_QUEUE),
)
_LISTS = {
    outlook.QUEUES: CLUSTER_QUEUES,
    outlook.FLAVORS: RESOURCE_FLAVORS,
    outlook.COHORTS: COHORTS,
    outlook.CLASSES: WORKLOAD_PRIORITY_CLASSES,
    outlook.POD_CLASSES: PRIORITY_CLASSES,
}


class NeverAtRest(Exception):
    """Queues whose policies let two jobs preempt each other without end."""


class Side(Protocol):
    """Where the queues are: the embedded controller, or real Kueue. Names of the cluster begin with `prefix`,
    what has a namespace is in `space`; lists hold what is this side's."""

    space: str
    prefix: str

    async def make(self, resource: Resource, tree: dict[str, Any]) -> None: ...

    async def patch(self, resource: Resource, name: str, body: dict[str, Any]) -> None: ...

    async def list(self, resource: Resource) -> list[dict[str, Any]]: ...

    async def rest(self) -> None:
        """Until nobody moves. Raises NeverAtRest."""

    async def preempted(self) -> Counter[str]:
        """How often each workload was preempted so far, by uid."""

    def now(self) -> float: ...


class EmbeddedQueues:
    """The queue controller of the embedded cluster, with nothing but storage and jobs."""

    space, prefix = "team-a", ""

    def __init__(self) -> None:
        self._scene = Scene()

    async def begun(self) -> "EmbeddedQueues":
        await self._scene.begin(self.space)
        steps, one = count(), self._scene.engine._one

        async def counted() -> None:
            if next(steps) > MOST_STEPS:
                raise NeverAtRest
            await one()

        self._scene.engine._one = counted  # type: ignore[method-assign]
        for name, value in CLASSES.items():
            await self.make(WORKLOAD_PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})
        return self

    async def make(self, resource: Resource, tree: dict[str, Any]) -> None:
        await self._scene.make(resource, tree)
        await self._scene.pass_(2)  # of jobs of one second any may be first

    async def patch(self, resource: Resource, name: str, body: dict[str, Any]) -> None:
        space = self.space if resource.namespaced else ""
        await self._scene.port.patch(resource, space, name, body)

    async def list(self, resource: Resource) -> list[dict[str, Any]]:
        return await self._scene.port.list(resource)

    async def rest(self) -> None:
        await self._scene.pass_(30)

    async def preempted(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for one in await self.list(EVENTS):
            if one["reason"] == "Preempted" and one["involvedObject"]["kind"] == "Workload":
                found[one["involvedObject"]["uid"]] += int(one.get("count") or 1)
        return found

    def now(self) -> float:
        return self._scene.clock.now()


class DrawnQueues:
    """`await drawn(side, seed)`: queues, some in a cohort, full of jobs and more that wait."""

    def __init__(self, side: Side, random: Random, queues: tuple[str, ...]) -> None:
        self.side = side
        self.random = random
        self.queues = queues
        self.jobs = 0

    @classmethod
    async def drawn(cls, side: Side, seed: int) -> "DrawnQueues":
        random, prefix = Random(seed), side.prefix
        flavors = tuple(f"{prefix}{one}" for one in ("h100", "a100")[: random.randint(1, 2)])
        for one in flavors:
            await side.make(RESOURCE_FLAVORS, {"metadata": {"name": one}, "spec": {}})
        queues = tuple(f"{prefix}q{number}" for number in range(random.randint(1, 3)))
        for name in queues:
            spec = _spec(random, queues, prefix)
            quota: dict[str, Any] = {
                key: spec.pop(key) for key in ("borrowingLimit", "lendingLimit") if key in spec
            }
            gpus = random.choice((4, 8))
            await side.make(
                CLUSTER_QUEUES, cluster_queue(name, gpus=gpus, quota=quota, flavors=flavors, **spec)
            )
            door = {"name": name, "namespace": side.space}
            await side.make(LOCAL_QUEUES, {"metadata": door, "spec": {"clusterQueue": name}})
        found = cls(side, random, queues)
        for _ in range(random.randint(4, 12)):
            await side.make(JOBS, found.next_job(random.choice(tuple(CLASSES))))
        await side.rest()
        return found

    def next_job(self, priority: str) -> dict[str, Any]:
        self.jobs += 1
        gpus = self.random.choice((1, 2, 3, 4, 6))
        made = job(
            f"j{self.jobs}",
            gpus=gpus,
            queue=self.random.choice(self.queues),
            priority=priority,
            namespace=self.side.space,
        )
        return {"apiVersion": "batch/v1", "kind": "Job", **made}

    async def foretold(self, *contenders: Contender) -> QuotaOutlook:
        """By the records of the API as a watch gives them, and what a plan reads."""
        store = Store()
        for resource, decoder, kind in _TABLES:
            trees = await self.side.list(resource)
            records = tuple(decoder.from_json(json.dumps(tree).encode()) for tree in trees)
            status = StreamStatus(kind=kind, phase=Phase.LIVE, objects=len(records))
            store.apply(Batch(kind=kind, changed=records, status=status))
        lists = {kind: await self.side.list(resource) for kind, resource in _LISTS.items()}
        read = {tree["metadata"]["uid"]: tree for tree in await self.side.list(WORKLOADS)}
        return outlook.outlook(contenders, store, OutlookFacts(lists, read), self.side.now())

    async def waiting(self) -> list[dict[str, Any]]:
        """Workloads without quota, in the order of their names."""
        return [
            tree
            for tree in await self.side.list(WORKLOADS)
            if not any(
                one["type"] == "QuotaReserved" and one["status"] == "True"
                for one in tree.get("status", {}).get("conditions") or ()
            )
        ]


def _spec(random: Random, queues: tuple[str, ...], prefix: str) -> dict[str, Any]:
    policies = ("Never", "LowerPriority", "LowerOrNewerEqualPriority")
    preemption: dict[str, Any] = {"withinClusterQueue": random.choice(policies)}
    spec: dict[str, Any] = {"queueingStrategy": random.choice(("BestEffortFIFO", "StrictFIFO"))}
    if len(queues) > 1:
        spec["cohortName"] = f"{prefix}all"
        preemption["reclaimWithinCohort"] = random.choice(("Never", "LowerPriority", "Any"))
        if preemption["reclaimWithinCohort"] != "Never" and random.random() < 0.4:
            preemption["borrowWithinCohort"] = {
                "policy": "LowerPriority",
                **({"maxPriorityThreshold": 10} if random.random() < 0.5 else {}),
            }
        if random.random() < 0.3:
            spec["borrowingLimit"] = "2"
        if random.random() < 0.3:
            spec["lendingLimit"] = "3"
    fungible = {
        "whenCanBorrow": random.choice(("MayStopSearch", "TryNextFlavor")),
        "whenCanPreempt": random.choice(("MayStopSearch", "TryNextFlavor")),
    }
    return {**spec, "preemption": preemption, "flavorFungibility": fungible}


# ---- changes: whom they were foretold to preempt, whom they did, and why it was not foretold


class Came(NamedTuple):
    told: set[str]
    came: set[str]
    unknown: str


Change = Callable[[Side, int], Awaitable[Came]]


async def _after(drawn: DrawnQueues, told: QuotaOutlook, before: Counter[str]) -> Came:
    await drawn.side.rest()
    return Came(set(told.victims), set(await drawn.side.preempted() - before), told.unknown)


async def submitted(side: Side, seed: int) -> Came:
    """A new job of the highest class."""
    drawn = await DrawnQueues.drawn(side, seed)
    before, tree = await side.preempted(), drawn.next_job("high")
    told = await drawn.foretold(Contender(name=f"{side.space}/{tree['metadata']['name']}", manifest=tree))
    await side.make(JOBS, tree)
    return await _after(drawn, told, before)


async def prioritised(side: Side, seed: int) -> Came:
    """One that waits gets the highest class."""
    drawn = await DrawnQueues.drawn(side, 1_000 + seed)
    return await _given(drawn, await drawn.waiting(), "high")


async def lowered(side: Side, seed: int) -> Came:
    """One that holds quota gets the lowest class: those that wait may take its place."""
    drawn = await DrawnQueues.drawn(side, 3_000 + seed)
    waiting = {one["metadata"]["uid"] for one in await drawn.waiting()}
    held = [one for one in await side.list(WORKLOADS) if one["metadata"]["uid"] not in waiting]
    return await _given(drawn, [one for one in held if one["spec"].get("priority", 0) > 0], "low")


async def _given(drawn: DrawnQueues, among: list[dict[str, Any]], name: str) -> Came:
    side = drawn.side
    if not among:
        return Came(set(), set(), "")
    before, chosen = await side.preempted(), drawn.random.choice(sorted(among, key=_job))
    asks = Contender(
        name=f"{side.space}/{_job(chosen)}",
        workload_uid=chosen["metadata"]["uid"],
        engine="Kueue",
        priority_class=name,
    )
    told = await drawn.foretold(asks)
    labels = {"kueue.x-k8s.io/priority-class": name}
    await side.patch(JOBS, _job(chosen), {"metadata": {"labels": labels}})
    return await _after(drawn, told, before)


async def resumed(side: Side, seed: int) -> Came:
    """One of the highest class that was suspended."""
    drawn = await DrawnQueues.drawn(side, 2_000 + seed)
    tree = drawn.next_job("high")
    await side.make(JOBS, tree)
    await side.rest()
    (found,) = [one for one in await side.list(WORKLOADS) if _job(one) == tree["metadata"]["name"]]
    name, uid = found["metadata"]["name"], found["metadata"]["uid"]
    await side.patch(WORKLOADS, name, {"spec": {"active": False}})
    await side.rest()
    before = await side.preempted()
    told = await drawn.foretold(Contender(name=f"{side.space}/{_job(found)}", workload_uid=uid))
    await side.patch(WORKLOADS, name, {"spec": {"active": True}})
    return await _after(drawn, told, before)


async def opened(side: Side, seed: int) -> Came:
    """A stopped queue lets its jobs in again, all together."""
    drawn = await DrawnQueues.drawn(side, 4_000 + seed)
    name = drawn.queues[0]
    await side.patch(CLUSTER_QUEUES, name, {"spec": {"stopPolicy": "Hold"}})
    await side.rest()
    for _ in range(3):
        tree = drawn.next_job(drawn.random.choice(("mid", "high")))
        tree["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = name
        await side.make(JOBS, tree)
    await side.rest()
    before = await side.preempted()
    (queue,) = [one for one in await side.list(CLUSTER_QUEUES) if one["metadata"]["name"] == name]
    asking = [
        Contender(
            name=f"{side.space}/{_job(one)}",
            workload_uid=one["metadata"]["uid"],
            opens=queue["metadata"]["uid"],
        )
        for one in await drawn.waiting()
        if one["spec"]["queueName"] == name
    ]
    told = await drawn.foretold(*asking)
    await side.patch(CLUSTER_QUEUES, name, {"spec": {"stopPolicy": "None"}})
    return await _after(drawn, told, before)


def _job(workload: dict[str, Any]) -> str:
    return str(workload["metadata"]["ownerReferences"][0]["name"])
