"""Chains of owners, whatever comes first: every object is part of one row, every GPU is counted once."""

from collections import Counter
from itertools import permutations

import pytest

from cockpit.model.job import JobObject, OwnerObject, ReplicaSpec
from cockpit.model.record import OwnerRef, Record
from tests.unit.jobs.builders import NVIDIA, Cluster, batch_job, mpijob, owned, ref, up


def other(
    api_version: str, kind: str, name: str, gpus: int | None = None, pods: int | None = 1, **fields: object
) -> JobObject | OwnerObject:
    """An object that is known by its metadata, or with `gpus` by its templates as well."""
    meta = {"uid": f"u-{kind}-{name}".lower(), "name": name, "namespace": "team-a", **fields}
    if gpus is None:
        return OwnerObject(api_version=api_version, kind=kind, **meta)  # type: ignore[arg-type]
    roles = (ReplicaSpec("worker", pods, gpus, NVIDIA),)
    return JobObject(api_version=api_version, kind=kind, replicas=roles, **meta)  # type: ignore[arg-type]


def pod_ref(name: str) -> OwnerRef:
    return OwnerRef("v1", "Pod", name, f"pod-{name}")


def under(owner: JobObject | OwnerObject | OwnerRef, *names: str, gpus: int = 1) -> list[Record]:
    found = owner if isinstance(owner, OwnerRef) else ref(owner)
    fields = {
        "owner_api_version": found.api_version,
        "owner_kind": found.kind,
        "owner_name": found.name,
        "owner_uid": found.uid,
    }
    return [owned(None, name, gpus=gpus, **fields, **up()) for name in names]


def workflow() -> list[Record]:
    top = other("argoproj.io/v1alpha1", "Workflow", "nightly")
    return [top, *under(top, "nightly-a", "nightly-b")]


def workflow_of_jobs() -> list[Record]:
    top = other("argoproj.io/v1alpha1", "Workflow", "nightly", 1, None)
    train = mpijob("llm", 1, 1, owner=ref(top))
    return [top, train, *under(top, "nightly-a"), *under(train, "llm-worker-0")]


def cron_job() -> list[Record]:
    top = other("batch/v1", "CronJob", "sweep", 1, 2)
    job = batch_job("sweep-2910", 2, 1, ref(top))
    return [top, job, *under(job, "sweep-2910-a", "sweep-2910-b")]


def cron_workflow() -> list[Record]:
    top = other("argoproj.io/v1alpha1", "CronWorkflow", "weekly", 1, None)
    run = other("argoproj.io/v1alpha1", "Workflow", "weekly-1", 1, None, owner=ref(top))
    return [top, run, *under(run, "weekly-1-a")]


def spark() -> list[Record]:
    top = other("sparkoperator.k8s.io/v1beta2", "SparkApplication", "etl", 1, 2)
    return [top, *under(top, "etl-driver", gpus=0), *under(pod_ref("etl-driver"), "etl-exec-1", "etl-exec-2")]


def spark_unread() -> list[Record]:
    return spark()[1:]


def ray() -> list[Record]:
    top = other("ray.io/v1", "RayJob", "tune", 2, 2, made_name="tune-rc1")
    cluster = other("ray.io/v1", "RayCluster", "tune-rc1", 2, 2, owner=ref(top))
    return [
        top,
        cluster,
        *under(cluster, "tune-head", gpus=0),
        *under(cluster, "tune-w-1", "tune-w-2", gpus=2),
    ]


def leader_workers() -> list[Record]:
    top = other("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "vllm", 2, 2)
    leaders = other("apps/v1", "StatefulSet", "vllm", owner=ref(top))
    workers = other("apps/v1", "StatefulSet", "vllm-0", 2, 1, owner=pod_ref("vllm-0"))
    return [top, leaders, workers, *under(leaders, "vllm-0", gpus=2), *under(workers, "vllm-0-1", gpus=2)]


def train_job() -> list[Record]:
    top = other("trainer.kubeflow.org/v1alpha1", "TrainJob", "fit")
    jobset = other("jobset.x-k8s.io/v1alpha2", "JobSet", "fit", 1, 2, owner=ref(top))
    job = batch_job("fit-node-0", 2, 1, ref(jobset))
    return [top, jobset, job, *under(job, "fit-node-0-0", "fit-node-0-1")]


def wrapped_mpijob() -> list[Record]:
    top = other("workload.codeflare.dev/v1beta2", "AppWrapper", "wrap", 1, 2)
    train = mpijob("llm", 2, 1, owner=ref(top))
    return [top, train, *under(train, "llm-worker-0", "llm-worker-1")]


def wrapped_job() -> list[Record]:
    top = other("workload.codeflare.dev/v1beta2", "AppWrapper", "wrap", 1, 2)
    inner = other("kubeflow.org/v1", "PyTorchJob", "fit", 1, 2, owner=ref(top))
    return [top, inner, *under(inner, "fit-worker-0", "fit-worker-1")]


def notebook() -> list[Record]:
    top = other("kubeflow.org/v1", "Notebook", "lab", 1, 1)
    held = other("apps/v1", "StatefulSet", "lab", 1, 1, owner=ref(top))
    return [top, held, *under(held, "lab-0")]


def deployment() -> list[Record]:
    top = other("apps/v1", "Deployment", "chat", 1, 2)
    set_ = other("apps/v1", "ReplicaSet", "chat-5f", owner=ref(top))
    return [top, set_, *under(set_, "chat-5f-a", "chat-5f-b")]


def delivered() -> list[Record]:
    top = other("argoproj.io/v1alpha1", "Application", "site")
    chat = other("apps/v1", "Deployment", "chat", 1, 1, owner=ref(top))
    return [top, chat, *under(top, "hook")]


FAMILIES = {
    workflow: {"workflow.argoproj.io/team-a/nightly": 2},
    workflow_of_jobs: {"workflow.argoproj.io/team-a/nightly": 1, "mpijob.kubeflow.org/team-a/llm": 1},
    cron_job: {"job.batch/team-a/sweep-2910": 2, "cronjob.batch/team-a/sweep": 2},
    cron_workflow: {
        "workflow.argoproj.io/team-a/weekly-1": 1,
        "cronworkflow.argoproj.io/team-a/weekly": None,
    },
    spark: {"sparkapplication.sparkoperator.k8s.io/team-a/etl": 2},
    spark_unread: {"sparkapplication.sparkoperator.k8s.io/team-a/etl": 2},
    ray: {"rayjob.ray.io/team-a/tune": 4},
    leader_workers: {"leaderworkerset.leaderworkerset.x-k8s.io/team-a/vllm": 4},
    train_job: {"trainjob.trainer.kubeflow.org/team-a/fit": 2},
    wrapped_mpijob: {"mpijob.kubeflow.org/team-a/llm": 2},
    wrapped_job: {"appwrapper.workload.codeflare.dev/team-a/wrap": 2},
    notebook: {"notebook.kubeflow.org/team-a/lab": 1},
    deployment: {"deployment.apps/team-a/chat": 2},
    delivered: {"deployment.apps/team-a/chat": 1, "pod/team-a/hook": 1},
}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_every_object_is_in_one_row_whatever_comes_first_and_goes_first(family: object) -> None:
    expected = FAMILIES[family]  # type: ignore[index]
    for order in permutations(family()):  # type: ignore[operator]
        cluster = Cluster()
        for record in order:
            cluster.put(record)
            counted = Counter(uid for job in cluster.index.jobs.values() for uid in job.pod_uids)
            assert not counted or max(counted.values()) == 1
        assert {key: job.gpus_wanted for key, job in cluster.index.jobs.items()} == expected
        assert dict(cluster.index.jobs) == dict(cluster.fresh().jobs)
        for record in order:
            cluster.drop(record)
            assert dict(cluster.index.jobs) == dict(cluster.fresh().jobs)
        assert dict(cluster.index.jobs) == {}
