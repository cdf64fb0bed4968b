"""Coscheduling of scheduler-plugins: a second scheduler that binds a PodGroup together, through Permit. The
cluster chooses its name.

Source: scheduler-plugins apis/scheduling/v1alpha1, pkg/coscheduling.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cockpit.errors import BadInput
from cockpit.gangs.draft import members_missing
from cockpit.gangs.engine import (
    ControllerSigns,
    Engine,
    Groups,
    InstalledEngine,
    Marks,
    NewJob,
    Retries,
    Scheduling,
    Suited,
)
from cockpit.gangs.manifests import (
    Attached,
    copied,
    group_beside,
    label_pods,
    members_for,
    refuse_without_pods,
    set_scheduler,
    templates,
)
from cockpit.gangs.sentence import counted
from cockpit.gangs.standing import NOT_HELD
from cockpit.gangs.suspend_field import patch_call
from cockpit.k8s.json_values import mapping
from cockpit.model.finding import Finding
from cockpit.model.gang import PodGroup
from cockpit.model.plan import Plan
from cockpit.model.pod import DEFAULT_SCHEDULERS, Pod
from cockpit.model.record import Kind, Labels
from cockpit.model.watched import Watched

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


GROUP = "scheduling.x-k8s.io"
API_VERSION = f"{GROUP}/v1alpha1"
LABEL = f"{GROUP}/pod-group"
_OLD_LABEL = "pod-group.scheduling.sigs.k8s.io"
SCHEDULER = "scheduler-plugins-scheduler"
_SET_ASIDE = re.compile(r"podGroup \S+ failed recently|optimistic rejection in PostFilter")


NAME = "Coscheduling"
_MEANING = (
    "Binds all pods together or none. A rejected group is not retried when capacity becomes free, only"
    " when it is touched: retry now does that."
)


def _regroup(manifest: Mapping[str, Any]) -> Attached | None:
    grouped = [one for one in templates(manifest) if LABEL in _labels(one)]
    names = {str(mapping(one.get("spec")).get("schedulerName") or "") for one in grouped} - {""}
    return attach(manifest, scheduler=min(names, default=SCHEDULER)) if grouped else None


def _queue_of_pod(pod: Pod, labels: Labels) -> str | None:
    is_named = pod.gang and pod.gang_by in ("", LABEL, _OLD_LABEL)
    return "" if is_named and pod.scheduler not in DEFAULT_SCHEDULERS else None


def _suits(job: NewJob, installed: InstalledEngine) -> Suited | None:
    """Where it is seen at work, and the name of its scheduler is known."""
    if installed.is_alive is not True or not job.has_pods:
        return None
    scheduler = _scheduler(job, installed)
    return None if scheduler is None else Suited(installed.sentence, scheduler=scheduler)


def _is_named_by(manifest: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]) -> bool:
    return any(LABEL in _labels(one) for one in pods)


def _conflicts(manifest: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for one in pods:
        scheduler = str(mapping(one.get("spec")).get("schedulerName") or "")
        if LABEL in _labels(one) and scheduler in DEFAULT_SCHEDULERS:
            yield "a pod group of scheduler-plugins without schedulerName: its pods would start one by one"


def _reason(group: PodGroup, pods: tuple[Pod, ...]) -> Finding:
    """What the group itself tells: members that are missing. The rest stands on its pods only."""
    return members_missing(group, pods) or NOT_HELD


def _is_set_aside(message: str) -> bool:
    """True where a pod was refused for its group: only a touch of the group wakes it, room does not."""
    return _SET_ASIDE.search(message) is not None


def _scheduler(job: NewJob, installed: InstalledEngine) -> str | None:
    """Name of the scheduler as pods of gangs have it; "" for the usual one; None where nothing tells."""
    names = {
        pod.scheduler
        for pod in job.pods
        if pod.gang and pod.scheduler not in (*DEFAULT_SCHEDULERS, *job.schedulers)
    }
    if len(names) == 1:
        (name,) = names
        return "" if name == SCHEDULER else name
    return "" if not names and installed.pod.partition("/")[2].startswith(SCHEDULER) else None


def _labels(template: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(mapping(template.get("metadata")).get("labels"))


def attach(
    manifest: Mapping[str, Any],
    *,
    queue: str = "",
    scheduler: str = "",
) -> Attached:
    """The manifest with its pods in a PodGroup of its name, and that PodGroup, which comes first.

    Raises BadInput for a job whose last pod waits for the others.
    """
    least = members_for(manifest, NAME)
    tree = copied(manifest)
    if _launcher_waits(tree):
        raise BadInput(
            "launcherCreationPolicy WaitForWorkersReady creates the launcher only when the workers run, but"
            f" the group waits for all {least}: use AtStartup, or a minMember of {least - 1}"
        )
    refuse_without_pods(tree, NAME)
    set_scheduler(tree, scheduler or SCHEDULER)
    label_pods(tree, LABEL, tree["metadata"]["name"])
    group = group_beside(tree, API_VERSION, _group_spec(least))
    return Attached(tree, (group,), (_MEANING,))


def _launcher_waits(tree: Mapping[str, Any]) -> bool:
    return (tree.get("spec") or {}).get("launcherCreationPolicy") == "WaitForWorkersReady"


def _group_spec(members: int) -> dict[str, Any]:
    return {"minMember": members, "scheduleTimeoutSeconds": 120}


COSCHEDULING = Engine(
    name=NAME,
    meaning=_MEANING,
    attach=attach,
    option="[:SCHEDULER]",
    controller=ControllerSigns(GROUP, "podgroups", (SCHEDULER, "scheduler-plugins")),
    watched=(Watched(Kind.POD_GROUP, GROUP, "podgroups", ("v1alpha1",), NAME),),
    kinds={(API_VERSION, "PodGroup"): "podgroups"},
    marks=Marks(queue_of_pod=_queue_of_pod),
    suits=_suits,
    scheduling=Scheduling(
        preempts_by="preempts for a gang, which is not computed here", is_set_aside=_is_set_aside
    ),
    groups=Groups(_is_named_by, _regroup, _conflicts, API_VERSION, _group_spec, minimum="minMember"),
    reason=_reason,
    retries=Retries((API_VERSION, "PodGroup"), plan_retry_now),
)
