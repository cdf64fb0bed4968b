"""The state of a job and the one sentence for it, from its object, its pods and its gang: never echoed."""

import msgspec

from cockpit.gangs.engine import JobEngine
from cockpit.gangs.sentence import counted, one_line
from cockpit.gangs.verdict import GangState, GangVerdict
from cockpit.jobs.members import failed_why, is_up, not_up_why, unbound_why
from cockpit.model.job import JobState
from cockpit.model.pod import Pod
from cockpit.model.store_reader import StoreReader


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
    quarrel: str = ""  # what two controllers go on doing to a job that has ended, and the remedy
    was_running: bool = False
    missing_leader: str = ""  # role of a leader that was not made yet
    queue: JobEngine | None = None  # as the job's label names it, of an engine that admits jobs
    needs: str = ""  # an object without which the engine does not take it
    warning: str = ""  # newest warning event on the job object
    growth: str = ""  # why it does not grow yet, of a job that runs with fewer pods than it asks for now
    grows_to: int | None = None  # how many it asks for now


def judge(facts: Facts, store: StoreReader) -> tuple[str, str]:
    """(state, why): a word of JobState, and a sentence of at most 100 characters, "" for a running job."""
    state, why = _judge(facts, store)
    return state, one_line(why)


def _judge(facts: Facts, store: StoreReader) -> tuple[str, str]:
    allocated = sum(pod.gpus_allocated for pod in facts.pods)
    if facts.is_deleting:
        return JobState.FINISHING, _still("being deleted", facts, allocated)
    if facts.ended:
        return facts.ended, _ended_why(facts, allocated)
    gang = facts.gang
    if gang is not None and gang.is_waiting:
        state = JobState.SUSPENDED if gang.state == GangState.DEACTIVATED else JobState.QUEUED
        return state, gang.reason or unbound_why(facts.pods, store) or "waits for its queue"
    if facts.is_suspended:
        if gang is not None and gang.state in (GangState.ADMITTED, GangState.STARTED):
            return JobState.STARTING, "admitted: its pods are being created"
        if gang is None and facts.queue:  # suspended at creation; its workload is made right after
            needs = f": does {facts.needs} exist?" if facts.needs else ""
            return (
                JobState.QUEUED,
                f"waits for {facts.queue.name} to admit it to queue {facts.queue.queue}{needs}",
            )
        return JobState.SUSPENDED, _still("suspended: resume it to start it", facts, allocated)
    if not facts.pods:
        return (
            JobState.PENDING,
            facts.warning or f"no pods yet: waits for its {facts.kind} controller",
        )
    return _of_pods(facts, store)


def _still(words: str, facts: Facts, allocated: int) -> str:
    left = sum(1 for pod in facts.pods if not pod.is_finished)
    if not left:
        return words
    return f"{words}; {counted(left, 'pod')} left" + (
        f", with {counted(allocated, 'GPU')}" if allocated else ""
    )


def _ended_why(facts: Facts, allocated: int) -> str:
    idle = [pod for pod in facts.pods if pod.gpus_allocated and pod.deleting_seconds is None]
    if facts.ended == JobState.FAILED:
        why = failed_why(facts.pods) or facts.end_message or "failed"
        return f"{why}; {facts.quarrel}" if facts.quarrel else why
    if idle:  # mpi-operator's cleanPodPolicy None leaves workers behind
        return f"ended, but {counted(len(idle), 'pod')} still run with {counted(allocated, 'GPU')}"
    return ""


def _of_pods(facts: Facts, store: StoreReader) -> tuple[str, str]:
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
        return JobState.STARTING, f"waits for its {facts.missing_leader} to be created"
    if up >= wanted and all(is_up(pod) or pod.phase == "Succeeded" for pod in uncounted):
        return JobState.RUNNING, facts.growth
    state, why = _not_all_up(facts, store, wanted)
    return (JobState.DEGRADED, why) if facts.was_running else (state, why)


def _all_failed(facts: Facts) -> tuple[str, str]:
    """All pods ended and some failed: the end for a bare pod, a pause between attempts for a controller."""
    why = failed_why(facts.pods)
    if facts.kind == "Pod":
        return JobState.FAILED, why
    return JobState.PENDING, one_line(why, 80) + "; its controller may retry"


def _not_all_up(facts: Facts, store: StoreReader, wanted: int) -> tuple[str, str]:
    unbound = unbound_why(facts.pods, store)
    if unbound:
        return JobState.PENDING, unbound
    missing = wanted - len(facts.counted)
    if missing > 0:
        return JobState.PENDING, facts.warning or f"waiting for {missing} of {wanted} members to be created"
    return JobState.STARTING, not_up_why(facts.pods, store) or f"waiting for {counted(wanted, 'member')}"
