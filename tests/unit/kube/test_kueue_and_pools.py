"""Kueue's kinds and the objects that own machines, by example."""

import json
from typing import Any

import pytest

from cockpit.kube.decode import decoders
from cockpit.kube.decode.decoders import Decoder, pool_decoder
from cockpit.kube.resource import MACHINE_DEPLOYMENTS, MACHINE_SETS, NODE_POOLS
from cockpit.model.gang import PodSet, QuotaRow
from tests.unit.kube.builders import CREATED, CREATED_SECONDS, gpu_container, meta, owner


def made(decoder: Decoder, tree: dict[str, Any]) -> Any:
    return decoder.from_json(json.dumps(tree).encode())


TEMPLATE = {
    "metadata": {"creationTimestamp": None},
    "spec": {"containers": [gpu_container(2) | {"command": ["python", "train.py"], "args": ["--lr\n", "1"]}]},
}


# ---- Kueue

POD_SETS = [
    {"name": "launcher", "count": 1, "template": {"spec": {"containers": [{"name": "l"}]}}},
    {"name": "worker", "count": 4, "template": TEMPLATE},
]


@pytest.mark.parametrize(
    "priority", [{"priorityClassRef": {"name": "high", "kind": "x"}}, {"priorityClassName": "high"}]
)
def test_a_waiting_workload(priority: dict[str, Any]) -> None:
    one = made(
        decoders.WORKLOAD,
        {
            "metadata": meta("w") | {"ownerReferences": [owner("MPIJob", "hvd", "kubeflow.org/v2beta1")]},
            "spec": {"queueName": "gpu-lq", "priority": 10, "active": False, "podSets": POD_SETS, **priority},
            "status": {
                "conditions": [
                    {"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": "no quota"}
                ],
                "requeueState": {"count": 2, "requeueAt": CREATED},
            },
        },
    )
    assert (one.queue, one.priority, one.priority_class, one.is_active) == ("gpu-lq", 10, "high", False)
    assert one.owner is not None
    assert (one.owner.uid, one.cluster_queue) == ("uid-hvd", "")
    assert one.pod_sets[0] == PodSet("launcher", 1)
    assert one.pod_sets[1] == PodSet(
        "worker", 4, (("cpu", 16000), ("memory", 128 << 30), ("nvidia.com/gpu", 8))
    )
    assert (one.requeue_count, one.requeue_at_seconds) == (2, CREATED_SECONDS)
    assert one.conditions[0].message == "no quota"


def test_an_admitted_workload_shows_what_was_assigned() -> None:
    usage = {"cpu": "8", "nvidia.com/gpu": "6"}
    one = made(
        decoders.WORKLOAD,
        {
            "metadata": meta("w"),
            "spec": {"podSets": POD_SETS},
            "status": {
                "admission": {
                    "clusterQueue": "cq",
                    "podSetAssignments": [
                        {
                            "name": "worker",
                            "count": 3,
                            "flavors": {"cpu": "any", "nvidia.com/gpu": "h100"},
                            "resourceUsage": usage,
                        }
                    ],
                },
                "resourceRequests": [{"name": "launcher", "resources": {"cpu": "500m"}}],
                "reclaimablePods": [{"name": "worker", "count": 1}],
            },
        },
    )
    assert one.cluster_queue == "cq"
    assert one.pod_sets == (
        PodSet("launcher", 1, (("cpu", 500),)),
        PodSet(
            "worker",
            3,
            (("cpu", 8000), ("nvidia.com/gpu", 6)),
            "h100",
            asked=4,
            flavors=(("cpu", "any"), ("nvidia.com/gpu", "h100")),
            ended=1,
        ),
    )


@pytest.mark.parametrize("cohort", [{"cohortName": "lab"}, {"cohort": "lab"}])
def test_a_cluster_queue(cohort: dict[str, str]) -> None:
    quota = {"name": "nvidia.com/gpu", "nominalQuota": 16, "borrowingLimit": "8"}
    one = made(
        decoders.CLUSTER_QUEUE,
        {
            "metadata": meta("cq", namespace=""),
            "spec": {
                "queueingStrategy": "StrictFIFO",
                "stopPolicy": "Hold",
                "preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Never"},
                "resourceGroups": [
                    {
                        "flavors": [
                            {"name": "h100", "resources": [quota, {"name": "cpu", "nominalQuota": "64"}]}
                        ]
                    }
                ],
                **cohort,
            },
            "status": {
                "flavorsUsage": [
                    {
                        "name": "h100",
                        "resources": [{"name": "nvidia.com/gpu", "total": "20", "borrowed": "4"}],
                    }
                ],
                "flavorsReservation": [
                    {"name": "h100", "resources": [{"name": "nvidia.com/gpu", "total": 24}]}
                ],
                "pendingWorkloads": 3,
                "admittedWorkloads": 2,
            },
        },
    )
    assert one.quotas == (
        QuotaRow("h100", "nvidia.com/gpu", 16, 20, 4, 8, 24),
        QuotaRow("h100", "cpu", 64000, None, None, None, None),
    )
    assert (one.cohort, one.strategy, one.stop_policy) == ("lab", "StrictFIFO", "Hold")
    assert one.preemption == "within the queue: LowerPriority"
    assert (one.pending, one.admitted) == (3, 2)


def test_a_local_queue() -> None:
    tree = {
        "metadata": meta("lq"),
        "spec": {"clusterQueue": "cq"},
        "status": {"pendingWorkloads": 0, "reservingWorkloads": 1},
    }
    one = made(decoders.LOCAL_QUEUE, tree)
    assert (one.cluster_queue, one.pending, one.admitted) == ("cq", 0, None)


# ---- pools


def test_a_machine_deployment() -> None:
    one = made(
        pool_decoder(MACHINE_DEPLOYMENTS),
        {
            "metadata": meta("md-0", namespace="caph")
            | {
                "annotations": {
                    "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size": "1",
                    "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size": "9",
                }
            },
            "spec": {
                "replicas": 4,
                "template": {"metadata": {"labels": {"pool": "a", "node.kubernetes.io/instance-type": "p5"}}},
            },
            "status": {"replicas": 3, "readyReplicas": 2},
        },
    )
    assert one.resource_path == "/apis/cluster.x-k8s.io/v1beta1/namespaces/caph/machinedeployments"
    assert (one.kind, one.replicas, one.status_replicas) == ("MachineDeployment", 4, 3)
    assert (one.min_replicas, one.max_replicas, one.instance_type) == (1, 9, "p5")
    assert ("pool", "a") in one.template_labels


def test_karpenter_pools() -> None:
    requirement = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["p5.48xlarge"]}
    static = {
        "metadata": meta("gpu", namespace=""),
        "spec": {
            "replicas": 2,
            "limits": {"nodes": "8", "cpu": 100},
            "template": {"spec": {"requirements": [requirement]}},
        },
        "status": {"nodes": 1},
    }
    one = made(pool_decoder(NODE_POOLS), static)
    assert (one.replicas, one.status_replicas, one.max_replicas, one.instance_type) == (
        2,
        1,
        8,
        "p5.48xlarge",
    )
    assert one.resource_path == "/apis/karpenter.sh/v1/nodepools"
    dynamic = made(pool_decoder(NODE_POOLS), {"metadata": meta("any", namespace=""), "spec": {}})
    assert (dynamic.replicas, dynamic.status_replicas, dynamic.max_replicas) == (None, None, None)


def test_a_machine_set_of_a_deployment_is_no_pool_of_its_own() -> None:
    decoder = pool_decoder(MACHINE_SETS)
    assert made(decoder, {"metadata": meta("ms"), "spec": {"replicas": 1}}).replicas == 1
    assert (
        made(decoder, {"metadata": meta("ms") | {"ownerReferences": [owner("MachineDeployment", "md")]}})
        is None
    )
