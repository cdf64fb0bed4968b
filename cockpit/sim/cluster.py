"""One embedded cluster: the server's inner parts, every actor on one engine, and the scenario they play.

Without HTTP (`EmbeddedCluster.stepped`) it is for tests and moves only when told; `cockpit.sim.serve` puts it
behind HTTP and lets it run by the wall. What a scenario says was there before (`standing`) is played first,
by actors of its own, `age` before the start: those that follow find it, as after a restart of everything.
"""

from collections.abc import Coroutine, Iterable, Mapping
from importlib import resources
from pathlib import Path
from random import Random
from typing import Any

from cockpit.clock import Clock, ManualClock
from cockpit.kube.resource import LOCAL_QUEUES, MACHINE_DEPLOYMENTS, NODES, PODS
from cockpit.sim.actors.autoscaler.actor import Autoscaler
from cockpit.sim.actors.autoscaler.settings import AutoscalerSettings
from cockpit.sim.actors.common.machine_template import MACHINES
from cockpit.sim.actors.controllers.budgets import Budgets
from cockpit.sim.actors.controllers.cron_jobs import CronJobs
from cockpit.sim.actors.controllers.deployments import Deployments
from cockpit.sim.actors.controllers.garbage import BUILT_IN, CUSTOM, Garbage
from cockpit.sim.actors.controllers.job.jobs import Jobs
from cockpit.sim.actors.controllers.leftovers import FinishedJobs, OldEvents, PodLeftovers
from cockpit.sim.actors.controllers.mpijob.mpijobs import MpiJobs
from cockpit.sim.actors.controllers.namespaces import CONTENT, NamespaceEnd
from cockpit.sim.actors.controllers.nodes.daemon_sets import DaemonSets
from cockpit.sim.actors.controllers.nodes.lifecycle import NodeLifecycle
from cockpit.sim.actors.controllers.nodes.taint_eviction import TaintEviction
from cockpit.sim.actors.controllers.replica_sets import ReplicaSets
from cockpit.sim.actors.controllers.resource_claims import ResourceClaims
from cockpit.sim.actors.controllers.stateful_set.stateful_sets import StatefulSets
from cockpit.sim.actors.gpus.endpoint import ExporterEndpoint
from cockpit.sim.actors.gpus.exposition import Generation
from cockpit.sim.actors.gpus.fleet import KEEPS_SECONDS, GpuFleet
from cockpit.sim.actors.gpus.physics import Faults
from cockpit.sim.actors.kubelet.actor import Kubelets
from cockpit.sim.actors.kubelet.local_images import Local
from cockpit.sim.actors.kubelet.nodes import KubeletAddress
from cockpit.sim.actors.kubelet.volume_keeper import VolumeKeeper
from cockpit.sim.actors.pools.machines import Machines
from cockpit.sim.actors.queue import positions
from cockpit.sim.actors.queue.actor import QueueController
from cockpit.sim.actors.queue.admission import QueueAdmission
from cockpit.sim.actors.scheduler.actor import Scheduler
from cockpit.sim.actors.scheduler.gangs import GangRules
from cockpit.sim.actors.scheduler.native_gangs import PodGroupProtection
from cockpit.sim.actors.scheduler.pod_groups import PodGroupStatuses
from cockpit.sim.devices import gpu_uuid
from cockpit.sim.durations import seconds
from cockpit.sim.engine import Actor, ActorEngine
from cockpit.sim.port import Tree
from cockpit.sim.prometheus.api import PATH, QueryApi
from cockpit.sim.prometheus.targets import ExporterTargets, KubeletTargets, Silences
from cockpit.sim.resources import CUSTOM_RESOURCE_DEFINITIONS, NATIVE_POD_GROUPS, POD_GROUPS
from cockpit.sim.scenarios.manifests import GANG_SCHEDULER, POOL_LABEL
from cockpit.sim.scenarios.scenario_player import Line, ScenarioPlayer, Tell
from cockpit.sim.scenarios.schema import Scenario
from cockpit.sim.scenarios.setup import standing
from cockpit.sim.server.http.mounts import AggregatedGroup
from cockpit.sim.server.local_port import LocalPort
from cockpit.sim.server.native_groups import pod_group_kind
from cockpit.sim.server.operations import Operations
from cockpit.sim.server.request import Request


def definitions() -> Iterable[Path]:
    """Files of the custom resource definitions that the embedded cluster starts with, in a fixed order."""
    folder = Path(str(resources.files("cockpit") / "sim" / "crds"))
    return sorted(folder.rglob("*.yaml"))


def install_definitions(operations: Operations) -> None:
    """Serve the custom kinds: pools, queues, gangs and MPI jobs."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for path in definitions():
        with path.open() as file:
            for tree in yaml.load_all(file, Loader=loader):
                request = Request(resource=CUSTOM_RESOURCE_DEFINITIONS, verb="create")
                operations.create(request, tree)


class EmbeddedCluster:
    """Actors on one engine. `lines` is what the story told so far, with the truth about its incidents."""

    def __init__(
        self,
        scenario: Scenario,
        operations: Operations,
        clock: Clock,
        random: Random,
        *,
        tell: Tell | None = None,
        kubelet_endpoint: KubeletAddress | None = None,
        local: Local | None = None,
    ) -> None:
        """`local` really runs pods of its images on this machine; without it nothing is ever run."""
        self.scenario = scenario
        self.operations = operations
        self.clock = clock
        self.lines: list[Line] = []
        self._tell = tell
        self._local = local
        self.kubelets = Kubelets(
            random=Random(random.getrandbits(64)),
            endpoint=kubelet_endpoint,
            local=local,
        )
        generations = {pool.name: pool.exporter for pool in scenario.pools}
        self._generation_of_pool = {
            name: Generation(word) for name, word in generations.items() if word != "none"
        }
        keeps_seconds = REMEMBERS_SECONDS if scenario.prometheus else KEEPS_SECONDS
        self.fleet = GpuFleet(self.kubelets.devices, self._generation_of, keeps_seconds)
        self.exporters = ExporterEndpoint(self.fleet, clock)
        self._silent_exporters, self._silent_kubelets = Silences(), Silences()
        exporters = ExporterTargets(self.fleet, self._silent_exporters)
        kubelets = KubeletTargets(self.kubelets, self._silent_kubelets)
        self.prometheus = QueryApi((exporters, kubelets), clock)
        self.queue = QueueController(Random(random.getrandbits(64)))
        self.story = ScenarioPlayer(scenario, self, self._note)
        self.engine = ActorEngine(
            LocalPort(operations, manager="cockpit-demo"), clock, random, tuple(self._actors(random))
        )

    @classmethod
    def stepped(cls, scenario: Scenario, seed: int) -> "EmbeddedCluster":
        """A cluster that moves only by `engine.advance`; the same seed gives the same history."""
        from cockpit.sim.server.assembly import assemble

        clock, random = ManualClock(ManualClock().now() - age_seconds(scenario)), Random(seed)
        operations = assemble(clock, random).operations
        cluster = cls(scenario, operations, clock, random)
        cluster.install()
        return cluster

    def install(self) -> None:
        """Serve the custom kinds, put the queue's admission in its place, and play what was there before the
        start: its `age` is over when the engine starts."""
        install_definitions(self.operations)
        if self.scenario.native_gangs:
            self.operations.kinds.add(pod_group_kind())
        self.operations.admissions.append(QueueAdmission(self._has_default_queue))
        if self.scenario.standing is not None:
            self._live_before(age_seconds(self.scenario))

    def _live_before(self, age: float) -> None:
        """Everything comes up, is stopped after a minute, and the clock moves on to the start."""
        clock = self.clock
        assert isinstance(clock, ManualClock)
        seed = Random(f"{self.scenario.name} before")
        before = EmbeddedCluster(standing(self.scenario), self.operations, clock, seed)

        async def live() -> None:
            await before.engine.start()
            await before.engine.advance(min(age, _BEFORE_SECONDS))
            await before.engine.stop()

        _at_once(live())
        clock.advance(age - min(age, _BEFORE_SECONDS))

    def visibility(self) -> AggregatedGroup:
        """Kueue's visibility API: who waits in which place (of a real Kueue, its own server answers it)."""

        def told(path: str, query: Mapping[str, str]) -> Tree:
            return positions.answer(self.queue.queue_cache, path, query)

        return AggregatedGroup(positions.GROUP, positions.VERSION, positions.resource_list, told)

    def _has_default_queue(self, namespace: str) -> bool:
        return self.operations.storage.get(LOCAL_QUEUES, namespace, "default") is not None

    def _actors(self, random: Random) -> Iterable[Actor]:
        """Controllers first, then who places, then who runs: the order in which they see a change."""
        machines = (MACHINE_DEPLOYMENTS, MACHINES)
        is_native = self.scenario.native_gangs
        groups = (POD_GROUPS, NATIVE_POD_GROUPS) if is_native else (POD_GROUPS,)
        yield NamespaceEnd((*CONTENT, *CUSTOM, LOCAL_QUEUES, *machines, *groups))
        yield Garbage((*BUILT_IN, *CUSTOM, *machines, *groups))
        yield from (Deployments(), ReplicaSets(), DaemonSets(), StatefulSets(), Jobs(), MpiJobs())
        yield from (CronJobs(), FinishedJobs(), PodLeftovers(), OldEvents(), Budgets(), ResourceClaims())
        yield from (NodeLifecycle(), TaintEviction())
        yield self.queue
        yield Scheduler(Random(random.getrandbits(64)), is_native=is_native)
        yield Scheduler(Random(random.getrandbits(64)), GANG_SCHEDULER, _GANG_RULES)
        yield PodGroupStatuses()
        if is_native:
            yield PodGroupProtection()
        yield Machines()
        patience = self.scenario.autoscaler
        if patience is not None:
            yield Autoscaler(
                AutoscalerSettings(
                    scan_seconds=seconds(patience.scan),
                    unneeded_seconds=seconds(patience.unneeded),
                    delay_after_add_seconds=seconds(patience.after_add),
                )
            )
        yield self.kubelets
        if self._local is not None:
            yield VolumeKeeper(self.kubelets, self._local.runtime)
        yield self.fleet
        yield self.story

    def _generation_of(self, node: str) -> Generation:
        tree = self.engine.cache(NODES).get("", node)
        labels = (tree or {}).get("metadata", {}).get("labels") or {}
        return self._generation_of_pool.get(labels.get(POOL_LABEL, ""), Generation.A)

    def _note(self, line: Line) -> None:
        self.lines.append(line)
        del self.lines[:-10_000]
        if self._tell is not None:
            self._tell(line)

    # ---- the machines themselves, for the story

    def break_card(self, node: str, index: int, faults: Faults) -> None:
        """Something is wrong with a card, or well again; its device plugin notices what a real one would."""
        self.fleet.break_card(node, index, faults)
        is_healthy = not faults.is_lost and faults.xid not in _PLUGIN_XIDS
        self.kubelets.devices.mark(node, gpu_uuid(node, index), healthy=is_healthy)

    def healthy_devices(self, node: str) -> dict[str, int]:
        """How many devices of each resource the plugins of a node offer."""
        devices = self.kubelets.devices
        return {
            resource: sum(devices.is_healthy(node, one) for one in devices.devices(node, resource))
            for resource in devices.resources(node)
        }

    def outage(self, node: str, *, is_out: bool) -> None:
        """A kubelet falls silent, or speaks again."""
        self._silent_kubelets.turn(node, self.clock.now(), is_silent=is_out)
        self.kubelets.outage(node, is_out=is_out)

    def silence(self, node: str, *, is_silent: bool) -> None:
        """An exporter stops answering, or answers again."""
        self._silent_exporters.turn(node, self.clock.now(), is_silent=is_silent)
        if is_silent:
            self.exporters.silent.add(node)
        else:
            self.exporters.silent.discard(node)

    def reroute(self, address: str) -> str | None:
        """Where `ADDRESS:PORT` of a simulated pod really answers, as a URL; None for where it says."""
        host, _, port = address.rpartition(":")
        root = f"http://127.0.0.1:{self.exporters.port}"
        if not self.exporters.port:
            return None
        if node := self.fleet.node_of_exporter(host):
            return f"{root}/nodes/{node}"
        return f"{root}{PATH}" if port == "9090" and self._is_prometheus(host) else None

    def _is_prometheus(self, host: str) -> bool:
        return self.scenario.prometheus and any(
            tree["metadata"].get("labels", {}).get("app.kubernetes.io/name") == "prometheus"
            and tree.get("status", {}).get("podIP") == host
            for tree in self.engine.cache(PODS)
        )

    def listens(self, host: str, port: int) -> bool:
        """Whether a port of this machine's loopback is ours: kubelets, exporters, or what a process of a pod
        that really runs here announces."""
        if port in (self.kubelets.endpoint.port, self.exporters.port):
            return port != 0
        return port in self.kubelets.process_ports()


def age_seconds(scenario: Scenario) -> float:
    """How long before the start the first of it was there."""
    return seconds(scenario.standing.age) if scenario.standing is not None else 0.0


def _at_once(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run what never waits, as actors on a stepped clock. Raises RuntimeError where it would wait."""
    try:
        coroutine.send(None)
    except StopIteration:
        return
    coroutine.close()
    raise RuntimeError("an actor waits for more than the stepped clock")


REMEMBERS_SECONDS = 12_000.0
"""So far back the embedded Prometheus is asked: three hours, and what a rate at their front needs."""
_BEFORE_SECONDS = 60.0

_GANG_RULES = GangRules(permit_seconds=10.0, backoff_seconds=5.0)
"""The waiting time of scheduler-plugins' chart, the back-off of the plugin's own example: while it lasts each
pod of a refused group is refused again for the group's sake, and so none is woken when room appears."""

_PLUGIN_XIDS = frozenset({46, 48, 62, 64, 74, 79, 95, 119, 120, 140})
"""Those after which the device plugin takes a card out. NVIDIA/k8s-device-plugin internal/rm/health.go takes
all but a skip list; these are the ones that end a card until it is reset."""
