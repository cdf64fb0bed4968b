"""Pods that are part of no job's row and do not come up: one finding for all that one controller made."""

from collections.abc import Iterator

from msgspec import structs

from cockpit.model.finding import Finding, Subject
from cockpit.model.namespaces import EVERY, Namespaces
from cockpit.model.pod import Pod
from cockpit.triage.cluster_view import ClusterView
from cockpit.triage.engine import explain
from cockpit.triage.jobs import BLOCKED_SECONDS, WAITING_SECONDS, waiting_cures
from cockpit.triage.on_demand import TOLD_BY_LOG
from cockpit.triage.remedies import LOGS, WHY


def pod_findings(view: ClusterView, namespaces: Namespaces = EVERY) -> Iterator[Finding]:
    """What needs a human about such pods."""
    seen: set[str] = set()
    for pod in view.jobs.strays():
        if pod.namespace not in namespaces or (pod.owner_uid and pod.owner_uid in seen):
            continue
        found = _finding(pod, view)
        if found is not None:
            seen.add(pod.owner_uid)
            yield found


def _finding(pod: Pod, view: ClusterView) -> Finding | None:
    begun = pod.deleting_seconds or pod.created_seconds
    if begun is None or pod.is_finished or view.now_seconds - begun < BLOCKED_SECONDS:
        return None
    verdict = explain(Subject("pod", pod.namespace, pod.name), view)
    if not verdict.is_trouble:
        return None
    if waiting_cures(verdict) and view.now_seconds - begun < WAITING_SECONDS:
        return None
    return structs.replace(
        verdict,
        finding="pod-waits",
        row=pod.key,
        is_bad=True,
        remedies=(WHY, LOGS) if verdict.cause in TOLD_BY_LOG else (WHY,),
    )
