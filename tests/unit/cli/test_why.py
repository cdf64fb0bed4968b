"""`cockpit why` and `cockpit triage`: their sentences, their exit codes, and what a report gives away."""

import asyncio
import json
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from cockpit.catalogue import Cause, by_cause
from cockpit.commands.why import _past
from cockpit.local_state.history import LocalHistory, history_path
from cockpit.model.record import Condition, Kind
from cockpit.model.remembered import PastRun, SessionNotes
from tests.triage.case import report_case
from tests.triage.world import view_of
from tests.unit.cli.builders import Cluster, read_json, run
from tests.unit.pools.builders import deployment, node
from tests.unit.views.builders import NOW, pod

Capture = pytest.CaptureFixture[str]
NO_ROOM = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."


@pytest.fixture
def waiting(cluster: Cluster) -> Cluster:
    """Two whole nodes, and a pod that is larger than either."""
    cluster.add(Kind.NODE, *(node(name, pool="h100", gpus=8) for name in ("n1", "n2")))
    said = {"scheduled": "False", "scheduled_reason": "Unschedulable", "scheduled_message": NO_ROOM}
    cluster.add(Kind.POD, msgspec.structs.replace(pod("big", phase="Pending", gpus=16), node="", **said))
    return cluster


def test_what_waits_is_explained_and_needs_a_human(waiting: Cluster, capsys: Capture) -> None:
    code, out, _ = run(capsys, "why", "pod/big")
    assert code == 3
    first, sentence, *rest = out.splitlines()
    assert first == "why pod team-a/big"
    assert "16 GPUs" in sentence and "8" in sentence
    assert any(line.startswith("Evidence") and NO_ROOM in line for line in rest)


def test_the_funnel_adds_up_as_json(waiting: Cluster, capsys: Capture) -> None:
    tree = read_json(run(capsys, "why", "pod/big", "-o", "json")[1])
    assert tree["subject"] == {"kind": "pod", "namespace": "team-a", "name": "big"}
    assert tree["is_trouble"] and tree["funnel"]["nodes"] == 2
    left = [2, *(one["nodes"] for one in tree["funnel"]["steps"])]
    assert left == sorted(left, reverse=True)
    assert tree["funnel"]["passing"] == left[-1]


def test_a_pool_at_its_maximum_is_trouble_only_while_somebody_waits(
    cluster: Cluster, capsys: Capture
) -> None:
    cluster.add(Kind.NODE, node("n1", pool="h100", gpus=8))
    cluster.add(Kind.POOL, deployment("h100", replicas=1, maximum=1))
    assert run(capsys, "why", "pool/h100")[0] == 0
    cluster.add(Kind.POD, msgspec.structs.replace(pod("late", phase="Pending", gpus=8), node=""))
    code, out, _ = run(capsys, "why", "pool/h100")
    assert code == 3 and "pool h100 is at its maximum 1/1" in out


def test_a_gang_is_explained_by_its_job(waiting: Cluster, capsys: Capture) -> None:
    said = {"scheduled": "False", "scheduled_reason": "Unschedulable", "scheduled_message": NO_ROOM}
    member = msgspec.structs.replace(pod("rank-0", phase="Pending", gpus=16), node="", gang="ring", **said)
    waiting.add(Kind.POD, member)
    code, out, _ = run(capsys, "why", "gang/ring", "-n", "team-a")
    assert code == 3
    assert out.startswith("why gang team-a/ring\n") and "16 GPUs" in out


@pytest.mark.parametrize("subject", ["node/n1", "card/n1/0", "pool/h100"])
def test_where_nothing_is_wrong_the_exit_code_is_0(waiting: Cluster, capsys: Capture, subject: str) -> None:
    code, out, _ = run(capsys, "why", subject)
    assert (code, out.splitlines()[1]) == (0, "nothing is wrong with it")


@pytest.mark.parametrize(
    ("subject", "part"),
    [
        ("llm", "'llm' is not KIND/NAME: KIND is one of job, gang, pod, node, card, queue, pool"),
        ("card/n1", "'card/n1' names no card: write card/NODE/INDEX"),
        ("card/n1/x", "'card/n1/x' names no card"),
        ("pod/a/b/c", "'pod/a/b/c' names no pod: write pod/NAME or pod/NAMESPACE/NAME"),
        ("node/n3", "there is no node 'n3'"),
        ("pod/bigg", "there is no pod 'bigg'"),
        ("job/none", "there is no job 'none'"),
        ("queue/none", "there is no queue 'none'"),
        ("gang/none", "there is no gang 'none'"),
    ],
)
def test_a_name_that_means_nothing_is_told(
    waiting: Cluster, capsys: Capture, subject: str, part: str
) -> None:
    code, out, err = run(capsys, "why", subject)
    assert (code, out) == (2, "")
    assert part in err and len(err.splitlines()) == 1


def test_triage_says_what_now_says(waiting: Cluster, capsys: Capture) -> None:
    lost = Condition("Ready", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.", 1_000.0)
    gone = msgspec.structs.replace(node("n3", pool="h100", gpus=8), conditions=(lost,))
    waiting.add(Kind.NODE, gone)
    code, out, _ = run(capsys, "triage")
    assert code == 3
    assert "n3" in out
    items = read_json(run(capsys, "triage", "-o", "json")[1])["items"]
    assert "n3" in [one["subject_key"] for one in items]


def test_triage_of_a_quiet_cluster(cluster: Cluster, capsys: Capture) -> None:
    cluster.add(Kind.NODE, node("n1", pool="h100", gpus=8))
    assert run(capsys, "triage")[:2] == (0, "nothing needs a human\n")


# ---- the report


def test_a_report_is_private_and_becomes_a_case(waiting: Cluster, capsys: Capture, tmp_path: Path) -> None:
    container = {
        "name": "main",
        "image": "registry.acme.example/vision:1",
        "command": ["train", "--user=mia"],
        "env": [{"name": "TOKEN", "value": "s3cr3t"}],
        "resources": {"limits": {"nvidia.com/gpu": "16"}},
    }
    about = {
        "name": "acme-llm-7", "namespace": "acme-vision", "uid": "u",
        "annotations": {"acme.example/contact": "mia, room 7", "note": "mia"},
    }  # fmt: skip
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": NO_ROOM}
    tree = {"metadata": about, "spec": {"containers": [container]}, "status": {"conditions": [condition]}}
    waiting.reads["/api/v1/pods"] = [{"items": [tree]}]
    path = tmp_path / "report.json"
    code, _, err = run(capsys, "why", "pod/big", "--report", str(path))
    assert code == 3 and "1 object without names" in err
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text()
    for private in ("acme", "vision", "llm", "mia", "s3cr3t", "TOKEN", "train", "big", "team-a"):
        assert private not in text, private
    assert NO_ROOM in text
    case = report_case(json.loads(text), "resource-not-offered")
    (made,) = case.objects["pods"]
    assert made["metadata"]["name"].endswith("-7")
    assert view_of(case).store.records(Kind.POD)


def test_a_report_is_not_written_over_a_file(waiting: Cluster, capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.write_text("mine")
    code, _, err = run(capsys, "why", "pod/big", "--report", str(path))
    assert code == 2 and "already exists" in err
    assert path.read_text() == "mine"


def test_jobs_that_sessions_on_this_host_saw_end_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    attachment: Any = SimpleNamespace(session=SimpleNamespace(context="prod", server="https://one"))
    path = history_path(tmp_path / "gpu-cockpit", "prod", "https://one")
    assert asyncio.run(_past(attachment, NOW)) == ()
    assert not path.parent.exists(), "nothing is made where there was none"
    run_of_then = PastRun("team/sweep/8", 2, 8, NOW - 7_200, NOW - 7_000, 600.0, "u-1")
    assert LocalHistory(path).record(SessionNotes(at_seconds=NOW, runs=(run_of_then,)))
    assert asyncio.run(_past(attachment, NOW)) == (run_of_then,)


# ---- a cause explained


@pytest.mark.parametrize("cause", list(Cause))
def test_every_cause_is_explained_by_its_row(capsys: Capture, cause: Cause) -> None:
    row = by_cause()[cause]
    code, out, _ = run(capsys, "why", "--explain", cause)
    assert code == 0
    tree = read_json(run(capsys, "why", "--explain", cause.upper(), "-o", "json")[1])
    assert (tree["cause"], tree["gate"], tree["mender"]) == (cause, row.gate, row.mender)
    assert len(tree["texts"]) == len(row.wordings)
    assert bool(tree["roots"]) == bool(by_cause()[cause].roots)
    for said in (cause, row.meaning, row.remedy.sentence, row.mender, row.gate, row.source, row.where):
        assert str(said) in out
    assert all(one.regex in out for one in row.wordings)
    assert all(str(one) in out for one in row.yields_to)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--explain", "quota-in-us"), "there is no cause 'quota-in-us'; did you mean quota-in-use"),
        (("--explain", "zzz"), "there is no cause 'zzz'; available: above-quota"),
        (("--explain", "taint", "pod/a"), "--explain: takes no SUBJECT"),
        ((), "name what is to be explained, as KIND/NAME; or give --explain CAUSE"),
        (("llm/x",), "'llm' is no kind that is known here"),
    ],
)
def test_what_cannot_be_explained_is_told_in_a_line(
    waiting: Cluster, capsys: Capture, words: tuple[str, ...], part: str
) -> None:
    code, out, err = run(capsys, "why", *words)
    assert (code, out) == (2, "") and part in err and len(err.splitlines()) == 1
