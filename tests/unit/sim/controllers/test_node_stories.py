"""Nodes that fall silent, their taints and their pods; daemons; budgets; what goes by itself."""

from typing import Any

from cockpit.kube.resource import EVENTS, JOBS, NODES, PODS
from cockpit.sim.actors.controllers.budgets import Budgets
from cockpit.sim.actors.controllers.job.jobs import Jobs
from cockpit.sim.actors.controllers.leftovers import FinishedJobs, OldEvents, PodLeftovers
from cockpit.sim.actors.controllers.nodes.daemon_sets import DaemonSets
from cockpit.sim.actors.controllers.nodes.lifecycle import NodeLifecycle
from cockpit.sim.actors.controllers.nodes.taint_eviction import TaintEviction
from cockpit.sim.actors.controllers.replica_sets import ReplicaSets
from cockpit.sim.port import Tree
from cockpit.sim.resources import BUDGETS, DAEMON_SETS, REPLICA_SETS
from cockpit.sim.times import rfc3339
from tests.unit.sim.controllers.stage import FOR_EVER, Stage, conditions, counts, job, node, template

STOPPED = "Kubelet stopped posting node status."


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


async def test_a_silent_node_is_unknown_after_40_seconds_and_its_pods_are_not_ready() -> None:
    stage = await Stage([NodeLifecycle(), TaintEviction()]).start(nodes=2)
    await stage.create(PODS, pod("late-0", tolerations=[{"operator": "Exists"}]))
    await keep_beating(stage, ["gpu-1", "gpu-2"], 20)
    await keep_beating(stage, ["gpu-2"], 60)
    held = await stage.get(NODES, "gpu-1")
    assert conditions(held) == [
        f"Ready Unknown NodeStatusUnknown | {STOPPED}",
        "MemoryPressure Unknown NodeStatusNeverUpdated | Kubelet never posted node status.",
        "DiskPressure Unknown NodeStatusNeverUpdated | Kubelet never posted node status.",
        "PIDPressure Unknown NodeStatusNeverUpdated | Kubelet never posted node status.",
    ]
    assert taints(held) == ["unreachable:NoSchedule", "unreachable:NoExecute"]
    assert taints(await stage.get(NODES, "gpu-2")) == []
    assert await stage.events("gpu-1") == [
        "Normal RegisteredNode Node gpu-1 event: Registered Node gpu-1 in Controller [node-controller]",
        "Normal NodeNotReady Node gpu-1 status is now: NodeNotReady [node-controller]",
    ]
    late = await stage.get(PODS, "late-0")
    assert [c["status"] for c in late["status"]["conditions"] if c["type"] == "Ready"] == ["False"]
    assert "Warning NodeNotReady Node is not ready [node-controller]" in await stage.events("late-0")


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


async def test_the_taint_of_a_new_node_goes_when_it_is_ready_and_a_cordon_has_one() -> None:
    stage = await Stage([NodeLifecycle()]).start()
    fresh = node("gpu-9", stage.clock.now())
    fresh["status"]["conditions"][0]["status"] = "False"
    fresh["spec"] = {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]}
    await stage.create(NODES, fresh)
    await stage.engine.advance(1)
    assert taints(await stage.get(NODES, "gpu-9")) == ["not-ready:NoSchedule"]
    await beat(stage, "gpu-9")
    await stage.engine.advance(1)
    assert taints(await stage.get(NODES, "gpu-9")) == []
    await stage.patch(NODES, "gpu-9", {"spec": {"unschedulable": True}})
    await stage.engine.advance(1)
    assert taints(await stage.get(NODES, "gpu-9")) == ["unschedulable:NoSchedule"]


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


async def test_a_daemon_on_every_node_that_fits() -> None:
    stage = await Stage([DaemonSets()]).start(nodes=3)
    stage.puppet.binds = False
    await stage.patch(NODES, "gpu-2", {"metadata": {"labels": {"gpu": "yes"}}})
    await stage.patch(NODES, "gpu-3", {"metadata": {"labels": {"gpu": "yes"}}})
    await stage.create(DAEMON_SETS, daemon_set(pod={"nodeSelector": {"gpu": "yes"}}))
    await stage.engine.advance(1)
    pods = await stage.pods()
    assert nodes_of(pods) == ["gpu-2", "gpu-3"]
    assert {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"} in (
        pods[0]["spec"]["tolerations"]
    )
    held = await stage.get(DAEMON_SETS, "dcgm")
    names = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "numberUnavailable")
    assert list(counts(held, *names).values()) == [2, 2, 0, 2]
    await stage.patch(NODES, "gpu-1", {"metadata": {"labels": {"gpu": "yes"}}})
    await stage.patch(NODES, "gpu-2", {"metadata": {"labels": {"gpu": "no"}}})
    await stage.engine.advance(1)
    assert nodes_of(await stage.pods()) == ["gpu-1", "gpu-3"]


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


def replica_set(count: int) -> Tree:
    pods = template(app="web")
    pods["spec"] = {"containers": [{"name": "main", "image": "web:1"}]}
    return {
        "metadata": {"name": "web", "namespace": "team-a"},
        "spec": {"replicas": count, "selector": {"matchLabels": {"app": "web"}}, "template": pods},
    }


def budget(**spec: Any) -> Tree:
    return {
        "metadata": {"name": "web", "namespace": "team-a"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec},
    }


STATUS = ("expectedPods", "currentHealthy", "desiredHealthy", "disruptionsAllowed")


async def test_budgets_count_what_may_go() -> None:
    table: list[tuple[Tree, list[int]]] = [
        ({"minAvailable": 3}, [4, 4, 3, 1]),
        ({"minAvailable": "50%"}, [4, 4, 2, 2]),
        ({"maxUnavailable": 1}, [4, 4, 3, 1]),
        ({"maxUnavailable": "30%"}, [4, 4, 2, 2]),
        ({"minAvailable": 5}, [4, 4, 5, 0]),
    ]
    for spec, expected in table:
        stage = await Stage([Budgets(), ReplicaSets()]).start()
        await stage.create(REPLICA_SETS, replica_set(4))
        await stage.create(BUDGETS, budget(**spec))
        await stage.engine.advance(5)
        held = await stage.get(BUDGETS, "web")
        assert list(counts(held, *STATUS).values()) == expected, spec
        reason = "SufficientPods" if expected[3] else "InsufficientPods"
        assert conditions(held) == [f"DisruptionAllowed {bool(expected[3])} {reason} | "]


async def test_a_budget_follows_its_pods() -> None:
    stage = await Stage([Budgets(), ReplicaSets()]).start()
    await stage.create(BUDGETS, budget(minAvailable=1))
    await stage.engine.advance(1)
    assert "Normal NoPods No matching pods found [controllermanager]" in await stage.events("web")
    await stage.create(REPLICA_SETS, replica_set(2))
    await stage.engine.advance(5)
    assert (await stage.get(BUDGETS, "web"))["status"]["disruptionsAllowed"] == 1
    stage.puppet.binds = False
    await stage.port.evict("team-a", (await stage.names(PODS))[0])
    await stage.engine.advance(5)
    held = await stage.get(BUDGETS, "web")
    assert list(counts(held, *STATUS).values()) == [2, 1, 1, 0]


async def test_a_budget_of_job_pods_that_cannot_be_counted_allows_nothing() -> None:
    stage = await Stage([Budgets(), Jobs()]).start()
    wish = job()
    wish["spec"]["template"]["metadata"] = {"labels": {"app": "web"}}
    await stage.create(JOBS, wish)
    await stage.create(BUDGETS, budget(maxUnavailable=1))
    await stage.engine.advance(5)
    held = await stage.get(BUDGETS, "web")
    message = "jobs.batch does not implement the scale subresource"
    assert conditions(held) == [f"DisruptionAllowed False SyncFailed | {message}"]
    assert held["status"]["disruptionsAllowed"] == 0


async def test_finished_jobs_go_after_their_time() -> None:
    stage = await Stage([Jobs(), FinishedJobs()], lambda _: ("Succeeded", 1)).start()
    await stage.create(JOBS, job(ttlSecondsAfterFinished=30))
    await stage.create(JOBS, job("kept"))
    await stage.engine.advance(20)
    assert await stage.names(JOBS) == ["kept", "train"]
    await stage.engine.advance(30)
    train = await stage.find(JOBS, "train")
    # Deleted in the foreground: it waits for the garbage collector, which is not on this stage.
    assert train is None or train["metadata"]["finalizers"] == ["foregroundDeletion"]


async def test_events_live_for_an_hour() -> None:
    stage = await Stage([Jobs(), OldEvents()], lambda _: FOR_EVER).start()
    await stage.create(JOBS, job())
    await stage.engine.advance(3500)
    assert len(await stage.names(EVENTS)) == 1
    await stage.engine.advance(200)
    assert await stage.names(EVENTS) == []
