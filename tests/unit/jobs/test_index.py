"""Job rows by example: MPIJobs from submit to end, batch Jobs, any other controller, bare pods."""

import msgspec
import pytest

from cockpit.model.batch import Batch
from cockpit.model.event import Event
from cockpit.model.job import Job, JobState
from cockpit.model.node import Node
from cockpit.model.record import Kind
from tests.unit.jobs.builders import (
    Cluster,
    gang,
    is_,
    lacks,
    mpijob,
    owned,
    queues,
    up,
    workload,
)

LLM = "mpijob.kubeflow.org/team-a/llm"


INSUFFICIENT = "0/40 nodes are available: 37 Insufficient nvidia.com/gpu, 3 node(s) were unschedulable."


def row(cluster: Cluster, key: str = LLM) -> Job:
    found = cluster.index.job(key)
    assert found is not None, f"no row {key} in {list(cluster.index.jobs)}"
    return found


def why(cluster: Cluster, key: str = LLM) -> str:
    return cluster.why(key)


def test_a_running_mpijob(cluster: Cluster) -> None:
    job = mpijob(workers=2, gpus=4, conditions=(is_("Running"),), started_seconds=50.0)
    cluster.put(job, *gang(job, **up())[1], gang(job)[0])
    one = row(cluster)
    assert (one.state, why(cluster), one.ready, one.wanted) == (JobState.RUNNING, "", 2, 2)
    assert (one.gpus_allocated, one.gpus_wanted, one.engine) == (8, 8, "none")
    assert one.nodes == ("gpu-1",) and one.started_seconds == 50.0
    assert set(cluster.index.jobs) == {LLM}  # the launcher's Job is no row of its own


def test_members_stand_with_the_launcher_first_then_by_rank(cluster: Cluster) -> None:
    job = mpijob(workers=12)
    launcher_job, pods = gang(job, **up())
    cluster.put(launcher_job, job, *pods)
    names = [pod.name for pod in cluster.index.members(LLM)]
    assert names == ["llm-launcher-x1", *(f"llm-worker-{i}" for i in range(12))]
    assert cluster.index.members("no/such/job") == ()
    found = cluster.index.job_of_pod(pods[0])
    assert found is not None and found.key == LLM


def test_a_queued_mpijob_says_what_is_missing_and_its_place(cluster: Cluster) -> None:
    job = mpijob(workers=2, gpus=4, is_suspended=True)
    cluster.put(*queues(nominal=8, used=4), job, workload(job, 8, 2, lacks(4)))
    one = row(cluster)
    assert one.state == JobState.QUEUED
    assert why(cluster) == "needs 8 GPUs, quota research/h100 has 4 unused: 4 more needed"
    assert (one.engine, one.queue, one.position, one.ready, one.wanted) == ("Kueue", "main", 1, 0, 2)


def test_places_move_up_when_somebody_leaves_the_line(cluster: Cluster) -> None:
    first, second = mpijob("first", is_suspended=True), mpijob("second", is_suspended=True)
    ahead = workload(first, 4, 2, lacks(4), created_seconds=1.0)
    cluster.put(*queues(), first, second, ahead, workload(second, 4, 2, lacks(4), created_seconds=2.0))
    key = "mpijob.kubeflow.org/team-a/second"
    assert row(cluster, key).position == 2
    cluster.drop(first, ahead)
    assert row(cluster, key).position == 1
    assert set(cluster.index.jobs) == {key}


def test_a_queue_that_changes_rewrites_the_reason(cluster: Cluster) -> None:
    job = mpijob(is_suspended=True)
    cluster.put(*queues(), job, workload(job, 8, 2, lacks(4)))
    local, _ = queues()
    cluster.put(msgspec.structs.replace(local, stop_policy="Hold"))
    assert why(cluster) == "queue main is stopped for new jobs (Hold)"


def test_from_admission_to_running_without_a_refresh(cluster: Cluster) -> None:
    job = mpijob(workers=2, gpus=2, is_suspended=True)
    cluster.put(*queues(), job, workload(job, 4, 2, lacks(4)))
    admitted = (is_("QuotaReserved"), is_("Admitted"))
    cluster.put(workload(job, 4, 2, *admitted))
    assert row(cluster).state == JobState.STARTING
    job = mpijob(workers=2, gpus=2)
    cluster.put(job)
    assert (row(cluster).state, why(cluster)) == (
        JobState.PENDING,
        "no pod yet: waits for its MPIJob controller",
    )
    launcher_job, pods = gang(job, phase="Pending")
    cluster.put(launcher_job, *pods)
    assert row(cluster).state == JobState.PENDING
    cluster.put(*gang(job, phase="Pending", node="gpu-1", waiting_reason="ContainerCreating")[1])
    assert row(cluster).state == JobState.STARTING
    assert why(cluster) == "worker-0: its container is being created on node gpu-1 (and 2 more)"
    cluster.put(*gang(job, **up())[1])
    assert (row(cluster).state, why(cluster)) == (JobState.RUNNING, "")


def test_a_finished_mpijob_keeps_a_stale_running_condition_and_is_done(cluster: Cluster) -> None:
    job = mpijob(conditions=(is_("Running"), is_("Succeeded")), finished_seconds=90.0)
    cluster.put(job)
    assert row(cluster).state == JobState.SUCCEEDED
    assert row(cluster).finished_seconds == 90.0


def test_workers_left_behind_by_a_finished_mpijob_are_told(cluster: Cluster) -> None:
    job = mpijob(workers=2, gpus=4, conditions=(is_("Succeeded"),))
    cluster.put(job, *gang(job, **up())[1])
    assert why(cluster) == "ended, but 2 pods still run with 8 GPUs"


def test_a_launcher_that_ended_is_believed_before_the_condition(cluster: Cluster) -> None:
    job = mpijob()
    launcher_job, (*workers, launcher) = gang(job, **up())
    cluster.put(
        job, launcher_job, *workers, msgspec.structs.replace(launcher, phase="Succeeded", is_ready=False)
    )
    assert row(cluster).state == JobState.SUCCEEDED


def test_a_failed_mpijob_names_the_member_and_its_end(cluster: Cluster) -> None:
    message = "Job has reached the specified backoff limit: rank 2 exited with code 137"
    job = mpijob(conditions=(is_("Failed", message=message),))
    cluster.put(job)
    assert (row(cluster).state, why(cluster)) == (JobState.FAILED, message)
    _, (worker, *_rest) = gang(job, **up())
    dead = msgspec.structs.replace(worker, phase="Failed", terminated_reason="OOMKilled", exit_code=137)
    cluster.put(dead)
    assert why(cluster) == "worker-0 failed: OOMKilled (exit 137)"


def test_a_worker_that_died_makes_a_running_job_degraded(cluster: Cluster) -> None:
    job = mpijob(conditions=(is_("Running"),))
    launcher_job, pods = gang(job, **up())
    cluster.put(job, launcher_job, *pods)
    cluster.put(msgspec.structs.replace(pods[1], phase="Failed", is_ready=False, exit_code=1))
    assert (row(cluster).state, why(cluster)) == (
        JobState.DEGRADED,
        "llm-worker-1 failed and is not made again: exit 1",
    )
    assert row(cluster).ready == 1


def test_a_launcher_that_failed_is_made_again_by_its_job(cluster: Cluster) -> None:
    job = mpijob(conditions=(is_("Running"),))
    launcher_job, pods = gang(job, **up())
    dead = msgspec.structs.replace(pods[-1], phase="Failed", is_ready=False, exit_code=1)
    cluster.put(job, msgspec.structs.replace(launcher_job, failed=1), *pods[:-1], dead)
    assert (row(cluster).state, why(cluster)) == (
        JobState.DEGRADED,
        "waits to be tried again after a failed attempt: exit 1",
    )
    cluster.put(msgspec.structs.replace(launcher_job, failed=3))
    assert why(cluster) == "waits to be tried again after 3 failed attempts: exit 1"
    cluster.put(msgspec.structs.replace(launcher_job, failed=4, conditions=(is_("Failed"),)))
    assert "tried again" not in why(cluster), "its Job has given up"


def test_a_lost_node_is_named(cluster: Cluster) -> None:
    job = mpijob(conditions=(is_("Running"),))
    launcher_job, pods = gang(job, **up())
    node = Node(uid="n", name="gpu-1", conditions=(is_("Ready"),))
    cluster.store.apply(Batch(kind=Kind.NODE, changed=(node,)))
    cluster.put(job, launcher_job, *pods)
    assert row(cluster).state == JobState.RUNNING
    lost = msgspec.structs.replace(node, conditions=(is_("Ready", "Unknown"),))
    cluster.store.apply(Batch(kind=Kind.NODE, changed=(lost,)))
    cluster.put(*(msgspec.structs.replace(pod, is_ready=False) for pod in pods))
    assert row(cluster).state == JobState.DEGRADED
    assert "node gpu-1 is not ready (and 2 more)" in why(cluster)


def test_pending_pods_speak_with_the_scheduler_s_numbers(cluster: Cluster) -> None:
    job = mpijob(workers=2, gpus=8)
    launcher_job, pods = gang(job, phase="Pending", scheduled="False", scheduled_reason="Unschedulable")
    told = msgspec.structs.replace(pods[1], scheduled_message=INSUFFICIENT)
    cluster.put(job, launcher_job, pods[0], told, pods[2])
    assert row(cluster).state == JobState.PENDING
    assert why(cluster) == "needs 8 GPUs on one node: 37 nodes lack free GPUs, 3 are cordoned"


def test_a_pod_larger_than_any_node_is_told_so(cluster: Cluster) -> None:
    cluster.store.apply(Batch(kind=Kind.NODE, changed=(Node(uid="n", name="gpu-1", gpu_allocatable=4),)))
    pod = owned(None, "huge", gpus=8, phase="Pending", scheduled_message=INSUFFICIENT)
    cluster.put(pod)
    assert why(cluster, "pod/team-a/huge") == "needs 8 GPUs on one node, no node has more than 4"
    cluster.store.apply(Batch(kind=Kind.NODE, changed=(Node(uid="n2", name="gpu-2", gpu_allocatable=8),)))
    cluster.put()
    assert why(cluster, "pod/team-a/huge").endswith("37 nodes lack free GPUs, 3 are cordoned")


def test_the_cause_of_a_gang_is_found_in_the_event_of_one_member(cluster: Cluster) -> None:
    job = mpijob(workers=2, gpus=8)
    message = "0/3 nodes are available: podGroup team-a/llm failed recently."
    launcher_job, pods = gang(job, phase="Pending", scheduled="False", scheduled_message=message)
    cluster.put(job, launcher_job, *pods)
    assert why(cluster) == "needs 2 x 8 GPUs at once and was refused; waits to be tried again"
    # as scheduler-plugins 0.33.5 leaves it: the cause is neither the newest event of its pod nor the oldest
    told = ("0/1 nodes are available: 1 PodGroup not found.", INSUFFICIENT, message)
    events = tuple(
        Event(
            uid=f"e{at}",
            name=f"e{at}",
            object_uid=pods[1].uid,
            type="Warning",
            reason="FailedScheduling",
            message=words,
            last_seconds=100.0 + at,
        )
        for at, words in enumerate(told)
    )
    cluster.store.apply(Batch(kind=Kind.EVENT, changed=events))
    cluster.put()
    cause = "needs 8 GPUs on one node: 37 nodes lack free GPUs, 3 are cordoned"
    assert why(cluster) == f"{cause}; waits to be tried again"
    # one that was refused for its own sake is woken by room, and its group with it
    cluster.put(msgspec.structs.replace(pods[0], scheduled_message=INSUFFICIENT))
    assert why(cluster) == cause


def test_an_invalid_mpijob_shows_its_event(cluster: Cluster) -> None:
    cluster.put(mpijob())
    event = Event(
        uid="e", name="e", object_uid="mpi-llm", type="Warning", reason="ValidationError", message="bad name"
    )
    cluster.store.apply(Batch(kind=Kind.EVENT, changed=(event,)))
    cluster.put()
    assert why(cluster) == "the operator refuses it: bad name"


@pytest.mark.parametrize(
    ("reason", "fields", "words"),
    [
        ("ImagePullBackOff", {"image": "hub/x:1"}, "worker-0: image x:1 cannot be pulled"),
        ("CrashLoopBackOff", {"exit_code": 139}, "worker-0: crashed once: exit 139"),
        (
            "CreateContainerConfigError",
            {"waiting_message": 'secret "s" not found'},
            "worker-0: secret s does not exist",
        ),
        ("SomethingNew", {}, "worker-0: SomethingNew"),
    ],
)
def test_a_container_that_waits_says_why(
    cluster: Cluster, reason: str, fields: dict[str, object], words: str
) -> None:
    job = mpijob(workers=1, gpus=1)
    launcher_job, pods = gang(job, **up())
    late = msgspec.structs.replace(pods[0], phase="Pending", is_ready=False, waiting_reason=reason, **fields)
    cluster.put(job, launcher_job, late, pods[1])
    assert row(cluster).state == JobState.STARTING
    assert words in why(cluster) and len(why(cluster)) <= 100


def test_workers_alone_are_not_running_yet(cluster: Cluster) -> None:
    job = mpijob()
    cluster.put(job, *gang(job, **up())[1][:-1])
    assert (row(cluster).state, why(cluster)) == (
        JobState.STARTING,
        "waits for its launcher to be made",
    )


def test_missing_members_are_counted(cluster: Cluster) -> None:
    job = mpijob(workers=4)
    launcher_job, pods = gang(job, **up())
    cluster.put(job, launcher_job, *pods[2:])
    assert (row(cluster).state, why(cluster)) == (
        JobState.PENDING,
        "waiting for 2 of 4 members to be made",
    )


def test_suspended_by_a_person_held_in_kueue_and_just_submitted_are_three_things(cluster: Cluster) -> None:
    job = mpijob(is_suspended=True)
    cluster.put(job)
    assert why(cluster) == "suspended: it starts once it is resumed"
    cluster.put(workload(job, 4, 2, is_active=False))
    assert (row(cluster).state, why(cluster)) == (
        JobState.SUSPENDED,
        "suspended: its workload is deactivated (spec.active is false)",
    )
    fresh = mpijob("new", is_suspended=True, labels=(("kueue.x-k8s.io/queue-name", "main"),))
    cluster.put(fresh)
    assert row(cluster, "mpijob.kubeflow.org/team-a/new").state == JobState.QUEUED


def test_a_killed_job_is_ending_then_gone(cluster: Cluster) -> None:
    job = mpijob(workers=2, gpus=4)
    launcher_job, pods = gang(job, **up())
    cluster.put(job, launcher_job, *pods)
    cluster.put(msgspec.structs.replace(job, deleting_seconds=9.0))
    assert (row(cluster).state, why(cluster)) == (
        JobState.FINISHING,
        "being deleted; 3 pods left, with 8 GPUs",
    )
    cluster.drop(job, launcher_job)
    dying = [msgspec.structs.replace(pod, deleting_seconds=9.0) for pod in pods]
    cluster.put(*dying)
    assert row(cluster).state == JobState.FINISHING
    cluster.drop(*dying)
    assert cluster.index.jobs == {}


def test_the_same_name_again_is_a_new_row_although_old_pods_linger(cluster: Cluster) -> None:
    old = mpijob(workers=1)
    pods = gang(old, **up())[1]
    cluster.put(old, *pods)
    cluster.drop(old)
    new = mpijob(workers=1, uid="mpi-second")
    cluster.put(new)
    cluster.put(msgspec.structs.replace(pods[0], deleting_seconds=5.0))
    assert row(cluster).uid == "mpi-second" and row(cluster).gpus_allocated == 0


def test_of_two_launchers_the_younger_stands_whatever_its_name(cluster: Cluster) -> None:
    job = mpijob(workers=1)
    launcher_job, (worker, launcher) = gang(job, **up())
    older = msgspec.structs.replace(
        launcher, uid="old", name="llm-launcher-z", phase="Failed", is_ready=False, created_seconds=1.0
    )
    younger = msgspec.structs.replace(launcher, created_seconds=2.0)
    cluster.put(job, launcher_job, worker, older, younger)
    assert row(cluster).state == JobState.RUNNING
    assert row(cluster).pod_uids == (launcher.uid, worker.uid)


def test_of_several_workloads_the_newest_living_one_speaks(cluster: Cluster) -> None:
    job = mpijob(is_suspended=True)
    oldest = workload(job, 4, 2, is_("Finished"), uid="w1", created_seconds=1.0)
    living = workload(job, 4, 2, lacks(4), uid="w2", created_seconds=2.0)
    ended = workload(job, 4, 2, is_("Finished"), uid="w3", created_seconds=3.0)
    names = zip((oldest, living, ended), ("w1", "w2", "w3"), strict=True)
    cluster.put(*queues(), job, *(msgspec.structs.replace(one, name=name) for one, name in names))
    assert (row(cluster).workload_uid, row(cluster).state) == ("w2", JobState.QUEUED)


def test_only_touched_jobs_are_recomputed(cluster: Cluster) -> None:
    one, two = mpijob("one"), mpijob("two")
    cluster.put(one, two, *gang(one, **up())[1], *gang(two, **up())[1])
    before = row(cluster, "mpijob.kubeflow.org/team-a/two")
    cluster.put(msgspec.structs.replace(gang(one, **up())[1][0], restarts=1))
    assert cluster.index.touched == {"mpijob.kubeflow.org/team-a/one"}
    assert row(cluster, "mpijob.kubeflow.org/team-a/two") is before
