"""KAI-Scheduler: makes the groups itself from the job's kind; a queue label and the scheduler's name attach.

Source: KAI-Scheduler pkg/apis/scheduling/v2alpha2, pkg/podgrouper, docs/queues.
"""

from collections.abc import Mapping
from typing import Any

from cockpit.errors import BadInput
from cockpit.gangs.engine import ClusterList, ControllerSigns, Engine
from cockpit.gangs.manifests import Attached, copied, label_pods, refuse_without_pods, set_scheduler
from cockpit.model.gang import PodGroup
from cockpit.model.pod import Pod
from cockpit.model.record import Kind, condition
from cockpit.model.watched import Watched

_GROUP = "scheduling.run.ai"
_WORDS = {
    "OverLimit": "its queue is at its limit",
    "NonPreemptibleOverQuota": "over its queue's quota, and not preemptible",
    "QueueDoesNotExist": "its queue {queue} does not exist",
}


class Kai(Engine):
    """A scheduler with queues of its own."""

    name = "KAI"
    meaning = "Binds all pods together or none; the group is created by the pod grouper, from the job's kind."
    option = ":QUEUE"
    controller = ControllerSigns(_GROUP, "podgroups", ("kai-scheduler", "scheduler"), ("kai-scheduler",))
    watched = (Watched(Kind.POD_GROUP, _GROUP, "podgroups", ("v2alpha2",), name),)
    offers = {"kai-queues": (ClusterList((f"{_GROUP}/v2", "Queue"), "KAI queue"),)}  # noqa: RUF012
    queue_offer = "kai-queues"
    scheduler = "kai-scheduler"
    queue_label = "kai.scheduler/queue"

    def attach(self, manifest: Mapping[str, Any], *, queue: str = "", scheduler: str = "") -> Attached:
        """The manifest for KAI's scheduler and queue. Raises BadInput without a queue."""
        if not queue:
            raise BadInput("queue: KAI schedules nothing without a queue; give a leaf queue")
        tree = copied(manifest)
        refuse_without_pods(tree, self.name)
        set_scheduler(tree, self.scheduler)
        tree.setdefault("metadata", {}).setdefault("labels", {})[self.queue_label] = queue
        label_pods(tree, self.queue_label, queue)
        return Attached(tree, (), (self.meaning,))

    def conflict_with(self, other: Engine) -> str:
        return f"a {other.name} queue and {self.name}'s queue count the same GPUs twice; keep one of them"

    def reason(self, group: PodGroup, pods: tuple[Pod, ...]) -> str:
        """The scheduler's reason in plain words, else its own sentence."""
        told = condition(group.conditions, "UnschedulableOnNodePool")
        if told is None or told.status != "True":
            return ""
        words = _WORDS.get(told.reason, "").format(queue=group.queue)
        return words or told.message
