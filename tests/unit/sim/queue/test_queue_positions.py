"""Places in the visibility API's shape, the cockpit's own reading of it all, and what a cycle decides."""

from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
import yaml

import cockpit.sim
from cockpit.k8s.admission.admission_cycle import decide
from cockpit.kube.decode.kueue import (
    ClusterQueueShape,
    LocalQueueShape,
    WorkloadShape,
    cluster_queue_record,
    local_queue_record,
    workload_record,
)
from cockpit.kube.resource import CLUSTER_QUEUES, LOCAL_QUEUES
from cockpit.sim.actors.queue.positions import answer
from cockpit.sim.port import PortError, Tree
from tests.unit.sim.queue.crowd import QUEUES, WORKLOADS, crowded
from tests.unit.sim.queue.scene import GPU, Scene


async def _waiting() -> Scene:
    scene = await Scene().begin("team-a", "team-b")
    await scene.usual()
    await scene.door(namespace="team-b")
    await scene.job("train-1", gpus=8)
    await scene.pass_()
    for name, namespace in (("train-2", "team-a"), ("other", "team-b"), ("train-3", "team-a")):
        await scene.job(name, gpus=8, namespace=namespace)
        await scene.pass_()
    return scene


async def test_places_in_a_cluster_queue() -> None:
    scene = await _waiting()
    summary = answer(scene.controller.queue_cache, "clusterqueues/research/pendingworkloads", {})
    second = await scene.workload("train-2")
    assert summary["kind"] == "PendingWorkloadsSummary"
    assert summary["apiVersion"] == "visibility.kueue.x-k8s.io/v1beta2"
    owner = second["metadata"]["ownerReferences"][0]
    assert summary["items"][0] == {
        "metadata": {
            "name": second["metadata"]["name"],
            "namespace": "team-a",
            "creationTimestamp": second["metadata"]["creationTimestamp"],
            "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": "train-2", "uid": owner["uid"]}
            ],
        },
        "priority": 0,
        "localQueueName": "main",
        "positionInClusterQueue": 0,
        "positionInLocalQueue": 0,
    }
    places = [
        (one["metadata"]["namespace"], one["positionInClusterQueue"], one["positionInLocalQueue"])
        for one in summary["items"]
    ]
    assert places == [("team-a", 0, 0), ("team-b", 1, 0), ("team-a", 2, 1)]


async def test_places_in_a_local_queue_page_by_page() -> None:
    scene = await _waiting()
    path = "namespaces/team-a/localqueues/main/pendingworkloads"

    def places(**query: str) -> list[tuple[int, int]]:
        items = answer(scene.controller.queue_cache, path, query)["items"]
        return [(one["positionInClusterQueue"], one["positionInLocalQueue"]) for one in items]

    assert places() == [(0, 0), (2, 1)]
    assert places(limit="1") == [(0, 0)]
    assert places(offset="1") == [(2, 1)]


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("clusterqueues/x/pendingworkloads", 404, 'clusterqueue.visibility.kueue.x-k8s.io "x" not found'),
        (
            "namespaces/team-a/localqueues/x/pendingworkloads",
            404,
            'localqueue.visibility.kueue.x-k8s.io "x" not found',
        ),
        ("cohorts/x", 404, "the server could not find the requested resource"),
    ],
)
async def test_places_of_what_is_not_there(path: str, status: int, message: str) -> None:
    scene = await Scene().begin()
    with pytest.raises(PortError) as refusal:
        answer(scene.controller.queue_cache, path, {})
    assert (refusal.value.status, refusal.value.message) == (status, message)


async def test_the_cockpit_reads_it() -> None:
    scene = await _waiting()

    def read(tree: Tree, shape: type[Any]) -> Any:
        return msgspec.convert(msgspec.json.decode(msgspec.json.encode(tree)), shape)

    first = workload_record(read(await scene.workload("train-1"), WorkloadShape))
    assert (first.cluster_queue, first.pod_sets[0].flavor, dict(first.pod_sets[0].resources)) == (
        "research", "h100", {GPU: 8},
    )  # fmt: skip
    assert first.owner is not None
    assert first.owner.name == "train-1"
    second = workload_record(read(await scene.workload("train-2"), WorkloadShape))
    assert (second.queue, second.is_active, dict(second.pod_sets[0].resources)) == ("main", True, {GPU: 8})
    queue = cluster_queue_record(
        read(await scene.port.get(CLUSTER_QUEUES, "", "research"), ClusterQueueShape)
    )
    (row,) = queue.quotas
    assert (queue.pending, queue.admitted, row.nominal, row.used, row.borrowed) == (3, 1, 8, 8, 0)
    door = local_queue_record(read(await scene.port.get(LOCAL_QUEUES, "team-a", "main"), LocalQueueShape))
    assert (door.cluster_queue, door.pending) == ("research", 2)


def test_the_definitions_serve_both_versions() -> None:
    folder = Path(next(iter(cockpit.sim.__path__))) / "crds" / "kueue"
    plurals = []
    for file in sorted(folder.glob("*.yaml")):
        tree = yaml.safe_load(file.read_text())
        plurals.append(tree["spec"]["names"]["plural"])
        assert tree["metadata"]["name"] == f"{file.stem}.kueue.x-k8s.io"
        versions = {one["name"]: one for one in tree["spec"]["versions"]}
        assert [(name, one["served"], one["storage"]) for name, one in versions.items()] == [
            ("v1beta2", True, True),
            ("v1beta1", True, False),
        ]
        assert versions["v1beta1"]["schema"] == versions["v1beta2"]["schema"]
    assert plurals == [
        "clusterqueues", "cohorts", "localqueues", "resourceflavors", "topologies", "workloadpriorityclasses",
        "workloads",
    ]  # fmt: skip


def test_a_cycle_decides_the_head_of_each_of_a_hundred_queues() -> None:
    queue_cache = crowded(Random(1))
    assert sum(len(line) for line in queue_cache.lines.values()) == WORKLOADS
    heads = queue_cache.heads(queue_cache.stirred)
    done = decide(queue_cache.forest, queue_cache.specs, queue_cache.flavors, queue_cache.held, heads)
    assert len(done) == QUEUES


async def test_only_the_queues_that_changed_are_looked_at() -> None:
    scene = await Scene().begin()
    await scene.flavor()
    for name in ("x", "y"):
        await scene.queue(name)
        await scene.door(name, queue=name)
        await scene.job(f"runs-{name}", gpus=8, queue=name)
        await scene.job(f"waits-{name}", gpus=8, queue=name)
    await scene.pass_()
    before = len(await scene.events("Pending"))
    await scene.job_status("runs-x", conditions=[{"type": "Complete", "status": "True", "message": "done"}])
    await scene.pass_()
    assert len(await scene.events("Pending")) == before, "nobody in y was tried again"
    assert (await scene.words("waits-x"))[0].startswith("QuotaReserved True")
    pending = [one for one in await scene.port.list(CLUSTER_QUEUES) if one["metadata"]["name"] == "y"]
    assert pending[0]["status"]["pendingWorkloads"] == 1
