"""Nodes that fall silent, their taints and their pods; daemons; budgets; what goes by itself."""

from typing import Any

from cockpit.kube.resource import EVENTS, JOBS, NODES, PODS
from cockpit.sim.actors.controllers.job.jobs import Jobs
from cockpit.sim.actors.controllers.leftovers import OldEvents, PodLeftovers
from cockpit.sim.actors.controllers.nodes.daemon_sets import DaemonSets
from cockpit.sim.actors.controllers.nodes.lifecycle import NodeLifecycle
from cockpit.sim.actors.controllers.nodes.taint_eviction import TaintEviction
from cockpit.sim.port import Tree
from cockpit.sim.resources import DAEMON_SETS
from cockpit.sim.times import rfc3339
from tests.unit.sim.controllers.stage import FOR_EVER, Stage, conditions, counts, job, template


def taints(tree: Tree) -> list[str]:
    return [f"{taint['key'].split('/')[1]}:{taint['effect']}" for taint in tree["spec"].get("taints") or ()]


async def beat(stage: Stage, name: str) -> None:
    at = rfc3339(stage.clock.now())
    ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": at, "lastTransitionTime": at}
    await stage.patch(NODES, name, {"status": {"conditions": [ready]}}, subresource="status")


async def keep_beating(stage: Stage, names: list[str], seconds: int) -> None:
    for _ in range(seconds // 10):
        for name in names:
            await beat(stage, name)
        await stage.engine.advance(10)


def pod(name: str, node_name: str = "", **spec: Any) -> Tree:
    containers = [{"name": "main", "image": "i"}]
    placed = {"nodeName": node_name} if node_name else {}
    return {
        "metadata": {"name": name, "namespace": "team-a"},
        "spec": {"containers": containers, **placed, **spec},
    }


async def test_a_node_that_is_heard_of_again_loses_its_taints_and_the_eviction_is_called_off() -> None:
    toleration = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    stage = await Stage([NodeLifecycle(), TaintEviction()]).start(nodes=2)
    await stage.create(PODS, pod("late-0", tolerations=[toleration]))
    await keep_beating(stage, ["gpu-2"], 80)
    assert "unreachable:NoExecute" in taints(await stage.get(NODES, "gpu-1"))
    await keep_beating(stage, ["gpu-1", "gpu-2"], 20)
    assert taints(await stage.get(NODES, "gpu-1")) == []
    assert (
        "Normal TaintManagerEviction Cancelling deletion of Pod team-a/late-0 [taint-eviction-controller]"
        in await stage.events("late-0")
    )
    await stage.engine.advance(0)
    assert await stage.find(PODS, "late-0") is not None


async def test_pods_are_evicted_when_their_time_is_up() -> None:
    stage = await Stage([NodeLifecycle(), TaintEviction()]).start(nodes=2)
    stage.puppet.removes = False
    toleration = {"operator": "Exists", "effect": "NoExecute"}
    await stage.create(PODS, pod("at-once"))
    await stage.create(PODS, pod("later", tolerations=[{**toleration, "tolerationSeconds": 300}]))
    await stage.create(PODS, pod("never", tolerations=[toleration]))
    await keep_beating(stage, ["gpu-2"], 60)
    gone = await stage.get(PODS, "at-once")
    assert gone["metadata"].get("deletionTimestamp")
    assert (
        "DisruptionTarget True DeletionByTaintManager | Taint manager: deleting due to NoExecute taint"
        in conditions(gone)
    )
    assert not (await stage.get(PODS, "later"))["metadata"].get("deletionTimestamp")
    await keep_beating(stage, ["gpu-2"], 300)
    assert (await stage.get(PODS, "later"))["metadata"].get("deletionTimestamp")
    assert not (await stage.get(PODS, "never"))["metadata"].get("deletionTimestamp")
    assert (
        "Normal TaintManagerEviction Marking for deletion Pod team-a/later [taint-eviction-controller]"
        in await stage.events("later")
    )


async def test_nothing_is_evicted_while_no_node_is_ready() -> None:
    stage = await Stage([NodeLifecycle(), TaintEviction()]).start(nodes=2)
    await stage.create(PODS, pod("late-0"))
    await stage.engine.advance(200)
    for name in ("gpu-1", "gpu-2"):
        assert taints(await stage.get(NODES, name)) == ["unreachable:NoSchedule"]
    assert await stage.find(PODS, "late-0") is not None


async def test_pods_of_a_node_that_is_gone_fail_and_go() -> None:
    stage = await Stage([NodeLifecycle(), PodLeftovers()]).start(nodes=2)
    await stage.create(PODS, pod("lost"))
    await stage.engine.advance(5)
    await stage.port.delete(NODES, "", "gpu-1")
    await stage.engine.advance(30)
    assert await stage.find(PODS, "lost") is not None
    await stage.engine.advance(60)
    assert await stage.find(PODS, "lost") is None
    assert "Normal RemovingNode Node gpu-1 event: Removing Node gpu-1 from Controller [node-controller]" in (
        await stage.events("gpu-1")
    )


def daemon_set(**spec: Any) -> Tree:
    pods = template(app="dcgm")
    pods["spec"] = {"containers": [{"name": "main", "image": "dcgm:1"}], **spec.pop("pod", {})}
    return {
        "metadata": {"name": "dcgm", "namespace": "team-a"},
        "spec": {"selector": {"matchLabels": {"app": "dcgm"}}, "template": pods, **spec},
    }


def nodes_of(pods: list[Tree]) -> list[str]:
    def wanted(tree: Tree) -> str:
        required = tree["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        return str(required["nodeSelectorTerms"][0]["matchFields"][0]["values"][0])

    return sorted(map(wanted, pods))


async def test_a_daemon_keeps_off_tainted_nodes_unless_it_tolerates() -> None:
    stage = await Stage([DaemonSets()]).start(nodes=2)
    stage.puppet.binds = False
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    await stage.patch(NODES, "gpu-2", {"spec": {"taints": [taint], "unschedulable": True}})
    await stage.create(DAEMON_SETS, daemon_set())
    await stage.engine.advance(1)
    assert nodes_of(await stage.pods()) == ["gpu-1"]
    tolerations = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    await stage.patch(DAEMON_SETS, "dcgm", {"spec": {"template": {"spec": {"tolerations": tolerations}}}})
    await stage.engine.advance(2)
    assert nodes_of(await stage.pods()) == ["gpu-1", "gpu-2"]


async def test_a_failed_daemon_is_replaced_ever_more_slowly() -> None:
    stage = await Stage([DaemonSets()], lambda _: ("exit 1", 0)).start()
    await stage.create(DAEMON_SETS, daemon_set())
    await stage.engine.advance(60)
    told = [line for line in await stage.events("dcgm") if "FailedDaemonPod" in line]
    assert 4 <= len(told) <= 7
    assert told[0].startswith("Warning FailedDaemonPod Found failed daemon pod team-a/dcgm-")
    assert told[0].endswith("on node gpu-1, will try to kill it [daemonset-controller]")


async def test_an_update_replaces_one_daemon_at_a_time() -> None:
    stage = await Stage([DaemonSets()]).start(nodes=1)
    await stage.create(DAEMON_SETS, daemon_set())
    await stage.engine.advance(5)
    (before,) = await stage.pods()
    image = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "dcgm:2"}]}}}}
    await stage.patch(DAEMON_SETS, "dcgm", image)
    await stage.engine.advance(10)
    (after,) = await stage.pods()
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert after["spec"]["containers"][0]["image"] == "dcgm:2"
    held = await stage.get(DAEMON_SETS, "dcgm")
    assert counts(held, "updatedNumberScheduled", "numberAvailable", "numberUnavailable") == {
        "updatedNumberScheduled": 1,
        "numberAvailable": 1,
        "numberUnavailable": None,
    }


async def test_events_live_for_an_hour() -> None:
    stage = await Stage([Jobs(), OldEvents()], lambda _: FOR_EVER).start()
    await stage.create(JOBS, job())
    await stage.engine.advance(3500)
    assert len(await stage.names(EVENTS)) == 1
    await stage.engine.advance(200)
    assert await stage.names(EVENTS) == []
