"""Suspend, resume, resize, prioritise, retry now and prune as values: the engine decides how."""

import copy
import json
import shlex
from typing import Any

import pytest

from cockpit.actions.job_size import plan_resize, size_of
from cockpit.actions.kill import PruneOptions, old_enough, plan_kill
from cockpit.actions.kubectl import kubectl_lines
from cockpit.actions.prioritise import plan_prioritise
from cockpit.actions.suspend import is_through_workload, plan_resume, plan_suspend
from cockpit.errors import BadInput
from cockpit.gangs.coscheduling import plan_retry_now
from cockpit.gangs.suspend_field import ended_as, is_suspended
from cockpit.jobs.render import render
from cockpit.jobs.template import load_library
from cockpit.kube.resource import MPIJOBS
from cockpit.model.gang import Workload
from cockpit.model.job import GANG, Job, JobState
from cockpit.model.pod import Pod
from cockpit.model.record import Condition, OwnerRef
from tests.unit.actions.builders import job, pod, store_of

TEMPLATES = load_library().templates
MPI = {"name": "llm", "namespace": "team-a", "image": "r.example/hvd:1", "workers": "4", "gpus": "2"}


def mpijob(**more: Any) -> dict[str, Any]:
    """An MPIJob as the server has it."""
    tree = render(TEMPLATES["mpijob"], {**MPI, **more})
    tree["metadata"] |= {
        "uid": "uid-llm",
        "resourceVersion": "41",
        "generation": 3,
        "creationTimestamp": "2026-11-01T10:00:00Z",
        "managedFields": [{"manager": "cockpit"}],
    }
    tree["status"] = {"conditions": [{"type": "Running", "status": "True"}], "startTime": "2026"}
    return tree


def batch_job(**spec: Any) -> dict[str, Any]:
    """A batch Job as the server has it, with what the server wrote into it."""
    labels = {"batch.kubernetes.io/controller-uid": "u", "job-name": "fit", "team": "a"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "fit", "namespace": "team-a", "uid": "uid-fit", "resourceVersion": "9"},
        "spec": {
            "parallelism": 3,
            "completions": 3,
            "completionMode": "Indexed",
            "suspend": False,
            "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}},
            "template": {
                "metadata": {"labels": labels, "creationTimestamp": None},
                "spec": {
                    "containers": [
                        {
                            "name": "main",
                            "image": "r.example/train:2",
                            "command": ["python", "train.py", "--name", "two words"],
                            "resources": {"limits": {"nvidia.com/gpu": "2", "memory": "10Gi"}},
                        }
                    ]
                },
            },
            **spec,
        },
        "status": {"active": 3},
    }


def workload(**more: Any) -> Workload:
    admitted = (Condition("QuotaReserved", "True"), Condition("Admitted", "True"))
    fields: dict[str, Any] = {
        "uid": "uid-w",
        "name": "mpijob-llm-1",
        "namespace": "team-a",
        "resource_version": "77",
        "owner": OwnerRef("kubeflow.org/v2beta1", "MPIJob", "llm", "uid-llm"),
        "queue": "main",
        "conditions": admitted,
        **more,
    }
    return Workload(**fields)


# ---- suspend and resume


def test_a_job_of_kueue_is_held_through_its_workload_and_its_own_field_is_not_touched() -> None:
    store = store_of(pod("p0"), pod("p1"), workloads=(workload(),))
    one = job(engine="Kueue", workload_uid="uid-w", pod_uids=("uid-p0", "uid-p1"), gpus_allocated=4)
    assert is_through_workload(one, store)
    plan = plan_suspend(one, None, store, context="prod")
    (call,) = plan.calls
    assert call.path == "/apis/kueue.x-k8s.io/v1beta2/namespaces/team-a/workloads/mpijob-llm-1"
    assert call.body == {
        "metadata": {"uid": "uid-w", "resourceVersion": "77"},
        "spec": {"active": False},
    }
    assert plan.title == "Suspend mpijob team-a/llm"
    assert "4 GPUs become free on 1 node" in plan.lines[1]
    assert plan.shell == "cockpit job suspend mpijob/team-a/llm --context prod --write"
    assert plan.is_destructive


@pytest.mark.parametrize(
    ("phases", "lost"),
    [
        (("Running", "Pending"), "progress since the last checkpoint is lost"),
        (("Pending", "Pending"), "none of them is running yet, so no progress is lost"),
        (("Succeeded", "Failed"), "no pod is running, so nothing is lost"),
    ],
)
def test_only_what_runs_loses_progress(phases: tuple[str, str], lost: str) -> None:
    store = store_of(*(pod(f"p{at}", phase) for at, phase in enumerate(phases)))
    tree = {**mpijob(), "spec": {}}
    plan = plan_suspend(job(pod_uids=("uid-p0", "uid-p1")), tree, store)
    assert plan.lines[-1].startswith(lost)


def test_a_held_job_of_kueue_is_resumed_through_its_workload() -> None:
    store = store_of(workloads=(workload(is_active=False, conditions=()),))
    one = job(engine="Kueue", workload_uid="uid-w", state=JobState.SUSPENDED)
    (call,) = plan_resume(one, None, store).calls
    assert call.body["spec"] == {"active": True}
    with pytest.raises(BadInput, match="suspended already"):
        plan_suspend(one, None, store)


def test_a_job_that_kueue_has_not_seen_yet_is_not_touched() -> None:
    with pytest.raises(BadInput, match="has not made a Workload"):
        is_through_workload(job(engine="Kueue"), store_of())
    assert not is_through_workload(job(engine="Kueue"), store_of(), lambda _version, _kind: None)
    assert not is_through_workload(job(), store_of())


@pytest.mark.parametrize(
    ("api_version", "kind", "field"),
    [
        ("kubeflow.org/v2beta1", "MPIJob", ("runPolicy", "suspend")),
        ("batch/v1", "Job", ("suspend",)),
        ("jobset.x-k8s.io/v1alpha2", "JobSet", ("suspend",)),
        ("trainer.kubeflow.org/v1alpha1", "TrainJob", ("suspend",)),
    ],
)
def test_every_kind_is_held_by_its_own_field(api_version: str, kind: str, field: tuple[str, ...]) -> None:
    tree = {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "llm", "uid": "uid-llm", "resourceVersion": "41"},
        "spec": {},
        # what its conditions say is not what it is: a resumed TrainJob keeps Suspended
        "status": {"conditions": [{"type": "Suspended", "status": "True"}]},
    }
    one = job(kind=kind, api_version=api_version)
    plan = plan_suspend(one, tree, store_of())
    body = plan.calls[0].body
    here = body["spec"]
    for key in field:
        here = here[key]
    assert here is True
    assert body["metadata"] == {"uid": "uid-llm", "resourceVersion": "41"}
    with pytest.raises(BadInput, match="is not suspended"):
        plan_resume(one, tree, store_of())
    suspended = {**tree, "spec": body["spec"]}
    assert is_suspended(suspended)
    with pytest.raises(BadInput, match="already suspended"):
        plan_suspend(one, suspended, store_of())


def test_what_ended_can_be_neither_held_nor_resumed_whatever_its_stale_texts_say() -> None:
    tree = mpijob()
    tree["status"]["conditions"] = [
        {"type": "Running", "status": "False", "message": "MPIJob is running."},
        {"type": "Succeeded", "status": "True"},
    ]
    assert ended_as(tree) == "succeeded"
    for plan in (plan_suspend, plan_resume):
        with pytest.raises(BadInput, match="has succeeded"):
            plan(job(), tree, store_of())


def test_a_bare_pod_cannot_be_suspended() -> None:
    with pytest.raises(BadInput, match="bare pod cannot be suspended"):
        plan_suspend(job(kind="Pod"), None, store_of())
    with pytest.raises(BadInput, match="a Notebook has no such field"):
        plan_suspend(
            job(kind="Notebook"),
            {"kind": "Notebook", "metadata": {}},
            store_of(),
            lookup=lambda _version, _kind: MPIJOBS,
        )


def test_an_object_without_uid_is_not_changed_by_name_alone() -> None:
    tree = mpijob()
    del tree["metadata"]["uid"]
    with pytest.raises(BadInput, match="no known uid"):
        plan_suspend(job(), tree, store_of())


# ---- a gang of bare pods


def gang_of(size: int) -> list[Pod]:
    return [
        Pod(
            uid=f"uid-r{rank}",
            name=f"r{rank}",
            namespace="team-a",
            phase="Running",
            node=f"n{rank}",
            gpus=1,
            gang="pg",
            rank=rank,
        )
        for rank in range(size)
    ]


def gang_job(size: int) -> Job:
    """The row of `gang_of`."""
    uids = tuple(f"uid-r{rank}" for rank in range(size))
    return job("pg", kind=GANG, api_version="", uid="gang/team-a/pg", pod_uids=uids)


def test_a_gang_of_bare_pods_is_killed_whole_and_says_how_many_go() -> None:
    strangers = [pod("other"), Pod(uid="uid-b", name="b", namespace="team-b", gang="pg", phase="Running")]
    store = store_of(*gang_of(3), *strangers)
    plan = plan_kill(gang_job(3), store)
    assert plan.is_whole
    assert plan.title == "Kill gang team-a/pg"
    assert [call.path.rsplit("/", 1)[1] for call in plan.calls] == ["r0", "r1", "r2"]
    assert all("resourceVersion" not in call.body["preconditions"] for call in plan.calls)
    assert "3 GPUs become free on 3 nodes" in plan.lines
    assert plan.lines[0] == "delete all 3 pods of gang team-a/pg: a gang is deleted as a unit"
    assert not any("PodGroup" in line for line in plan.lines)  # there is none
    with pytest.raises(BadInput, match="bare pod cannot be suspended"):
        plan_suspend(gang_job(3), {}, store)


# ---- resize


def test_an_mpijob_is_resized_by_its_workers() -> None:
    plan = plan_resize(job(), mpijob(), 6)
    body = plan.calls[0].body
    assert body["spec"] == {"mpiReplicaSpecs": {"Worker": {"replicas": 6}}}
    assert plan.lines == ("from 4 to 6 workers", "requests 4 more GPUs")
    assert "does not discover hosts" in plan.warnings[0]
    assert not plan.is_destructive
    assert plan_resize(job(), mpijob(), 2).is_destructive


def test_an_indexed_job_moves_both_numbers() -> None:
    plan = plan_resize(job("fit", kind="Job"), batch_job(), 2)
    assert plan.calls[0].body["spec"] == {"parallelism": 2, "completions": 2}
    tree = batch_job(completionMode="NonIndexed", completions=10)
    assert plan_resize(job("fit", kind="Job"), tree, 5).calls[0].body["spec"] == {"parallelism": 5}


def test_what_cannot_be_resized_is_told() -> None:
    with pytest.raises(BadInput, match="size of a JobSet cannot change"):
        plan_resize(job(kind="JobSet"), {"kind": "JobSet", "metadata": {}}, 3)
    with pytest.raises(BadInput, match="admitted by Kueue at this size"):
        plan_resize(job(engine="Kueue"), mpijob(), 3)
    assert plan_resize(job(engine="Kueue"), mpijob(queue="main"), 3).calls
    with pytest.raises(BadInput, match="give 1 to 4096"):
        plan_resize(job(), mpijob(), 0)
    with pytest.raises(BadInput, match="already has 4 workers"):
        plan_resize(job(), mpijob(), 4)
    assert size_of({"kind": "MPIJob", "spec": {}}).why_not
    tree = mpijob()
    tree["spec"]["runPolicy"]["schedulingPolicy"] = {"minAvailable": 4}
    assert "never start again" in plan_resize(job(), tree, 2).warnings[-1]


# ---- priority


def test_kueue_takes_priority_and_queue_by_label() -> None:
    queued = mpijob(queue="main", priority="low")
    one = job(engine="Kueue", queue="main", state=JobState.QUEUED)
    plan = plan_prioritise(one, queued, priority="high", queue="fast")
    assert plan.calls[0].body["metadata"]["labels"] == {
        "kueue.x-k8s.io/priority-class": "high",
        "kueue.x-k8s.io/queue-name": "fast",
    }
    assert plan.lines[:2] == ("priority low becomes high", "queue main becomes fast")
    assert shlex.split(plan.shell)[4:8] == ["--priority", "high", "--queue", "fast"]
    running = copy.deepcopy(queued)
    running["spec"]["runPolicy"]["suspend"] = False
    assert plan_prioritise(one, running, priority="high").calls
    with pytest.raises(BadInput, match="was admitted through queue main"):
        plan_prioritise(one, running, queue="fast")
    with pytest.raises(BadInput, match="is already low"):
        plan_prioritise(one, queued, priority="low")


def test_without_kueue_only_a_suspended_mpijob_takes_another_class() -> None:
    with pytest.raises(BadInput, match="fixed at creation"):
        plan_prioritise(job(), mpijob(), priority="high")
    tree = mpijob()
    tree["spec"]["runPolicy"]["suspend"] = True
    body = plan_prioritise(job(), tree, priority="high").calls[0].body
    assert set(body["spec"]["mpiReplicaSpecs"]) == {"Launcher", "Worker"}
    with pytest.raises(BadInput, match="in no queue"):
        plan_prioritise(job(), tree, queue="main")


# ---- retry now, prune, kubectl


def test_retry_now_touches_the_pod_group() -> None:
    group = {
        "metadata": {"name": "pg", "namespace": "team-a", "uid": "u", "resourceVersion": "5"},
        "spec": {"minMember": 4},
        "status": {"phase": "Scheduling"},
    }
    plan = plan_retry_now(group, "/apis/x/podgroups/pg", "2026-11-01T10:00:00Z")
    assert plan.calls[0].body["metadata"] == {
        "uid": "u",
        "resourceVersion": "5",
        "annotations": {"gpu-cockpit/retried-at": "2026-11-01T10:00:00Z"},
    }
    with pytest.raises(BadInput, match="does not wait"):
        plan_retry_now({**group, "status": {"phase": "Running"}}, "/x", "now")


def test_prune_takes_what_ended_before_oldest_first() -> None:
    jobs = [
        job("young", state=JobState.SUCCEEDED, finished_seconds=950.0),
        job("old", state=JobState.FAILED, finished_seconds=100.0),
        job("oldest", state=JobState.SUCCEEDED, created_seconds=50.0),
        job("running", created_seconds=1.0),
        job("unknown", state=JobState.SUCCEEDED),
    ]
    assert [one.name for one in old_enough(jobs, PruneOptions("100s"), 1000.0)] == ["oldest", "old"]


def test_kubectl_says_the_same_without_the_guard() -> None:
    plan = plan_suspend(job(), mpijob(), store_of())
    (line,) = kubectl_lines(plan, "prod")
    words = shlex.split(line)
    assert words[:5] == ["kubectl", "--context", "prod", "-n", "team-a"]
    assert words[5:10] == ["patch", "mpijobs.kubeflow.org", "llm", "--type", "merge"]
    assert json.loads(words[-1]) == {"spec": {"runPolicy": {"suspend": True}}}
    assert kubectl_lines(plan_kill(job(), store_of())) == (
        "kubectl -n team-a delete mpijobs.kubeflow.org llm",
    )
    (line,) = kubectl_lines(plan_kill(gang_job(8), store_of(*gang_of(8))))
    assert line.endswith("delete pods r0 r1 r2 r3 r4 ... 3 more")
