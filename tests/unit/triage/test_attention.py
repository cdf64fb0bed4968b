"""What needs a human, by example; the clock is a number."""

from typing import Any

import msgspec
import pytest

from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.finding import Finding, Subject
from cockpit.model.gpu import Gpu, Mark
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.quantity import Absent
from cockpit.model.record import Condition, Kind
from cockpit.model.scheduling import Traits
from cockpit.model.sureness import Sureness
from cockpit.pools.stage import GPUS_LIMIT_SECONDS
from cockpit.triage.advice import advised
from cockpit.triage.attention import MOST_DENIED, needs_human
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import explain
from tests.unit.jobs.builders import (
    Cluster,
    gang,
    is_,
    lacks,
    mpijob,
    queues,
    up,
    workload,
)

NOW = 10_000.0


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def found(cluster: Cluster, now: float = NOW) -> tuple[Finding, ...]:
    return needs_human(cluster.store, cluster.index, now)


def only(cluster: Cluster, now: float = NOW) -> Finding:
    (one,) = found(cluster, now)
    return one


def add_nodes(cluster: Cluster, *nodes: Node) -> None:
    cluster.store.apply(Batch(kind=Kind.NODE, changed=nodes))
    cluster.put()


def gpu_node(**fields: Any) -> Node:
    fields.setdefault("conditions", (Condition("Ready", "True"),))
    fields.setdefault("gpu_capacity", 8)
    fields.setdefault("gpu_allocatable", 8)
    fields.setdefault("created_seconds", 0.0)
    return Node(uid="n1", name="gpu-7", **fields)


def card(index: int, **fields: Any) -> Gpu:
    return Gpu(uuid=f"g{index}", node="gpu-7", index=index, **fields)


def cards(cluster: Cluster, *gpus: Gpu) -> None:
    cluster.store.apply(Batch(kind=Kind.GPU, changed=gpus))
    cluster.put()


def test_nothing_wrong_is_an_empty_list(cluster: Cluster) -> None:
    job = mpijob(created_seconds=0.0)
    cluster.put(job, *gang(job, **up())[1], gang(job)[0])
    add_nodes(cluster, gpu_node())
    assert found(cluster) == ()


def test_a_job_that_queues_too_long(cluster: Cluster) -> None:
    job = mpijob(workers=2, gpus=4, is_suspended=True, created_seconds=NOW - 700)
    cluster.put(*queues(), job, workload(job, 8, 2, lacks(4)))
    one = only(cluster)
    assert (one.glyph, one.title, one.since_seconds, one.gpus) == ("●", "team-a/llm", NOW - 700, 8)
    assert one.sentence == "needs 8 GPUs, quota research/h100 has 4 unused: 4 more needed"
    assert one.key == "job-waits:mpijob.kubeflow.org/team-a/llm"
    assert found(cluster, NOW - 200) == ()


def test_a_job_that_can_never_start_is_told_soon(cluster: Cluster) -> None:
    job = mpijob(is_suspended=True, created_seconds=NOW - 60)
    local, cluster_queue = queues()
    cluster.put(
        msgspec.structs.replace(local, stop_policy="Hold"), cluster_queue, job, workload(job, 8, 2, lacks(4))
    )
    assert only(cluster).is_bad
    assert found(cluster, NOW - 45) == ()


def test_an_image_that_cannot_be_pulled_is_told_soon(cluster: Cluster) -> None:
    job = mpijob(created_seconds=NOW - 60)
    launcher_job, pods = gang(job, phase="Pending", node="gpu-1")
    stuck = msgspec.structs.replace(pods[0], waiting_reason="ImagePullBackOff")
    cluster.put(job, launcher_job, *pods)
    assert found(cluster) == ()
    cluster.put(stuck)
    assert (only(cluster).finding, only(cluster).is_bad) == ("job-waits", True)
    assert found(cluster, NOW - 45) == ()


def test_pending_counts_from_admission_not_from_submission(cluster: Cluster) -> None:
    admitted = Condition("Admitted", "True", changed_seconds=NOW - 100)
    job = mpijob(created_seconds=0.0)
    launcher_job, pods = gang(job, phase="Pending")
    cluster.put(job, launcher_job, *pods, workload(job, 4, 2, is_("QuotaReserved"), admitted))
    assert found(cluster) == ()
    one = only(cluster, NOW + 600)
    assert one.is_bad and one.since_seconds == NOW - 100


def test_a_degraded_job_is_told_at_once(cluster: Cluster) -> None:
    job = mpijob(conditions=(is_("Running"),), created_seconds=NOW)
    launcher_job, pods = gang(job, **up())
    dead = msgspec.structs.replace(pods[0], phase="Failed", exit_code=1, finished_seconds=NOW - 5)
    cluster.put(job, launcher_job, dead, *pods[1:])
    one = only(cluster)
    assert (one.finding, one.is_bad, one.since_seconds) == ("job-degraded", True, NOW - 5)


def test_failures_are_news_for_an_hour(cluster: Cluster) -> None:
    job = mpijob(conditions=(is_("Failed", message="backoff limit"),), finished_seconds=NOW - 100)
    cluster.put(job)
    assert only(cluster).sentence == "backoff limit"
    assert found(cluster, NOW + 4_000) == ()


def test_a_finished_job_that_still_holds_gpus(cluster: Cluster) -> None:
    job = mpijob(workers=2, gpus=4, conditions=(is_("Succeeded"),), finished_seconds=NOW - 300)
    cluster.put(job, *gang(job, **up())[1])
    assert only(cluster).sentence == "ended, but 2 pods still run with 8 GPUs"


def test_pods_that_will_not_go(cluster: Cluster) -> None:
    job = mpijob(workers=2, gpus=4, deleting_seconds=NOW - 500)
    cluster.put(job, *gang(job, deleting_seconds=NOW - 400, **up())[1])
    one = only(cluster)
    assert (one.finding, one.sentence) == (
        "job-stuck",
        "stuck terminating for 6 min on node gpu-1; 2 pods left, with 8 GPUs",
    )
    assert found(cluster, NOW - 350) == ()


def idle_job(cluster: Cluster) -> None:
    job = mpijob(workers=1, gpus=2)
    launcher_job, pods = gang(job, **up(node="gpu-7"))
    cluster.put(job, launcher_job, *pods)


def idle_card(index: int, at: float, duty: float | Absent = 0.0) -> Gpu:
    return card(
        index,
        duty_ratio=duty,
        memory_used_bytes=20.0 * 2**30,
        pod_namespace="team-a",
        pod_name="llm-worker-0",
        mark=Mark.SURE,
        sampled_seconds=at,
    )


def test_gpus_that_are_held_and_do_nothing(cluster: Cluster) -> None:
    idle_job(cluster)
    cards(cluster, idle_card(0, NOW - 2_000), idle_card(1, NOW - 1_000))
    cards(cluster, idle_card(0, NOW), idle_card(1, NOW))
    one = only(cluster)
    assert (one.finding, one.is_bad, one.since_seconds) == ("job-idle", False, NOW - 1_000)
    assert one.sentence == "2 GPUs allocated, duty 0%, 40 GiB of memory kept; CPU, network, disk not read yet"


@pytest.mark.parametrize("duty", [0.5, Absent.STALE, Absent.NOT_COLLECTED])
def test_work_or_silence_ends_an_idle_stretch(cluster: Cluster, duty: float | Absent) -> None:
    idle_job(cluster)
    cards(cluster, idle_card(0, NOW - 2_000), idle_card(1, NOW - 2_000))
    cards(cluster, idle_card(0, NOW - 50, duty), idle_card(1, NOW - 50))
    cards(cluster, idle_card(0, NOW), idle_card(1, NOW))
    assert [one for one in found(cluster) if one.finding == "job-idle"] == []


def test_a_card_that_nobody_measures_is_not_idle(cluster: Cluster) -> None:
    idle_job(cluster)
    cards(cluster, idle_card(0, NOW - 2_000))
    assert found(cluster) == ()


def test_a_node_that_is_not_ready(cluster: Cluster) -> None:
    lost = Condition(
        "Ready", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.", NOW - 60
    )
    add_nodes(cluster, gpu_node(conditions=(lost,)))
    one = only(cluster)
    assert (one.key, one.title, one.gpus, one.since_seconds) == (
        "node-not-ready:gpu-7",
        "node gpu-7",
        8,
        NOW - 60,
    )
    assert one.sentence == "its kubelet is silent"


def test_fewer_gpus_than_there_were_and_the_error_that_explains_it(cluster: Cluster) -> None:
    add_nodes(cluster, gpu_node(gpu_allocatable=6))
    cards(cluster, card(3, xid=79))
    one = only(cluster)
    assert (one.finding, one.sentence, one.gpus) == (
        "node-gpus-lost",
        "2 of 8 GPUs are unhealthy: the card fell off the bus on GPU 3 (Xid 79)",
        2,
    )


def test_a_young_node_may_take_its_time_to_show_its_gpus(cluster: Cluster) -> None:
    add_nodes(
        cluster, gpu_node(gpu_capacity=None, gpu_allocatable=None, gpus_expected=8, created_seconds=NOW - 60)
    )
    assert found(cluster) == ()
    assert found(cluster, NOW - 60 + GPUS_LIMIT_SECONDS - 1) == ()
    assert only(cluster, NOW - 60 + GPUS_LIMIT_SECONDS).sentence == (
        "ready, but offers none of its 8 GPUs: driver or device plugin is down"
    )


def test_a_young_node_whose_gpus_pods_hold_has_lost_them(cluster: Cluster) -> None:
    """They were up once: nobody installs a driver there any more."""
    add_nodes(
        cluster,
        gpu_node(
            gpu_capacity=None,
            gpu_allocatable=None,
            gpus_expected=8,
            created_seconds=NOW - 1_000,
            conditions=(Condition("Ready", "True", changed_seconds=NOW - 500),),
        ),
    )
    assert found(cluster) == ()
    holder = Pod(uid="p", name="p", namespace="a", node="gpu-7", phase="Running", gpus=8)
    cluster.store.apply(Batch(kind=Kind.POD, changed=(holder,)))
    cluster.put()
    assert "offers none of its 8 GPUs" in only(cluster).sentence


def test_a_bad_xid_alone_is_told_and_a_harmless_one_is_not(cluster: Cluster) -> None:
    add_nodes(cluster, gpu_node())
    cards(cluster, card(0, xid=13), card(1, xid=0))
    assert found(cluster) == ()
    cards(cluster, card(2, xid=48), card(5, xid=79))
    assert only(cluster).sentence == (
        "a double-bit memory error on GPU 2 (Xid 48) and 1 more: follow NVIDIA's longer procedure"
    )


def test_cards_that_fell_silent(cluster: Cluster) -> None:
    add_nodes(cluster, gpu_node())
    cards(cluster, card(0, duty_ratio=Absent.STALE, sampled_seconds=NOW - 90), card(1, duty_ratio=0.4))
    one = only(cluster)
    assert (one.finding, one.is_bad, one.since_seconds) == ("node-silent", False, NOW - 90)
    assert one.sentence == "1 GPU stopped reporting: the exporter or the card is gone"


def test_a_card_that_a_partial_answer_leaves_out_is_not_called_gone(cluster: Cluster) -> None:
    add_nodes(cluster, gpu_node())
    cards(cluster, card(0, duty_ratio=Absent.STALE, sampled_seconds=NOW - 90))
    partial = StreamStatus(kind=Kind.GPU, phase=Phase.LIVE, is_partial=True)
    cluster.store.apply(Batch(kind=Kind.GPU, status=partial))
    assert only(cluster).sentence == "1 GPU stopped reporting: the metrics server answered only in part"


def test_a_kind_that_may_not_be_read_is_missing_not_fine(cluster: Cluster) -> None:
    denied = StreamStatus(
        kind=Kind.EVENT, phase=Phase.DENIED, message="you cannot list events", since_seconds=5.0
    )
    cluster.store.apply(Batch(kind=Kind.EVENT, status=denied))
    one = only(cluster)
    assert (one.key, one.sentence, one.is_bad) == ("stream-denied:events", "you cannot list events", False)


def test_many_kinds_that_may_not_be_read_are_one_row_of_a_missing_role(cluster: Cluster) -> None:
    kinds = (Kind.EVENT, Kind.NODE, Kind.POD, Kind.WORKLOAD)
    for at, kind in enumerate(kinds, 1):
        words = f"you cannot list {kind}"
        denied = StreamStatus(kind=kind, phase=Phase.DENIED, message=words, since_seconds=9.0 - at)
        cluster.store.apply(Batch(kind=kind, status=denied))
        rows = [one for one in found(cluster) if one.finding == "stream-denied"]
        assert len(rows) == (at if at <= MOST_DENIED else 1)
    (row,) = rows
    assert row.sentence == "you cannot list 4 kinds: events, nodes, pods, workloads"
    assert (row.subject.name, row.since_seconds, row.is_bad) == ("rights", 5.0, False)


def test_claims_that_may_not_be_read_concern_nobody_until_something_comes_by_claim(cluster: Cluster) -> None:
    for kind in (Kind.DEVICE_SLICE, Kind.DEVICE_CLAIM):
        denied = StreamStatus(kind=kind, phase=Phase.DENIED, message=f"you cannot list {kind}")
        cluster.store.apply(Batch(kind=kind, status=denied))
    assert found(cluster) == ()
    asking = Pod(uid="p", name="p", namespace="a", traits=Traits(device_claims=("gpus",)))
    cluster.store.apply(Batch(kind=Kind.POD, changed=(asking,)))
    assert {one.key for one in found(cluster)} == {
        "stream-denied:resourceslices",
        "stream-denied:resourceclaims",
    }
    cluster.store.apply(Batch(kind=Kind.POD, removed=("p",)))
    assert found(cluster) == ()


def test_broken_goes_before_wasteful_and_larger_before_smaller(cluster: Cluster) -> None:
    idle_job(cluster)
    cards(cluster, idle_card(0, NOW - 2_000), idle_card(1, NOW - 2_000))
    add_nodes(cluster, gpu_node(gpu_allocatable=6))
    small = mpijob("small", workers=1, gpus=1, created_seconds=0.0)
    large = mpijob("large", workers=4, gpus=8, created_seconds=NOW - 800)
    cluster.put(small, large)
    told = found(cluster)
    assert [one.key for one in told] == [
        "job-waits:mpijob.kubeflow.org/team-a/small",
        "node-gpus-lost:gpu-7",
        "job-idle:mpijob.kubeflow.org/team-a/llm",
    ]
    assert (told[0].gpus, told[0].others) == (33, 1)
    assert told[0].sentence == "no controller acts on this MPIJob: is its operator running?; 1 more"


# ---- cards that wait, cards that are held down


def worked(index: int, at: float, duty: float, **fields: Any) -> Gpu:
    return msgspec.structs.replace(
        idle_card(index, at, duty), memory_used_bytes=57.0 * 2**30, memory_total_bytes=80.0 * 2**30, **fields
    )


def saw_teeth(cluster: Cluster, seconds: int, duties: tuple[float, float], **fields: Any) -> None:
    """Samples every 30 s until NOW that swing between two duties."""
    for at in range(0, seconds + 1, 30):
        now = NOW - seconds + at
        cluster.store.apply(
            Batch(
                kind=Kind.GPU, changed=tuple(worked(i, now, duties[at // 30 % 2], **fields) for i in (0, 1))
            )
        )
    cluster.put()


def test_gpus_that_are_full_and_wait_are_told_after_a_while(cluster: Cluster) -> None:
    idle_job(cluster)
    saw_teeth(cluster, 900, (0.1, 0.4))
    one = only(cluster)
    assert (one.finding, one.is_bad, one.gpus, one.since_seconds) == ("job-starved", False, 2, NOW - 900)
    assert one.sentence == "2 GPUs underutilised: duty 25% lately, memory 71% used"


@pytest.mark.parametrize(
    ("seconds", "duties", "fields"),
    [
        (480, (0.1, 0.4), {}),  # too early to tell
        (900, (0.3, 0.9), {}),  # swings, and works
        (900, (0.1, 0.4), {"mark": Mark.SHARED}),  # whose doing is it
        (900, (0.1, 0.4), {"mark": Mark.GUESSED}),
    ],
)
def test_what_is_not_called_starved(
    cluster: Cluster, seconds: int, duties: tuple[float, float], fields: dict[str, Any]
) -> None:
    idle_job(cluster)
    saw_teeth(cluster, seconds, duties, **fields)
    assert [one.finding for one in found(cluster)] == []


def test_the_mean_forgets_another_holder_and_gaps(cluster: Cluster) -> None:
    store = cluster.store
    for at, duty in ((0.0, 0.1), (100.0, 0.1)):
        store.apply(Batch(kind=Kind.GPU, changed=(worked(0, at, duty),)))
    mean = store.duty_mean("g0")
    assert mean is not None
    assert mean.ratio == pytest.approx(0.1)
    store.apply(Batch(kind=Kind.GPU, changed=(worked(0, 130.0, 0.9, pod_name="next"),)))
    assert store.duty_mean("g0") == (130.0, 130.0, 0.9)
    store.apply(Batch(kind=Kind.GPU, changed=(msgspec.structs.replace(worked(0, 130.0, 0.9), pod_name=""),)))
    assert store.duty_mean("g0") is None


def hot(index: int, celsius: float, megahertz: float = 1_980.0, **fields: Any) -> Gpu:
    return card(index, duty_ratio=0.95, temperature_celsius=celsius, sm_clock_hertz=megahertz * 1e6, **fields)


def for_a_minute(cluster: Cluster, *some: Gpu) -> None:
    """Twice the same, a minute apart: one read decides nothing."""
    for at in (NOW - 60, NOW):
        cards(cluster, *(msgspec.structs.replace(one, sampled_seconds=at) for one in some))
        assert at == NOW or found(cluster) == ()


def test_a_card_that_heat_slows_down_is_told_by_its_neighbours_clocks(cluster: Cluster) -> None:
    add_nodes(cluster, gpu_node())
    for_a_minute(cluster, hot(0, 64.0), hot(1, 66.0), hot(2, 88.0, 1_188.0))
    one = only(cluster)
    assert (one.finding, one.is_bad) == ("node-hot", False)
    assert one.sentence == (
        "GPU 2 at 88°C is slowed down, most likely by heat: 1188 MHz where its neighbours run at 1980"
    )


def test_a_card_says_itself_what_holds_it_down(cluster: Cluster) -> None:
    add_nodes(cluster, gpu_node())
    for_a_minute(cluster, hot(0, 64.0), hot(1, 86.0, throttle=0x44))
    assert only(cluster).sentence == "GPU 1 at 86°C: too hot: the hardware slows it, for 1 min"


def test_a_card_at_its_power_cap_or_warm_at_full_clock_is_well(cluster: Cluster) -> None:
    add_nodes(cluster, gpu_node())
    for_a_minute(cluster, hot(0, 64.0, throttle=0x4), hot(1, 84.0), hot(2, 60.0, 1_000.0))
    assert found(cluster) == ()


def test_very_hot_is_told_without_any_other_sign(cluster: Cluster) -> None:
    add_nodes(cluster, gpu_node())
    for_a_minute(cluster, hot(0, 93.0))
    assert only(cluster).sentence == "GPU 0 at 93°C: hot, for 1 min"


def test_a_sound_card_of_a_sick_node_names_the_node_and_the_sick_one_its_own_error(cluster: Cluster) -> None:
    add_nodes(cluster, gpu_node(gpu_allocatable=7))
    cards(cluster, card(0), card(1, xid=79))
    view = ClusterView(store=cluster.store, jobs=cluster.index, now_seconds=NOW)
    sound, sick = (explain(Subject("card", "", f"gpu-7/{index}"), view) for index in (0, 1))
    assert sound.cause == sick.cause == "gpus-unhealthy"
    assert sound.sentence.startswith("node gpu-7: 1 of 8 GPUs is unhealthy")
    assert sound.root == Subject("node", "", "gpu-7") and sound.evidence
    assert "Xid 79" in sick.sentence and "node gpu-7" not in sick.sentence and sick.root is None


# ---- a person of one namespace


SAID = (
    "0/23 nodes are available: 18 node(s) didn't match Pod's node affinity/selector, "
    "5 Insufficient nvidia.com/gpu."
)


def _bound(cluster: Cluster) -> None:
    """Pods of one namespace may be read, nodes not at all."""
    for kind, scope, phase in ((Kind.POD, "r13", Phase.LIVE), (Kind.NODE, "", Phase.DENIED)):
        status = StreamStatus(kind=kind, scope=scope, phase=phase)
        cluster.store.apply(Batch(kind=kind, scope=scope, status=status))


def test_without_the_right_to_list_nodes_the_scheduler_is_quoted_and_nothing_is_proved(
    cluster: Cluster,
) -> None:
    waits = Pod(
        uid="w0", name="bert-dp-worker-0", namespace="r13", phase="Pending", gpus=1,
        gpu_resource="nvidia.com/gpu", created_seconds=NOW - 900, scheduled="False",
        scheduled_reason="Unschedulable", scheduled_message=SAID,
    )  # fmt: skip
    cluster.put(waits)
    _bound(cluster)
    view = ClusterView(store=cluster.store, jobs=cluster.index, now_seconds=NOW)
    verdict = advised(explain(Subject("pod", waits.namespace, waits.name), view), view)
    assert verdict.sentence == (
        "needs 1 GPU: 5 nodes lack free GPUs, 18 are ruled out by the node selector; nodes are denied"
    )
    assert verdict.sureness is Sureness.SAID
    assert (verdict.funnel, verdict.changes, verdict.cause) == (None, (), "selector")
    assert "no node" not in verdict.sentence


def test_a_namespace_that_may_not_be_read_is_one_row(cluster: Cluster) -> None:
    for kind in (Kind.POD, Kind.JOB, Kind.EVENT):
        status = StreamStatus(kind=kind, scope="b", phase=Phase.DENIED)
        cluster.store.apply(Batch(kind=kind, scope="b", status=status))
    (row,) = found(cluster)
    assert (row.title, row.sentence) == ("namespace b", "you cannot list events, jobs, pods in b")
