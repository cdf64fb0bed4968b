"""What was deleted to be recreated stays on this host: whole, for its owner alone, and bounded."""

import os
import stat
from pathlib import Path

import pytest

from cockpit.errors import BadInput
from cockpit.local_state.audit import Audit
from cockpit.local_state.kept_manifests import MOST_KEPT, kept_manifest

SECRET = {"metadata": {"name": "fit"}, "spec": {"env": [{"name": "TOKEN", "value": "hunter2"}]}}


def test_a_manifest_comes_back_whole_from_a_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    Audit(tmp_path / "audit.jsonl", who="").keep("id1", SECRET)
    (file,) = tmp_path.glob("kept/*")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert kept_manifest("id1", tmp_path) == SECRET


def test_the_newest_are_kept(tmp_path: Path) -> None:
    audit = Audit(tmp_path / "audit.jsonl", who="")
    for number in range(MOST_KEPT):
        audit.keep(f"id{number}", SECRET)
        os.utime(tmp_path / "kept" / f"id{number}.json", (number, number))
    audit.keep("newest", SECRET)
    assert len([*tmp_path.glob("kept/*")]) == MOST_KEPT
    assert kept_manifest("newest", tmp_path) == SECRET
    with pytest.raises(BadInput, match="no manifest is kept under id0"):
        kept_manifest("id0", tmp_path)


@pytest.mark.parametrize("name", ["../id1", "", "a/b", "id1.json"])
def test_an_id_is_no_path(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is no id of an audit line"):
        kept_manifest(name, tmp_path)


def test_a_manifest_that_cannot_be_kept_is_told(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("in the way")
    with pytest.raises(BadInput):
        Audit(tmp_path / "audit.jsonl", who="").keep("id1", SECRET)


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    Audit(tmp_path / "audit.jsonl", who="").keep("id1", SECRET)
    (tmp_path / "kept" / "id1.json").write_text("{")
    with pytest.raises(BadInput, match="is damaged"):
        kept_manifest("id1", tmp_path)
