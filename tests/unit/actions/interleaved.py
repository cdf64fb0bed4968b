"""A small cluster in memory, and everybody who changes it, a request at a time in an order that a seed
decides.

The cockpits are the product's own code (`scale_as_now`, `plan_nodes`, `carry_replanned`, `Settling`,
`Follower`), each over a store of its own that lags behind. Their coroutines stop at every request; nothing
runs by itself. Beside them act a scheduler that binds what it decided a while ago, a machine controller, an
autoscaler, and nodes that come and go.
"""

import random
from collections.abc import Callable, Coroutine
from typing import Any

from cockpit.actions.execute.replan import carry_replanned
from cockpit.actions.execute.two_phase_removal import Settling
from cockpit.actions.planning import FreshPlanning, Make, Planning, PoolTerms
from cockpit.actions.pool_follow import Follower
from cockpit.actions.reclaim_nodes import ReclaimTerms, plan_nodes
from cockpit.actions.rollback import roll_back
from cockpit.actions.scale import scale_as_now
from cockpit.clock import Clock, ManualClock
from cockpit.errors import Answered, CockpitError
from cockpit.k8s.labels import AUTOSCALER_MAXIMUM
from cockpit.kube.answer import ApiAnswer
from cockpit.model.plan import Call, Outcome, Plan, PoolLeaseHandle
from cockpit.pools.index import pool_named
from cockpit.store.store import Store
from tests.unit.actions.builders import REVIEWS, Lines
from tests.unit.actions.interleaved_server import (
    CAPI,
    DELETE_MACHINE,
    MACHINES,
    MAXIMUM,
    NS,
    OWNER_PATH,
    START_SECONDS,
    Pause,
    Server,
    Tree,
    answer,
    maximum_of,
    person,
)

BIND_SECONDS = 8.0
"""A scheduler binds what it decided at most so long after."""


class Cockpit:
    """One session of one person: what it does is a coroutine that stops at every request."""

    context = "prod"
    server = "https://prod.example"
    read_only = False

    def __init__(self, name: str, cluster: Server, rng: random.Random, reclaims: float) -> None:
        self.user = person(name)
        self.acts_as = None
        self.session = name
        self.reclaims = reclaims  # how often it reclaims instead of growing
        self.cluster = cluster
        self.clock: Clock = cluster.clock
        self.rng = rng
        self.store = Store()
        self.work: Coroutine[Any, Any, None] | None = None
        self.told: list[str] = []

    async def request(self, method: str, path: str, **more: Any) -> ApiAnswer:
        await Pause()
        if path == REVIEWS:
            return answer(201, {"status": {"allowed": True}})
        if method == "GET":
            return self.cluster.read(path, more.get("query", ()))
        call = Call(method=method, path=path, body=more.get("body"))
        try:
            self.cluster.write(self.session, call)
        except Answered as error:
            status = {"kind": "Status", "apiVersion": "v1", "status": "Failure"}
            said = {"code": error.said.status, "reason": error.said.reason, "message": error.said.message}
            return answer(error.said.status or 500, status | said)
        return answer(200, self.cluster.objects.get(path.removesuffix("/scale"), {}))

    async def act(self) -> None:
        """Resize or reclaim: plan, read for a while, say yes, and follow what was begun."""
        size = int(self.cluster.objects[OWNER_PATH]["spec"]["replicas"])
        to, most = size + self.rng.choice((1, 1, 2, 3, -1)), self.rng.randint(1, 2)
        is_reclaim = self.rng.random() < self.reclaims
        planning = self.planner()

        async def make(*, reads: bool = False) -> Plan:
            if is_reclaim:
                terms = ReclaimTerms(0.0, most)
                return await plan_nodes(planning(reads=reads), pool_named(self.store, "h100"), terms)
            return await scale_as_now(planning(reads=reads), "h100", to)

        try:
            shown = await make()
            for _ in range(self.rng.randint(0, 6)):
                await Pause()
            outcome = await self.carry(shown, make, planning)
        except CockpitError as error:
            self.told.append(error.sentence)
            return
        self.told.append(f"{outcome.state}: {outcome.sentence}")
        if outcome.hold is not None:
            await self._follow(outcome.hold)

    def planner(self) -> FreshPlanning:
        """What plans are made on from this moment on."""
        asked_seconds, clock = self.clock.cluster_now(), self.clock

        def fresh(*, reads: bool = False) -> Planning:
            terms = PoolTerms("default", asked_seconds, self.user, made_seconds=clock.cluster_now())
            return Planning(
                self.store, self, _no_lookup, self.context, reads=reads, pools=terms, at_seconds=asked_seconds
            )

        return fresh

    async def carry(self, shown: Plan, make: Make, planning: FreshPlanning) -> Outcome:
        """After yes, as `conduct` goes on."""

        async def back(first: Plan, /, *, reads: bool = False) -> Plan:
            return await roll_back(planning(reads=reads), pool_named(self.store, "h100"), first)

        async def sleep(seconds: float) -> None:
            end = self.cluster.clock.now() + seconds
            while self.cluster.clock.now() < end:
                await Pause()

        outcome = await carry_replanned(shown, make, self, Lines(), self.clock)
        rest = Settling(
            shown=shown, again=make, back=back, session=self, audit=Lines(), clock=self.clock, sleep=sleep
        )
        return await rest.go(outcome)

    async def _follow(self, hold: PoolLeaseHandle) -> None:
        async def sleep(_seconds: float) -> None:
            await Pause()

        follower = Follower(hold, lambda: self.store, self, audit=Lines, clock=self.clock, sleep=sleep)
        await follower.to_the_end()

    def step(self) -> None:
        """One request further; a session that has nothing to do begins something."""
        if self.work is None:
            self.work = self.act()
        try:
            self.work.send(None)
        except StopIteration:
            self.work = None

    def sync(self) -> None:
        """The watches have caught up."""
        self.store = self.cluster.store()


def finished(work: Any, between: Callable[[], None] = lambda: None) -> Any:
    """What the coroutine returns where nobody else acts but `between` two requests."""
    while True:
        try:
            work.send(None)
        except StopIteration as end:
            return end.value
        between()


def empty_world() -> "World":
    """A pool whose nodes are all empty."""
    world = World(1)
    for path, _ in list(world.cluster.under("/pods/")):
        world.cluster.drop(path)
    return world


def _no_lookup(_version: str, _kind: str) -> None:
    return None


# ---- the others


class World:
    """All of them, and the invariants in `faults`."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.clock = ManualClock(START_SECONDS)
        self.cluster = Server(self.clock)
        reclaims = self.rng.choice((0.0, 0.5, 0.9))
        self.load = self.rng.choice((1.0, 1.0, 4.0))  # how fast pods come, and how long they run
        self.cockpits = [self.cockpit(name, reclaims) for name in ("ann@a", "bob@b")]
        self.decided: list[
            tuple[str, float]
        ] = []  # nodes for which the scheduler has a pod, and when it chose
        self.made = 0
        nodes = self.rng.randint(2, 5)
        self._owner(nodes)
        for _ in range(nodes):
            self._join()
        for node in self._nodes():
            if self.rng.random() < 0.4 + 0.1 * self.load:
                self._bind(node)
        for one in self.cockpits:
            one.sync()

    def cockpit(self, name: str, reclaims: float) -> Cockpit:
        """A session of that person."""
        return Cockpit(name, self.cluster, self.rng, reclaims)

    @property
    def faults(self) -> list[str]:
        return self.cluster.faults

    def others(self) -> tuple[tuple[Callable[[], None], float], ...]:
        """Who acts besides the cockpits, and how often."""
        return (
            (self.reconcile, 3.0),
            (self.decide, 3.0),
            (self.bind, 1.5 * self.load),
            (self.finish, 1.0 / self.load),
            (self.autoscale, 0.4),
            (self.limit, 0.2),
            (self.vanish, 0.1),
            (self.uncordon, 0.2),
        )

    def run(self, steps: int) -> None:
        """So many steps of anybody; the cockpits take most of them."""
        others = self.others()
        acts = [one for one, _ in others]
        weights = [weight for _, weight in others]
        for _ in range(steps):
            self._tick()
            if self.rng.random() < 0.75:
                cockpit = self.rng.choice(self.cockpits)
                if self.rng.random() < 0.35:
                    cockpit.sync()
                cockpit.step()
            else:
                self.rng.choices(acts, weights)[0]()
        for one in self.cockpits:
            if one.work is not None:
                one.work.close()

    def _tick(self) -> None:
        self.clock.advance(self.rng.choice((0.0, 0.0, 0.1, 0.1, 0.2, 0.3, 0.5, 0.5, 1.0, 12.0)))
        if self.rng.random() < 0.005:
            self.clock.advance(700.0)  # a laptop that slept: holds lapse
        late = [one for one in self.decided if self.clock.now() - one[1] >= BIND_SECONDS]
        for one in late:
            self.decided.remove(one)  # it took too long: the scheduler chooses anew

    # ---- objects

    def _owner(self, replicas: int) -> None:
        tree = {
            "apiVersion": CAPI,
            "kind": "MachineDeployment",
            "metadata": {
                "name": "h100",
                "namespace": NS,
                "annotations": {AUTOSCALER_MAXIMUM: str(MAXIMUM)},
            },
            "spec": {"replicas": replicas, "clusterName": "c"},
            "status": {"replicas": replicas},
        }
        self.cluster.put(OWNER_PATH, tree)

    def _join(self) -> None:
        """A machine and its node."""
        self.made += 1
        name = f"n{self.made}"
        about = {"name": f"m-{name}", "namespace": NS, "annotations": {}}
        about["labels"] = {"cluster.x-k8s.io/deployment-name": "h100"}
        machine = {"apiVersion": CAPI, "kind": "Machine", "metadata": about, "spec": {"clusterName": "c"}}
        self.cluster.put(f"{MACHINES}/m-{name}", machine | {"status": {"nodeRef": {"name": name}}})
        self.add_node(name)

    def add_node(self, name: str) -> None:
        """The node of machine `m-NAME`."""
        notes = {
            "cluster.x-k8s.io/machine": f"m-{name}",
            "cluster.x-k8s.io/owner-kind": "MachineSet",
            "cluster.x-k8s.io/owner-name": "h100-1",
        }
        node = {
            "metadata": {
                "name": name,
                "labels": {"cluster.x-k8s.io/deployment-name": "h100", "example.com/pool": "h100"},
                "annotations": notes,
            },
            "spec": {},
            "status": {
                "capacity": {"nvidia.com/gpu": "8"},
                "allocatable": {"nvidia.com/gpu": "8"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
        self.cluster.put(f"/api/v1/nodes/{name}", node)
        self.count()

    def count(self) -> None:
        """The owner notes how many machines it has."""
        self.cluster.objects[OWNER_PATH]["status"] = {"replicas": len(list(self.cluster.under(MACHINES)))}
        self.cluster.touch(OWNER_PATH)

    def _nodes(self) -> list[str]:
        return [path.rpartition("/")[2] for path, _ in self.cluster.under("/api/v1/nodes/")]

    def _node(self, name: str) -> Tree:
        return self.cluster.objects[f"/api/v1/nodes/{name}"]

    def _pods(self, node: str) -> list[str]:
        return [path for path, one in self.cluster.under("/pods/") if one["spec"]["nodeName"] == node]

    def _work(self, node: str) -> list[str]:
        """Pods that make the node a busy one."""
        return self._pods(node)

    def _bind(self, node: str) -> None:
        self.made += 1
        container = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": "8"}}}
        pod = {
            "metadata": {"name": f"p{self.made}", "namespace": "team-a"},
            "spec": {"nodeName": node, "containers": [container]},
            "status": {"phase": "Running"},
        }
        self.cluster.put(f"/pods/p{self.made}", pod)

    def _is_going(self, node: str) -> bool:
        """Its machine is marked: from here on its owner drains it, which is not played here."""
        return DELETE_MACHINE in self.cluster.objects[f"{MACHINES}/m-{node}"]["metadata"]["annotations"]

    def _is_shrinking(self) -> bool:
        """There are more machines than the owner is to have."""
        wanted = int(self.cluster.objects[OWNER_PATH]["spec"]["replicas"])
        return len(list(self.cluster.under(MACHINES))) > wanted

    def _drop(self, node: str) -> None:
        for path in (f"/api/v1/nodes/{node}", f"{MACHINES}/m-{node}", *self._pods(node)):
            self.cluster.drop(path)
        self.count()

    def _is_open(self, node: str) -> bool:
        """Whether the scheduler places pods on it."""
        spec = self._node(node)["spec"]
        return not spec.get("unschedulable") and not spec.get("taints")

    # ---- acts

    def reconcile(self) -> None:
        """The machine controller makes one machine, or takes one: those marked to go before all others."""
        machines = dict(self.cluster.under(MACHINES))
        wanted = self.cluster.objects[OWNER_PATH]["spec"]["replicas"]
        if len(machines) < wanted:
            self._join()
        elif len(machines) > wanted:
            marked = [
                path for path, one in machines.items() if DELETE_MACHINE in one["metadata"]["annotations"]
            ]
            node = self.rng.choice(marked or list(machines)).rpartition("/m-")[2]
            if self._work(node):
                self.faults.append(f"busy node {node} was removed ({'marked' if marked else 'not marked'})")
            self._drop(node)

    def decide(self) -> None:
        """The scheduler chooses a node for a pod; the binding comes a moment later."""
        taken = {node for node, _ in self.decided}
        found = [
            one for one in self._nodes() if self._is_open(one) and not self._work(one) and one not in taken
        ]
        if found:
            self.decided.append((self.rng.choice(found), self.clock.now()))

    def bind(self) -> None:
        """The API server binds to a cordoned node, too."""
        if self.decided:
            node, _ = self.decided.pop(0)
            if node in self._nodes():
                self._bind(node)

    def finish(self) -> None:
        pods = [path for path, _ in self.cluster.under("/pods/")]
        if pods:
            self.cluster.drop(self.rng.choice(pods))

    def autoscale(self) -> None:
        """One more, or takes an empty node away, as its own rules allow: marked, and the number with it."""
        owner = self.cluster.objects[OWNER_PATH]
        size = owner["spec"]["replicas"]
        if self.rng.random() < 0.5:
            owner["spec"]["replicas"] = min(maximum_of(owner), size + 1) if size < maximum_of(owner) else size
        else:
            busy = {node for node, _ in self.decided}
            found = [
                one for one in self._nodes() if not self._work(one) and one not in busy and self._is_open(one)
            ]
            machines = len(list(self.cluster.under(MACHINES)))
            if not found or size != machines:
                return
            owner["spec"]["replicas"] = size - 1
            self._drop(self.rng.choice(found))
        self.cluster.touch(OWNER_PATH)

    def limit(self) -> None:
        """An admin sets another maximum."""
        owner = self.cluster.objects[OWNER_PATH]
        owner["metadata"]["annotations"][AUTOSCALER_MAXIMUM] = str(self.rng.randint(2, MAXIMUM))
        self.cluster.touch(OWNER_PATH)

    def vanish(self) -> None:
        """A spot machine is taken away, with whatever runs on it."""
        nodes = self._nodes()
        if nodes:
            self._drop(self.rng.choice(nodes))

    def uncordon(self) -> None:
        """Somebody uncordons a node, whoever cordoned it; not one that its owner takes away by now, for it
        drains that first."""
        is_shrinking = self._is_shrinking()
        closed = [
            one
            for one in self._nodes()
            if self._node(one)["spec"].get("unschedulable") and not (is_shrinking and self._is_going(one))
        ]
        if closed:
            node = self.rng.choice(closed)
            self._node(node)["spec"].pop("unschedulable")
            self.cluster.touch(f"/api/v1/nodes/{node}")
