"""Who gives way: in the own queue, in the cohort, by hand."""

import re

from cockpit.kube.resource import CLUSTER_QUEUES, WORKLOADS
from cockpit.sim.resources import WORKLOAD_PRIORITY_CLASSES
from tests.unit.sim.queue.scene import GPU, Scene, words_of
from tests.unit.sim.queue.test_queue_flows import ADMITTED, FOUR_MORE, NO_RESERVATION, RESERVED


async def test_a_priority_class_preempts_in_its_own_queue() -> None:
    scene = await Scene().begin()
    await scene.make(WORKLOAD_PRIORITY_CLASSES, {"metadata": {"name": "urgent"}, "value": 1000})
    await scene.usual(preemption={"withinClusterQueue": "LowerPriority"})
    for name in ("train-1", "train-2"):
        await scene.job(name)
        await scene.pass_()
        await scene.job_status(name, active=1)
    await scene.pass_(10)
    await scene.job("urgent", priority="urgent")
    await scene.pass_()
    urgent = await scene.workload("urgent")
    assert words_of(urgent) == [
        f"QuotaReserved False Pending | {FOUR_MORE}. Pending the preemption of 1 workload(s)"
    ]
    assert urgent["spec"]["priority"] == 1000
    reference = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "urgent"}
    assert urgent["spec"]["priorityClassRef"] == reference
    labels = urgent["metadata"]["labels"]
    job_uid = labels["kueue.x-k8s.io/job-uid"]
    sentence = (
        f"Preempted to accommodate a workload (UID: {urgent['metadata']['uid']}, JobUID: {job_uid}) due to "
        "prioritization in the ClusterQueue; preemptor path: /research; preemptee path: /research"
    )
    assert f"Evicted True Preempted | {sentence}" in await scene.words("train-2"), "the latest goes first"
    assert await scene.words("train-1") == [RESERVED, ADMITTED]
    await scene.job_status("train-2", active=0)
    await scene.pass_()
    assert await scene.words("urgent") == [RESERVED, ADMITTED]
    assert await scene.words("train-2") == [
        f"QuotaReserved False Pending | {FOUR_MORE}",
        NO_RESERVATION,
        f"Preempted True InClusterQueue | {sentence}",
        f"Evicted True Preempted | {sentence}",
        f"Requeued True Preempted | {sentence}",
    ]
    status = (await scene.workload("train-2"))["status"]
    assert status["schedulingStats"] == {
        "evictions": [{"reason": "Preempted", "underlyingCause": "", "count": 1}]
    }
    events = await scene.events()
    victim = (await scene.workload("train-2"))["metadata"]["name"]
    assert f"Normal EvictedDueToPreempted Workload/{victim} [kueue-admission] {sentence}" in events
    assert f"Normal Preempted Workload/{victim} [kueue-admission] {sentence}" in events
    assert f"Normal Stopped Job/train-2 [batch/job-kueue-controller] {sentence}" in events


async def test_a_cohort_lends_and_takes_back() -> None:
    scene = await Scene().begin()
    await scene.flavor()
    for name in ("cq-a", "cq-b"):
        await scene.queue(name, cohortName="site", preemption={"reclaimWithinCohort": "Any"})
        await scene.door(name[-1], queue=name)
    for number in range(3):
        await scene.job(f"b{number}", queue="b")
        await scene.pass_()
    queue = await scene.port.get(CLUSTER_QUEUES, "", "cq-b")
    rows = [{"name": "h100", "resources": [{"name": GPU, "total": "12", "borrowed": "4"}]}]
    assert queue["status"]["flavorsUsage"] == rows
    considered = [one for one in await scene.events("QuotaReserved") if "Flavors considered" in one]
    assert considered[0].endswith("; Flavors considered: main: h100(Fit;borrow=1)")
    await scene.job("a0", gpus=8, queue="a")
    await scene.pass_()
    preemptor = (await scene.workload("a0"))["metadata"]["uid"]
    words = await scene.words("b2")
    assert any(
        re.fullmatch(
            rf"Preempted True InCohortReclamation \| Preempted to accommodate a workload \(UID: {preemptor}, "
            r"JobUID: [0-9a-f-]+\) due to reclamation within the cohort; preemptor path: /site/cq-a; "
            r"preemptee path: /site/cq-b",
            one,
        )
        for one in words
    )
    assert (await scene.words("a0"))[0] == RESERVED.replace("research", "cq-a")


async def test_held_and_released() -> None:
    scene = await Scene().begin()
    await scene.usual()
    await scene.job("train-1")
    await scene.pass_()
    name = (await scene.workload("train-1"))["metadata"]["name"]
    await scene.change(WORKLOADS, "team-a", name, active=False)
    await scene.pass_()
    sentence = "The workload is deactivated"
    assert await scene.words("train-1") == [
        f"QuotaReserved False Pending | {sentence}",
        NO_RESERVATION,
        f"Evicted True Deactivated | {sentence}",
        f"Requeued False Deactivated | {sentence}",
    ]
    assert f"Normal EvictedDueToDeactivated Workload/{name} [kueue-workload-controller] {sentence}" in (
        await scene.events()
    )
    await scene.change(WORKLOADS, "team-a", name, active=True)
    await scene.pass_()
    assert await scene.words("train-1") == [
        RESERVED,
        ADMITTED,
        f"Evicted False QuotaReserved | Previously: {sentence}",
        "Requeued True Reactivated | The workload was reactivated",
    ]
