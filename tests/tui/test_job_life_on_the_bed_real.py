"""A gang under the real Kueue and mpi-operator: suspended through its Workload, resumed, cloned, killed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bed.bed import Bed
from tests.bed.fixtures import bed_full
from tests.tui.on_the_bed import Shell, estate, until

__all__ = ["bed_full"]
pytestmark = pytest.mark.real

KINDS = "mpijobs,jobs,pods,workloads,services,configmaps,secrets"
SUBMIT = ("job", "submit", "mpijob", "--workers", "2", "--gpus", "2", "--image", "example/train:1")


@pytest.fixture(scope="module")
def bed(bed_full: Bed) -> Iterator[Bed]:
    """A few GPU nodes and queue main of team-a."""
    estate(bed_full, nodes=4)
    yield bed_full


@pytest.fixture
def shell(bed: Bed, tmp_path: Path) -> Shell:
    return Shell(bed.kubeconfig, tmp_path)


def items(bed: Bed, kind: str, prefix: str) -> list[dict[str, Any]]:
    """Objects of that kind in team-a whose name holds `prefix`."""
    tree = json.loads(bed.kubectl("get", kind, "--namespace", "team-a", "-o", "json"))
    return [one for one in tree["items"] if prefix in one["metadata"]["name"]]


def bound(bed: Bed, prefix: str) -> int:
    return sum(bool(pod["spec"].get("nodeName")) for pod in items(bed, "pods", prefix))


def running(bed: Bed, prefix: str) -> int:
    return sum(pod["status"].get("phase") == "Running" for pod in items(bed, "pods", prefix))


def nothing_left(bed: Bed, prefix: str) -> bool | None:
    found = bed.kubectl("get", KINDS, "--namespace", "team-a", "-o", "name").split()
    return None if any(prefix in name for name in found) else True


def do(shell: Shell, *words: str) -> str:
    finished = shell.run(*words, "--write", "--yes")
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def row(shell: Shell, name: str) -> dict[str, Any] | None:
    return next((one for one in shell.items("jobs", "-n", "team-a") if one["name"] == name), None)


def is_in(shell: Shell, name: str, state: str) -> bool | None:
    found = row(shell, name)
    return True if found is not None and found["state"] == state else None


def test_a_gang_of_kueue_is_held_through_its_workload_and_leaves_nothing(bed: Bed, shell: Shell) -> None:
    name = "held"
    do(shell, *SUBMIT, "--name", name, "--queue", "main", "-n", "team-a")
    until("launcher and workers run", lambda: True if running(bed, name) == 3 else None)

    do(shell, "job", "suspend", f"mpijob/team-a/{name}")
    (workload,) = items(bed, "workloads", name)
    assert workload["spec"]["active"] is False
    until("its pods are gone", lambda: True if not bound(bed, name) else None)
    until("its row says suspended", lambda: is_in(shell, name, "suspended"))
    (mpijob,) = items(bed, "mpijobs", name)
    assert mpijob["spec"]["runPolicy"]["suspend"] is True

    do(shell, "job", "resume", f"team-a/{name}")
    until("it runs again", lambda: True if running(bed, name) == 3 else None)
    until("its row says running", lambda: is_in(shell, name, "running"))
    resized = shell.run("job", "scale", f"team-a/{name}", "--to", "3", "--write", "--yes")
    assert resized.returncode == 2 and "was admitted by Kueue at this size" in resized.stderr

    do(shell, "job", "clone", f"team-a/{name}", "--set", "workers=1")
    until("the clone runs", lambda: True if running(bed, f"{name}-r2") == 2 else None)
    (clone,) = items(bed, "mpijobs", f"{name}-r2")
    worker = clone["spec"]["mpiReplicaSpecs"]["Worker"]
    assert worker["replicas"] == 1

    said = do(shell, "job", "kill", f"team-a/{name}", f"team-a/{name}-r2")
    assert said.splitlines()[-1] == "2 jobs killed"
    until("nothing is left over", lambda: nothing_left(bed, name))


def test_a_gang_without_a_queue_is_held_by_its_own_field_and_resized(bed: Bed, shell: Shell) -> None:
    name = "plain"
    do(shell, *SUBMIT, "--name", name, "--engine", "none", "-n", "team-a")
    until("launcher and workers run", lambda: True if running(bed, name) == 3 else None)
    do(shell, "job", "suspend", f"team-a/{name}")
    (mpijob,) = items(bed, "mpijobs", name)
    assert mpijob["spec"]["runPolicy"]["suspend"] is True
    until("its workers are gone", lambda: True if not bound(bed, f"{name}-worker") else None)
    until("its row says suspended", lambda: is_in(shell, name, "suspended"))
    do(shell, "job", "scale", f"team-a/{name}", "--to", "3")
    do(shell, "job", "resume", f"team-a/{name}")
    until("three workers run", lambda: True if running(bed, f"{name}-worker") == 3 else None)
    do(shell, "job", "scale", f"team-a/{name}", "--to", "1")
    until("one worker is left", lambda: True if len(items(bed, "pods", f"{name}-worker")) == 1 else None)
    do(shell, "job", "kill", f"team-a/{name}")
    until("nothing is left over", lambda: nothing_left(bed, name))


def test_a_queue_is_drained_and_resumed(bed: Bed, shell: Shell) -> None:
    name = "drained"
    do(shell, *SUBMIT, "--name", name, "--queue", "main", "-n", "team-a")
    until("it runs", lambda: True if running(bed, name) == 3 else None)
    shown = shell.run("queue", "stop", "team-a/main", "--drain", "--dry-run")
    assert "4 GPUs become free" in shown.stdout and f"taken off: team-a/{name}" in shown.stdout
    do(shell, "queue", "stop", "team-a/main", "--drain")
    until("it is taken off", lambda: True if not bound(bed, name) else None)
    do(shell, "queue", "resume", "team-a/main")
    until("it runs again", lambda: True if running(bed, name) == 3 else None)
    do(shell, "job", "kill", f"team-a/{name}")
    until("nothing is left over", lambda: nothing_left(bed, name))
