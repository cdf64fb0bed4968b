"""Every command that tells of idle jobs, asked about the same estate: they agree."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from cockpit.local_state.history import LocalHistory, history_path
from tests.unit.cli import resting
from tests.unit.cli.builders import Attached, Cluster, read_json, run
from tests.unit.cli.resting import DARK, IDLE, JOBS, LOADS, UNSEEN, WARMS, WORKS

Capture = pytest.CaptureFixture[str]
SAID = "idle: 2 GPUs at 0% duty, no CPU, network or disk for"


@pytest.fixture
def estate(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Jobs whose cards do nothing for different reasons; a Prometheus remembers their pods."""
    now = time.time()
    resting.rest(cluster, now)

    async def lines(_self: Any, pods: Any) -> Any:
        return await resting.lines(pods, now)

    monkeypatch.setattr(Attached, "lines", lines)
    return cluster


def rows(capsys: Capture) -> Mapping[str, str]:
    """What the row of each job says."""
    tree = read_json(run(capsys, "get", "jobs", "-o", "json")[1])
    return {one["name"]: one["why"] for one in tree["items"]}


def why(capsys: Capture, name: str) -> str:
    code, out, _err = run(capsys, "why", f"job/{name}")
    assert code == 0, "that a job idles is no trouble of its own"
    return out.splitlines()[1]


def told_by_triage(capsys: Capture) -> Mapping[str, str]:
    """The sentence of each finding about GPUs that do nothing, by job."""
    found = read_json(run(capsys, "triage", "-o", "json")[1])["items"]
    return {one["subject"]: one["sentence"] for one in found if one["finding"] == "job-idle"}


def test_only_the_idle_job_is_called_idle_and_by_all(estate: Cluster, capsys: Capture) -> None:
    told = rows(capsys)
    assert set(told) == set(JOBS)
    assert {name for name, said in told.items() if "idle" in said} == {IDLE}
    assert told[IDLE].startswith(SAID)
    for name in JOBS:
        assert ("idle" in why(capsys, name)) == (name == IDLE), name
    assert why(capsys, IDLE).startswith(SAID)
    pod = run(capsys, "why", f"pod/{IDLE}-worker-0")[1]
    assert SAID not in pod and "nothing" in pod, "it is the job that idles"

    found = told_by_triage(capsys)
    assert set(found) == {f"team-a/{IDLE}", f"team-a/{DARK}"}
    assert found[f"team-a/{IDLE}"].startswith(SAID.removeprefix("idle: "))
    assert found[f"team-a/{DARK}"] == ("2 GPUs allocated, duty 0%, 37 GiB of memory kept; disk not collected")

    fleet = read_json(run(capsys, "fleet", "-o", "json")[1])
    assert [one["jobs"] for one in fleet["idle"]] == [[f"team-a/{IDLE}"]]
    assert [one["jobs"] for one in fleet["idle_not_known"]] == [[f"team-a/{DARK}"]]
    assert fleet["idle_gpu_hours"] == pytest.approx(resting.GPUS * resting.IDLE_MINUTES / 60, rel=0.02)
    drawn = run(capsys, "fleet")[1]
    assert "2 allocated GPUs idle: 2.0 GPU-hours so far" in drawn
    assert "2 allocated GPUs at 0% duty: whether idle is not known" in drawn


def test_only_the_idle_job_is_reclaimed_and_the_others_say_what_they_do(
    estate: Cluster, capsys: Capture
) -> None:
    code, out, _err = run(capsys, "pool", "reclaim", "h100", "--jobs", "--dry-run")
    assert code == 0 and "Reclaim 1 job" in out and f"team-a/{IDLE}: mark it" in out
    refused = {
        LOADS: "it is not idle: network was busy a moment ago",
        WARMS: "it is not idle: it is starting",
        DARK: "whether it is idle is not known: disk not collected",
    }
    for name, said in refused.items():
        assert f"left out: mpijob team-a/{name}: {said}" in out
    for name in JOBS:
        code, out, err = run(capsys, "job", "reclaim", name, "--dry-run")
        assert (code == 0) == (name == IDLE), name
        assert refused.get(name, "") in err
    assert "whether it is idle is not known" in run(capsys, "job", "reclaim", UNSEEN, "--dry-run")[2]
    assert "a kernel ran a moment ago" in run(capsys, "job", "reclaim", WORKS, "--dry-run")[2]
    assert estate.sent == []


def test_the_filter_of_a_command_sees_the_rows_as_they_are_drawn(estate: Cluster, capsys: Capture) -> None:
    code, out, _err = run(capsys, "job", "reclaim", "--filter", "why:idle", "--dry-run")
    assert code == 0 and "mark it" in out and f"team-a/{IDLE}" in out


@pytest.mark.parametrize(
    ("set_", "words", "said"),
    [
        ('reclaim-grace = "1h"', (), "reclaim it again then, in 60 min: it is suspended"),
        ('reclaim-grace = "1h"', ("--grace", "20m"), "reclaim it again then, in 20 min: it is suspended"),
        ('reclaim-grace = "0"', (), "Reclaim mpijob team-a/idle: suspend it"),
        ('reclaim-idle-for = "2h"', (), "it is not idle: a kernel ran 60 min ago"),
        ('reclaim-idle-for = "2h"', ("--idle-for", "30m"), "mark it"),
        ('reclaim-idle-for = "4h"', (), 'reclaim-idle-for: give a time from "10m" to "3h", not'),
    ],
)
def test_window_and_grace_are_typed_else_set_else_as_always(
    set_: str, words: tuple[str, ...], said: str, estate: Cluster, home: Path, capsys: Capture
) -> None:
    (home / "config" / "gpu-cockpit" / "config.toml").write_text(f"[context.prod]\n{set_}\n")
    _code, out, err = run(capsys, "job", "reclaim", IDLE, *words, "--dry-run")
    assert said in out + err


# ---- what is remembered of it

RECLAIMS = (("pool", "reclaim", "h100", "--jobs"), ("job", "reclaim", IDLE))
SERVED = "https://prod.example"


def kept(home: Path) -> LocalHistory:
    return LocalHistory(history_path(home / "state" / "gpu-cockpit", "prod", SERVED))


@pytest.mark.parametrize("words", RECLAIMS, ids=" ".join)
def test_what_was_reclaimed_is_remembered_and_told_of_its_pool(
    words: tuple[str, ...], estate: Cluster, home: Path, capsys: Capture
) -> None:
    code, out, _err = run(capsys, *words, "--write", "--yes")
    assert code == 0 and "mark" in out.lower() and kept(home).reclaims() == (), "nothing is given back yet"
    resting.mark(estate, time.time())
    code, out, err = run(capsys, *words, "--write", "--yes")
    assert code == 0, err
    assert estate.sent[-1].body["spec"] == {"runPolicy": {"suspend": True}}
    (one,) = kept(home).reclaims()
    assert (one.pool_key, one.what) == (
        "MachineDeployment.cluster.x-k8s.io/capi/h100",
        f"mpijob team-a/{IDLE}",
    )
    assert one.gpu_hours == pytest.approx(2.0, rel=0.02) and abs(one.at_seconds - time.time()) < 60
    (told,) = read_json(run(capsys, "pool", "show", "h100", "-o", "json")[1])["reclaimed"]
    assert told == {"what": one.what, "at_seconds": one.at_seconds, "gpu_hours": one.gpu_hours}
    assert "1 job in 7 days" in run(capsys, "pool", "show", "h100")[1]
    kept(home).path.unlink()
    assert "1 job in 7 days" not in run(capsys, "pool", "show", "h100")[1], "only history is lost"


def _damaged(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4_096)


def _folder(path: Path) -> None:
    path.mkdir(parents=True)


def _shut(path: Path) -> None:
    """No folder can be made there, whoever one is."""
    path.parent.parent.mkdir(parents=True)
    path.parent.write_text("")


@pytest.mark.parametrize("spoil", [_damaged, _folder, _shut])
def test_a_history_that_cannot_be_used_costs_nothing_but_a_sentence(
    spoil: Callable[[Path], None], estate: Cluster, home: Path, capsys: Capture
) -> None:
    spoil(kept(home).path)
    resting.mark(estate, time.time())
    code, _out, err = run(capsys, *RECLAIMS[0], "--write", "--yes")
    assert code == 0 and len(estate.sent) == 1
    assert "the local history" in err and err.count("\n") == 1
    assert run(capsys, "pool", "show", "h100")[0] == 0 and estate.sent
