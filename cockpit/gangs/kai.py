"""KAI-Scheduler: makes the groups itself from the job's kind; a queue label and the scheduler's name attach.

Source: KAI-Scheduler pkg/apis/scheduling/v2alpha2, pkg/podgrouper, docs/queues.
"""

from collections.abc import Mapping
from typing import Any

from cockpit.errors import BadInput
from cockpit.gangs.manifests import Attached, copied, label_pods, refuse_without_pods, set_scheduler
from cockpit.model.gang import PodGroup
from cockpit.model.pod import Pod
from cockpit.model.record import condition

NAME = "KAI"
SCHEDULER = "kai-scheduler"
QUEUE_LABEL = "kai.scheduler/queue"
MEANING = (
    "Binds the whole group together or not at all; the group is made by the pod grouper, from the job's kind."
)
RETRIES_BY_ITSELF = True
_WORDS = {
    "OverLimit": "its queue is at its limit",
    "NonPreemptibleOverQuota": "over its queue's quota, and not preemptible",
    "QueueDoesNotExist": "its queue {queue} does not exist",
}


def attach(manifest: Mapping[str, Any], *, queue: str) -> Attached:
    """The manifest for KAI's scheduler and queue. Raises BadInput without a queue."""
    if not queue:
        raise BadInput("queue: KAI places nothing without a queue; name a leaf queue")
    tree = copied(manifest)
    refuse_without_pods(tree, NAME)
    set_scheduler(tree, SCHEDULER)
    tree.setdefault("metadata", {}).setdefault("labels", {})[QUEUE_LABEL] = queue
    label_pods(tree, QUEUE_LABEL, queue)
    return Attached(tree, (), (MEANING,))


def reason(group: PodGroup, pods: tuple[Pod, ...]) -> str:
    """The scheduler's reason in plain words, else its own sentence."""
    told = condition(group.conditions, "UnschedulableOnNodePool")
    if told is None or told.status != "True":
        return ""
    words = _WORDS.get(told.reason, "").format(queue=group.queue)
    return words or told.message
