"""StatefulSets over time: order, claims, pods that are lost; and claims on devices from pod to end."""

from typing import Any

import pytest

from cockpit.kube.resource import PODS
from cockpit.sim.actors.controllers.garbage import Garbage
from cockpit.sim.actors.controllers.resource_claims import FINALIZER, ResourceClaims
from cockpit.sim.actors.controllers.stateful_set.stateful_sets import StatefulSets
from cockpit.sim.port import Tree
from cockpit.sim.resources import (
    PERSISTENT_VOLUME_CLAIMS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    STATEFUL_SETS,
)
from tests.unit.sim.controllers.stage import Stage, counts


def stateful_set(replicas: int = 3, **spec: Any) -> Tree:
    labels = {"app": "db"}
    container = {"name": "main", "image": "db:1"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    wish = {"selector": {"matchLabels": labels}, "template": template, "serviceName": "db"}
    return {
        "metadata": {"name": "db", "namespace": "team-a"},
        "spec": {"replicas": replicas, **wish, **spec},
    }


async def staged() -> Stage:
    return await Stage([StatefulSets(), ResourceClaims(), Garbage()]).start()


async def test_each_pod_waits_for_the_one_before_it() -> None:
    stage = await staged()
    stage.puppet.first_seconds = 10.0
    await stage.create(STATEFUL_SETS, stateful_set())
    seen = []
    for _ in range(4):
        await stage.engine.advance(5)
        seen.append(await stage.names(PODS))
        await stage.engine.advance(6)
    assert seen == [["db-0"], ["db-0", "db-1"], ["db-0", "db-1", "db-2"], ["db-0", "db-1", "db-2"]]
    held = await stage.get(STATEFUL_SETS, "db")
    assert counts(held, "replicas", "readyReplicas", "availableReplicas", "currentReplicas") == {
        "replicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 3,
        "currentReplicas": 3,
    }
    assert (await stage.events("db"))[0] == (
        "Normal SuccessfulCreate Create Pod db-0 in StatefulSet db successful [statefulset-controller]"
    )


async def test_parallel_pods_come_together_each_with_its_own_claim() -> None:
    stage = await staged()
    stage.puppet.binds = False
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    data = {"metadata": {"name": "data"}, "spec": asked}
    wish = stateful_set(2, podManagementPolicy="Parallel", volumeClaimTemplates=[data])
    await stage.create(STATEFUL_SETS, wish)
    await stage.engine.advance(1)
    pods = await stage.pods()
    assert [pod["metadata"]["name"] for pod in pods] == ["db-0", "db-1"]
    assert await stage.names(PERSISTENT_VOLUME_CLAIMS) == ["data-db-0", "data-db-1"]
    volumes = [pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"] for pod in pods]
    assert volumes == ["data-db-0", "data-db-1"]
    assert pods[1]["spec"]["hostname"] == "db-1"
    await stage.port.delete(STATEFUL_SETS, "team-a", "db", propagation="Background")
    await stage.engine.advance(40)
    assert await stage.names(PODS) == []
    assert await stage.names(PERSISTENT_VOLUME_CLAIMS) == ["data-db-0", "data-db-1"]


async def test_a_lost_pod_comes_again_under_its_name() -> None:
    stage = await staged()
    await stage.create(STATEFUL_SETS, stateful_set(2))
    await stage.engine.advance(10)
    before = await stage.get(PODS, "db-0")
    await stage.port.delete(PODS, "team-a", "db-0")
    await stage.engine.advance(40)
    after = await stage.get(PODS, "db-0")
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert sorted(await stage.names(PODS)) == ["db-0", "db-1"]


async def test_a_set_that_shrinks_loses_its_highest_pods_one_by_one() -> None:
    stage = await staged()
    await stage.create(STATEFUL_SETS, stateful_set())
    await stage.engine.advance(20)
    await stage.patch(STATEFUL_SETS, "db", {"spec": {"replicas": 1}})
    await stage.engine.advance(40)
    assert await stage.names(PODS) == ["db-0"]
    told = [line for line in await stage.events("db") if "Delete" in line]
    assert [line.split()[4] for line in told] == ["db-2", "db-1"]


def claiming(**more: Any) -> Tree:
    container = {"name": "main", "image": "train:1"}
    asked = [{"name": "gpu", "resourceClaimTemplateName": "gpus"}]
    spec = {"restartPolicy": "Never", "containers": [container], "resourceClaims": asked, **more}
    return {"metadata": {"name": "trainer", "namespace": "team-a"}, "spec": spec}


TEMPLATE: Tree = {
    "metadata": {"name": "gpus", "namespace": "team-a"},
    "spec": {
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.test"}}]}}
    },
}


async def test_a_claim_is_made_for_the_pod_and_goes_with_it() -> None:
    stage = await staged()
    await stage.create(RESOURCE_CLAIM_TEMPLATES, TEMPLATE)
    await stage.create(PODS, claiming())
    await stage.engine.advance(1)
    (claim,) = await stage.port.list(RESOURCE_CLAIMS)
    pod = await stage.get(PODS, "trainer")
    name = claim["metadata"]["name"]
    assert name.startswith("trainer-gpu-")
    assert pod["status"]["resourceClaimStatuses"] == [{"name": "gpu", "resourceClaimName": name}]
    (owner,) = claim["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("Pod", pod["metadata"]["uid"])
    await stage.port.delete(PODS, "team-a", "trainer")
    await stage.engine.advance(40)
    assert await stage.names(RESOURCE_CLAIMS) == []


async def test_a_missing_template_is_told_once_and_waited_for() -> None:
    stage = await staged()
    stage.puppet.binds = False
    await stage.create(PODS, claiming())
    await stage.engine.advance(2)
    missing = 'resourceclaimtemplate.resource.k8s.io "gpus" not found'
    assert await stage.events("trainer") == [
        "Warning FailedResourceClaimCreation PodResourceClaim gpu: resource claim template"
        f' "gpus": {missing} [resource_claim]'
    ]
    await stage.create(RESOURCE_CLAIM_TEMPLATES, TEMPLATE)
    await stage.engine.advance(60)
    assert len(await stage.names(RESOURCE_CLAIMS)) == 1


@pytest.mark.parametrize("others", [0, 1])
async def test_what_an_ended_pod_had_is_free_again(others: int) -> None:
    """A claim that a person made stays, and keeps its devices for others who have it reserved."""
    stage = await staged()
    stage.puppet.fate = lambda pod: ("Succeeded", 30.0) if pod["metadata"]["name"] == "trainer" else ("", 0.0)
    named = [{"name": "gpu", "resourceClaimName": "mine"}]
    claim = {"metadata": {"name": "mine", "namespace": "team-a", "finalizers": [FINALIZER]}}
    await stage.create(RESOURCE_CLAIMS, {**claim, "spec": TEMPLATE["spec"]["spec"]})
    names = ["trainer", *[f"other-{number}" for number in range(others)]]
    pods = []
    for name in names:
        tree = claiming(resourceClaims=named)
        tree["metadata"]["name"] = name
        pods.append(await stage.create(PODS, tree))
    users = [
        {"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]} for pod in pods
    ]
    allocation: Tree = {"devices": {"results": []}}
    status = {"allocation": allocation, "reservedFor": users}
    await stage.patch(RESOURCE_CLAIMS, "mine", {"status": status}, subresource="status")
    await stage.engine.advance(60)
    after = (await stage.get(RESOURCE_CLAIMS, "mine"))["status"]
    assert [user["name"] for user in after.get("reservedFor", [])] == names[1:]
    assert ("allocation" in after) == bool(others)
