"""Recorded actions repeated on another cluster: only their command lines count, planned anew there."""

import json
from pathlib import Path
from typing import Any

import pytest

from cockpit.model.job import JobObject, ReplicaSpec
from cockpit.model.record import Kind
from tests.unit.cli.builders import Cluster, run

Capture = pytest.CaptureFixture[str]


def line(audit_id: str, shell: str, step: str = "outcome", state: str = "done", **more: Any) -> str:
    """One audit line."""
    fields = {"audit_id": audit_id, "step": step, "at_seconds": 1.0, "verb": "kill", "target": "x"}
    return json.dumps({**fields, "shell": shell, "state": state, **more})


def written(tmp_path: Path, *lines: str) -> str:
    file = tmp_path / "recorded.jsonl"
    file.write_text("\n".join(lines) + "\n")
    return str(file)


def gang(cluster: Cluster, name: str) -> None:
    cluster.add(
        Kind.MPIJOB,
        JobObject(
            uid=f"uid-{name}",
            name=name,
            namespace="team-a",
            resource_version="41",
            api_version="kubeflow.org/v2beta1",
            kind="MPIJob",
            replicas=(ReplicaSpec("worker", 2, 2, "nvidia.com/gpu"),),
        ),
    )


KILL = "cockpit job kill mpijob/team-a/llm --context old --write"


def test_what_was_done_is_planned_anew_on_the_other_cluster(
    cluster: Cluster, tmp_path: Path, capsys: Capture
) -> None:
    gang(cluster, "llm")
    file = written(
        tmp_path,
        line("a", KILL, step="intent", state=""),
        line("a", KILL),
        line("b", KILL.replace("llm", "never"), state="refused"),
    )
    code, out, _err = run(capsys, "audit", "apply", file, "--context", "new", "--write", "--yes")
    assert code == 0
    assert f"1 of 1: {KILL}" in out
    (call,) = cluster.sent
    assert call.path.endswith("/mpijobs/llm")
    assert call.body["preconditions"]["uid"] == "uid-llm", "the uid is that of the other cluster's object"


def test_nothing_is_written_without_write_whatever_the_line_says(
    cluster: Cluster, tmp_path: Path, capsys: Capture
) -> None:
    gang(cluster, "llm")
    file = written(tmp_path, line("a", KILL))
    code, _out, err = run(capsys, "audit", "apply", file, "--context", "new", "--yes")
    assert code == 2 and "read-only" in err
    code, out, _err = run(capsys, "audit", "apply", file, "--context", "new", "--dry-run")
    assert code == 0 and "the cluster would accept it" in out
    assert cluster.sent == []


@pytest.mark.parametrize(
    ("shell", "part"),
    [
        ("cockpit get jobs", "does not change the cluster"),
        ("cockpit demo", "does not change the cluster"),
        ("rm -rf /", "is not a command of this version"),
        ("cockpit job kill 'x", "is not a command of this version"),
        ("cockpit audit apply other.jsonl --context x", "does not change the cluster"),
        ("cockpit job submit mpijob --set token=[hidden]", "contained a secret"),
        ("", "kill: a step of another action"),
        ("kubectl exec -it -n team-a llm-0 -- bash", "is run by kubectl"),
        ("cockpit job kill " + "x" * 2000, "not recorded in full"),
    ],
)
def test_what_cannot_be_repeated_is_left_out_and_told(
    shell: str, part: str, cluster: Cluster, tmp_path: Path, capsys: Capture
) -> None:
    gang(cluster, "llm")
    file = written(tmp_path, line("a", KILL), line("b", shell))
    code, out, err = run(capsys, "audit", "apply", file, "--context", "new", "--write", "--yes")
    assert code == 0 and part in err, err
    assert err.count("left out: ") == 1 and f"left out: {file} line 2: " in err
    assert "usage" not in err and "1 of 1: " in out
    assert [call.method for call in cluster.sent] == ["DELETE"]


def test_a_damaged_line_is_left_out_by_its_number(cluster: Cluster, tmp_path: Path, capsys: Capture) -> None:
    gang(cluster, "llm")
    file = written(tmp_path, '{"half', "", line("a", KILL), line("b", ""), line("c", ""))
    code, _out, err = run(capsys, "audit", "apply", file, "--context", "new", "--write", "--yes")
    assert code == 0 and len(cluster.sent) == 1
    assert f"left out: {file} line 1: it is not a valid audit line" in err
    assert f"left out: {file} line 4 and 1 more: kill: a step of another action" in err


def test_files_that_are_none(cluster: Cluster, tmp_path: Path, capsys: Capture) -> None:
    code, _out, err = run(capsys, "audit", "apply", str(tmp_path / "none"), "--context", "new")
    assert code == 2 and "cannot be read" in err
    code, _out, err = run(capsys, "audit", "apply", written(tmp_path, "{}"), "--context", "new")
    assert code == 2 and "line 1 is not a valid audit line" in err
    code, _out, err = run(capsys, "audit", "apply", written(tmp_path, line("a", KILL)))
    assert code == 2 and "give --context" in err


def test_it_ends_at_the_first_that_fails(cluster: Cluster, tmp_path: Path, capsys: Capture) -> None:
    gang(cluster, "llm")
    file = written(tmp_path, line("a", KILL.replace("llm", "gone")), line("b", KILL))
    code, _out, err = run(capsys, "audit", "apply", file, "--context", "new", "--write", "--yes")
    assert code == 2 and "0 of 2 repeated" in err and "there is no job" in err
    assert cluster.sent == []
