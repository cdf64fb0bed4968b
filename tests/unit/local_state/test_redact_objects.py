"""Objects without names: what they say of whose they are is gone, what a verdict rests on is not."""

import json
import re
from pathlib import Path

import msgspec
import pytest

from cockpit.local_state.redact_objects import Redaction
from cockpit.model.finding import Subject
from cockpit.triage import controllers
from cockpit.triage.engine import explain
from tests.triage.case import CASES, Case, read_case
from tests.triage.world import view_of

PUBLIC = ("x-k8s.io", "volcano.sh", "kai.scheduler")
ALL = sorted(CASES.glob("*/case.json"))


def redacted(case: Case) -> tuple[Case, Redaction]:
    hidden = Redaction(PUBLIC, controllers.known())
    objects = hidden.objects(case.objects)
    asked = case.file.subject
    subject = Subject(asked.kind, hidden.name(asked.namespace), hidden.name(asked.name))
    logs = {
        "/".join(map(hidden.name, key.split("/"))): [hidden.text(line) for line in lines]
        for key, lines in case.logs.items()
    }
    metrics = hidden.text(case.metrics)
    file = msgspec.structs.replace(case.file, subject=subject)
    return Case(case.name, file, objects, logs, metrics), hidden


@pytest.mark.parametrize("place", ALL, ids=lambda place: place.parent.name)
def test_the_verdict_is_the_same_without_names(place: Path) -> None:
    case = read_case(place.parent)
    made, _ = redacted(case)
    before = explain(case.file.subject, view_of(case))
    after = explain(made.file.subject, view_of(made))
    assert (after.cause, after.sureness, after.also) == (before.cause, before.sureness, before.also)


@pytest.mark.parametrize("place", ALL, ids=lambda place: place.parent.name)
def test_no_name_of_a_namespace_or_job_is_left(place: Path) -> None:
    case = read_case(place.parent)
    made, _ = redacted(case)
    text = json.dumps(made.objects)
    names = {one["metadata"]["name"] for one in case.objects.get("namespaces", ())} - {"default"}
    names = {one for one in names if not one.startswith("kube")} | {case.file.subject.name}
    left = [one for one in names if len(one) > 5 and re.search(rf"\b{re.escape(one)}\b", text)]
    assert left == []


def test_names_are_replaced_alike_and_words_that_mean_something_stay() -> None:
    hidden = Redaction()
    job, worker = hidden.name("llm-70b"), hidden.name("llm-70b-worker-0")
    assert worker == f"{job}-worker-0"
    assert hidden.name("nvidia.com/gpu") == "nvidia.com/gpu"
    assert hidden.name("16Gi") == "16Gi"
    assert hidden.name("3b9c1e6a-8a53-4b0e-9d0c-2f7f1f6f9a11") == "3b9c1e6a-8a53-4b0e-9d0c-2f7f1f6f9a11"


def test_what_could_be_a_secret_is_not_there() -> None:
    container = {
        "name": "main",
        "image": "registry.acme.example/x:1",
        "args": ["--key", "k"],
        "env": [
            {"name": "PASSWORD", "value": "hunter2"},
            {"name": "MAP", "valueFrom": {"configMapKeyRef": {"name": "acme-map", "key": "mode"}}},
        ],
    }
    tree = {
        "metadata": {
            "name": "acme-0",
            "annotations": {"acme.example/note": "call ann", "x.kubernetes.io/text": "call ann, room 7"},
        },
        "spec": {"containers": [container], "description": "the secret project"},
        "status": {"message": "acme-0 at 10.1.2.3 pulls registry.acme.example/x:1", "hostIP": "10.1.2.3"},
        "data": {"password": "hunter2"},
    }
    (made,) = Redaction().objects({"pods": [tree]})["pods"]
    text = json.dumps(made)
    for private in ("acme", "hunter2", "PASSWORD", "call", "room", "project", "10.1.2.3", "--key", "mode"):
        assert private not in text, private
    (read,) = made["spec"]["containers"][0]["env"]
    assert read["valueFrom"]["configMapKeyRef"]["name"]
