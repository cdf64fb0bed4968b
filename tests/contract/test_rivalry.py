"""Server-side apply among several managers: conflicts named in full, shared fields, fields given up."""

from typing import Any

import pytest

from tests.bed.api import APPLY, MERGE, Api, Reply
from tests.contract.asking import in_space
from tests.contract.shapes import configmap, deployment

APPS = "/apis/apps/v1"


def _apply(admin: Api, path: str, tree: dict[str, Any], manager: str, *, force: bool = False) -> Reply:
    query = [("fieldManager", manager), *([("force", "true")] if force else [])]
    return admin.request("PATCH", path, tree, query=query, content_type=APPLY)


def _owners(tree: dict[str, Any]) -> list[tuple[str, str, str]]:
    entries = tree["metadata"]["managedFields"]
    return sorted((one["manager"], one["operation"], one.get("subresource", "")) for one in entries)


def test_a_conflict_names_every_field_and_who_holds_it(space: str, admin: Api) -> None:
    path = in_space(space, "configmaps", "shared")
    assert _apply(admin, path, configmap("shared", a="1", b="1", c="1"), "tuner").status == 201
    reply = _apply(admin, path, configmap("shared", a="2", b="2", c="1"), "cockpit")
    told = reply.json()
    assert (reply.status, told["reason"]) == (409, "Conflict")
    assert told["message"] == ('Apply failed with 2 conflicts: conflicts with "tuner":\n- .data.a\n- .data.b')
    causes = [(one["reason"], one["field"], one["message"]) for one in told["details"]["causes"]]
    assert causes == [
        ("FieldManagerConflict", ".data.a", 'conflict with "tuner"'),
        ("FieldManagerConflict", ".data.b", 'conflict with "tuner"'),
    ]


def test_a_conflict_with_an_ordinary_write_says_when_and_by_which_version(space: str, admin: Api) -> None:
    path = in_space(space, "deployments", "serve", base=APPS)
    assert _apply(admin, path, deployment("serve", 1), "cockpit").status == 201
    scaled = admin.request(
        "PATCH", path, {"spec": {"replicas": 5}}, query=[("fieldManager", "hand")], content_type=MERGE
    )
    assert scaled.status == 200
    told = _apply(admin, path, deployment("serve", 1), "cockpit").json()
    assert told["message"].startswith('Apply failed with 1 conflict: conflict with "hand" using apps/v1')
    assert told["message"].endswith(": .spec.replicas")
    assert admin.get(path)["spec"]["replicas"] == 5


def test_a_scaled_object_is_owned_by_the_subresource(space: str, admin: Api) -> None:
    path = in_space(space, "deployments", "serve", base=APPS)
    assert _apply(admin, path, deployment("serve", 1), "cockpit").status == 201
    body = {"spec": {"replicas": 3}}
    scaled = admin.request(
        "PATCH", f"{path}/scale", body, query=[("fieldManager", "scaler")], content_type=MERGE
    )
    assert scaled.status == 200
    assert ("scaler", "Update", "scale") in _owners(admin.get(path))
    reply = _apply(admin, path, deployment("serve", 1), "cockpit")
    assert reply.status == 409
    assert ".spec.replicas" in reply.json()["message"]


def test_the_same_value_is_shared_without_a_conflict(space: str, admin: Api) -> None:
    path = in_space(space, "configmaps", "shared")
    _apply(admin, path, configmap("shared", a="1"), "tuner")
    assert _apply(admin, path, configmap("shared", a="1"), "cockpit").status == 200
    assert _owners(admin.get(path)) == [("cockpit", "Apply", ""), ("tuner", "Apply", "")]
    assert _apply(admin, path, configmap("shared"), "tuner").status == 200
    assert admin.get(path)["data"] == {"a": "1"}, "the other one still wants it"


def test_force_takes_a_list_item_and_leaves_its_neighbours(space: str, admin: Api) -> None:
    path = in_space(space, "deployments", "serve", base=APPS)
    first = deployment("serve", 1)
    containers = first["spec"]["template"]["spec"]["containers"]
    containers[0]["env"] = [{"name": "A", "value": "1"}]
    assert _apply(admin, path, first, "cockpit").status == 201
    second = deployment("serve", 1)
    second["spec"]["template"]["spec"]["containers"] = [
        {"name": "main", "image": "registry.test/serve:2", "env": [{"name": "B", "value": "2"}]}
    ]
    refused = _apply(admin, path, second, "tuner")
    assert refused.status == 409
    assert '.spec.template.spec.containers[name="main"].image' in refused.json()["message"]
    assert _apply(admin, path, second, "tuner", force=True).status == 200
    (container,) = admin.get(path)["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "registry.test/serve:2"
    assert container["env"] == [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"data": {"a": "1"}}, "invalid object type: /, Kind="),
        ({"apiVersion": "v1", "data": {"a": "1"}}, "invalid object type: /v1, Kind="),
    ],
    ids=["nothing", "no kind"],
)
def test_an_apply_names_its_kind(space: str, admin: Api, body: dict[str, Any], words: str) -> None:
    reply = _apply(admin, in_space(space, "configmaps", "x"), body, "cockpit")
    assert (reply.status, reply.json()["message"]) == (400, words)


def test_an_apply_of_another_name_is_refused(space: str, admin: Api) -> None:
    reply = _apply(admin, in_space(space, "configmaps", "x"), configmap("y"), "cockpit")
    assert reply.status == 400
    assert reply.json()["message"] == "the name of the object (y) does not match the name on the URL (x)"
