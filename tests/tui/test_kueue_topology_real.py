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
from tests.tui.engine_ground import OnTheBed
from tests.tui.engine_life import NAMESPACE, half_binds, life
from tests.tui.engine_ways import BY_QUOTA, Way
from tests.tui.on_the_bed import Opened, opened
from tests.tui.terminal import Terminal

__all__ = ["opened"]
pytestmark = pytest.mark.real

NODES = 2
QUOTA_GPUS = 64
TOPOLOGY = "dc"
TOGETHER = Way(
    template="job",
    values={"Queue": "main"},
    says=(f"Kueue places it by topology {TOPOLOGY}: it binds together or not at all",),
    foresees=("no room for 1 of 3",),
    why=("topology",),
    kinds="jobs,pods,workloads",
    waits_for_quota=True,
)


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
    life(at_work(opened, kueue), OnTheBed(kueue), TOGETHER, "tas")


def test_without_a_topology_the_form_warns_of_a_gang_that_will_half_bind(kueue: Bed, opened: Opened) -> None:
    estate(kueue, with_topology=False)
    half_binds(at_work(opened, kueue), OnTheBed(kueue), BY_QUOTA, "half")
