"""Rooms that show ages of what the cluster stamped take the time from the cluster."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
ROOMS = ("screens", "views", "triage", "telemetry", "commands", "pools", "jobs", "gangs")
OURS = {
    "screens/place.py": "the header: since when nothing was heard",
    "commands/verb.py": "the moment that is noted on an object that is tried again",
    "screens/audit.py": "how old lines of this host are",
    "screens/logs.py": "the name of a file on this host",
    "telemetry/alertmanager.py": "when alerts were read and are asked for again",
    "telemetry/poller.py": "when the source was heard and is asked again",
    "telemetry/start.py": "when a source is looked for again",
}


def test_our_own_time_is_used_only_for_what_is_ours() -> None:
    users = {
        str(path.relative_to(ROOT / "cockpit"))
        for room in ROOMS
        for path in (ROOT / "cockpit" / room).rglob("*.py")
        if re.search(r"clock\.now\(\)", path.read_text())
    }
    assert users == set(OURS), "ages are differences of clock.cluster_now()"
