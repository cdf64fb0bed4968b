"""Why a job waits: one sentence, and under it the fields it was read from, with their age."""

from cockpit_widgets.types import ToneLine

from cockpit.catalogue import BY_ID
from cockpit.k8s.waiting_reasons import waiting_reason
from cockpit.model.job import Job
from cockpit.model.job_reader import JobReader
from cockpit.model.pod import Pod
from cockpit.model.record import Condition
from cockpit.model.store_reader import StoreReader
from cockpit.triage.cluster_view import ClusterView
from cockpit.triage.engine import of_job
from cockpit.triage.verdict import Funnel, Verdict
from cockpit.views import format as fmt

MOST_EVENTS = 8
MOST_PODS = 6


def lines(key: str, jobs: JobReader, store: StoreReader, now_seconds: float) -> tuple[str, ...]:
    """Lines of the page, each with its tone; the first is the sentence."""
    job = jobs.job(key)
    if job is None:
        return (ToneLine(f"{key} is gone: the job or its last pod was deleted", "strong"),)
    verdict = of_job(job, ClusterView(store=store, jobs=jobs, now_seconds=now_seconds))
    why = verdict.sentence or f"{job.namespace}/{job.name} is {job.state}; nothing blocks it"
    text: list[str] = [ToneLine(why, "strong"), ""]
    text += _known(verdict)
    text += _counts(job)
    for workload in store.workloads_of(job.uid):
        text += ["", _heading(f"Workload {workload.namespace}/{workload.name}")]
        text += [_condition_line(one, now_seconds) for one in workload.conditions]
        if not workload.is_active:
            text.append("  spec.active is false: it is suspended")
    text += _pods(jobs.members(key))
    text += _events(job, jobs.members(key), store, now_seconds)
    return tuple(text)


def _known(verdict: Verdict) -> list[str]:
    """How the cause is known, what it means, what helps, and how many nodes pass each filter."""
    row = BY_ID.get(verdict.cause)
    if row is None:
        return []
    text: list[str] = [f"{row.id} {row.meaning}: {verdict.sureness}. {row.remedy}"]
    if verdict.funnel is not None and verdict.funnel.steps:
        text.append(funnel_line(verdict.funnel))
    return [*text, ""]


def funnel_line(funnel: Funnel) -> str:
    """`312 nodes: offer GPUs 40, taints tolerated 38, 8 GPUs free 0; best gpu-1 with 3 free`."""
    steps = ", ".join(f"{one.words} {one.nodes}" for one in funnel.steps)
    best = f"; best {funnel.best_node} with {funnel.best_free} free" if funnel.best_node else ""
    return f"{funnel.nodes} nodes: {steps}{best}"


def _heading(text: str) -> ToneLine:
    return ToneLine(text, "dim")


def _counts(job: Job) -> list[str]:
    wanted = "?" if job.wanted is None else str(job.wanted)
    asked = "?" if job.gpus_wanted is None else str(job.gpus_wanted)
    allocated = "?" if job.has_unknown_gpus else str(job.gpus_allocated)
    members = (
        f"state {job.state}, {job.ready} of {wanted} members ready, {allocated} of {asked} GPUs allocated"
    )
    text: list[str] = [_heading(members)]
    if job.queue:
        about = "about " if job.is_position_estimate else ""
        place = "" if job.position is None else f", {about}position {job.position}"
        text.append(_heading(f"queue {job.queue} ({job.engine or 'no engine'}){place}"))
    return text


def _condition_line(one: Condition, now_seconds: float) -> str:
    age = fmt.since(one.changed_seconds, now_seconds)
    return f"  {one.type} {one.status} {one.reason} ({age}): {one.message}"


def _pods(members: tuple[Pod, ...]) -> list[str]:
    stuck = [pod for pod in members if pod.scheduled == "False" or pod.waiting_reason or pod.status_reason]
    if not stuck:
        return []
    text: list[str] = ["", _heading(f"Pods that do not run: {len(stuck)} of {len(members)}")]
    for pod in stuck[:MOST_PODS]:
        said = pod.waiting_message or pod.scheduled_message or pod.status_message
        reason = pod.waiting_reason or pod.scheduled_reason or pod.status_reason
        text.append(f"  {pod.name} {reason}: {said}")
    remedies = dict.fromkeys(waiting_reason(pod.waiting_reason).remedy for pod in stuck[:MOST_PODS])
    return text + [f"  {one}" for one in remedies if one]


def _events(job: Job, members: tuple[Pod, ...], store: StoreReader, now_seconds: float) -> list[str]:
    uids = (job.uid, job.workload_uid, *(pod.uid for pod in members))
    found = sorted(
        (event for uid in uids if uid for event in store.events_of(uid)),
        key=lambda event: event.last_seconds or 0.0,
        reverse=True,
    )
    if not found:
        return []
    text: list[str] = ["", _heading("Events, newest first")]
    for event in found[:MOST_EVENTS]:
        times = f" x{event.count}" if event.count > 1 else ""
        age = fmt.since(event.last_seconds, now_seconds)
        text.append(f"  {age} {event.type} {event.reason}{times} {event.object_name}: {event.message}")
    return text
