"""The small cluster on a bad day: clocks that differ, conflicts, answers that are lost, requests that arrive
a second time, cockpits that crash in the middle, machines whose nodes join late."""

import random
from collections.abc import Callable
from typing import Any

from cockpit.clock import ClusterTime, ManualClock
from cockpit.errors import Answered, NoConnection
from cockpit.kube.answer import ApiAnswer
from cockpit.model.plan import Call
from tests.unit.actions.builders import REVIEWS
from tests.unit.actions.interleaved import Cockpit, World
from tests.unit.actions.interleaved_server import MACHINES, NS, OWNER_PATH, Pause

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


class Skewed:
    """The cluster's clock, read wrongly by so much."""

    def __init__(self, clock: ManualClock, by_seconds: float) -> None:
        self._clock, self._by = clock, by_seconds

    def now(self) -> float:
        return self._clock.now() + self._by

    def monotonic(self) -> float:
        return self._clock.monotonic()

    def cluster_now(self) -> float:
        return self._clock.now() + self._by

    def cluster_pace(self) -> float:
        return 1.0

    def hear(self, said: ClusterTime, asked_seconds: float, heard_seconds: float) -> None:
        """Learns nothing."""


class RoughCockpit(Cockpit):
    """One whose line to the API server is bad."""

    def __init__(self, name: str, world: "RoughWorld", reclaims: float) -> None:
        super().__init__(name, world.cluster, world.rng, reclaims)
        self.world = world
        self.clock = Skewed(world.clock, world.rng.uniform(-SKEW_SECONDS, SKEW_SECONDS))

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


class RoughWorld(World):
    """As the world, and worse."""

    def __init__(self, seed: int) -> None:
        self.late: list[tuple[str, Call]] = []
        self.did = dict.fromkeys(("conflicts", "lost", "again", "crashes", "late nodes"), 0)
        self.coming: list[str] = []
        self.is_built = False
        super().__init__(seed)
        self.rng = random.Random(f"rough/{seed}")
        self.cluster.skew_seconds = 2 * SKEW_SECONDS
        self.is_built = True

    def cockpit(self, name: str, reclaims: float) -> Cockpit:
        return RoughCockpit(name, self, reclaims)

    def others(self) -> tuple[tuple[Callable[[], None], float], ...]:
        return (*super().others(), (self.arrive, 2.5), (self.again, 1.0), (self.crash, 0.3))

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


def _node_of(machine: str) -> str:
    return machine.rpartition("/m-")[2]
