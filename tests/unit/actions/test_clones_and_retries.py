"""Clone and retry: the job again under another name, with what the server wrote taken off."""

import copy
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.actions.clone_retry import plan_clone, plan_retry, short_of_memory, template_of
from cockpit.errors import BadInput
from cockpit.gangs.coscheduling import attach as coscheduled
from cockpit.jobs.clone import as_written, grown, more_memory, next_name
from cockpit.jobs.clone_template import clone_template
from cockpit.jobs.render import render
from cockpit.k8s.quantity import parse_quantity
from cockpit.kube.resource import Resource
from cockpit.model.job import JobState
from cockpit.model.pod import Pod
from tests.unit.actions.builders import job, store_of
from tests.unit.actions.test_lifecycle_plans import TEMPLATES, batch_job, mpijob


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


@pytest.mark.parametrize("template", ["mpijob", "mpijob-elastic", "job", "jobset"])
def test_a_clone_that_keeps_the_folder_of_checkpoints_says_so(template: str) -> None:
    said = "/ckpt/llm holds the checkpoints of llm: name another folder, or the clone resumes from them"
    train = "/app/train.py --checkpoint-every 50 --checkpoints"
    values = {"name": "llm", "image": "r.example/hvd:1", "command": f"{train} /ckpt/llm --steps 90"}
    form = template_of(
        job("llm"), as_written(render(TEMPLATES[template], values)), None, (), TEMPLATES.values()
    )
    assert said in plan_clone(job("llm"), form, {}).warnings
    for own in (f"{train} /ckpt/llm-r2 --steps 90", f"{train}=/other/llm", "/app/train.py"):
        plan = plan_clone(job("llm"), form, {"command": own})
        assert not [one for one in plan.warnings if "the checkpoints of" in one]


def test_a_clone_without_checkpoints_has_nothing_to_say_of_them() -> None:
    values = {"name": "llm", "image": "r.example/hvd:1", "command": "/app/train.py --output log.txt"}
    form = template_of(job("llm"), as_written(render(TEMPLATES["job"], values)), None, (), TEMPLATES.values())
    assert form.lint == ()


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


def _served(api_version: str, kind: str) -> Resource | None:
    group, _, version = api_version.partition("/")
    return Resource(group, version, f"{kind.lower()}s", kind, namespaced=True)


JOBSET = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2",
    "kind": "JobSet",
    "metadata": {"name": "trainer", "namespace": "team-a"},
    "spec": {
        "replicatedJobs": [
            {
                "name": "w",
                "template": {
                    "spec": {
                        "parallelism": 4,
                        "completions": 4,
                        "template": {
                            "spec": {
                                "containers": [
                                    {
                                        "name": "m",
                                        "image": "r/t:1",
                                        "args": ["--save", "/ckpt/trainer"],
                                        "env": [{"name": "MASTER_ADDR", "value": "trainer-w-0-0.trainer"}],
                                    }
                                ]
                            }
                        },
                    }
                },
            }
        ]
    },
}


def test_a_clone_meets_at_its_own_host_and_tells_what_it_shares() -> None:
    one = job("trainer", kind="JobSet", api_version="jobset.x-k8s.io/v1alpha2")
    plan = plan_clone(one, template_of(one, JOBSET), {"name": "trainer2"}, lookup=_served)
    body = plan.calls[0].body["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    assert body["containers"][0]["env"][0]["value"] == "trainer2-w-0-0.trainer2"
    assert body["containers"][0]["args"] == ["--save", "/ckpt/trainer"]
    assert "renamed: MASTER_ADDR of m: trainer-w-0-0 to trainer2-w-0-0" in plan.lines
    assert any("args of m names trainer of the original (a path)" in said for said in plan.warnings)


@pytest.mark.parametrize("how", ["clone", "retry"])
def test_pods_of_a_group_are_in_a_group_of_their_own(how: str) -> None:
    tree = coscheduled(mpijob(), scheduler="gangs").manifest
    dead = job(state=JobState.FAILED)
    if how == "clone":
        plan = plan_clone(dead, template_of(dead, tree), {})
    else:
        plan = plan_retry(dead, tree, store_of())
    first, group = plan.calls
    name = first.body["metadata"]["name"]
    worker = first.body["spec"]["mpiReplicaSpecs"]["Worker"]["template"]
    assert worker["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] == name == "llm-r2"
    assert worker["spec"]["schedulerName"] == "gangs"
    assert (group.method, group.body["metadata"]["name"]) == ("POST", name)
    assert "create podgroup team-a/llm-r2 for its pods" in plan.lines
