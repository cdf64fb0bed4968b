"""Which queueing or gang engine a job uses, told from its labels, its Workload and its pods.

A resource that the server knows proves only that a CRD exists; what the job's own objects carry counts.
Sources: kueue pkg/controller/constants; volcano-sh/apis labels.go; scheduler-plugins apis/scheduling;
KAI-Scheduler pkg/podgrouper.
"""

from collections.abc import Iterable
from typing import NamedTuple

from cockpit.gangs import kueue, none
from cockpit.model.gang import Workload
from cockpit.model.pod import Pod
from cockpit.model.record import Labels, label

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
VOLCANO_QUEUE_LABEL = "volcano.sh/queue-name"
KAI_QUEUE_LABEL = "kai.scheduler/queue"
_SCHEDULERS = {"volcano": "Volcano", "kai-scheduler": "KAI"}
_DEFAULT_SCHEDULERS = ("", "default-scheduler")


class Engine(NamedTuple):
    """The engine's name as a person knows it ("none" where there is none) and the queue, "" unknown."""

    name: str
    queue: str = ""


def engine_of(labels: Labels, pods: Iterable[Pod], workload: Workload | None) -> Engine:
    """Kueue where a Workload or its queue label says so, else what the pods' scheduler and group say."""
    queue = label(labels, QUEUE_LABEL)
    pods = tuple(pods)
    if workload is not None:
        return Engine(kueue.NAME, workload.queue or queue)
    if queue:
        return Engine(kueue.NAME, queue)
    for pod in pods:
        if pod.queue:
            return Engine(kueue.NAME, pod.queue)
        if pod.scheduler in _SCHEDULERS:
            key = VOLCANO_QUEUE_LABEL if pod.scheduler == "volcano" else KAI_QUEUE_LABEL
            return Engine(_SCHEDULERS[pod.scheduler], label(labels, key))
        if pod.gang:
            native = pod.scheduler in _DEFAULT_SCHEDULERS
            return Engine("native gang" if native else "Coscheduling")
    if not pods and (queue := label(labels, VOLCANO_QUEUE_LABEL)):
        return Engine("Volcano", queue)  # its own Job, before its queue let it have pods
    return Engine(none.NAME)
