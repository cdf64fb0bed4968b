"""The flows of a queue, with the sentences that real Kueue v0.15 printed for them on the bed."""

import pytest

from cockpit.kube.resource import CLUSTER_QUEUES, JOBS, LOCAL_QUEUES, WORKLOADS
from cockpit.sim.actors.queue.context import KueueSettings
from tests.unit.sim.queue.scene import Scene, words_of

RESERVED = "QuotaReserved True QuotaReserved | Quota reserved in ClusterQueue research"


ADMITTED = "Admitted True Admitted | The workload is admitted"


FOUR_MORE = (
    "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor h100, "
    "4 more needed"
)


NO_RESERVATION = "Admitted False NoReservation | The workload has no reservation"


async def test_no_such_queue_until_it_is_there() -> None:
    scene = await Scene().begin()
    await scene.usual()
    await scene.job("lost", queue="nowhere")
    await scene.pass_()
    words = ["QuotaReserved False Inadmissible | LocalQueue nowhere doesn't exist"]
    assert await scene.words("lost") == words
    await scene.door("nowhere", queue="missing")
    await scene.pass_()
    words = ["QuotaReserved False Inadmissible | ClusterQueue missing doesn't exist"]
    assert await scene.words("lost") == words
    door = await scene.port.get(LOCAL_QUEUES, "team-a", "nowhere")
    assert words_of(door) == [
        "Active False ClusterQueueDoesNotExist | Can't submit new workloads to clusterQueue"
    ]
    await scene.queue("missing")
    await scene.pass_()
    assert (await scene.words("lost"))[0] == RESERVED.replace("research", "missing")


async def test_a_namespace_that_the_queue_does_not_take() -> None:
    scene = await Scene().begin("team-a", "team-b")
    await scene.usual(namespaceSelector={"matchLabels": {"team": "a"}})
    await scene.job("stranger")
    await scene.pass_()
    assert await scene.words("stranger") == [
        "QuotaReserved False Pending | Workload namespace doesn't match ClusterQueue selector"
    ]


@pytest.mark.parametrize(("type_", "reason"), [("Complete", "Succeeded"), ("Failed", "Failed")])
async def test_finished(type_: str, reason: str) -> None:
    scene = await Scene().begin()
    await scene.usual()
    await scene.job("train-1")
    await scene.pass_()
    message = "Reached expected number of succeeded pods"
    condition = {"type": type_, "status": "True", "reason": "x", "message": message}
    await scene.job_status("train-1", conditions=[condition])
    await scene.pass_()
    assert await scene.words("train-1") == [
        "QuotaReserved False Finished | Workload has finished",
        "Admitted False Finished | Workload has finished",
        f"Finished True {reason} | {message}",
    ]
    name = (await scene.workload("train-1"))["metadata"]["name"]
    assert await scene.events("FinishedWorkload") == [
        "Normal FinishedWorkload Job/train-1 [batch/job-kueue-controller] "
        f"Workload 'team-a/{name}' is declared finished"
    ]
    queue = (await scene.port.get(CLUSTER_QUEUES, "", "research"))["status"]
    assert (queue["pendingWorkloads"], queue["admittedWorkloads"]) == (0, 0)


async def test_pods_that_are_not_ready_in_time() -> None:
    scene = await Scene(KueueSettings(pods_ready_seconds=60, requeue_limit=1)).begin()
    await scene.usual()
    await scene.job("never-ready")
    await scene.pass_()
    waits = "PodsReady False WaitForStart | Not all pods are ready or succeeded"
    assert waits in await scene.words("never-ready")
    await scene.pass_(60)
    tree = await scene.workload("never-ready")
    name = tree["metadata"]["name"]
    late = f"Exceeded the PodsReady timeout team-a/{name}"
    assert f"Evicted True PodsReadyTimeout | {late}" in words_of(tree)
    assert f"Requeued False PodsReadyTimeout | {late}" in words_of(tree)
    assert tree["status"]["requeueState"]["count"] == 1
    assert tree["status"]["schedulingStats"]["evictions"][0]["underlyingCause"] == "WaitForStart"
    await scene.pass_(60)
    tree = await scene.workload("never-ready")
    assert "Requeued True BackoffFinished | The workload backoff was finished" in words_of(tree)
    assert tree["status"]["requeueState"] == {"count": 1}
    assert RESERVED in words_of(tree)
    await scene.pass_(61)
    tree = await scene.workload("never-ready")
    assert tree["spec"]["active"] is False
    assert (
        "Evicted True DeactivatedDueToRequeuingLimitExceeded | The workload is deactivated due to exceeding "
        "the maximum number of re-queuing retries"
    ) in words_of(tree)
    reasons = {one.split()[1] for one in await scene.events()}
    assert {
        "EvictedDueToPodsReadyTimeout",
        "EvictedDueToDeactivatedDueToRequeuingLimitExceeded",
    } <= reasons


async def test_pods_that_get_ready() -> None:
    scene = await Scene(KueueSettings(pods_ready_seconds=60)).begin()
    await scene.usual()
    await scene.job("quick")
    await scene.pass_()
    await scene.job_status("quick", active=1, ready=1)
    await scene.pass_(300)
    started = "PodsReady True Started | All pods reached readiness and the workload is running"
    assert started in await scene.words("quick")
    assert RESERVED in await scene.words("quick")


async def test_a_deleted_job_frees_its_quota() -> None:
    scene = await Scene().begin()
    await scene.usual()
    await scene.job("old", gpus=8)
    await scene.job("next", gpus=8)
    await scene.pass_()
    workload = await scene.workload("old")
    await scene.port.delete(JOBS, "team-a", "old")
    await scene.port.delete(WORKLOADS, "team-a", workload["metadata"]["name"])  # the garbage collector's part
    await scene.pass_()
    names = [one["metadata"]["name"] for one in await scene.port.list(WORKLOADS, "team-a")]
    assert names == [(await scene.workload("next"))["metadata"]["name"]]
    assert await scene.words("next") == [RESERVED, ADMITTED]


async def test_a_job_without_a_queue_gets_the_default_one() -> None:
    scene = await Scene().begin()
    await scene.usual()
    plain = await scene.job("plain", queue="")
    assert plain["spec"]["suspend"] is False
    await scene.door("default")
    await scene.pass_()
    taken = await scene.job("taken", queue="")
    assert taken["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "default"
    assert taken["spec"]["suspend"] is True
    await scene.pass_()
    assert await scene.words("taken") == [RESERVED, ADMITTED]
