"""Kueue's verdicts: state from conditions, reason with the numbers; texts are the real controller's."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cockpit.gangs.kueue.line import place_of
from cockpit.gangs.kueue.standing import gang_state
from cockpit.gangs.kueue.verdict import verdict
from cockpit.gangs.standing import GangState
from cockpit.model.batch import Batch
from cockpit.model.gang import AdmissionCheck, ClusterQueue, PodSet, QuotaRow
from cockpit.model.record import Condition, Kind
from cockpit.model.sureness import Sureness
from tests.unit.gangs.builders import (
    ASSIGN,
    MORE_4,
    NVIDIA,
    cluster_queue,
    is_,
    local_queue,
    pending,
    store_of,
    workload,
)
from tests.unit.gangs.kueue.world import BLOCKED, told_state

QUEUES = (local_queue(), cluster_queue())
RESERVED, ADMITTED = is_("QuotaReserved"), is_("Admitted")
TEXTS = [
    (MORE_4, GangState.QUEUED, "needs 8 GPUs, quota research/h100 has 4 unused: 4 more needed"),
    (
        ASSIGN
        + "insufficient quota for nvidia.com/gpu in flavor h100, previously considered podsets requests (0) +"
        " current podset request (16) > maximum capacity (8)",
        BLOCKED,
        "asks 16 GPUs, queue research can never give more than 8",
    ),
    (
        "LocalQueue nowhere doesn't exist",
        BLOCKED,
        "queue nowhere does not exist in namespace team-a",
    ),
    (
        "Workload namespace doesn't match ClusterQueue selector",
        BLOCKED,
        "ClusterQueue research takes no jobs from namespace team-a",
    ),
    (
        ASSIGN + 'topology "dc" allows to fit only 2 out of 3 pod(s)',
        GangState.QUEUED,
        "topology dc has room for 2 of 3 pods in one place",
    ),
    (
        "Workload no longer fits after processing another workload",
        GangState.QUEUED,
        "another job took the quota: waits for its next turn",
    ),
    (
        MORE_4 + ". Pending the preemption of 1 workload(s)",
        GangState.QUEUED,
        "waits for 1 preempted job to end",
    ),
    (
        ASSIGN + "untolerated taint {dedicated infra NoSchedule <nil>} in flavor h100",
        BLOCKED,
        "flavor h100 has taint dedicated=infra that the pods do not tolerate",
    ),
    (
        ASSIGN + "flavor h100 doesn't match node affinity",
        BLOCKED,
        "the job's node selector rules out flavor h100",
    ),
    (
        ASSIGN + "resource amd.com/gpu unavailable in ClusterQueue",
        BLOCKED,
        "ClusterQueue research offers no amd.com/gpu",
    ),
    ("something Kueue says next year", GangState.QUEUED, "something Kueue says next year"),
]


@pytest.mark.parametrize(("message", "state", "words"), TEXTS)
def test_why_it_waits_in_plain_words(message: str, state: str, words: str) -> None:
    one = workload("train-3", pending(message), gpus=8)
    found = verdict(one, store_of(*QUEUES, one))
    assert (told_state(found), found.why.sentence) == (state, words)
    assert found.is_waiting


def test_the_missing_quota_is_a_number() -> None:
    one = workload("train-3", pending(MORE_4), gpus=8)
    found = verdict(one, store_of(*QUEUES, one))
    assert [found.why.fact(one) for one in ("needs", "flavor", "resource")] == ["4 more GPUs", "h100", NVIDIA]
    assert (found.queue, found.cluster_queue, found.position, found.is_estimate) == (
        "main",
        "research",
        1,
        True,
    )


def test_without_the_right_to_read_cluster_queues_the_message_s_numbers_stand() -> None:
    one = workload("train-3", pending(MORE_4), gpus=8)
    assert verdict(one, store_of(one)).why.sentence == "needs 8 GPUs of flavor h100: 4 more GPUs needed"


def test_a_message_that_the_numbers_have_overtaken_is_not_echoed() -> None:
    one = workload("train-3", pending(MORE_4), gpus=8)
    found = verdict(one, store_of(local_queue(), cluster_queue(used=0), one))
    assert found.why.sentence == "quota research/h100 has 8 unused now: starts at Kueue's next look"


def test_in_a_cohort_quota_that_is_unused_and_not_free_is_lent() -> None:
    one = workload("train-3", pending(MORE_4), gpus=8)
    found = verdict(one, store_of(local_queue(), cluster_queue(used=0, cohort="site"), one))
    assert found.why.sentence == (
        "needs 8 GPUs, has 4: 4 of quota research/h100 lent to cohort site, not reclaimable"
    )
    assert found.why.sureness is Sureness.INFERRED


def test_what_may_be_borrowed_is_told_so_that_the_sum_adds_up() -> None:
    one = workload("train-3", pending(MORE_4), gpus=16)
    found = verdict(one, store_of(local_queue(), cluster_queue(cohort="site"), one))
    assert found.why.sentence == (
        "needs 16 GPUs, quota research/h100 has 4 unused and may borrow 8: 4 more needed"
    )


def test_several_flavors_are_told_with_what_each_lacks() -> None:
    message = MORE_4 + ", insufficient unused quota for nvidia.com/gpu in flavor a100, 2 more needed"
    one = workload("train-3", pending(message), gpus=8)
    found = verdict(one, store_of(*QUEUES, one))
    assert found.why.sentence == "needs 8 GPUs, no flavor has it free: h100 lacks 4, a100 lacks 2"
    assert [found.why.fact(one) for one in ("needs", "flavor")] == ["2 more GPUs", "a100"]


def test_cpu_and_memory_are_told_with_their_units() -> None:
    cpu = ASSIGN + "insufficient unused quota for cpu in flavor h100, 500m more needed"
    one = workload("x", pending(cpu), pod_sets=(PodSet("main", 1, (("cpu", 1500),)),))
    assert "1.5 CPU" in verdict(one, store_of(one)).why.sentence
    memory = ASSIGN + "insufficient unused quota for memory in flavor h100, 10Gi more needed"
    one = workload("x", pending(memory), pod_sets=(PodSet("main", 1, (("memory", 2**34),)),))
    assert (
        verdict(one, store_of(one)).why.sentence
        == "needs 16 GiB of memory of flavor h100: 10 GiB more memory needed"
    )


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"stop_policy": "Hold"}, "queue main is stopped for new jobs (Hold)"),
        ({"stop_policy": "HoldAndDrain"}, "queue main is stopped and drained (HoldAndDrain)"),
        ({"deleting_seconds": 5.0}, "queue main is being deleted, waits until nothing uses it"),
    ],
)
def test_a_stopped_queue_is_the_reason_whatever_the_message_says(
    fields: dict[str, object], words: str
) -> None:
    one = workload("x", pending(MORE_4))
    found = verdict(one, store_of(local_queue(**fields), cluster_queue(), one))
    assert (told_state(found), found.why.sentence) == (BLOCKED, words)


def test_an_inactive_cluster_queue_says_what_it_misses() -> None:
    inactive = is_(
        "Active",
        "False",
        "FlavorNotFound",
        "Can't admit new workloads: references missing ResourceFlavor(s): missing-flavor.",
    )
    one = workload("x", pending("ClusterQueue research is inactive", "Inadmissible"))
    found = verdict(one, store_of(local_queue(), cluster_queue(conditions=(inactive,)), one))
    assert (
        found.why.sentence
        == "ClusterQueue research: names a ResourceFlavor that does not exist: missing-flavor"
    )


def test_a_deleted_cluster_queue_still_says_active_and_is_not_believed() -> None:
    one = workload("x", pending(MORE_4))
    found = verdict(one, store_of(local_queue(), cluster_queue(deleting_seconds=1.0), one))
    assert told_state(found) == BLOCKED and "being deleted" in found.why.sentence


@pytest.mark.parametrize(
    ("conditions", "active", "state"),
    [
        ((), True, GangState.QUEUED),
        ((RESERVED, ADMITTED), True, GangState.ADMITTED),
        ((RESERVED, ADMITTED, is_("PodsReady", "False", "WaitForStart")), True, GangState.ADMITTED),
        ((RESERVED, ADMITTED, is_("PodsReady", "True", "Started")), True, GangState.STARTED),
        ((RESERVED, is_("Admitted", "False", "UnsatisfiedAdmissionChecks")), True, GangState.CHECKING),
        ((RESERVED, ADMITTED, is_("Evicted", reason="Preempted")), True, GangState.EVICTED),
        (
            (is_("Finished", reason="Succeeded"), pending("Workload has finished", "Finished")),
            True,
            GangState.FINISHED,
        ),
        (
            (pending("The workload is deactivated"), is_("Evicted", reason="Deactivated")),
            False,
            GangState.DEACTIVATED,
        ),
        (
            (RESERVED, ADMITTED, is_("Evicted", "False", "QuotaReserved", "Previously: x")),
            True,
            GangState.ADMITTED,
        ),
    ],
)
def test_the_state_comes_from_conditions(conditions: tuple[Condition, ...], active: bool, state: str) -> None:
    assert gang_state(workload("x", *conditions, is_active=active)) == state


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("WaitingForQuota", "waits for free quota in research"),
        ("TopologyPlacementFailed", "no place in the topology is large enough now"),
        ("FutureReason", "FutureReason"),
    ],
)
def test_without_a_message_the_reason_speaks(reason: str, words: str) -> None:
    one = workload("x", pending("", reason))
    assert verdict(one, store_of(*QUEUES, one)).why.sentence == words


def test_positions_are_by_priority_then_time_and_a_told_one_is_no_estimate() -> None:
    first = workload("a", pending(MORE_4), created_seconds=5.0)
    late = workload("b", pending(MORE_4), created_seconds=9.0)
    urgent = workload("c", pending(MORE_4), created_seconds=9.5, priority=1000)
    back = workload(
        "d", pending(MORE_4), is_("Evicted", reason="PodsReadyTimeout", at=50.0), created_seconds=1.0
    )
    running = workload("e", RESERVED, ADMITTED, created_seconds=0.0)
    store = store_of(*QUEUES, late, first, urgent, back, running)
    places = {uid: place_of(store, uid) for uid in store.records(Kind.WORKLOAD)}
    assert places == {"wl-c": 1, "wl-a": 2, "wl-b": 3, "wl-d": 4, "wl-e": None}
    told = verdict(first, store, {"wl-a": 7}, is_told=True)
    assert (told.position, told.is_estimate) == (7, False)


def test_positions_are_counted_per_cluster_queue() -> None:
    one = workload("a", pending(MORE_4))
    lost = workload("b", pending("LocalQueue nowhere doesn't exist"), queue="nowhere")
    store = store_of(*QUEUES, one, lost)
    assert (place_of(store, "wl-a"), place_of(store, "wl-b")) == (1, None)
    assert verdict(lost, store).position is None


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.builds(
            is_,
            st.sampled_from(("QuotaReserved", "Admitted", "Evicted", "Finished", "PodsReady", "Requeued")),
            st.sampled_from(("True", "False", "Unknown")),
            st.sampled_from(("Pending", "Inadmissible", "Preempted", "WaitingForQuota", "odd", "")),
            st.one_of(st.sampled_from([text for text, _, _ in TEXTS]), st.text(max_size=300)),
        ),
        max_size=5,
    ),
    st.booleans(),
)
@example([is_("QuotaReserved", "True", "Pending", "\r")], True)
@example([is_("Evicted", "True", "Preempted", " ")], True)
def test_any_workload_gets_one_short_sentence(conditions: list[Condition], active: bool) -> None:
    one = workload("x", *conditions, is_active=active)
    found = verdict(one, store_of(*QUEUES, one))
    assert len(found.why.sentence) <= 100 and "\n" not in found.why.sentence
    if found.state in (GangState.QUEUED, GangState.DEACTIVATED, GangState.CHECKING):
        assert found.why.sentence


def test_quota_without_usage_is_unknown_not_zero() -> None:
    one = workload("x", pending(MORE_4), gpus=8)
    unknown = cluster_queue(quotas=(QuotaRow("h100", NVIDIA, 8, None),))
    assert verdict(one, store_of(local_queue(), unknown, one)).why.sentence == (
        "needs 8 GPUs of quota research/h100: 4 more GPUs needed"
    )


def test_a_workload_that_was_passed_over_has_the_cause_of_the_one_like_it() -> None:
    """The sentence is real Kueue 0.19's, with UnadmittedWorkloadsObservability."""
    bypassed = pending(
        "Bypassed scheduling evaluation because an equivalent workload recently failed", "WaitingForQuota"
    )
    seen = workload("a", pending(MORE_4, "WaitingForQuota"), gpus=8, shape=7)
    like = workload("b", bypassed, gpus=8, shape=7)
    other = workload("c", bypassed, gpus=8, shape=8)
    store = store_of(*QUEUES, seen, like, other)
    found = verdict(like, store)
    assert found.why.sentence == verdict(seen, store).why.sentence
    assert (found.why.cause, found.why.sureness) == ("quota-in-use", Sureness.SAID)
    assert ("twin", "team-a/a") in found.why.facts
    unlike = verdict(other, store)
    assert (unlike.why.cause, unlike.why.sureness) == ("not-admitted-yet", Sureness.INFERRED)


def test_other_priority_or_queue_is_no_twin() -> None:
    seen = workload("a", pending(MORE_4), shape=7)
    urgent = workload("b", shape=7, priority=10)
    elsewhere = workload("c", shape=7, queue="other")
    store = store_of(*QUEUES, seen, urgent, elsewhere)
    assert [verdict(one, store).why.cause for one in (urgent, elsewhere)] == [
        "not-admitted-yet",
        "not-admitted-yet",
    ]


def test_the_verdict_follows_the_line_as_it_moves() -> None:
    like = workload("b", gpus=8, shape=7)
    store = store_of(*QUEUES, like)
    assert verdict(like, store).why.cause == "not-admitted-yet"
    store.apply(Batch(kind=Kind.WORKLOAD, changed=(workload("a", pending(MORE_4), gpus=8, shape=7),)))
    assert verdict(like, store).why.cause == "quota-in-use"


def test_a_head_that_can_never_start_blocks_those_behind_it() -> None:
    never = (
        ASSIGN
        + "insufficient quota for nvidia.com/gpu in flavor h100, previously considered podsets requests"
        " (0) + current podset request (16) > maximum capacity (8)"
    )
    head = workload("head", pending(never), gpus=16, created_seconds=1.0)
    small = workload("small", gpus=1, created_seconds=2.0)
    strict = cluster_queue(strategy="StrictFIFO")
    found = verdict(small, store_of(local_queue(), strict, head, small))
    assert (told_state(found), found.why.cause) == (BLOCKED, "behind-the-head")
    assert found.why.sentence == (
        "behind team-a/head in StrictFIFO research: asks 16 GPUs, queue research can never give more than 8"
    )


def test_who_borrowed_is_named_and_whether_it_can_be_had_back() -> None:
    lent = cluster_queue(used=0, cohort="site", reclaims="Any")
    rows = (QuotaRow("h100", NVIDIA, 8, 14, borrowed=6),)
    borrower = ClusterQueue(uid="b", name="batch", cohort="site", quotas=rows)
    one = workload(
        "x",
        pending(ASSIGN + "insufficient unused quota for nvidia.com/gpu in flavor h100, 6 more needed"),
        gpus=8,
    )
    found = verdict(one, store_of(local_queue(), lent, borrower, one))
    assert found.why.sentence == "needs 8 GPUs, has 2: 6 of quota research/h100 lent to batch, reclaimable"
    assert found.why.sureness is Sureness.PROVED


def test_the_job_whose_pods_are_late_is_named() -> None:
    late = workload("late", RESERVED, ADMITTED, is_("PodsReady", "False", "WaitForStart"))
    said = workload(
        "a", pending("waiting for all admitted workloads to be in PodsReady condition", "Waiting")
    )
    unheard = workload("b")
    store = store_of(*QUEUES, late, said, unheard)
    words = "waits until the pods of team-a/late are ready: nothing is admitted before"
    assert [
        (found.why.cause, found.why.sentence, found.why.sureness)
        for found in (verdict(said, store), verdict(unheard, store))
    ] == [
        ("others-not-ready", words, Sureness.SAID),
        ("others-not-ready", words, Sureness.INFERRED),
    ]


def test_the_first_check_that_is_not_through_is_named_with_its_words() -> None:
    checks = (
        AdmissionCheck("quota", "Ready"),
        AdmissionCheck("prov", "Pending"),
        AdmissionCheck("budget", "Retry", "over"),
    )
    found = verdict(workload("x", RESERVED, checks=checks), store_of())
    assert found.why.sentence == "admission check budget is retried (and 1 more): over"


def test_braces_in_names_and_messages_are_text() -> None:
    checks = (AdmissionCheck("a{0}", "Pending", "{x.__class__}"),)
    found = verdict(workload("x", RESERVED, checks=checks), store_of())
    assert found.why.sentence == "admission check a{0} is pending: (x.__class__)"
    odd = workload("y", pending(ASSIGN + "insufficient unused quota for {r} in flavor {f}, 1 more needed"))
    assert "{f}" in verdict(odd, store_of(odd)).why.sentence


def test_a_job_larger_than_its_stopped_queue_tells_that_too() -> None:
    stopped = cluster_queue(nominal=8, stop_policy="Hold", conditions=(is_("Active", "False", "Stopped"),))
    large, fitting = workload("large", gpus=16), workload("small", gpus=8)
    found = [verdict(one, store_of(local_queue(), stopped, one)) for one in (large, fitting)]
    assert [one.why.cause for one in found] == ["above-quota", "queue-stopped"]
    assert [[then.cause for then in one.why.then] for one in found] == [["queue-stopped"], []]
