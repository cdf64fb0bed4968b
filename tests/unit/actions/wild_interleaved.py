"""The small cluster with people who do more at once: they shrink, too, and read a plan for a while before
yes; they move the maximum; one of them sits at two terminals; their hosts' clocks are hours off; somebody
drains nodes with another tool; pods without GPUs, pods that have ended and pods of DaemonSets are there."""

import random
from collections import Counter
from collections.abc import Callable

from cockpit.actions.limit import limit_as_now
from cockpit.actions.reclaim_nodes import ReclaimTerms, plan_nodes
from cockpit.actions.scale import scale_as_now
from cockpit.actions.verbs.node import plan_to_cordon, plan_to_uncordon
from cockpit.clock import ManualClock
from cockpit.errors import BadInput, CockpitError
from cockpit.model.plan import Plan
from cockpit.pools.index import pool_named
from cockpit.pools.truth import nodes_of
from tests.unit.actions.interleaved import Cockpit
from tests.unit.actions.interleaved_server import MAXIMUM, OWNER_PATH, Pause, Tree
from tests.unit.actions.rough_interleaved import RoughCockpit, RoughWorld, Skewed

HOURS_OFF = 7_200.0
READING_SECONDS = (0.0, 0.0, 2.0, 20.0, 90.0, 900.0)
"""For so long a person reads a plan before yes."""
DAEMON = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "exporter", "uid": "d", "controller": True}


class FarOff(Skewed):
    """The host's own clock is hours off; of the cluster's time it knows what headers told."""

    def __init__(self, clock: ManualClock, by_seconds: float, host_by_seconds: float) -> None:
        super().__init__(clock, by_seconds)
        self._host_by = host_by_seconds

    def now(self) -> float:
        return super().now() + self._host_by


class WildCockpit(RoughCockpit):
    """One terminal of one person."""

    leanings = (6, 8, 4, 2, 1, 1)
    """How often it grows, shrinks, reclaims, moves the maximum, cordons or uncordons a node."""

    def __init__(self, name: str, world: "WildWorld") -> None:
        super().__init__(name, world, 0.0)
        self.wild = world
        rng = world.rng
        self.clock = FarOff(world.clock, rng.uniform(-10.0, 10.0), rng.uniform(-HOURS_OFF, HOURS_OFF))

    async def act(self) -> None:
        """Do one of these; read the plan, say yes, follow."""
        size = int(self.cluster.objects[OWNER_PATH]["spec"]["replicas"])
        verbs = ("grow", "shrink", "reclaim", "limit", "cordon", "uncordon")
        verb = self.rng.choices(verbs, self.leanings)[0]
        to = size + self.rng.choice((1, 1, 2, 3)) * (-1 if verb == "shrink" else 1)
        most, ceiling = self.rng.randint(1, 2), self.rng.randint(1, MAXIMUM + 2)
        planning = self.planner()
        nodes = list(nodes_of(self.store))
        node = self.rng.choice(nodes) if nodes else None

        async def make(*, reads: bool = False) -> Plan:
            if verb in ("cordon", "uncordon"):
                if node is None:
                    raise BadInput("there is no node")
                plan = plan_to_cordon if verb == "cordon" else plan_to_uncordon
                return await plan(planning(reads=reads), node, None)
            if verb == "reclaim":
                terms = ReclaimTerms(0.0, most)
                return await plan_nodes(planning(reads=reads), pool_named(self.store, "h100"), terms)
            if verb == "limit":
                return await limit_as_now(planning(reads=reads), "h100", ceiling)
            return await scale_as_now(planning(reads=reads), "h100", to)

        try:
            shown = await make()
            reading = self.rng.choice(READING_SECONDS)
            self.wild.clock.advance(reading)
            if reading >= 20.0:  # the watches go on meanwhile
                self.sync()
            for _ in range(self.rng.randint(0, 6)):
                await Pause()
            outcome = await self.carry(shown, make, planning)
        except CockpitError as error:
            self.told.append(f"{verb}: {error.sentence}")
            return
        self.told.append(f"{outcome.state}: {outcome.sentence}")
        self.wild.verbs[f"{verb} {outcome.state}"] += 1
        if outcome.hold is not None:
            await self._follow(outcome.hold)


class WildWorld(RoughWorld):
    """As the bad day, and wilder."""

    def __init__(self, seed: int) -> None:
        self.verbs: Counter[str] = Counter()
        super().__init__(seed)
        self.rng = random.Random(f"wild/{seed}")
        self.cockpits.append(self.cockpit("ann@a#2", 0.0))
        for one in self.cockpits:
            one.rng = self.rng
            one.sync()

    def cockpit(self, name: str, reclaims: float) -> Cockpit:
        return WildCockpit(name, self)

    def others(self) -> tuple[tuple[Callable[[], None], float], ...]:
        return (
            *super().others(),
            (self.drain, 0.4 / self.load),
            (self.end, 0.8 / self.load),
            (self.exporter, 0.3),
            (self.by_hand, 0.1),
        )

    def _work(self, node: str) -> list[str]:
        return [path for path in self._pods(node) if _is_work(self.cluster.objects[path])]

    def _bind(self, node: str) -> None:
        super()._bind(node)
        if self.rng.random() < 0.3:  # it needs no GPU
            pod = self.cluster.objects[self._pods(node)[-1]]
            pod["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "4"}}

    def end(self) -> None:
        """A pod ends and stays as one that has ended."""
        pods = [path for path, one in self.cluster.under("/pods/") if _is_work(one)]
        if pods:
            path = self.rng.choice(pods)
            self.cluster.objects[path]["status"]["phase"] = self.rng.choice(("Succeeded", "Failed"))
            self.cluster.touch(path)

    def exporter(self) -> None:
        """A DaemonSet's pod comes onto a node, cordoned or not."""
        nodes = self._nodes()
        if nodes:
            super()._bind(node := self.rng.choice(nodes))
            path = self._pods(node)[-1]
            pod = self.cluster.objects[path]
            pod["metadata"]["ownerReferences"] = [DAEMON]
            pod["spec"]["containers"] = [{"name": "main"}]
            self.cluster.touch(path)

    def drain(self) -> None:
        """Another tool cordons a node and takes its pods away."""
        nodes = [one for one in self._nodes() if self._is_open(one)]
        if nodes:
            node = self.rng.choice(nodes)
            self._node(node)["spec"]["unschedulable"] = True
            self.cluster.touch(f"/api/v1/nodes/{node}")
            for path in self._work(node):
                self.cluster.drop(path)

    def by_hand(self) -> None:
        """Somebody edits the size upwards, beyond the maximum, too."""
        owner = self.cluster.objects[OWNER_PATH]
        owner["spec"]["replicas"] = max(owner["spec"]["replicas"], self.rng.randint(1, MAXIMUM + 1))
        self.cluster.touch(OWNER_PATH)


def _is_work(pod: Tree) -> bool:
    owners = pod["metadata"].get("ownerReferences", ())
    return pod["status"]["phase"] == "Running" and DAEMON not in owners
