"""Pods that are part of no job's row and do not come up: one finding for all that one controller made."""

from collections.abc import Iterator

from cockpit.model.namespaces import EVERY, Namespaces
from cockpit.model.pod import Pod
from cockpit.triage.cluster_view import ClusterView
from cockpit.triage.engine import explain
from cockpit.triage.finding import LOGS, WHY, Attention, Rooted
from cockpit.triage.jobs import BLOCKED_SECONDS, WAITING_SECONDS, waiting_cures
from cockpit.triage.on_demand import TOLD_BY_LOG
from cockpit.triage.verdict import Subject, Verdict


def pod_findings(view: ClusterView, namespaces: Namespaces = EVERY) -> Iterator[Rooted]:
    """What needs a human about such pods."""
    seen: set[str] = set()
    for pod in view.jobs.strays():
        if pod.namespace not in namespaces or (pod.owner_uid and pod.owner_uid in seen):
            continue
        found = _finding(pod, view)
        if found is not None:
            seen.add(pod.owner_uid)
            yield found


def _finding(pod: Pod, view: ClusterView) -> Rooted | None:
    begun = pod.deleting_seconds or pod.created_seconds
    if begun is None or pod.is_finished or view.now_seconds - begun < BLOCKED_SECONDS:
        return None
    verdict = explain(Subject("pod", pod.namespace, pod.name), view)
    if not verdict.is_trouble:
        return None
    if waiting_cures(verdict) and view.now_seconds - begun < WAITING_SECONDS:
        return None
    is_of_node = verdict.root is not None and verdict.root.kind == "node"
    root = f"node/{verdict.root.name}" if is_of_node and verdict.root is not None else f"pod/{pod.key}"
    return Rooted(_about(pod, verdict, begun), root)


def _about(pod: Pod, verdict: Verdict, begun: float) -> Attention:
    since = verdict.since_seconds
    return Attention(
        finding="pod-waits",
        subject_key=pod.key,
        is_bad=True,
        subject=f"pod {pod.key}",
        sentence=verdict.sentence,
        remedies=(WHY, LOGS) if verdict.cause in TOLD_BY_LOG else (WHY,),
        since_seconds=begun if since is None else max(begun, since),
        gpus=pod.gpus,
        cause=verdict.cause,
    )
