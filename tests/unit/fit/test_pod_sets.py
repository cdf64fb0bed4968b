"""Pods and GPUs of any manifest: from every pod template in its tree, else unknown, never zero for that."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.fit.pod_sets import UnknownNumber, pods_asked
from cockpit.fit.reasons import asked_lines

Tree = dict[str, Any]


def pod(gpus: object = None, **spec: Any) -> Tree:
    limits = {} if gpus is None else {"nvidia.com/gpu": gpus}
    return {"spec": {"containers": [{"name": "main", "resources": {"limits": limits}}], **spec}}


def manifest(api_version: str, kind: str, spec: Tree) -> Tree:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "llm"}, "spec": spec}


RAY: Tree = {
    "headGroupSpec": {"rayStartParams": {}, "template": pod()},
    "workerGroupSpecs": [
        {"groupName": "h100", "replicas": 3, "minReplicas": 1, "maxReplicas": 8, "template": pod(8)},
        {"groupName": "tpu-like", "replicas": 2, "numOfHosts": 2, "template": pod("4")},
        {"groupName": "later", "minReplicas": 1, "template": pod(1)},
    ],
}
RAY_SETS = [("head", 1, 0), ("h100", 3, 8), ("tpu-like", 4, 4), ("later", 1, 1)]

KNOWN = {
    "RayCluster": (manifest("ray.io/v1", "RayCluster", RAY), RAY_SETS),
    "RayJob": (manifest("ray.io/v1", "RayJob", {"rayClusterSpec": RAY, "entrypoint": "x"}), RAY_SETS),
    "RayService": (manifest("ray.io/v1", "RayService", {"rayClusterConfig": RAY}), RAY_SETS),
    "PyTorchJob": (
        manifest(
            "kubeflow.org/v1",
            "PyTorchJob",
            {
                "runPolicy": {"schedulingPolicy": {"minResources": {"nvidia.com/gpu": 32}}},
                "pytorchReplicaSpecs": {
                    "Master": {"template": pod(8)},
                    "Worker": {"replicas": 3, "template": pod(8)},
                },
            },
        ),
        [("master", 1, 8), ("worker", 3, 8)],
    ),
    "Notebook": (manifest("kubeflow.org/v1", "Notebook", {"template": pod(2)}), [("main", 1, 2)]),
    "Deployment": (manifest("apps/v1", "Deployment", {"replicas": 5, "template": pod(1)}), [("main", 5, 1)]),
    "StatefulSet": (manifest("apps/v1", "StatefulSet", {"template": pod(1)}), [("main", 1, 1)]),
    "CronJob": (
        manifest(
            "batch/v1",
            "CronJob",
            {"jobTemplate": {"spec": {"parallelism": 4, "completions": 3, "template": pod(2)}}},
        ),
        [("main", 3, 2)],
    ),
    "JobSet": (
        manifest(
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            {
                "replicatedJobs": [
                    {"name": "driver", "template": {"spec": {"template": pod()}}},
                    {
                        "name": "ranks",
                        "replicas": 2,
                        "template": {"spec": {"parallelism": 4, "template": pod(8)}},
                    },
                ]
            },
        ),
        [("driver", 1, 0), ("ranks", 8, 8)],
    ),
    "LeaderWorkerSet": (
        manifest(
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            {
                "replicas": 2,
                "leaderWorkerTemplate": {"size": 4, "leaderTemplate": pod(1), "workerTemplate": pod(8)},
            },
        ),
        [("leader", 2, 1), ("worker", 6, 8)],
    ),
    "a kind nobody knows": (
        manifest("example.com/v1", "Training", {"pool": {"replicas": 3, "template": pod(4)}}),
        [("pool", 3, 4)],
    ),
}


@pytest.mark.parametrize(("tree", "sets"), KNOWN.values(), ids=KNOWN)
def test_every_pod_template_is_counted(tree: Tree, sets: list[tuple[str, int, int]]) -> None:
    asked = pods_asked(tree)
    assert asked.unknown is None
    assert [(one.role, one.replicas, one.gpus_each) for one in asked.sets] == sets
    assert asked.members == sum(count for _, count, _ in sets)
    assert asked.gpus == sum(count * each for _, count, each in sets)
    assert asked_lines(asked)[-1] == ("1 GPU in total" if asked.gpus == 1 else f"{asked.gpus} GPUs in total")


UNKNOWN = {
    "no template": (manifest("example.com/v1", "Training", {"gpus": 8}), UnknownNumber.NO_TEMPLATE),
    "a runtime's": (
        manifest("trainer.kubeflow.org/v1alpha1", "TrainJob", {"runtimeRef": {}}),
        UnknownNumber.RUNTIME,
    ),
    "one a node": (manifest("apps/v1", "DaemonSet", {"template": pod(1)}), UnknownNumber.COUNT),
    "no count": (manifest("example.com/v1", "Training", {"template": pod(4)}), UnknownNumber.COUNT),
    "a count in words": (
        manifest("example.com/v1", "Training", {"replicas": "auto", "template": pod(4)}),
        UnknownNumber.COUNT,
    ),
    "two counts": (
        manifest("example.com/v1", "Training", {"replicas": 2, "instances": 3, "template": pod(4)}),
        UnknownNumber.COUNT,
    ),
    "a server that scales": (
        manifest("serving.kserve.io/v1beta1", "InferenceService", {"predictor": pod(1)["spec"]}),
        UnknownNumber.COUNT,
    ),
    "devices by claim": (
        manifest("batch/v1", "Job", {"template": pod(resourceClaims=[{"name": "gpu"}])}),
        UnknownNumber.CLAIMS,
    ),
    "an amount in words": (manifest("batch/v1", "Job", {"template": pod("many")}), UnknownNumber.DEVICES),
    "devices elsewhere": (
        manifest(
            "sparkoperator.k8s.io/v1beta2",
            "SparkApplication",
            {
                "driver": {"replicas": 1, "template": pod()},
                "executor": {"instances": 4, "gpu": {"name": "nvidia.com/gpu", "quantity": 2}},
            },
        ),
        UnknownNumber.ELSEWHERE,
    ),
}


@pytest.mark.parametrize(("tree", "why"), UNKNOWN.values(), ids=UNKNOWN)
def test_what_a_manifest_does_not_say_is_unknown_and_not_zero(tree: Tree, why: UnknownNumber) -> None:
    asked = pods_asked(tree)
    assert asked.unknown is why
    assert asked.gpus is None
    lines = asked_lines(asked)
    assert lines[-1].startswith("GPUs in total unknown")
    assert not [line for line in lines if "0 GPUs" in line]


def test_what_is_known_of_a_partly_unknown_manifest_is_told() -> None:
    tree = manifest(
        "example.com/v1",
        "Training",
        {"coordinator": {"template": pod(1)}, "pool": {"replicas": 2, "template": pod(8)}},
    )
    assert asked_lines(pods_asked(tree)) == [
        "an unknown number of coordinator pods x 1 GPU",
        "2 pool pods x 8 GPUs",
        "GPUs in total unknown, at least 16: the manifest does not say how many coordinator pods it makes",
    ]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-3, 9) | st.text(max_size=4),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "spec",
                        "template",
                        "replicas",
                        "parallelism",
                        "workerGroupSpecs",
                        "containers",
                        "resources",
                        "limits",
                        "nvidia.com/gpu",
                        "resourceClaims",
                        "leaderWorkerTemplate",
                        "size",
                        "kind",
                        "name",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=30,
    ),
    st.sampled_from(["Job", "RayCluster", "TrainJob", "Training"]),
)
def test_any_tree_can_be_asked_and_a_sum_is_only_told_when_all_of_it_is_known(spec: Any, kind: str) -> None:
    asked = pods_asked(manifest("example.com/v1", kind, spec))
    assert asked.gpus is None or asked.gpus == asked.gpus_at_least
    if any(one.gpus is None for one in asked.sets) or not asked.sets:
        assert asked.gpus is None and asked.unknown is not None
