"""However a session ends, in whatever terminal: the terminal is as it was, and no process is left."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.reliability.figures import Tell, whole
from tests.tui.pseudo_terminal import ROOT

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
