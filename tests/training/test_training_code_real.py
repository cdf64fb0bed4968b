"""The training code really trains: two ranks of Horovod on Gloo, two of torchrun, on this machine."""

import json
import math
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import checkpoints
import cifar
import pytest

from cockpit.sim import training_env
from tests.training.runs import TrainingRun

pytestmark = pytest.mark.real

Start = Callable[..., TrainingRun]
TWO = ("horovodrun", "--gloo", "-np", "2", "--network-interfaces", "lo", "python")
SMALL = ("--model", "small", "--samples", "2048", "--batch", "16", "--lr", "0.05", "--warmup", "20")
GRADIENTS = str(Path(__file__).with_name("gradients.py"))
NOTICES = str(Path(__file__).with_name("notices.py"))


@pytest.fixture(scope="module")
def programs() -> Path:
    """The programs of the training environment, which is made here on a machine that has none yet."""
    return training_env.make(print)


@pytest.fixture
def start(programs: Path) -> Iterator[Start]:
    with ExitStack() as stack:
        yield lambda *command: stack.enter_context(TrainingRun(programs, command))


def done(run: TrainingRun) -> list[dict[str, str]]:
    """Its lines of progress of rank 0; fails with all that it said where it did not end well."""
    assert run.end() == 0, "\n".join(run.lines)
    return [one for one in run.events("progress") if one["rank"] == "0"]


def test_two_ranks_come_to_the_gradients_of_one(start: Start, tmp_path: Path) -> None:
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    runs = start("python", GRADIENTS, str(one)), start(*TWO, GRADIENTS, str(two))
    for run in runs:
        assert run.end() == 0, "\n".join(run.lines)
    alone, together = json.loads(one.read_text()), json.loads(two.read_text())
    assert (alone["size"], together["size"]) == (1, 2)
    for name, wanted in alone["gradients"].items():
        apart = math.dist(wanted, together["gradients"][name])
        assert math.hypot(*wanted) > 0
        assert apart <= 1e-6 * math.hypot(*wanted), name


def test_the_loss_falls_to_less_than_half_and_is_told_twice(start: Start, tmp_path: Path) -> None:
    run = start(*TWO, "train.py", *SMALL, "--steps", "160", "--tensorboard", str(tmp_path))
    progress = done(run)
    assert [int(one["step"]) for one in progress] == list(range(10, 161, 10))
    assert float(progress[-1]["loss"]) < float(progress[0]["loss"]) / 2
    assert {(one["rank"], one["size"]) for one in run.events("progress")} == {("0", "2"), ("1", "2")}
    for one in run.events("progress"):
        assert 0 < float(one["compute_s"]) <= float(one["seconds_per_step"])
    for one in progress:
        rate = float(one["samples_per_s"]) * float(one["seconds_per_step"])
        assert rate == pytest.approx(2 * 16, rel=1e-3)
    assert run.events("data") == [{"set": "synthetic", "samples": "2048", "why": "no folder was named"}]
    assert run.events("ended")[0]["why"] == "done"
    read = (
        "import sys; from tensorboard.backend.event_processing import event_accumulator as reading;"
        "e = reading.EventAccumulator(sys.argv[1]); e.Reload();"
        "print('points', *(f'at={p.step} loss={p.value:.5g}'"
        " for p in e.Scalars('loss')[-1:]))"
    )
    points = start("python", "-c", read, str(tmp_path))
    assert points.end() == 0
    assert points.events("points") == [{"at": "160", "loss": progress[-1]["loss"]}]
    assert run.all_end()


def test_a_checkpoint_cut_in_half_is_refused_and_the_one_before_is_used(start: Start, tmp_path: Path) -> None:
    kept = ("--checkpoints", str(tmp_path), "--checkpoint-every", "10")
    done(start(*TWO, "train.py", *SMALL, *kept, "--steps", "20"))
    newest, before = checkpoints.found(tmp_path)
    newest.write_bytes(newest.read_bytes()[: newest.stat().st_size // 2])
    run = start(*TWO, "train.py", *SMALL, *kept, "--steps", "30")
    progress = done(run)
    refused = run.events("refused")
    assert [one["file"] for one in refused] == [str(newest)]
    assert "it was cut" in refused[0]["why"]
    assert run.events("resumed") == [{"step": "10", "file": str(before)}]
    assert [one["step"] for one in progress] == ["20", "30"]


@pytest.mark.parametrize(
    "launcher",
    [
        (*TWO, "train.py", *SMALL, "--epochs", "100000"),
        ("torchrun", "--standalone", "--nproc-per-node", "2", "language_model.py", "--batch", "4"),
    ],
    ids=["horovodrun", "torchrun"],
)
def test_a_stop_writes_a_checkpoint_from_which_it_goes_on(
    start: Start, tmp_path: Path, launcher: tuple[str, ...]
) -> None:
    kept = ("--checkpoints", str(tmp_path), "--checkpoint-every", "100000", "--interval", "5")
    run = start(*launcher, *kept, "--steps", "100000", "--pace", "0.02")
    run.wait_for("progress", lambda one: int(one["step"]) >= 10)
    run.process.send_signal(signal.SIGTERM)
    assert run.end() != 0
    step = run.events("ended")[0]["step"]
    assert run.events("ended")[0]["why"] == "stopped"
    assert [path.name for path in checkpoints.found(tmp_path)] == [
        checkpoints.path_of(tmp_path, int(step)).name
    ]
    assert run.all_end()
    again = start(*launcher, *kept, "--steps", str(int(step) + 7))
    progress = done(again)
    assert again.events("resumed")[0]["step"] == step
    assert progress[-1]["step"] == str(int(step) + 7)
    assert all(int(one["step"]) > int(step) for one in progress)


def test_an_elastic_job_grows_from_two_ranks_to_four(start: Start, tmp_path: Path) -> None:
    slots, discover = tmp_path / "slots", tmp_path / "discover_hosts.sh"
    slots.write_text("localhost:2\n")
    discover.write_text(f"#!/bin/sh\ncat {slots}\n")
    discover.chmod(0o755)
    run = start(
        *("horovodrun", "--gloo", "--network-interfaces", "lo", "-np", "2", "--min-np", "2", "--max-np", "4"),
        *("--host-discovery-script", str(discover), "--blacklist-cooldown-range", "10", "120"),
        *("python", "train.py", *SMALL),
        *("--steps", "100000", "--pace", "0.05", "--checkpoints", str(tmp_path / "kept")),
    )
    small = run.wait_for("progress", lambda one: one["rank"] == "0" and one["size"] == "2")
    half = tmp_path / "half"
    half.write_text("localhost:4\n")
    half.replace(slots)
    large = run.wait_for("progress", lambda one: one["rank"] == "0" and one["size"] == "4")
    run.wait_for("progress", lambda one: one["rank"] == "3")
    assert int(large["step"]) > int(small["step"])
    resized = run.events("resized")
    assert [(one["before"], one["size"]) for one in resized] == [("2", "4")]
    assert run.events("resumed") == []
    run.process.send_signal(signal.SIGTERM)
    run.end()
    assert run.all_end()


def test_no_notice_of_a_new_host_is_lost(start: Start) -> None:
    run = start("python", NOTICES)
    assert run.end() == 0, "\n".join(run.lines)
    heard = {one["of"]: one["heard"] for one in run.events("notice")}
    assert heard == {"first": "1", "same-second": "1", "exchange": "1", "none": "0"}


def test_the_language_model_learns_with_torchrun(start: Start) -> None:
    run = start(
        *("torchrun", "--standalone", "--nproc-per-node", "2", "language_model.py"),
        *("--batch", "8", "--steps", "60"),
    )
    progress = done(run)
    assert float(progress[-1]["loss"]) < float(progress[0]["loss"]) / 1.4
    assert {one["rank"] for one in run.events("progress")} == {"0", "1"}


def test_the_benchmark_tells_mean_and_deviation_without_the_warm_up(start: Start) -> None:
    run = start(
        *(*TWO, "benchmark.py", "--model", "small", "--batch", "8"),
        *("--warmup-batches", "2", "--batches", "3", "--measurements", "4"),
    )
    progress = done(run)
    assert len(progress) == 4
    rates = [float(line.split()[2]) for line in run.lines if line.startswith("Iter #")]
    own = next(line for line in run.lines if line.startswith("Img/sec per CPU:")).split()
    total = next(line for line in run.lines if line.startswith("Total img/sec on 2 CPU(s):")).split()
    assert len(rates) == 4
    assert float(own[3]) == pytest.approx(sum(rates) / 4, abs=0.2)
    assert float(total[5]) == pytest.approx(2 * float(own[3]), abs=0.2)
    assert total[6].startswith("+-")


def test_a_data_set_that_is_not_there_ends_the_job_with_a_sentence(start: Start, tmp_path: Path) -> None:
    run = start(*TWO, "train.py", *SMALL, "--data", str(tmp_path / "none"))
    assert run.end() != 0
    assert f"data: {tmp_path / 'none'} is no folder: mount the claim there, or leave --data out" in run.lines
    assert run.all_end()


def test_the_files_of_cifar_10_are_trained_on(start: Start, tmp_path: Path) -> None:
    row = bytes(range(256)) * (cifar.PIXELS // 256)
    for name in (*cifar.TRAINING, *cifar.TEST):
        (tmp_path / f"{name}.bin").write_bytes(b"".join(bytes([label]) + row for label in range(10)) * 10)
    run = start(*TWO, "train.py", "--model", "small", "--data", str(tmp_path), "--epochs", "1")
    done(run)
    assert run.events("data") == [{"set": "cifar-10", "samples": "500"}]
    assert len(run.events("validated")) == 1
