"""Plans say what will happen, with preconditions, before anything is sent."""

import itertools
import shlex
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.actions.execute.replan import confirmed
from cockpit.actions.find import job_named
from cockpit.actions.kill import REMAINS, plan_kill
from cockpit.actions.planning import PoolTerms
from cockpit.actions.scale import plan_pool_scale
from cockpit.actions.submit import plan_submit
from cockpit.errors import BadInput, Refused
from cockpit.jobs.template import load_library
from cockpit.kube.resource import Resource
from cockpit.model.gang import LocalQueue
from cockpit.model.job import JobObject, JobState
from cockpit.model.namespaces import Namespaces
from cockpit.model.record import OwnerRef
from cockpit.pools.index import pools_of
from cockpit.pools.plan import read_replicas
from tests.unit.actions.builders import job, pod, store_of
from tests.unit.pools.builders import deployment, node
from tests.unit.pools.builders import store_of as pool_store

MPIJOB = load_library().templates["mpijob"]
VALUES = {"name": "llm", "image": "registry.example/hvd:1", "workers": "4", "gpus": "2", "queue": "gpu-lq"}


def _mpijob_record(**more: Any) -> JobObject:
    return JobObject(
        uid="uid-llm",
        name="llm",
        namespace="team-a",
        api_version="kubeflow.org/v2beta1",
        kind="MPIJob",
        **more,
    )


def test_submit_is_one_post_of_the_manifest() -> None:
    plan = plan_submit(MPIJOB, VALUES, "team-a", context="prod")
    (call,) = plan.calls
    assert (call.method, call.path) == ("POST", "/apis/kubeflow.org/v2beta1/namespaces/team-a/mpijobs")
    assert call.body["metadata"]["name"] == "llm"
    assert "generateName" not in call.body["metadata"]
    assert plan.title == "Submit mpijob team-a/llm"
    assert plan.lines == (
        "create mpijob team-a/llm",
        "1 launcher pod without GPUs",
        "4 worker pods x 2 GPUs",
        "8 GPUs in total",
        "waits in queue gpu-lq until the whole job is admitted",
    )
    assert plan.warnings == ()
    words = shlex.split(plan.shell)
    assert words[:4] == ["cockpit", "job", "submit", "mpijob"]
    assert "workers=4" in words
    assert "namespace=team-a" in words
    assert words[-3:] == ["--context", "prod", "--write"]
    assert "cpu=4" not in words
    assert not [one for one in words if one.endswith("=")]


def test_a_value_for_the_namespace_wins_over_the_screens() -> None:
    plan = plan_submit(MPIJOB, {**VALUES, "namespace": "team-b"}, "team-a")
    assert plan.calls[0].path.endswith("/namespaces/team-b/mpijobs")
    assert plan.calls[0].body["metadata"]["namespace"] == "team-b"


def test_the_served_version_decides_the_path() -> None:
    served = Resource("kubeflow.org", "v2beta1", "mpijobz", "MPIJob", namespaced=True)
    plan = plan_submit(MPIJOB, VALUES, "team-a", lookup=lambda _version, _kind: served)
    assert plan.calls[0].path.endswith("/mpijobz")


def test_a_version_that_is_not_served_is_told() -> None:
    old = Resource("kubeflow.org", "v1", "mpijobs", "MPIJob", namespaced=True)
    with pytest.raises(
        BadInput,
        match=r"created is MPIJob of kubeflow.org/v2beta1, but this cluster serves only kubeflow.org/v1",
    ):
        plan_submit(MPIJOB, VALUES, "team-a", lookup=lambda _version, _kind: old)


def test_a_taken_name_and_a_missing_queue_are_told_before_sending() -> None:
    with pytest.raises(BadInput, match="mpijob team-a/llm already exists: choose another name"):
        plan_submit(MPIJOB, VALUES, "team-a", store=store_of(mpijobs=(_mpijob_record(),)))
    assert (
        "namespace team-a has no queue gpu-lq"
        in plan_submit(MPIJOB, VALUES, "team-a", store=store_of()).warnings[0]
    )
    queue = LocalQueue(uid="q", name="gpu-lq", namespace="team-a")
    assert plan_submit(MPIJOB, VALUES, "team-a", store=store_of(localqueues=(queue,))).warnings == ()


@pytest.mark.parametrize("namespace", ["../x", "Team", "a/b", "a" * 64])
def test_a_namespace_that_is_no_name_is_refused(namespace: str) -> None:
    with pytest.raises(BadInput):
        plan_submit(MPIJOB, VALUES, namespace)


@given(st.text(max_size=40), st.integers(1, 64))
@settings(deadline=None, max_examples=80)
def test_the_shown_line_says_the_same_values_again(command: str, workers: int) -> None:
    values = {**VALUES, "command": command, "workers": str(workers)}
    try:
        plan = plan_submit(MPIJOB, values, "team-a")
    except BadInput:
        return
    words = shlex.split(plan.shell)
    again = dict(one.split("=", 1) for before, one in itertools.pairwise(words) if before == "--set")
    assert plan_submit(MPIJOB, again).calls == plan.calls


def test_kill_deletes_this_very_object_and_says_what_goes_with_it() -> None:
    members = (pod("llm-launcher", gpus=0), pod("llm-worker-0"), pod("llm-worker-1", "Pending"))
    one = job(
        gpus_allocated=4, nodes=("n1", "n2"), pod_uids=tuple(each.uid for each in members), queue="gpu-lq"
    )
    plan = plan_kill(one, store_of(*members), context="prod")
    (call,) = plan.calls
    assert (call.method, call.path) == ("DELETE", "/apis/kubeflow.org/v2beta1/namespaces/team-a/mpijobs/llm")
    assert call.body == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Background",
        "preconditions": {"uid": "uid-llm", "resourceVersion": "41"},
    }
    assert plan.lines == (
        "delete mpijob team-a/llm (running)",
        "3 pods will be deleted, 2 of them running",
        "4 GPUs become free on 1 node",
        REMAINS,
    )
    assert plan.is_destructive
    assert plan.shell == "cockpit job kill mpijob/team-a/llm --context prod --write"


def test_killing_a_queued_job_says_that_it_holds_nothing() -> None:
    plan = plan_kill(job(state=JobState.QUEUED, queue="gpu-lq"), store_of())
    assert plan.lines[1:] == (
        "it has no pods",
        "it has no GPU",
        "it leaves queue gpu-lq",
        REMAINS,
    )


def test_bare_pods_are_deleted_one_by_one_each_with_its_own_preconditions() -> None:
    members = (pod("p0"), pod("p1"))
    plan = plan_kill(job("p0", kind="Pod", pod_uids=("uid-p0", "uid-p1")), store_of(*members))
    assert [one.path for one in plan.calls] == [
        "/api/v1/namespaces/team-a/pods/p0",
        "/api/v1/namespaces/team-a/pods/p1",
    ]
    assert [one.body["preconditions"]["uid"] for one in plan.calls] == ["uid-p0", "uid-p1"]


def test_other_kinds_need_the_clusters_word_for_their_path() -> None:
    notebook = job(kind="Notebook")
    with pytest.raises(BadInput, match=r"does not serve Notebook of x\.io/v1"):
        plan_kill(notebook, store_of())
    served = Resource("x.io", "v1", "notebooks", "Notebook", namespaced=True)
    plan = plan_kill(notebook, store_of(), lookup=lambda _version, _kind: served)
    assert plan.calls[0].path == "/apis/x.io/v1/namespaces/team-a/notebooks/llm"
    assert "everything it serves stops" in plan.warnings[0]


def test_a_child_is_made_again_by_its_owner() -> None:
    owner = OwnerRef("jobset.x-k8s.io/v1alpha2", "JobSet", "set", "uid-set")
    plan = plan_kill(job(), store_of(mpijobs=(_mpijob_record(owner=owner),)))
    assert plan.warnings == ("JobSet set owns it and may recreate it",)


def test_nothing_is_killed_twice_or_by_name_alone() -> None:
    with pytest.raises(BadInput, match="is already being deleted"):
        plan_kill(job(state=JobState.FINISHING), store_of())
    with pytest.raises(BadInput, match="not deleted by name alone"):
        plan_kill(job(uid=""), store_of())


def test_a_plan_made_again_at_yes_is_used_only_when_it_says_the_same() -> None:
    shown = plan_kill(job(), store_of())
    newer = plan_kill(job(resource_version="99"), store_of())
    assert confirmed(shown, newer).calls[0].body["preconditions"]["resourceVersion"] == "99"
    with pytest.raises(Refused, match="the action would now have a different effect"):
        confirmed(shown, plan_kill(job(state=JobState.SUCCEEDED), store_of()))
    with pytest.raises(Refused):
        confirmed(shown, plan_kill(job(uid="another"), store_of()))


def test_scale_carries_the_line_that_would_do_the_same() -> None:
    store = pool_store([node("a", pool="h100")], pools=[deployment(replicas=1)])
    (pool,) = pools_of(store)
    plan = plan_pool_scale(pool, 3, store, terms=PoolTerms(), context="prod")
    assert plan.shell == "cockpit pool scale h100 --to 3 --context prod --write"
    assert plan.calls[0].body["spec"] == {"replicas": 3}
    assert read_replicas(" 3 ") == 3
    for bad in ("", "three", "3.5", "٣", "+3", "9" * 20):
        with pytest.raises(BadInput, match=r"number of nodes.*: write .* such as 4"):
            read_replicas(bad)


def test_names_of_jobs() -> None:
    jobs = [job("llm"), job("llm", "team-b"), job("llm", "team-b", "Job"), job("eval")]
    assert job_named(jobs, "eval").name == "eval"
    assert job_named(jobs, "llm", Namespaces(("team-a",))).namespace == "team-a"
    assert job_named(jobs, "team-a/llm").kind == "MPIJob"
    assert job_named(jobs, "Job/team-b/llm").kind == "Job"
    with pytest.raises(BadInput, match="is ambiguous: mpijob/team-a/llm, job/team-b/llm, mpijob/team-b/llm"):
        job_named(jobs, "llm")
    with pytest.raises(BadInput, match="is ambiguous"):
        job_named(jobs, "team-b/llm")
    with pytest.raises(BadInput, match="there is no job 'evil'; did you mean team-a/eval"):
        job_named(jobs, "evil")
    with pytest.raises(BadInput, match="is not a job: write name"):
        job_named(jobs, "a//b")


def test_plans_are_values() -> None:
    plan = plan_kill(job(), store_of())
    assert msgspec.json.decode(msgspec.json.encode(plan))["verb"] == "kill"
