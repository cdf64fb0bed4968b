"""The state of a job, from its object, its pods and its gang: never echoed. Why it is so, triage tells."""

import msgspec

from cockpit.gangs.engine import JobEngine
from cockpit.gangs.standing import GangStanding, GangState
from cockpit.jobs.members import is_up
from cockpit.model.job import GANG, JobState
from cockpit.model.pod import Pod


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What an adapter found out about one job."""

    kind: str
    pods: tuple[Pod, ...] = ()  # current members, leader first
    counted: tuple[Pod, ...] = ()  # those that `wanted` counts
    wanted: int | None = None  # that should run at the same time
    completions: int | None = None  # that have to end well; None: `wanted`
    done_said: int = 0  # that have, as the object says: their pods may be gone
    gang: GangStanding | None = None
    is_deleting: bool = False
    is_suspended: bool = False
    is_scheduled: bool = False  # it is no job but starts one when its time comes
    ended: str = ""  # JobState.SUCCEEDED or FAILED, once the object says so
    was_running: bool = False
    is_leader_missing: bool = False  # a leader that was not made yet
    queue: JobEngine | None = None  # as the job's label names it, of an engine that admits jobs
    grows_to: int | None = None  # how many it asks for now, of a job that runs with fewer
    succeeded: int = 0  # of `counted`, counted once here: rows of large jobs are made again and again

    def __post_init__(self) -> None:
        count = len([1 for pod in self.counted if pod.phase == "Succeeded"])
        msgspec.structs.force_setattr(self, "succeeded", count)

    @property
    def done(self) -> int:
        """Members that have ended well; the object may not know of the last ones yet."""
        return max(self.done_said, self.succeeded)

    @property
    def left(self) -> int | None:
        """Members that have yet to end well."""
        whole = self.wanted if self.completions is None else self.completions
        return None if whole is None else max(0, whole - self.done)

    @property
    def needed(self) -> int | None:
        """Members that should run now."""
        left = self.left
        return None if self.wanted is None or left is None else min(self.wanted, left)


def judge(facts: Facts) -> str:
    """A word of JobState."""
    if facts.is_deleting:
        return JobState.FINISHING
    if facts.ended:
        return facts.ended
    gang = facts.gang
    if gang is not None and gang.is_waiting:
        return JobState.SUSPENDED if gang.state == GangState.DEACTIVATED else JobState.QUEUED
    if facts.is_suspended:
        if gang is not None and gang.state in (GangState.ADMITTED, GangState.STARTED):
            return JobState.STARTING
        # suspended at creation; its workload is made right after
        return JobState.QUEUED if gang is None and facts.queue else JobState.SUSPENDED
    if facts.pods:
        return _of_pods(facts)
    if facts.done and facts.left == 0:
        return JobState.SUCCEEDED
    return JobState.SCHEDULED if facts.is_scheduled else JobState.PENDING


def _of_pods(facts: Facts) -> str:
    pods = facts.pods
    has_failed = any(pod.phase == "Failed" for pod in pods)
    if all(pod.is_finished for pod in pods):
        if has_failed:  # the end for a bare pod, a pause between attempts for a controller
            return JobState.FAILED if facts.kind in ("Pod", GANG) else JobState.PENDING
        if not facts.left:
            return JobState.SUCCEEDED
    if has_failed:
        return JobState.DEGRADED
    up = sum(1 for pod in facts.counted if is_up(pod))
    alive = sum(1 for pod in facts.counted if not pod.is_finished)
    wanted = alive if facts.needed is None else facts.needed
    if up >= wanted and facts.is_leader_missing:
        return JobState.STARTING
    counted_uids = {pod.uid for pod in facts.counted}
    if up >= wanted and all(
        is_up(pod) or pod.phase == "Succeeded" for pod in pods if pod.uid not in counted_uids
    ):
        return JobState.RUNNING
    if facts.was_running:
        return JobState.DEGRADED
    is_bound = all(pod.node or pod.is_finished for pod in pods)
    return JobState.STARTING if is_bound and wanted <= alive else JobState.PENDING
