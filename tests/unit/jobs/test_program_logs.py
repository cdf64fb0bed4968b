"""What is read of the logs of some eighty programs, by example.

`python -m tests.unit.jobs.test_program_logs` writes the page of the documentation that says so.
"""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from cockpit.jobs.progress import Patterns
from cockpit.jobs.template import load_library
from cockpit.jobs.training.formats import formats
from cockpit.jobs.training.run import TrainingRun
from cockpit.kube.log_lines import Cutter
from cockpit.model.log import LogLine
from tests.unit.jobs.training_logs import BEGUN, LAUNCHER

PATTERNS = Patterns(load_library().templates["mpijob"].progress)
_FILE = Path(__file__).with_name("program_logs.toml")
LOGS: list[dict[str, Any]] = tomllib.loads(_FILE.read_text("utf-8"))["log"]
PAGE = Path(__file__).resolve().parents[3] / "docs" / "training-logs.md"
_COLUMNS = {"step": "step", "steps": "of", "epoch": "epoch", "loss": "loss", "rate": "rate", "unit": "unit"}


def run_of(text: bytes) -> TrainingRun:
    """A run as the bytes of its pod tell it, a line a second."""
    run, cutter = TrainingRun(PATTERNS), Cutter()
    pieces = [*cutter.feed(text), *cutter.end()]
    run.take(
        LogLine(LAUNCHER, piece.text, int((BEGUN + at) * 1e9), overwritten=piece.overwritten)
        for at, piece in enumerate(pieces)
    )
    return run


@pytest.mark.parametrize("log", LOGS, ids=[f"{at} {log['program']}" for at, log in enumerate(LOGS)])
def test_what_a_program_writes_is_read(log: dict[str, Any]) -> None:
    run = run_of(log["text"].encode())
    now, wanted = (
        run.progress,
        {"step": None, "steps": None, "epoch": None, "epochs": None, "loss": None, **log},
    )
    found = {name: getattr(now, name) for name in wanted if hasattr(now, name)}
    assert found == {
        name: value if value is None else pytest.approx(value, rel=2e-3)
        for name, value in wanted.items()
        if name in found
    }
    if "rate" in log or "mean_rate" not in log:
        assert now.rate == log.get("rate")
    if "unit" in log:
        assert run.mean_unit == log["unit"]
    if "mean_rate" in log:
        assert run.mean_rate is not None and run.mean_rate.mean == log["mean_rate"]
    assert run.restarts == 0


def _trainer(steps: int, every: int, evaluated: bool) -> bytes:
    """What a Trainer writes to a pipe: bar and dict share a line, an evaluation has its bar below."""
    out = ""
    for step in range(every, steps + 1, every):
        bar = f" {step * 100 // steps:3d}%|####      | {step}/{steps} [00:10<00:20,  2.00it/s]"
        out += f"\r{bar}\r{' ' * 50}\r{{'loss': {3 - step / 30:.4f}, 'epoch': {step / 20}}}\n"
        if evaluated and step % 20 == 0:
            out += f"\r{bar}\n\r  0%|          | 0/8 [00:00<?, ?it/s]\x1b[A\n"
            out += "\r 62%|######    | 5/8 [00:00<00:00, 49.74it/s]\x1b[A\n"
            out += f"\r{' ' * 40}\x1b[A\r{' ' * 50}\r{{'eval_loss': 9.99, 'epoch': {step / 20}}}\n"
    return out.encode()


@pytest.mark.parametrize("evaluated", [False, True])
@pytest.mark.parametrize("steps", [60, 50])
def test_bars_that_were_overwritten_are_read_and_an_evaluation_is_not(steps: int, evaluated: bool) -> None:
    run = run_of(_trainer(steps, 10, evaluated))
    assert (run.progress.step, run.progress.steps, run.restarts) == (steps, steps, 0)
    assert run.progress.loss == pytest.approx(3 - steps / 30, abs=1e-4)
    assert len(run.loss) == steps // 10


def test_a_validation_after_the_last_step_is_none_of_the_run() -> None:
    end = (
        b"\r100%|##########| 60/60 [00:30<00:00,  2.00it/s]\n\r 25%|##        | 2/8 [00:00<00:00, 9.9it/s]\n"
    )
    run = run_of(_trainer(60, 10, False) + end)
    assert (run.progress.step, run.progress.steps) == (60, 60)


def test_a_bar_before_the_run_gives_way_to_the_run() -> None:
    before = b"100%|##########| 4/4 [00:01<00:00, 4.0it/s]\n"
    run = run_of(before + _trainer(60, 10, False))
    assert (run.progress.step, run.progress.steps, run.restarts) == (60, 60, 0)


def test_every_format_is_read_somewhere() -> None:
    """A format that no log shows would be one that nobody tried."""
    text = "\n".join(log["text"].replace("\t", " ") for log in LOGS)
    lines = [line for line in text.splitlines() if line.strip()]
    unseen = [
        f"{item.program}: {item.pattern[:50]}"
        for item, pattern in formats().lines
        if not any(pattern.search(line) for line in lines)
    ]
    assert unseen == []


def page() -> str:
    """The page: a row a log, with what is read of it."""
    rows = []
    for log in LOGS:
        told = {**log, "rate": log.get("rate", log.get("mean_rate", ""))}
        rows.append(
            f"| {log['program']} | " + " | ".join(str(told.get(name, "")) for name in _COLUMNS) + " |"
        )
    head = ["program", *_COLUMNS.values()]
    return (
        "# Training logs that are read\n\n"
        "What the cockpit reads at the end of each example log of the tests. An empty cell is not read: the\n"
        "log does not tell it, or it could be read in two ways. Validation is never read as training. Made\n"
        "by `python -m tests.unit.jobs.test_program_logs`.\n\n"
        f"| {' | '.join(head)} |\n|{' --- |' * len(head)}\n" + "\n".join(rows) + "\n"
    )


def test_the_page_is_current() -> None:
    assert PAGE.read_text("utf-8") == page(), "run `python -m tests.unit.jobs.test_program_logs`"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
