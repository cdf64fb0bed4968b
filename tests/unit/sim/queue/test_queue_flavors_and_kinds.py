"""Flavors, kinds of jobs and what of them cannot change while they run."""

import pytest

from cockpit.kube.resource import CLUSTER_QUEUES, JOBS
from cockpit.sim.port import PortError
from tests.unit.sim.queue.scene import Scene, job, words_of


async def test_the_queue_of_a_running_job_cannot_change() -> None:
    scene = await Scene().begin()
    await scene.usual()
    await scene.job("train-1")
    await scene.pass_()
    patch = {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "x"}}}
    with pytest.raises(PortError) as refusal:
        await scene.port.patch(JOBS, "team-a", "train-1", patch)
    assert (refusal.value.status, refusal.value.message) == (
        403,
        'admission webhook "vjob.kb.io" denied the request: metadata.labels[kueue.x-k8s.io/queue-name]: '
        'Invalid value: "x": field is immutable',
    )


async def test_a_queue_with_mixed_up_resources_is_refused() -> None:
    scene = await Scene().begin()
    groups = [
        {
            "coveredResources": ["memory", "cpu"],
            "flavors": [
                {
                    "name": "h100",
                    "resources": [{"name": "cpu", "nominalQuota": 1}, {"name": "cpu", "nominalQuota": 1}],
                }
            ],
        }
    ]
    with pytest.raises(PortError) as refusal:
        await scene.make(CLUSTER_QUEUES, {"metadata": {"name": "x"}, "spec": {"resourceGroups": groups}})
    assert refusal.value.message == (
        'admission webhook "vclusterqueue.kb.io" denied the request: spec.resourceGroups[0].flavors[0].'
        'resources[0].name: Invalid value: "cpu": must match the name in coveredResources'
    )


@pytest.mark.parametrize("key", ["kueue.x-k8s.io/workload", "kueue.x-k8s.io/podset"])
async def test_a_template_that_names_another_workload_is_never_started(key: str) -> None:
    """What a job is made from once more must not carry what the queue wrote into its template."""
    scene = await Scene().begin()
    await scene.usual()
    tree = job("train-1", gpus=4)
    part = "annotations" if key.endswith("workload") else "labels"
    tree["spec"]["template"].setdefault("metadata", {})[part] = {key: "job-train-1-other"}
    await scene.make(JOBS, tree)
    await scene.pass_()
    workload = await scene.workload("train-1")
    value = workload["metadata"]["name"] if part == "annotations" else "main"
    assert words_of(workload)[-1] == (
        f"Finished True FailedToStart | invalid admission check PodSetUpdate: conflict for {part}: "
        f"conflict for key={key}, value1=job-train-1-other, value2={value}"
    )
    assert (await scene.port.get(JOBS, "team-a", "train-1"))["spec"]["suspend"] is True
