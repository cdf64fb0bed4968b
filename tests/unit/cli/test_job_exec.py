"""`cockpit job exec`: which member is meant, what is run there, and its exit code."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from cockpit.kube.exec import Command
from cockpit.model.job import JobObject, ReplicaSpec
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from tests.unit.cli.builders import Cluster, run

API = "kubeflow.org/v2beta1"


class Peer:
    """A command that says hello on both streams and ends with 7."""

    def __init__(self) -> None:
        self.exit_code: int | None = None
        self._pieces = [("stdout", b"hello\n"), ("stderr", b"oh\n")]

    async def read(self) -> tuple[str, bytes] | None:
        if self._pieces:
            return self._pieces.pop(0)
        self.exit_code = 7
        return None

    async def write(self, data: bytes) -> None: ...
    async def close_input(self) -> None: ...
    async def resize(self, columns: int, rows: int) -> None: ...


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, cluster: Cluster, tmp_path: Path) -> list[Command]:
    """Commands that left, to a gang of a launcher and two workers of team-a."""
    left: list[Command] = []

    @asynccontextmanager
    async def open_exec(_session: Any, command: Command) -> AsyncIterator[Peer]:
        left.append(command)
        yield Peer()

    monkeypatch.setattr("cockpit.actions.enter.open_exec", open_exec)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    spec = (ReplicaSpec("worker", 2, 2, "nvidia.com/gpu"),)
    cluster.add(
        Kind.MPIJOB,
        JobObject(uid="u", name="llm", namespace="team-a", api_version=API, kind="MPIJob", replicas=spec),
    )
    for name, rank, role in (
        ("llm-worker-0", 0, "worker"), ("llm-worker-1", 1, "worker"), ("llm-launcher-x", None, "launcher"),
    ):  # fmt: skip
        cluster.add(
            Kind.POD,
            Pod(
                uid=name,
                name=name,
                namespace="team-a",
                phase="Pending" if rank == 0 else "Running",
                node="n1",
                role=role,
                rank=rank,
                containers="main,side" if rank == 1 else "main",
                owner_api_version=API,
                owner_kind="MPIJob",
                owner_name="llm",
                owner_uid="u",
                job_label="llm",
            ),
        )
    return left


def test_a_rank_a_container_and_words_of_any_look(asked: list[Command], capfd: Any, tmp_path: Path) -> None:
    words = ("grep", "--write", "-x", "a b", "--")
    code, out, err = run(
        capfd, "job", "exec", "llm", "--rank", "1", "--container", "side", "--write", "--", *words
    )
    assert (code, out, err) == (7, "hello\n", "oh\n")
    (command,) = asked
    assert (command.namespace, command.pod, command.container) == ("team-a", "llm-worker-1", "side")
    assert (command.words, command.is_tty) == (words, False)
    audit = (tmp_path / "state/gpu-cockpit/audit.jsonl").read_text().splitlines()
    assert [(json.loads(one)["verb"], json.loads(one)["step"]) for one in audit] == [
        ("enter", "intent"),
        ("enter", "outcome"),
    ]


def test_without_a_rank_the_first_that_runs_and_a_shell(asked: list[Command], capfd: Any) -> None:
    assert run(capfd, "job", "exec", "team-a/llm", "--write")[0] == 7
    (command,) = asked
    assert command.pod == "llm-launcher-x"
    assert command.words[:2] == ("sh", "-c")


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("llm",), "read-only"),
        (("llm", "--rank", "5", "--write"), "has no member of rank 5; it has 0 to 1"),
        (("llm", "--rank", "1", "--write"), "has several containers: choose one of main, side"),
        (("llm", "--container", "x", "--write"), "has no container 'x'; it has main"),
        (("nobody", "--write"), "there is no job 'nobody'"),
        (("a/b/c/d", "--write"), "is not a job"),
        (("llm", "--rank", "first"), "'first' is not a whole number"),
        ((), "the following arguments are required: NAME"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    asked: list[Command], capfd: Any, words: tuple[str, ...], part: str
) -> None:
    code, out, err = run(capfd, "job", "exec", *words)
    assert (code, out) == (2, "")
    assert part in err and err.count("\n") == 1
    assert asked == []


def test_only_exec_takes_words_behind_two_dashes(cluster: Cluster, capfd: Any) -> None:
    code, _, err = run(capfd, "get", "jobs", "-n", "exec", "--", "ls")
    assert code == 2
    assert "only `job exec` accepts a command after --" in err
