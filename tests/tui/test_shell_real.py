"""The command line against a real control plane: the same work as the keys, without a screen."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bed import machine_objects
from tests.bed.bed import Bed
from tests.bed.estate import Estate
from tests.bed.fixtures import bed_full
from tests.tui.on_the_bed import pause_after

__all__ = ["bed_full"]
pytestmark = pytest.mark.real

SIZES = ("--set", "cpu=1", "--set", "memory=2Gi", "--set", "shared-memory=1Gi")
POOLS = f"/apis/{machine_objects.GROUP}/{machine_objects.VERSION}/namespaces/default/{machine_objects.PLURAL}"


class Shell:
    """Runs `cockpit` as a person's shell would, with a home of its own."""

    def __init__(self, bed: Bed, home: Path) -> None:
        self.home = home
        self._environment = {
            **os.environ,
            "KUBECONFIG": str(bed.kubeconfig),
            "HOME": str(home),
            "XDG_STATE_HOME": str(home / "state"),
            "XDG_CONFIG_HOME": str(home / "config"),
        }

    def run(self, *words: str, code: int = 0) -> str:
        """Standard output, or the one sentence on standard error when another code than 0 is wanted."""
        done = subprocess.run(
            [sys.executable, "-m", "cockpit", *words],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        assert done.returncode == code, (words, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done.stdout if code == 0 else done.stderr

    def items(self, kind: str, *words: str) -> list[dict[str, Any]]:
        """Rows of `cockpit get KIND -o json`."""
        found: list[dict[str, Any]] = json.loads(self.run("get", kind, "-o", "json", *words))["items"]
        return found

    def job(self, name: str) -> dict[str, Any]:
        """The row of a job of team-a."""
        (found,) = (one for one in self.items("jobs", "-n", "team-a") if one["name"] == name)
        return found

    def submit(self, name: str, workers: int, *words: str, code: int = 0) -> str:
        """Submit workers of two GPUs each to the queue of team-a."""
        return self.run(
            *("job", "submit", "mpijob", "--name", name, "--workers", str(workers), "--gpus", "2"),
            *("--image", "registry.example/hvd:1", "--queue", "main", "-n", "team-a", *SIZES, *words),
            code=code,
        )


def until(wanted: object, look: Callable[[], object], seconds: float = 90.0) -> None:
    """Wait until `look` gives what is wanted; fails with what it gave last after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        begun = time.monotonic()
        if (found := look()) == wanted:
            return
        assert begun < deadline, f"not within {seconds:g} s: {wanted}, still {found}"
        time.sleep(pause_after(begun))


def left_of(name: str, bed: Bed) -> list[str]:
    """What kubectl finds of a job: its object, its pods, its launcher."""
    found = bed.kubectl("get", "mpijobs,jobs,pods,workloads", "-n", "team-a", "-o", "name").split()
    return [one for one in found if one.split("/")[1].removeprefix("mpijob-").startswith(name)]


@pytest.fixture(scope="module")
def estate(bed_full: Bed) -> Iterator[Bed]:
    """GPU nodes, a queue of 8 GPUs, a pool of one machine; what the tests made is gone at the end."""
    api = bed_full.api()
    queue = "/apis/kueue.x-k8s.io/v1beta2/namespaces/team-a/localqueues/main"
    if api.request("GET", queue).status == 404:
        Estate(api).create(nodes=4, quota=8)
    api.create(POOLS, machine_objects.machine_deployment("cli", 1))
    yield bed_full
    api.delete(f"{POOLS}/cli")


@pytest.fixture
def shell(estate: Bed, tmp_path: Path) -> Shell:
    return Shell(estate, tmp_path)


def test_a_gang_from_submit_to_kill(shell: Shell, estate: Bed) -> None:
    assert "server: the cluster would accept it" in shell.submit("one", 4, "--dry-run")
    assert "read-only" in shell.submit("one", 4, code=2)
    assert left_of("one", estate) == []
    assert "Submitted mpijob team-a/one" in shell.submit("one", 4, "--write", "--yes")
    assert "already exists: choose another name" in shell.submit("one", 4, "--write", "--yes", code=2)
    until(("running", ""), lambda: (shell.job("one")["state"], shell.job("one")["why"]))
    job = shell.job("one")
    assert (job["ready"], job["wanted"], job["gpus_allocated"]) == (4, 4, 8)

    # A rehearsal of the kill leaves everything as it is, although a delete carries its options in the body.
    assert "8 GPUs become free" in shell.run("job", "kill", "one", "--dry-run")
    assert shell.job("one")["uid"] == job["uid"]

    assert "Killed mpijob team-a/one" in shell.run("job", "kill", "team-a/one", "--write", "--yes")
    until([], lambda: left_of("one", estate))
    assert "there is no job 'one'" in shell.run("job", "kill", "one", "--write", "--yes", code=2)
    lines = [
        json.loads(one) for one in (shell.home / "state/gpu-cockpit/audit.jsonl").read_text().splitlines()
    ]
    assert [(one["verb"], one["step"], one.get("state")) for one in lines] == [
        ("submit", "intent", None),
        ("submit", "outcome", "done"),
        ("kill", "intent", None),
        ("kill", "outcome", "done"),
    ]
    assert lines[2]["uid"] == job["uid"]


def test_a_pool_grows_and_its_new_nodes_are_told(shell: Shell, estate: Bed) -> None:
    assert "from 1 to 3 nodes" in shell.run("pool", "scale", "cli", "--to", "3", "--dry-run")
    assert estate.api().get(f"{POOLS}/cli")["spec"]["replicas"] == 1
    grown = shell.run("pool", "scale", "cli", "--to", "3", "--write", "--yes")
    assert "Growing pool cli from 1 to 3" in grown
    assert estate.api().get(f"{POOLS}/cli")["spec"]["replicas"] == 3

    def size() -> tuple[int, int, int]:
        (pool,) = (one for one in shell.items("pools") if one["name"] == "cli")
        return (pool["nodes_ready"], pool["target"], pool["gpus_total"])

    until((3, 3, 24), size)
    assert "nothing was changed" in shell.run("pool", "scale", "cli", "--to", "3", "--write", "--yes")


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (("get", "jobs", "--context", "nope"), 2, "There is no context 'nope'"),
        (("get", "jobs", "--kubeconfig", "/nonexistent"), 2, "There is no kubeconfig at /nonexistent"),
        (("get", "nodes", "--context", "nobody"), 1, "nodes: "),
        (("pool", "scale", "nothing", "--to", "1", "--write", "--yes"), 2, "there is no pool 'nothing'"),
        (
            (
                *("job", "submit", "pod", "--name", "p", "--image", "a:1", "-n", "nowhere"),
                *("--write", "--yes"),
            ),
            1,
            "namespace nowhere does not exist",
        ),
        (
            (
                *("job", "submit", "pod", "--name", "p", "--image", "a:1", "-n", "team-a"),
                *("--write", "--yes", "--context", "viewer"),
            ),
            1,
            "you cannot create pods",
        ),
    ],
)
def test_failures_are_one_sentence(shell: Shell, words: tuple[str, ...], code: int, part: str) -> None:
    said = shell.run(*words, code=code)
    assert part in said
    assert said.count("\n") == 1, said
