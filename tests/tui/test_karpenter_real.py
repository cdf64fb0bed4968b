"""Pools of the real Karpenter, by keys in tmux: a job waits, a machine is ordered, joins, gets its driver,
the job runs and ends, the machine idles and goes. What the screen says of a stage is held against the
objects.

A machine stays at a stage until the test lets it on, so no stage can be missed. Played where Karpenter is in
the cache (`python -m tests.bed build --all`).
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bed import builder, engines
from tests.bed import karpenter_objects as objects
from tests.bed.bed import Bed
from tests.bed.estate import GPU, gpu_job, gpu_node
from tests.bed.fixtures import fresh
from tests.bed.setup import apply_all
from tests.tui import ladders
from tests.tui.ladders import until_hangs
from tests.tui.on_the_bed import Opened, Shell, opened, until
from tests.tui.terminal import Terminal

__all__ = ["opened"]
pytestmark = pytest.mark.real

SECONDS = 120.0
JOBS = "/apis/batch/v1/namespaces/team-a/jobs"
PODS = "/api/v1/namespaces/team-a/pods"
NODES = "/api/v1/nodes"
CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
POOLS = "/apis/karpenter.sh/v1/nodepools"
BUFFERS = "/apis/autoscaling.x-k8s.io/v1beta1/namespaces/default/capacitybuffers"
TEMPLATES = "/api/v1/namespaces/default/podtemplates"
PLACEHOLDERS = "/apis/batch/v1/namespaces/default/jobs"
BOOTING, NO_DRIVER = objects.HOLDS
KEEP = "karpenter.sh/do-not-disrupt"
Tree = dict[str, Any]


class Ground:
    """The bed, and what is asked of its objects."""

    def __init__(self, bed: Bed) -> None:
        self.bed, self.api = bed, bed.api()

    def pool(self, tree: Tree) -> None:
        apply_all(self.api, [tree], fresh=True)

    def job(self, name: str) -> None:
        self.api.create(JOBS, gpu_job(name, gpus=8, queue=""))

    def phase(self, job: str) -> str:
        pods = [one for one in self.api.items(PODS) if one["metadata"]["name"].startswith(f"{job}-")]
        return "" if not pods else str(pods[0]["status"]["phase"])

    def pod(self, job: str) -> Tree:
        return next(one for one in self.api.items(PODS) if one["metadata"]["name"].startswith(f"{job}-"))

    def now(self, node: Tree) -> Tree:
        return self.api.get(f"{NODES}/{node['metadata']['name']}")

    def runs(self, job: str) -> bool | None:
        return True if self.phase(job) == "Running" else None

    def ends(self, job: str) -> None:
        """Its pods have done their work."""
        for one in self.api.items(PODS):
            if (name := one["metadata"]["name"]).startswith(f"{job}-"):
                self.api.merge(f"{PODS}/{name}", {"metadata": {"annotations": {"bed/finish-after": "1s"}}})

    def forgets(self, job: str) -> None:
        """A pod that has ended is still on its node, which Karpenter takes for no emptier than others."""
        self.api.delete(f"{JOBS}/{job}", {"propagationPolicy": "Background"})
        until("nothing is on the node", lambda: None if self.phase(job) else True, SECONDS)

    def claims(self) -> list[Tree]:
        """Oldest first."""
        return sorted(self.api.items(CLAIMS), key=lambda one: one["metadata"]["creationTimestamp"])

    def two_claims(self) -> list[Tree] | None:
        found = self.claims()
        return found if len(found) == 2 else None

    def node_of(self, claim: Tree) -> Tree | None:
        name = self.claim(claim).get("status", {}).get("nodeName", "")
        return next((one for one in self.api.items(NODES) if name and one["metadata"]["name"] == name), None)

    def claim(self, claim: Tree) -> Tree:
        return self.api.get(f"{CLAIMS}/{claim['metadata']['name']}")

    def has_gpus(self, claim: Tree) -> bool | None:
        """Whether its node offers GPUs. That a claim is initialized does not tell: of a pool with a stated
        size Karpenter says so before the driver is there."""
        node = self.node_of(claim)
        return bool(node and int(node["status"]["allocatable"].get(GPU, 0))) or None

    def let_on(self, node: Tree, hold: str) -> None:
        path = f"{NODES}/{node['metadata']['name']}"
        self.api.merge(path, {"metadata": {"annotations": {hold: None}}})

    def is_true(self, claim: Tree, condition: str) -> bool | None:
        said = self.claim(claim).get("status", {}).get("conditions") or []
        return any(one["type"] == condition and one["status"] == "True" for one in said) or None


@pytest.fixture
def ground(request: pytest.FixtureRequest) -> Iterator[Ground]:
    if builder.cached("karpenter") is None:
        pytest.skip(engines.NOT_BUILT.format("karpenter"))
    for bed in fresh({"karpenter"}, request, namespace=False):
        apply_all(bed.api(), [objects.node_class(registers_after="10s")], fresh=True)
        bed.api().create(NODES, gpu_node("cpu-000", gpus=0, pool="cpu"))
        yield Ground(bed)


def open_pool(terminal: Terminal, name: str) -> None:
    terminal.keys("5")
    terminal.until("Owner", name)
    terminal.find(name)
    terminal.keys("Enter")
    terminal.until(f"pool {name}", "Nodes of the pool")


def open_again(terminal: Terminal, name: str) -> None:
    """The filter is still there."""
    terminal.keys("5")
    terminal.until("Owner", name)
    terminal.keys("Enter")
    terminal.until(f"pool {name}", "Nodes of the pool")


def climbs(terminal: Terminal, ground: Ground, claim: Tree, truth: dict[str, float]) -> Tree:
    """Each stage on the screen, with the times of the objects in `truth` and those that come, until the GPUs
    are waited for; the node."""
    until_hangs(terminal, "launching", "launched", "joined", "ready", seconds=SECONDS)
    until("Karpenter calls it launched", lambda: ground.is_true(claim, "Launched"), SECONDS)
    node = until("its node joins", lambda: ground.node_of(claim), SECONDS)
    truth |= {
        "accepted": ladders.born(claim),
        "launched": ladders.since(ground.claim(claim), "Launched"),
        "joined": ladders.born(node),
    }
    screen = until_hangs(terminal, "ready", seconds=SECONDS)
    ladders.agree(screen, truth)
    assert node["metadata"]["name"][:24] in screen and "joining" in screen
    ground.let_on(node, BOOTING)
    screen = until_hangs(terminal, "GPUs up", seconds=SECONDS)
    truth["ready"] = ladders.since(ground.now(node), "Ready")
    ladders.agree(screen, truth)
    assert "no GPUs yet" in screen and "driver" in screen
    assert not ground.has_gpus(claim)
    return node


def is_used(terminal: Terminal, ground: Ground, claim: Tree, job: str, truth: dict[str, float]) -> None:
    """The driver is let on, the job runs, and the ladder has every time that an object has."""
    before = time.time()
    ground.let_on(ground.node_of(claim) or {}, NO_DRIVER)
    until("its GPUs are there", lambda: ground.has_gpus(claim), SECONDS)
    until("the job runs on it", lambda: ground.runs(job), SECONDS)
    truth["used"] = ladders.seconds_of(ground.pod(job)["status"]["startTime"])

    def whole() -> str | None:
        """Nobody dates the launch's beginning any more."""
        screen = terminal.screen()
        return screen if {*truth, "GPUs up"} <= set(ladders.stamps(screen)) else None

    screen = until("the whole ladder", whole, SECONDS)
    ladders.agree(screen, truth)
    up = ladders.stamps(screen)["GPUs up"]
    assert before - ladders.CUT_SECONDS <= up <= truth["used"] + ladders.CUT_SECONDS, screen


def test_a_pool_of_a_stated_size_grows_for_a_job_and_shrinks_when_it_idles(
    ground: Ground, opened: Opened, tmp_path: Path
) -> None:
    ground.pool(objects.node_pool("steady", replicas=1, limits={"nodes": "3"}, is_held=True))
    (first,) = until("a first machine is claimed", lambda: ground.claims() or None, SECONDS)
    node = until("it joins", lambda: ground.node_of(first), SECONDS)
    for hold in objects.HOLDS:
        ground.let_on(node, hold)
    ground.job("resident")
    until("the pool is in use", lambda: ground.runs("resident"), SECONDS)
    ground.job("llm")

    terminal = opened(ground.bed.kubeconfig, "--write")
    terminal.until("live · rw", "8/8 GPUs allocated")
    terminal.keys("2")
    terminal.until("team-a/llm", "needs 8 GPUs: all 8 GPUs on 1 node are allocated")
    terminal.find("llm")
    terminal.keys("w")
    terminal.until("It would start if", "pool steady")
    ladders.pick(terminal, "pool steady")
    terminal.keys("Enter")
    terminal.until(
        "Grow pool steady from 1 to 2", "would start: team-a/llm (8 GPUs)", "--to 2", "would accept"
    )
    terminal.keys("y")
    _, second = until("a second machine is claimed", ground.two_claims, SECONDS)
    assert ground.api.get(f"{POOLS}/steady/scale")["spec"]["replicas"] == 2

    terminal.keys("Escape")
    terminal.until("State", without=("It would start if",))
    open_pool(terminal, "steady")
    truth = {"asked": ladders.asked(ground.api, tmp_path, f"{POOLS}/steady/scale")}
    born = climbs(terminal, ground, second, truth)
    is_used(terminal, ground, second, "llm", truth)
    until_body_shows(terminal, born, "8/8")

    ground.ends("llm")
    terminal.until("8/16 GPUs allocated", "8 free")
    screen = until_body_shows(terminal, born, "0/8")
    assert "8 GPUs free" in screen
    ground.forgets("llm")
    terminal.keys("S")
    terminal.until("Nodes of steady")
    terminal.keys("C-u")
    terminal.type("1")
    # refused as long as the cockpit has not heard that the pod which ended is gone
    ladders.until_asked(terminal, "C-s", "Shrink pool steady from 2 to 1", seconds=SECONDS)
    terminal.until("would accept")  # a yes before that does not count for what the check changes
    terminal.keys("y")
    until(
        "one machine is left",
        lambda: True if len(ground.claims()) == 1 else None,
        SECONDS,
        shows=terminal.screen,
    )
    assert ground.claims()[0]["metadata"]["name"] == first["metadata"]["name"], "the busy one stays"
    terminal.until("8/8 GPUs allocated")
    assert ground.phase("resident") == "Running"


def until_body_shows(terminal: Terminal, node: Tree, gpus: str) -> str:
    """The screen once the row of that node has so many GPUs allocated."""
    start = node["metadata"]["name"][:18]

    def look() -> str | None:
        screen = terminal.screen()
        rows = [line for line in screen.splitlines() if start in line and gpus in line]
        return screen if rows else None

    return until(f"{start} shows {gpus}", look, SECONDS)


def test_a_pool_that_demand_grows_is_told_while_others_grow_it(ground: Ground, opened: Opened) -> None:
    ground.pool(objects.node_pool("burst", limits={GPU: "8"}, is_held=True, empty_after="20s"))
    terminal = opened(ground.bed.kubeconfig, "--write")
    terminal.until("live · rw")
    ground.job("first")
    (claim,) = until("a machine is claimed", lambda: ground.claims() or None, SECONDS)
    terminal.keys("2")
    terminal.until("team-a/first", f"waits for nodeclaim/{claim['metadata']['name'][:8]}")
    open_pool(terminal, "burst")
    truth: dict[str, float] = {}
    climbs(terminal, ground, claim, truth)
    terminal.keys("2")
    terminal.until("team-a/first", "waits for the GPU driver on")
    assert not ground.is_true(claim, "Initialized"), "the claim asks for GPUs, so Karpenter waits for them"
    open_again(terminal, "burst")
    is_used(terminal, ground, claim, "first", truth)
    terminal.keys("2")
    ground.job("second")
    terminal.until("team-a/second", "node pool burst is at its limit")
    ground.api.delete(f"{JOBS}/second", {"propagationPolicy": "Background"})
    ground.ends("first")
    until("the empty machine goes", lambda: True if not ground.claims() else None, SECONDS)
    terminal.until("no GPUs")


def given_back(terminal: Terminal, ground: Ground, job: str, pool: str, node: Tree) -> None:
    """The job ends, and its machine idles."""
    ground.ends(job)
    open_again(terminal, pool)
    assert "8 GPUs free" in until_body_shows(terminal, node, "0/8")
    ground.forgets(job)
    reclaimed(terminal, ground, pool, node)


def reclaimed(terminal: Terminal, ground: Ground, pool: str, node: Tree) -> None:
    """The idle machine is given back: cordoned by one `R`, removed by the next."""
    name = node["metadata"]["name"]
    terminal.keys("R")
    terminal.until("empty now")
    terminal.type("empty now")
    terminal.keys("Enter")
    terminal.until(f"Reclaim 1 idle node of pool {pool}: cordon", name[:24], "would accept")
    terminal.keys("y")
    until("it is cordoned", lambda: ground.now(node)["spec"].get("unschedulable"), SECONDS)
    assert len(ground.claims()) == 1, "nothing goes at once"
    ladders.until_asked(terminal, "R", f"Reclaim 1 empty node of pool {pool}", seconds=SECONDS)
    terminal.until(name[:24], "would accept")
    terminal.keys("y")
    until("its machine is gone", lambda: True if not ground.claims() else None, SECONDS)
    gone = ground.api.request("GET", f"{NODES}/{name}").status
    assert gone == 404, "a NodeClaim goes after its node"


def test_a_pool_at_zero_grows_for_a_job_and_goes_back_to_zero(
    ground: Ground, opened: Opened, tmp_path: Path
) -> None:
    ground.pool(objects.node_pool("cold", replicas=0, limits={"nodes": "2"}, is_held=True))
    ground.job("llm")
    terminal = opened(ground.bed.kubeconfig, "--write")
    terminal.until("live · rw")
    terminal.keys("2")
    terminal.until("team-a/llm")
    terminal.find("llm")
    terminal.keys("w")
    terminal.until("It would start if", "grow pool cold by 1 node, to 1")
    terminal.keys("Escape")
    terminal.until("State", without=("It would start if",))
    open_pool(terminal, "cold")
    terminal.until("expected wait unknown")
    terminal.keys("S")
    terminal.until("Nodes of cold")
    terminal.keys("C-u")
    terminal.type("1")
    terminal.keys("C-s")
    terminal.until("Grow pool cold from 0 to 1", "would start: team-a/llm (8 GPUs)", "would accept")
    terminal.keys("y")
    (claim,) = until("a machine is claimed", lambda: ground.claims() or None, SECONDS)
    terminal.until("pool cold", "Nodes of the pool")
    truth = {"asked": ladders.asked(ground.api, tmp_path, f"{POOLS}/cold/scale")}
    node = climbs(terminal, ground, claim, truth)
    is_used(terminal, ground, claim, "llm", truth)
    given_back(terminal, ground, "llm", "cold", node)
    assert ground.api.get(f"{POOLS}/cold")["spec"]["replicas"] == 0


def test_a_cloud_that_is_sold_out_is_told(ground: Ground, opened: Opened) -> None:
    ground.pool(objects.node_pool("scarce"))
    apply_all(ground.api, objects.stockout("scarce"), fresh=True)
    terminal = opened(ground.bed.kubeconfig)
    terminal.until("live")
    ground.job("unlucky")
    terminal.keys("2")
    terminal.until("team-a/unlucky", "the cloud has no machine for pool scarce", seconds=SECONDS)
    assert json.dumps(ground.claims()).count("providerID") == 0


def asks_for_a_node(terminal: Terminal, ground: Ground, pool: str) -> Tree:
    """`S` where the number cannot be set; the claim that Karpenter makes for it."""
    terminal.keys("S")
    terminal.until(f"More nodes of {pool}")
    terminal.keys("C-u")
    terminal.type("1")
    terminal.keys("C-s")
    terminal.until(
        f"Ask Karpenter for 1 node more in pool {pool}",
        "keeps room for 1 pod of 8 GPUs free; no pod is made",
        f"cockpit pool ask {pool} --withdraw",
        "would accept",
    )
    assert not ground.api.items(BUFFERS), "nothing is sent before yes"
    terminal.keys("y")
    (buffer,) = until("a buffer is made", lambda: ground.api.items(BUFFERS) or None, SECONDS)
    (template,) = ground.api.items(TEMPLATES)
    assert buffer["spec"]["replicas"] == 1
    assert buffer["spec"]["podTemplateRef"]["name"] == template["metadata"]["name"]
    assert template["template"]["spec"]["nodeSelector"][objects.POOL_LABEL] == pool
    (claim,) = until("a machine is claimed", lambda: ground.claims() or None, SECONDS)
    assert claim["metadata"]["labels"][objects.POOL_LABEL] == pool
    terminal.until("asked for", "1 node by", "S withdraws it")
    return claim


def withdraws(terminal: Terminal, ground: Ground, pool: str) -> None:
    """The same key takes it back once the machine has come, which stays; before, the change is in flight."""

    def is_over() -> bool | None:
        held = [
            one
            for one in ground.api.items(ladders.LEASES)
            if one["metadata"]["name"].startswith("gpu-cockpit")
        ]
        return None if any(one["spec"].get("holderIdentity") for one in held) else True

    until("the change is over", is_over, SECONDS)
    terminal.keys("S")
    terminal.until(f"Withdraw what asks for nodes of pool {pool}", "would accept")
    terminal.keys("y")
    until("the buffer is gone", lambda: None if ground.api.items(BUFFERS) else True, SECONDS)
    until("its template is gone", lambda: None if ground.api.items(TEMPLATES) else True, SECONDS)
    assert len(ground.claims()) == 1


def is_kept(terminal: Terminal, ground: Ground, node: Tree) -> None:
    """The page of the node says why Karpenter lets it be: by its pool, and by its own annotation."""
    name = node["metadata"]["name"]
    terminal.keys("Enter")
    says = "Karpenter does not take it away: "
    terminal.until("node       " + name[:24], says + "NodePool burst says consolidateAfter Never")
    ground.api.merge(f"{NODES}/{name}", {"metadata": {"annotations": {KEEP: "true"}}})
    terminal.until(says + f"annotation {KEEP} on the node")
    terminal.keys("Escape")
    terminal.until("Nodes of the pool", "not taken away: ", "kept); 8 GPUs free")
    ground.api.merge(f"{NODES}/{name}", {"metadata": {"annotations": {KEEP: None}}})
    terminal.until("Nodes of the pool", without=("not taken away: ",))


def test_nodes_are_asked_for_by_demand_withdrawn_and_given_back(
    ground: Ground, opened: Opened, tmp_path: Path
) -> None:
    ground.pool(objects.node_pool("burst", limits={"nodes": "1"}, is_held=True))
    terminal = opened(ground.bed.kubeconfig, "--write")
    terminal.until("live · rw")
    open_pool(terminal, "burst")
    ladders.sets_the_maximum(terminal, "burst", 1, 2)

    def limits() -> Tree:
        found: Tree = ground.api.get(f"{POOLS}/burst")["spec"]["limits"]
        return found

    until("the NodePool has it", lambda: True if limits() == {"nodes": "2"} else None, SECONDS)
    claim = asks_for_a_node(terminal, ground, "burst")
    (buffer,) = ground.api.items(BUFFERS)
    truth = {"asked": max(ladders.asked(ground.api, tmp_path, BUFFERS), ladders.born(buffer))}
    node = climbs(terminal, ground, claim, truth)
    ground.let_on(node, NO_DRIVER)
    until("its GPUs are there", lambda: ground.has_gpus(claim), SECONDS)
    until_body_shows(terminal, node, "0/8")
    withdraws(terminal, ground, "burst")
    is_kept(terminal, ground, node)
    reclaimed(terminal, ground, "burst", node)


def test_nodes_are_asked_for_by_command_in_each_way_and_withdrawn(ground: Ground, tmp_path: Path) -> None:
    ground.pool(objects.node_pool("burst", limits={"nodes": "2"}, empty_after="10s"))
    shell = Shell(ground.bed.kubeconfig, tmp_path)
    for way, path in (("buffer", BUFFERS), ("placeholder", PLACEHOLDERS), ("machine", CLAIMS)):
        words = ("pool", "ask", "burst", "--nodes", "1", "--way", way, "--yes", "--write")
        done = shell.run(*words)
        assert done.returncode == 0, done.stderr
        assert len(ground.api.items(path)) == 1 or way == "machine"
        (claim,) = until(f"a machine comes by {way}", lambda: ground.claims() or None, SECONDS)
        assert claim["metadata"]["labels"][objects.POOL_LABEL] == "burst"
        if way != "machine":
            until("it has its GPUs", lambda one=claim: ground.has_gpus(one), SECONDS)  # type: ignore[misc]
        done = shell.run("pool", "ask", "burst", "--withdraw", "--yes", "--write")
        assert done.returncode == 0, done.stderr
        until(f"nothing asks by {way}", lambda at=path: None if ground.api.items(at) else True, SECONDS)  # type: ignore[misc]
        if way == "buffer":  # Karpenter counts its pods on the node until it next provisions
            ground.api.delete(f"{CLAIMS}/{claim['metadata']['name']}")
        until(f"the machine of {way} goes", lambda: True if not ground.claims() else None, SECONDS)
    done = shell.run("pool", "ask", "burst", "--nodes", "3", "--yes", "--write")
    assert done.returncode == 2 and "above its maximum of 2" in done.stderr


BUDGETS = "/apis/policy/v1/namespaces/team-a/poddisruptionbudgets"


def test_why_a_node_is_left_alone_is_what_karpenter_says_of_it(ground: Ground, opened: Opened) -> None:
    ground.pool(objects.node_pool("burst", limits={"nodes": "1"}, empty_after="5s"))
    tree = gpu_job("llm", gpus=8, queue="")
    tree["spec"]["template"].setdefault("metadata", {})["annotations"] = {KEEP: "true"}
    ground.api.create(JOBS, tree)
    until("the job runs", lambda: ground.runs("llm"), SECONDS)
    pod = ground.pod("llm")["metadata"]["name"]
    terminal = opened(ground.bed.kubeconfig)
    terminal.until("live")
    open_pool(terminal, "burst")
    terminal.keys("Enter")

    def says(screen: str, event: str) -> None:
        terminal.until_body(f"Karpenter does not take it away: {screen}")

        def told() -> bool | None:
            found = ground.api.items("/api/v1/events")
            return (
                any(one["reason"] == "DisruptionBlocked" and event in one["message"] for one in found) or None
            )

        until(f"Karpenter says {event}", told, SECONDS)

    says(f"annotation {KEEP} on pod team-a/{pod}", "do-not-disrupt")
    ground.api.merge(f"{PODS}/{pod}", {"metadata": {"annotations": {KEEP: None}}})
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"batch.kubernetes.io/job-name": "llm"}}}
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "llm"}}
    ground.api.create(BUDGETS, {**budget, "spec": spec})
    says(f"budget team-a/llm lets no pod go, team-a/{pod} is one of its pods", "prevents pod evictions")
    ground.api.delete(f"{BUDGETS}/llm")
    terminal.until_body(
        "Karpenter does not take it away: NodePool burst gives up empty nodes only, and 1 pod is on it"
    )
    ground.forgets("llm")
    until("the empty machine goes", lambda: True if not ground.claims() else None, SECONDS)
    terminal.until("not in the cluster")
