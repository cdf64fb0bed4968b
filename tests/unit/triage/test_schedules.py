"""What a job by a schedule waits for: its next time, a schedule that never comes, a run that was refused."""

from typing import Any

import pytest

from cockpit.jobs.schedule import runs_of, runs_words
from cockpit.model.finding import Finding, Permanence, Subject
from cockpit.triage.attention import needs_human
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import explain
from cockpit.views.job_page import facts
from tests.triage.case import Case, CaseFile, Recorded
from tests.triage.world import view_of
from tests.unit.triage.objects import job, node

NOW = 1_796_000_000.0
Tree = dict[str, Any]


def seen(*trees: Tree) -> ClusterView:
    """The view of a cluster with these objects."""
    names = {"Node": "nodes", "Event": "events", "Job": "jobs.batch", "CronJob": "cronjobs.batch"}
    objects: dict[str, list[Tree]] = {}
    for tree in (node("a"), *trees):
        objects.setdefault(names[tree["kind"]], []).append(tree)
    subject = Subject("job", "team-a", "nightly")
    return view_of(Case("schedules", CaseFile((), "", (), subject, (), NOW, Recorded("", "", 0)), objects))


def cron(schedule: str = "0 3 * * *", **spec: Any) -> Tree:
    made = job("nightly", 2, 1)
    template = {"spec": made["spec"]}
    meta = {**made["metadata"], "uid": "u-nightly", "creationTimestamp": "2026-11-20T00:00:00Z"}
    spec = {"schedule": schedule, "jobTemplate": template, **spec}
    return {**made, "kind": "CronJob", "metadata": meta, "spec": spec, "status": {}}


def run(name: str, condition: str = "", created: str = "2026-11-20T00:00:00Z") -> Tree:
    made = job(name, 2, 1)
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": "u-nightly"}
    made["metadata"] |= {"ownerReferences": [{**owner, "controller": True}], "creationTimestamp": created}
    conditions = [{"type": condition, "status": "True"}] if condition else []
    return {**made, "status": {"conditions": conditions, "active": 0 if condition else 2}}


def why(*objects: Tree) -> Finding:
    return explain(Subject("job", "team-a", "nightly"), seen(*objects))


def test_the_next_run_is_told_by_the_clock_of_its_zone() -> None:
    found = why(cron())
    assert found.cause == "" and found.sentence.startswith("next run 2026-")
    assert found.sentence.endswith("03:00 UTC (schedule 0 3 * * *)")
    assert "03:00 Asia/Tokyo (schedule" in why(cron(timeZone="Asia/Tokyo")).sentence
    # a zone that this machine does not know: no time is guessed
    assert why(cron(timeZone="Mars/Base")).sentence == "runs by its schedule 0 3 * * * in Mars/Base"


@pytest.mark.parametrize(
    ("schedule", "sentence"),
    [
        ("0 0 31 2 *", "its schedule 0 0 31 2 * names no date that exists: no run ever starts"),
        ("0 24 * * *", "its schedule 0 24 * * * is none: hour: '24' is not between 0 and 23"),
    ],
)
def test_a_schedule_that_is_never_due_is_the_cause_and_is_told_on_now(schedule: str, sentence: str) -> None:
    found = why(cron(schedule))
    assert (found.cause, found.sentence) == ("schedule-never-due", sentence)
    assert found.permanence is Permanence.NEVER
    view = seen(cron(schedule))
    told = [one.sentence for one in needs_human(view.store, view.jobs, NOW)]
    assert sentence in told


def test_suspended_it_has_to_be_resumed_and_a_refused_run_is_told() -> None:
    assert why(cron(suspend=True)).cause == "suspended-by-hand"
    said = 'Error creating job: admission webhook "v.example" denied the request: no GPUs at night'
    about = {"kind": "CronJob", "namespace": "team-a", "name": "nightly", "uid": "u-nightly"}
    meta = {"name": "e", "namespace": "team-a", "uid": "u-e"}
    refused = {"apiVersion": "v1", "kind": "Event", "metadata": meta, "involvedObject": about}
    refused |= {"type": "Warning", "reason": "FailedCreate", "message": said}
    assert why(cron(), refused).cause == "refused-by-webhook"


def test_its_runs_are_on_its_page_and_it_is_on_theirs() -> None:
    later = run("nightly-2", created="2026-11-21T00:00:00Z")
    view = seen(cron(), run("nightly-1", "Complete"), later)
    rows = {one.name: one for one in view.jobs.jobs.values()}
    assert set(rows) == {"nightly", "nightly-1", "nightly-2"}
    words = runs_words(runs_of(rows["nightly"], view.store))
    assert words == "2: nightly-2 has 2 active pods, nightly-1 succeeded"
    pairs = {pair.name: pair.value for pair in facts(rows["nightly"], view.store, NOW)}
    assert pairs["runs"] == words
    pairs = {pair.name: pair.value for pair in facts(rows["nightly-2"], view.store, NOW)}
    assert pairs["run of"] == "CronJob nightly" and "runs" not in pairs
