"""The state of a job and the one sentence for it, from its object, its pods and its gang: never echoed."""

import msgspec

from cockpit.gangs.sentence import counted, one_line
from cockpit.gangs.verdict import GangState, GangVerdict
from cockpit.jobs.members import failed_why, is_up, not_up_why, unbound_why
from cockpit.model.job import JobState
from cockpit.model.pod import Pod
from cockpit.store.store import Store


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What an adapter found out about one job."""

    kind: str
    pods: tuple[Pod, ...] = ()  # current members, leader first
    counted: tuple[Pod, ...] = ()  # those that `wanted` counts
    wanted: int | None = None
    gang: GangVerdict | None = None
    is_deleting: bool = False
    is_suspended: bool = False
    ended: str = ""  # JobState.SUCCEEDED or FAILED, once the object says so
    end_message: str = ""
    was_running: bool = False
    missing_leader: str = ""  # role of a leader that was not made yet
    queue: str = ""  # as the job's label names it
    warning: str = ""  # newest warning event on the job object


def judge(facts: Facts, store: Store) -> tuple[str, str]:
    """(state, why): a word of JobState, and a sentence of at most 100 characters, "" for a running job."""
    state, why = _judge(facts, store)
    return state, one_line(why)


def _judge(facts: Facts, store: Store) -> tuple[str, str]:
    held = sum(pod.holds_gpus for pod in facts.pods)
    if facts.is_deleting:
        return JobState.FINISHING, _still("being deleted", facts, held)
    if facts.ended:
        return facts.ended, _ended_why(facts, held)
    gang = facts.gang
    if gang is not None and gang.is_waiting:
        state = JobState.SUSPENDED if gang.state == GangState.HELD else JobState.QUEUED
        return state, gang.reason or unbound_why(facts.pods, store) or "waits for its queue"
    if facts.is_suspended:
        if gang is not None and gang.state in (GangState.ADMITTED, GangState.STARTED):
            return JobState.STARTING, "admitted: its pods are about to be made"
        if gang is None and facts.queue:  # Kueue suspends at creation and makes the Workload right after
            return JobState.QUEUED, f"waits for Kueue to take it into queue {facts.queue}"
        return JobState.SUSPENDED, _still("suspended: it starts when somebody resumes it", facts, held)
    if not facts.pods:
        return (
            JobState.PENDING,
            facts.warning or f"no pod yet: waits for its {facts.kind} controller",
        )
    return _of_pods(facts, store)


def _still(words: str, facts: Facts, held: int) -> str:
    left = sum(1 for pod in facts.pods if not pod.is_finished)
    if not left:
        return words
    return f"{words}; {counted(left, 'pod')} left" + (f", holding {counted(held, 'GPU')}" if held else "")


def _ended_why(facts: Facts, held: int) -> str:
    idle = [pod for pod in facts.pods if pod.holds_gpus and pod.deleting_seconds is None]
    if facts.ended == JobState.FAILED:
        return failed_why(facts.pods) or facts.end_message or "failed"
    if idle:  # mpi-operator's cleanPodPolicy None leaves workers behind
        return f"ended, but {counted(len(idle), 'pod')} still run and hold {counted(held, 'GPU')}"
    return ""


def _of_pods(facts: Facts, store: Store) -> tuple[str, str]:
    pods = facts.pods
    alive = [pod for pod in pods if not pod.is_finished]
    if not alive:
        if any(pod.phase == "Failed" for pod in pods):
            return _all_failed(facts)
        if facts.wanted is None or len(facts.counted) >= facts.wanted:
            return JobState.SUCCEEDED, ""
    up = sum(1 for pod in facts.counted if is_up(pod) or pod.phase == "Succeeded")
    wanted = len(facts.counted) if facts.wanted is None else facts.wanted
    counted_uids = {pod.uid for pod in facts.counted}
    uncounted = [pod for pod in pods if pod.uid not in counted_uids]
    failed = failed_why(pods)
    if failed:
        return JobState.DEGRADED, failed
    if up >= wanted and facts.missing_leader:
        return JobState.STARTING, f"waits for its {facts.missing_leader} to be made"
    if up >= wanted and all(is_up(pod) or pod.phase == "Succeeded" for pod in uncounted):
        return JobState.RUNNING, ""
    state, why = _not_all_up(facts, store, wanted)
    return (JobState.DEGRADED, why) if facts.was_running else (state, why)


def _all_failed(facts: Facts) -> tuple[str, str]:
    """All pods ended and some failed: the end for a bare pod, a pause between attempts for a controller."""
    why = failed_why(facts.pods)
    if facts.kind == "Pod":
        return JobState.FAILED, why
    return JobState.PENDING, one_line(why, 80) + "; its controller may try again"


def _not_all_up(facts: Facts, store: Store, wanted: int) -> tuple[str, str]:
    unbound = unbound_why(facts.pods, store)
    if unbound:
        return JobState.PENDING, unbound
    missing = wanted - len(facts.counted)
    if missing > 0:
        return JobState.PENDING, facts.warning or f"waiting for {missing} of {wanted} members to be made"
    return JobState.STARTING, not_up_why(facts.pods, store) or f"waiting for {counted(wanted, 'member')}"
