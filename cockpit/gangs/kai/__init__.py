"""KAI-Scheduler: makes the groups itself from the job's kind; a queue label and the scheduler's name attach.

Source: KAI-Scheduler pkg/apis/scheduling/v2alpha2, pkg/podgrouper, docs/queues.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from cockpit.catalogue.cause import Cause
from cockpit.errors import BadInput
from cockpit.gangs.draft import by_condition, draft
from cockpit.gangs.engine import ClusterList, ControllerSigns, Engine, Marks, Queue, Queues, Scheduling
from cockpit.gangs.manifests import Attached, copied, label_pods, refuse_without_pods, set_scheduler
from cockpit.gangs.queue_amounts import amounts, identity, shares, whole
from cockpit.gangs.standing import NOT_HELD, QueueState
from cockpit.k8s.json_values import mapping
from cockpit.model.finding import Finding
from cockpit.model.gang import PodGroup, SchedulerQueue
from cockpit.model.pod import Pod
from cockpit.model.record import Kind, condition
from cockpit.model.sureness import Sureness
from cockpit.model.watched import Watched

_RESOURCES: Final = {"gpu": ("nvidia.com/gpu", 1.0), "cpu": ("cpu", 1.0), "memory": ("memory", 1e6)}
_UNBOUND: Final = -1
_PRIORITY: Final = 100
"""Of a queue that names none."""


def read_queue(tree: Mapping[str, Any]) -> SchedulerQueue:
    """The record of one Queue."""
    spec, status = mapping(tree.get("spec")), mapping(tree.get("status"))
    resources = mapping(spec.get("resources"))
    allocated = status.get("allocated")
    priority = whole(spec.get("priority"))
    weight = mapping(resources.get("gpu")).get("overQuotaWeight")
    told = [f"priority {_PRIORITY if priority is None else priority}"]
    told += [f"weight {weight:g}"] if isinstance(weight, int | float) else []
    return SchedulerQueue(
        **identity(tree),
        engine="KAI",
        cohort=str(spec.get("parentQueue") or ""),
        strategy=", ".join(told),
        weight=float(weight) if isinstance(weight, int | float) else None,
        priority=_PRIORITY if priority is None else priority,
        shares=shares(
            deserved=_numbers(resources, "quota"),
            limit=_numbers(resources, "limit"),
            used=amounts(allocated) if isinstance(allocated, dict) else None,
        ),
    )


def _numbers(resources: Mapping[str, Any], field: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for key, (name, unit) in _RESOURCES.items():
        value = mapping(resources.get(key)).get(field)
        if isinstance(value, int | float) and not isinstance(value, bool) and value != _UNBOUND:
            found[name] = value * unit
    return found


def queue_state(queue: Queue) -> QueueState:
    """Open as long as it exists: KAI closes no queue."""
    if queue.deleting_seconds is not None:
        return QueueState("ending", "being deleted, waits until nothing uses it")
    return QueueState("open", "")


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
