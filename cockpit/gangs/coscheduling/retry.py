"""Retry now: a blocked group of coscheduling is looked at again only when its PodGroup is touched.

The scheduler keeps its pods aside until an event that it subscribed to; a change of the PodGroup is one,
freed GPUs alone are not. Source: scheduler-plugins pkg/coscheduling (EventsToRegister).
"""

from collections.abc import Mapping
from typing import Any

from cockpit.errors import BadInput
from cockpit.gangs.sentence import counted
from cockpit.gangs.suspend_field import patch_call
from cockpit.model.plan import Plan

ANNOTATION = "gpu-cockpit/retried-at"
_WAITS = ("", "Pending", "PreScheduling", "Scheduling", "Unknown")


def plan_retry_now(group: Mapping[str, Any], path: str, at: str) -> Plan:
    """Touch the PodGroup `group` (its tree); `at` is the time as text, so that each touch is a change.

    Raises BadInput for a group that does not wait.
    """
    metadata = group["metadata"]
    name = f"{metadata.get('namespace', '')}/{metadata['name']}"
    phase = str((group.get("status") or {}).get("phase") or "")
    if phase not in _WAITS:
        raise BadInput(f"PodGroup {name} does not wait (it is {phase}): there is nothing to retry")
    wanted = (group.get("spec") or {}).get("minMember")
    return Plan(
        verb="retry",
        title=f"Retry podgroup {name}",
        done=f"Retried podgroup {name}",
        calls=(patch_call(group, path, f"podgroup {name}", {"metadata": {"annotations": {ANNOTATION: at}}}),),
        lines=(
            f"PodGroup {name}: annotation {ANNOTATION} becomes {at}",
            f"the scheduler tries its {counted(int(wanted), 'pod')} again now, all or none"
            if isinstance(wanted, int)
            else "the scheduler tries its pods again now, all or none",
        ),
    )
