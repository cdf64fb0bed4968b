"""Coscheduling of scheduler-plugins: a second scheduler that binds a PodGroup together, through Permit.

Source: scheduler-plugins apis/scheduling/v1alpha1, pkg/coscheduling.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from cockpit.errors import BadInput
from cockpit.gangs.manifests import (
    Attached,
    copied,
    label_pods,
    members_of,
    refuse_without_pods,
    set_scheduler,
)
from cockpit.gangs.sentence import counted
from cockpit.model.gang import PodGroup
from cockpit.model.pod import Pod

NAME = "Coscheduling"
GROUP = "scheduling.x-k8s.io"
API_VERSION = f"{GROUP}/v1alpha1"
LABEL = f"{GROUP}/pod-group"
SCHEDULER = "scheduler-plugins-scheduler"
MEANING = (
    "Binds together or not at all. A group that was refused is not tried again when room appears, only when"
    " something touches it: retry now does."
)
RETRIES_BY_ITSELF = False
_SET_ASIDE = re.compile(r"podGroup \S+ failed recently|optimistic rejection in PostFilter")
SET_ASIDE = "waits to be tried again"
"""Said behind the cause of a group that is not looked at by itself, whatever room there is by now."""


def attach(
    manifest: Mapping[str, Any],
    *,
    scheduler: str = SCHEDULER,
    minimum: int | None = None,
    timeout_seconds: int = 120,
) -> Attached:
    """The manifest with its pods in a PodGroup of its name, and that PodGroup, which comes first.

    Raises BadInput where fewer pods exist than `minimum`, and for a job whose last pod waits for the others.
    """
    tree, members = copied(manifest), members_of(manifest)
    least = members if minimum is None else minimum
    if least > members:
        raise BadInput(f"minMember {least} is more than the job's {members} pods: it would wait for ever")
    if least == members and _launcher_waits(tree):
        raise BadInput(
            "launcherCreationPolicy WaitForWorkersReady makes the launcher only when the workers run, and the"
            f" group waits for all {members}: use AtStartup, or a minMember of {members - 1}"
        )
    name, namespace = tree["metadata"]["name"], tree["metadata"].get("namespace", "")
    refuse_without_pods(tree, NAME)
    set_scheduler(tree, scheduler)
    label_pods(tree, LABEL, name)
    group: dict[str, Any] = {
        "apiVersion": API_VERSION,
        "kind": "PodGroup",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {"app.kubernetes.io/managed-by": "gpu-cockpit"},
        },
        "spec": {"minMember": least, "scheduleTimeoutSeconds": timeout_seconds},
    }
    return Attached(tree, (group,), (MEANING,))


def _launcher_waits(tree: Mapping[str, Any]) -> bool:
    return (tree.get("spec") or {}).get("launcherCreationPolicy") == "WaitForWorkersReady"


def reason(group: PodGroup, pods: tuple[Pod, ...]) -> str:
    """What the group itself tells: members that are missing. The rest stands on its pods only."""
    there = sum(1 for pod in pods if not pod.is_finished)
    if group.min_member is not None and there < group.min_member:
        return f"its group has {there} of {group.min_member} pods"
    return ""


def is_set_aside(message: str) -> bool:
    """True where a pod was refused for its group: only a touch of the group wakes it, room does not."""
    return _SET_ASIDE.search(message) is not None


def refused_why(pods: Sequence[Pod]) -> str:
    """Why members wait where no sentence of the scheduler holds the cause: what they need together.

    Events of one reason are folded into the first one of a pod, so the cause may be nowhere. What is free by
    now is left out: a row is not drawn anew for that.
    """
    sizes = [pod.gpus for pod in pods if pod.gpus]
    if not sizes:
        return f"its group was refused as a whole; {SET_ASIDE}"
    alike = len(set(sizes)) == 1 and len(sizes) > 1
    asked = f"{len(sizes)} x {counted(sizes[0], 'GPU')}" if alike else counted(sum(sizes), "GPU")
    return f"needs {asked} at once and was refused; {SET_ASIDE}"
