"""Commit subjects are imperative and have at most 72 characters."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FIRST = "fe43a190"
"""The first commit that is checked."""
MOST_CHARACTERS = 72
IMPERATIVE = frozenset(
    {"Bring", "Embed", "Exceed", "Feed", "Need", "Ping", "Seed", "Speed", "String", "Shed"}
)
"""Verbs that look like another form."""


def faults(subject: str) -> list[str]:
    """What is wrong with a subject, empty where nothing is."""
    verb = subject.partition(" ")[0]
    checks = {
        f"longer than {MOST_CHARACTERS} characters": len(subject) > MOST_CHARACTERS,
        "ends with a full stop": subject.endswith("."),
        "does not begin with a capital letter": not verb[:1].isupper(),
        "begins with no imperative verb": not _is_imperative(verb),
    }
    return [fault for fault, is_so in checks.items() if is_so]


def _is_imperative(verb: str) -> bool:
    if verb.endswith(("ed", "ing", ":")):
        return verb in IMPERATIVE
    return not verb.endswith("s") or verb.endswith(("ss", "us"))


def test_subjects_since_the_first() -> None:
    asked = ["git", "log", "--no-merges", "--format=%s", f"{FIRST}..HEAD"]
    log = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    if log.returncode:
        pytest.skip("not a checkout with its history")
    assert {subject: wrong for subject in log.stdout.splitlines() if (wrong := faults(subject))} == {}


@pytest.mark.parametrize(
    ("subject", "count"),
    [
        ("Fix clone editing the workers' command", 0),
        ("Pass the clock in", 0),
        ("Fixed clone", 1),
        ("Fixes clone", 1),
        ("clone: fix the command.", 3),
        ("Fix " + "x" * 69, 1),
    ],
)
def test_what_is_found(subject: str, count: int) -> None:
    assert len(faults(subject)) == count
