"""Paths, Accept headers, options and bodies: read as the real server reads them."""

from typing import Any

import pytest
from multidict import MultiDict

from cockpit.sim.port import PatchType, PortError
from cockpit.sim.server.http.accept import form_of
from cockpit.sim.server.http.bodies import object_of, patch_of, patch_type_of
from cockpit.sim.server.http.proxy import parse
from cockpit.sim.server.http.query import delete_options, list_options, watch_options, write_options
from cockpit.sim.server.http.target import target_of


def _told(method: str, path: str, **query: str) -> str:
    target = target_of(method, path, query)
    if not target.is_resource:
        return f"{target.verb} {target.path}"
    asked = target.attributes
    name = f" {asked.name}" if asked.name else ""
    group = f".{asked.group}" if asked.group else ""
    return f"{asked.verb} {asked.combined}{group}{name} in {asked.namespace!r}"


@pytest.mark.parametrize(
    ("method", "path", "query", "told"),
    [
        ("GET", "/api/v1/pods", {}, "list pods in ''"),
        ("GET", "/api/v1/pods", {"watch": "1"}, "watch pods in ''"),
        ("GET", "/api/v1/pods", {"watch": "false"}, "list pods in ''"),
        ("GET", "/api/v1/namespaces/a/pods/p", {}, "get pods p in 'a'"),
        ("GET", "/api/v1/namespaces/a/pods/p/log", {}, "get pods/log p in 'a'"),
        ("POST", "/api/v1/namespaces/a/pods/p/eviction", {}, "create pods/eviction p in 'a'"),
        ("GET", "/api/v1/namespaces", {}, "list namespaces in ''"),
        ("GET", "/api/v1/namespaces/a", {}, "get namespaces a in 'a'"),
        ("PATCH", "/api/v1/namespaces/a/status", {}, "patch namespaces/status a in 'a'"),
        ("DELETE", "/apis/batch/v1/namespaces/a/jobs", {}, "deletecollection jobs.batch in 'a'"),
        ("DELETE", "/apis/batch/v1/namespaces/a/jobs/j", {}, "delete jobs.batch j in 'a'"),
        ("PUT", "/api/v1/nodes/n", {}, "update nodes n in ''"),
        ("GET", "/api/v1/pods", {"fieldSelector": "metadata.name=p"}, "list pods p in ''"),
        ("GET", "/api/v1/pods", {"fieldSelector": "spec.nodeName=n"}, "list pods in ''"),
        ("GET", "/healthz", {}, "get /healthz"),
        ("GET", "/apis/batch/v1", {}, "get /apis/batch/v1"),
        ("GET", "/", {}, "get /"),
    ],
)
def test_what_a_path_asks_for(method: str, path: str, query: dict[str, str], told: str) -> None:
    assert _told(method, path, **query) == told


def test_what_follows_a_proxy_stays_as_it_was_written() -> None:
    target = target_of("GET", "/api/v1/namespaces/a/services/http:prom:9090/proxy/api/v1/label/a%2Fb/", {})
    assert (target.name, target.subresource) == ("http:prom:9090", "proxy")
    assert target.rest == "api/v1/label/a%2Fb/"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("p", ("http", "p", "")),
        ("p:8080", ("http", "p", "8080")),
        ("https:p:metrics", ("https", "p", "metrics")),
    ],
)
def test_names_behind_a_proxy(text: str, parts: tuple[str, str, str]) -> None:
    assert parse(text, "pod") == parts


def test_a_name_with_too_many_parts_is_refused() -> None:
    with pytest.raises(PortError, match='invalid pod request "a:b:c:d"'):
        parse("a:b:c:d", "pod")


@pytest.mark.parametrize(
    ("header", "form"),
    [
        ("", ""),
        ("*/*", ""),
        ("application/json", ""),
        ("application/vnd.kubernetes.protobuf, application/json", ""),
        ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", "Table"),
        ("application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", ""),
        ("application/json;q=0.1,application/json;as=Table;v=v1;g=meta.k8s.io", "Table"),
        (
            "application/json;stream=watch;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
            "PartialObjectMetadata",
        ),
    ],
)
def test_the_form_that_is_served(header: str, form: str) -> None:
    assert form_of(header).as_ == form


@pytest.mark.parametrize("header", ["application/vnd.kubernetes.protobuf", "application/cbor", "text/html"])
def test_what_is_not_spoken_is_refused(header: str) -> None:
    with pytest.raises(PortError) as caught:
        form_of(header)
    assert (caught.value.status, caught.value.reason) == (406, "NotAcceptable")


def test_aggregated_discovery_is_asked_for_by_its_whole_name() -> None:
    header = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
    assert form_of(header, discovery=True).as_ == "APIGroupDiscoveryList"
    old = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
    assert form_of(old, discovery=True).as_ == ""


# ---- options


def test_options_of_a_list_and_a_watch() -> None:
    listed = list_options({"labelSelector": "a=b", "limit": "5", "continue": "x"})
    assert (listed.labels, listed.limit, listed.continue_token) == ("a=b", 5, "x")
    watched = watch_options({"allowWatchBookmarks": "true", "sendInitialEvents": "false"})
    assert (watched.bookmarks, watched.initial_events) == (True, False)
    assert watch_options({}).initial_events is None
    with pytest.raises(PortError, match='parsing "many"'):
        list_options({"limit": "many"})


def test_the_manager_of_who_names_none_is_its_agent() -> None:
    assert write_options("PatchOptions", {}, [], "kubectl/v1.36 (linux)").field_manager == "kubectl"
    assert write_options("PatchOptions", {}, [], "").field_manager == "unknown"
    assert write_options("PatchOptions", {"fieldManager": "me"}, [], "kubectl/v1").field_manager == "me"


@pytest.mark.parametrize(
    ("query", "dry_runs", "patch", "words"),
    [
        ({}, [], PatchType.APPLY, "fieldManager: Required value: is required for apply patch"),
        ({"force": "true"}, [], PatchType.MERGE, "force: Forbidden"),
        ({}, ["Some"], None, "dryRun: Unsupported value"),
        ({"fieldValidation": "Loose"}, [], None, 'fieldValidation: Unsupported value: "Loose"'),
        ({"fieldManager": "a\nb"}, [], None, "printable"),
    ],
)
def test_options_that_are_refused(
    query: dict[str, str], dry_runs: list[str], patch: PatchType | None, words: str
) -> None:
    with pytest.raises(PortError, match=words) as caught:
        write_options("PatchOptions", query, dry_runs, "test/1", patch)
    assert caught.value.status == 422
    assert caught.value.message.startswith('PatchOptions.meta.k8s.io "" is invalid: ')


def test_a_delete_with_a_body_overlooks_its_query() -> None:
    query = MultiDict({"dryRun": "All", "gracePeriodSeconds": "5"})
    options, dry_run = delete_options(query, ["All"], {"kind": "DeleteOptions"})
    assert not dry_run
    assert options.grace_seconds is None
    options, dry_run = delete_options(query, ["All"], None)
    assert dry_run
    assert options.grace_seconds == 5


def test_an_unknown_policy_is_named() -> None:
    with pytest.raises(PortError, match='propagationPolicy: Unsupported value: "Somehow"'):
        delete_options({}, [], {"propagationPolicy": "Somehow"})


# ---- bodies


@pytest.mark.parametrize("kind", ["", "application/json; charset=utf-8", "application/yaml"])
def test_a_body_in_either_notation(kind: str) -> None:
    body = b"kind: Pod\nspec: {a: 1}" if "yaml" in kind else b'{"kind":"Pod","spec":{"a":1}}'
    assert object_of(body, kind) == {"kind": "Pod", "spec": {"a": 1}}


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b"[]", "application/json", 400),
        (b"a: [", "application/yaml", 400),
        (b"{}", "application/vnd.kubernetes.protobuf", 400),
        (b"k8s\0\x0a\xff", "application/vnd.kubernetes.protobuf", 400),
        (b"{}", "application/cbor", 415),
    ],
)
def test_a_body_that_is_no_object(body: bytes, kind: str, status: int) -> None:
    with pytest.raises(PortError) as caught:
        object_of(body, kind)
    assert caught.value.status == status


def test_a_patch_is_of_the_kind_that_its_header_says() -> None:
    for kind in PatchType:
        assert patch_type_of(kind.value, is_custom=False) is kind
    assert patch_of(b"[]", PatchType.JSON) == []
    assert patch_of(b"a: 1", PatchType.APPLY) == {"a": 1}


@pytest.mark.parametrize(
    ("body", "kind", "is_custom", "status"),
    [
        (b"{}", PatchType.STRATEGIC, True, 415),
        (b"{}", "application/json", False, 415),
        (b"{}", PatchType.JSON, False, 400),
        (b"[]", PatchType.MERGE, False, 400),
    ],
)
def test_a_patch_that_is_refused(body: bytes, kind: Any, is_custom: bool, status: int) -> None:
    with pytest.raises(PortError) as caught:
        patch_of(body, patch_type_of(kind, is_custom=is_custom))
    assert caught.value.status == status
