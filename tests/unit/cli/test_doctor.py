"""`cockpit doctor` where there is nothing to connect to, and in terminals that lack something."""

import os

import pytest

from cockpit.commands import doctor
from tests.unit.cli.builders import run
from tests.unit.cli.test_commands import Capture


def test_without_a_kubeconfig_it_tells_the_rest_and_what_to_do(capsys: Capture) -> None:
    code, out, _err = run(capsys, "doctor", "--kubeconfig", "/does/not/exist")
    assert code == 2
    assert [line.split()[:2] for line in out.splitlines()[1:]] == [
        ["✓", "versions"], ["✓", "terminal"], ["!", "cluster"],
    ]  # fmt: skip
    assert "run cockpit demo" in out


@pytest.mark.parametrize(
    ("term", "size", "found", "remedy"),
    [
        ("dumb", (120, 40), "TERM is dumb", "set TERM"),
        ("", (120, 40), "TERM is not set", "set TERM"),
        ("xterm", (79, 24), "xterm, 79x24", "make it 80x24 or larger"),
        ("xterm", (200, 23), "xterm, 200x23", "make it 80x24 or larger"),
        ("xterm", (80, 24), "xterm, 80x24, true colour", ""),
    ],
)
def test_what_a_terminal_lacks_is_told(
    monkeypatch: pytest.MonkeyPatch, term: str, size: tuple[int, int], found: str, remedy: str
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("COLORTERM", "truecolor")
    told = doctor.here(os.terminal_size(size))
    [check] = [check for check in told if check.about == "terminal"]
    assert check.found.startswith(found) and check.remedy.startswith(remedy)
    assert check.is_amiss is bool(remedy)
