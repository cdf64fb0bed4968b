"""A metrics server that misbehaves in some two hundred ways: the cockpit goes on and says what is."""

import json
import math
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from tests.hostile.judge import faults, is_obeyed
from tests.hostile.modes import BY_KEY, MODES, Mode
from tests.reliability.figures import Tell, whole
from tests.tui.embedded import embedded
from tests.tui.on_the_bed import ROOT
from tests.tui.pseudo_terminal import PATIENCE_SECONDS, PseudoTerminal

LIMIT_KIB = 1_500_000
"""Of memory that a child may ask for."""
MOST_GROWN_KIB = 100 * 1024
SEED = 14
DRAWN = 10
IN_A_SESSION = 24
ATTACKS = (
    b"\x1b]0;OWNED",
    b"OWNED\x1b",
    b"\x1b[2J\xc2\x9b31m",
    b"\xc2\x9b",
    "\u202e".encode(),
    "\u2066".encode(),
)
pytestmark = pytest.mark.waits


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("estate")
    with embedded(folder, Path(__file__).with_name("estate.yaml"), 20) as made:
        yield made


@contextmanager
def server() -> Iterator[int]:
    """A hostile server; its port."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.hostile.server"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None and child.stdout is not None
    try:
        yield int(child.stdout.readline())
    finally:
        child.stdin.close()
        child.wait(60)
        child.stdout.close()


def limited(*words: str, home: Path) -> "subprocess.CompletedProcess[bytes]":
    """A program of Python's under the limit, with a home of its own."""
    environment = {name: of for name, of in os.environ.items() if not name.startswith("COCKPIT_")}
    environment |= {"XDG_STATE_HOME": str(home / "state"), "XDG_CONFIG_HOME": str(home / "config")}
    line = f'ulimit -v {LIMIT_KIB}; exec "$@"'
    return subprocess.run(
        ["bash", "-c", line, "bash", sys.executable, *words],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        timeout=600,
        check=False,
    )


def test_there_are_enough_modes_and_each_has_a_name() -> None:
    assert len(MODES) >= 200
    names = [(mode.group, mode.name) for mode in MODES]
    assert len(set(names)) == len(names)


def test_every_mode_through_get_in_one_process(kubeconfig: Path, tmp_path: Path) -> None:
    with server() as port, server() as sizes:
        done = limited("-m", "tests.hostile.drive", str(kubeconfig), str(port), str(sizes), home=tmp_path)
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")[-4_000:]
    *told, end = [json.loads(line) for line in done.stdout.splitlines()]
    assert {one["key"] for one in told} == set(BY_KEY)
    wrong = {
        (BY_KEY[one["key"]].group, BY_KEY[one["key"]].name): found for one in told if (found := faults(one))
    }
    assert wrong == {}
    assert end["peak_kib"] < MOST_GROWN_KIB, end
    assert not (tmp_path / "state" / "gpu-cockpit" / "crashes").exists()


def test_ten_drawn_modes_from_a_cold_start(kubeconfig: Path, tmp_path: Path) -> None:
    drawn = Random(SEED).sample(sorted(BY_KEY), DRAWN)

    def one(key: str) -> "subprocess.CompletedProcess[bytes]":
        scheme = "https" if BY_KEY[key].script.startswith("tls") else "http"
        url = f"{scheme}://127.0.0.1:{port}/{key}"
        get = ("-m", "cockpit", "get", "gpus", "--kubeconfig", str(kubeconfig), "--prometheus-url", url)
        return limited(*get, home=tmp_path)

    with server() as port, ThreadPoolExecutor(2) as pool:
        for key, done in zip(drawn, pool.map(one, drawn), strict=True):
            check_cold(BY_KEY[key], done.returncode, done.stdout.decode(), done.stderr.decode())


def check_cold(mode: Mode, code: int, out: str, err: str) -> None:
    assert code == 0, (mode.name, err)
    assert not is_obeyed(out.replace("\n", "")) and not is_obeyed(err.replace("\n", "")), mode.name
    assert len(out.splitlines()) >= 9 and out.startswith("NODE"), (mode.name, out)
    assert re.search(f"{mode.says}|no readings within", err) or not mode.says, (mode.name, err)
    assert all(line.startswith("cockpit: ") for line in err.splitlines()), (mode.name, err)
    assert not re.search(r"(?<![\d.,])0 ?%", out), (mode.name, out)


class Session:
    """A terminal, and the server that it shows."""

    def __init__(self, terminal: PseudoTerminal, port: int) -> None:
        self.terminal = terminal
        self._root = f"http://127.0.0.1:{port}"

    def choose(self, key: str) -> None:
        with urllib.request.urlopen(f"{self._root}/choose/{key}", timeout=30):
            pass

    def until_seen(self, queries: int) -> None:
        """Read what the terminal shows until the server was asked so often."""

        def has_seen() -> bool:
            with urllib.request.urlopen(f"{self._root}/seen", timeout=30) as answer:
                return int(answer.read()) >= queries

        self.until(has_seen, f"{queries} queries")

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Read what the terminal shows until it holds; a screen at rest sends nothing, so look often."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            assert self.terminal.take(0.05), f"it ended before: {what}"
            assert time.monotonic() < deadline, f"not in time: {what}\n" + "\n".join(self.terminal.lines)

    def is_true_again(self) -> bool:
        """The numbers are there, and no stream is in trouble."""
        return " live " in self.terminal.lines[0] and any("71%" in line for line in self.terminal.lines)

    def resident_kib(self) -> int:
        status = Path(f"/proc/{self.terminal.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+)", status)
        assert found is not None
        return int(found[1])


@contextmanager
def session(kubeconfig: Path, home: Path, patience_seconds: float) -> Iterator[Session]:
    with server() as port:
        words = ["-m", "tests.hostile.screens", str(kubeconfig), f"http://127.0.0.1:{port}/now"]
        environment = {"XDG_STATE_HOME": str(home / "state"), "HOME": str(home)}
        with PseudoTerminal([*words, str(patience_seconds)], (160, 45), environment) as terminal:
            yield Session(terminal, port)


def test_a_session_during_which_the_server_changes(kubeconfig: Path, tmp_path: Path) -> None:
    keys = [
        key for key, mode in BY_KEY.items() if mode.group != "sizes" and not mode.script.startswith("tls")
    ]
    with session(kubeconfig, tmp_path, 0.5) as one:
        one.terminal.shows("gpu-0", "71%")
        before = one.resident_kib()
        for key in Random(SEED).sample(keys, IN_A_SESSION):
            one.choose(key)
            one.until_seen(2)
            one.choose("truth")
            one.until_seen(4)
            one.until(one.is_true_again, "the numbers again")
            assert "internal error" not in "\n".join(one.terminal.lines), BY_KEY[key].name
        assert one.resident_kib() - before < MOST_GROWN_KIB
        one.terminal.press("q")
        assert one.terminal.ends() == 0
        for attack in ATTACKS:
            assert attack not in one.terminal.sent, attack
        assert b"duty 0%" not in one.terminal.sent
    assert not (tmp_path / "state" / "gpu-cockpit" / "crashes").exists()


TOLD_MODES = (
    "closed before the answer",
    "reset in the body",
    "silence",
    "a body by drops",
    "a body without an end",
    "300 MiB of rows",
    "a million tiny rows",
    "a bare NaN",
    "result empty",
)
"""Down, slow, of a gigabyte, of NaN, and without a series."""


@pytest.mark.row(65, "p99 key", most=33, unit="ms")
@pytest.mark.row(65, "keys", least=200, unit="cases")
@pytest.mark.row(65, "ways of misbehaving", least=9, unit="cases")
@pytest.mark.row(65, "memory more after them, MiB", most=100)
def test_keys_are_answered_while_the_metrics_server_misbehaves(
    kubeconfig: Path, tmp_path: Path, figure: Tell
) -> None:
    keys = {mode.name: key for key, mode in BY_KEY.items()}
    names = TOLD_MODES[: whole(len(TOLD_MODES), 3)]
    letters = [chr(code) for code in range(ord("а"), ord("а") + 24)]
    took: list[float] = []
    with session(kubeconfig, tmp_path, 2.0) as one:
        one.terminal.shows("gpu-0", "71%")
        before = one.resident_kib()
        for name in names:
            one.choose(keys[name])
            one.until_seen(1)
            one.terminal.press("/")
            one.terminal.shows("filter")
            took += [one.terminal.answer_seconds(letter) for letter in letters]
            one.terminal.press("escape")
            one.choose("truth")
            one.until_seen(2)
            one.until(one.is_true_again, "the numbers again")
        figure("memory more after them, MiB", (one.resident_kib() - before) / 1024)
        one.terminal.press("q")
        assert one.terminal.ends() == 0
    figure("p99 key", sorted(took)[math.ceil(0.99 * len(took)) - 1] * 1_000)
    figure("keys", len(took))
    figure("ways of misbehaving", len(names))


@pytest.mark.parametrize(
    "name", ["silence", "headers by drops", "a body by drops", "a storm of 100 Continue"]
)
def test_q_waits_for_no_answer(name: str, kubeconfig: Path, tmp_path: Path) -> None:
    (key,) = (key for key, mode in BY_KEY.items() if mode.name == name)
    with session(kubeconfig, tmp_path, 3_600.0) as one:
        one.terminal.shows("gpu-0", "71%")
        one.choose(key)
        one.until_seen(1)
        one.terminal.press("q")
        assert one.terminal.ends() == 0, "the patience for an answer is an hour here"
