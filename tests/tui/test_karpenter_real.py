"""Pools of the real Karpenter, by keys in tmux: a job waits, a machine is ordered, joins, gets its driver,
the job runs and ends, the machine idles and goes. What the screen says of a stage is held against the
objects.

A machine stays at a stage until the test lets it on, so no stage can be missed. Played where Karpenter is in
the cache (`python -m tests.bed build --all`).
"""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from tests.bed import builder, engines
from tests.bed import karpenter_objects as objects
from tests.bed.bed import Bed
from tests.bed.estate import GPU, gpu_job, gpu_node
from tests.bed.fixtures import fresh
from tests.bed.setup import apply_all
from tests.tui.on_the_bed import Opened, opened, until
from tests.tui.terminal import Terminal

__all__ = ["opened"]
pytestmark = pytest.mark.real

SECONDS = 120.0
JOBS = "/apis/batch/v1/namespaces/team-a/jobs"
PODS = "/api/v1/namespaces/team-a/pods"
NODES = "/api/v1/nodes"
CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
POOLS = "/apis/karpenter.sh/v1/nodepools"
BOOTING, NO_DRIVER = objects.HOLDS
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

    def runs(self, job: str) -> bool | None:
        return True if self.phase(job) == "Running" else None

    def ends(self, job: str) -> None:
        """Its pods have done their work."""
        for one in self.api.items(PODS):
            if (name := one["metadata"]["name"]).startswith(f"{job}-"):
                self.api.merge(f"{PODS}/{name}", {"metadata": {"annotations": {"bed/finish-after": "1s"}}})

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


def hangs_at(screen: str) -> str:
    """The step of the ladder that is waited for: `joined … now 4s`."""
    found = re.search(r"(launching|launched|joined|ready|GPUs up) …", screen)
    return "" if found is None else found[1]


def until_hangs(terminal: Terminal, *steps: str) -> str:
    """The screen while one of these is waited for."""

    def look() -> str | None:
        screen = terminal.screen()
        return screen if hangs_at(screen) in steps else None

    return until(f"the ladder waits for one of {steps}", look, SECONDS)


def open_pool(terminal: Terminal, name: str) -> None:
    terminal.keys("5")
    terminal.until("Owner", name)
    terminal.find(name)
    terminal.keys("Enter")
    terminal.until(f"pool {name}", "Nodes of the pool")


def climbs(terminal: Terminal, ground: Ground, claim: Tree) -> Tree:
    """Each stage on the screen and in the objects, up to the GPUs; the node."""
    until_hangs(terminal, "launching", "launched", "joined", "ready")
    until("Karpenter calls it launched", lambda: ground.is_true(claim, "Launched"), SECONDS)
    node = until("its node joins", lambda: ground.node_of(claim), SECONDS)
    screen = until_hangs(terminal, "ready")
    assert node["metadata"]["name"][:24] in screen and "joining" in screen
    ground.let_on(node, BOOTING)
    screen = until_hangs(terminal, "GPUs up")
    assert "no GPUs yet" in screen and "driver" in screen
    assert not ground.has_gpus(claim)
    ground.let_on(node, NO_DRIVER)
    until("its GPUs are there", lambda: ground.has_gpus(claim), SECONDS)
    return node


def stamps(screen: str) -> dict[str, float]:
    """Seconds since *asked* by step, as the ladder shows them."""
    found = re.findall(r"(accepted|launching|launched|joined|ready|GPUs up|used) \+(\d+(?:\.\d+)?)s", screen)
    return {step: float(seconds) for step, seconds in found}


def seconds_of(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def test_a_pool_of_a_stated_size_grows_for_a_job_and_shrinks_when_it_idles(
    ground: Ground, opened: Opened
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
    pick(terminal, "pool steady")
    terminal.keys("Enter")
    terminal.until(
        "Grow pool steady from 1 to 2", "would start: team-a/llm (8 GPUs)", "--to 2", "would accept"
    )
    terminal.keys("y")
    _, second = until("a second machine is claimed", ground.two_claims, SECONDS)
    assert ground.api.get(f"{POOLS}/steady/scale")["spec"]["replicas"] == 2

    terminal.keys("Escape")
    terminal.until("· jobs ·")
    open_pool(terminal, "steady")
    born = climbs(terminal, ground, second)
    until("the job runs on it", lambda: ground.runs("llm"), SECONDS)
    until_body_shows(terminal, born, "8/8")
    shown = stamps(terminal.screen())
    if "accepted" in shown and "joined" in shown:  # while the growth is still told
        came = seconds_of(born["metadata"]["creationTimestamp"])
        made = seconds_of(second["metadata"]["creationTimestamp"])
        assert abs((shown["joined"] - shown["accepted"]) - (came - made)) <= 2

    ground.ends("llm")
    terminal.until("8/16 GPUs allocated", "8 free")
    screen = until_body_shows(terminal, born, "0/8")
    assert "8 of its GPUs are free" in screen
    # A pod that has ended is still on its node, which Karpenter then takes for no emptier than the other.
    ground.api.delete(f"{JOBS}/llm", {"propagationPolicy": "Background"})
    until("nothing is on the node", lambda: None if ground.phase("llm") else True, SECONDS)
    terminal.keys("S")
    terminal.until("Nodes of steady")
    terminal.keys("C-u")
    terminal.type("1")
    terminal.keys("C-s")
    terminal.until("Shrink pool steady from 2 to 1")
    terminal.keys("y")
    until("one machine is left", lambda: True if len(ground.claims()) == 1 else None, SECONDS)
    assert ground.claims()[0]["metadata"]["name"] == first["metadata"]["name"], "the busy one stays"
    terminal.until("8/8 GPUs allocated")
    assert ground.phase("resident") == "Running"


def pick(terminal: Terminal, words: str) -> None:
    """The cursor on the offer with these words."""
    offers = [line for line in terminal.screen().splitlines() if "starts" in line and "  " in line]
    at = next(at for at, line in enumerate(offers) if words in line)
    for _ in range(at):
        terminal.keys("Down")


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
    until_hangs(terminal, "launching", "launched", "joined", "ready")
    node = until("its node joins", lambda: ground.node_of(claim), SECONDS)
    ground.let_on(node, BOOTING)
    until_hangs(terminal, "GPUs up")
    terminal.keys("2")
    terminal.until("team-a/first", "waits for the GPU driver on")
    assert not ground.is_true(claim, "Initialized"), "the claim asks for GPUs, so Karpenter waits for them"
    ground.let_on(node, NO_DRIVER)
    until("it runs", lambda: ground.runs("first"), SECONDS)
    ground.job("second")
    terminal.until("team-a/second", "node pool burst is at its limit")
    ground.api.delete(f"{JOBS}/second", {"propagationPolicy": "Background"})
    ground.ends("first")
    until("the empty machine goes", lambda: True if not ground.claims() else None, SECONDS)
    terminal.until("no GPUs")


def test_a_cloud_that_is_sold_out_is_told(ground: Ground, opened: Opened) -> None:
    ground.pool(objects.node_pool("scarce"))
    apply_all(ground.api, objects.stockout("scarce"), fresh=True)
    terminal = opened(ground.bed.kubeconfig)
    terminal.until("live")
    ground.job("unlucky")
    terminal.keys("2")
    terminal.until("team-a/unlucky", "the cloud has no machine for pool scarce", seconds=SECONDS)
    assert json.dumps(ground.claims()).count("providerID") == 0
