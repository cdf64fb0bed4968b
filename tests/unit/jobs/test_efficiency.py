"""Scaling efficiency and overhead out of logs, and the record that is kept of a run."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.commands.efficiency import lines, remarks, sentences
from cockpit.errors import BadInput
from cockpit.jobs.progress import Patterns
from cockpit.jobs.template import load_library
from cockpit.jobs.training.efficiency import compared, gpu_hours_per_million
from cockpit.jobs.training.record import LARGEST_BYTES, RunRecord, decoded, encoded, record_of
from cockpit.jobs.training.run import TrainingRun
from cockpit.jobs.training.start import StartTime
from cockpit.views.timeline import efficiency_words
from tests.unit.jobs.training_logs import BEGUN, TELLS_SAMPLES, as_lines, log
from tests.unit.views.builders import job

PATTERNS = Patterns(load_library().templates["mpijob"].progress)


def record(
    name: str, form: str, rate: float, gpus: int, seed: int, **more: object
) -> tuple[RunRecord, float]:
    """What is read of a generated log, and the rate that the log really had."""
    told = log(form, seed, rate=rate, size=gpus, **more)  # type: ignore[arg-type]
    run = TrainingRun(PATTERNS)
    run.take(as_lines(told.lines))
    return record_of(run, job(name, gpus_allocated=gpus, nodes=("n",)), BEGUN), told.rate


@pytest.mark.parametrize("form", sorted(TELLS_SAMPLES))
def test_scaling_efficiency_to_a_tenth_of_a_point(form: str) -> None:
    """64 GPUs at 90 % of 64 times one."""
    one, one_rate = record("one", form, 210.0, 1, 31)
    many, many_rate = record("many", form, 0.9 * 64 * 210.0, 64, 31)
    found = compared(one, many)
    assert 100 * found.efficiency == pytest.approx(100 * many_rate / one_rate / 64, abs=0.1)
    assert 100 * found.efficiency == pytest.approx(90.0, abs=0.1)
    assert found.overhead is None
    (said,) = sentences(one, many, found)
    assert said.startswith(
        f"scaling efficiency {100 * found.efficiency:.1f} % of team-a/many against team-a/one"
    )
    assert said.endswith("64 GPUs against 1 (57.60 times as fast)")


def plain_record(**more: object) -> RunRecord:
    fields: dict[str, object] = {
        "uid": "u", "namespace": "team-a", "name": "n", "kind": "MPIJob", "gpus": 8, "nodes": 1,
        "at_seconds": BEGUN, "ranks": 8, "rate": 2000.0, "unit": "samples/s",
    }  # fmt: skip
    return RunRecord(**{**fields, **more})  # type: ignore[arg-type]


def test_what_a_million_samples_cost() -> None:
    assert gpu_hours_per_million(plain_record()) == pytest.approx(8 * 500 / 3600)
    assert gpu_hours_per_million(plain_record(gpus=0)) is None
    assert gpu_hours_per_million(plain_record(rate=None)) is None
    table = lines(
        plain_record(name="a", gpus=1, rate=275.0), plain_record(), compared(plain_record(), plain_record())
    )
    assert table[1].split() == ["GPUs", "1", "8"]
    assert "GPU-hours per million samples" in table[4] and table[4].split()[-1] == "1.11"


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"rate": None}, "reported no throughput yet"),
        ({"unit": "tokens/s"}, "compare runs of one program"),
        ({"gpus": 0}, "ran without GPUs"),
    ],
)
def test_what_cannot_be_compared_is_refused(other: dict[str, object], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        compared(plain_record(), plain_record(**other))


def test_runs_without_gpus_are_compared_by_ranks() -> None:
    two = plain_record(gpus=0, ranks=2, rate=150.0)
    assert compared(plain_record(gpus=0, ranks=1, rate=100.0), two).efficiency == pytest.approx(0.75)


def test_what_is_taken_for_granted_is_said() -> None:
    assert remarks([plain_record()]) == []
    (said,) = remarks([plain_record(is_rate_assumed=True)])
    assert "does not show whether samples/s are of one rank or of all" in said


def test_a_record_stays_small_and_comes_back_whole() -> None:
    run = TrainingRun(PATTERNS)
    run.take(as_lines(log("own", 5).lines))
    made = record_of(
        run, job("x" * 200, gpus_wanted=4), BEGUN, StartTime(52.0, {"queue": 2.0, "first step": 50.0})
    )
    text = encoded(made)
    assert len(text) <= LARGEST_BYTES
    assert decoded(text) == made
    large = msgspec.structs.replace(made, start_parts={f"part {n}": 1.0 for n in range(500)})
    assert len(encoded(large)) <= LARGEST_BYTES


@given(st.binary(max_size=300) | st.text(max_size=300))
def test_what_is_no_record_is_passed_over(text: bytes | str) -> None:
    assert decoded(text) is None


def test_names_in_a_record_are_cleaned() -> None:
    found = decoded(msgspec.json.encode(plain_record(name="a\x1b[31mb")))
    assert found is not None
    assert "\x1b" not in found.name


def test_the_page_finds_the_alike_run_on_the_fewest_gpus() -> None:
    run = plain_record(name="resnet-64", gpus=64, rate=11_520.0)
    known = [
        plain_record(name="resnet-8", gpus=8, rate=1_500.0),
        plain_record(name="resnet-1", gpus=1, rate=200.0, at_seconds=BEGUN + 1),
        plain_record(name="resnet-1gpu", gpus=1, rate=100.0),
        plain_record(name="resnet-2", gpus=1, rate=300.0, namespace="team-b"),
        plain_record(name="vgg-1", gpus=1, rate=300.0),
        plain_record(name="resnet-0", gpus=1, rate=300.0, unit="tokens/s", at_seconds=BEGUN + 9),
    ]
    assert efficiency_words(run, known) == "efficiency 90% of resnet-1 (1 GPU)"
    assert efficiency_words(run, known[3:]) == ""
