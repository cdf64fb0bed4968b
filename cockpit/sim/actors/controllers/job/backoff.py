"""How long a Job waits before it makes another pod (pkg/controller/job/backoff_utils.go)."""

from collections.abc import Sequence
from dataclasses import dataclass

from cockpit.sim.actors.controllers.trees import condition_of, created_seconds
from cockpit.sim.port import Tree
from cockpit.sim.times import seconds_of

FIRST_SECONDS = 10.0
LAST_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class JobBackoff:
    """Failures since the last success, and when the last one was."""

    failures: int = 0
    last_failure_seconds: float | None = None

    def after(self, succeeded: Sequence[Tree], failed: Sequence[Tree]) -> "JobBackoff":
        """The record after these newly ended pods."""
        ends = sorted(finished_seconds(pod) for pod in failed)
        if not succeeded:
            if not ends:
                return self
            return JobBackoff(self.failures + len(ends), ends[-1])
        last_success = max(finished_seconds(pod) for pod in succeeded)
        later = [end for end in ends if end > last_success]
        return JobBackoff(len(later), later[-1] if later else None)

    def remaining_seconds(self, now: float) -> float:
        """How long to wait from now on."""
        return remaining_seconds(self.failures, self.last_failure_seconds, now)


def remaining_seconds(failures: int, last_failure_seconds: float | None, now: float) -> float:
    """10 s after the first failure, doubled with each further one, 10 min at most."""
    if failures == 0 or last_failure_seconds is None:
        return 0.0
    wait = min(LAST_SECONDS, FIRST_SECONDS * 2.0 ** min(failures - 1, 10))
    return max(0.0, wait - (now - last_failure_seconds))


def finished_seconds(pod: Tree) -> float:
    """When a pod ended: its last container, else when it stopped being ready, was deleted, was created."""
    statuses = pod.get("status", {}).get("containerStatuses") or ()
    ends = [((s.get("state") or {}).get("terminated") or {}).get("finishedAt") for s in statuses]
    if ends and all(ends):
        return max(seconds_of(end) for end in ends if end)
    ready = condition_of(pod, "Ready")
    if ready is not None and ready.get("status") == "False" and ready.get("lastTransitionTime"):
        return seconds_of(ready["lastTransitionTime"])
    metadata = pod["metadata"]
    if metadata.get("deletionTimestamp"):
        return seconds_of(metadata["deletionTimestamp"]) - float(
            metadata.get("deletionGracePeriodSeconds") or 0
        )
    return created_seconds(pod)
