"""A rendered manifest as a gang: parts, namespace and the labels that controllers add."""

from typing import Any

from cockpit.fit.shape import Part
from cockpit.jobs.planned import planned_gang
from cockpit.jobs.render import render, sample_values
from cockpit.jobs.template import load_library

POD = {"spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": 2}}}]}}


def gang(kind: str, version: str, spec: dict[str, Any]) -> tuple[Part, ...]:
    metadata = {"name": "llm", "namespace": "team"}
    return planned_gang({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})


def test_an_mpijob_has_a_launcher_and_workers() -> None:
    replicas = {
        "Launcher": {"replicas": 1, "template": {"spec": {"containers": []}}},
        "Worker": {"replicas": 4, "template": POD},
    }
    launcher, worker = gang("MPIJob", "kubeflow.org/v2beta1", {"mpiReplicaSpecs": replicas})
    assert (launcher.role, launcher.count, launcher.shape.gpus) == ("launcher", 1, 0)
    assert (worker.role, worker.count, worker.shape.gpus) == ("worker", 4, 2)
    assert worker.shape.namespace == "team"
    assert dict(worker.shape.labels) == {
        "training.kubeflow.org/job-name": "llm",
        "training.kubeflow.org/job-role": "worker",
        "training.kubeflow.org/operator-name": "mpi-operator",
    }


def test_other_kinds() -> None:
    (job,) = gang("Job", "batch/v1", {"parallelism": 3, "template": POD})
    assert (job.count, dict(job.shape.labels)["batch.kubernetes.io/job-name"]) == (3, "llm")
    (task,) = gang(
        "Job", "batch.volcano.sh/v1alpha1", {"tasks": [{"name": "w", "replicas": 2, "template": POD}]}
    )
    assert (task.count, dict(task.shape.labels)) == (
        2,
        {"volcano.sh/job-name": "llm", "volcano.sh/task-spec": "w"},
    )
    (pod,) = planned_gang({"kind": "Pod", "apiVersion": "v1", **POD}, "mine")
    assert (pod.count, pod.shape.namespace, pod.shape.labels) == (1, "mine", ())
    assert gang("Unknown", "v1", {}) == ()
    assert gang("Job", "batch/v1", {"parallelism": 0, "template": POD}) == ()


def test_every_template_of_ours_is_a_gang() -> None:
    for name, template in load_library(()).templates.items():
        parts = planned_gang(render(template, sample_values(template)))
        assert parts, name
        assert all(one.count > 0 for one in parts)
