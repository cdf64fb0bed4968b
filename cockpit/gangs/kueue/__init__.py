"""Kueue: admits whole jobs by quota, by a Workload that it makes for each; the scheduler places the pods.

Quota before pods: a job is suspended until the whole job is admitted.
Sources: kueue pkg/controller/constants, apis/kueue/v1beta2, apis/visibility, site/content/en/docs/concepts.
"""

from typing import Final

from cockpit.gangs.engine import (
    Admits,
    ClusterList,
    ControllerSigns,
    Engine,
    Foretells,
    Marks,
    PlacesByTopology,
    Priority,
    QueueOrder,
    Queues,
    QuotaQueues,
    SuspendsWorkload,
)
from cockpit.gangs.kueue import (
    attach,
    line,
    offers,
    outlook,
    plans,
    queues,
    standing,
    topology,
    unreleased,
    verdict,
    waiting,
    written,
)
from cockpit.gangs.kueue.queue_state import queue_state
from cockpit.gangs.offers import Offers
from cockpit.model.gang import ClusterQueue, LocalQueue, Workload
from cockpit.model.pod import Pod
from cockpit.model.record import Kind, Labels, label
from cockpit.model.watched import Watched

_GROUP: Final = "kueue.x-k8s.io"
_VERSIONS: Final = ("v1beta2", "v1beta1")
_LATEST: Final = f"{_GROUP}/v1beta2"
_WORKLOAD: Final = (_LATEST, "Workload")
_PRIORITIES: Final = (_LATEST, "WorkloadPriorityClass")


def _queue_of_job(labels: Labels, workload: Workload | None, has_pods: bool) -> str | None:
    queue = label(labels, attach.QUEUE_LABEL)
    return (workload.queue or queue) if workload is not None else queue or None


def _queue_of_pod(pod: Pod, labels: Labels) -> str | None:
    return pod.queue if pod.queue or pod.gang_by == f"{_GROUP}/pod-group-name" else None


KUEUE: Final = Engine(
    name="Kueue",
    meaning="Admits a gang whole by quota; binds it together only where its flavor has a topology.",
    attach=attach.attach,
    controller=ControllerSigns(_GROUP, "workloads", ("kueue-controller-manager",)),
    watched=(
        Watched(Kind.WORKLOAD, _GROUP, "workloads", _VERSIONS, api_kind="Workload"),
        Watched(Kind.LOCAL_QUEUE, _GROUP, "localqueues", _VERSIONS),
        Watched(Kind.CLUSTER_QUEUE, _GROUP, "clusterqueues", _VERSIONS),
    ),
    kinds={_WORKLOAD: "workloads"},
    form_lists={
        "priority-classes": (ClusterList(_PRIORITIES, "WorkloadPriorityClass"),),
        "topology-levels": (ClusterList((_LATEST, "Topology"), "topology"),),
    },
    marks=Marks(
        queue_label=attach.QUEUE_LABEL,
        written=written.WRITTEN,
        take_out=written.take_out,
        queue_of_job=_queue_of_job,
        queue_of_pod=_queue_of_pod,
    ),
    suits=attach.suits,
    priority=Priority(attach.PRIORITY_LABEL, "priority-classes", _PRIORITIES),
    queues=Queues(
        queue_state,
        local=Kind.LOCAL_QUEUE,
        cluster=Kind.CLUSTER_QUEUE,
        types=(LocalQueue, ClusterQueue),
        source="localqueues",
    ),
    admits=Admits(
        Workload,
        _WORKLOAD,
        admission=verdict.verdict,
        is_in_line=standing.is_in_line,
        finished_early=verdict.finished_early,
        quarrel=verdict.quarrel,
        queue_named=attach.queue_of,
    ),
    line=QueueOrder(
        "/apis/visibility.kueue.x-k8s.io/{version}/clusterqueues/{queue}/pendingworkloads",
        _VERSIONS,
        follows_others=waiting.follows_others,
        place=line.place_of,
        lines=standing.lines,
        lately=queues.lately,
    ),
    suspends_workload=SuspendsWorkload(plans.is_through_workload, plans.suspend_workload),
    foretells=Foretells(outlook.LISTS, outlook.outlook, outlook.may_preempt),
    topology=PlacesByTopology(
        (_LATEST, "ResourceFlavor"),
        flavor_topology=topology.flavor_topology,
        required_levels=topology.required_levels,
        submit_lines=attach.submit_lines,
        submit_warnings=attach.submit_warnings,
    ),
    quota_queues=QuotaQueues(
        (_LATEST, "LocalQueue"),
        name=queues.queue_name,
        held_in_vain=unreleased.of_queue,
        waiting=queues.waiting,
        path=plans.queue_path,
        plan_stop=plans.plan_stop_queue,
        plan_resume=plans.plan_resume_queue,
    ),
    offers=Offers(
        offers.changes,
        unmet=offers.unmet,
        quota_command=offers.quota_command,
        flavors=offers.flavors,
        cohorts=offers.cohorts,
    ),
)
