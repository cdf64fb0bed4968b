"""One embedded cluster: the server's inner parts, every actor on one engine, and the scenario they play.

Without HTTP (`EmbeddedCluster.stepped`) it is for tests and moves only when told; `cockpit.sim.serve` puts it
behind HTTP and lets it run by the wall.
"""

from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from random import Random

from cockpit.clock import Clock, ManualClock
from cockpit.kube.resource import LOCAL_QUEUES, MACHINE_DEPLOYMENTS, NODES
from cockpit.sim.actors.autoscaler.actor import Autoscaler
from cockpit.sim.actors.autoscaler.settings import AutoscalerSettings
from cockpit.sim.actors.common.machine_template import MACHINES
from cockpit.sim.actors.controllers.budgets import Budgets
from cockpit.sim.actors.controllers.deployment.deployments import Deployments
from cockpit.sim.actors.controllers.garbage import BUILT_IN, CUSTOM, Garbage
from cockpit.sim.actors.controllers.job.jobs import Jobs
from cockpit.sim.actors.controllers.leftovers import FinishedJobs, OldEvents, PodLeftovers
from cockpit.sim.actors.controllers.mpijob.mpijobs import MpiJobs
from cockpit.sim.actors.controllers.namespaces import CONTENT, NamespaceEnd
from cockpit.sim.actors.controllers.nodes.daemon_sets import DaemonSets
from cockpit.sim.actors.controllers.nodes.lifecycle import NodeLifecycle
from cockpit.sim.actors.controllers.nodes.taint_eviction import TaintEviction
from cockpit.sim.actors.controllers.replica_sets import ReplicaSets
from cockpit.sim.actors.gpus.endpoint import ExporterEndpoint
from cockpit.sim.actors.gpus.exposition import Generation
from cockpit.sim.actors.gpus.fleet import GpuFleet
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
from cockpit.sim.resources import CUSTOM_RESOURCE_DEFINITIONS, NATIVE_POD_GROUPS, POD_GROUPS
from cockpit.sim.scenarios.manifests import GANG_SCHEDULER, POOL_LABEL
from cockpit.sim.scenarios.scenario_player import Line, ScenarioPlayer, Tell
from cockpit.sim.scenarios.schema import Scenario
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
        self.fleet = GpuFleet(self.kubelets.devices, self._generation_of)
        self.exporters = ExporterEndpoint(self.fleet, clock)
        self.queue = QueueController(Random(random.getrandbits(64)))
        self.story = ScenarioPlayer(scenario, self, self._note)
        self.engine = ActorEngine(
            LocalPort(operations, manager="cockpit-demo"), clock, random, tuple(self._actors(random))
        )

    @classmethod
    def stepped(cls, scenario: Scenario, seed: int) -> "EmbeddedCluster":
        """A cluster that moves only by `engine.advance`; the same seed gives the same history."""
        from cockpit.sim.server.assembly import assemble

        clock, random = ManualClock(), Random(seed)
        operations = assemble(clock, random).operations
        cluster = cls(scenario, operations, clock, random)
        cluster.install()
        return cluster

    def install(self) -> None:
        """Serve the custom kinds and put the queue's admission in its place, before the engine starts."""
        install_definitions(self.operations)
        if self.scenario.native_gangs:
            self.operations.kinds.add(pod_group_kind())
        self.operations.admissions.append(QueueAdmission(self._has_default_queue))

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
        yield from (Deployments(), ReplicaSets(), DaemonSets(), Jobs(), MpiJobs())
        yield from (FinishedJobs(), PodLeftovers(), OldEvents(), Budgets())
        yield from (NodeLifecycle(), TaintEviction())
        yield self.queue
        yield Scheduler(Random(random.getrandbits(64)), is_native=is_native)
        yield Scheduler(Random(random.getrandbits(64)), GANG_SCHEDULER, _GANG_RULES)
        yield PodGroupStatuses()
        if is_native:
            yield PodGroupProtection()
        yield Machines(self.scenario.runtime)
        patience = self.scenario.autoscaler
        if patience is not None:
            yield Autoscaler(
                AutoscalerSettings(
                    scan_seconds=seconds(patience.scan),
                    unneeded_seconds=seconds(patience.unneeded),
                    delay_after_add_seconds=seconds(patience.after_add),
                    provision_seconds=seconds(patience.provision),
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
        self.kubelets.outage(node, is_out=is_out)

    def silence(self, node: str, *, is_silent: bool) -> None:
        """An exporter stops answering, or answers again."""
        if is_silent:
            self.exporters.silent.add(node)
        else:
            self.exporters.silent.discard(node)

    def reroute(self, address: str) -> str | None:
        """Where `ADDRESS:PORT` of a simulated pod really answers, as a URL; None for where it says."""
        node = self.fleet.node_of_exporter(address.rpartition(":")[0])
        return (
            f"http://127.0.0.1:{self.exporters.port}/nodes/{node}" if node and self.exporters.port else None
        )

    def listens(self, host: str, port: int) -> bool:
        """Whether a port of this machine's loopback is ours: kubelets, exporters, or what a process of a pod
        that really runs here announces."""
        if port in (self.kubelets.endpoint.port, self.exporters.port):
            return port != 0
        return port in self.kubelets.process_ports()


_GANG_RULES = GangRules(permit_seconds=10.0, backoff_seconds=5.0)
"""The waiting time of scheduler-plugins' chart, the back-off of the plugin's own example: while it lasts each
pod of a refused group is refused again for the group's sake, and so none is woken when room appears."""

_PLUGIN_XIDS = frozenset({46, 48, 62, 64, 74, 79, 95, 119, 120, 140})
"""Those after which the device plugin takes a card out. NVIDIA/k8s-device-plugin internal/rm/health.go takes
all but a skip list; these are the ones that end a card until it is reset."""
