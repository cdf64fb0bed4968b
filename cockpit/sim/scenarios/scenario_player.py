"""Plays a scenario: creates what is there at the start, and does each step when its time comes."""

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import msgspec

from cockpit.errors import BadInput
from cockpit.kube.resource import JOBS, MPIJOBS, NODES, PODS, Resource
from cockpit.sim.actors.gpus.physics import Faults
from cockpit.sim.durations import seconds
from cockpit.sim.engine import Actor, Key
from cockpit.sim.port import ObjectChange, PortError, Tree
from cockpit.sim.resources import DEPLOYMENTS, POD_GROUPS
from cockpit.sim.scenarios.incidents import drawn, targets_of
from cockpit.sim.scenarios.kinds import resource_called, resource_of
from cockpit.sim.scenarios.manifests import capacity_of, job_objects, node
from cockpit.sim.scenarios.schema import BrokenGpu, NodeJoins, Scenario, ScenarioJob, ScenarioStep
from cockpit.sim.scenarios.setup import objects_of
from cockpit.sim.scenarios.streams import Arrival, Comings, Name, draw, wait_seconds
from cockpit.sim.times import rfc3339

STEP, STREAM, INCIDENT, CHURN, GPUS, PRUNE, BACK = (
    "step",
    "stream",
    "incident",
    "churn",
    "gpus",
    "prune",
    "back",
)
_CHURN_SECONDS = 0.1
_PRUNE_SECONDS = 30.0
_REFUSED = (400, 403, 404, 405, 422)
_BEAT = "cockpit.dev/beat"


class SimulatedMachines(Protocol):
    """What a story can do to the machines themselves, past the API."""

    def break_card(self, node: str, index: int, faults: Faults) -> None: ...
    def healthy_devices(self, node: str) -> dict[str, int]: ...
    def outage(self, node: str, *, is_out: bool) -> None: ...
    def silence(self, node: str, *, is_silent: bool) -> None: ...


class Line(msgspec.Struct, frozen=True):
    """One line of the story's log: `at_seconds` since its start; `truth` marks the cause of an incident."""

    at_seconds: float
    time: str
    what: str
    about: str = ""
    cause: str = ""


Tell = Callable[[Line], None]


class ScenarioPlayer(Actor):
    """One scenario on one cluster."""

    name = "story"
    watches: tuple[Resource, ...] = (JOBS, MPIJOBS, PODS, NODES, DEPLOYMENTS, POD_GROUPS)

    def __init__(self, scenario: Scenario, machines: SimulatedMachines, tell: Tell) -> None:
        super().__init__()
        self.scenario = scenario
        self._machines = machines
        self._tell = tell
        self._began = 0.0
        self._pools = {pool.name: pool for pool in scenario.pools}
        self._count = 0
        self._churned_until = 0.0  # the moment up to which changes were made, 0 before there were pods
        self._comings = [Comings(stream) for stream in scenario.streams]
        self._causes: list[str] = []

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        """Only time wakes a story."""
        return ()

    async def start(self) -> None:
        """Create what is there, and set every timer."""
        engine, scenario = self.engine, self.scenario
        self._began = engine.now()
        for tree in objects_of(scenario):
            await self._begin_with(tree)
        for index, step in enumerate(scenario.steps):
            engine.after(seconds(step.at), self, (STEP, str(index)))
        for index, stream in enumerate(scenario.streams):
            engine.after(seconds(stream.after), self, (STREAM, str(index)))
        if scenario.incidents is not None:
            self._draw_causes()
            engine.after(seconds(scenario.incidents.first), self, (INCIDENT,))
        if scenario.churn is not None:
            engine.after(_CHURN_SECONDS, self, (CHURN,))
        engine.after(_PRUNE_SECONDS, self, (PRUNE,))
        self._say(f"{scenario.title}: {scenario.name} begins")

    async def reconcile(self, key: Key) -> None:
        """What the key's timer was set for."""
        match key:
            case (kind, index) if kind == STEP:
                await self._attempt(self.scenario.steps[int(index)])
            case (kind, index) if kind == STREAM:
                await self._stream(int(index))
                self._next(int(index))
            case (kind, name) if kind == BACK:
                self._machines.outage(name, is_out=False)
            case (kind, name) if kind == GPUS:
                await self._advertise(name)
            case (kind,) if kind == INCIDENT:
                await self._incident()
            case (kind,) if kind == CHURN:
                await self._churn()
            case (kind,) if kind == PRUNE:
                await self._prune()

    async def _begin_with(self, tree: Tree) -> None:
        """One of the objects at the start. Raises BadInput where the server refuses it."""
        try:
            await self._create(tree)
        except PortError as error:
            said = f"{tree['kind']} {tree['metadata']['name']!r} is refused: {error.message}"
            raise BadInput(f"scenario {self.scenario.name}: {said}") from None

    # ---- steps

    async def _attempt(self, step: ScenarioStep) -> None:
        """A step; what the server refuses for good is told instead of tried again."""
        try:
            await self._step(step)
        except PortError as error:
            if error.status not in _REFUSED:
                raise
            self._say(f"nothing happens: {error.message}")

    async def _step(self, step: ScenarioStep) -> None:
        if step.say:
            self._say(step.say)
        if step.submit is not None:
            await self._submit(step.submit)
        if step.apply is not None:
            await self._create(step.apply)
        if step.delete is not None:
            target = step.delete
            resource = resource_called(target.kind)
            await self._allowing_gone(
                self.engine.port.delete(resource, target.namespace, target.name, propagation="Background")
            )
        if step.cordon is not None:
            await self.engine.port.patch(NODES, "", step.cordon, {"spec": {"unschedulable": True}})
        if step.node is not None:
            await self._join(step.node)
        if step.outage is not None:
            self._machines.outage(step.outage.node, is_out=True)
            self.engine.after(seconds(step.outage.seconds), self, (BACK, step.outage.node))
        if step.gpu is not None:
            await self._break(step.gpu)
        if step.exporter is not None:
            self._machines.silence(step.exporter.node, is_silent=step.exporter.silent)

    async def _break(self, gpu: BrokenGpu) -> None:
        """A card, and what the device plugin offers from then on."""
        faults = Faults(heat_celsius=gpu.heat, xid=gpu.xid, is_lost=gpu.lost, remapped_rows=gpu.remapped_rows)
        try:
            self._machines.break_card(gpu.node, gpu.index, Faults() if gpu.mended else faults)
        except KeyError as error:
            self._say(f"nothing happens: {error.args[0]}")
            return
        offered = {name: str(count) for name, count in self._machines.healthy_devices(gpu.node).items()}
        status = {"status": {"allocatable": offered}}
        await self.engine.port.patch(NODES, "", gpu.node, status, subresource="status")

    async def _submit(self, job: ScenarioJob) -> None:
        for tree in job_objects(job, self._pools):
            await self._create(tree)

    async def _create(self, tree: Tree) -> None:
        """An object that is there already is left as it is: a story may begin on a cluster that exists."""
        resource = resource_of(tree)
        try:
            await self.engine.port.create(resource, tree, tree["metadata"].get("namespace", ""))
        except PortError as error:
            if error.reason != "AlreadyExists":
                raise

    @staticmethod
    async def _allowing_gone(call: Any) -> None:
        try:
            await call
        except PortError as error:
            if not error.is_gone:
                raise

    async def _join(self, joins: NodeJoins) -> None:
        pool = self._pools[joins.pool]
        wait = seconds(joins.gpus_after)
        tree = node(pool, joins.name, len(self._own_nodes()), has_gpus=wait == 0)
        await self._create(tree)
        if wait:
            self.engine.after(wait, self, (GPUS, joins.name))

    def _own_nodes(self) -> list[str]:
        return [tree["metadata"]["name"] for tree in self.engine.cache(NODES)]

    async def _advertise(self, name: str) -> None:
        """The driver is installed: the device plugin shows the node's cards."""
        tree = self.engine.cache(NODES).get("", name)
        if tree is None:
            return
        joins = next(
            one.node for one in self.scenario.steps if one.node is not None and one.node.name == name
        )
        capacity = capacity_of(self._pools[joins.pool])
        devices = {key: value for key, value in capacity.items() if key.startswith("nvidia.com/")}
        status = {"status": {"capacity": devices, "allocatable": devices}}
        await self.engine.port.patch(NODES, "", name, status, subresource="status")
        self._say(f"{name} advertises its GPUs")

    # ---- streams

    def _next(self, index: int) -> None:
        wait = wait_seconds(self.scenario.streams[index], self._elapsed(), self.engine.random)
        self.engine.after(wait, self, (STREAM, str(index)))

    async def _stream(self, index: int) -> None:
        comings = self._comings[index]
        if not comings.has_room(self._look):
            return
        self._count += 1
        job = draw(comings.stream, self._count, self.engine.random)
        trees = job_objects(job, self._pools)
        for tree in trees:
            await self._create(tree)
        names = tuple((resource_of(tree), job.namespace, tree["metadata"]["name"]) for tree in trees)
        comings.note(Arrival(self.engine.now(), names))

    def _look(self, name: Name) -> Tree | None:
        resource, namespace, own = name
        return self.engine.cache(resource).get(namespace, own)

    async def _prune(self) -> None:
        """Take away what ended a while ago, as a ttl would, and what its owner gave up."""
        self.engine.after(_PRUNE_SECONDS, self, (PRUNE,))
        for comings in self._comings:
            for resource, namespace, name in comings.leaving(self.engine.now(), self._look):
                await self._allowing_gone(
                    self.engine.port.delete(resource, namespace, name, propagation="Background")
                )

    # ---- incidents

    def _draw_causes(self) -> None:
        incidents = self.scenario.incidents
        assert incidents is not None
        causes = list(incidents.causes)
        while len(self._causes) < incidents.count:
            self.engine.random.shuffle(causes)
            self._causes += causes
        del self._causes[incidents.count :]

    async def _incident(self) -> None:
        if not self._causes:
            return
        incidents = self.scenario.incidents
        assert incidents is not None
        cause = self._causes.pop(0)
        self._count += 1
        targets = targets_of(self.scenario, self.engine.cache(NODES))
        incident = drawn(cause, self.engine.random, targets, self._count)
        for step in incident.steps:
            await self._attempt(step)
        self._say(incident.truth, about=incident.about, cause=cause)
        if self._causes:
            self.engine.after(seconds(incidents.every), self, (INCIDENT,))

    # ---- churn

    async def _churn(self) -> None:
        """Small changes of pods at a steady rate; what a late timer left out is made up for."""
        self.engine.after(_CHURN_SECONDS, self, (CHURN,))
        churn = self.scenario.churn
        assert churn is not None
        pods, now = self.engine.cache(PODS).keys(), self.engine.now()
        since = max(self._churned_until or now - _CHURN_SECONDS, now - max(1.0, 2 / churn.per_second))
        due = round(churn.per_second * (now - since)) if pods else 0
        self._churned_until = since + due / churn.per_second if pods else 0.0
        for _ in range(due):
            namespace, name = pods[self.engine.random.randrange(len(pods))]
            self._count += 1
            patch = {"metadata": {"annotations": {_BEAT: str(self._count)}}}
            await self._allowing_gone(self.engine.port.patch(PODS, namespace, name, patch))

    # ---- telling

    def _elapsed(self) -> float:
        return self.engine.now() - self._began

    def _say(self, what: str, *, about: str = "", cause: str = "") -> None:
        self._tell(
            Line(
                at_seconds=round(self._elapsed(), 3),
                time=rfc3339(self.engine.now()),
                what=what,
                about=about,
                cause=cause,
            )
        )
