"""`cockpit job kill` and `cockpit pool scale`: what is asked, refused, done, and with which exit code."""

from typing import Any

import pytest

from cockpit.model.record import Kind
from tests.unit.cli.builders import Cluster, run
from tests.unit.cli.test_commands import Capture, gang
from tests.unit.pools.builders import deployment, node

# ---- job kill


def test_kill(cluster: Cluster, capsys: Capture) -> None:
    gang(cluster)
    code, out, err = run(capsys, "job", "kill", "llm", "--write", "--yes")
    assert (code, err) == (0, "")
    assert out.startswith("Killed mpijob team-a/llm")
    (call,) = cluster.sent
    assert call.method == "DELETE"
    assert call.body["preconditions"] == {"uid": "uid-team-a-llm", "resourceVersion": "41"}


def test_kill_by_namespace_lists_only_that_namespace(cluster: Cluster, capsys: Capture) -> None:
    gang(cluster)
    assert run(capsys, "job", "kill", "mpijob/team-a/llm", "--write", "--yes")[0] == 0
    assert cluster.namespaces == ["team-a"]


def test_kill_dry_run_shows_what_would_go(cluster: Cluster, capsys: Capture) -> None:
    gang(cluster)
    code, out, _err = run(capsys, "job", "kill", "llm", "--dry-run")
    assert code == 0
    assert "2 pods will be deleted, 2 of them running" in out
    assert "4 GPUs become free on 1 node" in out
    assert cluster.sent == []


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("llm", "'llm' is ambiguous: mpijob/team-a/llm, mpijob/team-b/llm; choose one of them"),
        ("lmm", "there is no job 'lmm'; did you mean llm"),
        ("team-c/llm", "there is no job 'team-c/llm'"),
    ],
)
def test_kill_of_an_unclear_name(name: str, part: str, cluster: Cluster, capsys: Capture) -> None:
    gang(cluster)
    gang(cluster, "llm", "team-b")
    code, _out, err = run(capsys, "job", "kill", name, "--write", "--yes")
    assert code == 2
    assert part in err
    assert cluster.sent == []


# ---- pool scale


def _pool(cluster: Cluster, **more: Any) -> None:
    cluster.add(Kind.NODE, node("n1", pool="h100"), node("n2", pool="h100"))
    cluster.add(Kind.POOL, deployment(**more))


def test_scale(cluster: Cluster, capsys: Capture) -> None:
    _pool(cluster)
    code, out, err = run(capsys, "pool", "scale", "h100", "--to", "4", "--write", "--yes", "-n", "team-a")
    assert (code, err) == (0, "")
    assert out.startswith("Growing pool h100 from 2 to 4")
    (call,) = cluster.sent
    assert (call.method, call.body["spec"]) == ("PATCH", {"replicas": 4})
    assert cluster.namespaces == [""]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("h100", "--to", "11"), "11 is above its maximum of 10"),
        (("h100", "--to", "-1"), "-1 nodes are too few"),
        (("v100", "--to", "1"), "there is no pool 'v100'; known pools: h100"),
    ],
)
def test_scale_refusals(words: tuple[str, ...], part: str, cluster: Cluster, capsys: Capture) -> None:
    _pool(cluster, maximum=10)
    code, _out, err = run(capsys, "pool", "scale", *words, "--write", "--yes")
    assert code == 2
    assert part in err
    assert cluster.sent == []


def test_scale_to_what_is_set_already_is_done(cluster: Cluster, capsys: Capture) -> None:
    _pool(cluster)
    code, out, _err = run(capsys, "pool", "scale", "h100", "--to", "2", "--write", "--yes")
    assert (code, out) == (0, "pool h100 is already set to 2; nothing was changed\n")
    assert (cluster.sent, cluster.rehearsed) == ([], [])
