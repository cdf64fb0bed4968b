"""Pods: what they charge, who they belong to, what they wait for."""

import json
from typing import Any

import pytest

from cockpit.k8s.gpu_resources import is_gpu_resource
from cockpit.kube.decode import decoders
from cockpit.model.pod import Pod
from cockpit.sanitise import clean
from tests.unit.kube.builders import CREATED, CREATED_SECONDS, gpu_container, meta, owner, pod


def record(tree: dict[str, Any]) -> Pod:
    made = decoders.POD.from_json(json.dumps(tree).encode())
    assert isinstance(made, Pod)
    return made


def asking(*containers: dict[str, Any], **spec: Any) -> Pod:
    return record({"metadata": meta("p"), "spec": {"containers": list(containers), **spec}})


def container(
    requests: dict[str, Any] | None = None, limits: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": requests or {}, "limits": limits or {}}, **more}


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("nvidia.com/gpu", True),
        ("nvidia.com/gpu.shared", True),
        ("nvidia.com/mig-1g.10gb", True),
        ("amd.com/gpu", True),
        ("gpu.intel.com/i915", True),
        ("gpu.intel.com/xe", True),
        ("habana.ai/gaudi", True),
        ("example.com/gpu", True),
        ("gpu.intel.com/monitoring", False),
        ("gpu.intel.com/i915_monitoring", False),
        ("gpu.intel.com/memory.max", False),
        ("rdma/ib", False),
        ("cpu", False),
        ("nvidia.com/gpumem", False),
        ("vendor/gpux", False),
    ],
)
def test_which_resources_are_gpus(name: str, counts: bool) -> None:
    assert is_gpu_resource(name) is counts
    assert asking(container(limits={name: "2"})).gpus == (2 if counts else 0)


@pytest.mark.parametrize(
    ("containers", "spec", "gpus", "millicores", "mebibytes"),
    [
        ([gpu_container(8)], {}, 8, 4000, 32768),
        ([gpu_container(1), gpu_container(2)], {}, 3, 8000, 65536),
        ([container(limits={"cpu": "2", "memory": "1Mi", "nvidia.com/gpu": 1})], {}, 1, 2000, 1),
        ([container(requests={"nvidia.com/gpu": "1"}, limits={"nvidia.com/gpu": "4"})], {}, 4, 0, 0),
        ([container(requests={"nvidia.com/gpu": "3"})], {}, 3, 0, 0),
        ([container(requests={"nvidia.com/mig-1g.10gb": "2", "nvidia.com/mig-2g.20gb": "1"})], {}, 3, 0, 0),
        ([container()], {"initContainers": [container({"nvidia.com/gpu": "4", "cpu": "1"})]}, 4, 1000, 0),
        ([gpu_container(2)], {"initContainers": [container({"nvidia.com/gpu": "1"})]}, 2, 4000, 32768),
        (
            [gpu_container(2)],
            {
                "initContainers": [
                    container({"nvidia.com/gpu": "1", "cpu": "1"}, restartPolicy="Always"),
                    container({"nvidia.com/gpu": "5"}),
                ]
            },
            6,
            5000,
            32768,
        ),
        ([gpu_container(1)], {"overhead": {"cpu": "250m", "memory": "64Mi"}}, 1, 4250, 32832),
        ([gpu_container(1)], {"resources": {"requests": {"cpu": "9", "memory": "1Gi"}}}, 1, 9000, 1024),
        ([container(requests={"cpu": "junk", "nvidia.com/gpu": "many", "memory": "1Mi"})], {}, 0, 0, 1),
        ([container(requests={"cpu": 1.5, "memory": 1048576})], {}, 0, 1500, 1),
        ([], {}, 0, 0, 0),
    ],
)
def test_what_the_scheduler_charges(
    containers: list[dict[str, Any]], spec: dict[str, Any], gpus: int, *, millicores: int, mebibytes: int
) -> None:
    made = asking(*containers, **spec)
    assert (made.gpus, made.cpu_millicores, made.memory_bytes) == (gpus, millicores, mebibytes << 20)


def test_names_of_the_gpu_resource_and_of_its_container() -> None:
    made = asking({"name": "side", "image": "side:1"}, gpu_container(4, "amd.com/gpu", "train"))
    assert (made.gpu_resource, made.image, made.containers) == (
        "amd.com/gpu",
        "registry/train:1",
        "side,train",
    )
    assert asking({"name": "a", "image": "first"}, {"name": "b", "image": "second"}).image == "first"
    assert asking(container(limits={"nvidia.com/gpu": "0"})).gpu_resource == ""


@pytest.mark.parametrize(
    ("labels", "job", "role", "rank"),
    [
        (
            {
                "training.kubeflow.org/job-name": "llm",
                "training.kubeflow.org/job-role": "launcher",
                "batch.kubernetes.io/job-name": "llm-launcher",
            },
            "llm",
            "launcher",
            None,
        ),
        (
            {
                "training.kubeflow.org/job-name": "llm",
                "training.kubeflow.org/replica-type": "Worker",
                "training.kubeflow.org/replica-index": "7",
            },
            "llm",
            "worker",
            7,
        ),
        ({"batch.kubernetes.io/job-name": "j", "batch.kubernetes.io/job-completion-index": "0"}, "j", "", 0),
        ({"jobset.sigs.k8s.io/jobset-name": "js", "jobset.sigs.k8s.io/job-index": "3"}, "js", "", None),
        ({"ray.io/cluster": "ray", "ray.io/node-type": "head"}, "ray", "head", None),
        ({"job-name": "old"}, "old", "", None),
        ({"training.kubeflow.org/replica-index": "-1"}, "", "", None),
        ({"training.kubeflow.org/replica-index": "99999999999999"}, "", "", None),
        ({"training.kubeflow.org/replica-index": "١"}, "", "", None),
        ({}, "", "", None),
    ],
)
def test_job_role_and_rank(labels: dict[str, str], job: str, role: str, *, rank: int | None) -> None:
    made = record(pod("p", metadata=meta("p") | {"labels": labels}))
    assert (made.job_label, made.role, made.rank) == (job, role, rank)


def test_rank_may_stand_in_an_annotation() -> None:
    notes = {"batch.kubernetes.io/job-completion-index": "4"}
    assert record(pod("p", metadata=meta("p") | {"annotations": notes})).rank == 4


@pytest.mark.parametrize(
    ("metadata", "spec", "gang"),
    [
        ({"labels": {"scheduling.x-k8s.io/pod-group": "g"}}, {}, "g"),
        ({"labels": {"kueue.x-k8s.io/pod-group-name": "g"}}, {}, "g"),
        ({"annotations": {"scheduling.k8s.io/group-name": "g"}}, {}, "g"),
        ({}, {"schedulingGroup": {"podGroupName": "g"}}, "g"),
        ({}, {}, ""),
    ],
)
def test_gangs(metadata: dict[str, Any], spec: dict[str, Any], gang: str) -> None:
    assert record({"metadata": meta("p") | metadata, "spec": spec}).gang == gang


def test_owner_queue_and_times() -> None:
    made = record(
        pod(
            "p",
            metadata=meta("p")
            | {
                "ownerReferences": [owner("Node", "x") | {"controller": False}, owner("PyTorchJob", "llm")],
                "labels": {"kueue.x-k8s.io/queue-name": "gpu-lq"},
                "deletionTimestamp": "2026-11-01T10:00:05Z",
            },
            status={"phase": "Running", "startTime": CREATED},
        )
    )
    assert (made.owner_kind, made.owner_name, made.owner_uid) == ("PyTorchJob", "llm", "uid-llm")
    assert made.queue == "gpu-lq"
    assert made.created_seconds == made.started_seconds == CREATED_SECONDS
    assert made.deleting_seconds == CREATED_SECONDS + 5


def status_of(**status: Any) -> Pod:
    return record(pod("p", status=status))


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return {"name": "c", "state": {"waiting": {"reason": reason, "message": message}}}


def test_what_a_container_waits_for() -> None:
    made = status_of(
        initContainerStatuses=[waiting("ImagePullBackOff", "no such image")],
        containerStatuses=[waiting("PodInitializing")],
    )
    assert (made.waiting_reason, made.waiting_message) == ("ImagePullBackOff", "no such image")
    made = status_of(containerStatuses=[waiting("ContainerCreating"), waiting("CrashLoopBackOff")])
    assert made.waiting_reason == "CrashLoopBackOff"
    assert status_of(containerStatuses=[waiting("ContainerCreating")]).waiting_reason == "ContainerCreating"


def over(code: int, reason: str, at: str = CREATED) -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": reason, "finishedAt": at}}


@pytest.mark.parametrize(
    ("statuses", "reason", "code"),
    [
        ([{"state": over(0, "Completed")}, {"state": over(137, "OOMKilled")}], "OOMKilled", 137),
        ([{"state": over(1, "Error")}, {"state": over(137, "OOMKilled")}], "Error", 1),
        ([{"state": over(0, "Completed")}], "Completed", 0),
        ([waiting("CrashLoopBackOff") | {"lastState": over(2, "Error")}], "Error", 2),
        ([{"state": {"running": {}}}], "", None),
    ],
)
def test_how_it_ended(statuses: list[dict[str, Any]], reason: str, code: int | None) -> None:
    made = status_of(phase="Failed", containerStatuses=statuses)
    assert (made.terminated_reason, made.exit_code) == (reason, code)


def test_only_a_start_that_failed_has_a_message() -> None:
    said = {"exitCode": 128, "message": "port 29500\x1b[2J is taken"}
    for reason, message in (("StartError", clean("port 29500\x1b[2J is taken")), ("Error", "")):
        statuses = [{"state": {"terminated": said | {"reason": reason}}}]
        assert status_of(phase="Failed", containerStatuses=statuses).terminated_message == message


def test_when_it_ended() -> None:
    later = "2026-11-01T10:00:09Z"
    statuses = [{"state": over(0, "Completed", later)}, {"state": over(0, "Completed")}]
    assert status_of(phase="Succeeded", containerStatuses=statuses).finished_seconds == CREATED_SECONDS + 9
    assert status_of(phase="Running", containerStatuses=statuses).finished_seconds is None


def test_counts_with_sidecars() -> None:
    made = record(
        {
            "metadata": meta("p"),
            "spec": {
                "containers": [{"name": "a"}, {"name": "b"}],
                "initContainers": [{"name": "side", "restartPolicy": "Always"}, {"name": "setup"}],
            },
            "status": {
                "containerStatuses": [{"name": "a", "ready": True, "restartCount": 2}, {"name": "b"}],
                "initContainerStatuses": [
                    {"name": "side", "ready": True, "restartCount": 1},
                    {"name": "setup", "ready": True, "restartCount": 9},
                ],
            },
        }
    )
    assert (made.ready_containers, made.total_containers, made.restarts) == (2, 3, 3)


def test_scheduling() -> None:
    made = status_of(
        phase="Pending",
        conditions=[
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": "0/4 nodes\nare available",
            },
            {"type": "Ready", "status": "True"},
        ],
    )
    assert (made.scheduled, made.scheduled_reason) == ("False", "Unschedulable")
    assert made.scheduled_message == "0/4 nodes are available"
    assert made.is_ready
    assert record(pod("p", spec={"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]})).is_gated


@pytest.mark.parametrize(("spec", "priority"), [({}, None), ({"priority": 0}, 0), ({"priority": -3}, -3)])
def test_unknown_priority_is_not_zero(spec: dict[str, Any], priority: int | None) -> None:
    assert record({"metadata": meta("p"), "spec": spec}).priority == priority


def test_hostile_text_is_cleaned_in_every_string() -> None:
    evil = "x\x1b]0;t\x07\u202e\n"
    tree = pod(
        "p",
        metadata=meta(evil, namespace=evil, uid="u" + evil, version=evil)
        | {
            "labels": {"ray.io/cluster": evil, "ray.io/node-type": evil},
            "ownerReferences": [owner(evil, evil, evil)],
        },
        spec={
            "nodeName": evil,
            "schedulerName": evil,
            "priorityClassName": evil,
            "containers": [{"name": evil, "image": evil}],
        },
        status={
            "phase": evil,
            "reason": evil,
            "message": evil,
            "podIP": evil,
            "containerStatuses": [waiting(evil, evil) | {"lastState": over(1, evil)}],
            "conditions": [{"type": "PodScheduled", "status": "False", "reason": evil, "message": evil}],
        },
    )
    made = record(tree)
    texts = [value for name in made.__struct_fields__ if isinstance(value := getattr(made, name), str)]
    assert sum("]0;t" in text for text in texts) >= 20
    assert not any(bad in text for text in texts for bad in "\x1b\x07\u202e\n")
