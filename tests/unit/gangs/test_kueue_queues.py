"""What waits in queues, rows of queues, and the plans for holding, releasing, stopping and resuming."""

import pytest

from cockpit.errors import BadInput
from cockpit.gangs.engine_of_job import engine_of_job
from cockpit.gangs.kueue.plans import plan_resume_queue, plan_stop_queue, suspend_workload
from cockpit.gangs.kueue.queues import lately, waiting
from cockpit.gangs.standing import QueueDay
from cockpit.model.gang import QueuePlace, QuotaRow, Workload
from cockpit.model.pod import Pod
from cockpit.model.record import Condition, Uid
from cockpit.views.queues import rows
from tests.unit.gangs.builders import (
    MORE_4,
    NVIDIA,
    cluster_queue,
    is_,
    local_queue,
    pending,
    store_of,
    workload,
)

RUNNING = (is_("QuotaReserved"), is_("Admitted"))


def test_waiting_workloads_of_a_local_queue_and_its_cluster_queue_in_order() -> None:
    first, second = workload("a", pending(MORE_4), created_seconds=1.0), workload("b", pending(MORE_4))
    local, cluster = local_queue(), cluster_queue()
    store = store_of(local, cluster, second, first)
    found = waiting(store, local)
    assert [(one.position, one.job, one.gpus) for one in found] == [(1, "team-a/a", 4), (2, "team-a/b", 4)]
    assert waiting(store, cluster) == found
    assert all(one.is_estimate for one in found)


def test_places_that_kueue_told_go_before_estimates() -> None:
    first, second = workload("a", pending(MORE_4), created_seconds=1.0), workload("b", pending(MORE_4))
    told = [
        QueuePlace(uid=Uid(uid), name=uid, namespace="team-a", position=place)
        for uid, place in (("wl-b", 1), ("wl-a", 2))
    ]
    local = local_queue()
    found = waiting(store_of(local, cluster_queue(), first, second, *told), local)
    assert [one.job for one in found] == ["team-a/b", "team-a/a"]
    assert not any(one.is_estimate for one in found)


NOW, HOUR = 1_000_000.0, 3_600.0


def admitted(name: str, *, asked: float, let_in: float, more: tuple[Condition, ...] = ()) -> Workload:
    """Hours ago."""
    reserved = is_("QuotaReserved", at=NOW - let_in * HOUR)
    return workload(name, reserved, *more, created_seconds=NOW - asked * HOUR, cluster_queue="research")


def test_the_last_day_counts_first_waits_and_preemptions_whose_moment_is_known() -> None:
    back = is_("Evicted", "False", "QuotaReserved", at=NOW - HOUR)
    store = store_of(
        local_queue(),
        cluster_queue(),
        admitted("short", asked=2, let_in=1),
        admitted("long", asked=9, let_in=2),
        admitted("middle", asked=4, let_in=1),
        admitted("before", asked=60, let_in=30),
        admitted("second", asked=50, let_in=1, more=(back, is_("Preempted", "False", at=NOW - HOUR))),
        admitted("today", asked=9, let_in=1, more=(back, is_("Preempted", "False", at=NOW - HOUR))),
        workload("out", pending(MORE_4), is_("Preempted", at=NOW - HOUR), created_seconds=NOW - 90 * HOUR),
        workload("other", is_("Preempted", at=NOW), is_("QuotaReserved", at=NOW), cluster_queue="vision"),
    )
    assert lately(store, "research", NOW) == QueueDay(3 * HOUR, admitted=3, preempted=2)
    assert lately(store, "none", NOW) == QueueDay(None, 0, 0)


def test_a_queue_is_not_active_when_what_is_behind_it_is_not() -> None:
    stopped = is_("Active", "False", "Stopped", "Can't admit new workloads: is stopped.")
    (row,) = rows(store_of(local_queue(), cluster_queue(conditions=(stopped,))))
    assert (row.state, row.why) == ("stopped", "ClusterQueue research: stopped")


def test_a_queue_without_conditions_is_unknown_and_usage_that_nobody_states_too() -> None:
    (row,) = rows(store_of(local_queue(conditions=())))
    assert (row.state, row.device_quotas) == ("unknown", ())
    (row,) = rows(store_of(cluster_queue(quotas=(QuotaRow("h100", NVIDIA, 8),))))
    assert (row.nominal, row.used) == (8, None)


def test_suspending_switches_the_workload_off_with_preconditions() -> None:
    plan = suspend_workload(workload("train", *RUNNING), suspend=True, version="v1beta1")
    (call,) = plan.calls
    assert call.method == "PATCH" and call.content_type == "application/merge-patch+json"
    assert call.path == "/apis/kueue.x-k8s.io/v1beta1/namespaces/team-a/workloads/job-train-1a2b3"
    assert call.body == {"metadata": {"uid": "wl-train", "resourceVersion": "7"}, "spec": {"active": False}}
    assert plan.is_destructive
    waits = suspend_workload(workload("train", pending(MORE_4)), suspend=True, version="v1beta1")
    assert not waits.is_destructive and waits.lines[1] == "it leaves the line"


def test_resuming_switches_it_on() -> None:
    plan = suspend_workload(workload("train", is_active=False), suspend=False, version="v1beta2")
    assert plan.calls[0].body["spec"] == {"active": True}
    assert "/v1beta2/" in plan.calls[0].path and "asks main for 4 GPUs again" in plan.lines[1]


def test_what_is_done_already_is_refused_in_one_sentence() -> None:
    for one, suspend, refused in (
        (workload("train", is_active=False), True, "is suspended already"),
        (workload("train"), False, "is not suspended"),
        (workload("train", is_("Finished")), True, "has finished"),
        (
            workload("train", is_("Finished", reason="FailedToStart")),
            False,
            "never starts; clone or recreate it",
        ),
    ):
        with pytest.raises(BadInput, match=refused):
            suspend_workload(one, suspend=suspend, version="v1beta2")
    with pytest.raises(BadInput, match="stopped already"):
        plan_stop_queue(local_queue(stop_policy="Hold"), drain=False, version="v1beta1", workloads=())
    with pytest.raises(BadInput, match="is not stopped"):
        plan_resume_queue(cluster_queue(stop_policy="None"), "v1beta1")


def test_stop_and_resume_a_queue() -> None:
    stop = plan_stop_queue(local_queue(admitted=3), drain=False, version="v1beta1", workloads=())
    assert stop.calls[0].path == "/apis/kueue.x-k8s.io/v1beta1/namespaces/team-a/localqueues/main"
    assert stop.calls[0].body["spec"] == {"stopPolicy": "Hold"} and not stop.is_destructive
    drain = plan_stop_queue(cluster_queue(admitted=1), drain=True, version="v1beta1", workloads=())
    assert drain.calls[0].path == "/apis/kueue.x-k8s.io/v1beta1/clusterqueues/research"
    assert drain.is_destructive and drain.warnings == ("1 job will lose progress since the last checkpoint",)
    resume = plan_resume_queue(cluster_queue(stop_policy="Hold", pending=5), "v1beta1")
    assert resume.calls[0].body["spec"] == {"stopPolicy": "None"} and "5 pending jobs" in resume.lines[1]


@pytest.mark.parametrize(
    ("labels", "pod", "expected"),
    [
        ((), Pod(uid="1", name="p"), ("none", "")),
        ((("kueue.x-k8s.io/queue-name", "main"),), Pod(uid="1", name="p"), ("Kueue", "main")),
        ((), Pod(uid="1", name="p", queue="main"), ("Kueue", "main")),
        ((("volcano.sh/queue-name", "q"),), Pod(uid="1", name="p", scheduler="volcano"), ("Volcano", "q")),
        ((), Pod(uid="1", name="p", gang="pg", scheduler="gang-scheduler"), ("Coscheduling", "")),
        ((), Pod(uid="1", name="p", gang="pg", scheduler="default-scheduler"), ("native gang", "")),
        ((), Pod(uid="1", name="p", scheduler="kai-scheduler"), ("KAI", "")),
    ],
)
def test_the_engine_is_told_by_what_the_job_carries(
    labels: tuple[tuple[str, str], ...], pod: Pod, expected: tuple[str, str]
) -> None:
    assert tuple(engine_of_job(labels, (pod,), None)) == expected


def test_a_workload_names_kueue_and_its_queue() -> None:
    assert tuple(engine_of_job((), (), workload("a"))) == ("Kueue", "main")
