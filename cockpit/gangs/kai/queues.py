"""KAI's Queue: quota and limit of CPU, memory and GPUs, by number.

Source: KAI-Scheduler pkg/apis/scheduling/v2 (QueueSpec, QueueStatus), docs/queues: CPU is in millicores,
memory in megabytes of 10^6 bytes, GPUs in parts; -1 is without bound. A queue has no state of its own.
"""

from collections.abc import Mapping
from typing import Any, Final

from cockpit.gangs.engine import Queue
from cockpit.gangs.manifests import mapping
from cockpit.gangs.queue_amounts import amounts, identity, shares, whole
from cockpit.gangs.standing import QueueState
from cockpit.model.gang import SchedulerQueue

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
