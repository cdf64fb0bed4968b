"""Requests that cannot be: status and reason of each, and that nothing was done."""

from typing import Any

import pytest

from tests.bed.api import APPLY, JSON_PATCH, MERGE, Api
from tests.contract.asking import in_space
from tests.contract.shapes import configmap, pod

JSON = "application/json"

CASES: list[tuple[str, str, str, Any, dict[str, Any], int, str]] = [
    ("a method", "POST", "/api/v1/pods", pod("p"), {}, 405, "MethodNotAllowed"),
    ("a collection by PUT", "PUT", "MAPS", {}, {}, 405, "MethodNotAllowed"),
    ("all namespaces", "DELETE", "/api/v1/namespaces", None, {}, 405, "MethodNotAllowed"),
    ("a resource", "GET", "/api/v1/foos", None, {}, 404, "NotFound"),
    ("a scope", "GET", "/api/v1/namespaces/default/nodes", None, {}, 404, "NotFound"),
    ("a subresource", "GET", "MAPS/kept/status", None, {}, 404, "NotFound"),
    ("an object", "GET", "MAPS/gone", None, {}, 404, "NotFound"),
    (
        "another kind",
        "POST",
        "MAPS",
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "z"}},
        {},
        400,
        "BadRequest",
    ),
    (
        "another version",
        "POST",
        "MAPS",
        {"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "z"}},
        {},
        400,
        "BadRequest",
    ),
    ("a list for an object", "POST", "MAPS", b"[1]", {}, 400, "BadRequest"),
    ("half an object", "POST", "MAPS", b"{", {}, 400, "BadRequest"),
    ("half a YAML", "POST", "MAPS", b"a: [", {"content_type": "application/yaml"}, 400, "BadRequest"),
    ("an encoding", "POST", "MAPS", b"x", {"content_type": "text/plain"}, 415, "UnsupportedMediaType"),
    (
        "a kind of patch",
        "PATCH",
        "MAPS/kept",
        {},
        {"content_type": "application/x-patch"},
        415,
        "UnsupportedMediaType",
    ),
    ("a patch of nothing", "PATCH", "MAPS/gone", [1], {"content_type": MERGE}, 404, "NotFound"),
    (
        "an apply without a manager",
        "PATCH",
        "MAPS/x",
        configmap("x"),
        {"content_type": APPLY},
        422,
        "Invalid",
    ),
    (
        "force without apply",
        "PATCH",
        "MAPS/kept",
        {},
        {"content_type": MERGE, "query": [("force", "true")]},
        422,
        "Invalid",
    ),
    ("half a dry run", "POST", "MAPS", configmap("q"), {"query": [("dryRun", "Some")]}, 422, "Invalid"),
    (
        "a loose validation",
        "POST",
        "MAPS",
        configmap("q"),
        {"query": [("fieldValidation", "Loose")]},
        422,
        "Invalid",
    ),
    ("a policy", "DELETE", "MAPS/kept", {"propagationPolicy": "Somehow"}, {}, 422, "Invalid"),
    ("a limit", "GET", "MAPS", None, {"query": [("limit", "many")]}, 400, "BadRequest"),
]


@pytest.mark.parametrize("case", CASES, ids=[one[0] for one in CASES])
def test_a_request_that_cannot_be_is_refused(
    space: str, kept: str, admin: Api, case: tuple[Any, ...]
) -> None:
    _, method, path, body, more, status, reason = case
    reply = admin.request(method, path.replace("MAPS", in_space(space, "configmaps")), body, **more)
    told = reply.json()
    assert (reply.status, told["reason"]) == (status, reason)
    assert (told["kind"], told["apiVersion"], told["status"], told["code"]) == (
        "Status",
        "v1",
        "Failure",
        status,
    )
    assert admin.get(kept)["data"] == {"a": "1", "b": "2"}, "nothing was done"


DETAILS: list[tuple[str, str, Any, dict[str, Any], dict[str, Any] | None]] = [
    ("GET", "MAPS/gone", None, {}, {"name": "gone", "kind": "configmaps"}),
    ("POST", "MAPS", configmap("kept"), {}, {"name": "kept", "kind": "configmaps"}),
    ("GET", "/api/v1/foos", None, {}, {}),
    ("POST", "MAPS", b"{", {}, None),
    ("PATCH", "JOBS/gone", {}, {"content_type": MERGE}, {"name": "gone", "group": "batch", "kind": "jobs"}),
]


@pytest.mark.parametrize(("method", "path", "body", "more", "wanted"), DETAILS)
def test_a_refusal_tells_what_it_is_about(
    space: str,
    kept: str,
    admin: Api,
    method: str,
    path: str,
    body: Any,
    more: dict[str, Any],
    wanted: dict[str, Any] | None,
) -> None:
    path = path.replace("MAPS", in_space(space, "configmaps"))
    path = path.replace("JOBS", in_space(space, "jobs", base="/apis/batch/v1"))
    assert admin.request(method, path, body, **more).json().get("details") == wanted


def test_a_path_that_no_group_has_is_no_page(admin: Api) -> None:
    for path in ("/apis/nothing.test/v1/things", "/nothing"):
        reply = admin.request("GET", path)
        assert (reply.status, reply.body) == (404, b"404 page not found\n")


def test_a_json_patch_that_fails_its_test_is_refused_without_details(kept: str, admin: Api) -> None:
    steps = [{"op": "test", "path": "/data/a", "value": "9"}]
    reply = admin.request("PATCH", kept, steps, content_type=JSON_PATCH)
    assert reply.status == 422
    assert reply.json()["message"] == "the server rejected our request due to an error in our request"


def test_what_is_deleted_is_told_by_name_and_uid(kept: str, admin: Api) -> None:
    uid = admin.get(kept)["metadata"]["uid"]
    told = admin.request("DELETE", kept).json()
    assert told["status"] == "Success"
    assert told["details"] == {"name": "kept", "kind": "configmaps", "uid": uid}


def test_a_version_from_the_future_is_a_timeout_with_a_cause(kept: str, admin: Api) -> None:
    reply = admin.request("GET", kept.rpartition("/")[0], query=[("resourceVersion", "999999999")])
    told = reply.json()
    assert (reply.status, told["reason"]) == (504, "Timeout")
    assert told["message"].startswith("Timeout: Too large resource version: 999999999, current: ")
    assert told["details"] == {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
