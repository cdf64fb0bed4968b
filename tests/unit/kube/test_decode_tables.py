"""Nodes, events, jobs, Kueue's kinds and pools, by example."""

import json
from typing import Any

import msgspec
import pytest

from cockpit.kube.decode import decoders
from cockpit.kube.decode.decoders import Decoder, machine_decoder, pool_decoder
from cockpit.kube.decode.wire import UndecodableError
from cockpit.kube.resource import MACHINE_DEPLOYMENTS, MACHINES, NODE_CLAIMS
from cockpit.model.job import ReplicaSpec
from cockpit.model.node import Taint
from tests.unit.kube.builders import CREATED, CREATED_SECONDS, gpu_container, meta, owner


def made(decoder: Decoder, tree: dict[str, Any]) -> Any:
    return decoder.from_json(json.dumps(tree).encode())


# ---- nodes


def node(
    labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None, **parts: Any
) -> Any:
    return made(
        decoders.NODE,
        {
            "metadata": meta("n1", namespace="") | {"labels": labels or {}, "annotations": annotations or {}},
            **parts,
        },
    )


CAPI = {
    "cluster.x-k8s.io/machine": "md-0-abc-xyz",
    "cluster.x-k8s.io/owner-kind": "MachineSet",
    "cluster.x-k8s.io/owner-name": "md-0-abc",
}


@pytest.mark.parametrize(
    ("labels", "annotations", "pool", "key"),
    [
        ({"karpenter.sh/nodepool": "kp", "pool": "x"}, {}, "kp", "karpenter.sh/nodepool"),
        ({"cluster.x-k8s.io/deployment-name": "md-0"}, CAPI, "md-0", "cluster.x-k8s.io/deployment-name"),
        ({"eks.amazonaws.com/nodegroup": "ng"}, {}, "ng", "eks.amazonaws.com/nodegroup"),
        ({"cloud.google.com/gke-nodepool": "gp"}, {}, "gp", "cloud.google.com/gke-nodepool"),
        (
            {"kubernetes.azure.com/agentpool": "ap", "agentpool": "ap"},
            {},
            "ap",
            "kubernetes.azure.com/agentpool",
        ),
        ({"agentpool": "ap"}, {}, "ap", "agentpool"),
        ({"compute.coreweave.com/node-pool": "cw"}, {}, "cw", "compute.coreweave.com/node-pool"),
        *(
            ({key: "p", "pool": "x"}, {}, "p", key)
            for key in (
                *("alpha.eksctl.io/nodegroup-name", "karpenter.sh/provisioner-name"),
                *("sagemaker.amazonaws.com/instance-group-name", "oke.oraclecloud.com/pool.name"),
                *("nebius.com/node-group-id", "doks.digitalocean.com/node-pool"),
                *("alibabacloud.com/nodepool-id", "lke.linode.com/pool-id", "worker.gardener.cloud/pool"),
            )
        ),
        ({"node-pool": "np"}, {}, "np", "node-pool"),
        ({"pool": "a"}, {}, "a", "pool"),
        ({"pool": "a"}, CAPI, "md-0-abc", "cluster.x-k8s.io/owner-name"),
        *(
            ({}, {**CAPI, "cluster.x-k8s.io/owner-name": name}, pool, "cluster.x-k8s.io/owner-name")
            for name, pool in (
                *(("h100-nlp9v", "h100"), ("gpu-h100-6b8f9c7d5f", "gpu-h100")),
                *(("gpu-x-2596988554", "gpu-x"), ("worker-us-east-1a", "worker-us-east-1a")),
                *(("md-gpu-train", "md-gpu-train"), ("l40s-vm2h8tgqxl", "l40s")),
            )
        ),
        (
            {},
            {
                **CAPI,
                "cluster.x-k8s.io/owner-kind": "MachinePool",
                "cluster.x-k8s.io/owner-name": "h100-nlp9v",
            },
            "h100-nlp9v",
            "cluster.x-k8s.io/owner-name",
        ),
        ({"pool": ""}, {}, "", ""),
        ({}, {}, "", ""),
    ],
)
def test_pools_of_nodes(labels: dict[str, str], annotations: dict[str, str], pool: str, *, key: str) -> None:
    one = node(labels, annotations)
    assert (one.pool, one.pool_label) == (pool, key)


def test_what_a_gpu_node_shows_and_promises() -> None:
    one = node(
        {
            "nvidia.com/gpu.count": "8",
            "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
            "nvidia.com/gpu.memory": "81559",
            "nvidia.com/gpu.replicas": "4",
            "node.kubernetes.io/instance-type": "p5",
            "topology.kubernetes.io/zone": "z1",
        },
        status={
            "capacity": {"cpu": "96", "memory": "1Gi", "nvidia.com/gpu": "32"},
            "allocatable": {"cpu": "95500m", "nvidia.com/gpu": "28"},
            "nodeInfo": {"kubeletVersion": "v1.36.0"},
            "addresses": [
                {"type": "Hostname", "address": "n1"},
                {"type": "InternalIP", "address": "10.0.0.1"},
            ],
        },
        spec={
            "providerID": "aws:///x",
            "unschedulable": True,
            "taints": [{"key": "k", "effect": "NoSchedule"}],
        },
    )
    assert (one.gpu_resource, one.gpu_capacity, one.gpu_allocatable) == ("nvidia.com/gpu", 32, 28)
    assert (one.gpus_expected, one.gpu_replicas, one.gpu_memory_bytes) == (8, 4, 81559 << 20)
    assert (one.gpu_model, one.instance_type, one.zone) == ("NVIDIA-H100-80GB-HBM3", "p5", "z1")
    assert one.capacity == (("cpu", 96000), ("memory", 1 << 30), ("nvidia.com/gpu", 32))
    assert one.allocatable == (("cpu", 95500), ("nvidia.com/gpu", 28))
    assert (one.provider_id, one.unschedulable, one.taints) == (
        "aws:///x",
        True,
        (Taint("k", "", "NoSchedule"),),
    )
    assert (one.kubelet_version, one.internal_ip) == ("v1.36.0", "10.0.0.1")


@pytest.mark.parametrize(
    ("labels", "model"),
    [
        ({"kubernetes.azure.com/accelerator": "nvidia", "accelerator": "nvidia"}, ""),
        ({"cloud.google.com/gke-accelerator": "nvidia-h100-80gb"}, "nvidia-h100-80gb"),
        ({"gpu.nvidia.com/model": "H100_NVLINK_80GB", "gpu.nvidia.com/count": "8"}, "H100_NVLINK_80GB"),
        ({"nebius.com/gpu-name": "H100"}, "H100"),
    ],
)
def test_who_made_a_gpu_is_no_model(labels: dict[str, str], model: str) -> None:
    one = node(labels)
    assert (one.gpu_model, one.is_gpu_labelled) == (model, True)
    assert one.gpus_expected == (8 if "gpu.nvidia.com/count" in labels else None)


def test_a_gpu_that_is_not_advertised_is_unknown_and_not_zero() -> None:
    one = node({"nvidia.com/gpu.count": "8"}, status={"capacity": {"cpu": "1"}})
    assert (one.gpu_capacity, one.gpu_allocatable, one.gpus_expected) == (None, None, 8)
    assert node(status={"capacity": {"nvidia.com/gpu": "0"}}).gpu_capacity == 0
    assert node().gpus_expected is None
    assert node({"nvidia.com/gpu.count": "many", "nvidia.com/gpu.memory": "-1"}).gpus_expected is None


def test_mixed_mig_counts_all_slices() -> None:
    shown = {"nvidia.com/mig-1g.10gb": "7", "nvidia.com/mig-3g.40gb": "2", "nvidia.com/gpu": "0"}
    one = node(status={"capacity": shown, "allocatable": shown})
    assert (one.gpu_resource, one.gpu_capacity) == ("nvidia.com/mig-1g.10gb", 9)


def test_only_annotations_of_owners_and_holds_are_kept() -> None:
    one = node({}, CAPI | {"flannel/backend": "x", "gpu-cockpit/held-by": "me"})
    assert [key for key, _ in one.annotations] == [*sorted(CAPI), "gpu-cockpit/held-by"]


# ---- events


@pytest.mark.parametrize(
    ("parts", "count", "first", "last"),
    [
        ({"count": 4, "firstTimestamp": CREATED, "lastTimestamp": "2026-11-01T10:00:09Z"}, 4, 0, 9),
        (
            {
                "eventTime": "2026-11-01T10:00:01.5Z",
                "series": {"count": 7, "lastObservedTime": "2026-11-01T10:00:08Z"},
            },
            7,
            1.5,
            8,
        ),
        ({"eventTime": "2026-11-01T10:00:02Z"}, 1, 2, 2),
        ({}, 1, 0, 0),
        ({"firstTimestamp": None, "lastTimestamp": None, "eventTime": None, "series": None}, 1, 0, 0),
    ],
)
def test_counts_and_times_of_events(parts: dict[str, Any], count: int, first: float, *, last: float) -> None:
    one = made(decoders.EVENT, {"metadata": meta("e"), **parts})
    assert one.count == count
    assert (one.first_seconds, one.last_seconds) == (CREATED_SECONDS + first, CREATED_SECONDS + last)


def test_an_event_names_its_object_and_writer() -> None:
    tree = {
        "metadata": meta("e"),
        "involvedObject": {"kind": "Pod", "namespace": "team-a", "name": "p", "uid": "uid-p"},
        "reportingComponent": "kueue-admission",
        "type": "Warning",
        "reason": "Pending",
        "message": "couldn't assign flavors\n",
    }
    one = made(decoders.EVENT, tree)
    assert (one.object_kind, one.object_name, one.object_uid) == ("Pod", "p", "uid-p")
    assert (one.component, one.message) == ("kueue-admission", "couldn't assign flavors")
    assert made(decoders.EVENT, tree | {"source": {"component": "kubelet"}}).component == "kubelet"


# ---- jobs

TEMPLATE = {
    "metadata": {"creationTimestamp": None},
    "spec": {"containers": [gpu_container(2) | {"command": ["python", "train.py"], "args": ["--lr\n", "1"]}]},
}


def test_a_batch_job() -> None:
    one = made(
        decoders.JOB,
        {
            "metadata": meta("j", labels={"kueue.x-k8s.io/queue-name": "q"})
            | {"ownerReferences": [owner("JobSet", "js")]},
            "spec": {"parallelism": 4, "completions": 2, "suspend": True, "template": TEMPLATE},
            "status": {
                "active": 1,
                "failed": 3,
                "startTime": CREATED,
                "conditions": [
                    {"type": "Failed", "status": "True", "lastTransitionTime": "2026-11-01T10:01:00Z"}
                ],
            },
        },
    )
    (role,) = one.replicas
    assert msgspec.structs.replace(role, traits=None) == ReplicaSpec(
        "main", 2, 2, "nvidia.com/gpu", 4000, 32 << 30, "registry/main:1", "python train.py --lr  1"
    )
    assert one.owner is not None
    assert (one.owner.kind, one.is_suspended, one.active, one.failed) == ("JobSet", True, 1, 3)
    assert (one.started_seconds, one.finished_seconds) == (CREATED_SECONDS, CREATED_SECONDS + 60)
    assert made(decoders.JOB, {"metadata": meta("j"), "spec": {}}).replicas[0].replicas == 1


def test_what_places_the_pods_of_a_job_is_read_from_its_template() -> None:
    template = {
        "spec": {"containers": [], "nodeSelector": {"pool": "gold"}},
        "metadata": {"labels": {"a": "b"}},
    }
    (role,) = made(decoders.JOB, {"metadata": meta("j"), "spec": {"template": template}}).replicas
    assert role.traits is not None
    assert (role.traits.labels, role.traits.wishes.node_selector) == ((("a", "b"),), (("pool", "gold"),))


def test_an_mpijob() -> None:
    one = made(
        decoders.MPIJOB,
        {
            "apiVersion": "kubeflow.org/v2beta1",
            "kind": "MPIJob",
            "metadata": meta("hvd"),
            "spec": {
                "slotsPerWorker": 2,
                "runPolicy": {"suspend": True, "cleanPodPolicy": "Running"},
                "mpiReplicaSpecs": {
                    "Worker": {"replicas": 4, "template": TEMPLATE},
                    "Launcher": {"template": {"spec": {"containers": [{"name": "l", "image": "i"}]}}},
                },
            },
            "status": {
                "conditions": [{"type": "Running", "status": "True", "reason": "MPIJobRunning"}],
                "replicaStatuses": {"Launcher": {"active": 1}, "Worker": {"active": 4, "failed": 1}},
                "startTime": CREATED,
                "completionTime": "2026-11-01T11:00:00Z",
            },
        },
    )
    assert [(part.role, part.replicas, part.gpus_each) for part in one.replicas] == [
        ("launcher", 1, 0),
        ("worker", 4, 2),
    ]
    assert (one.is_suspended, one.active, one.failed) == (True, 5, 1)
    assert (one.kind, one.api_version) == ("MPIJob", "kubeflow.org/v2beta1")
    assert one.finished_seconds == CREATED_SECONDS + 3600
    assert made(decoders.MPIJOB, {"metadata": meta("x"), "spec": {"mpiReplicaSpecs": None}}).replicas == ()


# ---- any kind

ALL = (
    decoders.NODE,
    decoders.POD,
    decoders.EVENT,
    decoders.JOB,
    decoders.NAMESPACE,
    decoders.MPIJOB,
    decoders.WORKLOAD,
    decoders.LOCAL_QUEUE,
    decoders.CLUSTER_QUEUE,
    decoders.OWNER,
    pool_decoder(MACHINE_DEPLOYMENTS),
    machine_decoder(MACHINES),
    machine_decoder(NODE_CLAIMS),
)


@pytest.mark.parametrize("decoder", ALL, ids=lambda decoder: decoder.kind)
@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"null", b'"x"', b"{", b"{}", b'{"metadata":{"name":"x"}}', b"[" * 10_000]
)
def test_what_is_no_object_is_told(decoder: Decoder, raw: bytes) -> None:
    with pytest.raises(UndecodableError):
        decoder.from_json(raw)
    if decoder.from_protobuf is not None:
        with pytest.raises(UndecodableError):
            decoder.from_protobuf(b"\xff" + raw)


@pytest.mark.parametrize("decoder", ALL, ids=lambda decoder: decoder.kind)
def test_nulls_and_unknown_fields_are_passed_over(decoder: Decoder) -> None:
    tree = {
        "metadata": meta("x") | {"labels": None, "managedFields": [{}]},
        "spec": None,
        "status": None,
        "surprise": {"a": 1},
    }
    one = made(decoder, tree)
    assert (one.uid, one.name, one.created_seconds) == ("uid-x", "x", CREATED_SECONDS)


def test_lone_surrogates_do_not_cost_the_row() -> None:
    raw = json.dumps({"metadata": meta("x"), "message": "a\ud800b"}).encode()
    one: Any = decoders.EVENT.from_json(raw)
    assert one.message == "ab"
