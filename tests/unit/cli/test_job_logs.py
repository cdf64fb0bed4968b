"""`cockpit job logs`: whose lines are printed, in which order, and what is told when they cannot be."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cockpit.kube.answer import ApiAnswer
from cockpit.model.job import JobObject, ReplicaSpec
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from tests.tui import scripted_logs
from tests.unit.cli.builders import Cluster, Line, run

API = "kubeflow.org/v2beta1"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, cluster: Cluster) -> list[dict[str, str]]:
    """Queries of the logs that were read, of a gang of a launcher and three workers."""
    left: list[dict[str, str]] = []

    @asynccontextmanager
    async def stream(_self: Line, path: str, *, query: Any, accept: str) -> AsyncIterator[Any]:
        left.append({**dict(query), "pod": path.split("/")[-2]})
        async with scripted_logs.stream(path, query=[one for one in query if one[0] != "follow"]) as answer:
            yield answer

    monkeypatch.setattr(Line, "stream", stream, raising=False)
    gang(cluster, "Running")
    return left


def gang(cluster: Cluster, phase: str) -> None:
    spec = (ReplicaSpec("worker", 3, 2, "nvidia.com/gpu"),)
    cluster.add(
        Kind.MPIJOB,
        JobObject(
            uid="u", name="llm", namespace="team-a", api_version=API, kind="MPIJob", replicas=spec,
            finished_seconds=1.0 if phase == "Succeeded" else None, succeeded=int(phase == "Succeeded"),
        ),
    )  # fmt: skip
    for name, rank in (("launcher-x", None), ("worker-0", 0), ("worker-1", 1), ("worker-2", 2)):
        cluster.add(
            Kind.POD,
            Pod(
                uid=name, name=f"llm-{name}", namespace="team-a", phase=phase, node="n1", rank=rank,
                role=name.split("-")[0], containers="main,istio-proxy" if rank == 1 else "main",
                owner_api_version=API, owner_kind="MPIJob", owner_name="llm", owner_uid="u", job_label="llm",
            ),
        )  # fmt: skip


def test_all_members_by_time(asked: list[dict[str, str]], capsys: Any) -> None:
    code, out, err = run(capsys, "job", "logs", "llm")
    lines = out.splitlines()
    assert (code, err, len(lines)) == (0, "", 50)
    assert lines[0] == "worker 0  sshd: Server listening on 0.0.0.0 port 2222."
    assert lines[3].startswith("launcher  + mpirun") and "step 1590" in lines[-1]
    assert {(one["pod"], one.get("container", "")) for one in asked} == {
        ("llm-launcher-x", ""),
        ("llm-worker-0", ""),
        ("llm-worker-1", "main"),
        ("llm-worker-2", ""),
    }
    assert all(one["tailLines"] == "1000" and "follow" not in one for one in asked)


def test_in_and_out_members_and_moments(asked: list[dict[str, str]], capsys: Any) -> None:
    words = ("--rank", "1-2", "--grep", "nccl", "--not", "WARN", "--times")
    code, out, _ = run(capsys, "job", "logs", "team-a/llm", *words)
    assert code == 0
    assert [line[:22] for line in out.splitlines()] == ["14:11:01.100 worker 1 ", "14:11:01.200 worker 2 "]
    assert {one["pod"] for one in asked} == {"llm-worker-1", "llm-worker-2"}


def test_since_tail_and_the_run_before(asked: list[dict[str, str]], capsys: Any) -> None:
    code, out, _ = run(capsys, "job", "logs", "llm", "--since", "10m", "--rank", "launcher")
    assert code == 0 and out and asked[-1]["sinceSeconds"] == "600" and "tailLines" not in asked[-1]
    code, out, _ = run(capsys, "job", "logs", "llm", "--tail", "3", "--rank", "launcher")
    assert len(out.splitlines()) == 3
    code, out, _ = run(capsys, "job", "logs", "llm", "--previous", "--rank", "0")
    assert out.strip().endswith("CUDA out of memory") and asked[-1]["previous"] == "true"


def test_a_file_of_ones_own(asked: list[dict[str, str]], capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "llm.log"
    code, out, err = run(capsys, "job", "logs", "llm", "--rank", "2", "--save", str(path))
    assert (code, out, err) == (0, "", f"cockpit: saved 5 lines to {path}\n")
    assert len(path.read_text().splitlines()) == 5
    code, _, err = run(capsys, "job", "logs", "llm", "--save", str(path))
    assert code == 2 and "already exists and was not overwritten" in err


def test_following_ends_with_the_job(
    monkeypatch: pytest.MonkeyPatch, asked: list[dict[str, str]], cluster: Cluster, capsys: Any
) -> None:
    monkeypatch.setattr("cockpit.commands.logs.LOOK_SECONDS", 0.01)
    cluster.records.clear()
    gang(cluster, "Succeeded")
    code, out, _ = run(capsys, "job", "logs", "llm", "--follow")
    assert code == 0 and len(out.splitlines()) == 50, "each line once, though each log was read twice"
    assert sum(one.get("follow") == "true" for one in asked) == 4


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("llm", "--since", "soon"), "--since 'soon' is not a valid duration; write for example 30s"),
        (("llm", "--grep", "("), "'(' is not a regular expression"),
        (("llm", "--not", "["), "'[' is not a regular expression"),
        (("llm", "--rank", "3-1"), "runs backwards; write rank:1-3"),
        (("llm", "--rank", "7"), "no such member; there are launcher, worker 0, worker 1, worker 2"),
        (("llm", "--tail", "-1"), "'-1' is not a whole number"),
        (("llm", "--previous", "--follow"), "the previous run has ended"),
        (("llm", "--save", "/nowhere/x.log"), "cannot be created"),
        (("nobody",), "there is no job 'nobody'"),
        (("a/b/c/d",), "is not a job"),
    ],
)
def test_bad_input(asked: list[dict[str, str]], capsys: Any, words: tuple[str, ...], part: str) -> None:
    code, out, err = run(capsys, "job", "logs", *words)
    assert (code, out) == (2, "")
    assert part in err and err.count("\n") == 1


def test_logs_that_cannot_be_read_end_with_code_1(
    monkeypatch: pytest.MonkeyPatch, asked: list[dict[str, str]], capsys: Any
) -> None:
    @asynccontextmanager
    async def stream(_self: Line, path: str, **_: Any) -> AsyncIterator[Any]:
        async def answer() -> Any:
            said = {"kind": "Status", "message": "container is waiting to start: ContainerCreating"}
            return ApiAnswer(400, "application/json", json.dumps(said).encode())

        yield SimpleNamespace(status=400, answer=answer)

    monkeypatch.setattr(Line, "stream", stream)
    code, out, err = run(capsys, "job", "logs", "llm", "--rank", "0-1")
    assert (code, out) == (1, "")
    assert "worker 0: No log of team-a/llm-worker-0: container is waiting to start" in err
    assert "no log of llm could be read" in err


def test_one_stream_alone_is_read_for_the_last_hour(asked: list[dict[str, str]], capsys: Any) -> None:
    code, out, err = run(capsys, "job", "logs", "llm", "--stream", "stderr")
    assert (code, bool(out)) == (0, True)
    assert "the last hour" in err
    assert {(one["stream"], one["sinceSeconds"]) for one in asked} == {("Stderr", "3600")}
    assert not any("tailLines" in one for one in asked)
    asked.clear()
    assert run(capsys, "job", "logs", "llm", "--stream", "stdout", "--since", "10m")[2] == ""
    assert {(one["stream"], one["sinceSeconds"]) for one in asked} == {("Stdout", "600")}


def test_a_number_of_lines_of_one_stream_cannot_be_had(asked: list[dict[str, str]], capsys: Any) -> None:
    code, out, err = run(capsys, "job", "logs", "llm", "--stream", "stderr", "--tail", "5")
    assert (code, out) == (2, "") and "--tail and --stream exclude each other" in err
    code, _, err = run(capsys, "job", "logs", "llm", "--stream", "both")
    assert code == 2 and "stdout" in err
    assert asked == []
