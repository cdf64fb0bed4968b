"""Bare pods that name one group are one row, of the engine that they name."""

from itertools import permutations

import pytest

from cockpit.jobs.members import short_name
from cockpit.model.gang import PodGroup, PodSet, Workload
from cockpit.model.job import JobState
from cockpit.model.pod import Pod
from cockpit.model.record import Record
from tests.unit.jobs.builders import NVIDIA, Cluster, lacks, owned, queues, up
from tests.unit.jobs.test_index import row
from tests.unit.jobs.test_members import pod

KEY = "gang/team-a/g1"
LABELS = {"kueue.x-k8s.io/pod-group-name": "g1", "kueue.x-k8s.io/queue-name": "q"}
SIZE = {"kueue.x-k8s.io/pod-group-total-count": "2"}


def test_a_group_of_kueue_is_one_row_from_its_first_pod_on(cluster: Cluster) -> None:
    lead, work = pod("lead-x", LABELS, SIZE), pod("work-y", LABELS, SIZE)
    cluster.put(lead)
    found = row(cluster, KEY)
    assert set(cluster.index.jobs) == {KEY}
    assert (found.kind, found.name, found.engine, found.queue) == ("Gang", "g1", "Kueue", "q")
    assert (found.ready, found.wanted, found.gpus_wanted) == (
        0,
        2,
        None,
    )  # what the other asks for is not known
    cluster.put(work)
    assert set(cluster.index.jobs) == {KEY}
    assert (row(cluster, KEY).wanted, row(cluster, KEY).gpus_wanted) == (2, 4)
    assert cluster.index.job_of_pod(lead) == cluster.index.job_of_pod(work) == row(cluster, KEY)


@pytest.mark.parametrize(
    ("labels", "notes", "scheduler", "engine"),
    [
        ({"kueue.x-k8s.io/pod-group-name": "g1"}, {}, "default-scheduler", "Kueue"),
        ({"scheduling.x-k8s.io/pod-group": "g1"}, {}, "gang-scheduler", "Coscheduling"),
        ({"scheduling.x-k8s.io/pod-group": "g1"}, {}, "default-scheduler", "none"),
        ({}, {"scheduling.k8s.io/group-name": "g1"}, "volcano", "Volcano"),
        ({}, {"scheduling.k8s.io/group-name": "g1"}, "default-scheduler", "none"),
        ({}, {"pod-group-name": "g1"}, "kai-scheduler", "KAI"),
    ],
)
def test_the_engine_is_the_one_whose_mark_the_pods_have(
    cluster: Cluster, labels: dict[str, str], notes: dict[str, str], scheduler: str, engine: str
) -> None:
    made = [with_scheduler(pod(name, labels, notes), scheduler) for name in ("a", "b")]
    cluster.put(*made)
    assert [(job.key, job.engine) for job in cluster.index.jobs.values()] == [(KEY, engine)]


def with_scheduler(made: Pod, scheduler: str) -> Pod:
    import msgspec

    return msgspec.structs.replace(made, scheduler=scheduler)


def test_members_without_gpus_and_what_members_own_are_part_of_it(cluster: Cluster) -> None:
    owner = {"owner_api_version": "v1", "owner_kind": "Pod", "owner_name": "a", "owner_uid": "pod-a"}
    cluster.put(
        owned(None, "a", gang="g1", gpus=1, **up()),
        owned(None, "b", gang="g1", **up()),
        owned(None, "below", gpus=1, **owner, **up()),
    )
    assert set(cluster.index.jobs) == {KEY}
    assert [short_name(one) for one in cluster.index.members(KEY)] == ["a", "b", "below"]
    assert (row(cluster, KEY).ready, row(cluster, KEY).wanted, row(cluster, KEY).gpus_allocated) == (2, 2, 2)


def test_a_group_of_one_is_its_pod(cluster: Cluster) -> None:
    group = PodGroup(uid="g", name="g1", namespace="team-a", engine="KAI", min_member=1)
    cluster.put(group, owned(None, "slice-a", gang="g1", gpus=1, scheduler="kai-scheduler"))
    assert set(cluster.index.jobs) == {"pod/team-a/slice-a"}
    cluster.put(PodGroup(uid="g", name="g1", namespace="team-a", engine="KAI", min_member=3))
    assert set(cluster.index.jobs) == {KEY}
    assert row(cluster, KEY).wanted == 3


def test_its_workload_has_the_name_of_the_group(cluster: Cluster) -> None:
    waiting = Workload(
        uid="wl",
        name="g1",
        namespace="team-a",
        queue="main",
        pod_sets=(PodSet("a", 1, ((NVIDIA, 2),)), PodSet("b", 1, ((NVIDIA, 2),))),
        conditions=(lacks(4),),
    )
    gated = [
        owned(None, name, gang="g1", queue="main", gpus=2, is_gated=True, phase="Pending") for name in "ab"
    ]
    records: list[Record] = [*queues(), waiting, *gated]
    for order in permutations(records[2:]):
        fresh = Cluster()
        fresh.put(*records[:2])
        for record in order:
            fresh.put(record)
        found = row(fresh, KEY)
        assert (found.state, found.engine, found.queue, found.wanted, found.gpus_wanted) == (
            JobState.QUEUED,
            "Kueue",
            "main",
            2,
            4,
        )
        assert dict(fresh.index.jobs) == dict(fresh.fresh().jobs)


def test_it_fails_and_goes_with_its_pods(cluster: Cluster) -> None:
    pods = [owned(None, name, gang="g1", gpus=1, phase="Failed", exit_code=1, node="gpu-1") for name in "ab"]
    cluster.put(*pods)
    assert row(cluster, KEY).state == JobState.FAILED
    cluster.drop(pods[0])
    assert set(cluster.index.jobs) == {"pod/team-a/b"}
    cluster.drop(pods[1])
    assert dict(cluster.index.jobs) == {}


def test_pods_of_controllers_stay_with_these(cluster: Cluster) -> None:
    from tests.unit.jobs.builders import batch_job

    job = batch_job("train", 2, 1)
    cluster.put(job, *(owned(job, name, gang="g1", gpus=1, **up()) for name in "ab"))
    assert set(cluster.index.jobs) == {"job.batch/team-a/train"}
