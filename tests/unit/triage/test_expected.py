"""When a job will start: what follows from progress and past runs, and what nobody can know."""

from itertools import islice
from random import Random

import pytest

from cockpit.model.remembered import PastRun
from cockpit.triage.expected import InLine, Moment, RunHistory, RunningJob, estimate
from tests.unit.triage.waits.loads import LOADS
from tests.unit.triage.waits.play import Play
from tests.unit.triage.waits.score import interval_score, past_quantiles, score

NOW = 1_800_000_000.0


def runs(count: int, seconds: float, shape: str = "asr") -> RunHistory:
    """So many alike runs that took about so long, the last of them a day ago."""
    past = [
        PastRun(shape, 1, 8, NOW - 86_400.0 * (2 + number), NOW - 86_400.0 * (2 + number), seconds + number)
        for number in range(count)
    ]
    return RunHistory(runs=tuple(past))


def full(progress: float | None, coming: tuple[float, ...] = ()) -> Moment:
    """One node whose GPUs one job has, and one job in line."""
    holder = RunningJob("asr", ((0, 8),), 1_000.0, progress)
    line = (InLine("asr", 1, 8),)
    return Moment(now_seconds=NOW, free=(0,), holders=(holder,), line=line, at=0, coming=coming)


def test_progress_alone_tells_the_end_of_what_is_in_front() -> None:
    found = estimate(full(0.5), RunHistory(), Random(1))
    assert found.from_seconds is not None and found.to_seconds is not None
    assert found.from_seconds - NOW < 1_000.0 < found.to_seconds - NOW
    assert found.to_seconds - NOW < 2_500.0
    assert found.why == "from 1 running job"


def test_past_runs_of_the_same_shape_tell_it_too() -> None:
    found = estimate(full(None), runs(20, 3_000.0), Random(1))
    assert found.from_seconds is not None and found.to_seconds is not None
    assert found.from_seconds - NOW < 2_010.0 < found.to_seconds - NOW
    assert found.why == "from 1 running job and 20 past runs"


def test_without_either_it_is_unknown_and_says_why() -> None:
    found = estimate(full(None), runs(3, 3_000.0), Random(1))
    assert (found.from_seconds, found.to_seconds) == (None, None)
    assert found.why == "unknown: needs at least 12 finished runs, has 3"


def test_what_fits_no_node_is_not_given_a_time() -> None:
    moment = Moment(now_seconds=NOW, free=(4,), holders=(), line=(InLine("asr", 1, 8),), at=0)
    assert estimate(moment, runs(20, 60.0), Random(1)).why == "unknown: no node has 8 GPUs"


def test_a_machine_that_comes_is_counted() -> None:
    growing = full(None, coming=(100.0,))
    history = runs(20, 90_000.0)
    late = estimate(full(None), history, Random(1))
    soon = estimate(growing, RunHistory(runs=history.runs, growths=(400.0, 500.0, 450.0)), Random(1))
    assert soon.to_seconds is not None and late.from_seconds is not None
    assert soon.to_seconds - NOW < 1_000.0 < late.from_seconds - NOW


def test_the_same_seed_says_the_same() -> None:
    assert estimate(full(0.5), runs(20, 60.0), Random(7)) == estimate(full(0.5), runs(20, 60.0), Random(7))


def test_the_interval_score_is_that_of_gneiting_and_raftery() -> None:
    assert interval_score(10, 20, 15) == 10
    assert interval_score(10, 20, 25) == pytest.approx(10 + 10 * 5)
    assert past_quantiles([float(one) for one in range(11)]) == (1.0, 9.0)


@pytest.mark.parametrize("number", (0, 1))
def test_the_ranges_hold_on_each_load(number: int) -> None:
    """A part of what `python -m tests.unit.triage.waits` shows of 2,000 looks: neighbours in a line have
    much in common, so every twelfth."""
    found = score(islice(Play(LOADS[number], 11).looks(600), 0, None, 12))
    assert found.looks == 50
    assert found.unknown <= 1 / 3
    assert found.inside >= 0.8
    assert found.gain >= 0.1


def test_the_estimator_never_sees_how_long_a_job_will_run() -> None:
    """Two clusters alike but for what running jobs have left read the same."""
    for look in Play(LOADS[0], 3).looks(5):
        told = {field for one in look.moment.holders for field in one._fields}
        assert told == {"shape", "seats", "elapsed_seconds", "progress"}
        assert all(one.ran_seconds is None or one.ran_seconds > 0 for one in look.history.runs)
