"""Controllers without pods of their own: a suspended JobSet or TrainJob is a row by the Jobs below it."""

from typing import Any

import pytest

from cockpit.model.job import JobObject, OwnerObject
from cockpit.model.record import OwnerRef
from tests.unit.jobs.builders import Cluster, batch_job, is_, owned, ref, up, workload

JOBSET = "jobset.jobset.x-k8s.io/team-a/llm"
TRAINJOB = "trainjob.trainer.kubeflow.org/team-a/llm"
QUEUE = (("kueue.x-k8s.io/queue-name", "main"),)


def jobset(owner: OwnerRef | None = None, **fields: Any) -> OwnerObject:
    return OwnerObject(
        uid="js", name="llm", namespace="team-a", api_version="jobset.x-k8s.io/v1alpha2", kind="JobSet",
        resource_version="5", owner=owner, **fields,
    )  # fmt: skip


def trainjob() -> OwnerObject:
    return OwnerObject(
        uid="tj", name="llm", namespace="team-a", api_version="trainer.kubeflow.org/v1alpha1", kind="TrainJob"
    )


def children(owner: OwnerObject, **fields: Any) -> tuple[JobObject, JobObject]:
    """A leader without GPUs, and four workers of two."""
    leader = batch_job("llm-leader-0", 1, 0, owner=ref(owner), **fields)
    return leader, batch_job("llm-workers-0", 4, 2, owner=ref(owner), **fields)


def test_a_suspended_jobset_without_pods_is_a_row(cluster: Cluster) -> None:
    owner = jobset()
    cluster.put(*children(owner, is_suspended=True), owner)
    assert list(cluster.index.jobs) == [JOBSET]
    row = cluster.index.jobs[JOBSET]
    assert (row.state, row.ready, row.wanted, row.gpus_wanted, row.gpus_allocated) == (
        "suspended",
        0,
        4,
        8,
        0,
    )
    assert row.resource_version == "5"
    assert cluster.fresh().jobs == cluster.index.jobs


def test_a_suspended_trainjob_stands_above_its_jobset(cluster: Cluster) -> None:
    top = trainjob()
    middle = jobset(ref(top))
    cluster.put(top, middle, *children(middle, is_suspended=True))
    assert list(cluster.index.jobs) == [TRAINJOB]
    assert cluster.index.jobs[TRAINJOB].state == "suspended"
    # in another order: the chain becomes known from below
    other = Cluster()
    other.put(*children(middle, is_suspended=True))
    assert list(other.index.jobs) == [JOBSET]
    other.put(middle, top)
    assert other.index.jobs == cluster.index.jobs


def test_from_suspended_to_running_and_back(cluster: Cluster) -> None:
    owner = jobset()
    cluster.put(owner, *children(owner, is_suspended=True))
    leader, workers = children(owner)
    cluster.put(leader, workers)
    assert cluster.index.jobs[JOBSET].state == "pending"
    pods = [owned(workers, f"w-{at}", gpus=2, **up()) for at in range(4)]
    cluster.put(*pods[:3])
    row = cluster.index.jobs[JOBSET]
    assert (row.state, row.ready, row.wanted) == ("pending", 3, 4), "the fourth is wanted, too"
    cluster.put(pods[3], owned(leader, "l-0", **up()))
    assert cluster.index.jobs[JOBSET].state == "running"
    cluster.put(*children(owner, is_suspended=True))
    cluster.drop(*pods)
    assert cluster.index.jobs[JOBSET].state == "suspended"


@pytest.mark.parametrize(
    ("ends", "state", "why"),
    [
        (("Complete", "Complete"), "succeeded", ""),
        (("Complete", "Failed"), "failed", "rank 2 exited with code 1"),
        (("Complete", ""), "pending", "no pod yet: waits for its JobSet controller"),
    ],
)
def test_the_end_is_told_by_the_jobs_when_their_pods_are_gone(
    cluster: Cluster, ends: tuple[str, str], state: str, why: str
) -> None:
    owner = jobset()
    made = [
        batch_job(
            f"llm-w-{at}", 2, 2, owner=ref(owner),
            conditions=(is_(end, message="rank 2 exited with code 1"),) if end else (),
        )
        for at, end in enumerate(ends)
    ]  # fmt: skip
    cluster.put(owner, *made)
    row = cluster.index.jobs[JOBSET]
    assert (row.state, cluster.why(JOBSET)) == (state, why)


def test_in_a_queue_before_kueue_made_its_workload_it_is_queued(cluster: Cluster) -> None:
    owner = jobset(labels=QUEUE)
    cluster.put(owner, *children(owner, is_suspended=True))
    row = cluster.index.jobs[JOBSET]
    assert (row.state, row.engine, row.queue) == ("queued", "Kueue", "main")
    cluster.put(workload(owner, 8, 4, is_("QuotaReserved"), is_("Admitted")))
    assert cluster.index.jobs[JOBSET].state == "starting"


def test_a_controller_of_jobs_without_gpus_is_no_row(cluster: Cluster) -> None:
    owner = jobset()
    cluster.put(owner, batch_job("llm-x", 3, 0, owner=ref(owner), is_suspended=True))
    assert cluster.index.jobs == {}
