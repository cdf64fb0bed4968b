"""Gangs under the real engines: coscheduling, the native gang of kube-scheduler 1.36, JobSet under Kueue.

For each, from the form to nothing left, by keys in tmux (`engine_life`). The native gang needs only gates of
what every run has; the others are played where they are in the cache (`python -m tests.bed build --all`).
"""

from collections.abc import Iterator

import pytest

from tests.bed import builder, engines, sandbox
from tests.bed.bed import Bed
from tests.bed.estate import Estate, gpu_node
from tests.bed.fixtures import fresh
from tests.tui.engine_life import Way, life
from tests.tui.on_the_bed import Opened, opened
from tests.tui.terminal import Terminal

__all__ = ["opened"]
pytestmark = pytest.mark.real

NODES = 2
NO_ROOM = "needs 4 GPUs on one node: all 2 nodes lack free GPUs"
NATIVE = Way(
    template="job",
    values={"Engine": "native"},
    says=("Binds minCount pods together or none",),
    foresees=("misses 1 of 3",),
    why=(NO_ROOM,),
    kinds="jobs,pods,podgroups.scheduling.k8s.io",
)
COSCHEDULING = Way(
    template="job",
    values={"Engine": "coscheduling"},
    says=("Binds together or not at all", "retry now does"),
    foresees=("misses 1 of 3",),
    # the cause stands in one event of one pod, and is lost where the server folds it into an earlier one
    why=(NO_ROOM, "failed and waits to be tried again"),
    kinds="jobs,pods,podgroups.scheduling.x-k8s.io",
    retries=False,
)
JOBSET = Way(
    template="jobset",
    values={"Queue": "main"},
    says=("waits in queue main until all of it is admitted",),
    foresees=("queue research has 8 of the 12 GPUs left",),
    why=("4 more needed",),
    kinds="jobsets,jobs,pods,workloads,services",
    workers="Nodes (pods)",
    is_held_by_quota=True,
)


def built(*names: str) -> None:
    """Skips where a program is not in the cache; nothing is compiled here."""
    for name in names:
        if builder.cached(name) is None:
            pytest.skip(engines.NOT_BUILT.format(name))


def with_nodes(bed: Bed) -> Bed:
    for index in range(NODES):
        bed.api().create("/api/v1/nodes", gpu_node(f"gpu-{index:03d}", index))
    return bed


@pytest.fixture
def native(request: pytest.FixtureRequest) -> Iterator[Bed]:
    for bed in fresh({"native", "kwok"}, request, namespace=False):
        yield with_nodes(bed)


@pytest.fixture
def coscheduling(request: pytest.FixtureRequest) -> Iterator[Bed]:
    built("sp-scheduler", "sp-controller")
    for bed in fresh({"coscheduling", "pod-groups", "scheduler", "kwok"}, request, namespace=False):
        yield with_nodes(bed)


@pytest.fixture
def jobset(request: pytest.FixtureRequest) -> Iterator[Bed]:
    built("jobset")
    if (reason := sandbox.why_not()) is not None:
        pytest.skip(reason)
    for bed in fresh({"jobset", "kueue"}, request):
        Estate(bed.api()).create(nodes=NODES)
        yield bed


def at_work(opened: Opened, bed: Bed) -> Terminal:
    terminal = opened(bed.kubeconfig, "--write")
    terminal.until("live · rw", f"{NODES} nodes")
    return terminal


def test_a_gang_of_the_native_engine(native: Bed, opened: Opened) -> None:
    life(at_work(opened, native), native, NATIVE, "nat")


def test_a_gang_of_coscheduling(coscheduling: Bed, opened: Opened) -> None:
    life(at_work(opened, coscheduling), coscheduling, COSCHEDULING, "cos")


def test_a_jobset_under_kueue(jobset: Bed, opened: Opened) -> None:
    life(at_work(opened, jobset), jobset, JOBSET, "set")
