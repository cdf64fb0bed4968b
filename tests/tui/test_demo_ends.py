"""The demo's end, however it comes: within a second no child, no process of a job and no folder is left."""

import base64
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.bed.api import Api
from tests.reliability.figures import Tell
from tests.tui.demo_leftovers import Leftovers
from tests.tui.pseudo_terminal import PseudoTerminal

PATIENCE_SECONDS = 60.0
SMALL = ("--scenario", "two-nodes", "--warm", "30")
MARK = "86395"
"""Seconds that a job's child sleeps: nobody else on this machine does."""


def end_seconds() -> float:
    """A second on a machine that has a core to spare; where more wait for one, as much longer."""
    return min(20.0, max(1.0, 2 * os.getloadavg()[0] / (os.cpu_count() or 1)))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Folders of its own for state and temporary files; children hear ctrl+c even if the runner does not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    for name, variable in (("state", "XDG_STATE_HOME"), ("config", "XDG_CONFIG_HOME"), ("tmp", "TMPDIR")):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(variable, str(tmp_path / name))
    yield tmp_path
    signal.signal(signal.SIGINT, before)


def wait(what: str, look: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        time.sleep(0.01)


def run_a_job(folder: Path) -> list[int]:
    """Submit one past the screens; answers its processes once they run. One of them heeds no SIGTERM."""
    (kubeconfig,) = folder.glob("tmp/cockpit-demo-*/kubeconfig")
    tree: Any = yaml.safe_load(kubeconfig.read_text())
    cluster = tree["clusters"][0]["cluster"]
    token = next(one["user"]["token"] for one in tree["users"] if one["name"] == "admin")
    authority = folder / "ca.crt"
    authority.write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
    api = Api(cluster["server"], token, authority)
    words = ["bash", "-c", f"trap '' TERM; setsid sleep {MARK} & sleep {MARK}; true"]
    container = {"name": "main", "image": "local/shell", "command": words}
    pod = {"restartPolicy": "Never", "containers": [container]}
    job = {"metadata": {"name": "real"}, "spec": {"template": {"spec": pod}}}
    api.create("/apis/batch/v1/namespaces/default/jobs", job)
    left = Leftovers(folder)
    wait("launcher, command and its two children run", lambda: len(left.processes(MARK)) == 4)
    return [pid for pid, _ in left.processes()]


def hang_up(terminal: PseudoTerminal, _: int) -> None:
    terminal.hang_up()


def by_key(key: str) -> Callable[[PseudoTerminal, int], None]:
    return lambda terminal, _: terminal.press(key)


def by_signal(number: int) -> Callable[[PseudoTerminal, int], None]:
    return lambda _, pid: os.kill(pid, number)


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (by_key("q"), 0),
        (by_key("ctrl+c"), 0),
        (hang_up, 128 + signal.SIGHUP),
        (by_signal(signal.SIGTERM), 128 + signal.SIGTERM),
        (by_signal(signal.SIGKILL), -signal.SIGKILL),
    ],
    ids=["q", "ctrl+c", "closed terminal", "SIGTERM", "SIGKILL"],
)
def test_screens_leave_nothing(folder: Path, end: Callable[[PseudoTerminal, int], None], code: int) -> None:
    left = Leftovers(folder)
    with PseudoTerminal(["-m", "cockpit", "demo", *SMALL], (100, 30)) as terminal:
        terminal.shows("live")
        run_a_job(folder)
        assert any("cockpit.sim" in one for one in left.found())
        end(terminal, terminal.pid)
        began = time.monotonic()
        assert terminal.ends() == code
        wait("nothing is left", lambda: not left.found(), end_seconds() - (time.monotonic() - began))
        if code in (0, 128 + signal.SIGTERM):
            assert terminal.modes()["1049"] is False, "the person's own screen is back"
    assert (folder / "state/gpu-cockpit/demo.log").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_served_cluster_leaves_nothing(folder: Path, number: int) -> None:
    left = Leftovers(folder)
    words = [sys.executable, "-m", "cockpit", "demo", "--serve", *SMALL]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as served:
        assert served.stdout is not None and served.stderr is not None
        assert served.stdout.readline().startswith(b"KUBECONFIG=")
        run_a_job(folder)
        served.send_signal(number)
        assert served.wait(end_seconds()) == 0
        assert left.found() == []
        assert served.stderr.read() == b""
    assert (folder / "state/gpu-cockpit/demo.log").exists()


def test_a_cluster_that_is_killed_takes_its_jobs_along(folder: Path) -> None:
    words = [sys.executable, "-m", "cockpit", "demo", "--serve", *SMALL]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as served:
        assert served.stdout is not None
        served.stdout.readline()
        run_a_job(folder)
        served.kill()
        wait("no process is left", lambda: not Leftovers(folder).processes(), end_seconds())
    left = set((folder / "tmp").iterdir())
    assert len(left) == 1, "nobody was there to remove it"
    with subprocess.Popen(words, stdout=subprocess.PIPE) as served:
        assert served.stdout is not None
        served.stdout.readline()
        mine = set((folder / "tmp").iterdir())
        assert len(mine) == 1 and not mine & left, "the next demo removed it"
        served.terminate()
    assert list((folder / "tmp").iterdir()) == []


@pytest.mark.parametrize("after", ["said nothing", "made its folder"])
@pytest.mark.parametrize("how", [(), ("--serve",)], ids=["screens", "served"])
def test_who_ends_it_while_it_starts_waits_no_longer(folder: Path, how: tuple[str, ...], after: str) -> None:
    """The fleet stands up for most of a minute."""
    left = Leftovers(folder)
    words = [sys.executable, "-m", "cockpit", "demo", *how, "--scenario", "fleet"]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as started:
        assert started.stderr is not None
        if after == "made its folder":
            wait("it has begun", lambda: list(folder.glob("tmp/cockpit-demo-*/audit.log")))
        else:
            wait("it has begun", lambda: left.found())
        started.send_signal(signal.SIGINT)
        began = time.monotonic()
        assert started.wait(PATIENCE_SECONDS) == 130, started.stderr.read().decode()
        assert time.monotonic() - began < 2 * end_seconds(), "a second, and one for a busy machine"
        wait("nothing is left", lambda: not left.found(), end_seconds())
        assert b"Traceback" not in started.stderr.read()


@pytest.mark.row(47, "children left when the app ends under a shell", most=0)
@pytest.mark.parametrize(
    ("end", "code"),
    [(hang_up, 128 + signal.SIGHUP), (by_signal(signal.SIGTERM), 128 + signal.SIGTERM)],
    ids=["closed terminal", "SIGTERM"],
)
def test_it_ends_while_a_shell_has_the_terminal(
    folder: Path, end: Callable[[PseudoTerminal, int], None], code: int, figure: Tell
) -> None:
    """Somebody closes the window, or the machine goes down."""
    left = Leftovers(folder)
    with PseudoTerminal(["-m", "cockpit", "demo", *SMALL], (100, 30)) as terminal:
        terminal.shows("live")
        run_a_job(folder)
        terminal.press("7")
        terminal.shows("real-")
        terminal.press("/", "real")
        terminal.press("enter")
        terminal.shows("real-")
        terminal.press("E")
        terminal.shows("shell in pod default/real-")
        terminal.press("echo $((40+2))-$HOSTNAME", "enter")
        terminal.shows("42-real-")
        end(terminal, terminal.pid)
        began = time.monotonic()
        assert terminal.ends() == code
        wait("nothing is left", lambda: not left.found(), end_seconds() - (time.monotonic() - began))
        figure("children left when the app ends under a shell", len(left.found()))
        assert terminal.modes()["1049"] is False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_ranks_end_with_the_demo_that_trains(
    folder: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setenv("GPU_COCKPIT_CACHE", str(folder / "no-environment"))
    left = Leftovers(folder)
    words = [sys.executable, "-m", "cockpit", "demo", "--serve", "--scenario", "training"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as served:
        assert served.stdout is not None and served.stderr is not None
        assert served.stdout.readline().startswith(b"KUBECONFIG=")
        said = served.stderr.readline().decode()
        assert (
            said.endswith("; a stand-in prints what a training would\n") and "no training environment" in said
        )
        wait("sshd, ssh, horovodrun and two ranks run", lambda: len(left.processes("/app/train.py")) >= 4)
        served.send_signal(number)
        served.wait(PATIENCE_SECONDS)
        wait("nothing is left", lambda: not left.processes(), 10 * end_seconds())
