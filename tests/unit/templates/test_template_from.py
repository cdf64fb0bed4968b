"""A template made of a manifest: filled in with nothing but the name it makes that manifest again."""

from typing import Any

import pytest

from cockpit.jobs.render import render, sample_values
from cockpit.jobs.template import Template, load_library, read_template
from cockpit.jobs.template_from import template_text

LIBRARY = load_library().templates
POD = {
    "spec": {
        "containers": [
            {"name": "main", "image": "r/t:1", "command": ["python", "a b.py"],
             "env": [{"name": "X", "value": "fit"}],
             "resources": {"limits": {"nvidia.com/gpu": 8}, "requests": {"nvidia.com/gpu": 8}}}
        ]
    }
}  # fmt: skip


def manifest(api: str, kind: str, spec: Any, **labels: str) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "fit", "labels": labels}, "spec": spec}


MANIFESTS = {
    "PyTorchJob": manifest(
        "kubeflow.org/v1",
        "PyTorchJob",
        {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": POD},
                                 "Worker": {"replicas": 3, "template": POD}}},
        **{"kueue.x-k8s.io/queue-name": "main", "app": "fit"},
    ),
    "RayJob": manifest(
        "ray.io/v1",
        "RayJob",
        {"rayClusterSpec": {"headGroupSpec": {"template": POD}, "workerGroupSpecs": [
            {"groupName": "w", "replicas": 4, "minReplicas": 4, "template": POD}]}},
    ),
    "Volcano Job": manifest(
        "batch.volcano.sh/v1alpha1",
        "Job",
        {"minAvailable": 4, "queue": "team", "tasks": [{"name": "worker", "replicas": 4, "template": POD}]},
    ),
    "LeaderWorkerSet": manifest(
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        {"replicas": 2, "leaderWorkerTemplate": {"size": 4, "workerTemplate": POD}},
    ),
    "JobSet": manifest(
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        {"replicatedJobs": [{"name": "w", "replicas": 1, "template": {"spec": {
            "parallelism": 4, "completions": 4, "template": POD}}}]},
    ),
    "CronJob": manifest(
        "batch/v1",
        "CronJob",
        {"schedule": "0 3 * * *",
         "jobTemplate": {"spec": {"parallelism": 2, "completions": 2, "template": POD}}},
    ),
    "Pod": {**manifest("v1", "Pod", POD["spec"])},
    "a kind of its own": manifest("example.test/v1", "Training", {"workers": {"count": 3, "template": POD}}),
    "no pods": manifest("trainer.kubeflow.org/v1alpha1", "TrainJob", {"runtimeRef": {"name": "torch"}}),
}  # fmt: skip


def made(tree: dict[str, Any]) -> Template:
    return read_template(template_text(tree, "own", "file.yaml"), "own")


@pytest.mark.parametrize("name", MANIFESTS)
def test_the_name_alone_makes_the_manifest_again(name: str) -> None:
    tree = MANIFESTS[name]
    again = render(made(tree), {"name": "fit"})
    assert again == {**tree, "metadata": {**tree["metadata"], "namespace": "default"}}


@pytest.mark.parametrize("name", sorted(LIBRARY))
def test_what_a_known_template_makes_becomes_a_template(name: str) -> None:
    tree = render(LIBRARY[name], sample_values(LIBRARY[name]))
    found = made(tree)
    named = {"name": tree["metadata"]["name"]}
    metadata = {**tree["metadata"], "namespace": tree["metadata"].get("namespace", "default")}
    assert render(found, named) == {**tree, "metadata": metadata}


def test_what_is_filled_in_goes_to_every_place() -> None:
    found = made(MANIFESTS["PyTorchJob"])
    values = {
        "name": "new",
        "workers": "7",
        "gpus": "4",
        "image": "r/t:2",
        "queue": "other",
        "command": "python b.py",
    }
    tree = render(found, {**values, "namespace": "team-b"})
    assert tree["metadata"] == {
        "name": "new", "namespace": "team-b", "labels": {"kueue.x-k8s.io/queue-name": "other", "app": "new"},
    }  # fmt: skip
    roles = tree["spec"]["pytorchReplicaSpecs"]
    assert (roles["Master"]["replicas"], roles["Worker"]["replicas"]) == (1, 7)
    for role in roles.values():
        [container] = role["template"]["spec"]["containers"]
        assert container["image"] == "r/t:2" and container["command"] == ["python", "b.py"]
        assert container["resources"]["limits"] == {"nvidia.com/gpu": 4}
        assert container["env"] == [{"name": "X", "value": "new"}]


def test_a_least_number_that_was_equal_stays_equal() -> None:
    tree = render(made(MANIFESTS["Volcano Job"]), {"name": "new", "workers": "6"})
    assert (tree["spec"]["minAvailable"], tree["spec"]["tasks"][0]["replicas"]) == (6, 6)
