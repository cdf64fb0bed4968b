"""What wakes a waiting pod: a table of happenings, refusals and answers; and the queue's places."""

from cockpit.sim.actors.scheduler import hints
from cockpit.sim.actors.scheduler.podinfo import PodInfo
from cockpit.sim.actors.scheduler.queue import PodStage, SchedulingQueue, Waiting
from tests.differential.scheduling_situations import node, pod

FIT, LABELS, TAINT = "NodeResourcesFit", "NodeAffinity", "TaintToleration"
CORDON, PORTS, SPREAD, COMPANY = "NodeUnschedulable", "NodePorts", "PodTopologySpread", "InterPodAffinity"
VOLUMES, GANG = "VolumeBinding", hints.GANG_PLUGIN
WEB = PodInfo(pod(labels={"app": "web"}, on="n1"))


def test_a_heartbeat_is_no_change() -> None:
    after = node("n")
    after["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    assert hints.node_changed(node("n"), after) is None


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
