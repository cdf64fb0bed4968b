"""A job object whose templates ask for GPUs is a job before it has a pod."""

import json
from typing import Any

import pytest

from cockpit.jobs.other_jobs import roles_of, watched
from cockpit.k8s.gpu_resources import gpu_names
from cockpit.kube.decode.decoders import Decode, gathered_decoder
from cockpit.kube.resource import Resource
from cockpit.model.batch import Batch
from cockpit.model.job import JobObject, JobState
from cockpit.model.record import Kind
from tests.unit.jobs.builders import Cluster

META = {"name": "fit", "namespace": "team-a", "uid": "u-fit", "labels": {"user": "ada"}}


def containers(gpus: int = 0, name: str = "main") -> list[dict[str, Any]]:
    limits = {"nvidia.com/gpu": str(gpus)} if gpus else {"cpu": "1"}
    return [{"name": name, "image": "train:2.31", "resources": {"limits": limits}}]


def template(gpus: int = 0) -> dict[str, Any]:
    return {"spec": {"containers": containers(gpus)}}


def replica_specs(field: str, **roles: tuple[int, int]) -> dict[str, Any]:
    """Each role as (replicas, GPUs)."""
    made = {role: {"replicas": many, "template": template(gpus)} for role, (many, gpus) in roles.items()}
    return {field: made}


def ray(**spec: Any) -> dict[str, Any]:
    groups = [
        {"groupName": "gpu", "replicas": 2, "minReplicas": 1, "maxReplicas": 4, "template": template(4)}
    ]
    return {"headGroupSpec": {"template": template()}, "workerGroupSpecs": groups, **spec}


def batch_spec(pods: int, gpus: int) -> dict[str, Any]:
    return {"parallelism": pods, "completions": pods, "template": template(gpus)}


PYTORCH = replica_specs("pytorchReplicaSpecs", Master=(1, 8), Worker=(3, 8))
JOBSET = {"replicatedJobs": [{"name": "part", "replicas": 2, "template": {"spec": batch_spec(2, 2)}}]}
LWS = {
    "replicas": 2,
    "leaderWorkerTemplate": {"size": 3, "leaderTemplate": template(1), "workerTemplate": template(2)},
}
SPARK = {
    "driver": {"cores": 1},
    "executor": {"instances": 4, "gpu": {"name": "nvidia.com/gpu", "quantity": 1}},
}
WRAPPED = {
    "components": [
        {"template": {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "spec": PYTORCH}},
        {"template": {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": template(1)}}},
    ]
}
STEPS = {
    "templates": [
        {"name": "train", "container": containers(2)[0]},
        {"name": "clean", "script": containers()[0]},
        {"name": "all", "steps": [[{"name": "a", "template": "train"}]]},
    ]
}
DASK = {
    "scheduler": {"spec": {"containers": containers()}},
    "worker": {"replicas": 3, "spec": {"containers": containers(1)}},
}

# group, version, plural, Kind, spec, (members, GPUs)
KINDS = (
    ("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob", PYTORCH, (4, 32)),
    (
        "kubeflow.org",
        "v1",
        "tfjobs",
        "TFJob",
        replica_specs("tfReplicaSpecs", PS=(1, 0), Worker=(2, 1)),
        (2, 2),
    ),
    (
        "kubeflow.org",
        "v1",
        "xgboostjobs",
        "XGBoostJob",
        replica_specs("xgbReplicaSpecs", Worker=(2, 1)),
        (2, 2),
    ),
    (
        "kubeflow.org",
        "v1",
        "paddlejobs",
        "PaddleJob",
        replica_specs("paddleReplicaSpecs", Worker=(2, 1)),
        (2, 2),
    ),
    ("kubeflow.org", "v1", "jaxjobs", "JAXJob", replica_specs("jaxReplicaSpecs", Worker=(2, 1)), (2, 2)),
    ("kubeflow.org", "v1", "notebooks", "Notebook", {"template": template(1)}, (1, 1)),
    (
        *("trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob"),
        {"trainer": {"numNodes": 2, "resourcesPerNode": {"limits": {"nvidia.com/gpu": 4}}}},
        (2, 8),
    ),
    ("ray.io", "v1", "rayjobs", "RayJob", {"rayClusterSpec": ray()}, (2, 8)),
    ("ray.io", "v1", "rayclusters", "RayCluster", ray(), (2, 8)),
    ("ray.io", "v1", "rayservices", "RayService", {"rayClusterConfig": ray()}, (2, 8)),
    ("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet", JOBSET, (4, 8)),
    ("leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet", LWS, (6, 10)),
    ("sparkoperator.k8s.io", "v1beta2", "sparkapplications", "SparkApplication", SPARK, (4, 4)),
    ("workload.codeflare.dev", "v1beta2", "appwrappers", "AppWrapper", WRAPPED, (5, 33)),
    ("argoproj.io", "v1alpha1", "workflows", "Workflow", STEPS, (None, None)),
    ("argoproj.io", "v1alpha1", "cronworkflows", "CronWorkflow", {"workflowSpec": STEPS}, (None, None)),
    ("kubernetes.dask.org", "v1", "daskclusters", "DaskCluster", DASK, (3, 3)),
    ("batch", "v1", "cronjobs", "CronJob", {"jobTemplate": {"spec": batch_spec(2, 1)}}, (2, 2)),
    ("apps", "v1", "deployments", "Deployment", {"replicas": 2, "template": template(1)}, (2, 2)),
    ("apps", "v1", "statefulsets", "StatefulSet", {"template": template(1)}, (1, 1)),
)
IDS = [kind[3] for kind in KINDS]


def decoder(group: str, version: str, plural: str, kind: str) -> Decode:
    one = next(each for each in watched() if (each.group, each.plural) == (group, plural))
    return gathered_decoder(one, Resource(group, version, plural, kind, namespaced=True)).from_json


def put(cluster: Cluster, record: Any) -> None:
    cluster.store.apply(Batch(kind=Kind.OTHER_JOB, changed=(record,)))
    cluster.index.update(cluster.store.take_delta())


def read(decode: Decode, spec: dict[str, Any], status: dict[str, Any] | None = None, **meta: Any) -> Any:
    return decode(json.dumps({"metadata": META | meta, "spec": spec, "status": status or {}}).encode())


@pytest.mark.parametrize(("group", "version", "plural", "kind", "spec", "asked"), KINDS, ids=IDS)
def test_an_object_of_each_kind_is_a_row_without_a_pod(
    cluster: Cluster, group: str, version: str, plural: str, kind: str, spec: Any, asked: Any
) -> None:
    decode = decoder(group, version, plural, kind)
    record = read(decode, spec)
    assert isinstance(record, JobObject)
    assert (record.kind, record.has_status, record.phase) == (kind, False, "")
    put(cluster, record)
    (job,) = cluster.index.jobs.values()
    assert (job.kind, job.api_version, job.name, job.owner) == (kind, f"{group}/{version}", "fit", "ada")
    assert (job.ready, job.wanted, job.gpus_allocated, job.gpus_wanted) == (0, asked[0], 0, asked[1])
    is_schedule = kind in ("CronJob", "CronWorkflow")
    assert job.state == (JobState.SCHEDULED if is_schedule else JobState.PENDING)
    # without GPUs it is no record at all; one that had some is known to have none now
    plain = json.loads(json.dumps(spec).replace("nvidia.com/gpu", "example.com/fpga"))
    assert read(decoder(group, version, plural, kind), plain) is None
    put(cluster, read(decode, plain))
    assert not cluster.index.jobs


def test_what_is_suspended_or_has_ended_is_told_by_the_object(cluster: Cluster) -> None:
    ended = (
        ("PyTorchJob", {"conditions": [{"type": "Succeeded", "status": "True"}]}, "succeeded"),
        ("PyTorchJob", {"conditions": [{"type": "Failed", "status": "True"}]}, "failed"),
        ("JobSet", {"conditions": [{"type": "Completed", "status": "True"}]}, "succeeded"),
        ("TrainJob", {"conditions": [{"type": "Complete", "status": "True"}]}, "succeeded"),
        ("RayJob", {"jobStatus": "FAILED", "jobDeploymentStatus": "Complete"}, "failed"),
        ("RayJob", {"jobStatus": "SUCCEEDED", "jobDeploymentStatus": "Complete"}, "succeeded"),
        ("RayJob", {"jobStatus": "FAILED", "jobDeploymentStatus": "Retrying"}, "pending"),
        ("SparkApplication", {"applicationState": {"state": "COMPLETED"}}, "succeeded"),
        ("SparkApplication", {"applicationState": {"state": "SUBMISSION_FAILED"}}, "failed"),
        ("AppWrapper", {"phase": "Failed"}, "failed"),
        ("Workflow", {"phase": "Error"}, "failed"),
        ("Workflow", {"phase": "Succeeded"}, "succeeded"),
        ("RayCluster", {"state": "ready"}, "pending"),
    )
    by_kind = {kind[3]: kind for kind in KINDS}
    for kind, status, state in ended:
        *names, spec, _ = by_kind[kind]
        put(cluster, read(decoder(*names), spec, status))
        assert [job.state for job in cluster.index.jobs.values() if job.kind == kind] == [state], (
            kind,
            status,
        )
    for kind, spec in (
        ("RayCluster", ray(suspend=True)),
        ("PyTorchJob", {**PYTORCH, "runPolicy": {"suspend": True}}),
    ):
        fresh = Cluster()
        put(fresh, read(decoder(*by_kind[kind][:4]), spec))
        assert [job.state for job in fresh.index.jobs.values()] == ["suspended"]


def test_a_rayjob_names_what_was_made_of_it_and_has_its_size(cluster: Cluster) -> None:
    """Its own object goes on; that of the cluster is suspended: the row is one, of the job."""
    jobs, clusters = (
        decoder("ray.io", "v1", plural, kind)
        for plural, kind in (("rayjobs", "RayJob"), ("rayclusters", "RayCluster"))
    )
    status = {
        "jobDeploymentStatus": "Initializing",
        "rayClusterName": "fit-rc1",
        "startTime": "2026-11-28T05:35:21Z",
    }
    top = read(jobs, {"suspend": False, "rayClusterSpec": ray()}, status)
    assert (top.phase, top.made_name, top.has_status, top.is_suspended) == (
        "Initializing",
        "fit-rc1",
        True,
        False,
    )
    spec = ray(suspend=True)
    spec["workerGroupSpecs"][0]["replicas"] = 3
    owner = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "fit", "uid": "u-fit", "controller": True}
    below = read(clusters, spec, {"state": "suspended"}, name="fit-rc1", uid="u-rc", ownerReferences=[owner])
    put(cluster, below)
    put(cluster, top)
    (job,) = cluster.index.jobs.values()
    assert (job.key, job.state, job.wanted, job.gpus_wanted) == ("rayjob.ray.io/team-a/fit", "pending", 3, 12)


def test_what_is_scaled_to_nothing_is_no_job(cluster: Cluster) -> None:
    decode = decoder("apps", "v1", "deployments", "Deployment")
    put(cluster, read(decode, {"replicas": 0, "template": template(1)}))
    assert not cluster.index.jobs
    put(cluster, read(decode, {"replicas": 1, "template": template(1)}))
    assert [job.gpus_wanted for job in cluster.index.jobs.values()] == [1]


def test_a_share_by_annotation_in_a_template_is_a_request(cluster: Cluster) -> None:
    shared = {"metadata": {"annotations": {"gpu-fraction": "0.5"}}, **template()}
    put(
        cluster, read(decoder("apps", "v1", "deployments", "Deployment"), {"replicas": 2, "template": shared})
    )
    assert [(job.kind, job.wanted) for job in cluster.index.jobs.values()] == [("Deployment", 2)]


def test_what_places_the_pods_is_read_from_the_template_in_texts_that_are_safe() -> None:
    decode = decoder("apps", "v1", "deployments", "Deployment")
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "corpus"}}]
    ask = {**template(1)["spec"], "nodeSelector": {"gpu": "h100\x1b[2J"}, "volumes": volumes}
    made = read(decode, {"replicas": 1, "template": {"spec": ask}})
    assert made is not None
    (role,) = made.replicas
    assert role.traits is not None
    ((key, value),) = role.traits.wishes.node_selector
    assert (key, value.startswith("h100"), "\x1b" in value) == ("gpu", True, False)
    assert role.traits.claims == ("corpus",)


@pytest.mark.parametrize("odd", [None, [], "x", {"template": 3}, {"executor": []}, {"templates": [7, {}]}])
def test_odd_specs_have_no_roles(odd: Any) -> None:
    for kind in IDS:
        assert not any(role.asks_for_gpus for role in roles_of({"kind": kind, "spec": odd}))


@pytest.mark.parametrize("name", [*gpu_names(), "nvidia.com/mig-1g.5gb", "huawei.com/Ascend910"])
def test_an_object_that_asks_for_accelerators_of_any_vendor_is_read(name: str) -> None:
    spec = {"trainer": {"numNodes": 2, "resourcesPerNode": {"limits": {name: "4"}}}}
    tree = {"metadata": {"name": "t", "namespace": "a", "uid": "u"}, "spec": spec}
    found = decoder("trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob")(json.dumps(tree).encode())
    assert isinstance(found, JobObject) and found.replicas[0].gpus_each == 4
