"""Flavors, kinds of jobs and what of them cannot change while they run."""

import re

import pytest

from cockpit.kube.resource import CLUSTER_QUEUES, JOBS, MPIJOBS, WORKLOADS
from cockpit.sim.port import PortError
from tests.unit.sim.queue.scene import GPU, Scene, job, words_of
from tests.unit.sim.queue.test_queue_flows import ADMITTED, RESERVED


async def test_the_flavor_reaches_the_pods_and_leaves_them_again() -> None:
    scene = await Scene().begin()
    toleration = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}
    await scene.flavor(
        nodeLabels={"pool": "h100"},
        nodeTaints=[{"key": "gpu", "effect": "NoSchedule"}],
        tolerations=[toleration],
    )
    await scene.queue()
    await scene.door()
    before = (await scene.job("train-1"))["spec"]["template"]
    await scene.pass_()
    template = (await scene.port.get(JOBS, "team-a", "train-1"))["spec"]["template"]
    workload = await scene.workload("train-1")
    assert template["spec"]["nodeSelector"] == {"pool": "h100"}
    assert template["spec"]["tolerations"] == [toleration]
    assert template["metadata"]["labels"] == {"kueue.x-k8s.io/podset": "main"}
    assert template["metadata"]["annotations"] == {"kueue.x-k8s.io/workload": workload["metadata"]["name"]}
    await scene.change(WORKLOADS, "team-a", workload["metadata"]["name"], active=False)
    await scene.pass_()
    job = await scene.port.get(JOBS, "team-a", "train-1")
    assert job["spec"]["template"]["spec"] == before["spec"]
    assert not any((job["spec"]["template"].get("metadata") or {}).values())
    assert not job["metadata"].get("annotations")


async def test_a_missing_flavor_closes_the_queue() -> None:
    scene = await Scene().begin()
    await scene.queue(flavors=("missing-flavor",))
    await scene.door()
    await scene.job("waits")
    await scene.pass_()
    queue = await scene.port.get(CLUSTER_QUEUES, "", "research")
    assert words_of(queue) == [
        "Active False FlavorNotFound | Can't admit new workloads: references missing ResourceFlavor(s): "
        "missing-flavor."
    ]
    await scene.flavor("missing-flavor")
    await scene.pass_()
    assert await scene.words("waits") == [RESERVED, ADMITTED]


async def test_an_mpi_job_has_two_pod_sets() -> None:
    scene = await Scene().begin()
    await scene.usual()
    worker = {"name": "w", "resources": {"limits": {GPU: "6"}}}
    roles = {
        "Launcher": {"replicas": 1, "template": {"spec": {"containers": [{"name": "l"}]}}},
        "Worker": {"replicas": 2, "template": {"spec": {"containers": [worker]}}},
    }
    labels = {"kueue.x-k8s.io/queue-name": "main"}
    metadata = {"name": "allreduce", "namespace": "team-a", "labels": labels}
    await scene.make(MPIJOBS, {"metadata": metadata, "spec": {"mpiReplicaSpecs": roles}})
    await scene.pass_()
    tree = await scene.workload("allreduce")
    assert re.fullmatch(r"mpijob-allreduce-[0-9a-f]{5}", tree["metadata"]["name"])
    assert [(one["name"], one["count"]) for one in tree["spec"]["podSets"]] == [
        ("launcher", 1),
        ("worker", 2),
    ]
    assert words_of(tree) == [
        "QuotaReserved False Pending | couldn't assign flavors to pod set worker: insufficient quota for "
        "nvidia.com/gpu in flavor h100, previously considered podsets requests (0) + current podset request "
        "(12) > maximum capacity (8)"
    ]
    await scene.port.patch(
        CLUSTER_QUEUES,
        "",
        "research",
        {
            "spec": {
                "resourceGroups": [
                    {
                        "coveredResources": [GPU],
                        "flavors": [{"name": "h100", "resources": [{"name": GPU, "nominalQuota": 16}]}],
                    }
                ]
            }
        },
    )
    await scene.pass_()
    assert await scene.words("allreduce") == [RESERVED, ADMITTED]
    job = await scene.port.get(MPIJOBS, "team-a", "allreduce")
    assert job["spec"]["runPolicy"]["suspend"] is False
    assert await scene.events("Started") == [
        "Normal Started MPIJob/allreduce [kubeflow.org/mpijob-kueue-controller] "
        "Admitted by clusterQueue research"
    ]


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
