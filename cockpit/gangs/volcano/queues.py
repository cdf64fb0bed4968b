"""Volcano's Queue: what is deserved, guaranteed and the most, and whether it is open.

Source: volcano-sh/apis scheduling/v1beta1 (QueueSpec, QueueStatus), volcano docs/design/queue.
With the plugin `proportion` what a queue deserves follows from its weight and is in no object.
"""

from collections.abc import Mapping
from typing import Any

from cockpit.gangs.engine import Queue
from cockpit.gangs.manifests import mapping
from cockpit.gangs.queue_amounts import amounts, identity, shares, whole
from cockpit.gangs.standing import QueueState
from cockpit.model.gang import SchedulerQueue

_STATES = {
    "Open": QueueState("open", ""),
    "Closed": QueueState("closed", "closed: it takes no jobs until it is opened"),
    "Closing": QueueState("closing", "closing: it takes no jobs, those in it go on"),
}


def read_queue(tree: Mapping[str, Any]) -> SchedulerQueue:
    """The record of one Queue."""
    spec, status = mapping(tree.get("spec")), mapping(tree.get("status"))
    allocated = status.get("allocated")
    weight, priority = whole(spec.get("weight")), whole(spec.get("priority"))
    told = [f"weight {weight}"] if weight is not None else []
    told += [f"priority {priority}"] if priority else []
    return SchedulerQueue(
        **identity(tree),
        engine="Volcano",
        cohort=str(spec.get("parent") or ""),
        strategy=", ".join(told),
        preemption="not reclaimable" if spec.get("reclaimable") is False else "",
        phase=str(status.get("state") or ""),
        weight=weight,
        priority=priority,
        shares=shares(
            deserved=amounts(spec.get("deserved")),
            limit=amounts(spec.get("capability")),
            used=amounts(allocated) if isinstance(allocated, dict) else None,
            guaranteed=amounts(mapping(spec.get("guarantee")).get("resource")),
        ),
    )


def queue_state(queue: Queue) -> QueueState:
    """Open, closed, closing, or unknown until its controller has looked at it."""
    if queue.deleting_seconds is not None:
        return QueueState("ending", "being deleted, waits until nothing uses it")
    phase = queue.phase if isinstance(queue, SchedulerQueue) else ""
    why = f"its state is {phase}" if phase else "Volcano has not looked at it yet"
    return _STATES.get(phase, QueueState("unknown", why))
