"""Acknowledgements in a folder of a group: who wrote what, and what hostile files cost."""

import getpass
import json
import os
import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.errors import BadInput
from cockpit.local_state.shared_notes import LARGEST_BYTES, LONGEST_NOTE, MOST_NOTES, SharedNotes
from cockpit.model.remembered import Acknowledgement

SERVER = "https://api.example:6443"


def known(subject: str = "a", **more: object) -> Acknowledgement:
    told = {
        "made_seconds": 5.0,
        "note": "vendor comes",
        "is_bad": True,
        "gpus": 8,
        "cause": "worker-failed",
        **more,
    }
    return Acknowledgement(subject_key=subject, finding="node-xid", **told)  # type: ignore[arg-type]


def file_of(folder: Path) -> Path:
    (one,) = folder.iterdir()
    return one


def test_what_one_wrote_another_reads_by_the_owner_of_the_file(tmp_path: Path) -> None:
    SharedNotes(tmp_path, SERVER).write(known(who="somebody else", until_seconds=9.0))
    (read,) = SharedNotes(tmp_path, SERVER).read()
    assert read == known(who=getpass.getuser(), until_seconds=9.0)
    assert SharedNotes(tmp_path, "https://other").read() == ()


@pytest.mark.parametrize(("folder_mode", "file_mode"), [(0o2770, 0o660), (0o700, 0o600), (0o775, 0o664)])
def test_a_file_has_the_rights_of_its_folder(tmp_path: Path, folder_mode: int, file_mode: int) -> None:
    tmp_path.chmod(folder_mode)
    SharedNotes(tmp_path, SERVER).write(known())
    assert stat.S_IMODE(file_of(tmp_path).stat().st_mode) == file_mode


def test_one_problem_has_one_file_that_is_replaced_and_removed(tmp_path: Path) -> None:
    notes = SharedNotes(tmp_path, SERVER)
    notes.write(known(note="one"))
    notes.write(known(note="two"))
    assert [one.note for one in notes.read()] == ["two"]
    notes.remove(("a", "node-xid"))
    notes.remove(("a", "node-xid"))
    assert list(tmp_path.iterdir()) == []


def test_hostile_contents_are_cleaned_bounded_or_passed_over(tmp_path: Path) -> None:
    notes = SharedNotes(tmp_path, SERVER)
    notes.write(known())
    path = file_of(tmp_path)
    tree = json.loads(path.read_text())
    path.write_text(json.dumps({**tree, "note": "\x1b[2Jcome\u202e" + "x" * 1_000, "who": "root"}))
    (read,) = notes.read()
    assert read.note.startswith("[2Jcomex") and len(read.note) <= LONGEST_NOTE
    assert read.who == getpass.getuser()
    for text in ("", "[]", "{}", '{"cluster": 3}', json.dumps({**tree, "note": "x" * LARGEST_BYTES})):
        path.write_text(text)
        assert notes.read() == (), text
    path.write_bytes(b"\xff\xfe")
    assert notes.read() == ()
    path.write_text(json.dumps({**tree, "subject_key": "b"}))
    assert notes.read() == (), "a file speaks of its own problem only"


def test_links_pipes_and_crowds_do_no_harm(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "shared"
    folder.mkdir()
    notes = SharedNotes(folder, SERVER)
    notes.write(known())
    path = file_of(folder)
    path.rename(outside)
    path.symlink_to(outside)
    assert notes.read() == ()
    os.mkfifo(folder / "a.note.json")
    (folder / "b.note.json").mkdir()
    assert notes.read() == ()
    for number in range(MOST_NOTES + 50):
        (folder / f"c{number:04}.note.json").write_text("{}")
    assert notes.read() == ()


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    notes = SharedNotes(tmp_path / "gone", SERVER)
    with pytest.raises(BadInput, match=r"gone cannot be read"):
        notes.read()
    with pytest.raises(BadInput, match=r"gone cannot be written: .*kept for you alone"):
        notes.write(known())


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_end_the_reading(raw: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        notes = SharedNotes(Path(folder), SERVER)
        (Path(folder) / "x.note.json").write_bytes(raw)
        assert notes.read() == ()
