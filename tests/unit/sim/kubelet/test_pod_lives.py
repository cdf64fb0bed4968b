"""Lives of pods on simulated kubelets, as tables: what a pod is, what passes, what its status says."""

import pytest

from cockpit.sim.port import PortError, Tree
from tests.unit.sim.kubelet.small_cluster import SmallCluster


async def test_a_job_pod_from_bound_to_succeeded() -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    cluster.pod(gpus=2, duration="60s", image_size="3Gi")
    await cluster.pass_(1e-3)
    assert cluster.main()["state"] == {"waiting": {"reason": "ContainerCreating"}}
    assert cluster.status()["phase"] == "Pending"
    assert cluster.condition("PodReadyToStartContainers")["status"] == "False"
    assert cluster.condition("ContainersReady") | {"lastTransitionTime": ""} == {
        "type": "ContainersReady",
        "status": "False",
        "reason": "ContainersNotReady",
        "message": "containers with unready status: [main]",
        "lastProbeTime": None,
        "lastTransitionTime": "",
    }
    await cluster.pass_(30)
    assert cluster.status()["phase"] == "Running"
    assert {one["type"]: one["status"] for one in cluster.status()["conditions"]} == {
        "PodReadyToStartContainers": "True",
        "Initialized": "True",
        "Ready": "True",
        "ContainersReady": "True",
        "PodScheduled": "True",
    }
    main = cluster.main()
    assert main["ready"] and main["started"] and main["restartCount"] == 0
    assert main["containerID"].startswith("simulated://") and "@sha256:" in main["imageID"]
    assert cluster.status()["podIP"].startswith("10.64.")
    assert cluster.status()["qosClass"] == "BestEffort"
    assert len(cluster.kubelets.devices.holders("gpu-0")[0].device_ids) == 2
    await cluster.pass_(60)
    assert cluster.states() == [
        ("Pending", "-"),
        ("Pending", "ContainerCreating"),
        ("Running", "Running"),
        ("Succeeded", "Completed"),
    ]
    assert cluster.condition("Ready")["reason"] == "PodCompleted"
    assert cluster.condition("Initialized")["reason"] == "PodCompleted"
    assert cluster.main()["state"]["terminated"]["exitCode"] == 0
    assert cluster.kubelets.devices.holders("gpu-0") == []
    assert cluster.reasons() == ["Pulling", "Pulled", "Created", "Started"]
    text = cluster.events()[1][2]
    assert text.startswith('Successfully pulled image "pytorch/pytorch:2.9" in ')
    assert text.endswith("including waiting). Image size: 3221225472 bytes.")


ENDS: list[tuple[str, Tree, str, str, int, str]] = [
    ("well", {"duration": "5s"}, "Never", "Succeeded", 0, "Completed"),
    ("badly", {"duration": "5s", "exit_code": "3"}, "Never", "Failed", 3, "Error"),
    ("oom", {"oom_after": "9s"}, "Never", "Failed", 137, "OOMKilled"),
]


@pytest.mark.parametrize(("_name", "marks", "restart", "phase", "code", "reason"), ENDS)
async def test_how_pods_end(
    _name: str, marks: dict[str, str], restart: str, phase: str, code: int, reason: str
) -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    cluster.pod(restart=restart, **marks)
    await cluster.pass_(120)
    assert cluster.status()["phase"] == phase
    end = cluster.main()["state"]["terminated"]
    assert (end["exitCode"], end["reason"]) == (code, reason)
    assert cluster.condition("Ready")["reason"] == {"Failed": "PodFailed"}.get(phase, "PodCompleted")


async def test_a_crash_loop_waits_10_20_40_up_to_300_seconds_in_the_words_of_the_kubelet() -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    cluster.pod(restart="Always", duration="1s", exit_code="1", container={"image": "busybox:1"})
    waits: list[str] = []
    for _ in range(2400):
        await cluster.pass_(1)
        waiting = cluster.main().get("state", {}).get("waiting", {})
        if waiting.get("reason") == "CrashLoopBackOff" and waiting["message"] not in waits:
            waits.append(waiting["message"])
            assert cluster.status()["phase"] == "Running"
            assert cluster.main()["lastState"]["terminated"]["exitCode"] == 1
    spans = ["10s", "20s", "40s", "1m20s", "2m40s", "5m0s"]
    assert waits == [
        f"back-off {span} restarting failed container=main pod=train_a(uid-train)" for span in spans
    ]
    assert cluster.main()["restartCount"] >= 8
    assert ("Warning", "BackOff", "Back-off restarting failed container main in pod train_a(uid-train)") in (
        cluster.events()
    )


async def test_an_image_is_pulled_once_a_node_and_one_at_a_time() -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    for index in range(3):
        cluster.pod(f"p{index}", duration="forever", image_size="4Gi")
    await cluster.pass_(60)
    texts = [cluster.events(f"p{index}")[1][2] for index in range(3)]
    assert all(text.startswith("Successfully pulled") for text in texts)
    waits = [text.split("(")[1].split(" including")[0] for text in texts]
    assert len(set(waits)) == 3, "the queue of the node does not show"
    cluster.pod("late", duration="forever")
    await cluster.pass_(5)
    assert cluster.events("late")[0][2] == (
        'Container image "pytorch/pytorch:2.9" already present on machine and can be accessed by the pod'
    )


async def test_deletion_stops_kills_and_deletes() -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    cluster.pod(duration="forever", restart="Always", stop_seconds="4")
    await cluster.pass_(60)
    await cluster.delete()
    await cluster.pass_(3)
    assert cluster.exists() and cluster.status()["phase"] == "Running"
    assert ("Normal", "Killing", "Stopping container main") in cluster.events()
    await cluster.pass_(2)
    assert not cluster.exists()
    last = cluster.port.history[-1][3]["status"]
    assert last["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 143
    assert cluster.kubelets.pods == {}


async def test_who_does_not_listen_is_killed_after_the_grace() -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    cluster.pod(duration="forever", stop_seconds="never", spec={"terminationGracePeriodSeconds": 20})
    await cluster.pass_(60)
    await cluster.delete()
    await cluster.pass_(19)
    assert cluster.exists()
    await cluster.pass_(2)
    assert not cluster.exists()
    state = cluster.port.history[-1][3]["status"]["containerStatuses"][0]["state"]
    assert state["terminated"]["exitCode"] == 137


async def test_a_second_delete_with_less_grace_hastens_the_end() -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    cluster.pod(duration="forever", stop_seconds="never", spec={"terminationGracePeriodSeconds": 600})
    await cluster.pass_(60)
    await cluster.delete()
    await cluster.pass_(5)
    await cluster.delete(grace_seconds=2)
    await cluster.pass_(3)
    assert not cluster.exists()


async def test_init_containers_go_first_and_a_sidecar_lives_as_long_as_the_others() -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    init: list[Tree] = [
        {"name": "fetch", "image": "busybox:1"},
        {"name": "proxy", "image": "busybox:1", "restartPolicy": "Always"},
    ]
    cluster.pod(init=init, duration__fetch="20s", duration="50s", duration__proxy="forever", image_size="1Mi")
    await cluster.pass_(10)
    assert cluster.status()["phase"] == "Pending"
    assert cluster.main()["state"] == {"waiting": {"reason": "PodInitializing"}}
    assert cluster.condition("Initialized")["message"] == "containers with incomplete status: [fetch proxy]"
    first, second = cluster.status()["initContainerStatuses"]
    assert "running" in first["state"] and second["state"] == {"waiting": {"reason": "PodInitializing"}}
    await cluster.pass_(20)
    assert cluster.status()["phase"] == "Running"
    assert [one["ready"] for one in cluster.status()["initContainerStatuses"]] == [True, True]
    await cluster.pass_(50)
    assert cluster.status()["phase"] == "Succeeded"
    proxy = cluster.status()["initContainerStatuses"][1]
    assert proxy["state"]["terminated"]["exitCode"] == 143
    assert ("Normal", "Killing", "Stopping container proxy") in cluster.events()


async def test_a_failed_init_container_fails_the_pod_and_starts_nothing() -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    cluster.pod(init=[{"name": "fetch", "image": "busybox:1"}], exit_code__fetch="2", duration__fetch="3s")
    await cluster.pass_(30)
    assert cluster.status()["phase"] == "Failed"
    assert cluster.main()["state"] == {"waiting": {"reason": "PodInitializing"}}


async def test_a_deadline_ends_the_pod() -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    cluster.pod(duration="forever", spec={"activeDeadlineSeconds": 40}, image_size="1Mi")
    await cluster.pass_(45)
    status = cluster.status()
    assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")
    assert status["message"] == "Pod was active on the node longer than the specified deadline"


async def test_a_conflict_loses_nothing_and_tells_nothing_twice() -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    await cluster.pass_(1)
    cluster.pod(duration="5s", image_size="1Mi")
    cluster.port.refusals = [PortError(409, "Conflict", "modified") for _ in range(3)]
    await cluster.pass_(30)
    assert cluster.status()["phase"] == "Succeeded"
    assert cluster.reasons() == ["Pulling", "Pulled", "Created", "Started"]


async def test_a_pod_deleted_before_it_started_goes_at_once() -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    cluster.pod(image_error="not-found")
    await cluster.pass_(30)
    await cluster.delete()
    await cluster.pass_(1)
    assert not cluster.exists()
    state = cluster.port.history[-1][3]["status"]["containerStatuses"][0]["state"]
    assert state["terminated"]["reason"] == "ContainerStatusUnknown"
