"""Kueue: admits whole jobs by quota, by a Workload that it makes for each; the scheduler places the pods.

Sources: kueue pkg/controller/constants, apis/kueue/v1beta2, apis/visibility, site/content/en/docs/concepts.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from cockpit.errors import BadInput
from cockpit.gangs.engine import (
    ClusterList,
    ControllerSigns,
    Engine,
    InstalledEngine,
    NewJob,
    PlacesApi,
    Queue,
    Suited,
    SuspendChange,
    Topologies,
)
from cockpit.gangs.kueue import (
    attach,
    offers,
    outlook,
    plans,
    quarrel,
    queues,
    standing,
    topology,
    unreleased,
    verdict,
    waiting,
    written,
)
from cockpit.gangs.kueue.queue_state import queue_state
from cockpit.gangs.manifests import Attached
from cockpit.gangs.offers import Offers
from cockpit.gangs.outlook import OutlookFacts, QuotaOutlook
from cockpit.gangs.sentence import counted
from cockpit.gangs.standing import GangStanding, QueueState, WaitingView
from cockpit.model.contender import Contender
from cockpit.model.finding import Finding
from cockpit.model.gang import ClusterQueue, LocalQueue, Workload
from cockpit.model.job import JobObject
from cockpit.model.plan import Plan
from cockpit.model.pod import Pod
from cockpit.model.record import Kind, Labels, label
from cockpit.model.store_reader import StoreReader
from cockpit.model.watched import Watched

_GROUP = "kueue.x-k8s.io"
_VERSIONS = ("v1beta2", "v1beta1")
_LATEST = f"{_GROUP}/v1beta2"
# A queue that Kueue itself takes for jobs without a label.
_DEFAULT_QUEUE = "default"
_GROUP_LABEL = f"{_GROUP}/pod-group-name"


class Kueue(Engine):
    """Quota before pods: a job is suspended until the whole job is admitted."""

    name = "Kueue"
    meaning = "Admits a gang whole by quota; binds it together only where its flavor has a topology."
    controller = ControllerSigns(_GROUP, "workloads", ("kueue-controller-manager",))
    watched = (
        Watched(Kind.WORKLOAD, _GROUP, "workloads", _VERSIONS, api_kind="Workload"),
        Watched(Kind.LOCAL_QUEUE, _GROUP, "localqueues", _VERSIONS),
        Watched(Kind.CLUSTER_QUEUE, _GROUP, "clusterqueues", _VERSIONS),
    )
    kinds = {(_LATEST, "Workload"): "workloads"}  # noqa: RUF012 - a fact, never changed
    form_lists = {  # noqa: RUF012
        "priority-classes": (ClusterList((_LATEST, "WorkloadPriorityClass"), "WorkloadPriorityClass"),),
        "topology-levels": (ClusterList((_LATEST, "Topology"), "topology"),),
    }
    queue_offer = "localqueues"
    quota_offers: ClassVar[Offers | None] = offers
    flavor_kind = (_LATEST, "ResourceFlavor")
    queue_label = attach.QUEUE_LABEL
    priority_label = attach.PRIORITY_LABEL
    priority_offer = "priority-classes"
    priority_kind = (_LATEST, "WorkloadPriorityClass")
    written_labels = written.WRITTEN
    workload_type = Workload
    workload_kind = (_LATEST, "Workload")
    places_api = PlacesApi(
        "/apis/visibility.kueue.x-k8s.io/{version}/clusterqueues/{queue}/pendingworkloads", _VERSIONS
    )
    places_pods = False
    keeps_size = True
    queue_types = (LocalQueue, ClusterQueue)
    queue_kind = (_LATEST, "LocalQueue")
    local_queues = Kind.LOCAL_QUEUE
    cluster_queues = Kind.CLUSTER_QUEUE

    def queue_name(self, queue: Queue) -> str:
        """`localqueue/team-a/main`, `clusterqueue/research`."""
        return f"{'localqueue' if isinstance(queue, LocalQueue) else 'clusterqueue'}/{queue.key}"

    # ---- whose job it is, and where it stands

    def queue_of_job(self, labels: Labels, workload: Workload | None, *, has_pods: bool) -> str | None:
        queue = label(labels, self.queue_label)
        if workload is not None:
            return workload.queue or queue
        return queue or None

    def queue_of_pod(self, pod: Pod, labels: Labels) -> str | None:
        return pod.queue if pod.queue or pod.gang_by == _GROUP_LABEL else None

    def admission(
        self,
        workload: Workload,
        store: StoreReader,
        positions: Mapping[str, int] | None,
        *,
        is_told: bool = False,
    ) -> GangStanding:
        return verdict.verdict(workload, store, positions, is_told=is_told)

    def is_in_line(self, workload: Workload) -> bool:
        return standing.is_in_line(workload)

    def quarrel(self, job: JobObject, workload: Workload, store: StoreReader) -> str:
        return quarrel.quarrel(job, workload, store)

    def finished_early(self, workload: Workload) -> Finding | None:
        return verdict.finished_early(workload)

    def follows_others(self, workload: Workload, store: StoreReader) -> bool:
        return waiting.follows_others(workload, store)

    def estimate_positions(self, store: StoreReader, among: Iterable[Workload]) -> dict[str, int]:
        return standing.estimate_positions(store, among=among)

    def lines(self, store: StoreReader) -> dict[str, dict[tuple[str, str], str]]:
        return standing.lines(store)

    def status_records(self, store: StoreReader) -> Iterable[Workload]:
        found: Iterable[Workload] = store.records(Kind.WORKLOAD).values()
        return found

    # ---- a new job

    def suits(self, job: NewJob, installed: InstalledEngine) -> Suited | None:
        """Unless it is known to be dead: where the namespace has one queue, or one that Kueue defaults to."""
        if not installed.is_usable or not attach.is_managed(job.api_version, job.kind) or job.queues is None:
            return None
        queues = job.queues
        queue = queues[0] if len(queues) == 1 else _DEFAULT_QUEUE if _DEFAULT_QUEUE in queues else ""
        if queue:
            return Suited(f"{installed.sentence}; queue {queue} is there", queue=queue)
        if queues:
            why = f"Kueue has {counted(len(queues), 'queue')} here: choose one to start as a gang"
        else:
            why = "Kueue has no queue in this namespace: choose one where it has, to start as a gang"
        return Suited(why, is_sure=False)

    def attach(self, manifest: Mapping[str, Any], *, queue: str = "", scheduler: str = "") -> Attached:
        return attach.attach(manifest, queue=queue)

    def queue_named(self, manifest: Mapping[str, Any]) -> str:
        return attach.queue_of(manifest)

    def required_levels(self, manifest: Mapping[str, Any]) -> tuple[str, ...]:
        return topology.required_levels(manifest)

    def submit_lines(
        self,
        manifest: Mapping[str, Any],
        namespace: str,
        store: StoreReader | None,
        topologies: Topologies | None,
    ) -> tuple[str, ...]:
        queue, found = attach.queue_of(manifest), None
        if store is not None:
            found = topology.topology_of(manifest, namespace, queue, store, topologies)
        if found is None and topologies is None and not topology.asks_for_topology(manifest):
            return ()
        return (topology.binding_words(manifest, found),)

    def submit_warnings(
        self,
        manifest: Mapping[str, Any],
        namespace: str,
        gpus: int,
        store: StoreReader,
        topologies: Topologies | None,
    ) -> tuple[str, ...]:
        free = attach.free_gpus(store)
        said = attach.half_bind_warning(manifest, namespace, gpus, free, store, topologies=topologies)
        return (said,) if said else ()

    def take_out_written(self, manifest: dict[str, Any], workload: Mapping[str, Any] | None) -> None:
        written.take_out(manifest, workload)

    # ---- suspend and resume

    def suspends_apart(self, workload: Workload | None, *, is_served: bool, target: str) -> bool:
        if workload is not None:
            return True
        if not is_served:
            return False  # the label of a queue, and no Kueue behind it
        raise BadInput(f"{target}: Kueue has not made a Workload for it yet; look again in a moment")

    def suspend_workload(self, workload: Workload, *, suspend: bool, version: str) -> SuspendChange:
        return plans.suspend_workload(workload, suspend=suspend, version=version)

    # ---- what a change does to others

    outlook_lists = outlook.LISTS

    def outlook(
        self, contenders: Sequence[Contender], store: StoreReader, facts: OutlookFacts, now_seconds: float
    ) -> QuotaOutlook:
        return outlook.outlook(contenders, store, facts, now_seconds)

    def may_preempt(self, contenders: Sequence[Contender], store: StoreReader) -> bool:
        return outlook.may_preempt(contenders, store)

    # ---- queues

    def queue_state(self, queue: Queue) -> QueueState:
        return queue_state(queue)

    def held_in_vain(self, queue: Queue, store: StoreReader) -> Finding | None:
        return unreleased.of_queue(queue, store) if isinstance(queue, (LocalQueue, ClusterQueue)) else None

    def waiting(self, store: StoreReader, queue: Queue) -> tuple[WaitingView, ...]:
        return queues.waiting(store, queue)

    def queue_path(self, queue: Queue, version: str) -> str:
        return plans.queue_path(queue, version)

    def plan_stop_queue(
        self, queue: Queue, *, drain: bool, version: str, workloads: Iterable[Workload]
    ) -> Plan:
        return plans.plan_stop_queue(queue, drain=drain, version=version, workloads=workloads)

    def plan_resume_queue(self, queue: Queue, version: str) -> Plan:
        return plans.plan_resume_queue(queue, version)
