"""Nodes and what they refuse: heartbeats, outages, devices, admission, restarts of the kubelet."""

from random import Random

from cockpit.kube.resource import NODES, PODS
from cockpit.sim.actors.kubelet.actor import Kubelets
from cockpit.sim.engine import ActorEngine
from cockpit.sim.port import Tree
from cockpit.sim.resources import LEASES
from cockpit.sim.times import seconds_of
from tests.unit.sim.kubelet.small_cluster import SmallCluster


def node_condition(cluster: SmallCluster, kind: str, name: str = "gpu-0") -> Tree:
    """One condition of a node."""
    conditions = cluster.port.objects[(NODES, "", name)]["status"]["conditions"]
    return next(one for one in conditions if one["type"] == kind)


def renewed(cluster: SmallCluster, name: str = "gpu-0") -> float:
    """When the node's lease was renewed last, in seconds since the start."""
    lease = cluster.port.objects[(LEASES, "kube-node-lease", name)]
    return round(seconds_of(lease["spec"]["renewTime"]) - cluster.clock.now(), 3)


async def test_heartbeats_of_many_nodes_are_spread_and_never_ten_seconds_late() -> None:
    cluster = await SmallCluster().started()
    for index in range(80):
        cluster.node(f"n{index}", gpus=0)
    await cluster.pass_(20)
    moments = set()
    for _ in range(40):
        await cluster.pass_(0.25)
        ages = [-renewed(cluster, f"n{index}") for index in range(80)]
        assert max(ages) <= 10.001
        moments.add(sum(age < 0.2499 for age in ages))
    assert moments == {2}, "the beats come in bursts"


async def test_a_node_without_the_mark_is_left_alone() -> None:
    cluster = await SmallCluster().started()
    cluster.port.put(NODES, {"metadata": {"name": "other"}, "status": {}})
    cluster.pod(node="other")
    await cluster.pass_(60)
    assert cluster.port.objects[(NODES, "", "other")]["status"] == {}
    assert cluster.status()["phase"] == "Pending" and "startTime" not in cluster.status()


async def test_a_node_that_is_marked_later_takes_the_pods_that_are_bound_to_it() -> None:
    cluster = await SmallCluster().started()
    cluster.pod("early", node="late-0", duration="forever", image_size="1Mi")
    cluster.port.put(NODES, {"metadata": {"name": "late-0"}, "status": {}})
    cluster.pod(node="late-0", duration="forever", image_size="1Mi")
    await cluster.pass_(10)
    assert cluster.status()["phase"] == "Pending"
    cluster.node("late-0")
    await cluster.pass_(20)
    assert cluster.status()["phase"] == cluster.status("early")["phase"] == "Running"


async def test_a_node_that_joins_becomes_ready_later() -> None:
    cluster = await SmallCluster().started()
    cluster.node(ready_after="90s")
    await cluster.pass_(80)
    assert node_condition(cluster, "Ready")["reason"] == "KubeletNotReady"
    assert "cni plugin not initialized" in node_condition(cluster, "Ready")["message"]
    await cluster.pass_(11)
    assert node_condition(cluster, "Ready")["status"] == "True"


async def test_an_outage_silences_the_node_and_its_end_catches_up() -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    cluster.pod(duration="100s", image_size="1Mi")
    await cluster.pass_(30)
    cluster.annotate(NODES, "gpu-0", kubelet_outage="true")
    before = cluster.status()
    await cluster.pass_(300)
    assert renewed(cluster) <= -290 and cluster.status() == before
    cluster.annotate(NODES, "gpu-0", kubelet_outage=None)
    await cluster.pass_(11)
    assert renewed(cluster) >= -10.001
    assert cluster.status()["phase"] == "Succeeded"
    finished = cluster.main()["state"]["terminated"]["finishedAt"]
    assert seconds_of(finished) < cluster.clock.now() - 200


async def test_after_an_outage_the_node_says_at_once_that_it_is_ready() -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    await cluster.pass_(30)
    cluster.kubelets.outage("gpu-0", is_out=True)
    await cluster.pass_(60)
    tree = dict(cluster.port.objects[(NODES, "", "gpu-0")])
    conditions = [{**one, "status": "Unknown"} for one in tree["status"]["conditions"]]
    cluster.port.put(NODES, {**tree, "status": {**tree["status"], "conditions": conditions}})
    await cluster.pass_(20)
    assert node_condition(cluster, "Ready")["status"] == "Unknown"
    cluster.kubelets.outage("gpu-0", is_out=False)
    await cluster.pass_(1)
    ready = node_condition(cluster, "Ready")
    assert ready["status"] == "True"
    assert seconds_of(ready["lastTransitionTime"]) >= cluster.clock.now() - 2


async def test_more_gpus_than_there_are_free_is_an_unexpected_admission_error() -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    cluster.pod("first", gpus=8, duration="forever")
    await cluster.pass_(1)
    cluster.pod("second", gpus=8)
    await cluster.pass_(1)
    status = cluster.status("second")
    assert (status["phase"], status["reason"]) == ("Failed", "UnexpectedAdmissionError")
    assert status["message"] == (
        "Pod was rejected: Allocate failed due to requested number of devices unavailable for "
        "nvidia.com/gpu. Requested: 8, Available: 0, which is unexpected"
    )
    assert "containerStatuses" not in status
    assert cluster.events("second")[0][1] == "UnexpectedAdmissionError"


async def test_while_the_plugin_restarts_the_kubelets_own_arithmetic_refuses() -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    cluster.pod("first", gpus=8, duration="forever")
    await cluster.pass_(1)
    cluster.annotate(NODES, "gpu-0", device_plugin="restarting")
    cluster.pod("second", gpus=8)
    await cluster.pass_(1)
    status = cluster.status("second")
    assert status["reason"] == "OutOfnvidia.com/gpu"
    assert status["message"] == (
        "Pod was rejected: Node didn't have enough resource: nvidia.com/gpu, requested: 8, used: 8, "
        "capacity: 8"
    )


async def test_ill_devices_are_not_given_and_show_in_the_status_of_their_holder() -> None:
    cluster = await SmallCluster().started()
    cluster.node(gpus=2)
    cluster.pod("holder", gpus=1, duration="forever", image_size="1Mi")
    await cluster.pass_(30)
    devices = cluster.kubelets.devices
    first, second = devices.devices("gpu-0")
    devices.mark("gpu-0", second, healthy=False)
    cluster.pod("next", gpus=1)
    await cluster.pass_(1)
    assert "Requested: 1, Available: 0" in cluster.status("next")["message"]
    devices.mark("gpu-0", first, healthy=False)
    cluster.pod("third", gpus=1)
    await cluster.pass_(1)
    assert "no healthy devices present" in cluster.status("third")["message"]
    cluster.annotate(PODS, "holder", "a", look="again")
    await cluster.pass_(1)
    assert cluster.main("holder")["allocatedResourcesStatus"] == [
        {"name": "nvidia.com/gpu", "resources": [{"resourceID": first, "health": "Unhealthy"}]}
    ]
    assert devices.pod_resources("gpu-0") == {
        "pod_resources": [
            {
                "name": "holder",
                "namespace": "a",
                "containers": [
                    {
                        "name": "main",
                        "devices": [{"resource_name": "nvidia.com/gpu", "device_ids": [first]}],
                    }
                ],
            }
        ]
    }


async def test_a_node_that_goes_takes_its_pods_along() -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    cluster.pod(gpus=1, duration="forever", image_size="1Mi")
    await cluster.pass_(30)
    await cluster.port.delete(NODES, "", "gpu-0")
    await cluster.pass_(30)
    assert cluster.kubelets.pods == {} and cluster.kubelets.nodes == {}
    assert cluster.kubelets.devices.holders("gpu-0") == []


async def test_a_kubelet_that_starts_again_goes_on_where_it_was() -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    cluster.pod(gpus=3, duration="100s", image_size="1Mi")
    await cluster.pass_(40)
    before = cluster.main()
    held = cluster.kubelets.devices.holders("gpu-0")
    again = Kubelets(random=Random(7))
    engine = ActorEngine(cluster.port, cluster.clock, Random(8), [again])
    await cluster.engine.stop()
    await engine.start()
    await engine.advance(5)
    assert cluster.main() == before and again.devices.holders("gpu-0") == held
    cluster.pod("other", duration="forever", image_size="1Mi")
    await engine.advance(20)
    assert cluster.status("other")["podIP"] != cluster.status()["podIP"]
    await engine.advance(100)
    assert cluster.status()["phase"] == "Succeeded"


PROBE = {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 10}


async def test_readiness_comes_and_goes_without_a_restart() -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    container = {"readinessProbe": PROBE, "image": "busybox:1"}
    cluster.pod(container=container, duration="forever", readiness_probe="ok-after=25s,fail-after=300s")
    await cluster.pass_(20)
    assert cluster.status()["phase"] == "Running" and not cluster.main()["ready"]
    assert cluster.condition("Ready")["message"] == "containers with unready status: [main]"
    text = "Readiness probe failed: HTTP probe failed with statuscode: 503"
    assert ("Warning", "Unhealthy", text) in cluster.events()
    await cluster.pass_(40)
    assert cluster.main()["ready"] and cluster.condition("Ready")["status"] == "True"
    await cluster.pass_(300)
    assert not cluster.main()["ready"] and cluster.main()["restartCount"] == 0


async def test_a_failed_liveness_probe_restarts_the_container() -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    container = {"livenessProbe": PROBE, "image": "busybox:1"}
    cluster.pod(container=container, restart="Always", liveness_probe="fail-after=60s")
    await cluster.pass_(110)
    assert cluster.main()["restartCount"] == 1
    assert cluster.main()["lastState"]["terminated"]["exitCode"] == 143
    text = "Container main failed liveness probe, will be restarted"
    assert ("Normal", "Killing", text) in cluster.events()


async def test_a_startup_probe_holds_the_others_back() -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    startup = {**PROBE, "failureThreshold": 30}
    container = {"startupProbe": startup, "livenessProbe": PROBE, "image": "busybox:1"}
    cluster.pod(container=container, restart="Always", startup_probe="ok-after=90s")
    await cluster.pass_(60)
    assert not cluster.main()["started"] and not cluster.main()["ready"]
    await cluster.pass_(60)
    assert cluster.main()["started"] and cluster.main()["ready"] and cluster.main()["restartCount"] == 0


async def test_an_annotation_that_cannot_be_read_is_told_by_name() -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    cluster.pod(duration="soon")
    await cluster.pass_(1)
    assert cluster.events() == [
        (
            "Warning",
            "FailedValidation",
            "pod a/train, annotation cockpit.dev/duration: 'soon' is no duration; "
            "write 90s, 2m30s or forever.",
        )
    ]
