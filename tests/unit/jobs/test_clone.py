"""What is made from an object is what its author wrote, and nothing of controllers, webhooks and engines."""

import copy
import json
from typing import Any

import pytest

from cockpit.gangs import registry
from cockpit.jobs.clone import as_written
from cockpit.k8s.controller_marks import MARKS

UID = "1b4e28ba-2fa1-41d2-883f-0016d3cca427"
KUEUE = "kueue.x-k8s.io"
GATE = {"name": f"{KUEUE}/topology"}
MINE = {"name": "example.com/wait"}


def _template(**spec: Any) -> dict[str, Any]:
    return {"metadata": {}, "spec": {"containers": [{"name": "main", "image": "a:1"}], **spec}}


def _job(template: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "fit", "namespace": "team-a", "uid": UID, **metadata},
        "spec": {"template": template},
    }


def _owns(manager: str, *fields: str, **more: Any) -> dict[str, Any]:
    """An entry of managedFields: `fields` are ways of keys that are divided by spaces."""
    tree: dict[str, Any] = {}
    for field in fields:
        here = tree
        for key in field.split():
            here = here.setdefault(key if key.startswith("k:") else f"f:{key}", {})
    return {"manager": manager, "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": tree, **more}


CONTAINERS = 'spec template spec containers k:{"name":"main"} image'


@pytest.mark.parametrize("key", sorted({*MARKS, *registry.written_labels()}))
def test_no_mark_of_a_controller_is_taken_along(key: str) -> None:
    name = f"{key}x" if key.endswith(("/", "-", ".")) else key
    template = _template()
    template["metadata"] = {"labels": {name: "x", "mine": "y"}, "annotations": {name: "x"}}
    made = as_written(_job(template, labels={name: "x"}, annotations={name: "x", "mine": "y"}))
    assert made["metadata"] == {"name": "fit", "namespace": "team-a", "annotations": {"mine": "y"}}
    assert made["spec"]["template"]["metadata"] == {"labels": {"mine": "y"}}


def test_what_only_a_controller_owns_is_left_out_and_what_an_author_owns_too_stays() -> None:
    template = _template(nodeSelector={"flavor": "h100", "both": "b", "mine": "m"})
    template["metadata"] = {"labels": {"app": "a", "seen-by": "c"}}
    where = "spec template spec nodeSelector"
    fields = [
        _owns(
            "kubectl-create",
            CONTAINERS,
            f"{where} mine",
            f"{where} both",
            "spec template metadata labels app",
        ),
        _owns(
            "quota-controller", f"{where} flavor", f"{where} both", "spec template metadata labels seen-by"
        ),
        _owns("quota-controller", "metadata annotations told", "metadata labels tier"),
        _owns("watcher", "metadata annotations of-status", subresource="status"),
    ]
    made = as_written(
        _job(
            template,
            annotations={"told": "x", "of-status": "y"},
            labels={"tier": "x"},
            managedFields=fields,
        )
    )
    assert made["spec"]["template"]["spec"]["nodeSelector"] == {"both": "b", "mine": "m"}
    assert made["spec"]["template"]["metadata"] == {"labels": {"app": "a"}}
    assert made["metadata"] == {"name": "fit", "namespace": "team-a", "annotations": {"of-status": "y"}}


def test_a_program_that_submits_jobs_is_their_author() -> None:
    fields = [
        _owns("train-submitter", CONTAINERS, "metadata labels team"),
        _owns("some-operator", "metadata labels state"),
    ]
    made = as_written(_job(_template(), labels={"team": "a", "state": "b"}, managedFields=fields))
    assert made["metadata"]["labels"] == {"team": "a"}


def test_what_a_person_applied_stays_although_a_controller_has_written_the_same_since() -> None:
    applied = {"metadata": {"labels": {"tier": "gold", "other": "x"}}}
    fields = [
        _owns("kubectl-client-side-apply", CONTAINERS),
        _owns("op", "metadata labels tier", "metadata labels other"),
    ]
    notes = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(applied)}
    labels = {"tier": "gold", "other": "changed"}
    made = as_written(_job(_template(), labels=labels, annotations=notes, managedFields=fields))
    assert made["metadata"]["labels"] == {"tier": "gold"}
    assert "annotations" not in made["metadata"]


def test_pods_are_as_their_engine_found_them() -> None:
    mine, flavors = {"key": "mine", "operator": "Exists"}, {"key": "gpu", "operator": "Exists"}
    template = _template(
        nodeSelector={"pool": "mine", "flavor": "h100"},
        tolerations=[mine, flavors],
        schedulingGates=[MINE, GATE],
    )
    template["metadata"] = {
        "labels": {"app": "a", f"{KUEUE}/podset": "main"},
        "annotations": {f"{KUEUE}/workload": "job-fit-1", f"{KUEUE}/podset-unconstrained-topology": "true"},
    }
    found: dict[str, Any] = {
        "metadata": {"labels": {"app": "a"}},
        "spec": {"nodeSelector": {"pool": "mine"}, "tolerations": [mine]},
    }
    found["spec"]["schedulingGates"] = [MINE]
    workload = {"spec": {"podSets": [{"name": "main", "count": 1, "template": found}]}}
    made = as_written(_job(template), workload)["spec"]["template"]
    assert made == {
        "metadata": {"labels": {"app": "a"}},
        "spec": {
            "containers": [{"name": "main", "image": "a:1"}],
            "nodeSelector": {"pool": "mine"},
            "tolerations": [mine],
            "schedulingGates": [MINE],
        },
    }


def test_a_workload_that_took_over_the_mark_of_an_older_one_hands_it_to_nobody() -> None:
    template = _template()
    template["metadata"]["annotations"] = {f"{KUEUE}/workload": "job-fit-old", "mine": "y"}
    workload = {"spec": {"podSets": [{"name": "main", "template": copy.deepcopy(template)}]}}
    assert as_written(_job(template), workload)["spec"]["template"]["metadata"] == {
        "annotations": {"mine": "y"}
    }


def test_a_gate_of_the_author_stays_and_that_of_a_controller_goes() -> None:
    template = _template(schedulingGates=[GATE, MINE, {"name": "other.example/gate"}])
    gate = 'spec template spec schedulingGates k:{"name":"other.example/gate"}'
    fields = [_owns("kubectl", CONTAINERS), _owns("other-controller", gate)]
    made = as_written(_job(template, managedFields=fields))
    assert made["spec"]["template"]["spec"]["schedulingGates"] == [MINE]


def test_a_value_that_holds_the_uid_was_written_about_this_very_object() -> None:
    notes = {"scheduling.k8s.io/group-name": f"podgroup-{UID}", "team": "a"}
    pod: dict[str, Any] = {
        "kind": "Pod",
        "metadata": {"name": "p", "uid": UID, "annotations": notes},
        "spec": {"containers": []},
    }
    assert as_written(pod)["metadata"] == {"name": "p", "annotations": {"team": "a"}}
    named = {"scheduling.k8s.io/group-name": "our-group"}
    assert (
        as_written({**pod, "metadata": {**pod["metadata"], "annotations": named}})["metadata"]["annotations"]
        == named
    )


def test_a_pod_is_what_it_was_before_the_server_and_its_webhooks_saw_it() -> None:
    token = {"name": "kube-api-access-x", "mountPath": "/var/run"}
    status = {"containers": ["istio-proxy"], "initContainers": ["istio-init"], "volumes": ["istio-envoy"]}
    pod = {
        "kind": "Pod",
        "metadata": {
            "name": "p",
            "annotations": {
                "sidecar.istio.io/status": json.dumps(status),
                "vault.hashicorp.com/agent-inject-status": "injected",
                "vault.hashicorp.com/agent-inject": "true",
            },
        },
        "spec": {
            "containers": [
                {"name": "main", "volumeMounts": [token, {"name": "vault-secrets"}, {"name": "data"}]},
                {"name": "istio-proxy"},
                {"name": "vault-agent"},
            ],
            "initContainers": [{"name": "istio-init"}],
            "volumes": [{"name": "kube-api-access-x"}, {"name": "istio-envoy"}, {"name": "data"}],
            "nodeName": "n1",
            "priority": 5,
            "priorityClassName": "high",
            "preemptionPolicy": "PreemptLowerPriority",
        },
    }
    made = as_written(pod)
    assert made["spec"] == {
        "containers": [{"name": "main", "volumeMounts": [{"name": "data"}]}],
        "volumes": [{"name": "data"}],
        "priorityClassName": "high",
    }
    assert made["metadata"]["annotations"] == {"vault.hashicorp.com/agent-inject": "true"}


def test_a_node_that_a_person_named_in_a_template_stays() -> None:
    assert as_written(_job(_template(nodeName="n1")))["spec"]["template"]["spec"]["nodeName"] == "n1"


def test_a_job_that_was_let_in_with_fewer_pods_asks_for_all_again() -> None:
    tree = _job(_template())
    tree["spec"] |= {"parallelism": 3, "completions": 3}
    tree["metadata"]["annotations"] = {f"{KUEUE}/job-completions-equal-parallelism": "true"}
    workload = {"spec": {"podSets": [{"name": "main", "count": 8, "minCount": 2, "template": _template()}]}}
    made = as_written(tree, workload)["spec"]
    assert (made["parallelism"], made["completions"]) == (8, 8)


def test_what_the_queue_wrote_into_the_specs_of_other_kinds_is_taken_out() -> None:
    mine = {"manager": "me", "trainingRuntimeSpec": {}}
    patches = [mine, {"manager": f"{KUEUE}/manager", "trainingRuntimeSpec": {}}]
    override = {"targetJobs": [{"name": "node"}], "metadata": {"labels": {f"{KUEUE}/podset": "node"}}}
    train: dict[str, Any] = {
        "kind": "TrainJob",
        "metadata": {"name": "t"},
        "spec": {"runtimePatches": patches},
    }
    train["spec"]["podTemplateOverrides"] = [override]
    assert as_written(train)["spec"] == {"runtimePatches": [mine]}
    wrapper = {
        "kind": "AppWrapper",
        "metadata": {"name": "w"},
        "spec": {"components": [{"podSetInfos": [], "template": {}}]},
    }
    assert as_written(wrapper)["spec"] == {"components": [{"template": {}}]}


def test_making_it_twice_changes_nothing_more() -> None:
    template = _template(nodeSelector={"a": "b"}, schedulingGates=[MINE])
    once = as_written(_job(template, labels={f"{KUEUE}/queue-name": "q"}))
    assert as_written(once) == once
