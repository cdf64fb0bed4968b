"""Why the pods of a job do not exist. The refusal of the API server is the cause, its wrapper is
not."""

import contextlib
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from cockpit.catalogue import ListOf, Permanence, TextPlace, row_of, understand
from cockpit.catalogue.cause import Cause
from cockpit.gangs import registry
from cockpit.gangs.draft import draft, joined, not_understood, tell
from cockpit.gangs.engine_of_job import admitted_by, needed_by
from cockpit.gangs.standing import GangStanding
from cockpit.jobs.schedule import next_run, runs_of
from cockpit.k8s.field_errors import field_error_words
from cockpit.k8s.gpu_resources import is_gpu_resource
from cockpit.k8s.pod_security import forbidden_words
from cockpit.k8s.quantity import quantity
from cockpit.model.event import Event
from cockpit.model.finding import Evidence, Finding, Subject
from cockpit.model.gang import Workload
from cockpit.model.job import Job, JobObject
from cockpit.model.pod import Pod
from cockpit.model.record import Kind, condition
from cockpit.model.store_reader import StoreReader
from cockpit.model.sureness import Sureness
from cockpit.triage import controllers
from cockpit.triage.context import Walk
from cockpit.triage.judgement import gaps, is_up, judged, of_event, of_pod, with_gaps
from cockpit.triage.recurrence import Attempts, of_attempts

UNTOUCHED_SECONDS = 25.0
"""A controller that runs has written a status after so long."""

REFUSALS = frozenset(
    {
        *("FailedCreate", "MPIJobFailed", "JobCreationFailed", "ValidationError", "ErrResourceExists"),
        *("ErrWorkloadCompose", "JobNestingTooDeep", "WorkloadPriorityClassNotFound", "InvalidPodTemplate"),
        *("FailedCreatePod", "FailedCreatePodGroup", "ResourceCreationFailed", "PriorityClassNotFound"),
    }
)
_IGNORED = frozenset({"SetPodTemplateRestartPolicy", "FailedScheduling", "BackOff", "Unhealthy"})


def refused(uids: Iterable[str], store: StoreReader, *, after_seconds: float | None = None) -> Finding | None:
    """The newest refusal of each of these objects, the most lasting first: parts of a job may be refused for
    different reasons. `after_seconds`: older ones were overcome."""
    return judged([of_events(store.events_of(uid), after_seconds=after_seconds) for uid in uids if uid])


def of_events(events: Iterable[Event], *, after_seconds: float | None = None) -> Finding | None:
    """The first refusal among events, the newest first."""
    unknown: Finding | None = None
    for event in events:
        if event.type != "Warning" or event.reason in _IGNORED:
            continue
        if after_seconds is not None and (event.last_seconds or 0.0) < after_seconds:
            continue
        found = _of_refusal(event)
        if found is not None:
            return found
        if unknown is None and event.reason in REFUSALS:
            unknown = not_understood(f"{event.reason}: {event.message}", of_event(event))
    return unknown


def _of_refusal(event: Event) -> Finding | None:
    text = f"{event.reason}: {event.message}"
    found = understand(TextPlace.CREATE, text)
    if found is None:
        return None
    cause, said, since = found.cause, of_event(event), event.first_seconds
    names = dict(found.names)
    if cause == Cause.NAMESPACE_QUOTA_USED_UP and "limited" in names:
        return _quota(found.names, event)
    if cause == Cause.REFUSED_BY_OPERATOR and (words := field_error_words(event.message)):
        facts = tuple((key, value) for key, value in names.items() if value)
        return draft(cause, "{why}", {"why": words}, said, facts=facts, since_seconds=since)
    if cause == Cause.REFUSED_BY_POD_SECURITY:
        names["what"] = forbidden_words(names.get("what", "")) or names.get("what", "")
    lasts = found.wording.permanence
    return draft(cause, found.wording.words, names, said, permanence=lasts, since_seconds=since)


def _quota(names: Mapping[str, str], event: Event) -> Finding:
    """`requests.nvidia.com/gpu=12`, used 0 of 8: of several resources the one that is over."""
    asked, used, limited = (_amounts(names[key]) for key in ("asked", "used", "limited"))
    gpus = (name for name in limited if is_gpu_resource(name.removeprefix("requests.")))
    resource = next(gpus, next(iter(limited), ""))
    word = resource.removeprefix("requests.")
    amounts = {"asked": asked, "used": used, "limit": limited}
    given = {"quota": names["quota"], "resource": word}
    given |= {key: some.get(resource, "?") for key, some in amounts.items()}
    says, since = "used", event.first_seconds
    with contextlib.suppress(ValueError):
        says = "above" if quantity(given["limit"]) < quantity(given["asked"]) else "used"
    return tell(Cause.NAMESPACE_QUOTA_USED_UP, given, of_event(event), says=says, since_seconds=since)


def _amounts(text: str) -> dict[str, str]:
    pairs = (part.strip().partition("=") for part in text.split(","))
    return {name: amount.strip(". ") for name, _, amount in pairs if name and amount}


def not_made(walk: Walk) -> Finding:
    """Why a job that is not suspended has no pods, or not all."""
    job, store = walk.job, walk.store
    found = _refused_since(walk)
    if found is not None:
        return found
    found = without_launcher(walk) or controllers.waits(job, store)
    found = found or controllers.refused(job.namespace, job.name, walk)
    if found is None and not walk.pods:
        found = of_events(_of_unknown_children(job, store))
    if found is None:
        found = _untouched(walk)
        if not found.cause:  # a refusal would be an event
            found = with_gaps(found, gaps(store, (ListOf(Kind.EVENT), ListOf(Kind.POD)), job.namespace))
    return found


def warnings_below(namespace: str, name: str, store: StoreReader) -> list[Event]:
    """Warnings about the object of that name or one that its controllers named after it, newest first."""
    events = (
        event
        for event in store.records(Kind.EVENT).values()
        if event.object_namespace == namespace
        and event.type == "Warning"
        and (event.object_name == name or event.object_name.startswith(f"{name}-"))
    )
    return sorted(events, key=lambda event: event.last_seconds or 0.0, reverse=True)


def _of_unknown_children(job: Job, store: StoreReader) -> list[Event]:
    """Warnings about what its controller named after it and no list has: a ReplicaSet that made no pod."""
    return [
        event
        for event in warnings_below(job.namespace, job.name, store)
        if event.object_kind != "Pod"
        and event.object_name != job.name
        and not any(store.get(kind, event.object_uid) for kind in registry.controller_tables())
    ]


def members_missing(job: Job, pods: tuple[Pod, ...]) -> int:
    """How many of the members that its row counts are not there."""
    there = sum(1 for pod in pods if pod.asks_for_gpus) or len(pods)
    return 0 if job.wanted is None else max(0, job.wanted - there)


def refused_members(walk: Walk) -> Finding | None:
    """Why members that are missing beside others were not made, where the API server said it."""
    found = _refused_since(walk) if members_missing(walk.job, walk.pods) else None
    return found if found is not None and found.cause else None


def _refused_since(walk: Walk) -> Finding | None:
    """Refusals before a pod was made are history; a minute is the events' own precision."""
    made = [pod.created_seconds for pod in walk.pods if pod.created_seconds is not None]
    since = max(made) - 60.0 if made else None
    return refused((walk.job.uid, *children(walk)), walk.store, after_seconds=since)


def children(walk: Walk) -> list[str]:
    """Controllers below the job: those that own its pods, and those that name it as their owner."""
    job = walk.job
    found = dict.fromkeys(pod.owner_uid for pod in walk.pods if pod.owner_uid and pod.owner_uid != job.uid)
    if not walk.pods:
        for kind in (Kind.JOB, Kind.OTHER_JOB, Kind.OWNER):
            for one in walk.store.records(kind).values():
                if one.owner is not None and one.owner.uid == job.uid:
                    found[one.uid] = None
    return list(found)


def without_launcher(walk: Walk) -> Finding | None:
    """Workers and no launcher: it is made once all of them are ready."""
    job, pods, object_ = walk.job, walk.pods, walk.object_
    if job.kind != "MPIJob" or not isinstance(object_, JobObject) or not pods:
        return None
    roles = {role.role for role in object_.replicas}
    if "launcher" not in roles or any(pod.role == "launcher" for pod in pods):
        return None
    late = [pod for pod in pods if not is_up(pod)]
    if not late:
        made = Finding(cause="", sentence="waits for its launcher to be made")
        return with_gaps(made, gaps(walk.store, row_of(Cause.LAUNCHER_NOT_MADE).rests_on, job.namespace))
    first = next((pod for pod in late if pod.node), late[0])
    also = (Cause.NOT_READY,) if first.node and first.phase == "Running" else ()
    said = of_pod(first, "condition Ready", "False")
    return tell(Cause.LAUNCHER_NOT_MADE, {"worker": first.name}, said, says="worker", also=also)


def counts_its_launcher(walk: Walk, gang: GangStanding) -> Finding | None:
    """The group waits for a launcher that is made once its workers, whom the group holds, are ready."""
    job, object_ = walk.job, walk.object_
    if job.kind != "MPIJob" or not isinstance(object_, JobObject):
        return None
    workers = sum(role.replicas or 0 for role in object_.replicas if role.role != "launcher")
    if any(pod.role == "launcher" for pod in walk.pods) or len(walk.pods) < workers:
        return None
    tree = walk.own_tree
    policy = ((tree or {}).get("spec") or {}).get("launcherCreationPolicy")
    if policy != "WaitForWorkersReady" and not (tree is None and walk.is_older(job.created_seconds, 30.0)):
        return None
    wanted = gang.why.fact("all") or "?"
    return tell(
        Cause.LAUNCHER_NOT_MADE,
        {"workers": workers, "wanted": wanted},
        Evidence(f"{job.kind} {job.namespace}/{job.name}", "launcherCreationPolicy", str(policy or "")),
        Evidence(f"PodGroup {job.namespace}/{gang.why.fact('group')}", "minimum", wanted),
        says="deadlock",
        sureness=Sureness.INFERRED if tree is None else Sureness.PROVED,
        also=(Cause.GANG_MEMBERS_MISSING,),
    )


def _untouched(walk: Walk) -> Finding:
    job, pods, store, object_, tree = walk.job, walk.pods, walk.store, walk.object_, walk.own_tree
    said = Evidence(f"{job.kind} {job.namespace}/{job.name}", "status", "", job.created_seconds)
    manager = _manager(tree)
    if manager and not (tree or {}).get("status"):
        return tell(Cause.NO_CONTROLLER, {"manager": manager}, said, says="manager")
    if not pods and (held := _suspended_below(job, store)) is not None:
        return held
    if isinstance(object_, JobObject) and object_.failed and not object_.active:
        return between_attempts(pods, object_, said, of_attempts(pods, store, walk.now_seconds))
    if pods and (missing := members_missing(job, pods)):
        return draft("", f"waiting for {missing} of {job.wanted or 0} members to be made", {}, said)
    has_status = isinstance(object_, JobObject) and bool(object_.conditions or object_.started_seconds)
    is_old = walk.is_older(job.created_seconds, UNTOUCHED_SECONDS)
    if not has_status and is_old:
        down = controllers.not_up(controllers.of_kind(job.api_version, job.kind), walk)
        if down is not None:
            return joined(down, "no pod yet: ")
    if is_old and not has_status and isinstance(object_, JobObject):
        return tell(Cause.NO_CONTROLLER, {"kind": job.kind}, said, says="no operator")
    engine = registry.engine_with_own(job.api_version, job.kind)
    names = {"kind": job.kind if engine is None else engine.name}
    return draft("", "no pod yet: waits for its {kind} controller", names, said)


def _suspended_below(job: Job, store: StoreReader) -> Finding | None:
    """All that its controller made of it is suspended, and it is not: which object, and what holds that."""
    made: list[JobObject] = [
        one
        for kind in (Kind.JOB, Kind.OTHER_JOB)
        for one in store.records(kind).values()
        if one.owner is not None and one.owner.uid == job.uid
    ]
    if not made or not all(one.is_suspended for one in made):
        return None
    first = min(made, key=lambda one: one.name)
    names = {"kind": first.kind, "part": first.name}
    said = Evidence(f"{first.kind} {first.key}", "spec.suspend", "true", first.created_seconds)
    root = Subject(first.kind, first.namespace, first.name)
    found = tell(Cause.PART_SUSPENDED, {**names, "own": job.kind}, said, root=root)
    for workload in store.workloads_of(first.uid):
        standing = registry.admits_of(workload).admission(workload, store, None, False)
        if standing.is_waiting and standing.why.sentence:
            held = joined(standing.why, "its {kind} {part} is suspended: ", **names)
            return replace(held, also=(*held.also, Cause.PART_SUSPENDED))
    queue = admitted_by(first.labels)
    if queue is not None:
        return joined(found, "", " (queue {queue} of {engine})", queue=queue.queue, engine=queue.name)
    return found


def _manager(tree: Mapping[str, Any] | None) -> str:
    spec = (tree or {}).get("spec") or {}
    own = spec.get("managedBy") or (spec.get("runPolicy") or {}).get("managedBy") or ""
    is_usual = own in ("kubeflow.org/mpi-operator", "kubernetes.io/job-controller")
    return own if isinstance(own, str) and not is_usual else ""


def between_attempts(
    pods: tuple[Pod, ...], object_: JobObject, said: Evidence, again: Attempts | None
) -> Finding:
    """All attempts so far failed; the controller waits before the next. `again`: they failed of late."""
    failed = [pod for pod in pods if pod.phase == "Failed"]
    last = max(failed, key=lambda pod: pod.finished_seconds or 0.0) if failed else None
    names: dict[str, object] = {"failed": object_.failed}
    text = "waits to be tried again after {failed} failed attempts"
    if last is not None:
        reason = last.terminated_reason if last.terminated_reason not in ("", "Error") else ""
        names["end"] = f"{reason} (exit {last.exit_code})" if reason else f"exit {last.exit_code}"
        text += ": {end}"
    if object_.failed <= 1:
        text = "waits to be tried again after a failed attempt" + (": {end}" if last is not None else "")
        names.pop("failed")
    elif again is not None:
        names["span"] = again.came.span
        text = text.replace("{failed} failed attempts", "{failed} failed attempts in {span}")
    lasts = None if again is None else Permanence.ACTS  # one more attempt ends as the last ones did
    return draft(Cause.BETWEEN_ATTEMPTS, text, names, said, permanence=lasts)


def scheduled(walk: Walk) -> Finding:
    """What a schedule waits for: its next time, unless no time is ever due or its last run was refused."""
    job, object_ = walk.job, walk.object_
    if not isinstance(object_, JobObject) or not object_.schedule:
        return Finding(cause="", sentence="waits for its time")
    text, zone = object_.schedule, object_.time_zone
    runs = runs_of(job, walk.store)
    said = Evidence(f"{job.kind} {job.namespace}/{job.name}", "spec.schedule", f"{text} {zone}".strip())
    found = refused((job.uid,), walk.store, after_seconds=runs[0].created_seconds if runs else None)
    if found is not None:
        return found
    names = {"schedule": text, "zone": zone}
    try:
        # which second it is does not move whether a time is ever due
        due = next_run(text, zone, walk.now_seconds or object_.created_seconds or 0.0)
    except ValueError as error:
        names["why"] = str(error)
        due = None
    if due is None:
        says, since = "wrong" if "why" in names else "", object_.created_seconds
        return tell(Cause.SCHEDULE_NEVER_DUE, names, said, says=says, since_seconds=since)
    if walk.now_seconds is None or not due:
        return draft("", "runs by its schedule {schedule}" + " in {zone}" * bool(zone), names, said)
    return draft("", "next run {due} (schedule {schedule})", {**names, "due": due}, said)


def _finished_early(walk: Walk, said: Evidence) -> Finding | None:
    job, store = walk.job, walk.store
    workload = registry.workload_of(job, store)
    if not job.workload_uid and walk.is_older(job.created_seconds, 30.0):
        workload = _finished_of_its_name(job, store)
    found = None if workload is None else registry.admits_of(workload).finished_early(workload)
    return None if found is None else replace(found, evidence=(*found.evidence, said))


def _finished_of_its_name(job: Job, store: StoreReader) -> Workload | None:
    """The finished workload of an older job of its name: an engine that goes by names may take it for its."""
    found: Iterable[Workload] = store.records(Kind.WORKLOAD).values()
    of_job = (job.namespace, job.kind, job.name)
    over = (one for one in found if one.is_finished and one.deleting_seconds is None)
    owned = ((one, one.owner) for one in over if one.owner is not None)
    return next((one for one, it in owned if (one.namespace, it.kind, it.name) == of_job), None)


ADMITTED_SECONDS = 60.0
"""By then the engine has resumed a job that it admitted, and the job's controller has made its pods."""


def admitted(walk: Walk) -> Finding:
    """Why a job that may run has no pods: for a minute after its engine admitted it they are on their way."""
    job, object_ = walk.job, walk.object_
    workload = registry.workload_of(job, walk.store)
    conditions = () if workload is None else workload.conditions
    moved = max((item.changed_seconds or 0.0 for item in conditions), default=0.0 if workload else None)
    if workload is None or walk.is_older(moved, ADMITTED_SECONDS):
        queue = None if object_ is None else admitted_by(object_.labels)
        if queue is None or not isinstance(object_, JobObject) or not object_.is_suspended:
            return not_made(walk)
        said = Evidence(f"{job.kind} {job.namespace}/{job.name}", "spec.suspend", "true")
        signs = registry.engine_named(queue.name).controller.pods
        if (down := controllers.not_up(signs, walk)) is not None:
            return joined(down, "{engine} admitted it and does not resume it: ", engine=queue.name)
        names = {"engine": queue.name}
        return tell(Cause.NOT_TAKEN_BY_QUEUE, names, said, says="not resumed", since_seconds=moved)
    return Finding(cause="", sentence="admitted: its pods are about to be made")


def suspended(walk: Walk) -> Finding:
    """Suspended, and no engine says that it holds it."""
    job, store, object_ = walk.job, walk.store, walk.object_
    said = Evidence(f"{job.kind} {job.namespace}/{job.name}", "spec.suspend", "true")
    over = _finished_early(walk, said)
    if over is not None:
        return over
    queue = None if object_ is None else admitted_by(object_.labels)
    if queue is not None and not job.workload_uid:
        found = refused((job.uid,), store)
        if found is not None:
            made = Finding(cause=Cause.NOT_TAKEN_BY_QUEUE, sentence=found.sentence)
            return replace(made, facts=found.facts, evidence=found.evidence)
        kind, _, needed = ("" if object_ is None else needed_by(object_.labels)).partition(" ")
        if needed and walk.lacks(kind, "", needed):
            names = {"kind": kind, "priority_class": needed}
            return tell(Cause.NOT_TAKEN_BY_QUEUE, names, Evidence(said.object, "its label", needed))
        names = {"engine": queue.name, "queue": queue.queue}
        signs = registry.engine_named(queue.name).controller.pods
        if (down := controllers.not_up(signs, walk)) is not None:
            return joined(down, "{engine} has not taken it: ", engine=queue.name)
        if walk.is_older(job.created_seconds, 30.0):
            names |= {"kind": kind, "priority_class": needed} if needed else {}
            return tell(
                Cause.NOT_TAKEN_BY_QUEUE, names, said, says="does it exist" if needed else "into queue"
            )
        return tell(Cause.NOT_ADMITTED_YET, names, said)
    mark = condition(object_.conditions, "Suspended") if isinstance(object_, JobObject) else None
    since = None if mark is None else mark.changed_seconds
    return tell(Cause.SUSPENDED_BY_HAND, {}, said, since_seconds=since)
