"""Kueue's verdicts on workloads that were evicted, deactivated or lost their node."""

import pytest

from cockpit.gangs.kueue.verdict import verdict
from cockpit.gangs.standing import GangState
from cockpit.model.record import OwnerRef
from tests.unit.gangs.builders import MORE_4, cluster_queue, is_, local_queue, pending, store_of, workload

QUEUES = (local_queue(), cluster_queue())
RESERVED, ADMITTED = is_("QuotaReserved"), is_("Admitted")
PREEMPTED = (
    "Preempted to accommodate a workload (UID: 62e3c522-849d-44cb-a34c-06c9055e425b, JobUID: "
    "7ca001ec-22a7-4034-b41b-412d75042308) due to prioritization in the "
    "ClusterQueue; preemptor path: /research; "
    "preemptee path: /research"
)


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (
            "Preempted",
            "preempted by a job that goes first; needs 4 GPUs, quota research/h100 has 0 unused: 4 more",
        ),
        (
            "PodsReadyTimeout",
            "put back: pods not ready in time; needs 4 GPUs, quota research/h100 has 0 unused",
        ),
        ("ClusterQueueStopped", "needs 4 GPUs, quota research/h100 has 0 unused: 4 more needed"),
    ],
)
def test_an_eviction_that_put_it_back_leads_the_reason(reason: str, words: str) -> None:
    one = workload("x", is_("Evicted", reason=reason, message=PREEMPTED), pending(MORE_4))
    found = verdict(one, store_of(local_queue(), cluster_queue(used=8), one))
    assert found.state == GangState.QUEUED
    assert found.why.sentence.startswith(words) and len(found.why.sentence) <= 100


def test_the_preemptor_is_named_where_it_is_known() -> None:
    by = is_("Evicted", reason="Preempted", message=PREEMPTED.replace("7ca001ec", "9ca001ec"))
    uid = "7ca001ec-22a7-4034-b41b-412d75042308"
    urgent = workload("urgent", RESERVED, ADMITTED, owner=OwnerRef("batch/v1", "Job", "urgent", uid))
    evicted = is_("Evicted", reason="Preempted", message=PREEMPTED)
    leaving = workload("x", RESERVED, ADMITTED, evicted)
    assert verdict(leaving, store_of(urgent, leaving)).why.sentence == "preempted by team-a/urgent"
    back = workload("x", evicted, pending(PREEMPTED))
    assert verdict(back, store_of(*QUEUES, urgent, back)).why.sentence == (
        "preempted by team-a/urgent; waits for Kueue to look at it again"
    )
    unknown = workload("x", by, pending(MORE_4))
    assert verdict(unknown, store_of(urgent, unknown)).why.sentence.startswith(
        "preempted by a job that goes first; "
    )


def test_a_back_off_is_told_before_the_old_reason() -> None:
    one = workload(
        "x",
        is_("Evicted", reason="PodsReadyTimeout"),
        is_("Requeued", "False", "PodsReadyTimeout"),
        pending(MORE_4),
        requeue_count=3,
        requeue_at_seconds=500.0,
    )
    assert verdict(one, store_of(*QUEUES, one)).why.sentence == (
        "put back: pods not ready in time; backs off after 3 tries before it queues again"
    )


def test_held_says_who_held_it() -> None:
    by_limit = is_("Evicted", reason="DeactivatedDueToRequeuingLimitExceeded", message="long text")
    found = verdict(workload("x", by_limit, is_active=False), store_of())
    assert found.why.sentence == "deactivated after too many retries: its pods were never ready in time"
    found = verdict(workload("x", is_active=False), store_of())
    assert found.why.sentence == "suspended: its workload is deactivated (spec.active is false)"


def test_checks_eviction_and_start_have_words() -> None:
    checks = is_("Admitted", "False", "UnsatisfiedAdmissionChecks", "prov: waiting for nodes")
    assert verdict(workload("x", RESERVED, checks), store_of()).why.sentence == (
        "quota is reserved; waits for admission checks: prov: waiting for nodes"
    )
    evicted = is_("Evicted", reason="Preempted", message=PREEMPTED)
    assert verdict(workload("x", RESERVED, ADMITTED, evicted), store_of()).why.sentence == (
        "preempted by a job that goes first"
    )
    odd = is_("Evicted", reason="NewReason", message="because")
    assert verdict(workload("x", RESERVED, ADMITTED, odd), store_of()).why.sentence == "because"
    assert verdict(workload("x", RESERVED, ADMITTED), store_of()).why.sentence == ""
    assert verdict(workload("x"), store_of()).why.sentence == "waits for Kueue to look at it in queue main"


def test_a_lost_node_is_named() -> None:
    running = workload("x", RESERVED, ADMITTED, is_("PodsReady"), unhealthy_nodes=("gpu-7",))
    found = verdict(running, store_of())
    assert (found.why.cause, found.why.sentence) == (
        "lost-with-node",
        "node gpu-7 is lost: Kueue looks for another place in the topology",
    )
    back = workload(
        "x",
        is_(
            "Evicted",
            reason="NodeFailures",
            message="Workload was evicted as there was no replacement for unhealthy node(s): gpu-7",
        ),
        pending(MORE_4),
    )
    assert verdict(back, store_of(*QUEUES, back)).why.sentence.startswith(
        "put back: node gpu-7 was lost and its topology had no other"
    )


def test_one_that_is_put_back_again_and_again_says_how_often() -> None:
    late = "Exceeded the PodsReady timeout team-a/job-x-1a2b3"
    one = workload(
        "x", is_("Evicted", reason="PodsReadyTimeout", message=late), pending(late), requeue_count=4
    )
    found = verdict(one, store_of(*QUEUES, one))
    assert (found.why.cause, found.why.sentence) == (
        "evicted-in-a-loop",
        "put back 4 times: its pods were not ready in time",
    )
