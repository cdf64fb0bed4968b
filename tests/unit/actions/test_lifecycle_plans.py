"""Suspend, resume, resize, prioritise, retry and clone as values: the engine decides how."""

import copy
import json
import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.actions.again import plan_clone, plan_retry, short_of_memory, template_of
from cockpit.actions.hold import is_through_workload, plan_resume, plan_suspend
from cockpit.actions.job_size import plan_resize, size_of
from cockpit.actions.kill import gang_key, plan_kill
from cockpit.actions.kubectl import kubectl_lines
from cockpit.actions.prioritise import plan_prioritise
from cockpit.actions.prune import ended_before
from cockpit.errors import BadInput
from cockpit.gangs.hold import ended_as, is_suspended
from cockpit.gangs.retry_now import plan_retry_now
from cockpit.jobs.again import as_written, grown, more_memory, next_name
from cockpit.jobs.clone_template import clone_template
from cockpit.jobs.render import render
from cockpit.jobs.template import load_templates
from cockpit.kube.resource import MPIJOBS
from cockpit.model.gang import Workload
from cockpit.model.job import JobState
from cockpit.model.pod import Pod
from cockpit.model.quantity import parse_quantity
from cockpit.model.record import Condition, OwnerRef
from tests.unit.actions.builders import job, pod, store_of

TEMPLATES = load_templates()
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
    one = job(engine="Kueue", workload_uid="uid-w", pod_uids=("uid-p0", "uid-p1"), gpus_held=4)
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


def test_a_held_job_of_kueue_is_resumed_through_its_workload() -> None:
    store = store_of(workloads=(workload(is_active=False, conditions=()),))
    one = job(engine="Kueue", workload_uid="uid-w", state=JobState.SUSPENDED)
    (call,) = plan_resume(one, None, store).calls
    assert call.body["spec"] == {"active": True}
    with pytest.raises(BadInput, match="held already"):
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
    held = {**tree, "spec": body["spec"]}
    assert is_suspended(held)
    with pytest.raises(BadInput, match="suspended already"):
        plan_suspend(one, held, store_of())


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
    with pytest.raises(BadInput, match="bare pod is gone"):
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
    with pytest.raises(BadInput, match="no uid"):
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


def test_killing_one_pod_of_a_gang_kills_all_of_it() -> None:
    strangers = [pod("other"), Pod(uid="uid-b", name="b", namespace="team-b", gang="pg", phase="Running")]
    store = store_of(*gang_of(3), *strangers)
    one = job("r1", kind="Pod", pod_uids=("uid-r1",))
    plan = plan_kill(one, store)
    assert plan.is_whole
    assert plan.title == "Kill gang team-a/pg"
    assert [call.path.rsplit("/", 1)[1] for call in plan.calls] == ["r0", "r1", "r2"]
    assert all("resourceVersion" not in call.body["preconditions"] for call in plan.calls)
    assert "3 GPUs become free on 3 nodes" in plan.lines
    assert gang_key(one, store) == gang_key(job("r2", kind="Pod", pod_uids=("uid-r2",)), store)


# ---- resize


def test_an_mpijob_is_resized_by_its_workers() -> None:
    plan = plan_resize(job(), mpijob(), 6)
    body = plan.calls[0].body
    assert body["spec"] == {"mpiReplicaSpecs": {"Worker": {"replicas": 6}}}
    assert plan.lines == ("from 4 to 6 workers", "4 GPUs are asked for".replace("are", "more are"))
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
    with pytest.raises(BadInput, match="admitted by Kueue at its size"):
        plan_resize(job(engine="Kueue"), mpijob(), 3)
    assert plan_resize(job(engine="Kueue"), mpijob(queue="main"), 3).calls
    with pytest.raises(BadInput, match="from 1 to 4096"):
        plan_resize(job(), mpijob(), 0)
    with pytest.raises(BadInput, match="4 workers already"):
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
    with pytest.raises(BadInput, match="is low already"):
        plan_prioritise(one, queued, priority="low")


def test_without_kueue_only_a_suspended_mpijob_takes_another_class() -> None:
    with pytest.raises(BadInput, match="fixed when they are made"):
        plan_prioritise(job(), mpijob(), priority="high")
    tree = mpijob()
    tree["spec"]["runPolicy"]["suspend"] = True
    body = plan_prioritise(job(), tree, priority="high").calls[0].body
    assert set(body["spec"]["mpiReplicaSpecs"]) == {"Launcher", "Worker"}
    with pytest.raises(BadInput, match="in no queue"):
        plan_prioritise(job(), tree, queue="main")


# ---- clone and retry


@given(
    template=st.sampled_from(sorted(TEMPLATES)),
    workers=st.integers(1, 40),
    gpus=st.integers(1, 16),
    memory=st.sampled_from(["32Gi", "1500Mi", "64G"]),
    command=st.lists(
        st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1), min_size=1
    ),
    queue=st.sampled_from(["", "main"]),
)
def test_a_clone_with_nothing_filled_in_is_the_job_itself(
    template: str, workers: int, gpus: int, memory: str, command: list[str], queue: str
) -> None:
    wanted = {
        "name": "llm",
        "namespace": "team-a",
        "image": "r.example/hvd:1",
        "workers": str(workers),
        "gpus": str(gpus),
        "memory": memory,
        "command": shlex.join(command),
        "queue": queue,
    }
    one = TEMPLATES[template]
    known = {key: value for key, value in wanted.items() if one.parameter(key) is not None}
    for parameter in one.parameters:
        if parameter.is_required and parameter.name not in known:
            return
    try:
        manifest = render(one, known)
    except BadInput:
        return
    written = as_written({**manifest, "status": {"x": 1}})
    again = render(clone_template(written, "llm-r2"), {})
    assert again.pop("metadata")["name"] == "llm-r2"
    expected = copy.deepcopy(written)
    expected.pop("metadata")
    assert again == expected


def test_a_clone_follows_its_size_in_slots_and_processes() -> None:
    template = template_of(job(), mpijob())
    names = [one.name for one in template.parameters]
    assert names[:2] == ["name", "namespace"]
    assert {"workers", "gpus", "image", "memory"} <= set(names)
    made = render(template, {"workers": "3", "gpus": "8"})
    args = made["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["args"]
    assert args[args.index("-np") + 1] == "24"
    assert made["spec"]["slotsPerWorker"] == 8
    assert made["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] == 3


def test_a_clone_has_nothing_that_the_server_wrote() -> None:
    made = as_written(batch_job())
    assert "status" not in made and "selector" not in made["spec"]
    assert set(made["metadata"]) == {"name", "namespace"}
    assert made["spec"]["template"]["metadata"] == {"labels": {"team": "a"}}
    assert "suspend" not in made["spec"]
    held = as_written(
        {**batch_job(), "metadata": {**batch_job()["metadata"], "labels": {"kueue.x-k8s.io/queue-name": "q"}}}
    )
    assert held["spec"]["suspend"] is True


def test_a_clone_of_an_admitted_job_is_placed_as_its_person_asked() -> None:
    tree = batch_job()
    tree["spec"]["template"]["spec"]["nodeSelector"] = {"pool": "h100", "mine": "yes"}
    asked = {"spec": {"podSets": [{"name": "main", "template": {"spec": {"nodeSelector": {"mine": "yes"}}}}]}}
    assert as_written(tree, asked)["spec"]["template"]["spec"]["nodeSelector"] == {"mine": "yes"}


def test_clone_is_one_post_under_the_next_name() -> None:
    one = job("fit", kind="Job")
    template = template_of(one, batch_job(), taken=("fit-r2",))
    plan = plan_clone(one, template, {"memory": "20Gi"}, context="prod")
    (call,) = plan.calls
    assert (call.method, call.path) == ("POST", "/apis/batch/v1/namespaces/team-a/jobs")
    assert call.body["metadata"]["name"] == "fit-r3"
    assert plan.title == "Clone job team-a/fit as team-a/fit-r3"
    assert plan.shell == ("cockpit job clone job/team-a/fit --set memory=20Gi --context prod --write")


def test_a_retry_after_oom_proposes_half_as_much_again() -> None:
    dead = Pod(
        uid="uid-p",
        name="p",
        namespace="team-a",
        phase="Failed",
        terminated_reason="OOMKilled",
        role="worker",
    )
    store = store_of(dead)
    one = job(state=JobState.FAILED, pod_uids=("uid-p",))
    assert short_of_memory(one, store) == ("worker",)
    plan = plan_retry(one, mpijob(), store)
    roles = plan.calls[0].body["spec"]["mpiReplicaSpecs"]
    worker = roles["Worker"]["template"]["spec"]["containers"][0]["resources"]
    assert worker["limits"]["memory"] == "48Gi"
    before = mpijob()["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    assert roles["Launcher"]["template"]["spec"]["containers"][0]["resources"] == before["resources"]
    assert "more memory: worker: 32Gi to 48Gi" in plan.lines
    assert plan.calls[0].body["metadata"]["name"] == "llm-r2"
    bigger = plan_retry(one, mpijob(), store, memory="100Gi")
    assert "more memory: worker: 32Gi to 100Gi" in bigger.lines
    with pytest.raises(BadInput, match="not a quantity"):
        plan_retry(one, mpijob(), store, memory="lots")


def test_only_what_failed_is_retried() -> None:
    with pytest.raises(BadInput, match="has not failed"):
        plan_retry(job(), mpijob(), store_of())
    plan = plan_retry(job(state=JobState.FAILED), mpijob(), store_of())
    assert not [line for line in plan.lines if "memory" in line]


@given(st.integers(1, 10**13), st.sampled_from([1.5, 2.0, 1.1]))
def test_more_memory_is_never_less_than_asked(number: int, factor: float) -> None:
    found = parse_quantity(more_memory(str(number), factor))
    assert number * factor <= found <= number * factor + 2**30


@given(st.from_regex(r"[a-z]([-a-z0-9]{0,46}[a-z0-9])?", fullmatch=True))
def test_next_names_are_names_and_new(name: str) -> None:
    taken = {name}
    for _ in range(3):
        made = next_name(name, taken)
        assert made not in taken and len(made) <= 48 and not made.endswith("-")
        taken.add(made)


def test_requests_grow_with_limits() -> None:
    tree = batch_job()
    container = tree["spec"]["template"]["spec"]["containers"][0]
    container["resources"]["requests"] = {"memory": "4Gi"}
    made, told = grown(tree, ("main",), 1.5)
    sizes = made["spec"]["template"]["spec"]["containers"][0]["resources"]
    assert (sizes["limits"]["memory"], sizes["requests"]["memory"]) == ("15Gi", "6144Mi")
    assert told == ["main: 10Gi to 15Gi"]


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
    assert [one.name for one in ended_before(jobs, 900.0)] == ["oldest", "old"]


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
    (line,) = kubectl_lines(plan_kill(job("r1", kind="Pod", pod_uids=("uid-r1",)), store_of(*gang_of(8))))
    assert line.endswith("delete pods r0 r1 r2 r3 r4 ... 3 more")
