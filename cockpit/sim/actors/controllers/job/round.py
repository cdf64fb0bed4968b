"""One look at a Job and its pods, and what follows from it: all that needs no call to the server."""

import copy
from dataclasses import dataclass, field

from cockpit.sim.actors.controllers.job.backoff import JobBackoff, finished_seconds
from cockpit.sim.actors.controllers.job.failure_policy import is_failed, judge
from cockpit.sim.actors.controllers.job.indexes import format_indexes, index_of, parse_indexes
from cockpit.sim.actors.controllers.job.spec import ReadJobSpec, read_spec
from cockpit.sim.actors.controllers.trees import (
    condition_of,
    is_active,
    is_condition,
    is_ready,
    is_terminating,
    phase_of,
    uid_of,
)
from cockpit.sim.port import Tree
from cockpit.sim.times import rfc3339, seconds_of

FINALIZER = "batch.kubernetes.io/job-tracking"
FAILURE_COUNT_KEY = "batch.kubernetes.io/job-index-failure-count"
IGNORED_COUNT_KEY = "batch.kubernetes.io/job-index-ignored-failure-count"


@dataclass(slots=True)
class JobSync:
    """What is known and decided in one sync. `verdict` is the condition that ends the Job, None as yet."""

    job: Tree
    spec: ReadJobSpec
    status: Tree
    pods: list[Tree]
    now: float
    backoff: JobBackoff
    active_pods: list[Tree]
    active: int
    ready: int
    terminating: int
    succeeded: int = 0
    failed: int = 0
    verdict: Tree | None = None
    indexes_before: set[int] = field(default_factory=set)
    succeeded_indexes: set[int] = field(default_factory=set)
    failed_indexes: set[int] | None = None
    delayed: dict[int, Tree] = field(default_factory=dict)

    @property
    def uncounted(self) -> dict[str, list[str]]:
        """Uids of ended pods that still hold their finalizer, by `succeeded` and `failed`."""
        found: dict[str, list[str]] = self.status["uncountedTerminatedPods"]
        return found


def open_round(job: Tree, pods: list[Tree], backoff: JobBackoff, now: float) -> JobSync:
    """Count pods, judge failures, count indexes."""
    status: Tree = copy.deepcopy(job.get("status") or {})
    status.setdefault("conditions", [])
    status["uncountedTerminatedPods"] = {
        name: list((status.get("uncountedTerminatedPods") or {}).get(name) or ())
        for name in ("succeeded", "failed")
    }
    active = [pod for pod in pods if is_active(pod)]
    turn = JobSync(
        job=job,
        spec=read_spec(job),
        status=status,
        pods=pods,
        now=now,
        backoff=backoff,
        active_pods=active,
        active=len(active),
        ready=sum(map(is_ready, active)),
        terminating=sum(map(is_terminating, pods)),
    )
    _count(turn)
    if not status.get("startTime") and not turn.spec.is_suspended:
        status["startTime"] = rfc3339(now)
    turn.verdict = _verdict(turn)
    if turn.spec.is_indexed:
        _count_indexes(turn)
    return turn


def has_finalizer(pod: Tree) -> bool:
    """True while a pod has not been counted for good."""
    return FINALIZER in (pod["metadata"].get("finalizers") or ())


def is_finished(job: Tree) -> bool:
    """True once the Job is Complete or Failed."""
    return is_condition(job, "Complete") or is_condition(job, "Failed")


def job_condition(type_: str, reason: str, message: str, now: float) -> Tree:
    """A condition that is True, as the Job controller writes it."""
    at = rfc3339(now)
    return {
        "type": type_,
        "status": "True",
        "lastProbeTime": at,
        "lastTransitionTime": at,
        "reason": reason,
        "message": message,
    }


def _count(turn: JobSync) -> None:
    spec, uncounted = turn.spec, turn.uncounted
    fresh = [pod for pod in turn.pods if has_finalizer(pod) and _has_valid_index(pod, spec)]
    held = set(uncounted["succeeded"]) | set(uncounted["failed"])
    fresh = [pod for pod in fresh if uid_of(pod) not in held]
    succeeded = [pod for pod in fresh if phase_of(pod) == "Succeeded"]
    failed = [pod for pod in fresh if is_failed(pod, spec)]
    counted = sum(judge(pod, spec).counts for pod in failed)
    turn.succeeded = turn.status.get("succeeded", 0) + len(succeeded) + len(uncounted["succeeded"])
    turn.failed = turn.status.get("failed", 0) + counted + len(uncounted["failed"])
    turn.backoff = turn.backoff.after(succeeded, failed)


def _has_valid_index(pod: Tree, spec: ReadJobSpec) -> bool:
    if not spec.is_indexed:
        return True
    index = index_of(pod)
    return index is not None and index < spec.wanted_indexes


def _verdict(turn: JobSync) -> Tree | None:
    """Earlier verdicts first, then the failure policy, the back-off limit, the deadline."""
    spec, now = turn.spec, turn.now
    met = condition_of(turn.job, "SuccessCriteriaMet")
    if met is not None and met["status"] == "True":
        return dict(met)
    target = condition_of(turn.job, "FailureTarget")
    if target is not None and target["status"] == "True":
        return job_condition("Failed", target["reason"], target["message"], now)
    if spec.failure_rules is not None:
        for pod in turn.pods:
            sentence = judge(pod, spec).fails_job if is_failed(pod, spec) else ""
            if sentence:
                return job_condition("FailureTarget", "PodFailurePolicy", sentence, now)
    if turn.failed > spec.backoff_limit or _restarted_too_often(turn):
        return job_condition(
            "FailureTarget", "BackoffLimitExceeded", "Job has reached the specified backoff limit", now
        )
    left = deadline_in_seconds(turn)
    if left is not None and left <= 0:
        return job_condition(
            "FailureTarget", "DeadlineExceeded", "Job was active longer than specified deadline", now
        )
    return None


def deadline_in_seconds(turn: JobSync) -> float | None:
    """How long until activeDeadlineSeconds is over; None without one, or while suspended."""
    limit, start = turn.spec.active_deadline_seconds, turn.status.get("startTime")
    if limit is None or not start or turn.spec.is_suspended:
        return None
    return seconds_of(start) + limit - turn.now


def _restarted_too_often(turn: JobSync) -> bool:
    """Containers restarted in place (restartPolicy OnFailure) use up the back-off limit too."""
    if not turn.spec.restarts_on_failure:
        return False
    restarts = sum(
        held.get("restartCount", 0)
        for pod in turn.pods
        if phase_of(pod) in ("Running", "Pending")
        for group in ("initContainerStatuses", "containerStatuses")
        for held in pod.get("status", {}).get(group) or ()
    )
    limit = turn.spec.backoff_limit
    return bool(restarts > 0 if limit == 0 else restarts >= limit)


def _count_indexes(turn: JobSync) -> None:
    spec, wanted = turn.spec, turn.spec.wanted_indexes
    turn.indexes_before = parse_indexes(turn.status.get("completedIndexes", ""), wanted)
    turn.succeeded_indexes = turn.indexes_before | {
        index
        for pod in turn.pods
        if phase_of(pod) == "Succeeded"
        and has_finalizer(pod)
        and (index := index_of(pod)) is not None
        and index < wanted
    }
    turn.succeeded = len(turn.succeeded_indexes)
    if spec.backoff_limit_per_index is not None:
        turn.failed_indexes = _failed_indexes(turn)
        if turn.verdict is None:
            turn.verdict = _verdict_of_indexes(turn, turn.failed_indexes)
        turn.delayed = _delayed(turn, turn.failed_indexes)
    if turn.verdict is None:
        rule = _success_rule(turn)
        if rule is not None:
            turn.verdict = job_condition(
                "SuccessCriteriaMet", "SuccessPolicy", f"Matched rules at index {rule}", turn.now
            )


def _failed_indexes(turn: JobSync) -> set[int]:
    found = parse_indexes(turn.status.get("failedIndexes") or "", turn.spec.wanted_indexes)
    limit = turn.spec.backoff_limit_per_index or 0
    for pod in turn.pods:
        index = index_of(pod)
        if index is None or not _has_valid_index(pod, turn.spec) or not has_finalizer(pod):
            continue
        if is_failed(pod, turn.spec):
            ruling = judge(pod, turn.spec)
            if ruling.fails_index or (ruling.counts and failures_of_index(pod) >= limit):
                found.add(index)
    return found


def _verdict_of_indexes(turn: JobSync, failed: set[int]) -> Tree | None:
    most = turn.spec.max_failed_indexes
    if most is not None and len(failed) > most:
        return job_condition(
            "FailureTarget",
            "MaxFailedIndexesExceeded",
            "Job has exceeded the specified maximal number of failed indexes",
            turn.now,
        )
    if failed and len(failed) + len(turn.succeeded_indexes) >= turn.spec.wanted_indexes:
        return job_condition("FailureTarget", "FailedIndexes", "Job has failed indexes", turn.now)
    return None


def _delayed(turn: JobSync, failed: set[int]) -> dict[int, Tree]:
    """Failed pods that stay until their replacement, which takes over the count of failures."""
    busy = {index_of(pod) for pod in turn.active_pods}
    found: dict[int, Tree] = {}
    for pod in turn.pods:
        index = index_of(pod)
        if index is None or not has_finalizer(pod) or not _has_valid_index(pod, turn.spec):
            continue
        if not is_failed(pod, turn.spec) or index in busy | failed | turn.succeeded_indexes:
            continue
        held = found.get(index)
        if held is None or (all_failures_of_index(held), finished_seconds(held)) <= (
            all_failures_of_index(pod),
            finished_seconds(pod),
        ):
            found[index] = pod
    return found


def failures_of_index(pod: Tree) -> int:
    """How often the index had failed (and it counted) before this pod."""
    return _number(pod, FAILURE_COUNT_KEY)


def ignored_failures_of_index(pod: Tree) -> int:
    """How often the index had failed before this pod without that it counted."""
    return _number(pod, IGNORED_COUNT_KEY)


def all_failures_of_index(pod: Tree) -> int:
    """Both."""
    return failures_of_index(pod) + ignored_failures_of_index(pod)


def _number(pod: Tree, key: str) -> int:
    text = (pod["metadata"].get("annotations") or {}).get(key, "0")
    return int(text) if text.isdigit() else 0


def _success_rule(turn: JobSync) -> int | None:
    """The first rule of the success policy that is met."""
    if not turn.succeeded_indexes:
        return None
    for place, rule in enumerate(turn.spec.success_rules):
        count = rule.get("succeededCount")
        reached = turn.succeeded_indexes
        if rule.get("succeededIndexes") is not None:
            wanted = parse_indexes(rule["succeededIndexes"], turn.spec.wanted_indexes)
            if not wanted:
                continue
            reached = reached & wanted
            if reached == wanted:
                return place
        if count is not None and len(reached) >= count:
            return place
    return None


def shaped_status(turn: JobSync) -> Tree:
    """The status as the API server would store it: zero counts and empty texts are left out."""
    status = {
        name: value
        for name, value in turn.status.items()
        if name not in ("active", "succeeded", "failed", "completedIndexes", "conditions") or value
    }
    status["uncountedTerminatedPods"] = {name: uids for name, uids in turn.uncounted.items() if uids}
    return status


def write_indexes(turn: JobSync) -> None:
    """Put the indexes into the status."""
    turn.status["succeeded"] = len(turn.succeeded_indexes)
    turn.status["completedIndexes"] = format_indexes(turn.succeeded_indexes)
    if turn.failed_indexes is not None:
        turn.status["failedIndexes"] = format_indexes(turn.failed_indexes)
