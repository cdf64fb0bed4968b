"""Audit lines: whole, private, bounded, and without secrets."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from cockpit.errors import BadInput
from cockpit.local_state.audit import Audit, Entry, body_digest
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


def test_rotation_bounds_the_space_and_loses_only_the_oldest(tmp_path: Path) -> None:
    audit = Audit(tmp_path / "audit.jsonl", largest_bytes=2000)
    for number in range(60):
        audit.append(_entry(number))
    sizes = [one.stat().st_size for one in tmp_path.iterdir()]
    assert len(sizes) == 2
    assert sum(sizes) <= 4000
    numbers = [int(one.audit_id[2:]) for one in audit.entries()]
    assert numbers == list(range(numbers[0], 60))


def test_broken_lines_are_passed_over(tmp_path: Path) -> None:
    audit = Audit(tmp_path / "audit.jsonl")
    audit.append(_entry(1))
    with audit.path.open("a") as file:
        file.write('{"half\n[]\n')
    audit.append(_entry(2))
    assert [one.audit_id for one in audit.entries()] == ["id1", "id2"]


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
