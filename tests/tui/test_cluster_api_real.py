"""Cluster API on the real API server by its objects and `scale`, with our actor that makes the machines.

A pool grown from *Why* and followed on its page, each stamp held against the objects; grown, limited and
shrunk by command; given back by key. A machine stays before each stage until the test lets it on.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.adapters import machines_on_the_bed as machines
from tests.bed.api import Tree
from tests.bed.bed import Bed
from tests.bed.estate import GPU, gpu_job
from tests.bed.fixtures import fresh
from tests.bed.setup import apply_all
from tests.tui import ladders
from tests.tui.on_the_bed import Opened, Shell, opened, until
from tests.tui.terminal import Terminal

__all__ = ["opened"]
pytestmark = pytest.mark.real

SECONDS = 120.0
POOL, AUTO = "a100", "auto"
MINIMUM, MAXIMUM = (
    f"cluster.x-k8s.io/cluster-api-autoscaler-node-group-{word}-size" for word in ("min", "max")
)
DEPLOYMENTS = f"{machines.BASE}/namespaces/default/machinedeployments"
MACHINES = f"{machines.BASE}/namespaces/default/machines"
JOBS, PODS = "/apis/batch/v1/namespaces/team-a/jobs", "/api/v1/namespaces/team-a/pods"


class Ground:
    """The bed with two pools: one that may be sized up to three nodes, one that an autoscaler sizes."""

    def __init__(self, bed: Bed) -> None:
        self.bed, self.api = bed, bed.api()

    def machines(self) -> list[Tree]:
        """Of the pool, oldest first; those that go are not among them."""
        found = [
            one
            for one in self.api.items(MACHINES)
            if one["metadata"]["labels"]["cluster.x-k8s.io/deployment-name"] == POOL
            and "deletionTimestamp" not in one["metadata"]
        ]
        return sorted(found, key=lambda one: str(one["metadata"]["creationTimestamp"]))

    def machine(self, name: str) -> Tree:
        return self.api.get(f"{MACHINES}/{name}")

    def node(self, name: str) -> Tree | None:
        answer = self.api.request("GET", f"/api/v1/nodes/{name}")
        return None if answer.status == 404 else answer.json()

    def nodes(self) -> set[str]:
        """Of the pool, with their GPUs."""
        return {
            one["metadata"]["name"]
            for one in self.api.items("/api/v1/nodes")
            if one["metadata"]["name"].startswith(f"{POOL}-") and GPU in one["status"].get("allocatable", {})
        }

    def deployment(self, name: str = POOL) -> Tree:
        return self.api.get(f"{DEPLOYMENTS}/{name}")

    def runs(self, job: str) -> Tree | None:
        """The pod of the job once it runs."""
        pods = [one for one in self.api.items(PODS) if one["metadata"]["name"].startswith(f"{job}-")]
        return next((one for one in pods if one["status"].get("phase") == "Running"), None)

    def ends(self, job: str) -> None:
        self.api.delete(f"{JOBS}/{job}", {"propagationPolicy": "Background"})

    def goes_on(self, stage: str, machine: str, is_there: Callable[[], Tree | None]) -> Tree:
        """Lets the machine through that stage; what is there then."""

        def look() -> Tree | None:
            machines.let_on(self.api, POOL, stage, machine)
            return is_there()

        return until(f"it is through {stage}", look, SECONDS)


@pytest.fixture
def ground(request: pytest.FixtureRequest) -> Iterator[Ground]:
    for bed in fresh({"apiserver", "kcm", "scheduler"}, request, namespace=False):
        api = bed.api()
        machines.serve_kinds(api)
        with machines.machines_at_work(bed.kubeconfig):
            apply_all(api, machines.pool(POOL, 1, notes={MAXIMUM: "3"}), fresh=True)
            apply_all(api, machines.pool(AUTO, 0, notes={MINIMUM: "0", MAXIMUM: "2"}), fresh=True)
            yield Ground(bed)


def job(name: str) -> Tree:
    """One of 8 GPUs that runs until it is deleted."""
    tree = gpu_job(name, gpus=8, queue="")
    tree["spec"]["template"]["metadata"] = {"annotations": {"cockpit.dev/duration": "forever"}}
    return tree


def phase(ground: Ground, name: str, wanted: str) -> Tree | None:
    found = ground.machine(name)
    return found if found.get("status", {}).get("phase") == wanted else None


def ready(ground: Ground, name: str) -> Tree | None:
    found = ground.node(name)
    with suppress(AssertionError, ValueError):
        if found is not None:
            ladders.since(found, "Ready")
            return found
    return None


def grows_from_why(terminal: Terminal) -> None:
    terminal.keys("2")
    terminal.until("team-a/llm")
    terminal.find("llm")
    terminal.keys("w")
    terminal.until("It would start if", "grow pool a100 by 1 node, to 2")
    ladders.pick(terminal, "grow pool a100")
    terminal.keys("Enter")
    terminal.until("Grow pool a100 from 1 to 2", "would start: team-a/llm (8 GPUs)", "would accept")
    terminal.keys("y")


def climbs(terminal: Terminal, ground: Ground, folder: Path) -> str:
    """Every rung of the second machine on the screen, with the times of its objects; its name."""

    def hangs(step: str, truth: dict[str, float]) -> None:
        ladders.agree(ladders.until_hangs(terminal, step, seconds=SECONDS), truth)

    def second() -> Tree | None:
        found = ground.machines()
        return found[1] if len(found) == 2 else None

    name = str(until("a second machine", second, SECONDS)["metadata"]["name"])
    machine = until("it is asked for", lambda: phase(ground, name, "Provisioning"), SECONDS)
    truth = {
        "asked": ladders.asked(ground.api, folder, f"{DEPLOYMENTS}/{POOL}/scale"),
        "accepted": ladders.born(machine),
        "launching": ladders.seconds_of(machine["status"]["lastUpdated"]),
    }
    hangs("launched", truth)
    del truth["launching"]  # dated by the phase, which is another one from now on
    machine = ground.goes_on("launch", name, lambda: phase(ground, name, "Provisioned"))
    truth["launched"] = ladders.since(machine, "InfrastructureReady")
    hangs("joined", truth)
    node = ground.goes_on("join", name, lambda: ground.node(name))
    truth["joined"] = ladders.born(node)
    hangs("ready", truth)
    node = ground.goes_on("ready", name, lambda: ready(ground, name))
    truth["ready"] = ladders.since(node, "Ready")
    hangs("GPUs up", truth)
    before = time.time()
    ground.goes_on("gpus", name, lambda: ground.node(name) if name in ground.nodes() else None)
    pod = until("the job runs on it", lambda: ground.runs("llm"), SECONDS)
    assert pod["spec"]["nodeName"] == name
    truth["used"] = ladders.seconds_of(pod["status"]["startTime"])
    screen = until("the whole ladder", lambda: whole(terminal), SECONDS)
    ladders.agree(screen, truth)
    shown = ladders.stamps(screen)["GPUs up"]
    assert before - ladders.CUT_SECONDS <= shown <= truth["used"] + ladders.CUT_SECONDS, screen
    return name


def whole(terminal: Terminal) -> str | None:
    """The screen once each step but the one that nobody dates any more has its time."""
    screen = terminal.screen()
    return screen if len(ladders.stamps(screen)) == len(ladders.STEPS) - 1 else None


def test_a_pool_grows_by_key_and_command_and_gives_back_what_idles(
    ground: Ground, opened: Opened, tmp_path: Path
) -> None:
    until("the first node offers its GPUs", lambda: ground.nodes() or None, SECONDS)
    machines.hold(ground.api, POOL, *machines.STAGES)
    ground.api.create(JOBS, job("resident"))
    resident = until("the first node is in use", lambda: ground.runs("resident"), SECONDS)
    (first,) = ground.nodes()
    assert resident["spec"]["nodeName"] == first
    ground.api.create(JOBS, job("llm"))
    terminal = opened(ground.bed.kubeconfig, "--write")
    terminal.until("live · rw", "8/8 GPUs allocated")
    grows_from_why(terminal)
    until("the size is told", lambda: ground.deployment()["spec"]["replicas"] == 2 or None, SECONDS)
    terminal.keys("Escape")
    terminal.until("State", without=("It would start if",))
    terminal.keys("5")
    terminal.until("Owner", POOL)
    terminal.find(POOL)
    terminal.keys("Enter")
    terminal.until(f"pool {POOL}", "Nodes of the pool")
    second = climbs(terminal, ground, tmp_path)

    for stage in machines.STAGES:
        machines.let_on(ground.api, POOL, stage, second)
    shell = Shell(ground.bed.kubeconfig, tmp_path / "shell")
    bounds_hold(ground, shell)
    third = by_command(ground, shell, first, second)
    assert third not in ground.nodes()
    idle_goes(terminal, ground, second, shell)
    assert ground.nodes() == {first} and ground.runs("resident")


def bounds_hold(ground: Ground, shell: Shell) -> None:
    """What is beyond a bound is refused in words, with nothing sent; the maximum is set for real."""
    version = ground.deployment()["metadata"]["generation"]
    for words, said in (
        (("scale", POOL, "--to", "4"), "4 is above its maximum of 3"),
        (("limit", POOL, "--max", "1"), "a maximum of 1 is below what it has, 2 nodes: shrink it first"),
        (("scale", POOL, "--to", "1"), "1 of 2 nodes would go and none is empty"),
        (("scale", AUTO, "--to", "1"), "the cluster autoscaler controls the size, between 0 and 2"),
        (("limit", AUTO, "--max", "-1"), "-1"),
    ):
        done = shell.run("pool", *words, "--yes", "--write")
        assert (done.returncode, done.stdout) == (2, ""), done
        assert said in done.stderr, done.stderr
    assert ground.deployment()["metadata"]["generation"] == version
    for name, most in ((AUTO, "5"), (POOL, "4")):
        done = shell.run("pool", "limit", name, "--max", most, "--yes", "--write")
        assert done.returncode == 0, done.stderr
        assert ground.deployment(name)["metadata"]["annotations"][MAXIMUM] == most


def by_command(ground: Ground, shell: Shell, first: str, second: str) -> str:
    """A third node comes while the command waits for it, and goes as the only empty one; its name."""
    done = shell.run("pool", "scale", POOL, "--to", "3", "--wait", "--yes", "--write")
    assert done.returncode == 0, done.stderr
    assert "3 of 3 nodes with their GPUs" in done.stdout and "has its 3 nodes" in done.stdout
    (third,) = ground.nodes() - {first, second}
    done = shell.run("pool", "scale", POOL, "--to", "2", "--wait", "--yes", "--write")
    assert done.returncode == 0, done.stderr
    until("the empty one is gone", lambda: True if ground.nodes() == {first, second} else None, SECONDS)
    left = {one["metadata"]["name"] for one in ground.machines()}
    assert left == {first, second}
    return third


def cordons(terminal: Terminal, ground: Ground, node: str, shell: Shell) -> None:
    """`R` asks about a node of which nobody knows since when it is idle. A session that has looked since its
    job ended, as it does every half minute, does know, and has nothing to offer for half an hour: a command
    knows of no such look."""
    terminal.keys("R")
    try:
        terminal.until("empty now", seconds=20.0)
    except AssertionError:
        assert f"idle     1 node ({node} for " in terminal.screen(), terminal.screen()
        done = shell.run("pool", "reclaim", POOL, "--include-unknown", "--yes", "--write")
        assert done.returncode == 0, done.stderr
        return
    terminal.type("empty now")
    terminal.keys("Enter")
    terminal.until("Reclaim 1 idle node of pool a100: cordon", node, "would accept")
    assert ground.deployment()["spec"]["replicas"] == 2
    terminal.keys("y")


def idle_goes(terminal: Terminal, ground: Ground, node: str, shell: Shell) -> None:
    """Its job ends; the idle node is cordoned by one `R` and removed by the next."""
    ground.ends("llm")
    terminal.until("8/16 GPUs allocated")
    cordons(terminal, ground, node, shell)
    until("it is cordoned", lambda: (ground.node(node) or {})["spec"].get("unschedulable"), SECONDS)

    ladders.until_asked(terminal, "R", "Reclaim 1 empty node of pool a100", seconds=SECONDS)
    terminal.until(node, "from 2 to 1 nodes", "would accept")
    terminal.keys("y")
    until("its machine is gone", lambda: True if len(ground.machines()) == 1 else None, SECONDS)
    until("its node is gone", lambda: True if ground.node(node) is None else None, SECONDS)
    assert ground.deployment()["spec"]["replicas"] == 1
    terminal.until("8/8 GPUs allocated")


def test_the_maximum_is_raised_and_lowered_by_key(ground: Ground, opened: Opened, tmp_path: Path) -> None:
    until("the first node offers its GPUs", lambda: ground.nodes() or None, SECONDS)
    terminal = opened(ground.bed.kubeconfig, "--write")
    terminal.until("live · rw", "8 free")
    terminal.keys("5")
    terminal.until("Owner", POOL)
    terminal.find(POOL)
    terminal.keys("Enter")
    terminal.until(f"pool {POOL}", "Nodes of the pool")

    def most(count: str) -> bool | None:
        return True if ground.deployment()["metadata"]["annotations"][MAXIMUM] == count else None

    for before, after in ((3, 5), (5, 1)):
        ladders.sets_the_maximum(terminal, POOL, before, after)
        until("the object has it", lambda count=str(after): most(count), SECONDS)  # type: ignore[misc]
        terminal.until(f"maximum {after}")
        assert ladders.sent(tmp_path, f"{DEPLOYMENTS}/{POOL}") > 0
    assert ground.deployment()["spec"]["replicas"] == 1, "only the bound was set"

    terminal.keys("M")
    terminal.until(f"Maximum of {POOL}")
    terminal.keys("C-u")
    terminal.type("0")
    terminal.until("a maximum of 0 is below what it has, 1 node: shrink it first")
    terminal.keys("Escape")
    terminal.until("Leave this form?")
    terminal.keys("y")
    terminal.until("Nodes of the pool")
    terminal.keys("S")
    terminal.until(f"Nodes of {POOL}")
    terminal.keys("C-u")
    terminal.type("2")
    terminal.until("2 is above its maximum of 1")
