"""The main job from end to end: a person, tmux, the cockpit, and a real control plane."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bed import machine_objects
from tests.bed.bed import Bed
from tests.bed.estate import Estate
from tests.bed.fixtures import bed_full
from tests.tui.form_keys import fill
from tests.tui.on_the_bed import until
from tests.tui.terminal import Terminal, line_with

__all__ = ["bed_full"]
pytestmark = pytest.mark.real

NODES = 40
QUOTA = 12
POOL = "burst"


@pytest.fixture(scope="module")
def estate(bed_full: Bed) -> Bed:
    """40 GPU nodes, a queue of 12 GPUs for team-a, and a pool of one machine that may grow."""
    Estate(bed_full.api()).create(nodes=NODES, quota=QUOTA)
    collection = (
        f"/apis/{machine_objects.GROUP}/{machine_objects.VERSION}/namespaces/default/{machine_objects.PLURAL}"
    )
    bed_full.api().create(collection, machine_objects.machine_deployment(POOL, 1))
    return bed_full


@pytest.fixture
def terminal(estate: Bed, tmp_path: Path) -> Iterator[Terminal]:
    with Terminal(tmp_path, [], {"KUBECONFIG": str(estate.kubeconfig)}) as one:
        yield one


def names(bed: Bed, kinds: str, namespace: str = "team-a") -> list[str]:
    """What kubectl finds of these kinds, as kind/name."""
    found = bed.kubectl("get", kinds, "--namespace", namespace, "-o", "name").split()
    return [one for one in found if not one.endswith(("kube-root-ca.crt", "/default"))]


def bound_pods(bed: Bed, prefix: str) -> list[str]:
    """Pods of that prefix that sit on a node."""
    tree = json.loads(bed.kubectl("get", "pods", "--namespace", "team-a", "-o", "json"))
    return [
        pod["metadata"]["name"]
        for pod in tree["items"]
        if pod["metadata"]["name"].startswith(prefix) and pod["spec"].get("nodeName")
    ]


def unlock(terminal: Terminal) -> None:
    """`:write`, with its one confirmation."""
    terminal.until("· ro", "Nothing needs a human", f"{NODES + 2} nodes")
    assert "new job" not in terminal.screen(), "read-only, and yet a key that writes is offered"
    terminal.keys(":")
    terminal.until("Command palette")
    terminal.type("write")
    terminal.until("unlock the keys that change the cluster")
    terminal.keys("Enter")
    terminal.until("Unlock changes of bed")
    terminal.keys("y")
    terminal.until("· rw", "new job")


def submit(terminal: Terminal, name: str, foresight: str = "fits now") -> None:
    """`N` on the jobs place, the form for 4 workers x 2 GPUs in queue main of team-a, and yes.

    `foresight` is what the form must say of the fit before.
    """
    terminal.keys("2")
    terminal.until("State", "Why")
    terminal.keys("N")
    terminal.until("Name *", "Image *")
    fill(terminal, {"Name": name, "Namespace": "team-a", "Queue": "main"})
    fill(terminal, {"Workers (pods)": "4", "GPUs each": "2", "Image": "example/train:1"})
    seen = terminal.until("server: the cluster would accept it", "4 worker pods x 2 GPUs", "8 GPUs in total")
    assert foresight in seen
    terminal.keys("C-s")
    terminal.until(f"Submit mpijob team-a/{name}", "waits in queue main")
    terminal.keys("y")
    terminal.until(f"team-a/{name}", "Members by rank", without=("Submit mpijob",))


def test_a_gang_from_the_form_to_running_and_killed(estate: Bed, terminal: Terminal) -> None:
    unlock(terminal)
    submit(terminal, "first")
    seen = terminal.until("● running", "4/4 ready", "8/8 allocated")
    for rank in range(4):
        assert line_with(seen, f"worker {rank}", f"first-worker-{rank}", "gpu-"), seen

    # a second gang beyond the quota: nothing is bound, and it says in words how much is missing
    submit(terminal, "second", "queue research has 4 of the 8 GPUs left")
    missing = "needs 8 GPUs, quota research/h100 has 4 unused: 4 more needed"
    terminal.until("◌ queued", missing, "0/8 allocated")
    assert bound_pods(estate, "second") == []
    terminal.keys("2")
    seen = terminal.until("team-a/first", "team-a/second", without=("Members by rank",))
    assert "queued" in line_with(seen, "team-a/second") and "0/8" in line_with(seen, "team-a/second")
    assert "running" in line_with(seen, "team-a/first") and "8/8" in line_with(seen, "team-a/first")

    # kill the first: no refresh key, and kubectl finds nothing left of it
    terminal.keys("/")
    terminal.type("first")
    terminal.until("team-a/first", without=("team-a/second",))
    terminal.keys("Enter")
    terminal.keys("K")
    terminal.until("Kill mpijob team-a/first", "8 GPUs become free")
    terminal.keys("y")
    terminal.until("Killed mpijob team-a/first")

    def nothing_left() -> bool | None:
        kinds = "mpijobs,jobs,pods,workloads,services,configmaps"
        return None if [one for one in names(estate, kinds) if "first" in one] else True

    until("kubectl finds nothing of the first gang", nothing_left)

    # the second starts by itself
    terminal.keys("/", "Escape")
    seen = terminal.until("team-a/second", "● running", without=("team-a/first",))
    assert "4/4" in line_with(seen, "team-a/second")
    assert len(bound_pods(estate, "second-worker")) == 4

    audit = (terminal.folder / "state" / "gpu-cockpit" / "audit.jsonl").read_text().splitlines()
    verbs = [(entry["verb"], entry.get("state", "")) for entry in map(json.loads, audit)]
    assert verbs == [("submit", ""), ("submit", "done")] * 2 + [("kill", ""), ("kill", "done")]


def test_a_pool_grows_and_its_nodes_come_in_stages(estate: Bed, terminal: Terminal) -> None:
    unlock(terminal)
    terminal.keys("5")
    terminal.until(POOL, "MachineDeployment")
    terminal.keys("/")
    terminal.type(POOL)
    terminal.keys("Enter")
    terminal.keys("S")
    terminal.until(f"Nodes of {POOL}")
    terminal.keys("C-u")
    terminal.type("3")
    terminal.until("from 1 to 3")
    terminal.keys("C-s")
    terminal.until("cockpit pool scale", "y or enter")
    terminal.keys("y")
    terminal.until("Growing")
    terminal.keys("Enter")
    stages: set[str] = set()

    def grown() -> bool | None:
        seen = terminal.screen()
        for stage in ("joining", "not ready", "no GPUs yet", "ready"):
            if line_with(seen, f"{POOL}-", stage):
                stages.add(stage)
        ready = [
            line for line in seen.splitlines() if f"{POOL}-" in line and "● ready" in line and "0/8" in line
        ]
        return True if len(ready) == 3 else None

    until("three nodes of the pool are ready with their GPUs", grown, 90.0)
    assert "no GPUs yet" in stages, f"only these stages were seen: {stages}"
    scale = json.loads(estate.kubectl("get", "machinedeployment", POOL, "-o", "json"))
    assert scale["spec"]["replicas"] == 3
