"""What would start the subject of a finding, and when it starts without that."""

import msgspec

from cockpit.model.finding import Change, Finding, Subject
from cockpit.model.job import JobState
from cockpit.triage import wanted
from cockpit.triage.changes.begun import RUNS_AGAIN
from cockpit.triage.changes.drains import drains
from cockpit.triage.changes.smallest import changes_for
from cockpit.triage.cluster_view import ClusterView
from cockpit.triage.engine import decided_by, job_behind, of_job
from cockpit.triage.expected_start import expected_start
from cockpit.triage.past_runs import runs_seen
from cockpit.triage.pool_walk import jobs_waiting


def advised(verdict: Finding, view: ClusterView) -> Finding:
    """The verdict with the smallest changes that start its subject, and when it starts without them; where
    none does and it stands on a broken node, or is one, with the drain of that."""
    job = job_behind(verdict.subject, view)
    is_waiting = verdict.subject.kind in ("job", "gang", "pod") and verdict.is_trouble
    if not is_waiting or (job is not None and job.state in JobState.ENDED):
        ran = verdict.cause in RUNS_AGAIN
        grows = _growing(verdict.subject, view) if verdict.subject.kind == "pool" else ()
        changes = grows or (changes_for(verdict, view) if ran else drains(verdict.subject, view))
        return msgspec.structs.replace(verdict, changes=changes) if changes else verdict
    asked = msgspec.structs.replace(verdict, subject=decided_by(verdict.subject, view))
    demand = wanted.Demand(asked.subject, view)
    changes = changes_for(asked, view, demand=demand) or drains(verdict.subject, view)
    expected = expected_start(asked.subject, view, runs_seen(view), demand=demand)
    return msgspec.structs.replace(verdict, changes=changes, expected=expected)


def _growing(pool: Subject, view: ClusterView) -> tuple[Change, ...]:
    """What grows the pool so that the first of those starts that wait for it."""
    for job in jobs_waiting(pool, view):
        changes = advised(of_job(job, view), view).changes
        if found := tuple(one for one in changes if one.target == pool):
            return found
    return ()
