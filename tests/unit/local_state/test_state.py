"""Paths, private files and the choices that stay."""

import stat
from pathlib import Path

import pytest

from cockpit.errors import BadInput
from cockpit.local_state.paths import config_folder, make_private_folder, state_folder, write_private
from cockpit.local_state.state import Choice, Choices


def test_folders_follow_xdg() -> None:
    environment = {"HOME": "/home/a", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "relative"}
    assert config_folder(environment) == Path("/c/gpu-cockpit")
    assert state_folder(environment) == Path("/home/a/.local/state/gpu-cockpit")
    assert config_folder({"HOME": "/home/a"}) == Path("/home/a/.config/gpu-cockpit")


def test_a_private_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file"
    write_private(path, "one")
    write_private(path, "two")
    assert path.read_text() == "two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in path.parent.iterdir()] == ["file"]


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot be created"):
        make_private_folder(tmp_path / "file" / "below")


def test_choices_stay(tmp_path: Path) -> None:
    path = tmp_path / "choices.json"
    choices = Choices(path)
    assert choices.of("jobs") == Choice()
    assert choices.keep("jobs", Choice(sort="gpus", descending=True, filter="llm"))
    assert Choices(path).of("jobs") == Choice(sort="gpus", descending=True, filter="llm")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_same_choice_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "choices.json"
    choices = Choices(path)
    choices.keep("jobs", Choice(sort="gpus"))
    path.unlink()
    assert choices.keep("jobs", Choice(sort="gpus"))
    assert not path.exists()


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"jobs": {"sort": 1}}', b"\xff", b"x" * 70_000])
def test_a_broken_file_is_left_out_with_a_note(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "choices.json"
    path.write_bytes(content)
    choices = Choices(path)
    assert choices.of("jobs") == Choice()
    assert "choices are ignored" in choices.note
    assert choices.keep("jobs", Choice(sort="age"))
    assert Choices(path).of("jobs").sort == "age"


def test_a_file_that_cannot_be_written_is_a_note(tmp_path: Path) -> None:
    (tmp_path / "choices.json").mkdir()
    choices = Choices(tmp_path / "choices.json")
    assert not choices.keep("jobs", Choice(sort="age"))
    assert "cannot be written" in choices.note
    assert choices.of("jobs").sort == "age"


def test_the_file_is_bounded(tmp_path: Path) -> None:
    choices = Choices(tmp_path / "choices.json")
    for number in range(201):
        choices.keep(f"s{number}", Choice(sort="x"))
    assert choices.of("s0") == Choice()
    assert choices.of("s200") == Choice(sort="x")
