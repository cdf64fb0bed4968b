"""Rows of batch Jobs, JobSets, bare pods and whatever else controls pods with GPUs."""

import msgspec

from cockpit.model.job import JobState, OwnerObject
from tests.unit.jobs.builders import (
    Cluster,
    batch_job,
    is_,
    lacks,
    owned,
    queues,
    ref,
    up,
    workload,
)
from tests.unit.jobs.test_index import row


def test_batch_jobs_are_rows_only_with_gpus_or_in_a_queue(cluster: Cluster) -> None:
    plain, train, queued = batch_job("plain"), batch_job("train", gpus=1), batch_job("cpu")
    cluster.put(plain, train, queued, workload(queued, 0, 1, lacks(1)))
    assert set(cluster.index.jobs) == {"job.batch/team-a/train", "job.batch/team-a/cpu"}


def test_a_batch_job_counts_the_newest_attempt_only(cluster: Cluster) -> None:
    job = batch_job("train", gpus=1)
    first = owned(job, "train-a", gpus=1, phase="Failed", created_seconds=1.0, exit_code=1)
    cluster.put(job, first)
    key = "job.batch/team-a/train"
    assert (row(cluster, key).state, cluster.why(key)) == (
        JobState.PENDING,
        "waits to be tried again after a failed attempt: exit 1",
    )
    cluster.put(owned(job, "train-b", gpus=1, created_seconds=2.0, **up()))
    assert row(cluster, key).state == JobState.RUNNING
    cluster.put(msgspec.structs.replace(job, conditions=(is_("Failed", reason="BackoffLimitExceeded"),)))
    assert row(cluster, key).state == JobState.FAILED


def test_any_controller_of_gpu_pods_is_a_row(cluster: Cluster) -> None:
    deployment = OwnerObject(
        uid="d", name="chat", namespace="team-a", api_version="apps/v1", kind="Deployment"
    )
    replicas = OwnerObject(
        uid="r",
        name="chat-5f",
        namespace="team-a",
        api_version="apps/v1",
        kind="ReplicaSet",
        owner=ref(deployment),
    )
    cluster.put(owned(replicas, "chat-5f-x", gpus=1, **up()))
    assert cluster.states() == {"replicaset.apps/team-a/chat-5f": JobState.RUNNING}
    cluster.put(replicas)
    assert cluster.states() == {"deployment.apps/team-a/chat": JobState.RUNNING}
    cluster.put(deployment, owned(replicas, "helper", phase="Pending"))
    assert row(cluster, "deployment.apps/team-a/chat").pod_uids == ("pod-chat-5f-x", "pod-helper")


def test_a_jobset_gathers_the_pods_of_its_jobs_and_its_workload(cluster: Cluster) -> None:
    jobset = OwnerObject(
        uid="js", name="ddp", namespace="team-a", api_version="jobset.x-k8s.io/v1alpha2", kind="JobSet"
    )
    cluster.put(*queues(), workload(jobset, 4, 2, lacks(4)))
    key = "jobset.jobset.x-k8s.io/team-a/ddp"
    assert (row(cluster, key).state, row(cluster, key).wanted, row(cluster, key).gpus_wanted) == (
        "queued",
        2,
        4,
    )
    cluster.put(workload(jobset, 4, 2, is_("QuotaReserved"), is_("Admitted")))
    child = batch_job("ddp-workers-0", pods=2, gpus=2, owner=ref(jobset))
    cluster.put(child, *(owned(child, f"ddp-{i}", rank=i, gpus=2, **up()) for i in range(2)))
    assert set(cluster.index.jobs) == {key}
    assert (row(cluster, key).state, row(cluster, key).ready, row(cluster, key).gpus_allocated) == (
        "running",
        2,
        4,
    )


def test_pods_whose_chain_breaks_fall_to_what_is_left_of_it(cluster: Cluster) -> None:
    jobset = OwnerObject(
        uid="js", name="ddp", namespace="team-a", api_version="jobset.x-k8s.io/v1alpha2", kind="JobSet"
    )
    child = batch_job("ddp-0", gpus=1, owner=ref(jobset))
    cluster.put(jobset, child, owned(child, "ddp-0-0", gpus=1, **up()))
    assert set(cluster.index.jobs) == {"jobset.jobset.x-k8s.io/team-a/ddp"}
    cluster.drop(child)
    assert set(cluster.index.jobs) == {"job.batch/team-a/ddp-0"}


def test_a_pod_that_nobody_controls_is_a_job_of_its_own(cluster: Cluster) -> None:
    pod = owned(None, "notebook", gpus=1, **up())
    cluster.put(pod, owned(None, "web", **up()))
    assert cluster.states() == {"pod/team-a/notebook": JobState.RUNNING}
    cluster.put(msgspec.structs.replace(pod, phase="Failed", is_ready=False, status_reason="Evicted"))
    assert cluster.why("pod/team-a/notebook") == "evicted from node gpu-1"
    assert row(cluster, "pod/team-a/notebook").state == JobState.FAILED
    cluster.drop(pod)
    assert cluster.index.jobs == {}


def test_pods_that_are_jobs_of_their_own_are_rows_although_they_stand_together(cluster: Cluster) -> None:
    node = OwnerObject(uid="n", name="gpu-1", api_version="v1", kind="Node")  # owns its static pods' mirrors
    alone = [owned(None, name, gpus=1, **up()) for name in ("a", "b")]
    under = [owned(node, name, gpus=1, **up()) for name in ("c", "d")]
    cluster.put(*alone, *under)
    assert set(cluster.index.jobs) == {f"pod/team-a/{name}" for name in "abcd"}


def test_a_sibling_with_gpus_behind_one_without_makes_the_row(cluster: Cluster) -> None:
    job = batch_job("train", gpus=1)
    cluster.put(job, *(owned(job, name, gpus=gpus, **up()) for name, gpus in (("a", 0), ("b", 0), ("c", 1))))
    assert {pod.name for pod in cluster.index.members("job.batch/team-a/train")} == {"a", "b", "c"}


def test_a_cron_job_s_run_is_the_job(cluster: Cluster) -> None:
    cron = OwnerObject(uid="c", name="nightly", namespace="team-a", api_version="batch/v1", kind="CronJob")
    cluster.put(cron, batch_job("nightly-1", gpus=1, owner=ref(cron)))
    assert set(cluster.index.jobs) == {"job.batch/team-a/nightly-1"}
