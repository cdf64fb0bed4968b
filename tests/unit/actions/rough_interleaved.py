"""The small cluster on a bad day, with people who do more at once: they shrink, too, and read a plan for a
while before yes; they move the maximum; one of them sits at two terminals. Clocks differ, and hosts' own
clocks are hours off; there are conflicts, answers that are lost, requests that arrive a second time, cockpits
that crash in the middle, machines whose nodes join late; another tool drains nodes; pods without GPUs, pods
that have ended and pods of DaemonSets are there."""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from cockpit.actions.cordon import plan_to_cordon, plan_to_uncordon
from cockpit.actions.limit import limit_as_now
from cockpit.actions.reclaim_nodes import ReclaimTerms, plan_nodes
from cockpit.actions.scale import scale_as_now
from cockpit.clock import ClusterTime, ManualClock
from cockpit.errors import Answered, BadInput, CockpitError, NoConnection
from cockpit.kube.answer import ApiAnswer
from cockpit.model.plan import Call, Plan
from cockpit.pools.index import pool_named
from cockpit.pools.truth import nodes_of
from tests.unit.actions.builders import REVIEWS
from tests.unit.actions.interleaved import Cockpit, World
from tests.unit.actions.interleaved_server import MACHINES, MAXIMUM, NS, OWNER_PATH, Pause, Tree

SKEW_SECONDS = 20.0
"""So far a cockpit's notion of the cluster's time may be off; half of it is the second that headers cut."""
FAULTS = 0.03
"""Of all writes: each kind of what goes wrong."""
CONFLICT = ApiAnswer(
    409,
    "application/json",
    b'{"kind":"Status","apiVersion":"v1","status":"Failure","code":409,"reason":"Conflict",'
    b'"message":"the object has been modified; please apply your changes to the latest version"}',
)
HOURS_OFF = 7_200.0
READING_SECONDS = (0.0, 0.0, 2.0, 20.0, 90.0, 900.0)
"""For so long a person reads a plan before yes."""
DAEMON = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "exporter", "uid": "d", "controller": True}


class Skewed:
    """The cluster's clock, read wrongly by so much; the host's own clock is further off."""

    def __init__(self, clock: ManualClock, by_seconds: float, host_by_seconds: float) -> None:
        self._clock, self._by, self._host_by = clock, by_seconds, host_by_seconds

    def now(self) -> float:
        return self._clock.now() + self._by + self._host_by

    def monotonic(self) -> float:
        return self._clock.monotonic()

    def cluster_now(self) -> float:
        return self._clock.now() + self._by

    def cluster_pace(self) -> float:
        return 1.0

    def hear(self, said: ClusterTime, asked_seconds: float, heard_seconds: float) -> None:
        """Learns nothing."""


class RoughCockpit(Cockpit):
    """One terminal of one person, whose line to the API server is bad."""

    leanings = (6, 8, 4, 2, 1, 1)
    """How often it grows, shrinks, reclaims, moves the maximum, cordons or uncordons a node."""

    def __init__(self, name: str, world: "RoughWorld") -> None:
        super().__init__(name, world.cluster, world.rng, 0.0)
        self.world, rng = world, world.rng
        self.clock = Skewed(world.clock, rng.uniform(-10.0, 10.0), rng.uniform(-HOURS_OFF, HOURS_OFF))

    async def request(self, method: str, path: str, **more: Any) -> ApiAnswer:
        if method == "GET" or path == REVIEWS:
            return await super().request(method, path, **more)
        luck = self.rng.random()
        if luck < FAULTS:
            await Pause()
            self.world.did["conflicts"] += 1
            return CONFLICT
        answer = await super().request(method, path, **more)
        if luck > 1.0 - FAULTS:
            self.world.did["lost"] += 1
            raise NoConnection("the answer is lost")
        if luck > 1.0 - 2 * FAULTS:
            self.world.late.append((self.session, Call(method=method, path=path, body=more.get("body"))))
        return answer

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
            self.world.clock.advance(reading)
            if reading >= 20.0:  # the watches go on meanwhile
                self.sync()
            for _ in range(self.rng.randint(0, 6)):
                await Pause()
            outcome = await self.carry(shown, make, planning)
        except CockpitError as error:
            self.told.append(f"{verb}: {error.sentence}")
            return
        self.told.append(f"{outcome.state}: {outcome.sentence}")
        self.world.verbs[f"{verb} {outcome.state}"] += 1
        if outcome.hold is not None:
            await self._follow(outcome.hold)


class RoughWorld(World):
    """As the world, and worse."""

    def __init__(self, seed: int) -> None:
        self.verbs: Counter[str] = Counter()
        self.late: list[tuple[str, Call]] = []
        self.did = dict.fromkeys(("conflicts", "lost", "again", "crashes", "late nodes"), 0)
        self.coming: list[str] = []
        self.is_built = False
        super().__init__(seed)
        self.rng = random.Random(f"rough/{seed}")
        self.cluster.skew_seconds = 2 * SKEW_SECONDS
        self.is_built = True
        self.cockpits.append(self.cockpit("ann@a#2", 0.0))
        for one in self.cockpits:
            one.rng = self.rng
            one.sync()

    def cockpit(self, name: str, reclaims: float) -> Cockpit:
        return RoughCockpit(name, self)

    def others(self) -> tuple[tuple[Callable[[], None], float], ...]:
        return (
            *super().others(),
            *((self.arrive, 2.5), (self.again, 1.0), (self.crash, 0.3)),
            *((self.drain, 0.4 / self.load), (self.end, 0.8 / self.load), (self.exporter, 0.3)),
            (self.by_hand, 0.1),
        )

    def _join(self) -> None:
        if not self.is_built:
            super()._join()
            return
        self.made += 1
        about = {"name": f"m-n{self.made}", "namespace": NS, "annotations": {}}
        labels = {"cluster.x-k8s.io/deployment-name": "h100"}
        machine = {"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "spec": {"clusterName": "c"}}
        self.cluster.put(
            f"{MACHINES}/m-n{self.made}", {**machine, "metadata": {**about, "labels": labels}, "status": {}}
        )
        self.count()
        self.coming.append(f"n{self.made}")

    def arrive(self) -> None:
        """The node of a machine that was made a while ago joins; one that is to go does not boot in the time
        that its owner takes to see it."""
        machines = dict(self.cluster.under(MACHINES))
        is_shrinking = self._is_shrinking()
        coming = [one for one in self.coming if f"{MACHINES}/m-{one}" in machines]
        coming = [one for one in coming if not (is_shrinking and self._is_going(one))]
        self.coming = coming
        if coming:
            self.did["late nodes"] += 1
            name = self.coming.pop(0)
            path = f"{MACHINES}/m-{name}"
            self.cluster.objects[path]["status"] = {"nodeRef": {"name": name}}
            self.cluster.touch(path)
            self.add_node(name)

    def reconcile(self) -> None:
        """A MachineSet takes what is marked first, then a machine without a node."""
        machines = [path for path, _ in self.cluster.under(MACHINES)]
        wanted = self.cluster.objects[OWNER_PATH]["spec"]["replicas"]
        bare = [one for one in machines if f"/api/v1/nodes/{_node_of(one)}" not in self.cluster.objects]
        if len(machines) <= wanted or not bare or any(self._is_going(_node_of(one)) for one in machines):
            super().reconcile()
        else:
            self._drop(_node_of(self.rng.choice(bare)))

    def _drop(self, node: str) -> None:
        if f"/api/v1/nodes/{node}" in self.cluster.objects:
            super()._drop(node)
        else:
            self.cluster.drop(f"{MACHINES}/m-{node}")
            self.count()

    def again(self) -> None:
        """A request arrives a second time, late."""
        if self.late:
            who, call = self.late.pop(0)
            self.did["again"] += 1
            try:
                self.cluster.write(who, call)
            except Answered:
                return

    def crash(self) -> None:
        """A cockpit ends in the middle of what it does; its next session knows nothing of it."""
        cockpit = self.rng.choice(self.cockpits)
        if cockpit.work is not None:
            self.did["crashes"] += 1
            cockpit.work.close()
            cockpit.work = None
            cockpit.sync()

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


def _node_of(machine: str) -> str:
    return machine.rpartition("/m-")[2]


def _is_work(pod: Tree) -> bool:
    owners = pod["metadata"].get("ownerReferences", ())
    return pod["status"]["phase"] == "Running" and DAEMON not in owners
