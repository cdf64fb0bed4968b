"""The form's training jobs by keys alone: they train, their page tells it; suspended, resumed, killed."""

import json
import os
import re
import signal
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from cockpit.jobs.template import load_library
from cockpit.sim import training_env
from cockpit.sim.scenarios.loading import shipped
from tests.tui.demo_leftovers import Leftovers
from tests.tui.form_keys import fill
from tests.tui.on_the_bed import quits, until
from tests.tui.terminal import Terminal

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        training_env.ready() is None, reason="no training environment: make train-env makes it"
    ),
]
SECONDS = 300.0
"""For what a loaded machine does in a tenth of it."""
FORM = {"namespace": "vision", "queue": "main", "image": "local/horovod"}
HOROVOD = (
    "python /app/train.py --model small --samples 512 --batch 16 --seed 7 --interval 4 --epochs 1000 "
    "--checkpoints /checkpoints/keyed --tensorboard /checkpoints/keyed/events"
)
DDP = (
    "torchrun --standalone --nproc-per-node 2 /app/language_model.py --batch 4 --seed 7 --interval 4 "
    "--steps 20000 --checkpoints /checkpoints/ddp --tensorboard /checkpoints/ddp/events"
)
SILENT = "rank 1 missing, likely: silent since rank 0 timed out in Gloo"
_JOB = "\n  - at: 15s\n"
_LOSS = re.compile(r"\bloss ([0-9.]+) · from ([0-9.]+)")
_TOLD = re.compile(r"progress .*\bstep ([0-9,]+)/[0-9,]+ · .*\bloss ([0-9.]+) · ([0-9.,]+) samples/s")
_LINE = re.compile(r"progress step=([0-9]+) .*\bloss=(\S+) samples_per_s=(\S+) .*\brank=0 ")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """The scenario `training` from a file, its claim there and its own job left out."""
    (tmp_path / "tmp").mkdir()
    scenario = tmp_path / "mine.yaml"
    scenario.write_text(shipped()["training"].read_text().partition(_JOB)[0])
    words = ["demo", "--scenario", str(scenario), "--allow-local", "--warm", "5"]
    environment = {"TMPDIR": str(tmp_path / "tmp"), "SHELL": "/bin/sh"}
    with Terminal(tmp_path, words, environment, size=(160, 45)) as opened:
        opened.until("live", seconds=SECONDS)
        yield opened


def submit(terminal: Terminal, template: str, values: Mapping[str, str], sees: str) -> None:
    """`N`, the template, its fields in their order (a word that tmux knows is a key), and yes."""
    terminal.keys("2")
    terminal.until("State")
    terminal.keys("N")
    terminal.until("Name *")
    terminal.keys("F2")
    terminal.until("type to search")
    terminal.type(template)
    terminal.until(without=("type to search",))
    terminal.keys("Enter")
    terminal.until(f"new {template} ", "Name *", without=("esc leave",))
    titles = {one.name: one.title for one in load_library().named(template).parameters}
    fill(terminal, {titles[name]: text for name, text in {**FORM, **values}.items()})
    terminal.keys("C-s")
    terminal.until(f"Submit {sees} vision/{values['name']}", seconds=SECONDS)
    terminal.keys("y")
    terminal.until(f"vision/{values['name']}", "Members by rank", seconds=SECONDS)


def agrees(terminal: Terminal, verb: str, word: str, name: str) -> None:
    """The verb's key, its dialog, and yes."""
    terminal.keys(verb)
    terminal.until(f"{word} {name}", seconds=SECONDS)
    terminal.keys("y")


def has_fallen(terminal: Terminal, to: float) -> bool:
    """Whether the page's loss is less than that share of its first."""
    found = _LOSS.search(terminal.screen())
    return found is not None and float(found[1]) < to * float(found[2])


def printed(folder: Path) -> dict[int, tuple[str, str]]:
    """Loss and samples/s by step, as rank 0 printed them: from the files in which the runtime keeps logs."""
    texts = (path.read_text(errors="replace") for path in folder.glob("tmp/*/pods/vision_*/*/*.log"))
    return {int(found[1]): (found[2], found[3]) for text in texts for found in _LINE.finditer(text)}


def is_as_printed(terminal: Terminal, folder: Path) -> bool | None:
    """Loss and samples/s of the page stand in the run's line of the same step; None where it has none yet."""
    found = _TOLD.search(terminal.screen())
    line = printed(folder).get(int(found[1].replace(",", ""))) if found is not None else None
    if found is None or line is None:
        return None
    loss, rate = line
    shown = f"{float(rate):,.0f}" if float(rate) >= 100 else f"{float(rate):.3g}"
    assert (found[2], found[3]) == (f"{float(loss):.4g}", shown), found[0]
    return True


def trains(terminal: Terminal, folder: Path, falls_to: float) -> None:
    """The page of a job that trains: its loss falls, what it tells was printed, its end is expected."""
    terminal.until("● running", "samples/s", "loss ", seconds=SECONDS)
    until("the loss falls", lambda: has_fallen(terminal, falls_to) or None, SECONDS)
    until("the page tells the run's own numbers", lambda: is_as_printed(terminal, folder), SECONDS)
    terminal.until(" · ends ", "first step", "samples/s", " · from ", seconds=SECONDS)


def draws(terminal: Terminal, folder: Path, job: str) -> None:
    """`B` opens the TensorBoard of the job: its points are what rank 0 printed; `B` again closes it."""
    agrees(terminal, "B", "TensorBoard of", job)
    seen = terminal.until("http://127.0.0.1:", "served", seconds=SECONDS)
    url = re.search(r"http://127\.0\.0\.1:[0-9]+/", seen)
    assert url is not None
    wanted, tags = {"loss", "samples_per_s"}, f"{url[0]}data/plugin/scalars/tags"
    until(
        "it has read the events", lambda: wanted <= set(json.loads(_page(tags)).get(".", ())) or None, SECONDS
    )
    points = json.loads(_page(f"{url[0]}data/plugin/scalars/scalars?run=.&tag=loss"))
    losses = printed(folder)
    assert points
    for _, step, loss in points:
        assert loss == pytest.approx(float(losses[step][0]), rel=1e-3)
    terminal.keys("B")
    terminal.until("closed by key", seconds=SECONDS)


def comes_back(terminal: Terminal, left: Leftovers, program: str, name: str) -> None:
    """Suspend and resume: a checkpoint is written, no process is left, and it goes on from that step."""
    agrees(terminal, "P", "Suspend", name)
    terminal.until("suspended", seconds=SECONDS)
    until("its processes are gone", lambda: not left.processes(program) or None, SECONDS)
    newest = max(terminal.folder.glob("tmp/*/pods/.claims/*/*/checkpoint-*.pt"), key=lambda path: path.name)
    step = int(newest.stem.rpartition("-")[2])
    agrees(terminal, "P", "Resume", name)
    terminal.until("● running", seconds=SECONDS)
    terminal.keys("l")
    terminal.until("logs of", f"resumed step={step}", seconds=SECONDS)
    terminal.keys("Escape")
    terminal.until("Members by rank", seconds=SECONDS)

    def goes_on() -> bool | None:
        found = _TOLD.search(terminal.screen())
        return (found is not None and int(found[1].replace(",", "")) > step) or None

    until("steps come after it", goes_on, SECONDS)
    terminal.until("checkpoint  ", seconds=SECONDS)


def test_the_form_s_horovod_job_trains_by_keys_alone(terminal: Terminal, tmp_path: Path) -> None:
    left, name = Leftovers(tmp_path), "mpijob vision/keyed"
    values = {
        "name": "keyed",
        "command": HOROVOD,
        "launcher": "Right",
        "checkpoint": "checkpoints:/checkpoints",
    }
    submit(terminal, "mpijob", {**values, "tensorboard": "/checkpoints/keyed/events"}, "mpijob")
    trains(terminal, tmp_path, falls_to=0.5)

    draws(terminal, tmp_path, "vision/keyed")
    comes_back(terminal, left, "/app/train.py", name)

    stopped = next(pid for pid, _ in left.processes("train.py") if _is_rank(pid, 1))
    os.kill(stopped, signal.SIGSTOP)
    try:
        seen = terminal.until(SILENT, seconds=SECONDS)
        assert "checkpoint" in seen
    finally:
        os.kill(stopped, signal.SIGCONT)

    agrees(terminal, "K", "Kill", name)
    until("its processes are gone", lambda: not left.processes("train.py") or None, SECONDS)
    quits(terminal)
    assert left.found() == []


def _page(url: str) -> str:
    with urllib.request.urlopen(url, timeout=SECONDS) as answer:
        return str(answer.read().decode())


def _is_rank(pid: int, rank: int) -> bool:
    """Whether the process is a rank itself, and not the shell that waits for it."""
    try:
        around = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        program = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
    except OSError:
        return False
    return f"HOROVOD_RANK={rank}".encode() in around and program.rpartition(b"/")[2].startswith(b"python")


def test_the_ddp_sibling_trains_by_keys_alone(terminal: Terminal, tmp_path: Path) -> None:
    left, name = Leftovers(tmp_path), "job vision/ddp"
    values = {"name": "ddp", "command": DDP, "checkpoint": "checkpoints:/checkpoints"}
    submit(terminal, "job", {**values, "tensorboard": "/checkpoints/ddp/events"}, "job")
    trains(terminal, tmp_path, falls_to=0.75)
    draws(terminal, tmp_path, "vision/ddp")
    comes_back(terminal, left, "language_model.py", name)
    agrees(terminal, "K", "Kill", name)
    until("its processes are gone", lambda: not left.processes("language_model.py") or None, SECONDS)
    quits(terminal)
    assert left.found() == []
