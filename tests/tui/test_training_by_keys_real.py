"""The form's Horovod job by keys alone: it trains here, its loss falls; suspended, resumed, killed."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cockpit.sim import training_env
from cockpit.sim.scenarios.loading import shipped
from tests.tui.demo_leftovers import Leftovers
from tests.tui.on_the_bed import quits, until
from tests.tui.terminal import Terminal

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        training_env.ready() is None, reason="no training environment: make train-env makes it"
    ),
]
OPTIONS = (
    " --model small --samples 512 --batch 16 --seed 7 --interval 4 --epochs 1000 "
    "--checkpoints /checkpoints/keyed"
)
"""What is typed behind the command that the form has."""
FROM_LAUNCHER_TO_CHECKPOINTS = 16
_JOB = "\n  - at: 15s\n"
_LOSS = re.compile(r"loss ([0-9.]+) · from ([0-9.]+)")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """The scenario `training` from a file, its claim there and its own job left out."""
    (tmp_path / "tmp").mkdir()
    scenario = tmp_path / "mine.yaml"
    scenario.write_text(shipped()["training"].read_text().partition(_JOB)[0])
    words = ["demo", "--scenario", str(scenario), "--allow-local", "--warm", "5"]
    environment = {"TMPDIR": str(tmp_path / "tmp"), "SHELL": "/bin/sh"}
    with Terminal(tmp_path, words, environment, size=(160, 45)) as opened:
        opened.until("live")
        yield opened


def submit(terminal: Terminal) -> None:
    """`N`, the template of Horovod, its fields, and yes."""
    terminal.keys("2")
    terminal.until("State")
    terminal.keys("N")
    terminal.until("Name *")
    terminal.keys("F2")
    terminal.until("type to search")
    terminal.type("mpijob")
    terminal.until(without=("type to search",))
    terminal.keys("Enter")
    terminal.until("new mpijob", "Name *", without=("esc leave",))
    terminal.type("keyed")
    for text in ("vision", "main", None, None, None, "local/horovod", OPTIONS, None):
        terminal.keys("Tab")
        if text is not None:
            terminal.type(text)
    terminal.keys("Tab")
    terminal.keys("Right")
    terminal.until("horovodrun")
    for _ in range(FROM_LAUNCHER_TO_CHECKPOINTS):
        terminal.keys("Tab")
    terminal.type("checkpoints:/checkpoints")
    terminal.keys("C-s")
    terminal.until("Submit mpijob vision/keyed")
    terminal.keys("y")
    terminal.until("vision/keyed", "Members by rank")


def has_fallen(terminal: Terminal) -> bool:
    """Whether the page's loss is less than half of its first."""
    found = _LOSS.search(terminal.screen())
    return found is not None and float(found[1]) < 0.5 * float(found[2])


def test_the_form_s_horovod_job_trains_by_keys_alone(terminal: Terminal, tmp_path: Path) -> None:
    left = Leftovers(tmp_path)
    submit(terminal)
    terminal.until("● running", "samples/s", "loss ")
    until("the loss falls to half", lambda: has_fallen(terminal))

    terminal.keys("P")
    terminal.until("Suspend mpijob vision/keyed")
    terminal.keys("y")
    terminal.until("suspended")
    until("its processes are gone", lambda: not left.processes("/app/train.py"))
    terminal.keys("P")
    terminal.until("Resume mpijob vision/keyed")
    terminal.keys("y")
    terminal.until("● running")
    terminal.keys("l")
    terminal.until("logs of", "resumed step=")
    terminal.keys("Escape")
    terminal.until("Members by rank")

    terminal.keys("K")
    terminal.until("Kill mpijob vision/keyed")
    terminal.keys("y")
    until("its processes are gone", lambda: not left.processes("/app/train.py"))
    quits(terminal)
    assert left.found() == []
