"""`python -m tests.bench.ends`: how soon nothing of a demo is left, for each way to end it.

From the key, the signal or the closed terminal until its cluster, its jobs' processes and its folder are
gone; one of the job's processes heeds no SIGTERM. Wanted is a second where a core is to spare; the load is
told beside.
"""

import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from tests.bench.measure import load_average, yardstick_seconds
from tests.bench.report import aligned
from tests.tui.demo_leftovers import Leftovers
from tests.tui.pseudo_terminal import PseudoTerminal
from tests.tui.test_demo_ends import SMALL, by_key, by_signal, hang_up, run_a_job, wait

ROUNDS = 3
WANTED_SECONDS = 1.0
_VARIABLES = (("state", "XDG_STATE_HOME"), ("config", "XDG_CONFIG_HOME"), ("tmp", "TMPDIR"))

WAYS: dict[str, Callable[[PseudoTerminal, int], None]] = {
    "q": by_key("q"),
    "ctrl+c": by_key("ctrl+c"),
    "closed terminal": hang_up,
    "SIGTERM": by_signal(signal.SIGTERM),
    "SIGKILL": by_signal(signal.SIGKILL),
}


def seconds_to_end(end: Callable[[PseudoTerminal, int], None]) -> float:
    """One demo with a real job, ended that way."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            for part, variable in _VARIABLES:
                (folder / part).mkdir()
                os.environ[variable] = str(folder / part)
            left = Leftovers(folder)
            with PseudoTerminal(["-m", "cockpit", "demo", *SMALL], (100, 30)) as terminal:
                terminal.shows("live")
                run_a_job(folder)
                began = time.monotonic()
                end(terminal, terminal.pid)
                wait("nothing is left", lambda: not left.found() and not left.processes("sleep"))
                took = time.monotonic() - began
                terminal.ends()
                return took
        finally:
            os.environ.clear()
            os.environ.update(before)


def main() -> int:
    print(f"load {load_average():.1f}, a yardstick is {yardstick_seconds():.3f} s", flush=True)
    rows = [("ended by", "median s", "worst s", "")]
    for name, end in WAYS.items():
        found = [seconds_to_end(end) for _ in range(ROUNDS)]
        verdict = "met" if median(found) <= WANTED_SECONDS else "missed"
        rows.append((name, f"{median(found):.2f}", f"{max(found):.2f}", verdict))
    for line in aligned(rows):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
