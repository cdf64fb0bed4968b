"""Counting ended pods exactly once: uid into the status, finalizer off the pod, number up, uid out.

Whatever fails in between, the next round goes on where this one stopped (KEP-2307).
"""

from collections.abc import Iterable

from cockpit.sim.actors.controllers.job.failure_policy import is_failed, judge
from cockpit.sim.actors.controllers.job.indexes import index_of
from cockpit.sim.actors.controllers.job.round import JobSync, has_finalizer, job_condition, write_indexes
from cockpit.sim.actors.controllers.trees import condition_of, is_deleting, phase_of, uid_of
from cockpit.sim.port import Tree

MOST_UNCOUNTED = 500


def note_ended(turn: JobSync) -> tuple[list[Tree], bool]:
    """Write newly ended pods into the status; answers whose finalizer may go, and whether that is all."""
    if turn.spec.is_indexed:
        turn.pods.sort(key=lambda pod: -1 if (index := index_of(pod)) is None else index)
    settle_counts(turn, {uid_of(pod) for pod in turn.pods if has_finalizer(pod)})
    released: list[Tree] = []
    fresh_indexes: set[int] = set()
    for pod in turn.pods:
        if not has_finalizer(pod) or not _may_release(turn, pod):
            continue
        released.append(pod)
        _note(turn, pod, fresh_indexes)
        noted = len(fresh_indexes) + sum(map(len, turn.uncounted.values()))
        if noted >= MOST_UNCOUNTED:
            break
    else:
        _finish_indexes(turn, fresh_indexes)
        return released, True
    _finish_indexes(turn, fresh_indexes)
    return released, False


def settle_counts(turn: JobSync, with_finalizer: set[str]) -> None:
    """Raise the counts by the pods that have lost their finalizer."""
    for name, uids in turn.uncounted.items():
        left = [uid for uid in uids if uid in with_finalizer]
        turn.status[name] = turn.status.get(name, 0) + len(uids) - len(left)
        uids[:] = left


def interim(turn: JobSync) -> Tree | None:
    """Put the condition that announces the end into the status; answers the one that will be the end."""
    verdict = turn.verdict
    if verdict is None:
        return None
    conditions: list[Tree] = turn.status["conditions"]
    if verdict["type"] == "FailureTarget":
        conditions.append(verdict)
        return job_condition("Failed", verdict["reason"], verdict["message"], turn.now)
    if verdict["type"] == "SuccessCriteriaMet":
        if condition_of(turn.job, "SuccessCriteriaMet") is None:
            conditions.append(verdict)
        return job_condition("Complete", verdict["reason"], verdict["message"], turn.now)
    return verdict


def may_finish(turn: JobSync) -> bool:
    """The end is written once every pod is counted and none is still terminating."""
    return not any(turn.uncounted.values()) and turn.terminating <= 0


def ensure_condition(
    conditions: list[Tree], type_: str, status: str, *, reason: str, message: str, now: float
) -> bool:
    """As the real controller: a False one is never added, a changed one is replaced whole."""
    fresh = {**job_condition(type_, reason, message, now), "status": status}
    for place, held in enumerate(conditions):
        if held["type"] == type_:
            if all(held.get(name) == fresh[name] for name in ("status", "reason", "message")):
                return False
            conditions[place] = fresh
            return True
    if status == "False":
        return False
    conditions.append(fresh)
    return True


def _may_release(turn: JobSync, pod: Tree) -> bool:
    if is_deleting(turn.job) or turn.verdict is not None or phase_of(pod) == "Succeeded":
        return True
    if not is_failed(pod, turn.spec):
        return False
    index = index_of(pod)
    held = None if index is None else turn.delayed.get(index)
    return held is None or uid_of(held) != uid_of(pod)


def _note(turn: JobSync, pod: Tree, fresh_indexes: set[int]) -> None:
    uid, index, spec = uid_of(pod), index_of(pod), turn.spec
    is_valid = not spec.is_indexed or (index is not None and index < spec.wanted_indexes)
    uncounted = turn.uncounted
    if phase_of(pod) == "Succeeded" and uid not in uncounted["failed"]:
        if spec.is_indexed:
            if is_valid and index is not None and index not in turn.indexes_before:
                fresh_indexes.add(index)
        elif uid not in uncounted["succeeded"]:
            uncounted["succeeded"].append(uid)
        return
    has_ended_badly = turn.verdict is not None and turn.verdict["type"] != "SuccessCriteriaMet"
    if not (is_failed(pod, spec) or has_ended_badly) or uid in uncounted["failed"] or not is_valid:
        return
    if judge(pod, spec).counts:
        uncounted["failed"].append(uid)


def _finish_indexes(turn: JobSync, fresh: Iterable[int]) -> None:
    if turn.spec.is_indexed:
        turn.succeeded_indexes |= set(fresh)
        write_indexes(turn)
