"""Prune: which finished jobs are old enough to go."""

from collections.abc import Iterable

from cockpit.model.job import Job, JobState


def ended_before(jobs: Iterable[Job], moment_seconds: float) -> list[Job]:
    """Jobs that succeeded or failed before that moment (epoch seconds), oldest first.

    Where nobody noted the end the creation counts; a job of which neither is known stays.
    """
    found = [
        (ended, job)
        for job in jobs
        if job.state in JobState.ENDED
        and (ended := job.finished_seconds if job.finished_seconds is not None else job.created_seconds)
        is not None
        and ended < moment_seconds
    ]
    return [job for _ended, job in sorted(found, key=lambda pair: (pair[0], pair[1].key))]
