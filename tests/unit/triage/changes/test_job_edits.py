"""A job with other lines: the operations, the job as it then is, and the command."""

import json

import pytest

from cockpit.k8s.json_patch import edited, pointed
from cockpit.model.finding import Finding
from cockpit.triage.changes.job_edits import edit_command, pod_spec_places
from cockpit.triage.changes.smallest import changes_for
from tests.unit.triage.changes.test_changes import WAITS, waiting
from tests.unit.triage.objects import Tree, changes_of, job, node, pods_of, view_of

POOL = "example.com/pool"


def test_a_pointer_escapes_what_pointers_are_made_of() -> None:
    assert pointed("a/b", "c~d") == "/a~1b/c~0d"


def test_operations_are_done_on_a_copy() -> None:
    tree = {"spec": {"list": [1, 2], "labels": {"a/b": "c"}}}
    made = edited(
        tree,
        (
            {"op": "add", "path": "/spec/list/-", "value": 3},
            {"op": "remove", "path": "/spec/list/0"},
            {"op": "remove", "path": "/spec/labels/a~1b"},
            {"op": "replace", "path": "/spec/list/0", "value": 9},
        ),
    )
    assert made == {"spec": {"list": [9, 3], "labels": {}}}
    assert tree == {"spec": {"list": [1, 2], "labels": {"a/b": "c"}}}
    with pytest.raises(KeyError):
        edited(tree, ({"op": "remove", "path": "/spec/none/here"},))


def test_every_pod_spec_of_an_object_is_found() -> None:
    one: Tree = {"template": {"spec": {"containers": []}}}
    tree = {"kind": "MPIJob", "spec": {"mpiReplicaSpecs": {"Launcher": one, "Worker": one}}}
    pointers = [place.pointer for place in pod_spec_places(tree)]
    assert pointers == [f"/spec/mpiReplicaSpecs/{role}/template/spec" for role in ("Launcher", "Worker")]


def test_a_job_with_other_lines_is_recreated_and_a_deployment_patched() -> None:
    without = ({"op": "remove", "path": "/spec/template/spec/nodeSelector"},)
    words = edit_command(job("waits", 1, 8), without, "team-a/waits")
    assert words[:5] == ("cockpit", "job", "recreate", "team-a/waits", "--patch")
    assert json.loads(words[5]) == [*without]
    assert words[6:] == ("--write",)
    served = {**job("waits", 1, 8), "apiVersion": "apps/v1", "kind": "Deployment"}
    patched = edit_command(served, without, "team-a/waits")
    assert patched[:4] == ("kubectl", "patch", "deployment.apps", "waits")


def test_an_offer_changes_what_the_author_wrote_and_not_what_the_queue_did() -> None:
    one = job("waits", 2, 8, nodeSelector={POOL: "h100"})
    template = one["spec"]["template"]
    template["metadata"] = {"annotations": {"kueue.x-k8s.io/workload": "job-waits-1"}}
    trees = [node(name, labels={POOL: "a100"}) for name in "abc"]
    (found,) = (
        offer
        for offer in changes_of(WAITS, view_of([*trees, one, *pods_of(one, ())]))
        if offer.kind == "other_pool"
    )
    assert found.verb == "job.recreate"
    (operation,) = json.loads(found.command[5])
    assert operation["path"] == "/spec/template/spec/nodeSelector/example.com~1pool"


def test_two_changes_are_offered_where_one_does_not_start_the_job() -> None:
    trees = [node("a", 8, labels={POOL: "a100"}), *waiting(gpus=16, nodeSelector={"gpu": "none"})]
    (found, *_) = changes_for(Finding(subject=WAITS), view_of(trees))
    assert [one.kind for one in found.steps] == ["drop_selector", "fewer_gpus"]
    assert "&&" in found.command
    assert found.is_checked


def test_room_is_not_offered_while_something_stands_that_no_fit_sees() -> None:
    trees = [node("a", 4), *waiting()]
    assert changes_for(Finding(subject=WAITS), view_of(trees))
    assert changes_for(Finding(subject=WAITS, cause="several-schedulers"), view_of(trees)) == ()
