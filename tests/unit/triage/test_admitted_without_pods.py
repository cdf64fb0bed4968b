"""A job that its engine has admitted and that has no pods: they are about to be made, for a minute."""

import pytest

from cockpit.model.finding import Subject
from cockpit.model.record import Condition
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import explain
from tests.unit.jobs.builders import Cluster, is_, mpijob, queues, workload
from tests.unit.triage.test_attention import NOW

LABELS = (("kueue.x-k8s.io/queue-name", "main"),)


@pytest.mark.parametrize(
    ("age_seconds", "cause", "sentence"),
    [
        (5, "", "admitted: its pods are about to be made"),
        (59, "", "admitted: its pods are about to be made"),
        (60, "not-taken-by-queue", "Kueue admitted it and has not resumed it"),
    ],
)
def test_pods_are_about_to_be_made_for_a_minute_and_then_it_hangs(
    age_seconds: float, cause: str, sentence: str
) -> None:
    cluster = Cluster()
    job = mpijob(is_suspended=True, created_seconds=NOW - 900, labels=LABELS)
    admitted = Condition("Admitted", "True", changed_seconds=NOW - age_seconds)
    cluster.put(*queues(), job, workload(job, 4, 2, is_("QuotaReserved"), admitted))
    view = ClusterView(store=cluster.store, jobs=cluster.index, now_seconds=NOW)
    found = explain(Subject("job", "team-a", "llm"), view)
    assert (found.cause, found.sentence) == (cause, sentence)


def test_resumed_and_without_pods_its_controller_is_asked() -> None:
    cluster = Cluster()
    job = mpijob(created_seconds=NOW - 900, labels=LABELS)
    admitted = Condition("Admitted", "True", changed_seconds=NOW - 300)
    cluster.put(*queues(), job, workload(job, 4, 2, is_("QuotaReserved"), admitted))
    view = ClusterView(store=cluster.store, jobs=cluster.index, now_seconds=NOW)
    assert explain(Subject("job", "team-a", "llm"), view).cause == "no-controller"


def test_without_a_queue_a_person_suspended_it() -> None:
    cluster = Cluster()
    cluster.put(mpijob(is_suspended=True, created_seconds=NOW - 900))
    view = ClusterView(store=cluster.store, jobs=cluster.index, now_seconds=NOW)
    assert explain(Subject("job", "team-a", "llm"), view).cause == "suspended-by-hand"
