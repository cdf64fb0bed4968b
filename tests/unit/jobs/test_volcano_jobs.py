"""Volcano's own Job without pods, by objects as its API and its users show them."""

import json
from typing import Any

import pytest

from cockpit.actions.suspend import plan_resume
from cockpit.errors import BadInput
from cockpit.gangs.volcano import NAME
from cockpit.kube.decode.decoders import VOLCANO_JOB, pod_group_decoder
from cockpit.kube.resource import Resource
from cockpit.model.gang import PodGroup
from cockpit.model.job import JobObject
from tests.unit.jobs.builders import Cluster, batch_job, owned, up

KEY = "job.batch.volcano.sh/team-a/llm"
UID = "6f1f7c9e-6d5a-4a0e-9c51-7a2f0b1d2c3e"
GROUPS = Resource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup", namespaced=True)
CONTAINER = {
    "name": "main",
    "image": "registry.example/train:1.4",
    "command": ["torchrun"],
    "args": ["train.py"],
    "resources": {"requests": {"cpu": "8", "memory": "64Gi"}, "limits": {"nvidia.com/gpu": "8"}},
}


def tree(phase: str, **state: Any) -> dict[str, Any]:
    """A Job as vc-controller-manager 1.12 leaves it, with a master without GPUs and four workers."""
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {
            "name": "llm",
            "namespace": "team-a",
            "uid": UID,
            "resourceVersion": "48211",
            "creationTimestamp": "2026-03-02T09:00:00Z",
            "labels": {"user": "ada"},
        },
        "spec": {
            "minAvailable": 5,
            "queue": "research",
            "schedulerName": "volcano",
            "maxRetry": 3,
            "policies": [{"event": "PodEvicted", "action": "RestartJob"}],
            "tasks": [
                {"name": "master", "replicas": 1, "template": {"spec": {"containers": [{"name": "m"}]}}},
                {"name": "worker", "replicas": 4, "template": {"spec": {"containers": [CONTAINER]}}},
            ],
        },
        "status": {
            "state": {"phase": phase, "lastTransitionTime": "2026-03-02T09:01:00Z", **state},
            "minAvailable": 5,
            "conditions": [{"status": phase, "lastTransitionTime": "2026-03-02T09:01:00Z"}],
        },
    }


def job(phase: str, **state: Any) -> JobObject:
    made = VOLCANO_JOB.from_json(json.dumps(tree(phase, **state)).encode())
    assert isinstance(made, JobObject)
    return made


def group(phase: str = "Pending", message: str = "", name: str = f"llm-{UID}", uid: str = UID) -> PodGroup:
    owner = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "name": "llm",
        "uid": uid,
        "controller": True,
    }
    conditions = [{"type": "Unschedulable", "status": "True", "message": message}] if message else []
    raw = {
        "metadata": {"name": name, "namespace": "team-a", "uid": f"pg-{name}", "ownerReferences": [owner]},
        "spec": {"minMember": 5, "queue": "research"},
        "status": {"phase": phase, "conditions": conditions},
    }
    made = pod_group_decoder(GROUPS, NAME).from_json(json.dumps(raw).encode())
    assert isinstance(made, PodGroup)
    return made


def test_what_the_object_tells() -> None:
    made = job("Pending")
    assert [(role.role, role.replicas, role.gpus_each) for role in made.replicas] == [
        ("master", 1, 0),
        ("worker", 4, 8),
    ]
    assert made.replicas[1].command == "torchrun train.py"
    assert dict(made.labels)["volcano.sh/queue-name"] == "research"
    assert (made.is_suspended, made.finished_seconds) == (False, None)
    bare = VOLCANO_JOB.from_json(b'{"metadata": {"name": "x", "uid": "u"}}')
    assert isinstance(bare, JobObject) and bare.conditions == ()


def test_a_job_that_its_queue_holds_back_is_a_row_before_it_has_pods(cluster: Cluster) -> None:
    cluster.put(job("Pending"))
    row = cluster.index.jobs[KEY]
    assert (row.state, row.ready, row.wanted, row.gpus_wanted) == ("pending", 0, 4, 32)
    assert (row.engine, row.queue, row.owner) == ("Volcano", "research", "ada")
    assert cluster.why(KEY) == "no pod yet: waits for its Volcano controller"
    cluster.put(group())
    row = cluster.index.jobs[KEY]
    assert (row.state, cluster.why(KEY)) == ("queued", "queue research has not admitted it yet")
    assert (row.position, row.is_position_estimate) == (1, True)
    cluster.put(group(message="5/5 tasks in gang unschedulable: pod group is not ready, 5 minAvailable"))
    assert cluster.why(KEY) != "queue research has not admitted it yet"
    assert cluster.fresh().jobs == cluster.index.jobs


def test_a_group_of_another_job_of_that_name_says_nothing(cluster: Cluster) -> None:
    cluster.put(job("Pending"), group(name="llm", uid="another"))
    assert cluster.index.jobs[KEY].state == "pending"
    cluster.put(group(name="llm"))
    assert cluster.index.jobs[KEY].state == "queued", "older releases name the group after the Job alone"


def test_an_aborted_job_is_suspended_and_can_be_resumed(cluster: Cluster) -> None:
    cluster.put(job("Running"), *(owned(job("Running"), f"w-{at}", gpus=8, **up()) for at in range(4)))
    pods = cluster.index.members(KEY)
    assert cluster.index.jobs[KEY].state == "running"
    cluster.put(job("Aborting"))
    cluster.drop(*pods)
    cluster.put(job("Aborted", reason="AbortJob"))
    row = cluster.index.jobs[KEY]
    assert (row.state, cluster.why(KEY)) == ("suspended", "suspended: it starts once it is resumed")
    assert row.is_suspended
    plan = plan_resume(row, tree("Aborted"), cluster.store)
    (call,) = plan.calls
    assert call.path == "/apis/bus.volcano.sh/v1alpha1/namespaces/team-a/commands"
    assert call.body is not None
    assert (call.body["action"], call.body["target"]["uid"]) == ("ResumeJob", UID)
    with pytest.raises(BadInput, match="is not suspended"):
        plan_resume(row, tree("Running"), cluster.store)
    cluster.put(job("Pending"))
    assert cluster.index.jobs[KEY].state == "pending"


@pytest.mark.parametrize(
    ("phase", "state", "why"),
    [
        ("Completed", "succeeded", ""),
        ("Failed", "failed", "Volcano says Failed"),
        ("Terminated", "failed", "Volcano says Terminated"),
    ],
)
def test_an_end_without_pods(cluster: Cluster, phase: str, state: str, why: str) -> None:
    cluster.put(job(phase))
    row = cluster.index.jobs[KEY]
    assert (row.state, cluster.why(KEY)) == (state, why)
    assert row.finished_seconds is not None
    cluster.drop(job(phase))
    assert cluster.index.jobs == {}


def test_a_built_in_job_of_the_same_name_is_another_row(cluster: Cluster) -> None:
    cluster.put(job("Pending"), batch_job("llm", 2, 1))
    assert set(cluster.index.jobs) == {KEY, "job.batch/team-a/llm"}
    assert cluster.index.jobs["job.batch/team-a/llm"].gpus_wanted == 2
    assert cluster.index.jobs[KEY].gpus_wanted == 32
    assert cluster.fresh().jobs == cluster.index.jobs


def test_a_job_without_gpus_is_no_row(cluster: Cluster) -> None:
    bare = tree("Pending")
    bare["spec"]["tasks"] = bare["spec"]["tasks"][:1]
    made = VOLCANO_JOB.from_json(json.dumps(bare).encode())
    assert isinstance(made, JobObject)
    cluster.put(made)
    assert cluster.index.jobs == {}


def test_a_job_that_says_running_while_its_pods_wait_is_told_by_its_pods(cluster: Cluster) -> None:
    """The status that users report in volcano-sh/volcano#2684 and #1169: Running, and nothing runs."""
    said = tree("Running")
    said["status"] = {
        "controlledResources": {"plugin-env": "env"},
        "minAvailable": 1,
        "pending": 4,
        "state": {"lastTransitionTime": "2023-02-15T01:01:16Z", "phase": "Running"},
        "taskStatusCount": {"worker": {"phase": {"Pending": 4}}},
    }
    made = VOLCANO_JOB.from_json(json.dumps(said).encode())
    assert isinstance(made, JobObject)
    cluster.put(made, *(owned(made, f"w-{at}", gpus=8) for at in range(4)))
    row = cluster.index.jobs[KEY]
    assert (row.state, row.ready, row.gpus_allocated) == ("pending", 0, 0)
    assert cluster.why(KEY)
