"""A job from gate to gate: the first one that holds it is the cause."""

from msgspec.structs import replace

from cockpit.catalogue import Cause, TextPlace, Trait, is_a, understand
from cockpit.gangs import registry
from cockpit.gangs.draft import draft, followed, joined, tell
from cockpit.gangs.sentence import counted
from cockpit.gangs.standing import GangStanding
from cockpit.gangs.wording import say
from cockpit.jobs.members import LEADERS, end_words, short_name
from cockpit.jobs.row import growth_of
from cockpit.k8s.evictions import PREEMPTED_BY
from cockpit.k8s.waiting_reasons import Severity, waiting_reason
from cockpit.model.finding import Evidence, Finding, Subject
from cockpit.model.job import JobObject, JobState
from cockpit.model.listing import Complete, listing
from cockpit.model.pod import Pod
from cockpit.model.quantity import Absent
from cockpit.model.record import Kind, condition
from cockpit.model.sureness import Sureness
from cockpit.triage import creation, starting
from cockpit.triage.context import Walk
from cockpit.triage.gang_walk import half_placed, held_by_gang, unplaced_member, why_not_grown
from cockpit.triage.judgement import is_up, judged, of_pod
from cockpit.triage.recurrence import of_attempts


def judge(walk: Walk) -> Finding | None:
    """Why the job does not run as it should; None where nothing holds it."""
    job = walk.job
    if job.state == JobState.FINISHING:
        return _ending(walk)
    if job.state in JobState.ENDED:
        return _ended(walk)
    if job.state == JobState.SCHEDULED:
        return creation.scheduled(walk)
    gang = walk.gang
    if gang is not None and gang.is_waiting and not any(_stays(pod, gang) for pod in walk.pods):
        return _lingering(walk, judged(held_by_gang(walk, gang)))
    if not walk.pods and job.state not in (JobState.SUSPENDED, JobState.QUEUED) and (found := _unseen(walk)):
        return found
    if job.state == JobState.STARTING and not walk.pods:
        return creation.admitted(walk)
    if job.state in (JobState.SUSPENDED, JobState.QUEUED) and not walk.pods:
        return creation.suspended(walk)
    if not walk.pods:
        return creation.not_made(walk)
    if job.state == JobState.SUSPENDED:
        held = creation.suspended(walk)
        return joined(held, "", _left(walk))
    return _of_pods(walk)


def _unseen(walk: Walk) -> Finding | None:
    """That its pods may be there: they are not listed. What refused them is told all the same."""
    pods = listing(walk.store, Kind.POD, walk.job.namespace)
    if isinstance(pods, Complete) or pods.has_all:
        return None
    return creation.refused((walk.job.uid,), walk.store) or draft("", f"its pods are not seen: {pods.words}")


def _stays(pod: Pod, gang: GangStanding) -> bool:
    """Whether the pod has a node and is not on its way out; what ended before a preemption is history."""
    is_past = pod.is_finished and gang.why.cause == Cause.PREEMPTED
    return bool(pod.node) and pod.deleting_seconds is None and not is_past


_TRACKING = "batch.kubernetes.io/job-tracking"
"""The finalizer by which a Job counts its pods; it takes it off itself."""
_TAKEN = "preempted by {preemptor}"


def _lingering(walk: Walk, found: Finding | None) -> Finding | None:
    """Behind what holds the job in its queue: why a pod of it that was taken off does not go."""
    for pod in walk.pods:
        stuck = None if found is None else starting.stuck(pod, walk)
        if found is not None and stuck is not None:
            also = (*found.also, stuck.cause)
            evidence = (*found.evidence, *stuck.evidence)
            kept = ", ".join(one for one in pod.finalizers if one != _TRACKING)
            tail = "; its pod cannot go: finalizer {kept}" if kept else "; its pod {pod} does not end"
            if whom := found.fact("preemptor"):  # the quota that follows from it has no room beside both
                found = joined(replace(found, words=_TAKEN, names=(("preemptor", whom),)), "")
            made = followed(found, tail, pod=pod.name, kept=kept)
            return replace(made, evidence=evidence, also=also)
    return found


# ---- the end


def _ending(walk: Walk) -> Finding:
    going = (pod for pod in walk.pods if pod.deleting_seconds is not None)
    pod = min(going, key=lambda pod: pod.is_finished, default=None)  # one that runs first
    found = None if pod is None else starting.not_running(pod, walk)
    if found is not None and found.cause:
        return joined(found, "", _left(walk))
    return Finding(cause="", sentence=f"being deleted{_left(walk)}")


def _left(walk: Walk) -> str:
    left = [pod for pod in walk.pods if not pod.is_finished]
    held = sum(pod.gpus_allocated for pod in left)
    if not left:
        return ""
    return f"; {counted(len(left), 'pod')} left" + (f", with {counted(held, 'GPU')}" if held else "")


def _ended(walk: Walk) -> Finding | None:
    state = walk.job.state
    left = _left_running(walk)
    if state != JobState.FAILED:
        return left
    found = _failed(walk)
    if left is None or (not found.cause and not _failed_pods(walk)):
        return left or found
    return replace(found, also=(*found.also, left.cause))


def _left_running(walk: Walk) -> Finding | None:
    """Members that go on, with their GPUs, although the job has ended."""
    idle = [pod for pod in walk.pods if pod.gpus_allocated and pod.deleting_seconds is None]
    if not idle or (walk.job.state == JobState.FAILED and any(pod.phase != "Running" for pod in idle)):
        return None
    held = sum(pod.gpus_allocated for pod in walk.pods)
    names = {"pods": counted(len(idle), "pod"), "gpus": counted(held, "GPU")}
    said, says = (
        (of_pod(pod, "status.phase", pod.phase) for pod in idle[:3]),
        "" if len(idle) == 1 else "several",
    )
    return tell(Cause.WORKERS_LEFT, names, *said, says=says, facts=(("gpus", str(held)),))


def _failed_pods(walk: Walk) -> list[Pod]:
    return [pod for pod in walk.pods if pod.phase == "Failed"]


def _failed(walk: Walk) -> Finding:
    object_ = walk.object_
    if isinstance(object_, JobObject):
        for one in object_.conditions:
            if one.type == "Failed" and one.reason == "DeadlineExceeded":
                whose, text = f"{object_.kind} {object_.key}", f"{one.reason}: {one.message}"
                said, since = Evidence(whose, "condition Failed", text), one.changed_seconds
                names = {"why": one.message or "activeDeadlineSeconds"}
                return tell(Cause.DEADLINE, names, said, says="job", since_seconds=since)
    failed = _failed_pods(walk)
    if failed:
        return _fought_over(walk, _member(walk, _first_failed(failed), failed))
    refused = creation.refused((walk.job.uid,), walk.store)
    if refused is not None:
        return refused
    own = registry.own_job(walk.job.api_version, walk.job.kind)
    told = own.ended(object_)[1] if own is not None and isinstance(object_, JobObject) else ""
    for known in (object_, *(walk.store.get(Kind.JOB, uid) for uid in creation.children(walk))):
        if not told and isinstance(known, JobObject):
            mark = condition(known.conditions, "Failed")
            told = "" if mark is None else mark.message or mark.reason
    found = draft("", "{why}", {"why": told or "failed"}, sureness=Sureness.UNKNOWN)
    return _fought_over(walk, found)


def _fought_over(walk: Walk, found: Finding) -> Finding:
    """What two controllers go on doing to a job that has ended, and the remedy."""
    object_ = walk.object_
    workload = registry.workload_of(walk.job, walk.store)
    if workload is None or not isinstance(object_, JobObject):
        return found
    words = registry.admits_of(workload).quarrel(object_, workload, walk.store)
    if not words:
        return found
    return replace(found, sentence=say("{why}; " + words, why=found.sentence))


def _first_failed(failed: list[Pod]) -> Pod:
    return min(failed, key=lambda pod: (pod.finished_seconds or 0.0, pod.name))


def _member(walk: Walk, pod: Pod, alike: list[Pod]) -> Finding:
    found = starting.ended(pod, walk.last_lines.get(pod.uid, ""))
    more = f", and {len(alike) - 1} more" if len(alike) > 1 else ""
    is_alone = len(walk.pods) == 1 and not pod.role
    if found.cause not in (Cause.CRASHES, ""):
        return _prefixed(found, pod, walk, more)
    return joined(found, "", more) if is_alone else joined(found, "{member} ", more, member=short_name(pod))


def _prefixed(found: Finding, pod: Pod, walk: Walk, more: str = "") -> Finding:
    """A member's cause as the job's sentence: which member, where there are several."""
    if len(walk.pods) == 1 and not pod.role:
        return found
    name = short_name(pod)
    if found.words.startswith(f"{name} "):  # its wording names the member itself
        return joined(found, "", more)
    return joined(found, "{member}: ", more, member=name)


# ---- C, D and E


def _of_pods(walk: Walk) -> Finding | None:
    pods, job = walk.pods, walk.job
    alive = [pod for pod in pods if not pod.is_finished]
    failed = [pod for pod in pods if pod.phase == "Failed"]
    if failed and not alive:
        return _between(walk, failed)
    blockers: list[Finding | None] = [_worker_failed(walk, failed)] if failed else []
    blockers.append(creation.refused_members(walk))
    unbound = [pod for pod in alive if not pod.node]
    if unbound:
        placed = unplaced_member(walk)
        if placed is not None and any(pod.disruption_reason == PREEMPTED_BY for pod in pods):
            placed = replace(placed, also=(*placed.also, Cause.PREEMPTED))
        blockers += [placed, half_placed(walk, unbound)]
    now_seconds = walk.now_seconds
    late = [pod for pod in alive if pod.node and (not is_up(pod) or starting.crashes_on(pod, now_seconds))]
    if late and not failed:
        blockers.append(_late(walk, late))
    if found := judged(blockers):
        return found
    growth = growth_of(walk.store, job.uid)
    if growth is None and (len(pods) < (job.wanted or 0) or job.state != JobState.RUNNING):
        return creation.not_made(walk)
    found = _fails_again(walk) or _training(walk)
    return found if found is not None or growth is None else why_not_grown(growth, walk.store)


def _fails_again(walk: Walk) -> Finding | None:
    """It runs, and so did the attempts before, that all failed of late."""
    again = of_attempts(walk.pods, walk.store, walk.now_seconds)
    if again is None:
        return None
    came, pod = again
    found = starting.ended(pod, walk.last_lines.get(pod.uid, ""))
    if found.cause not in (Cause.CRASHES, ""):
        return followed(found, "; failed {times}", times=came.words)
    said = of_pod(pod, "state.terminated", end_words(pod))
    return tell(Cause.CRASHES, {"times": came.words, "end": end_words(pod)}, said)


def _between(walk: Walk, failed: list[Pod]) -> Finding:
    """All members failed: the end of a bare pod, a pause between attempts for a controller."""
    object_ = walk.object_
    found = _member(walk, _first_failed(failed), failed)
    if walk.job.kind == "Pod" or not isinstance(object_, JobObject):
        return found
    return _tried_again(walk, found, object_)


def _tried_again(walk: Walk, found: Finding, attempts: JobObject) -> Finding:
    """The controller waits before it makes the pod again; a cause that the pod tells says more than that."""
    if found.cause not in (Cause.CRASHES, ""):
        return replace(found, also=(*found.also, Cause.BETWEEN_ATTEMPTS))
    said = Evidence(f"{attempts.kind} {attempts.key}", "status.failed", str(attempts.failed))
    again = of_attempts(walk.pods, walk.store, walk.now_seconds)
    waits = creation.between_attempts(walk.pods, attempts, said, again)
    return replace(waits, evidence=(*waits.evidence, *found.evidence), also=(Cause.CRASHES,))


def _worker_failed(walk: Walk, failed: list[Pod]) -> Finding:
    """A member failed while others live: a ring has no use for the rest. The kubelet's refusal is the
    cause."""
    pod = _first_failed(failed)
    found = starting.ended(pod, walk.last_lines.get(pod.uid, ""))
    if is_a(found.cause, Trait.ENDS_MEMBER):
        return replace(_member(walk, pod, failed), also=(*found.also, Cause.WORKER_FAILED))
    attempts = walk.store.get(Kind.JOB, pod.owner_uid) if pod.role in LEADERS else None
    if isinstance(attempts, JobObject) and len(failed) == 1:
        mark = condition(attempts.conditions, "Failed")
        if mark is None or mark.status != "True":  # its controller has not given up
            return _tried_again(walk, _prefixed(found, pod, walk), attempts)
    more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
    ends = end_words(pod)
    if walk.job.kind != "MPIJob":
        return _member(walk, pod, failed)
    return draft(
        Cause.WORKER_FAILED,
        f"{{worker}}{more} failed and is not made again: {{end}}",
        {"worker": pod.name, "end": ends},
        *found.evidence,
        since_seconds=pod.finished_seconds,
        also=(found.cause,) if found.cause else (),
        root=Subject("pod", pod.namespace, pod.name),
    )


def _late(walk: Walk, late: list[Pod]) -> Finding:
    """Bound members that are not up: the one that says most. The launcher's own failures come before the
    workers that it waits for."""
    found: list[tuple[Pod, Finding]] = []
    for pod in sorted(late, key=_vagueness)[:_LOOKED_AT]:
        one = starting.not_running(pod, walk)
        if one is not None:
            found.append((pod, one))
    top = judged([one for _, one in found if one.cause not in _ITS_COURSE] or [one for _, one in found])
    if top is None:
        return Finding(cause="", sentence=f"waiting for {counted(len(late), 'member')}")
    pod = next(pod for pod, one in found if (one.cause, one.sentence) == (top.cause, top.sentence))
    if walk.job.kind == "MPIJob":
        launcher = creation.without_launcher(walk)
        if launcher is not None and top.cause in (Cause.NOT_READY, ""):
            return launcher
    if _is_launcher(pod) and pod.waiting_reason == "CrashLoopBackOff" and top.cause == Cause.CRASHES:
        worker = next((one for one in late if not _is_launcher(one)), None)
        if worker is not None:
            names = {"end": end_words(pod), "worker": worker.name}
            return tell(Cause.LAUNCHER_TOO_EARLY, names, *top.evidence)
    more = f" (and {len(late) - 1} more)" if len(late) > 1 else ""
    return _prefixed(top, pod, walk, more)


_LOOKED_AT = 16
_ITS_COURSE = ("", Cause.STARTING)
"""What is said of members that take their course: told beside no trouble of another one."""


def _is_launcher(pod: Pod) -> bool:
    return pod.role == "launcher"


def _vagueness(pod: Pod) -> tuple[bool, bool, str]:
    is_vague = not pod.waiting_reason or waiting_reason(pod.waiting_reason).severity is Severity.PROGRESS
    return (is_vague, not pod.waiting_reason, pod.name)


# ---- E


STALLED_RATIO = 0.05
SPINNING_RATIO = 0.95


def _training(walk: Walk) -> Finding | None:
    """All members are up: does the ring turn? Some cards that do nothing while others spin tell that it
    hangs."""
    for pod in walk.pods:
        line = walk.last_lines.get(pod.uid, "")
        for one in reversed(line.splitlines()):
            found = understand(TextPlace.LOG, one)
            if found is not None and is_a(found.cause, Trait.HANGS):
                names = {key: value or "?" for key, value in found.names.items()}
                made = draft(found.cause, found.wording.words, names, of_pod(pod, "last log line", one))
                return _prefixed(made, pod, walk)
    return _hangs(walk)


def _hangs(walk: Walk) -> Finding | None:
    means: list[tuple[float, Pod]] = []
    for pod in walk.pods:
        if not pod.gpus:
            continue
        duties = []
        for card in walk.store.gpus_of_pod(pod.namespace, pod.name):
            if isinstance(card.duty_ratio, Absent):
                return None
            duties.append(card.duty_ratio)
        if not duties:
            return None
        means.append((sum(duties) / len(duties), pod))
    if len(means) < 2:
        return None
    low, pod = min(means, key=lambda pair: (pair[0], pair[1].name))
    if low <= STALLED_RATIO and max(means, key=lambda pair: pair[0])[0] >= SPINNING_RATIO:
        return tell(
            Cause.RING_HANGS,
            {"member": pod.name, "low": f"{low:.0%}"},
            *(of_pod(one, "GPU duty", f"{mean:.0%}") for mean, one in means[:4]),
        )
    return None
