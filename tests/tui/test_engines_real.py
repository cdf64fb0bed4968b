"""Gangs under the real engines: coscheduling, the native gang of kube-scheduler 1.36, JobSet under Kueue.

For each, from the form to nothing left, by keys in tmux (`engine_life`). The native gang needs only gates of
what every run has; the others are played where they are in the cache (`python -m tests.bed build --all`).
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bed import builder, engines, sandbox
from tests.bed.bed import Bed
from tests.bed.estate import Estate, gpu_node
from tests.bed.fixtures import fresh
from tests.tui.engine_ground import OnTheBed
from tests.tui.engine_life import DEADLINE_SECONDS, NAMESPACE, bare_pods, left, life
from tests.tui.engine_ways import COSCHEDULING, JOBSET, NATIVE
from tests.tui.on_the_bed import Opened, Shell, opened, until
from tests.tui.terminal import Terminal

__all__ = ["opened"]
pytestmark = pytest.mark.real

NODES = 2


def built(*names: str) -> None:
    """Skips where a program is not in the cache; nothing is compiled here."""
    for name in names:
        if builder.cached(name) is None:
            pytest.skip(engines.NOT_BUILT.format(name))


def with_nodes(bed: Bed) -> Bed:
    """Nodes that are ready: a group that coscheduling refused before that would not be tried again."""
    api = bed.api()
    for index in range(NODES):
        api.create("/api/v1/nodes", gpu_node(f"gpu-{index:03d}", index))

    def are_ready() -> bool | None:
        trees = api.items("/api/v1/nodes")
        return None if any(tree["spec"].get("taints") for tree in trees) else True

    until("the nodes are ready", are_ready, DEADLINE_SECONDS)
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
    life(at_work(opened, native), OnTheBed(native), NATIVE, "nat")


def test_a_gang_of_coscheduling(coscheduling: Bed, opened: Opened) -> None:
    life(at_work(opened, coscheduling), OnTheBed(coscheduling), COSCHEDULING, "cos")


def test_a_gang_of_bare_pods_cannot_be_held_and_says_so(coscheduling: Bed, opened: Opened) -> None:
    bare_pods(at_work(opened, coscheduling), OnTheBed(coscheduling), "bare")


def test_a_jobset_whose_pods_know_no_native_group_is_refused_whole(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """JobSet 0.10 drops the field: its pods would start one by one. Neither it nor its group is made."""
    built("jobset")
    for bed in fresh({"native", "jobset"}, request, namespace=False):
        words = ("job", "submit", "jobset", "--engine", "native", "--name", "odd", "-n", NAMESPACE)
        done = Shell(bed.kubeconfig, tmp_path).run(*words, "--image", "example/train:1", "--write", "--yes")
        assert done.returncode == 1 and "unknown field" in done.stderr and "schedulingGroup" in done.stderr
        assert left(OnTheBed(bed), "jobsets,jobs,pods,podgroups.scheduling.k8s.io", "odd") == []


def test_a_jobset_under_kueue(jobset: Bed, opened: Opened) -> None:
    life(at_work(opened, jobset), OnTheBed(jobset), JOBSET, "set")
