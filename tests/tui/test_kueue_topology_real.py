"""Gangs under the real Kueue, with topology-aware scheduling and without it, by keys in tmux.

With a topology a gang binds together or waits outside, although its quota would hold it. Without one Kueue
admits by quota alone: a gang beyond the free GPUs half-binds, of which the form warns before.
"""

from collections.abc import Iterator

import pytest

from tests.bed import sandbox
from tests.bed.api import Tree
from tests.bed.bed import Bed
from tests.bed.estate import FLAVOR, POOL_LABEL, cluster_queue, flavor, gpu_node, local_queue
from tests.bed.fixtures import fresh
from tests.bed.setup import apply_all
from tests.tui import engine_life
from tests.tui.engine_life import NAMESPACE, Way, bound, left, life, running
from tests.tui.on_the_bed import Opened, opened, until
from tests.tui.terminal import Terminal

__all__ = ["opened"]
pytestmark = pytest.mark.real

NODES = 2
QUOTA_GPUS = 64
TOPOLOGY = "dc"
KINDS = "jobs,pods,workloads"
TOGETHER = Way(
    template="job",
    values={"Queue": "main"},
    says=(f"Kueue places it by topology {TOPOLOGY}: it binds together or not at all",),
    foresees=("misses 1 of 3",),
    why=("topology",),
    kinds=KINDS,
    is_held_by_quota=True,
)
BY_QUOTA = Way(
    template="job",
    values={"Queue": "main"},
    says=("Kueue admits it whole by quota; its pods then bind one by one",),
    foresees=(),
    why=(),
    kinds=KINDS,
)
BEYOND = 5
"""Pods of the gang whose quota suffices and whose GPUs do not: 20 of 16."""


def topology() -> Tree:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Topology",
        "metadata": {"name": TOPOLOGY},
        "spec": {"levels": [{"nodeLabel": "kubernetes.io/hostname"}]},
    }


def estate(bed: Bed, *, with_topology: bool) -> None:
    """Two nodes of eight GPUs, and a queue whose quota is far beyond them."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    made = flavor()
    trees = [namespace]
    if with_topology:
        made["spec"] = {"topologyName": TOPOLOGY, "nodeLabels": {POOL_LABEL: FLAVOR}}
        trees.append(topology())
    trees += [made, cluster_queue(gpus=QUOTA_GPUS), local_queue(NAMESPACE)]
    apply_all(bed.api(), trees, workers=1)
    for index in range(NODES):
        bed.api().create("/api/v1/nodes", gpu_node(f"gpu-{index:03d}", index))


@pytest.fixture
def kueue(request: pytest.FixtureRequest) -> Iterator[Bed]:
    if (reason := sandbox.why_not()) is not None:
        pytest.skip(reason)
    yield from fresh({"kueue"}, request)


def at_work(opened: Opened, bed: Bed) -> Terminal:
    terminal = opened(bed.kubeconfig, "--write")
    terminal.until("live · rw", f"{NODES} nodes")
    return terminal


def test_with_a_topology_a_gang_binds_together_or_not_at_all(kueue: Bed, opened: Opened) -> None:
    estate(kueue, with_topology=True)
    life(at_work(opened, kueue), kueue, TOGETHER, "tas")


def test_without_a_topology_the_form_warns_of_a_gang_that_will_half_bind(kueue: Bed, opened: Opened) -> None:
    estate(kueue, with_topology=False)
    terminal = at_work(opened, kueue)
    name = "half"
    warning = "Kueue counts quota, not places: it may admit all 20 GPUs while 16 are free"
    engine_life.submit(terminal, BY_QUOTA, name, BEYOND, (warning, "misses 1 of 5"))
    until("what fits of it runs", lambda: True if running(kueue, name) == BEYOND - 1 else None, 120.0)
    assert len(bound(kueue, name)) == BEYOND - 1, "the others hold their GPUs while one waits"
    terminal.keys("2")
    terminal.until("State", "Why", without=("Members by rank",))
    terminal.find(f"{NAMESPACE}/{name}")
    terminal.until_line(("pending",), f"{NAMESPACE}/{name}")
    engine_life.do(terminal, "K", f"Kill job {NAMESPACE}/{name}", f"Killed job {NAMESPACE}/{name}")
    until("nothing is left", lambda: None if left(kueue, KINDS, name) else True, 120.0)
