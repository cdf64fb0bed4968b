"""A member is a role, a group and a rank; what has ended well and is gone is done."""

import json
from typing import Any

import msgspec

from cockpit.jobs.members import current, short_name
from cockpit.kube.decode import decoders
from cockpit.model.job import JobState, OwnerObject
from cockpit.model.pod import Pod
from cockpit.views.jobs import share_words, table
from cockpit.views.view_state import ViewState
from tests.unit.jobs.builders import Cluster, batch_job, owned, ref, up
from tests.unit.jobs.test_index import row
from tests.unit.views.builders import says

JOBSET = OwnerObject(
    uid="js", name="slices", namespace="team-a", api_version="jobset.x-k8s.io/v1alpha2", kind="JobSet"
)


def pod(name: str, labels: dict[str, str], notes: dict[str, str] | None = None, **meta: Any) -> Pod:
    """A pod as its decoder reads it."""
    tree = {
        "metadata": {
            "name": name,
            "namespace": "team-a",
            "uid": f"u-{name}",
            "labels": labels,
            "annotations": notes or {},
            **meta,
        },
        "spec": {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "2"}}}]},
        "status": {"phase": "Pending"},
    }
    made = decoders.POD.from_json(json.dumps(tree).encode())
    assert isinstance(made, Pod)
    return made


def slice_labels(group: int, rank: int) -> dict[str, str]:
    return {
        "jobset.sigs.k8s.io/jobset-name": "slices",
        "jobset.sigs.k8s.io/replicatedjob-name": "part",
        "jobset.sigs.k8s.io/job-index": str(group),
        "batch.kubernetes.io/job-completion-index": str(rank),
    }


def test_members_of_two_groups_of_a_jobset_are_four(cluster: Cluster) -> None:
    jobs = [batch_job(f"slices-part-{group}", pods=2, gpus=2, owner=ref(JOBSET)) for group in (0, 1)]
    pods = []
    for group, job in enumerate(jobs):
        for rank in (0, 1):
            state = up() if group else {"phase": "Pending"}
            pods.append(
                owned(
                    job,
                    f"slices-part-{group}-{rank}-x",
                    role="part",
                    job_label="slices",
                    group=group,
                    rank=rank,
                    gpus=2,
                    **state,
                )
            )
    cluster.put(JOBSET, *jobs, *pods)
    key = "jobset.jobset.x-k8s.io/team-a/slices"
    found = row(cluster, key)
    assert set(cluster.index.jobs) == {key}
    assert (found.ready, found.wanted, found.gpus_allocated, found.gpus_wanted) == (2, 4, 4, 8)
    assert [short_name(one) for one in cluster.index.members(key)] == [
        "part 0-0",
        "part 0-1",
        "part 1-0",
        "part 1-1",
    ]
    assert "to be made" not in cluster.why(key)


def test_group_and_rank_are_read_of_every_kind_of_group() -> None:
    seats = [
        (slice_labels(1, 0), {}, ("part", 1, 0)),
        ({**slice_labels(0, 3), "jobset.sigs.k8s.io/replicatedjob-replicas": "1"}, {}, ("part", None, 3)),
        (
            {
                "leaderworkerset.sigs.k8s.io/name": "vllm",
                "leaderworkerset.sigs.k8s.io/group-index": "2",
                "leaderworkerset.sigs.k8s.io/worker-index": "1",
                "apps.kubernetes.io/pod-index": "0",
            },
            {},
            ("", 2, 1),
        ),
        ({"volcano.sh/task-spec": "PS", "volcano.sh/task-index": "1"}, {}, ("ps", None, 1)),
        ({}, {"volcano.sh/task-spec": "worker", "volcano.sh/task-index": "1"}, ("worker", None, 1)),
        ({"spark-role": "executor", "spark-exec-id": "7"}, {}, ("executor", None, 7)),
    ]
    for labels, notes, expected in seats:
        made = pod("p", labels, notes)
        assert (made.role, made.group, made.rank) == expected


def test_an_attempt_replaces_only_the_member_that_it_repeats() -> None:
    old = pod("old", slice_labels(0, 1), creationTimestamp="2026-11-28T05:00:00Z")
    new = pod("new", slice_labels(0, 1), creationTimestamp="2026-11-28T06:00:00Z")
    other = pod("other", slice_labels(1, 1), creationTimestamp="2026-11-28T04:00:00Z")
    plain = pod(
        "plain", {"batch.kubernetes.io/job-name": "b", "batch.kubernetes.io/job-completion-index": "1"}
    )
    same = pod("same", {"batch.kubernetes.io/job-name": "c", "batch.kubernetes.io/job-completion-index": "1"})
    assert {one.name for one in current([old, new, other, plain, same])} == {"new", "other", "plain", "same"}


def test_members_that_ended_well_and_are_gone_are_done(cluster: Cluster) -> None:
    key = "job.batch/team-a/part"
    job = batch_job("part", pods=3, gpus=1, completions=3, active=2, succeeded=1)
    cluster.put(job, *(owned(job, f"part-{i}", gpus=1, **up()) for i in range(2)))
    found = row(cluster, key)
    assert (found.state, found.ready, found.wanted, found.done, found.left) == (JobState.RUNNING, 2, 2, 1, 2)
    assert (found.gpus_allocated, found.gpus_wanted) == (2, 2)
    assert "to be made" not in cluster.why(key)


def test_many_completions_behind_few_pods_are_counted_once(cluster: Cluster) -> None:
    key = "job.batch/team-a/sweep"
    job = batch_job("sweep", pods=3, gpus=1, completions=10, active=3, succeeded=4)
    ended = owned(job, "sweep-old", gpus=1, phase="Succeeded", node="gpu-1")
    cluster.put(job, ended, *(owned(job, f"sweep-{i}", gpus=1, **up()) for i in range(3)))
    found = row(cluster, key)
    assert (found.state, found.ready, found.wanted, found.done, found.left) == (JobState.RUNNING, 3, 3, 4, 6)
    # the last one ends before the Job's status says so, and two more have yet to be made
    cluster.put(owned(job, "sweep-0", gpus=1, phase="Succeeded", node="gpu-1"))
    assert (row(cluster, key).state, row(cluster, key).wanted) == (JobState.PENDING, 3)


def test_a_job_of_which_one_pod_waits_is_not_running_because_others_ended(cluster: Cluster) -> None:
    key = "job.batch/team-a/part"
    job = batch_job("part", pods=3, gpus=1, completions=3, succeeded=1)
    ended = owned(job, "part-0", gpus=1, phase="Succeeded", node="gpu-1")
    cluster.put(
        job, ended, owned(job, "part-1", gpus=1, **up()), owned(job, "part-2", gpus=1, phase="Pending")
    )
    assert (row(cluster, key).state, row(cluster, key).ready, row(cluster, key).wanted) == ("pending", 1, 2)


def test_a_jobset_counts_what_its_jobs_have_done(cluster: Cluster) -> None:
    jobs = [
        batch_job("slices-part-0", pods=1, gpus=2, completions=1, succeeded=1, owner=ref(JOBSET)),
        batch_job("slices-part-1", pods=1, gpus=2, completions=1, owner=ref(JOBSET)),
    ]
    cluster.put(JOBSET, *jobs, owned(jobs[1], "slices-part-1-0-x", group=1, rank=0, gpus=2, **up()))
    found = row(cluster, "jobset.jobset.x-k8s.io/team-a/slices")
    assert (found.state, found.ready, found.wanted, found.done) == ("running", 1, 1, 1)
    assert (found.gpus_allocated, found.gpus_wanted) == (2, 2)


def test_a_share_of_a_gpu_by_annotation_is_a_request(cluster: Cluster) -> None:
    shares = {
        "slice-a": ({"gpu-memory": "2000"}, "2000Mi"),
        "half": ({"gpu-fraction": "0.5"}, "0.5"),
        "two-halves": ({"gpu-fraction": "0.5", "gpu-fraction-num-devices": "2"}, "1"),
    }
    for name, (notes, shown) in shares.items():
        made = msgspec.structs.replace(pod(name, {}, notes), gpus=0, gpu_resource="")
        cluster.put(made)
        found = row(cluster, f"pod/team-a/{name}")
        assert found.gpu_share is not None and share_words(found.gpu_share) == shown
        cells = table([found], cluster.store, ViewState(), 0.0, explain=says("")).cells(0)
        assert shown in [cell.text for cell in cells]
    for odd in (
        {"gpu-fraction": "much"},
        {"gpu-fraction": "2"},
        {"gpu-memory": "-1"},
        {"gpu-fraction": "nan"},
    ):
        assert pod("odd", {}, odd).gpu_share is None
