"""However a session ends, in whatever terminal: the terminal is as it was, and no process is left."""

import json
import re
import statistics
import subprocess
import sys
import time
from typing import Any

import pytest

from tests.reliability.figures import Tell, whole
from tests.tui.pseudo_terminal import ROOT, PseudoTerminal

AT_ONCE = 2


def played(count: int) -> list[dict[str, Any]]:
    """What became of so many sessions with random ends, sizes and terminals; two at a time."""
    shares = [count // AT_ONCE + (at < count % AT_ONCE) for at in range(AT_ONCE)]
    words = [sys.executable, "-m", "tests.tui.nursery"]
    runs = [
        subprocess.Popen([*words, str(share), f"{48 + at}"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for at, share in enumerate(shares)
    ]
    return [json.loads(line) for run in runs for line in run.communicate()[0].splitlines()]


SLOW_BYTES_A_SECOND = 50_000
SLICE_SECONDS = 0.02
CLOCK = """
import time
from cockpit_widgets.frugal_app import FrugalApp
from textual.widgets import Static

class Clock(FrugalApp):
    CSS = "Static { width: 100%; height: 100%; }"
    def compose(self):
        yield Static(id="page", markup=False)
    def on_mount(self):
        self.set_interval(0.02, self.change)
    def change(self):
        now = time.monotonic()
        text = "".join(chr(33 + int(now * 1e6) * at % 90) for at in range(1, 80))
        lines = [f"{now:.3f} now", *(text[at:] + text[:at] for at in range(22))]
        self.query_one("#page", Static).update("\\n".join(lines))

Clock().run()
"""


@pytest.mark.waits
@pytest.mark.row(48, "share of 50 kB/s that was used", least=0.5, unit="times")
@pytest.mark.row(48, "age of what a terminal of 50 kB/s shows", most=0.25, unit="s")
def test_a_slow_terminal_shows_nothing_old(figure: Tell) -> None:
    """Most of 80x24 changes fifty times a second, more than the terminal takes; the median age counts."""
    ages: list[float] = []
    with PseudoTerminal(["-c", CLOCK], (80, 24)) as terminal:
        terminal.shows(" now")
        terminal.most_bytes = round(SLOW_BYTES_A_SECOND * SLICE_SECONDS)
        before, seconds = len(terminal.sent), whole(20, 1)
        end = time.monotonic() + seconds
        while (due := time.monotonic() + SLICE_SECONDS) < end:
            terminal.take(SLICE_SECONDS)
            if found := re.match(r"\d+\.\d{3}", terminal.lines[0]):
                ages.append(time.monotonic() - float(found[0]))
            time.sleep(max(0.0, due - time.monotonic()))
        offered = (len(terminal.sent) - before) / seconds
    figure("share of 50 kB/s that was used", offered / SLOW_BYTES_A_SECOND)
    figure("age of what a terminal of 50 kB/s shows", statistics.median(ages))


@pytest.mark.waits
@pytest.mark.row(48, "sessions", least=1_000, unit="cases")
@pytest.mark.row(48, "sessions that did not end, or not as they were asked to", most=0)
@pytest.mark.row(48, "terminals that were not restored", most=0)
@pytest.mark.row(48, "processes left", most=0)
def test_every_end_restores_the_terminal_and_leaves_no_process(figure: Tell) -> None:
    count = whole(1_000, 8)
    sessions = played(count)
    codes = {"SIGTERM": 128 + 15, "SIGHUP": 128 + 1, "cut": 128 + 1}
    astray = [it for it in sessions if it["code"] != codes.get(it["end"], 0)]
    assert len(sessions) == count
    print([it for it in sessions if not it["is_restored"] or it["left"]] + astray)
    figure("sessions", count)
    figure("sessions that did not end, or not as they were asked to", len(astray))
    figure("terminals that were not restored", sum(not it["is_restored"] for it in sessions))
    figure("processes left", sum(len(it["left"]) for it in sessions))
