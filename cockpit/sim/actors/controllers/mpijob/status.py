"""An MPIJob's status: conditions and replica counts, with the operator's habits.

Two of them look like mistakes and are kept: when a job ends, its condition Running turns False and keeps its
text, and Running is True for as long as nobody suspends the job, whatever its pods do.
"""

import copy
from collections.abc import Sequence

from cockpit.sim.actors.controllers.job.round import is_finished as is_job_finished
from cockpit.sim.actors.controllers.mpijob.spec import MpiSpec
from cockpit.sim.actors.controllers.trees import condition_of, created_seconds, is_condition, phase_of
from cockpit.sim.port import Tree
from cockpit.sim.times import rfc3339

_LONGEST_MESSAGE = 1024

Told = tuple[bool, str, str]
"""An event to tell: is it a warning, reason, message."""


def is_finished(job: Tree) -> bool:
    """True once the MPIJob succeeded or failed."""
    return is_condition(job, "Succeeded") or is_condition(job, "Failed")


class MpiStatus:
    """The status of an MPIJob in the making. `told` collects the events that go with it."""

    def __init__(self, job: Tree, now: float) -> None:
        self.now = now
        self.tree: Tree = copy.deepcopy(job.get("status") or {})
        self.told: list[Told] = []
        self._where = f"{job['metadata']['namespace']}/{job['metadata']['name']}"

    def begin(self, spec: MpiSpec) -> None:
        """A job that is seen for the first time is Created; one that is not suspended has started."""
        if not self.tree.get("conditions"):
            message = f"MPIJob {self._where} is created."
            self._set("Created", "True", "MPIJobCreated", message)
            self.told.append((False, "MPIJobCreated", message))

    def start(self, spec: MpiSpec) -> None:
        """The first time that the job is not suspended is when it starts."""
        if not self.tree.get("startTime") and not spec.is_suspended:
            self.tree["startTime"] = rfc3339(self.now)

    def clear_workers(self) -> None:
        """No worker is left."""
        self._counts("Worker", {})

    def look(
        self, spec: MpiSpec, launcher: Tree | None, launcher_pods: Sequence[Tree], workers: Sequence[Tree]
    ) -> None:
        """Write down what launcher and workers are at."""
        self._tell_suspension(spec)
        launchers = sum(phase_of(pod) == "Running" for pod in launcher_pods)
        if launcher is not None:
            self._look_at_launcher(launcher, launcher_pods, launchers)
        running = self._look_at_workers(workers)
        if spec.is_suspended:
            self._set("Running", "False", "MPIJobSuspended", f"MPIJob {self._where} is suspended.")
        elif launcher is not None and launchers >= 1 and running == len(workers):
            self._set("Running", "True", "MPIJobRunning", f"MPIJob {self._where} is running.")
            self.told.append((False, "MPIJobRunning", f"MPIJob {self._where} is running"))

    def _tell_suspension(self, spec: MpiSpec) -> None:
        if spec.is_suspended:
            if self._set("Suspended", "True", "MPIJobSuspended", "MPIJob suspended"):
                self.told.append((False, "MPIJobSuspended", "MPIJob suspended"))
        elif condition_of({"status": self.tree}, "Suspended") is not None and self._set(
            "Suspended", "False", "MPIJobResumed", "MPIJob resumed"
        ):
            self.told.append((False, "MPIJobResumed", "MPIJob resumed"))
            self.tree["startTime"] = rfc3339(self.now)

    def _look_at_launcher(self, launcher: Tree, pods: Sequence[Tree], running: int) -> None:
        counts = {"failed": launcher.get("status", {}).get("failed", 0)}
        if is_condition(launcher, "Complete"):
            counts["succeeded"] = 1
            message = f"MPIJob {self._where} successfully completed."
            self.told.append((False, "MPIJobSucceeded", message))
            self.tree.setdefault("completionTime", launcher["status"].get("completionTime"))
            self._set("Succeeded", "True", "MPIJobSucceeded", message)
        elif is_job_finished(launcher):
            reason, message = self._failure(launcher, pods)
            self.told.append((True, reason, message))
            self.tree.setdefault("completionTime", rfc3339(self.now))
            self._set("Failed", "True", reason, message)
        else:
            counts["active"] = running
        self._counts("Launcher", counts)

    def _failure(self, launcher: Tree, pods: Sequence[Tree]) -> tuple[str, str]:
        """The Job's reason and message; for a used-up back-off also those of the last failed pod."""
        failed = condition_of(launcher, "Failed") or {}
        reason = failed.get("reason") or "MPIJobFailed"
        message = failed.get("message") or f"MPIJob {self._where} has failed"
        ended = [pod for pod in pods if phase_of(pod) == "Failed"]
        if reason == "BackoffLimitExceeded" and ended:
            last = max(ended, key=created_seconds)["status"]
            reason += f"/{last.get('reason', '')}"
            message = shortened(f"{message}: {last.get('message', '')}")
        return reason, message

    def _look_at_workers(self, workers: Sequence[Tree]) -> int:
        phases = [phase_of(pod) for pod in workers]
        counts = {
            "failed": phases.count("Failed"),
            "succeeded": phases.count("Succeeded"),
            "active": phases.count("Running"),
        }
        self._counts("Worker", counts)
        evicted = sum(
            phase_of(pod) == "Failed" and pod.get("status", {}).get("reason") == "Evicted" for pod in workers
        )
        if evicted:
            message = f"{evicted}/{len(workers)} workers are evicted"
            self._set("Failed", "True", "MPIJobEvicted", message)
            self.told.append((True, "MPIJobEvicted", message))
        return counts["active"]

    def _counts(self, replica_type: str, counts: dict[str, int]) -> None:
        self.tree.setdefault("replicaStatuses", {})[replica_type] = {
            name: count for name, count in counts.items() if count
        }

    def _set(self, type_: str, status: str, reason: str, message: str) -> bool:
        """Put a condition at the end of the list, unless status and reason are what they were."""
        conditions: list[Tree] = self.tree.setdefault("conditions", [])
        held = next((c for c in conditions if c["type"] == type_), None)
        if held is not None and held["status"] == status and held["reason"] == reason:
            return False
        at = rfc3339(self.now)
        fresh = {
            "type": type_,
            "status": status,
            "reason": reason,
            "message": message,
            "lastUpdateTime": at,
            "lastTransitionTime": at,
        }
        if held is not None and held["status"] == status:
            fresh["lastTransitionTime"] = held["lastTransitionTime"]
        left = [c for c in conditions if c["type"] != type_]
        if type_ in ("Failed", "Succeeded"):
            left = [{**c, "status": "False"} if c["type"] in ("Running", "Failed") else c for c in left]
        self.tree["conditions"] = [*left, fresh]
        return True


def shortened(message: str) -> str:
    """At most as long as an event's message may be."""
    return message if len(message) <= _LONGEST_MESSAGE else f"{message[: _LONGEST_MESSAGE - 3]}..."
