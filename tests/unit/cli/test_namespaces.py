"""Namespaces and denied kinds on the command line: the rest is told, and what is missing is said."""

import json
from pathlib import Path

import pytest

from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.namespaces import EVERY, Namespaces, namespaces_of
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind, Record
from cockpit.store.store import Store
from cockpit.triage.namespace_notes import is_confined, namespace_notes
from tests.unit.cli.builders import Cluster, patch, run

Capture = pytest.CaptureFixture[str]
NO_NODES = "You cannot list nodes: ask for the right."


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cluster:
    monkeypatch.setenv("HOME", str(tmp_path))
    found = patch(monkeypatch)
    for space in ("team-a", "team-b", "team-c"):
        found.add(Kind.NAMESPACE, Record(uid=space, name=space))
        found.add(Kind.POD, Pod(uid=f"p-{space}", name="p", namespace=space, phase="Running", node="n1"))
    found.add(Kind.NODE, Node(uid="n1", name="n1"))
    return found


def deny_nodes(cluster: Cluster) -> None:
    cluster.records.pop(Kind.NODE)
    cluster.phases[Kind.NODE], cluster.messages[Kind.NODE] = Phase.DENIED, NO_NODES


# ---- nodes denied alone


def test_the_overview_tells_the_rest_where_nodes_are_denied(cluster: Cluster, capsys: Capture) -> None:
    deny_nodes(cluster)
    code, out, err = run(capsys, "get", "overview")
    assert code == 0
    assert out.startswith("prod: nodes, GPUs and pools are not known: you cannot list nodes\njobs: none\n")
    assert "0 nodes" not in out and "0 GPUs" not in out
    assert f"cockpit: nodes: {NO_NODES}" in err
    tree = json.loads(run(capsys, "get", "overview", "-o", "json")[1])
    assert (tree["fleet"], tree["pools"], tree["jobs"]) == (None, None, {})


def test_triage_and_fleet_tell_the_rest_where_nodes_are_denied(cluster: Cluster, capsys: Capture) -> None:
    deny_nodes(cluster)
    code, out, err = run(capsys, "triage")
    assert (code, NO_NODES.rstrip(".") in out, f"nodes: {NO_NODES}" in err) == (3, True, True)
    code, out, err = run(capsys, "fleet")
    assert code == 0
    assert out.startswith("GPUs and nodes are not known: you cannot list nodes\n")
    assert "no node that is ready" not in out and f"nodes: {NO_NODES}" in err
    tree = json.loads(run(capsys, "fleet", "-o", "json")[1])
    assert [tree[name] for name in ("nodes", "nodes_needed", "models", "lost")] == [None] * 4
    assert run(capsys, "get", "nodes")[0] == 1, "the kind that is asked for is still refused"
    out = run(capsys, "top", "job")[1]
    assert out.startswith("nodes and GPUs are not known: you cannot list nodes\n")


@pytest.mark.parametrize("kind", [Kind.NODE, Kind.POD, Kind.JOB, Kind.EVENT, Kind.WORKLOAD, Kind.POOL])
def test_each_kind_denied_alone_leaves_the_rest(cluster: Cluster, capsys: Capture, kind: str) -> None:
    cluster.phases[kind], cluster.messages[kind] = Phase.DENIED, f"You cannot list {kind}."
    cluster.records.pop(kind, None)
    for words in (("get", "overview"), ("triage",), ("fleet",)):
        code, out, err = run(capsys, *words)
        assert code in (0, 3) and out, (words, err)
        if kind != Kind.EVENT or words == ("triage",):
            assert f"You cannot list {kind}." in err, words


def test_pods_denied_alone_are_no_jobs_that_are_not_there(cluster: Cluster, capsys: Capture) -> None:
    cluster.records.pop(Kind.POD)
    cluster.phases[Kind.POD] = Phase.DENIED
    assert "jobs: not known" in run(capsys, "get", "overview")[1]


# ---- which namespaces


def test_several_namespaces_are_shown(cluster: Cluster, capsys: Capture) -> None:
    code, out, _ = run(capsys, "get", "pods", "-n", "team-a,team-c", "-o", "json")
    assert code == 0
    assert [one["namespace"] for one in json.loads(out)["items"]] == ["team-a", "team-c"]
    assert cluster.namespaces == ["team-a, team-c"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("team-x", "namespace team-x does not exist; see kubectl get namespaces"),
        ("team-x,team-y", "namespaces team-x, team-y do not exist; see kubectl get namespaces"),
        ("Team", "--namespace: 'Team' is not a valid namespace name"),
        ("team-a,B", "--namespace: 'B' is not a valid namespace name"),
        (",", "--namespace: ',' names no namespace; give a name, or several as a,b"),
    ],
)
def test_what_is_no_namespace_is_bad_input(
    cluster: Cluster, capsys: Capture, text: str, sentence: str
) -> None:
    assert run(capsys, "get", "pods", "-n", text) == (2, "", f"cockpit: {sentence}\n")


def test_of_several_the_one_that_does_not_exist_is_told(cluster: Cluster, capsys: Capture) -> None:
    code, out, err = run(capsys, "get", "pods", "-n", "team-a,team-x")
    assert (code, "cockpit: namespace team-x does not exist" in err) == (0, True)
    assert "team-a" in out


def test_what_is_made_goes_to_one_namespace(cluster: Cluster, capsys: Capture) -> None:
    made = ("--name", "x", "--image", "i", "--command", "c", "--write", "--yes")
    code, _, err = run(capsys, "job", "submit", "job", "-n", "team-a,team-b", *made)
    assert code == 2
    assert "--namespace: team-a, team-b are several; name the one it is to go to" in err
    assert cluster.sent == []


# ---- what is amiss with them


def _told(*statuses: StreamStatus, namespaces: tuple[str, ...] = ()) -> Store:
    store = Store()
    for one in statuses:
        store.apply(Batch(kind=one.kind, scope=one.scope, status=one))
    if namespaces:
        records = tuple(Record(uid=name, name=name) for name in namespaces)
        live = StreamStatus(kind=Kind.NAMESPACE, phase=Phase.LIVE)
        store.apply(Batch(kind=Kind.NAMESPACE, changed=records, status=live))
    return store


def _status(kind: str, scope: str, phase: Phase = Phase.LIVE) -> StreamStatus:
    return StreamStatus(kind=kind, scope=scope, phase=phase)


def test_a_denied_namespace_and_one_that_is_gone_are_named() -> None:
    statuses = [_status(kind, "a") for kind in (Kind.POD, Kind.JOB)]
    statuses += [_status(kind, "b", Phase.DENIED) for kind in (Kind.POD, Kind.JOB)]
    store = _told(*statuses, namespaces=("a", "b"))
    assert is_confined(store)
    assert namespace_notes(store, Namespaces(("a",))) == ()
    assert namespace_notes(store, Namespaces(("a", "b"))) == (
        "you cannot list pods in b",
        "you cannot list jobs in b",
    )
    assert namespace_notes(store, Namespaces(("a", "c"))) == ("namespace c does not exist",)


def test_a_kind_that_is_read_in_one_namespace_alone_is_named() -> None:
    store = _told(_status(Kind.POD, ""), _status(Kind.JOB, "a"), _status(Kind.EVENT, "a"))
    assert not is_confined(store)
    assert namespace_notes(store, EVERY) == ("events, jobs of namespace a only: no right to list all",)


def test_namespaces_as_they_are_typed() -> None:
    assert namespaces_of("") == namespaces_of(" , ") == EVERY
    assert namespaces_of("b, a,b").names == ("b", "a")
    some = namespaces_of("a,b")
    assert ("a" in some, "c" in some, "c" in EVERY, bool(EVERY)) == (True, False, True, False)
    assert (some.words, some.only, namespaces_of("a").only) == ("namespaces a, b", "", "a")
