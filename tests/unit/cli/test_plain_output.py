"""`COCKPIT_PLAIN=1`: tables and pages that are made to be heard; what programs read stays as it is."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.commands.output import grid, heard, put, put_data
from cockpit.standard_streams import for_ears, is_heard
from cockpit.terminal import screen_fault
from tests.unit.cli.builders import read_json, run
from tests.unit.cli.test_commands import Capture

DOCTOR = ("doctor", "--kubeconfig", "/does/not/exist")
DRAWN = re.compile("[\u2500-\u27bf]")


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COCKPIT_PLAIN", "1")
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        ("◑ starting", "starting"),
        ("run 2→4 nodes · 8s", "run 2 to 4 nodes, 8s"),
        ("████▃▃··", ""),
        ("submitted ─0s─ first bound", "submitted 0s first bound"),
        ("H100-80GB-HBM3", "H100-80GB-HBM3"),
        ("4 × 8 GPUs", "4 × 8 GPUs"),
    ],
)
def test_what_is_drawn_is_left_out_and_words_stay(seen: str, words: str) -> None:
    assert heard(seen) == words


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"])))
def test_words_stay_as_they_are(text: str) -> None:
    assert heard(text) == text


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    "words", [("completion", "bash"), ("completion", "zsh"), ("man",), ("config", "schema")], ids=" ".join
)
def test_what_a_program_reads_is_the_same_with_and_without(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    _code, spoken, _err = run(capsys, *words)
    monkeypatch.setenv("COCKPIT_PLAIN", "0")
    assert run(capsys, *words)[1] == spoken


def test_a_manifest_is_data_and_a_sentence_is_not(capsys: Capture) -> None:
    manifest = "spec:\n  note: '2→4 · ● ran'\n  args: ['a  b']"
    for_ears(is_wanted=True)
    try:
        put_data(manifest)
        put(["● 2→4", "  kubectl patch -p '{\"a\":  1}'"])
    finally:
        for_ears(is_wanted=False)
    assert capsys.readouterr().out == f"{manifest}\n2 to 4\n  kubectl patch -p '{{\"a\":  1}}'\n"


def test_each_value_is_heard_behind_its_title() -> None:
    for_ears(is_wanted=True)
    try:
        rows = [["●", "a", "1/2", ""], ["▲", "b", "", "▃▃··"]]
        assert grid(["", "job", "ready", "duty"], rows) == ["warning; job a; ready 1/2", "bad; job b"]
        assert grid(["job"], []) == ["none"]
    finally:
        for_ears(is_wanted=False)


@pytest.mark.usefixtures("plain")
def test_a_command_is_heard_and_its_json_is_not_touched(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    _code, spoken, _err = run(capsys, *DOCTOR)
    assert spoken.splitlines()[0].startswith("good; check versions; found cockpit")
    assert not DRAWN.search(spoken) and is_heard()
    as_json = read_json(run(capsys, *DOCTOR, "-o", "json")[1])
    assert not is_heard()
    monkeypatch.setenv("COCKPIT_PLAIN", "0")
    assert read_json(run(capsys, *DOCTOR, "-o", "json")[1]) == as_json
    _code, seen, _err = run(capsys, *DOCTOR)
    assert DRAWN.search(seen)


@pytest.mark.usefixtures("plain")
def test_no_screens_open_and_the_way_back_is_named() -> None:
    assert screen_fault().startswith("COCKPIT_PLAIN is set: each key has its command")
