"""However the news comes in, the kept rows equal rows made from nothing."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.model.gang import ClusterQueue, LocalQueue, Workload
from cockpit.model.job import JobObject, JobState, OwnerObject
from cockpit.model.pod import Pod
from cockpit.model.record import Record
from tests.unit.jobs.builders import (
    Cluster,
    batch_job,
    gang,
    is_,
    lacks,
    mpijob,
    owned,
    queues,
    ref,
    workload,
)

PHASES = ("Pending", "Running", "Succeeded", "Failed")


def everything() -> list[Record]:
    """A cluster with every shape of chain in it."""
    records: list[Record] = list(queues())
    for name in ("a", "b"):
        job = mpijob(name, created_seconds=1.0)
        launcher_job, pods = gang(job)
        records += [job, launcher_job, *pods, workload(job, 4, 2, lacks(4))]
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
    jobset = OwnerObject(
        uid="js", name="ddp", namespace="team-a", api_version="jobset.x-k8s.io/v1alpha2", kind="JobSet"
    )
    child = batch_job("ddp-0", pods=2, gpus=1, owner=ref(jobset))
    train, plain = batch_job("train", gpus=1), batch_job("plain")
    records += [deployment, replicas, jobset, child, train, plain]
    records += [owned(replicas, "chat-x", gpus=1), owned(replicas, "chat-y")]
    records += [owned(child, f"ddp-0-{i}", rank=i, gpus=1) for i in range(2)]
    records += [owned(train, "train-x", gpus=1, created_seconds=1.0), owned(plain, "plain-x")]
    records += [owned(None, "notebook", gpus=2), owned(None, "web")]
    return records


ALL = everything()


@st.composite
def news(draw: st.DrawFn) -> tuple[bool, Record]:
    """(whether it goes, the record as it is now)."""
    record = draw(st.sampled_from(ALL))
    if draw(st.integers(0, 5)) == 0:
        return True, record
    if isinstance(record, Pod):
        phase = draw(st.sampled_from(PHASES))
        node = "" if phase == "Pending" and draw(st.booleans()) else "gpu-1"
        ready = phase == "Running" and draw(st.booleans())
        record = msgspec.structs.replace(record, phase=phase, node=node, is_ready=ready)
    elif isinstance(record, JobObject):
        conditions = draw(st.sampled_from(((), (is_("Running"),), (is_("Running"), is_("Succeeded")))))
        suspended, deleting = draw(st.booleans()), draw(st.sampled_from((None, None, 9.0)))
        record = msgspec.structs.replace(
            record, conditions=conditions, is_suspended=suspended, deleting_seconds=deleting
        )
    elif isinstance(record, Workload):
        admitted = (is_("QuotaReserved"), is_("Admitted"))
        record = msgspec.structs.replace(
            record,
            conditions=draw(st.sampled_from(((lacks(4),), (), admitted, (is_("Finished"),)))),
            priority=draw(st.integers(0, 2)),
            is_active=draw(st.sampled_from((True, True, False))),
        )
    elif isinstance(record, LocalQueue | ClusterQueue):
        record = msgspec.structs.replace(record, stop_policy=draw(st.sampled_from(("None", "Hold"))))
    return False, record


@settings(max_examples=120, deadline=None)
@given(st.lists(st.lists(news(), max_size=8), max_size=10))
def test_kept_rows_equal_fresh_rows(script: list[list[tuple[bool, Record]]]) -> None:
    cluster = Cluster()
    for step in script:
        cluster.put(*(record for goes, record in step if not goes))
        cluster.drop(*(record for goes, record in step if goes))
    assert dict(cluster.index.jobs) == dict(cluster.fresh().jobs)


@settings(max_examples=60, deadline=None)
@given(st.permutations(ALL), st.integers(1, 7))
def test_the_order_of_arrival_does_not_matter(records: list[Record], size: int) -> None:
    cluster = Cluster()
    for start in range(0, len(records), size):
        cluster.put(*records[start : start + size])
    assert set(cluster.index.jobs) == {
        "mpijob.kubeflow.org/team-a/a",
        "mpijob.kubeflow.org/team-a/b",
        "deployment.apps/team-a/chat",
        "jobset.jobset.x-k8s.io/team-a/ddp",
        "job.batch/team-a/train",
        "pod/team-a/notebook",
    }
    assert dict(cluster.index.jobs) == dict(cluster.fresh().jobs)
    cluster.drop(*records)
    assert dict(cluster.index.jobs) == {}


@settings(max_examples=120, deadline=None)
@given(st.lists(news(), max_size=60))
def test_every_row_is_well_formed(script: list[tuple[bool, Record]]) -> None:
    cluster = Cluster()
    cluster.put(*(record for goes, record in script if not goes))
    words = {value for name, value in vars(JobState).items() if name.isupper() and isinstance(value, str)}
    for key, job in cluster.index.jobs.items():
        assert job.key == key and job.state in words
        why = cluster.why(key)
        assert len(why) <= 100 and "\n" not in why
        assert why if job.state not in (JobState.RUNNING, JobState.SUCCEEDED) else True
        assert job.ready <= len(job.pod_uids) and job.gpus_allocated >= 0
        assert [pod.uid for pod in cluster.index.members(key)] == list(job.pod_uids)
