"""The line in front of a job, from objects."""

import msgspec
import pytest

from cockpit.model.finding import Subject
from cockpit.model.record import Kind
from cockpit.model.remembered import PastRun
from cockpit.triage.advice import advised
from cockpit.triage.engine import explain
from cockpit.triage.expected import RunHistory
from cockpit.triage.expected_start import (
    MachinesComing,
    UsableQuota,
    expected_start,
    machines_coming,
    quota_of,
    runs_seen,
    shape_name,
)
from cockpit.triage.wanted import Holdup, wanted_of
from tests.unit.triage.changes.test_changes import queued, queues, workload
from tests.unit.triage.objects import NOW, NVIDIA, PRODUCT, Tree, job, node, pods_of, view_of

WAITS = Subject("job", "team-a", "waits")


def past(seconds: float) -> RunHistory:
    shape = shape_name("team-a", "x-1", 8)
    day_ago = NOW - 90_000.0
    ran = [PastRun(shape, 1, 8, day_ago, day_ago, seconds + at, f"gone-{at}") for at in range(20)]
    return RunHistory(runs=tuple(ran))


def test_alike_jobs_share_a_shape() -> None:
    assert shape_name("a", "sweep-17", 8) == shape_name("a", "sweep-2", 8) == "a/sweep/8"
    assert shape_name("a", "llm", 8) != shape_name("b", "llm", 8)


def test_a_job_waits_for_the_one_that_runs() -> None:
    holds, waits = job("x-7", 1, 8), job("waits", 1, 8)
    view = view_of([node("a"), holds, *pods_of(holds, ("a",)), waits, *pods_of(waits)])
    started = view.store.pods_on("a")[0].started_seconds
    assert started is not None
    elapsed = NOW - started
    found = expected_start(WAITS, view, past(elapsed + 1_800.0))
    assert found is not None and found.from_seconds is not None and found.to_seconds is not None
    assert found.from_seconds - NOW < 1_800.0 < found.to_seconds - NOW < 3_600.0
    unknown = expected_start(WAITS, view, RunHistory())
    assert unknown is not None and unknown.from_seconds is None
    assert unknown.why.startswith("unknown: needs at least 12 finished runs, has 0")
    telling = msgspec.structs.replace(view, progress={"job.batch/team-a/x-7": 0.9})
    told = expected_start(WAITS, telling, RunHistory())
    assert told is not None and told.from_seconds is not None


def test_who_asks_for_no_gpu_or_finds_no_node_gets_no_time() -> None:
    waits = job("waits", 1, 8)
    view = view_of([node("a", 4), waits, *pods_of(waits)])
    found = expected_start(WAITS, view, past(60.0))
    assert found is not None
    assert found.why == "unknown: no node would take it"
    cpu = job("waits", 1, 0)
    assert expected_start(WAITS, view_of([node("a"), cpu, *pods_of(cpu)]), past(60.0)) is None


def test_a_job_that_waits_for_quota_starts_when_quota_comes_back_though_nodes_are_free() -> None:
    holds = job("x", 1, 4)
    holds["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "research-lq"}
    run = [holds, *pods_of(holds, ("a",)), workload(holds, "research-lq", admitted_by="research")]
    view = view_of([node("a"), node("b"), *queues(8, 4), *run, *queued()])
    started = view.store.pods_on("a")[0].started_seconds
    assert started is not None
    found = expected_start(WAITS, view, past(NOW - started + 1_800.0))
    assert found is not None and found.from_seconds is not None and found.to_seconds is not None
    assert found.from_seconds - NOW > 900.0
    assert found.to_seconds - NOW > 1_800.0
    larger = view_of([node("a", 16), node("b"), *queues(8, 4), *run, *queued(16)])
    unknown = expected_start(WAITS, larger, past(60.0))
    assert unknown is not None
    assert unknown.why == "unknown: it asks for 16 GPUs, its queue can hold 8 at most"


def cohort(
    *members: tuple[str, int, int], lends: int | None = None, borrows: int | None = None
) -> list[Tree]:
    """Queues of one cohort: (name, nominal, used)."""
    found = []
    for name, nominal, used in members:
        some = queues(nominal, used, name=name)
        some[0]["spec"]["cohort"] = "site"
        amount = some[0]["spec"]["resourceGroups"][0]["flavors"][0]["resources"][1]
        if lends is not None and name != "research":
            amount["lendingLimit"] = str(lends)
        if borrows is not None:
            amount["borrowingLimit"] = str(borrows)
        found += some
    return found


@pytest.mark.parametrize(
    ("lends", "borrows", "quota"),
    [
        (None, None, UsableQuota(8 + 8, 24)),  # 8 of its own 8 free, 16 lent of which 8 are used
        (None, 4, UsableQuota(8 + 4, 12)),
        (None, 0, UsableQuota(8, 8)),
        (4, None, UsableQuota(8, 12)),  # the other keeps 12 and uses 8 of these: 4 to lend, none used
    ],
)
def test_quota_with_what_the_cohort_lends(lends: int | None, borrows: int | None, quota: UsableQuota) -> None:
    view = view_of(cohort(("research", 8, 0), ("product", 16, 8), lends=lends, borrows=borrows))
    every = tuple(view.store.records(Kind.CLUSTER_QUEUE).values())
    mine = next(one for one in every if one.name == "research")
    free = quota._replace(free=8 + 4) if lends == 4 else quota
    assert quota_of(mine, NVIDIA, view.store) == free


def test_a_job_of_another_queue_that_borrows_is_waited_for() -> None:
    holds = job("x", 1, 8)
    holds["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "product-lq"}
    run = [holds, *pods_of(holds, ("a",)), workload(holds, "product-lq", admitted_by="product")]
    view = view_of([node("a"), node("b"), *cohort(("research", 8, 0), ("product", 0, 8)), *run, *queued()])
    started = view.store.pods_on("a")[0].started_seconds
    assert started is not None
    found = expected_start(WAITS, view, past(NOW - started + 1_800.0))
    assert found is not None and found.from_seconds is not None and found.to_seconds is not None
    assert found.from_seconds - NOW > 900.0 and found.to_seconds - NOW > 1_800.0
    alone = view_of([node("a"), node("b"), *cohort(("research", 8, 0), ("product", 0, 8), borrows=0), *run])
    every = tuple(alone.store.records(Kind.CLUSTER_QUEUE).values())
    mine = next(one for one in every if one.name == "research")
    assert quota_of(mine, NVIDIA, alone.store) == UsableQuota(0, 8)


def test_jobs_that_this_host_saw_end_count_though_their_objects_are_gone() -> None:
    holds, waits = job("x-7", 1, 8), job("waits", 1, 8)
    view = view_of([node("a"), holds, *pods_of(holds, ("a",)), waits, *pods_of(waits)])
    assert len(runs_seen(view).runs) == 2
    remembering = msgspec.structs.replace(view, past=past(60.0).runs)
    assert len(runs_seen(remembering).runs) == 22
    again = msgspec.structs.replace(
        remembering, past=(*remembering.past, PastRun("team-a/x/8", 1, 8, NOW, NOW, 60.0, "team-a-x-7"))
    )
    assert runs_seen(again) == runs_seen(remembering), "an object that is there tells for itself"
    found = expected_start(WAITS, remembering, runs_seen(remembering))
    assert found is not None and found.from_seconds is not None and found.why.endswith("20 past runs")


def test_machines_on_their_way_are_counted_where_others_were_seen_to_come() -> None:
    holds, waits = job("x-7", 1, 8), job("waits", 1, 8)
    pool = {"pool": "h100", PRODUCT: "H100", "nvidia.com/gpu.count": "8"}
    came, coming = node("a", labels=pool), node("b", 0, labels=pool)
    came["metadata"]["creationTimestamp"] = "2027-01-15T07:00:30Z"  # for the pod that was made at 07:00
    coming["metadata"]["creationTimestamp"] = "2027-01-15T07:58:00Z"
    view = view_of([came, coming, holds, *pods_of(holds, ("a",)), waits, *pods_of(waits)])
    names = {one.pool for one in view.store.records(Kind.NODE).values()}
    found = machines_coming(view.store, names, NOW)
    assert found.growths == (60.0,), "from the pod that was made to the pod that started"
    assert found.ages == (30.0 + 120.0,)
    assert machines_coming(view.store, {""}, NOW) == MachinesComing()


def test_of_a_member_the_gang_decides_when_it_starts() -> None:
    holds, waits = job("x-7", 1, 8), job("waits", 2, 8)
    members = pods_of(waits)
    for one in members:
        one["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] = "ring"
    view = view_of([node("a"), node("b"), holds, *pods_of(holds, ("a",)), waits, *members])
    view = msgspec.structs.replace(view, past=past(7_200.0).runs)
    whole = advised(explain(WAITS, view), view)
    member = advised(explain(Subject("pod", "team-a", "waits-0"), view), view)
    assert member.subject.kind == "pod"
    assert whole.expected is not None and whole.expected.from_seconds is not None
    assert member.expected == whole.expected, "one of its pods alone would find room on b"
    assert member.changes == whole.changes != ()


def test_what_neither_seats_nor_quota_hold_gets_no_time() -> None:
    waits = job("waits", 1, 8)
    roomy = view_of([node("a"), waits, *pods_of(waits)])
    found = expected_start(WAITS, roomy, past(60.0))
    assert found is not None
    assert (found.from_seconds, found.why) == (None, "unknown: there is room for it, something else holds it")
    waits = job("waits", 1, 8)
    waits["spec"]["suspend"] = True
    asleep = view_of([node("a"), waits])
    wanted = wanted_of(WAITS, asleep)
    assert wanted is not None and wanted.holdup is Holdup.SUSPENDED
    found = expected_start(WAITS, asleep, past(60.0))
    assert found is not None and found.why == "unknown: it has to be resumed"
