"""A write that is refused because its object is newer: made anew, or shown again with what changed."""

from types import SimpleNamespace
from typing import Any

import pytest

from cockpit.local_state.audit import Audit
from cockpit.model.job import JobObject, ReplicaSpec
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from tests.unit.actions.builders import newer
from tests.unit.cli.builders import Cluster, run
from tests.unit.pools.builders import deployment, node

Capture = pytest.CaptureFixture[str]
PATH = "/apis/kubeflow.org/v2beta1/namespaces/team-a/mpijobs/llm"
POOL = "/apis/cluster.x-k8s.io/v1beta1/namespaces/capi/machinedeployments/h100"


def gang(cluster: Cluster) -> None:
    """A job of one pod, at version 41."""
    own: dict[str, Any] = {
        "uid": "uid-team-a-llm",
        "name": "llm",
        "namespace": "team-a",
        "resource_version": "41",
    }
    replicas = (ReplicaSpec("worker", 1, 2, "nvidia.com/gpu"),)
    cluster.add(
        Kind.MPIJOB, JobObject(**own, api_version="kubeflow.org/v2beta1", kind="MPIJob", replicas=replicas)
    )
    cluster.add(
        Kind.POD,
        Pod(
            uid="uid-0",
            name="llm-worker-0",
            namespace="team-a",
            phase="Running",
            node="n1",
            gpus=2,
            gpu_resource="nvidia.com/gpu",
            owner_api_version="kubeflow.org/v2beta1",
            owner_kind="MPIJob",
            owner_name="llm",
            owner_uid="uid-team-a-llm",
            job_label="llm",
            role="worker",
            is_ready=True,
        ),
    )


def test_a_kill_whose_job_is_written_meanwhile(cluster: Cluster, capsys: Capture) -> None:
    gang(cluster)
    moved = newer()
    cluster.reads[PATH] = [tree(version) for version in (42, 43, 44)]
    cluster.answers[False] = [moved] * 4
    code, _out, err = run(capsys, "job", "kill", "llm", "--write", "--yes")
    assert code == 1
    assert err.startswith(
        "cockpit: mpijob team-a/llm was modified in the meantime; refresh and retry (it was written 4 times"
    )
    assert _versions(cluster) == ["41", "42", "43", "44"]
    # a status that moved on is no reason to give up: nothing was done, so the plan is made anew
    cluster.reads[PATH], cluster.answers[False], cluster.sent = [tree(45)], [moved], []
    code, out, _err = run(capsys, "job", "kill", "llm", "--write", "--yes")
    assert code == 0 and out.startswith("Killed mpijob team-a/llm")
    assert _versions(cluster) == ["41", "45"]
    tried, done = [one for one in Audit().entries() if one.step == "outcome"][-2:]
    assert (tried.state, tried.resource_version) == ("refused", "41")
    assert (done.state, done.resource_version) == ("done", "45")
    assert "re-planned with the same effect (version 41 was stale, now 45)" in done.sentence


def test_a_kill_that_would_do_something_else_by_now_is_shown_and_asked_for_again(
    cluster: Cluster, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who sits at a terminal reads what changed and is asked again; with --yes it is told and not done."""
    gang(cluster)
    moved = newer()
    ended = tree(42, status={"conditions": [{"type": "Succeeded", "status": "True"}]})
    cluster.reads[PATH], cluster.answers[False] = [ended], [moved]
    code, _out, err = run(capsys, "job", "kill", "llm", "--write", "--yes")
    change = "was: delete mpijob team-a/llm (starting); now: delete mpijob team-a/llm (succeeded)"
    assert (
        code == 1
        and "nothing was done: the action would now have a different effect" in err
        and change in err
    )
    assert _versions(cluster) == ["41"]

    cluster.sent, cluster.reads[PATH], cluster.answers[False] = [], [ended], [moved]
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True, readline=lambda: "y\n"))
    code, out, _err = run(capsys, "job", "kill", "llm", "--write")
    assert code == 0 and out.count("Proceed? [y/N]") == 2
    again = out.split("Proceed? [y/N]")[1]
    assert (
        "! nothing was done: the action would now have a different effect" in again and f"! {change}" in again
    )
    assert "delete mpijob team-a/llm (succeeded)" in again
    assert _versions(cluster) == ["41", "42"]


def tree(version: int, **more: Any) -> dict[str, Any]:
    """The gang's object as a read finds it."""
    metadata = {
        "name": "llm",
        "namespace": "team-a",
        "uid": "uid-team-a-llm",
        "resourceVersion": f"{version}",
    }
    return {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": metadata, **more}


def _versions(cluster: Cluster) -> list[str]:
    return [one.body["preconditions"]["resourceVersion"] for one in cluster.sent]


def test_a_pool_whose_status_is_written_meanwhile_is_scaled(cluster: Cluster, capsys: Capture) -> None:
    cluster.add(Kind.NODE, node("n1", pool="h100"), node("n2", pool="h100"))
    cluster.add(Kind.POOL, deployment())
    moved = newer()
    cluster.answers[False] = [moved]
    cluster.reads[POOL] = [_pool(replicas=2)]
    code, out, err = run(capsys, "pool", "scale", "h100", "--to", "4", "--write", "--yes")
    assert (code, err) == (0, "") and out.startswith("Growing pool h100 from 2 to 4")
    first, second = (one.body["metadata"] for one in cluster.sent)
    assert (first["uid"], second) == (
        second["uid"],
        {"uid": "uid-MachineDeployment-h100", "resourceVersion": "99"},
    )


def test_a_pool_that_somebody_else_scaled_meanwhile_is_left_alone(cluster: Cluster, capsys: Capture) -> None:
    cluster.add(Kind.NODE, node("n1", pool="h100"), node("n2", pool="h100"))
    cluster.add(Kind.POOL, deployment())
    cluster.answers[False] = [newer()]
    cluster.reads[POOL] = [_pool(replicas=9)]
    code, _out, err = run(capsys, "pool", "scale", "h100", "--to", "4", "--write", "--yes")
    assert code == 1 and len(cluster.sent) == 1
    assert "was: Grow pool h100 from 2 to 4; now: Shrink pool h100 from 9 to 4" in err


def _pool(replicas: int) -> dict[str, Any]:
    tree: dict[str, Any] = {"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineDeployment"}
    metadata = {
        "name": "h100",
        "namespace": "capi",
        "uid": "uid-MachineDeployment-h100",
        "resourceVersion": "99",
    }
    labels = {"example.com/pool": "h100"}
    return {
        **tree,
        "metadata": metadata,
        "spec": {"replicas": replicas, "template": {"metadata": {"labels": labels}}},
        "status": {"replicas": replicas},
    }
