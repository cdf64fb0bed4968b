"""A whole log of a training: where it stands, its curves, its rate without the warm-up."""

from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.jobs.progress import Patterns
from cockpit.jobs.template import load_library
from cockpit.jobs.training.curve import Curve, Point, steady
from cockpit.jobs.training.eta import eta
from cockpit.jobs.training.run import TrainingRun
from cockpit.model.log import LogSource
from tests.unit.jobs.training_logs import BEGUN, FORMATS, TAGS, TELLS_LOSS, TELLS_SAMPLES, as_lines, log

PATTERNS = Patterns(load_library().templates["mpijob"].progress)


def run_of(lines: list[tuple[float, str]]) -> TrainingRun:
    found = TrainingRun(PATTERNS)
    found.take(as_lines(lines))
    return found


@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_by_every_launcher(name: str, tag: str) -> None:
    told = log(name, seed=hash_of(name, tag), tag=tag)
    run = run_of(told.lines)
    assert run.progress.step == told.last.step
    if name in TELLS_LOSS:
        assert run.loss.last == pytest.approx(told.last.loss, rel=0.01)
        assert run.loss.values[0] > 5 * run.loss.values[-1]
    mean = run.mean_rate
    assert mean is not None
    if name in TELLS_SAMPLES:
        whole = mean.mean * (4 if run.is_rate_of_rank else 1)
        assert whole == pytest.approx(told.rate, rel=0.001), "samples/s to a tenth of a percent"
    else:
        assert mean.mean == pytest.approx(told.rate / 128, rel=0.01), "steps/s"
    assert run.restarts == 0
    if run.progress.steps and name not in ("imagenet", "lightning"):
        assert run.progress.fraction == pytest.approx(1.0)


def hash_of(*parts: str) -> int:
    return crc32("/".join(parts).encode())


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_run_that_begins_again_forgets_what_was_lost(name: str) -> None:
    told = log(name, seed=11, restart=True)
    run = run_of(told.lines)
    assert run.restarts == 1
    assert run.progress.step == told.last.step
    if name in TELLS_LOSS:
        places = [one.place for one in run.loss.points]
        assert places == sorted(places)


def test_ranks_are_told_apart_and_the_lowest_speaks() -> None:
    lines = [
        (BEGUN, "[1,3]<stdout>:progress step=10 steps=40 loss=9.0 compute_s=0.3 rank=3 size=4"),
        (BEGUN + 1, "[1,0]<stdout>:progress step=10 steps=40 loss=1.0 compute_s=0.1 rank=0 size=4"),
        (BEGUN + 2, "[1,3]<stdout>:progress step=20 steps=40 loss=8.0 compute_s=0.4 rank=3 size=4"),
        (BEGUN + 3, "[1,3]<stderr>:Traceback"),
    ]
    run = run_of(lines)
    assert (run.progress.step, run.progress.loss, run.loss.values) == (10, 1.0, (1.0,))
    assert list(run.ranks[3].computes) == [(10, 0.3), (20, 0.4)]
    assert run.ranks[3].last_line == "Traceback"
    assert run.size == 4


def test_what_a_run_says_of_itself_counts_before_what_is_reckoned() -> None:
    lines = [
        (BEGUN + n, f"progress step={n}0 steps=90 samples_per_s={100 + n} rank=0 size=1") for n in range(9)
    ]
    run = run_of([*lines, (BEGUN + 10, "ended step=90 why=done loss=0.2 samples_per_s=107.5")])
    assert run.mean_rate is not None
    assert run.mean_rate.mean == 107.5
    assert run.is_ended


def test_checkpoints_are_told_the_newest_that_is_whole() -> None:
    run = run_of([(BEGUN, "[0]<stdout>:checkpoint step=100 file=/c/checkpoint-00000100.pt")])
    assert tuple(run.checkpoints) == (100, BEGUN, "")
    why = 'why="17 bytes without an end: it was cut while it was written or copied"'
    run.take(as_lines([(BEGUN + 9, f"[0]<stdout>:refused file=/c/checkpoint-00000200.pt {why}")]))
    run.take(as_lines([(BEGUN + 9, "[0]<stdout>:resumed step=100 file=/c/checkpoint-00000100.pt")]))
    assert run.checkpoints.step == 100
    assert run.checkpoints.refused.startswith("checkpoint-00000200.pt: 17 bytes without an end: it was cut")
    run.take(as_lines([(BEGUN + 20, "[0]<stdout>:checkpoint step=200 file=/c/checkpoint-00000200.pt")]))
    assert tuple(run.checkpoints) == (200, BEGUN + 20, "")


@given(
    st.lists(st.text(max_size=80) | st.sampled_from([text for _, text in log("own", 3, restart=True).lines]))
)
@settings(deadline=None)
def test_hostile_lines_do_no_harm(lines: list[str]) -> None:
    run = run_of([(BEGUN + at, text) for at, text in enumerate(lines)])
    assert len(run.ranks) <= 1024
    assert run.progress.fraction is None or 0 <= run.progress.fraction <= 1


@given(st.lists(st.floats(0.1, 1e6), min_size=1, max_size=2000), st.sampled_from([2, 8, 256]))
@settings(deadline=None)
def test_a_curve_stays_small_and_keeps_its_mean(values: list[float], most: int) -> None:
    curve = Curve(most)
    for at, value in enumerate(values):
        curve.add((0, at), float(at), value)
    assert len(curve) <= most + 1
    assert sum(one.readings for one in curve.points) == len(values)
    assert sum(one.readings * one.value for one in curve.points) == pytest.approx(sum(values))
    assert curve.points[-1].place == (0, len(values) - 1)


def test_a_rate_is_the_work_over_the_time() -> None:
    curve = Curve(2, is_rate=True)
    for at, value in enumerate((100.0, 300.0, 100.0, 300.0, 100.0)):
        curve.add((0, at), None, value)
    assert curve.points[0].value == pytest.approx(150.0), "as long at 100 as it takes, and at 300"


def test_the_warm_up_does_not_count() -> None:
    points = [Point((0, at), None, 10.0 if at < 3 else 100.0) for at in range(20)]
    found = steady(points)
    assert found is not None
    assert (round(found.mean, 6), found.readings) == (100.0, 17)
    assert steady([]) is None


@pytest.mark.parametrize("seed", range(700, 740))
def test_the_end_is_within_the_range(seed: int) -> None:
    """Of runs with even noise: seen from a third and from two thirds of the way."""
    told = log("own", seed, noise=False, intervals=300)
    end = told.lines[-1][0]
    for part in (len(told.lines) // 3, 2 * len(told.lines) // 3):
        run = run_of(told.lines[:part])
        found = eta(run.done.points, told.lines[part - 1][0])
        assert found is not None
        assert found.from_seconds <= end <= found.to_seconds
        assert found.to_seconds - found.from_seconds < 0.25 * (end - BEGUN)


def test_a_pause_between_two_runs_is_no_part_of_its_pace() -> None:
    """Suspended for a night, and resumed by another pod: from its checkpoint on, or where it had stopped."""
    told = log("own", 12, noise=False, intervals=300)
    half, night = len(told.lines) // 2, 40_000.0
    run = run_of(told.lines[:half])
    usual = run.usual_interval_seconds
    assert usual is not None and run.restarts == 0
    later = LogSource("another pod", "team-a", "job-launcher-2", "launcher", is_leader=True)
    rest = [(at + night, text) for at, text in told.lines[half:]]
    run.take(as_lines(rest[:1], later))
    assert run.restarts == 1
    assert run.usual_interval_seconds == usual, "before two steps that of the former run"
    assert eta(run.done.points, rest[0][0]) is None, "of one step nothing can be said"
    run.take(as_lines(rest[1:120], later))
    assert run.went_on_seconds == pytest.approx(rest[0][0])
    assert run.usual_interval_seconds == pytest.approx(usual, rel=0.2)
    found = eta(run.done.points, rest[119][0])
    assert found is not None
    assert found.from_seconds <= rest[-1][0] <= found.to_seconds
    assert run.loss.points[0].at_seconds == pytest.approx(told.lines[0][0], abs=100), "its curve goes on"


def test_pods_that_write_in_turns_are_one_run() -> None:
    two = [LogSource(uid, "team-a", uid, uid) for uid in ("a", "b")]
    run = TrainingRun(PATTERNS)
    for at, (when, text) in enumerate(log("own", 4, noise=False, tag="none", intervals=40).lines):
        run.take(as_lines([(when, text.replace(" rank=0", ""))], two[at % 2]))
    assert run.restarts <= 1


def test_no_end_is_promised_where_nothing_moves() -> None:
    run = run_of(log("own", 5, noise=False).lines[:200])
    last = run.moved_seconds
    assert last is not None
    assert eta(run.done.points, last + 1) is not None
    assert eta(run.done.points, last + 3_600) is None
    assert eta(run.done.points[:2], last) is None
    assert eta((), last) is None
