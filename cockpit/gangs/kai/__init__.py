"""KAI-Scheduler: makes the groups itself from the job's kind; a queue label and the scheduler's name attach.

Source: KAI-Scheduler pkg/apis/scheduling/v2alpha2, pkg/podgrouper, docs/queues.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from cockpit.catalogue.cause import Cause
from cockpit.errors import BadInput
from cockpit.gangs.draft import by_condition, draft
from cockpit.gangs.engine import ClusterList, ControllerSigns, Engine, Marks, Queues, Scheduling
from cockpit.gangs.kai.queues import queue_state, read_queue
from cockpit.gangs.manifests import Attached, copied, label_pods, refuse_without_pods, set_scheduler
from cockpit.gangs.standing import NOT_HELD
from cockpit.model.finding import Finding
from cockpit.model.gang import PodGroup
from cockpit.model.pod import Pod
from cockpit.model.record import Kind, condition
from cockpit.model.sureness import Sureness
from cockpit.model.watched import Watched

_GROUP = "scheduling.run.ai"
QUEUES: Final = "kaiqueues"
"""The store's table of its queues."""
_WORDS = {
    # reason -> words without numbers, and what is said behind the numbers
    "OverLimit": ("queue {queue} is at its limit", ""),
    "NonPreemptibleOverQuota": ("over the quota of queue {queue}, and not preemptible", ", not preemptible"),
    "QueueDoesNotExist": ("queue {queue} does not exist", ""),
}
_AMOUNTS = re.compile(
    r"requested (?P<asked>[\d.]+) (?P<resource>GPUs?|CPU cores?|\w+)\b[^,]*, but (?P<queue>\S+) "
    r"(?P<bound>quota|limit) is (?P<most>[\d.]+)",
    re.IGNORECASE,
)
_PLACES = re.compile(r"Resources were found for (?P<some>\d+) pods? while (?P<all>\d+) are required")


_NAME: Final = "KAI"
_MEANING: Final = (
    "Binds all pods together or none; the group is created by the pod grouper, from the job's kind."
)
_SCHEDULER: Final = "kai-scheduler"
_QUEUE_LABEL: Final = "kai.scheduler/queue"


def attach(manifest: Mapping[str, Any], *, queue: str = "", scheduler: str = "") -> Attached:
    """The manifest for KAI's scheduler and queue. Raises BadInput without a queue."""
    if not queue:
        raise BadInput("queue: KAI schedules nothing without a queue; give a leaf queue")
    tree = copied(manifest)
    refuse_without_pods(tree, _NAME)
    set_scheduler(tree, _SCHEDULER)
    tree.setdefault("metadata", {}).setdefault("labels", {})[_QUEUE_LABEL] = queue
    label_pods(tree, _QUEUE_LABEL, queue)
    return Attached(tree, (), (_MEANING,))


def _reason(group: PodGroup, pods: tuple[Pod, ...]) -> Finding:
    """The scheduler's reason in plain words and with its numbers, else its own sentence."""
    mark = condition(group.conditions, "UnschedulableOnNodePool")
    if mark is None or mark.status != "True":
        return NOT_HELD
    return by_condition(group, mark, _found(mark.reason, mark.message, group.queue))


def _found(reason: str, message: str, queue: str) -> Finding:
    places = _PLACES.search(message)
    if places is not None:
        words = "nodes found for {some} of {all} pods of its group"
        return draft(Cause.GANG_FINDS_NO_ROOM, words, places.groupdict())
    if reason not in _WORDS:
        return Finding(sentence=message, sureness=Sureness.UNKNOWN)
    words, tail = _WORDS[reason]
    amounts = _AMOUNTS.search(message)
    if amounts is None:
        return draft(Cause.QUEUE_OVER_LIMIT, words, {"queue": queue})
    text = "asks {asked} {resource}, the {bound} of queue {queue} is {most}" + tail
    names = {**amounts.groupdict(), "queue": queue or amounts["queue"]}
    return draft(Cause.QUEUE_OVER_LIMIT, text, names)


KAI: Final = Engine(
    name=_NAME,
    meaning=_MEANING,
    attach=attach,
    option=":QUEUE",
    controller=ControllerSigns(_GROUP, "podgroups", ("kai-scheduler", "scheduler"), ("kai-scheduler",)),
    watched=(
        Watched(Kind.POD_GROUP, _GROUP, "podgroups", ("v2alpha2",), _NAME),
        Watched(QUEUES, _GROUP, "queues", ("v2",), record=read_queue),
    ),
    form_lists={"kai-queues": (ClusterList((f"{_GROUP}/v2", "Queue"), "KAI queue"),)},
    marks=Marks(queue_label=_QUEUE_LABEL),
    queues=Queues(
        queue_state,
        cluster=QUEUES,
        source="kai-queues",
        no_verbs="KAI's queues are not stopped or resumed here: KAI has no such state; change its limit",
    ),
    scheduling=Scheduling(
        _SCHEDULER,
        "reclaims by the shares of its queues, which is not computed here",
        takes_by_share=True,
        conflict="a {quota} queue and KAI's queue count the same GPUs twice; keep one of them",
    ),
    reason=_reason,
)
