"""What the tests on the real bed share: waiting, the estate, the exposition's truth, a shell, the app."""

import asyncio
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest
from textual.pilot import Pilot

from cockpit.app import AppOptions, CockpitApp
from cockpit.attach import AttachOptions
from cockpit.clock import SystemClock
from cockpit.model.metrics_server import MetricsServer
from tests.bed.api import Api
from tests.bed.bed import Bed
from tests.bed.estate import Estate, gpu_node
from tests.bed.exposition import MEMORY_MIB
from tests.tui.terminal import Terminal

QUIT_SECONDS = 1.0
SIZE = (160, 45)
ROOT = Path(__file__).resolve().parents[2]
NODES = 40
GPUS_EACH = 8
Found = TypeVar("Found")
Truth = Mapping[str, Any]
"""What an exporter said of one GPU."""


def until(
    what: str, look: Callable[[], Found | None], seconds: float = 60.0, *, shows: Callable[[], str] = str
) -> Found:
    """What `look` returns once it is not None; fails with `what`, and what it `shows`, after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        begun = time.monotonic()
        if (found := look()) is not None:
            return found
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}\n{shows()}"
        time.sleep(pause_after(begun))


def pause_after(begun: float) -> float:
    """Seconds until the next look, when the last one began at `begun`: a look that starts a program (kubectl,
    `cockpit get`) is repeated less often, else the waiting takes the CPU from what is waited for."""
    return max(0.2, 2 * (time.monotonic() - begun))


def estate(bed: Bed, nodes: int = NODES) -> None:
    """At least that many GPU nodes gpu-000.. and the queues; what is there already stays."""
    api = bed.api()
    if api.request("GET", "/apis/kueue.x-k8s.io/v1beta2/namespaces/team-a/localqueues/main").status == 404:
        Estate(api).queues(gpus=nodes * GPUS_EACH)
    there = {one["metadata"]["name"] for one in api.items("/api/v1/nodes")}
    for index in range(nodes):
        if (name := f"gpu-{index:03d}") not in there:
            api.create("/api/v1/nodes", gpu_node(name, index))


def node_names(api: Api) -> list[str]:
    """Nodes that offer GPUs now."""
    trees = api.items("/api/v1/nodes")
    return sorted(
        tree["metadata"]["name"]
        for tree in trees
        if int(tree.get("status", {}).get("allocatable", {}).get("nvidia.com/gpu", 0))
    )


class Exposition:
    """The synthetic exporters of a bed: what they say now, and how to make them say something else."""

    def __init__(self, bed: Bed) -> None:
        self._url = bed.exposition_url

    def expected(self) -> dict[str, dict[str, Any]]:
        """UUID -> reading, holder and whether it is reported."""
        with urllib.request.urlopen(f"{self._url}/expected", timeout=20) as answer:
            found: dict[str, dict[str, Any]] = json.load(answer)
        return found

    def of(self, node: str) -> dict[int, dict[str, Any]]:
        """Index -> reading of the GPUs of one node."""
        return {one["gpu"]: one for one in self.expected().values() if one["node"] == node}

    def tell(self, **asked: object) -> None:
        """One command to the control route (`tests.bed.exposition_server`)."""
        request = urllib.request.Request(
            f"{self._url}/control",
            json.dumps(asked).encode(),
            {"Content-Type": "application/json"},
            method="POST",
        )
        urllib.request.urlopen(request, timeout=20).close()


def size(mib: float) -> str:
    return f"{mib:.0f}Mi" if mib < 1000 else f"{mib / 1024:.0f}Gi"


def readings(truth: Truth) -> tuple[str, str, str, str]:
    """Duty, memory, temperature and power as a person reads them."""
    return (
        f"{truth['duty_percent']}%",
        f"{size(truth['used_mib'])}/{size(MEMORY_MIB)}",
        f"{truth['temperature_celsius']}°C",
        f"{truth['power_watts']:.0f}W",
    )


class Shell:
    """`cockpit` as a person's shell runs it, with a home of its own."""

    def __init__(self, kubeconfig: Path, home: Path) -> None:
        self._environment = {
            **{name: value for name, value in os.environ.items() if name != "KUBECONFIG"},
            "KUBECONFIG": str(kubeconfig),
            "HOME": str(home),
            "XDG_STATE_HOME": str(home / "state"),
            "XDG_CONFIG_HOME": str(home / "config"),
        }

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """One command to its end; a traceback fails whatever the code."""
        done = subprocess.run(
            [sys.executable, "-m", "cockpit", *words],
            cwd=ROOT,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        assert "Traceback" not in done.stderr + done.stdout, done.stderr
        return done

    def items(self, kind: str, *words: str) -> list[dict[str, Any]]:
        """Rows of `cockpit get KIND -o json`."""
        done = self.run("get", kind, "-o", "json", *words)
        assert done.returncode == 0, done.stderr
        found: list[dict[str, Any]] = json.loads(done.stdout)["items"]
        return found


class AheadClock(SystemClock):
    """The machine's clock, which a test can put ahead: waiting for an age costs no time."""

    def __init__(self) -> None:
        super().__init__()
        self._ahead_seconds = 0.0

    def now(self) -> float:
        return super().now() + self._ahead_seconds

    def monotonic(self) -> float:
        return super().monotonic() + self._ahead_seconds

    def advance(self, seconds: float) -> None:
        self._ahead_seconds += seconds


class Headless:
    """The app with its real attachment and no terminal: keys in, lines of the screen out."""

    def __init__(self, app: CockpitApp, pilot: Pilot[int]) -> None:
        self.app = app
        self._pilot = pilot

    async def press(self, *keys: str) -> None:
        await self._pilot.press(*keys)

    def lines(self) -> list[str]:
        """The screen as it is painted now."""
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip).rstrip() for strip in strips]

    def screen(self) -> str:
        return "\n".join(self.lines())

    async def until(
        self, what: str, look: Callable[[list[str]], Found | None], seconds: float = 60.0
    ) -> Found:
        """What `look` makes of the lines once it is not None. Fails with the screen it saw last."""
        deadline = time.monotonic() + seconds
        while (found := look(self.lines())) is None:
            if self.app._exception is not None:  # the screen will not move any more: this is why
                raise self.app._exception
            assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}\n{self.screen()}"
            await asyncio.sleep(0.05)
        return found

    async def until_text(self, *wanted: str, without: tuple[str, ...] = (), seconds: float = 60.0) -> str:
        """The first screen that holds every wanted text and none of `without`."""

        def look(lines: list[str]) -> str | None:
            seen = "\n".join(lines)
            is_so = all(text in seen for text in wanted) and not any(text in seen for text in without)
            return seen if is_so else None

        return await self.until(f"{wanted} without {without}", look, seconds)


def headless_app(
    kubeconfig: Path, clock: AheadClock | None = None, *, context: str | None = None, prometheus_url: str = ""
) -> CockpitApp:
    """A read-only cockpit that keeps nothing on this host."""
    options = AttachOptions(
        kubeconfig=str(kubeconfig), context=context, prometheus=MetricsServer(prometheus_url)
    )
    return CockpitApp(AppOptions(options), clock=clock or SystemClock())


Opened = Callable[..., Terminal]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Opens terminals that are gone at the end of the test."""
    terminals: list[Terminal] = []

    def open_terminal(kubeconfig: Path, *arguments: str) -> Terminal:
        terminal = Terminal(tmp_path, list(arguments), {"KUBECONFIG": str(kubeconfig)}, size=SIZE)
        terminals.append(terminal)
        return terminal.__enter__()

    yield open_terminal
    for terminal in terminals:
        terminal.__exit__()


def quits(terminal: Terminal) -> None:
    """`q` gives the terminal back within a second, with code 0 and without a traceback."""
    terminal.keys("q")
    begun = time.monotonic()
    until("the screen is given back", lambda: None if terminal.is_drawing() else True, 10.0)
    assert time.monotonic() - begun <= QUIT_SECONDS
    code = until("the program has ended", terminal.ended, 10.0)
    assert code == 0
    assert "Traceback" not in terminal.screen()
