"""Audit lines: whole, private, kept, and without secrets."""

import errno
import fcntl
import json
import os
import stat
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cockpit.errors import BadInput
from cockpit.local_state.audit import Audit, DamagedLine, Entry, body_digest
from cockpit.local_state.line_file import LockedFile
from cockpit.mask import HIDDEN


def _entry(number: int = 0, **more: Any) -> Entry:
    fields: dict[str, Any] = {"step": "intent", "verb": "kill", "target": "mpijob team-a/llm", **more}
    return Entry(audit_id=f"id{number}", at_seconds=1_790_000_000.0 + number, **fields)


def test_a_line_is_json_private_and_comes_back(tmp_path: Path) -> None:
    audit = Audit(tmp_path / "state" / "audit.jsonl")
    audit.append(_entry(1, shell="cockpit job kill llm", uid="u1"))
    audit.append(_entry(1, step="outcome", state="done", sentence="Killed\nmpijob"))
    lines = audit.path.read_text().splitlines()
    assert [json.loads(one)["step"] for one in lines] == ["intent", "outcome"]
    assert stat.S_IMODE(audit.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(audit.path.parent.stat().st_mode) == 0o700
    assert [one.audit_id for one in audit.entries()] == ["id1", "id1"]


def test_every_line_says_who_sits_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "ann")
    monkeypatch.setattr("socket.gethostname", lambda: "bastion-1")
    Audit(tmp_path / "a").append(_entry())
    assert json.loads((tmp_path / "a").read_text())["local_user"] == "ann@bastion-1"

    def nobody() -> str:
        raise OSError("No username set in the environment")

    monkeypatch.setattr("getpass.getuser", nobody)
    Audit(tmp_path / "b").append(_entry())
    assert "local_user" not in json.loads((tmp_path / "b").read_text())


def test_a_wider_file_is_narrowed(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_text("")
    path.chmod(0o644)
    Audit(path).append(_entry())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_rotation_loses_nothing_that_is_kept(tmp_path: Path) -> None:
    audit = Audit(tmp_path / "audit.jsonl", largest_bytes=2000)
    for number in range(60):
        audit.append(_entry(number))
    sizes = [path.stat().st_size for path in tmp_path.glob("audit.jsonl*")]
    assert len(sizes) > 4 and max(sizes) <= 2000
    assert [entry.audit_id for entry in audit.entries()] == [f"id{number}" for number in range(60)]


def test_a_full_file_is_kept_for_the_configured_time(tmp_path: Path) -> None:
    audit = Audit(tmp_path / "audit.jsonl", largest_bytes=2000, keep_seconds=20.0)
    for number in range(60):  # a line each second
        audit.append(_entry(number))
    numbers = [int(entry.audit_id[2:]) for entry in audit.entries()]
    assert numbers == list(range(numbers[0], 60))
    assert 20 <= len(numbers) <= 40  # the last 20 s, and what shares a file with them


def test_the_older_file_of_before_is_read_first_and_never_overwritten(tmp_path: Path) -> None:
    old = Audit(tmp_path / "old", who="")
    old.append(_entry(0))
    (tmp_path / "old").rename(tmp_path / "audit.jsonl.1")
    audit = Audit(tmp_path / "audit.jsonl", largest_bytes=300)
    for number in range(1, 5):
        audit.append(_entry(number))
    assert [entry.audit_id for entry in audit.entries()] == [f"id{number}" for number in range(5)]


def test_a_damaged_line_is_skipped_by_its_number(tmp_path: Path) -> None:
    audit = Audit(tmp_path / "audit.jsonl")
    audit.append(_entry(1))
    with audit.path.open("a") as file:
        file.write('{"half\n[]\n{"audit_id": 7}\n')
    audit.append(_entry(2))
    assert [entry.audit_id for entry in audit.entries()] == ["id1", "id2"]
    damaged = [it for it in audit.lines() if isinstance(it, DamagedLine)]
    assert [(it.file, it.number) for it in damaged] == [(str(audit.path), number) for number in (2, 3, 4)]


def test_a_line_after_one_that_was_cut_off_is_whole(tmp_path: Path) -> None:
    audit = Audit(tmp_path / "audit.jsonl")
    audit.append(_entry(1))
    with audit.path.open("a") as file:
        file.write('{"audit_id": "id2", "st')  # its process was killed
    audit.append(_entry(3))
    assert [entry.audit_id for entry in audit.entries()] == ["id1", "id3"]


@pytest.mark.parametrize(
    "fault", [OSError(errno.ENOSPC, "No space left on device"), OSError(errno.EIO, "I/O")]
)
@pytest.mark.parametrize("taken", [0, 1, 40])
def test_a_line_that_does_not_fit_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: OSError, taken: int
) -> None:
    audit = Audit(tmp_path / "audit.jsonl")
    audit.append(_entry(1))
    before, write, tries = audit.path.read_bytes(), os.write, []

    def full(handle: int, data: bytes) -> int:
        tries.append(len(data))
        if len(tries) > 1 or not taken:
            raise fault
        return write(handle, bytes(data[:taken]))

    monkeypatch.setattr("os.write", full)
    with pytest.raises(BadInput, match="no change is made without an audit line"):
        audit.append(_entry(2))
    assert audit.path.read_bytes() == before
    monkeypatch.setattr("os.write", lambda handle, data: write(handle, bytes(data[:7])))  # short writes
    audit.append(_entry(3))
    assert [entry.audit_id for entry in audit.entries()] == ["id1", "id3"]


def test_fields_of_a_newer_version_are_kept(tmp_path: Path) -> None:
    audit = Audit(tmp_path / "audit.jsonl", who="")
    audit.append(_entry(1))
    tree = json.loads(audit.path.read_text())
    audit.path.write_text(json.dumps(tree | {"witnesses": ["a"], "acts_like": {"name": "b"}}) + "\n")
    (entry,) = audit.entries()
    assert entry.newer == {"witnesses": ["a"], "acts_like": {"name": "b"}}
    again = Audit(tmp_path / "copy", who="")
    again.append(entry)
    assert (
        json.loads(again.path.read_text()).items() >= {"witnesses": ["a"], "acts_like": {"name": "b"}}.items()
    )


def test_a_file_that_another_process_keeps_locked_is_one_sentence(tmp_path: Path) -> None:
    audit = Audit(tmp_path / "audit.jsonl")
    audit.append(_entry(1))
    handle = os.open(tmp_path / ".audit.jsonl.lock", os.O_RDWR)
    fcntl.flock(handle, fcntl.LOCK_EX)
    with pytest.raises(TimeoutError, match="another process keeps it locked"):
        LockedFile(audit.path, 1000, tries=1).append(b"{}")
    os.close(handle)
    audit.append(_entry(2))
    assert [entry.audit_id for entry in audit.entries()] == ["id1", "id2"]


_WRITER = """
import os, random, sys
from pathlib import Path
from cockpit.errors import BadInput
from cockpit.local_state.audit import Audit, Entry

folder, name = Path(sys.argv[1]), sys.argv[2]
luck, write = random.Random(name), os.write

def nearly_full(handle, data):
    if luck.random() < 0.05:  # a part fits, and then nothing
        write(handle, bytes(data[: luck.randrange(len(data))]))
        raise OSError(28, "No space left on device")
    return write(handle, bytes(data[: luck.randrange(1, len(data) + 1)]) if luck.random() < 0.1 else data)

os.write, os.fsync = nearly_full, lambda _handle: None
audit = Audit(folder / "audit.jsonl", largest_bytes=20_000, who=name)
written = []
for number in range(10_000):
    try:
        about = {"step": "intent", "at_seconds": 1.0, "verb": "kill", "target": "x"}
        audit.append(Entry(audit_id=f"{name}{number}", **about))
        written.append(f"{name}{number}")
    except BadInput:
        pass
os.write, os.fsync = write, os.fsync
(folder / f"written-{name}").write_text("\\n".join(written))
"""


def test_two_processes_lose_no_line_that_was_reported_written(tmp_path: Path) -> None:
    """10,000 lines each over rotations on a nearly full disk; they lost 1,417 of 1,425 lines at the bound."""
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, str(tmp_path), name]) for name in ("a", "b")]
    assert [writer.wait() for writer in writers] == [0, 0]
    lines = list(Audit(tmp_path / "audit.jsonl").lines())
    assert all(isinstance(it, Entry) for it in lines)
    found = Counter(it.audit_id for it in lines if isinstance(it, Entry))
    for name in ("a", "b"):
        written = (tmp_path / f"written-{name}").read_text().split("\n")
        assert 9_000 < len(written) < 10_000  # some did not fit, and were told as that
        assert [audit_id for audit_id in found if audit_id.startswith(name)] == written
    assert set(found.values()) == {1}
    assert len(list(tmp_path.glob("audit.jsonl.*"))) > 50


def test_a_file_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    folder = tmp_path / "audit.jsonl"
    folder.mkdir()
    with pytest.raises(BadInput, match="no change is made without an audit line"):
        Audit(folder).append(_entry())


def test_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    os.symlink(elsewhere, tmp_path / "audit.jsonl")
    with pytest.raises(BadInput):
        Audit(tmp_path / "audit.jsonl").append(_entry())
    assert not elsewhere.exists()


@pytest.mark.parametrize(
    "secret_line",
    [
        "cockpit job submit x --set 'command=env WANDB_API_KEY=hunter2hunter2 python t.py'",
        "cockpit job submit x --set 'command=train --token hunter2hunter2'",
        "curl https://user:hunter2hunter2@example.com/x",
        "command=run --password=hunter2hunter2",
        'env SECRET="hunter2hunter2 more" run',
    ],
)
def test_secrets_do_not_reach_the_file(tmp_path: Path, secret_line: str) -> None:
    audit = Audit(tmp_path / "audit.jsonl")
    audit.append(_entry(shell=secret_line))
    text = audit.path.read_text()
    assert "hunter2" not in text
    assert HIDDEN in text


def test_the_digest_tells_bodies_apart_and_ignores_the_order_of_keys() -> None:
    assert body_digest({"a": 1, "b": 2}) == body_digest({"b": 2, "a": 1})
    assert body_digest({"a": 1}) != body_digest({"a": 2})
    assert body_digest(None) == ""
