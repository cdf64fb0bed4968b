"""Kueue and a job's own controller that undo each other's work without end."""

from cockpit.model.gang import Workload
from cockpit.model.job import JobObject
from cockpit.model.record import Kind, condition
from cockpit.model.store_reader import StoreReader

QUARREL_SECONDS = 5.0
"""After this no controller has a reason to touch the launcher of a failed job once more."""


def quarrel(job: JobObject, workload: Workload, store: StoreReader) -> str:
    """What goes on about the launcher of a failed MPIJob, and the remedy; "" where nothing does.

    After a worker was evicted mpi-operator fails the MPIJob and resumes its launcher; Kueue, for which it has
    finished, suspends it again: hundreds of launcher pods within minutes. Seen with mpi-operator 0.6 and 0.8
    under Kueue 0.15 and 0.19. It shows in the launcher's Job: its Suspended still changes when all is over.
    """
    failed = condition(job.conditions, "Failed")
    is_over = workload.is_finished and failed is not None and failed.status == "True"
    if not is_over or failed is None or failed.changed_seconds is None or job.kind != "MPIJob":
        return ""
    launcher: JobObject | None = store.by_key(Kind.JOB, f"{job.key}-launcher")
    flipped = None if launcher is None else condition(launcher.conditions, "Suspended")
    if flipped is None or flipped.changed_seconds is None:
        return ""
    if flipped.changed_seconds - failed.changed_seconds < QUARREL_SECONDS:
        return ""
    return "Kueue and mpi-operator fight over its launcher: kill the job"
