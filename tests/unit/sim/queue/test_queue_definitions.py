"""The queue's own definitions on the embedded server: both versions, defaults, and what they refuse."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

import cockpit.sim
from cockpit.clock import ManualClock
from cockpit.kube.resource import CLUSTER_QUEUES, LOCAL_QUEUES, WORKLOADS, Resource
from cockpit.sim.port import PortError
from cockpit.sim.resources import CUSTOM_RESOURCE_DEFINITIONS
from cockpit.sim.server.assembly import assemble
from cockpit.sim.server.local_port import LocalPort
from tests.unit.sim.queue.scene import cluster_queue

FOLDER = Path(next(iter(cockpit.sim.__path__))) / "crds" / "kueue"


def older(resource: Resource) -> Resource:
    return Resource(resource.group, "v1beta1", resource.plural, resource.kind, resource.namespaced)


async def served() -> LocalPort:
    port = LocalPort(assemble(ManualClock(), Random(1)).operations)
    for file in sorted(FOLDER.glob("*.yaml")):
        await port.create(CUSTOM_RESOURCE_DEFINITIONS, yaml.safe_load(file.read_text()))
    return port


def full(resource: Resource, tree: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": resource.api_version, "kind": resource.kind, **tree}


async def test_one_queue_in_two_versions() -> None:
    port = await served()
    resource = older(CLUSTER_QUEUES)
    await port.create(resource, full(resource, cluster_queue("a", gpus=8, cohort="site")))
    tree = await port.get(CLUSTER_QUEUES, "", "a")
    assert tree["apiVersion"] == "kueue.x-k8s.io/v1beta2"
    spec = tree["spec"]
    assert (spec["cohort"], spec["queueingStrategy"], spec["stopPolicy"]) == (
        "site",
        "BestEffortFIFO",
        "None",
    )
    assert spec["preemption"] == {
        "withinClusterQueue": "Never",
        "reclaimWithinCohort": "Never",
        "borrowWithinCohort": {"policy": "Never"},
    }
    assert spec["flavorFungibility"] == {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"}
    await port.patch(resource, "", "a", {"spec": {"stopPolicy": "HoldAndDrain"}})
    assert (await port.get(CLUSTER_QUEUES, "", "a"))["spec"]["stopPolicy"] == "HoldAndDrain"


async def test_what_a_queue_may_not_say() -> None:
    port = await served()
    door = {"metadata": {"name": "main", "namespace": "team-a"}, "spec": {"clusterQueue": "a"}}
    await port.create(LOCAL_QUEUES, full(LOCAL_QUEUES, door), "team-a")
    with pytest.raises(PortError) as refusal:
        await port.patch(LOCAL_QUEUES, "team-a", "main", {"spec": {"stopPolicy": "Pause"}})
    assert refusal.value.status == 422
    assert 'spec.stopPolicy: Unsupported value: "Pause"' in refusal.value.message


async def test_a_workload_is_active_unless_told_otherwise() -> None:
    port = await served()
    template = {"spec": {"containers": [{"name": "main", "image": "x"}], "whatever": 1}}
    tree = {
        "metadata": {"name": "w", "namespace": "team-a"},
        "spec": {"queueName": "main", "podSets": [{"template": template}]},
    }
    made = await port.create(WORKLOADS, full(WORKLOADS, tree), "team-a")
    assert made["spec"]["active"] is True
    assert made["spec"]["podSets"] == [{"name": "main", "count": 1, "template": template}]
    patch = {"status": {"requeueState": {"count": 1}}, "spec": {"active": False}}
    after = await port.patch(WORKLOADS, "team-a", "w", patch, subresource="status")
    assert (after["status"], after["spec"]["active"]) == ({"requeueState": {"count": 1}}, True)
