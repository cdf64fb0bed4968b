"""`python -m tests.bench.demo`: what the demo costs, each number from one run on this machine.

- the fleet: how soon it can be asked, how soon every pod runs, the changes a second that a watch over HTTP
  hears of, and what share of a core and how much memory the cluster takes for it;
- the first live frame of `cockpit demo` in a terminal, beside a bare `python -c "import textual.app"`.

Prints them with the goals and, for each part, how fast and how busy the machine was before and after it, and
writes bench-out/demo.json. The exit code is 0 also where a goal is missed. A rate that is missed while the
cluster got less than a core, on a machine with more to run than it has cores, says more of the machine.
"""

import argparse
import json
import os
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import yaml

from tests.bench.measure import ProcessTree, load_average, yardstick_seconds
from tests.tui.pseudo_terminal import PseudoTerminal

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "bench-out"
PODS = 10_000
GOALS = {
    "fleet_stands_seconds": 25.0,
    "fleet_peak_bytes": 1.5e9,
    "fleet_changes_per_second": 500.0,
    "first_frame_ratio": 10.0,
}
"""At most; of changes a second at least."""
_ALIVE = "14 nodes"
_PATIENCE_SECONDS = 900.0


def _say(line: str) -> None:
    print(line, flush=True)


@contextmanager
def _fleet(folder: Path) -> Iterator[tuple["subprocess.Popen[bytes]", float]]:
    """The cluster alone, and how long it took until it said where it is."""
    began = time.monotonic()
    command = [sys.executable, "-m", "cockpit.sim", "--scenario", "fleet", "--folder", str(folder)]
    # With a pipe to us it ends with us, whatever becomes of us.
    child = subprocess.Popen(
        [*command, "--with-parent"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    )
    try:
        assert child.stdout is not None
        line = child.stdout.readline()
        if not line.startswith(b"KUBECONFIG="):
            raise RuntimeError("the fleet did not come up")
        yield child, time.monotonic() - began
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait(30)


class _Watch:
    """One watch of all pods over HTTPS, as a client with the admin's token has it."""

    def __init__(self, folder: Path) -> None:
        config = yaml.safe_load((folder / "kubeconfig").read_text())
        self._server = config["clusters"][0]["cluster"]["server"]
        users = {one["name"]: one["user"] for one in config["users"]}
        context = next(one for one in config["contexts"] if one["name"] == config["current-context"])
        self._token = users[context["context"]["user"]]["token"]
        self._tls = ssl.create_default_context(cafile=str(folder / "pki" / "ca.crt"))
        self.running = 0

    def changes(self, seconds: float | None) -> tuple[int, float]:
        """(changes, seconds): until so much time is over, or, for None, until every pod runs."""
        query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
        request = urllib.request.Request(
            f"{self._server}/api/v1/pods?{query}", headers={"Authorization": f"Bearer {self._token}"}
        )
        running: set[str] = set()
        began = time.monotonic()
        counted, is_whole = 0, False
        with urllib.request.urlopen(request, context=self._tls, timeout=60) as answer:
            for line in answer:
                now = time.monotonic()
                event = json.loads(line)
                if event["type"] == "BOOKMARK":
                    if not is_whole:
                        is_whole, began, counted = True, now, 0
                    continue
                counted += 1
                tree = event["object"]
                is_running = tree["status"].get("phase") == "Running" and event["type"] != "DELETED"
                (running.add if is_running else running.discard)(tree["metadata"]["uid"])
                self.running = len(running)
                if seconds is not None and is_whole and now - began >= seconds:
                    break
                if seconds is None and is_whole and (self.running >= PODS or now - began > _PATIENCE_SECONDS):
                    break
        return counted, time.monotonic() - began


def fleet(hold_seconds: float) -> dict[str, Any]:
    """What the fleet costs while it holds its changes with one watcher."""
    with tempfile.TemporaryDirectory(prefix="gpu-cockpit-fleet-") as scratch:
        folder = Path(scratch)
        began = time.monotonic()
        with _fleet(folder) as (child, stands):
            tree = ProcessTree(child.pid)
            watch = _Watch(folder)
            watch.changes(None)
            settled = time.monotonic() - began
            tree.sample()
            cpu_before, wall_before = tree.cpu_seconds, time.monotonic()
            counted, took = watch.changes(hold_seconds)
            tree.sample()
            share = (tree.cpu_seconds - cpu_before) / (time.monotonic() - wall_before)
            tree.stop()
            return {
                "fleet_stands_seconds": stands,
                "fleet_all_running_seconds": settled,
                "fleet_pods_running": watch.running,
                "fleet_changes_per_second": counted / took,
                "fleet_cpu_share": share,
                "fleet_cpu_share_per_500_changes": share * 500.0 / (counted / took),
                "fleet_peak_bytes": tree.peak_bytes,
            }


def _first_frame_seconds() -> float:
    """From the start of `cockpit demo` in a terminal until the nodes of its cluster are counted."""
    began = time.monotonic()
    with PseudoTerminal(["-m", "cockpit", "demo"], (120, 40)) as terminal:
        terminal.shows(_ALIVE)
        took = time.monotonic() - began
        terminal.press("q")
        terminal.ends()
    return took


def _bare_seconds() -> float:
    began = time.monotonic()
    # A session of its own, as a terminal has: the kernel shares processor time out by sessions.
    command = [sys.executable, "-c", "import textual.app"]
    subprocess.run(command, check=True, cwd=ROOT, start_new_session=True)
    return time.monotonic() - began


def first_frame(repeats: int) -> dict[str, Any]:
    """Medians, in turn with the bare import; a bare one goes before for the caches."""
    _bare_seconds()
    bare, whole = [], []
    for _ in range(repeats):
        bare.append(_bare_seconds())
        whole.append(_first_frame_seconds())
    return {
        "first_frame_seconds": median(whole),
        "textual_import_seconds": median(bare),
        "first_frame_ratio": median(whole) / median(bare),
    }


def _measured(part: str, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What a part found, told at once, between two looks at the machine."""
    about = {"yardstick_seconds_before": yardstick_seconds(), "load_before": load_average()}
    found = measure()
    about |= {"yardstick_seconds_after": yardstick_seconds(), "load_after": load_average()}
    for name, value in found.items():
        goal = GOALS.get(name)
        is_least = name == "fleet_changes_per_second"
        is_met = goal is None or (value >= goal if is_least else value <= goal)
        wanted = "" if goal is None else f"   wanted {'at least' if is_least else 'at most'} {goal:,.0f}"
        _say(f"{name:28} {value:>16,.2f}{wanted}{'' if is_met else '   MISSED'}")
    _say(
        f"  yardstick {about['yardstick_seconds_before']:.3f} s before, "
        f"{about['yardstick_seconds_after']:.3f} s after; to run on {os.cpu_count()} cores: "
        f"{about['load_before']:.1f} before, {about['load_after']:.1f} after"
    )
    return found | {f"{part}_{name}": value for name, value in about.items()}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.demo", description="What the demo costs.")
    parser.add_argument(
        "--hold", type=float, default=30.0, metavar="SECONDS", help="how long the fleet is watched"
    )
    parser.add_argument("--repeats", type=int, default=3, help="of the first frame")
    options = parser.parse_args(arguments)
    found: dict[str, Any] = {"cpus": os.cpu_count()}
    found |= _measured("first_frame", lambda: first_frame(options.repeats))
    found |= _measured("fleet", lambda: fleet(options.hold))
    OUT.mkdir(exist_ok=True)
    (OUT / "demo.json").write_text(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
