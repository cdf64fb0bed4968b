"""What the jobs that are there, and those that this host remembers, tell of how long jobs wait and run: the
history of an expected start."""

from collections.abc import Iterable
from typing import Final

from cockpit.model.job import Job, JobState
from cockpit.model.remembered import PastRun
from cockpit.triage.cluster_view import ClusterView
from cockpit.triage.expected import RunHistory
from cockpit.triage.turns import shape_name

MOST_RUNS: Final = 2_000


def runs_seen(view: ClusterView) -> RunHistory:
    """Jobs with GPUs that run, have ended or wait, the oldest first, with those whose objects are gone. A
    failed one says nothing of how long others run."""
    found = [run for job in view.jobs.jobs.values() if (run := _run(job)) is not None]
    here = {run.uid for run in found}
    found += [run for run in view.past if run.uid not in here]
    found.sort(key=lambda one: one.submitted_seconds)
    return RunHistory(runs=tuple(found[-MOST_RUNS:]))


def ended_runs(jobs: Iterable[Job]) -> tuple[PastRun, ...]:
    """Those that ran to their end: what is worth remembering when their objects are gone."""
    found = (_run(job) for job in jobs if job.state == JobState.SUCCEEDED)
    return tuple(one for one in found if one is not None and one.ran_seconds is not None)


def _run(job: Job) -> PastRun | None:
    members = job.wanted or 0
    gpus = (job.gpus_wanted or 0) // members if members else 0
    if not gpus or job.created_seconds is None:
        return None
    started = None if job.state in JobState.WAITING else job.started_seconds
    has_run = job.state == JobState.SUCCEEDED and started is not None and job.finished_seconds is not None
    ran = job.finished_seconds - started if has_run and job.finished_seconds and started else None
    shape = shape_name(job.namespace, job.name, gpus)
    return PastRun(shape, members, gpus, job.created_seconds, started, ran, job.uid)
