"""What wakes a waiting pod: a table of happenings, refusals and answers; and the queue's places."""

import pytest

from cockpit.sim.actors.scheduler import hints
from cockpit.sim.actors.scheduler.podinfo import PodInfo
from cockpit.sim.actors.scheduler.queue import PodStage, SchedulingQueue, Waiting
from cockpit.sim.port import Tree
from tests.differential.scheduling_situations import ZONE, near, node, pod, port, spread

FIT, LABELS, TAINT = "NodeResourcesFit", "NodeAffinity", "TaintToleration"
CORDON, PORTS, SPREAD, COMPANY = "NodeUnschedulable", "NodePorts", "PodTopologySpread", "InterPodAffinity"
VOLUMES, GANG = "VolumeBinding", hints.GANG_PLUGIN
GPU = PodInfo(pod(gpus=2))
BARE = PodInfo(pod())
SPREADS = PodInfo(pod(labels={"app": "web"}, topologySpreadConstraints=spread("web")))
NEAR = PodInfo(pod(affinity=near("web")))
WEB = PodInfo(pod(labels={"app": "web"}, on="n1"))
OTHER = PodInfo(pod(labels={"app": "other"}, on="n1"))
TAINTED = "a=b:NoSchedule"


@pytest.mark.parametrize(
    ("tree", "plugin", "asked", "wakes"),
    [
        (node("n", gpus=2), FIT, GPU, True),
        (node("n", gpus=1), FIT, GPU, False),
        (node("n", taints=[TAINTED]), TAINT, BARE, False),
        (node("n"), TAINT, BARE, True),
        (node("n", cordoned=True), CORDON, BARE, False),
        (node("n"), LABELS, PodInfo(pod(nodeSelector={"x": "y"})), False),
        (node("n", labels={"x": "y"}), LABELS, PodInfo(pod(nodeSelector={"x": "y"})), True),
        (node("n"), SPREAD, SPREADS, False),
        (node("n", labels={ZONE: "a"}), SPREAD, SPREADS, True),
        (node("n"), VOLUMES, BARE, True),
        (node("n"), GANG, BARE, False),
    ],
)
def test_a_new_node(tree: Tree, plugin: str, asked: PodInfo, wakes: bool) -> None:
    assert hints.node_added(tree)(asked, plugin) is wakes


@pytest.mark.parametrize(
    ("before", "after", "plugin", "asked", "wakes"),
    [
        (node("n"), node("n", gpus=2), FIT, GPU, True),
        (node("n", gpus=2), node("n", gpus=1, cpu="9"), FIT, GPU, False),
        (node("n", gpus=2, cpu="1"), node("n", gpus=2), FIT, GPU, False),
        (node("n", taints=[TAINTED]), node("n"), TAINT, BARE, True),
        (node("n"), node("n", taints=[TAINTED]), TAINT, BARE, False),
        (node("n", cordoned=True), node("n"), CORDON, BARE, True),
        (node("n"), node("n", labels={ZONE: "a"}), COMPANY, NEAR, True),
        (node("n"), node("n", cordoned=True), COMPANY, NEAR, False),
        (node("n"), node("n", gpus=2), PORTS, BARE, False),
    ],
)
def test_a_changed_node(before: Tree, after: Tree, plugin: str, asked: PodInfo, wakes: bool) -> None:
    hint = hints.node_changed(before, after)
    assert hint is not None
    assert hint(asked, plugin) is wakes


def test_a_heartbeat_is_no_change() -> None:
    after = node("n")
    after["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    assert hints.node_changed(node("n"), after) is None


@pytest.mark.parametrize(
    ("gone", "plugin", "asked", "wakes"),
    [
        (WEB, FIT, GPU, True),
        (WEB, PORTS, PodInfo(pod(ports=[port(80)])), False),
        (PodInfo(pod(ports=[port(80)], on="n1")), PORTS, PodInfo(pod(ports=[port(80)])), True),
        (WEB, SPREAD, SPREADS, True),
        (OTHER, SPREAD, SPREADS, False),
        (WEB, COMPANY, NEAR, True),
        (OTHER, COMPANY, NEAR, False),
        (PodInfo(pod(claim="data", on="n1")), "VolumeRestrictions", PodInfo(pod(claim="data")), True),
        (WEB, TAINT, BARE, False),
        (WEB, GANG, BARE, False),
    ],
)
def test_a_pod_that_left(gone: PodInfo, plugin: str, asked: PodInfo, wakes: bool) -> None:
    assert hints.pod_gone(gone)(asked, plugin) is wakes


def test_a_pod_that_came_helps_company_and_gangs_only() -> None:
    hint = hints.pod_came(WEB)
    assert hint(NEAR, COMPANY)
    assert hint(BARE, GANG)
    assert not hint(GPU, FIT)
    assert hints.storage_changed(BARE, VOLUMES)
    assert not hints.storage_changed(BARE, FIT)


def place(entry: Waiting) -> PodStage:
    return entry.place


def waiting(name: str, **fields: object) -> PodInfo:
    tree = pod(name, **fields)  # type: ignore[arg-type]
    tree["metadata"]["uid"] = name
    return PodInfo(tree)


def test_a_stuck_pod_rests_after_it_was_woken_and_is_gone_when_it_is_gone() -> None:
    queue = SchedulingQueue()
    queue.put(waiting("a"), 0.0)
    entry = queue.pop(0.0)
    assert entry is not None
    queue.refuse(entry, frozenset({FIT}), 0.0)
    assert place(entry) is PodStage.STUCK
    queue.move(hints.storage_changed, 0.2)
    assert place(entry) is PodStage.STUCK
    queue.move(hints.pod_gone(WEB), 0.5)
    assert place(entry) is PodStage.BACKOFF
    assert queue.next_due(0.5) == 1.0
    queue.flush(1.0)
    assert queue.pop(1.0) is entry
    queue.drop("a")
    queue.refuse(entry, frozenset({FIT}), 1.0)
    assert len(queue) == 0
    assert queue.pop(100.0) is None


def test_a_refusal_without_a_plugin_rests_by_itself() -> None:
    queue = SchedulingQueue()
    queue.put(waiting("a"), 0.0)
    dues = []
    now = 0.0
    for _ in range(6):
        queue.flush(now)
        entry = queue.pop(now)
        assert entry is not None
        queue.refuse(entry, frozenset(), now)
        now = entry.due
        dues.append(now)
    assert dues == [1.0, 3.0, 7.0, 15.0, 25.0, 35.0]


def test_a_change_of_the_pod_itself_wakes_it() -> None:
    queue = SchedulingQueue()
    queue.put(waiting("a"), 0.0)
    entry = queue.pop(0.0)
    assert entry is not None
    queue.refuse(entry, frozenset({TAINT}), 0.0)
    queue.put(waiting("a"), 5.0)
    assert place(entry) is PodStage.STUCK
    queue.put(waiting("a", tolerations=[{"operator": "Exists"}]), 5.0)
    assert place(entry) is PodStage.ACTIVE
