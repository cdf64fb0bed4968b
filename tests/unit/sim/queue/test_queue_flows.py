"""The flows of a queue, with the sentences that real Kueue v0.15 printed for them on the bed."""

import re

import pytest

from cockpit.kube.resource import CLUSTER_QUEUES, JOBS, LOCAL_QUEUES, WORKLOADS
from cockpit.sim.actors.queue.context import KueueSettings
from tests.unit.sim.queue.scene import GPU, Scene, words_of

RESERVED = "QuotaReserved True QuotaReserved | Quota reserved in ClusterQueue research"


ADMITTED = "Admitted True Admitted | The workload is admitted"


FOUR_MORE = (
    "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor h100, "
    "4 more needed"
)


NO_RESERVATION = "Admitted False NoReservation | The workload has no reservation"


async def test_two_of_three_jobs_run_and_the_third_waits() -> None:
    scene = await Scene().begin()
    await scene.usual()
    for name in ("train-1", "train-2", "train-3"):
        await scene.job(name)
        await scene.pass_()
    for name in ("train-1", "train-2"):
        assert await scene.words(name) == [RESERVED, ADMITTED]
        assert (await scene.port.get(JOBS, "team-a", name))["spec"]["suspend"] is False
    assert await scene.words("train-3") == [f"QuotaReserved False Pending | {FOUR_MORE}"]
    assert (await scene.port.get(JOBS, "team-a", "train-3"))["spec"]["suspend"] is True
    third = await scene.workload("train-3")
    assert third["status"]["resourceRequests"] == [{"name": "main", "resources": {GPU: "4"}}]
    first = await scene.workload("train-1")
    assert first["status"]["admission"] == {
        "clusterQueue": "research",
        "podSetAssignments": [
            {"name": "main", "count": 1, "flavors": {GPU: "h100"}, "resourceUsage": {GPU: "4"}}
        ],
    }
    assert re.fullmatch(r"job-train-1-[0-9a-f]{5}", first["metadata"]["name"])


async def test_the_counts_of_both_queues() -> None:
    scene = await Scene().begin()
    await scene.usual()
    for name in ("train-1", "train-2", "train-3"):
        await scene.job(name)
    await scene.pass_()
    queue = (await scene.port.get(CLUSTER_QUEUES, "", "research"))["status"]
    rows = [{"name": "h100", "resources": [{"name": GPU, "total": "8", "borrowed": "0"}]}]
    assert {key: queue[key] for key in queue if key != "conditions"} == {
        "pendingWorkloads": 1,
        "reservingWorkloads": 2,
        "admittedWorkloads": 2,
        "flavorsReservation": rows,
        "flavorsUsage": rows,
    }
    assert words_of({"status": queue}) == ["Active True Ready | Can admit new workloads"]
    door = (await scene.port.get(LOCAL_QUEUES, "team-a", "main"))["status"]
    assert (door["pendingWorkloads"], door["admittedWorkloads"]) == (1, 2)
    assert door["flavorsUsage"] == [{"name": "h100", "resources": [{"name": GPU, "total": "8"}]}]
    assert words_of({"status": door}) == ["Active True Ready | Can submit new workloads to localQueue"]


async def test_the_events_of_an_admission() -> None:
    scene = await Scene().begin()
    await scene.usual()
    await scene.job("train-1")
    await scene.pass_()
    name = (await scene.workload("train-1"))["metadata"]["name"]
    assert await scene.events() == [
        f"Normal CreatedWorkload Job/train-1 [batch/job-kueue-controller] Created Workload: team-a/{name}",
        f"Normal QuotaReserved Workload/{name} [kueue-admission] Quota reserved in ClusterQueue research, "
        "wait time since queued was 0s",
        f"Normal Admitted Workload/{name} [kueue-admission] Admitted by ClusterQueue research, "
        "wait time since reservation was 0s",
        "Normal Started Job/train-1 [batch/job-kueue-controller] Admitted by clusterQueue research",
    ]


async def test_a_job_that_asks_for_more_than_there_will_ever_be() -> None:
    scene = await Scene().begin()
    await scene.usual()
    await scene.job("too-big", gpus=16)
    await scene.pass_()
    assert await scene.words("too-big") == [
        "QuotaReserved False Pending | couldn't assign flavors to pod set main: insufficient quota for "
        "nvidia.com/gpu in flavor h100, previously considered podsets requests (0) + current podset request "
        "(16) > maximum capacity (8)"
    ]


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


async def test_a_stopped_queue_lets_nobody_in_and_runs_on() -> None:
    scene = await Scene().begin()
    await scene.usual()
    await scene.job("runs")
    await scene.pass_()
    await scene.change(CLUSTER_QUEUES, "", "research", stopPolicy="Hold")
    await scene.job("waits")
    await scene.pass_()
    assert await scene.words("waits") == [
        "QuotaReserved False Inadmissible | ClusterQueue research is inactive"
    ]
    assert await scene.words("runs") == [RESERVED, ADMITTED]
    queue = await scene.port.get(CLUSTER_QUEUES, "", "research")
    assert words_of(queue) == ["Active False Stopped | Can't admit new workloads: is stopped."]
    door = await scene.port.get(LOCAL_QUEUES, "team-a", "main")
    assert words_of(door) == [
        "Active False ClusterQueueIsInactive | Can't submit new workloads to clusterQueue"
    ]
    await scene.change(CLUSTER_QUEUES, "", "research", stopPolicy="None")
    await scene.pass_()
    assert await scene.words("waits") == [RESERVED, ADMITTED]


async def test_a_drained_queue_takes_its_jobs_off_and_takes_them_back() -> None:
    scene = await Scene().begin()
    await scene.usual()
    await scene.job("runs")
    await scene.pass_()
    await scene.job_status("runs", active=1, startTime="2026-09-21T14:13:20Z")
    await scene.pass_(56)
    await scene.change(CLUSTER_QUEUES, "", "research", stopPolicy="HoldAndDrain")
    await scene.pass_()
    stopped = "The ClusterQueue is stopped"
    assert f"Evicted True ClusterQueueStopped | {stopped}" in await scene.words("runs")
    assert RESERVED in await scene.words("runs"), "its quota stays until its pods are gone"
    await scene.job_status("runs", active=0)
    await scene.pass_()
    assert await scene.words("runs") == [
        "QuotaReserved False Inadmissible | ClusterQueue research is inactive",
        NO_RESERVATION,
        f"Evicted True ClusterQueueStopped | {stopped}",
        f"Requeued False ClusterQueueStopped | {stopped}",
    ]
    job = await scene.port.get(JOBS, "team-a", "runs")
    assert job["spec"]["suspend"] is True
    assert "startTime" not in job["status"]
    assert f"Normal Stopped Job/runs [batch/job-kueue-controller] {stopped}" in await scene.events()
    assert (await scene.workload("runs"))["status"]["accumulatedPastExecutionTimeSeconds"] == 58
    await scene.change(CLUSTER_QUEUES, "", "research", stopPolicy="None")
    await scene.pass_()
    assert await scene.words("runs") == [
        RESERVED,
        ADMITTED,
        f"Evicted False QuotaReserved | Previously: {stopped}",
        "Requeued True ClusterQueueRestarted | The ClusterQueue was restarted after being stopped",
    ]


async def test_a_stopped_local_queue() -> None:
    scene = await Scene().begin()
    await scene.usual()
    await scene.job("runs")
    await scene.pass_()
    await scene.change(LOCAL_QUEUES, "team-a", "main", stopPolicy="HoldAndDrain")
    await scene.job("waits")
    await scene.pass_()
    inactive = "QuotaReserved False Inadmissible | LocalQueue main is inactive"
    assert await scene.words("waits") == [inactive]
    assert "Evicted True LocalQueueStopped | The LocalQueue is stopped" in await scene.words("runs")
    door = await scene.port.get(LOCAL_QUEUES, "team-a", "main")
    assert words_of(door) == ["Active False Stopped | LocalQueue is stopped"]
    await scene.change(LOCAL_QUEUES, "team-a", "main", stopPolicy="None")
    await scene.pass_()
    assert "Requeued True LocalQueueRestarted | The LocalQueue was restarted after being stopped" in (
        await scene.words("runs")
    )
    assert await scene.words("waits") == [RESERVED, ADMITTED]


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


async def test_a_job_unsuspended_by_hand_is_stopped_again() -> None:
    scene = await Scene().begin()
    await scene.usual(gpus=2)
    await scene.job("waits")
    await scene.pass_()
    await scene.change(JOBS, "team-a", "waits", suspend=False)
    await scene.pass_()
    assert (await scene.port.get(JOBS, "team-a", "waits"))["spec"]["suspend"] is True
    assert await scene.events("Stopped") == [
        "Normal Stopped Job/waits [batch/job-kueue-controller] Not admitted by cluster queue"
    ]


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


async def test_the_same_seed_gives_the_same_history() -> None:
    async def history() -> list[object]:
        scene = await Scene().begin()
        await scene.usual(preemption={"withinClusterQueue": "LowerPriority"})
        for number in range(5):
            await scene.job(f"train-{number}", gpus=3)
            await scene.pass_()
        return [await scene.port.list(one) for one in (WORKLOADS, CLUSTER_QUEUES, JOBS)] + [
            await scene.events()
        ]

    assert await history() == await history()


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
