"""The line in front of a job, from objects."""

from cockpit.triage.expected import PastRun, RunHistory
from cockpit.triage.expected_start import expected_start, shape_name
from cockpit.triage.verdict import Subject
from cockpit.triage.wanted import Holdup, wanted_of
from tests.unit.triage.changes.test_changes import queued, queues, workload
from tests.unit.triage.objects import NOW, job, node, pods_of, view_of

WAITS = Subject("job", "team-a", "waits")


def past(seconds: float) -> RunHistory:
    shape = shape_name("team-a", "x-1", 8)
    ran = [PastRun(shape, 1, 8, NOW - 90_000.0, NOW - 90_000.0, seconds + at) for at in range(20)]
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
    assert unknown.why.startswith("unknown: only 0 past runs")
    told = expected_start(WAITS, view, RunHistory(), {"job.batch/team-a/x-7": 0.9})
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
    assert unknown.why == "unknown: it asks for 16 GPUs, its queue has 8 unused or in use"


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
    assert found is not None and found.why == "unknown: somebody has to resume it"
