"""The status of a Workload, step by step, with Kueue's reasons and sentences.

Facts: kueue v0.15 pkg/workload/workload.go and admissionchecks.go. An `Edit` works on a copy; `patch` is
what it changed, as a merge patch.
"""

from collections.abc import Mapping
from typing import Any

from cockpit.sim.port import Tree
from cockpit.sim.times import rfc3339, seconds_of

FINISHED_WORDS = "Workload has finished"


def condition_of(tree: Tree, type_: str) -> Tree | None:
    """One condition of an object."""
    found: list[Tree] = (tree.get("status") or {}).get("conditions") or []
    return next((one for one in found if one.get("type") == type_), None)


def is_true(tree: Tree, type_: str) -> bool:
    """True when the condition is there and True."""
    one = condition_of(tree, type_)
    return one is not None and one.get("status") == "True"


def is_false(tree: Tree, type_: str) -> bool:
    """True when the condition is there and False."""
    one = condition_of(tree, type_)
    return one is not None and one.get("status") == "False"


def has_quota(tree: Tree) -> bool:
    """True when quota is reserved for it."""
    return is_true(tree, "QuotaReserved")


def is_admitted(tree: Tree) -> bool:
    """True when it may run."""
    return is_true(tree, "Admitted")


def is_finished(tree: Tree) -> bool:
    """True when its job is over."""
    return is_true(tree, "Finished")


def is_active(tree: Tree) -> bool:
    """False when somebody (or a limit) took it off."""
    return (tree.get("spec") or {}).get("active") is not False


def merge_difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> Tree:
    """The JSON merge patch (RFC 7386) that makes `new` out of `old`."""
    patch: Tree = {key: None for key in old if key not in new}
    for key, value in new.items():
        held = old.get(key)
        if key in old and held == value:
            continue
        if isinstance(held, Mapping) and isinstance(value, Mapping):
            patch[key] = merge_difference(held, value)
        else:
            patch[key] = value
    return patch


class Edit:
    """A status in the making."""

    def __init__(self, tree: Tree, now: float) -> None:
        self._old: Tree = tree.get("status") or {}
        self.status: Tree = dict(self._old)
        self.status["conditions"] = [dict(one) for one in self._old.get("conditions") or ()]
        self._generation = int(tree["metadata"].get("generation") or 1)
        self._now = now

    @property
    def changed(self) -> bool:
        """True when the status is another than before."""
        old = {**self._old, "conditions": self._old.get("conditions") or []}
        return old != self.status

    @property
    def patch(self) -> Tree:
        """What changed, as a merge patch of the status."""
        return merge_difference(self._old, self.status)

    def find(self, type_: str) -> Tree | None:
        """One condition."""
        return next((one for one in self.status["conditions"] if one["type"] == type_), None)

    def is_true(self, type_: str) -> bool:
        """True when the condition is there and True."""
        one = self.find(type_)
        return one is not None and one["status"] == "True"

    def put(self, type_: str, status: bool, reason: str, message: str, *, observed: bool = True) -> None:
        """Set a condition; its time moves only when its status does."""
        one = self.find(type_)
        word = "True" if status else "False"
        if one is None:
            one = {"type": type_, "status": "", "lastTransitionTime": ""}
            self.status["conditions"].append(one)
        if one["status"] != word:
            one["status"] = word
            one["lastTransitionTime"] = rfc3339(self._now)
        one["reason"] = reason
        one["message"] = message
        if observed:
            one["observedGeneration"] = self._generation
        else:
            one.pop("observedGeneration", None)

    def remove(self, type_: str) -> None:
        """Take a condition away."""
        self.status["conditions"] = [one for one in self.status["conditions"] if one["type"] != type_]

    def reserve(self, admission: Tree) -> None:
        """Quota is there: eviction and preemption are past."""
        self.status["admission"] = admission
        self.status.pop("resourceRequests", None)
        queue = admission["clusterQueue"]
        self.put("QuotaReserved", True, "QuotaReserved", f"Quota reserved in ClusterQueue {queue}")
        for type_ in ("Evicted", "Preempted"):
            one = self.find(type_)
            if one is not None and one["status"] == "True":
                self.put(type_, False, "QuotaReserved", f"Previously: {one['message']}")
        self.sync_admitted()

    def unreserve(self, reason: str, message: str) -> None:
        """No quota (any more), and why."""
        self.put("QuotaReserved", False, reason, message)
        self.status.pop("admission", None)
        self.sync_admitted()

    def sync_admitted(self) -> None:
        """Admitted follows QuotaReserved; the seconds it ran are added up. Admission checks: none here."""
        was, has = self.is_true("Admitted"), self.is_true("QuotaReserved")
        if was == has:
            return
        if has:
            self.put("Admitted", True, "Admitted", "The workload is admitted")
            return
        since = seconds_of((self.find("Admitted") or {})["lastTransitionTime"])
        past = self.status.get("accumulatedPastExecutionTimeSeconds") or 0
        self.status["accumulatedPastExecutionTimeSeconds"] = past + int(self._now - since)
        if self.is_true("Finished"):
            self.put("Admitted", False, "Finished", FINISHED_WORDS)
        else:
            self.put("Admitted", False, "NoReservation", "The workload has no reservation")

    def finish(self, reason: str, message: str) -> None:
        """The job is over."""
        self.put("Finished", True, reason, message)
        self.unreserve("Finished", FINISHED_WORDS)

    def evict(self, reason: str, message: str, cause: str = "") -> None:
        """Mark it as to be taken off; its quota stays until its pods are gone."""
        word = f"{reason}DueTo{cause}" if reason == "Deactivated" and cause else reason
        self.put("Evicted", True, word, message)
        stats = [dict(one) for one in (self.status.get("schedulingStats") or {}).get("evictions") or ()]
        same = [one for one in stats if (one["reason"], one["underlyingCause"]) == (reason, cause)]
        if same:
            same[0]["count"] += 1
        else:
            stats.append({"reason": reason, "underlyingCause": cause, "count": 1})
        self.status["schedulingStats"] = {"evictions": stats}

    def preempted(self, reason: str, message: str) -> None:
        """It gives way to another."""
        self.put("Preempted", True, reason, message, observed=False)

    def requeued(self, status: bool, reason: str, message: str) -> None:
        """May it line up again."""
        self.put("Requeued", status, reason, message)

    def back_off(self, base_seconds: float, most_seconds: float) -> None:
        """Count one more try and say when the next may be: base * 2^(tries - 1), at most `most_seconds`."""
        state = dict(self.status.get("requeueState") or {})
        count = int(state.get("count") or 0) + 1
        wait = min(most_seconds, base_seconds * 2 ** min(count - 1, 64))
        state["count"] = count
        state["requeueAt"] = rfc3339(self._now + wait)
        self.status["requeueState"] = state

    def clear_requeue_time(self) -> None:
        """The back-off is over."""
        state = self.status.get("requeueState")
        if state is not None:
            self.status["requeueState"] = {key: value for key, value in state.items() if key != "requeueAt"}
