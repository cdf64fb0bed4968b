"""`cockpit job efficiency` and `record`: out of logs, and out of what was kept once these are gone."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from cockpit.model.job import JobObject, ReplicaSpec
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from tests.tui import scripted_logs
from tests.unit.cli.builders import Cluster, Line, run
from tests.unit.jobs.training_logs import log

API = "kubeflow.org/v2beta1"
MAPS = "/api/v1/namespaces/team-a/configmaps"
LOGS = {
    "bare": log("own", 61, rate=1784.0, size=4),
    "pods": log("own", 61, rate=1709.0, size=4),
    "one": log("own", 62, rate=210.0, size=1),
    "many": log("own", 62, rate=0.9 * 64 * 210.0, size=64),
}
GPUS = {"bare": 4, "pods": 4, "one": 1, "many": 64, "mute": 1}


def gang(cluster: Cluster, name: str) -> None:
    spec = (ReplicaSpec("worker", 1, GPUS[name], "nvidia.com/gpu"),)
    cluster.add(
        Kind.MPIJOB,
        JobObject(uid=name, name=name, namespace="team-a", api_version=API, kind="MPIJob", replicas=spec),
    )
    for role in ("launcher", "worker"):
        cluster.add(
            Kind.POD,
            Pod(
                uid=f"{name}-{role}", name=f"{name}-{role}-0", namespace="team-a", phase="Running", node="n1",
                role=role, rank=0 if role == "worker" else None, owner_api_version=API, owner_kind="MPIJob",
                owner_name=name, owner_uid=name, job_label=name,
                gpus=GPUS[name] if role == "worker" else 0,
            ),
        )  # fmt: skip


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, cluster: Cluster, tmp_path: Path) -> Cluster:
    """Five jobs, four of which tell what they do."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    @asynccontextmanager
    async def stream(_self: Line, path: str, *, query: Any, accept: str) -> AsyncIterator[Any]:
        name = path.split("/")[-2].partition("-")[0]
        lines = LOGS[name].lines if name in LOGS and "launcher" in path else []
        async with scripted_logs.answer(lines, query) as answer:
            yield answer

    monkeypatch.setattr(Line, "stream", stream, raising=False)
    for name in GPUS:
        gang(cluster, name)
    return cluster


def test_overhead_between_two_runs(runs: Cluster, capsys: Any) -> None:
    code, out, _ = run(capsys, "job", "efficiency", "bare", "pods")
    assert code == 0
    assert out.splitlines()[-1] == "overhead 4.2 % of team-a/pods against team-a/bare, 4 GPUs against 4"


def test_scaling_efficiency_against_one_gpu(runs: Cluster, capsys: Any) -> None:
    code, out, _ = run(capsys, "job", "efficiency", "mpijob/team-a/one", "team-a/many")
    assert code == 0
    assert out.splitlines()[-1] == (
        "scaling efficiency 90.0 % of team-a/many against team-a/one, 64 GPUs against 1 (57.60 times as fast)"
    )
    assert "GPU-hours per million samples" in out
    code, out, _ = run(capsys, "job", "efficiency", "one", "many", "-o", "json")
    tree = json.loads(out)
    assert round(tree["efficiency_ratio"], 3) == 0.9 and tree["overhead_ratio"] is None
    assert (tree["run"]["gpus"], tree["run"]["unit"]) == (64, "samples/s")


def test_what_was_read_once_is_compared_when_the_jobs_are_gone(runs: Cluster, capsys: Any) -> None:
    _, before, _ = run(capsys, "job", "efficiency", "bare", "pods")
    runs.records.clear()
    code, after, _ = run(capsys, "job", "efficiency", "bare", "pods")
    assert (code, after) == (0, before)


def test_a_record_in_the_cluster_is_found_by_those_who_never_saw_the_run(runs: Cluster, capsys: Any) -> None:
    code, _, err = run(capsys, "job", "record", "bare", "--write", "--yes")
    assert code == 0, err
    (call,) = runs.sent
    assert (call.method, call.path) == ("POST", MAPS)
    assert call.body["metadata"]["labels"] == {"gpu-cockpit.io/run-record": "true"}
    assert len(call.body["data"]["run.json"]) <= 2048
    runs.records.clear()
    runs.reads[MAPS] = [{"items": [call.body, {"data": {"run.json": "{"}}, {"data": None}, 7]}]
    code, out, _ = run(capsys, "job", "efficiency", "team-a/bare", "team-a/bare")
    assert code == 0 and "overhead 0.0 %" in out


def test_what_was_shown_is_what_is_sent_although_the_log_goes_on(
    runs: Cluster, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = iter(range(2, 100))

    @asynccontextmanager
    async def stream(_self: Line, path: str, *, query: Any, accept: str) -> AsyncIterator[Any]:
        async with scripted_logs.answer(LOGS["bare"].lines[: 100 * next(reads)], query) as answer:
            yield answer

    monkeypatch.setattr(Line, "stream", stream)
    code, _, err = run(capsys, "job", "record", "bare", "--write", "--yes")
    assert code == 0, err
    assert [call.body["data"] for call in runs.rehearsed] == [call.body["data"] for call in runs.sent]


def test_a_newer_record_takes_the_place_of_the_older(runs: Cluster, capsys: Any) -> None:
    there = {"metadata": {"uid": "m", "resourceVersion": "5"}, "data": {}}
    runs.reads[f"{MAPS}/bare-run-bare"] = [there]
    code, _, err = run(capsys, "job", "record", "bare", "--write", "--yes")
    assert code == 0, err
    (call,) = runs.sent
    assert (call.method, call.path) == ("PATCH", f"{MAPS}/bare-run-bare")
    assert call.body["metadata"] == {"uid": "m", "resourceVersion": "5"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("efficiency", "bare", "nobody"), "nobody"),
        (("efficiency", "bare", "mute"), "team-a/mute reported no throughput yet"),
        (("record", "mute", "--write", "--yes"), "team-a/mute told no throughput in its log yet"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(
    runs: Cluster, capsys: Any, words: tuple[str, ...], sentence: str
) -> None:
    code, out, err = run(capsys, "job", *words)
    assert (code, out) == (2, "") and sentence in err
    assert runs.sent == []
