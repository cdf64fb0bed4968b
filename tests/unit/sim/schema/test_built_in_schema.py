"""What the server understands of built-in kinds, in its own words (recorded from 1.36), and its OpenAPI."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.k8s.quantity import canonical, quantity
from cockpit.sim.port import PortError, Tree
from cockpit.sim.server.builtin.table import built_in
from cockpit.sim.server.http.openapi import OpenAPI
from cockpit.sim.server.kinds import ServedKind
from cockpit.sim.server.schema.decode import accepted, accepted_patch, normal, zero
from cockpit.sim.server.schema.doubles import checked_for_doubles
from cockpit.sim.server.schema.kinds import built_in_kinds, shape_of
from cockpit.sim.server.schema.notation import TABLES, blocks, named
from cockpit.sim.server.schema.shape import SchemaShape
from cockpit.sim.server.storage import Storage


def _shape(group: str, kind: str) -> SchemaShape:
    shape = shape_of(group, "v1", kind)
    assert shape is not None
    return shape


JOB, POD = _shape("batch", "Job"), _shape("", "Pod")


def job(spec: Tree | None = None, container: Tree | None = None, **more: Any) -> Tree:
    inside = {"name": "c", "image": "i", **(container or {})}
    template = {"spec": {"containers": [inside], "restartPolicy": "Never"}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j"},
        "spec": {"template": template, **(spec or {})},
        **more,
    }


WRONG: list[tuple[Tree, str]] = [
    (
        job({"parallelism": "x"}),
        "spec.parallelism: expected int32, got string",
    ),
    (
        job({"parallelism": 1.5}),
        "spec.parallelism: expected int32, got 1.5",
    ),
    (
        job({"parallelism": 99999999999}),
        "spec.parallelism: expected int32, got 99999999999",
    ),
    (
        job({"template": []}),
        "spec.template: expected object, got array",
    ),
    (
        job(container={"name": 5}),
        "spec.template.spec.containers[0].name: expected string, got number",
    ),
    (
        job(container={"env": [{"name": "A", "value": True}]}),
        "spec.template.spec.containers[0].env[0].value: expected string, got bool",
    ),
    (
        job(container={"livenessProbe": {"httpGet": {"port": True}}}),
        "spec.template.spec.containers[0].livenessProbe.httpGet.port: expected integer or string, got bool",
    ),
    (
        job(container={"resources": {"limits": {"nvidia.com/gpu": "abc"}}}),
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ),
    (job() | {"spec": "x"}, "spec: expected object, got string"),
    (
        job() | {"metadata": {"name": "j", "creationTimestamp": "yesterday"}},
        'metadata.creationTimestamp: expected a time in RFC 3339, got "yesterday"',
    ),
    (
        job({"foo": 1, "bar": 2}),
        'strict decoding error: unknown field "spec.foo", unknown field "spec.bar"',
    ),
    (
        job(container={"Image": "x"}),
        'strict decoding error: unknown field "spec.template.spec.containers[0].Image"',
    ),
]


@pytest.mark.parametrize(("tree", "sentence"), WRONG)
def test_what_cannot_be_understood_is_refused(tree: Tree, sentence: str) -> None:
    with pytest.raises(PortError) as refused:
        accepted(tree, JOB, "Strict")
    assert (refused.value.status, refused.value.reason) == (400, "BadRequest")
    assert refused.value.message == f'Job in version "v1" cannot be handled as a Job: {sentence}'


def test_unknown_fields_are_warned_of_or_dropped() -> None:
    tree = job({"foo": 1})
    known, warnings = accepted(tree, JOB, "Warn")
    assert warnings == ('unknown field "spec.foo"',)
    assert "foo" not in known["spec"]
    assert accepted(tree, JOB, "Ignore")[1] == ()


def test_members_that_stand_twice_are_refused_or_warned_of() -> None:
    body = (
        b'{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","name":"k"},"spec":{"template":{"spec":'
        b'{"restartPolicy":"Never","containers":[{"name":"c","image":"i","image":"q"}]}}}}'
    )
    found = ('duplicate field "metadata.name"', 'duplicate field "spec.template.spec.containers[0].image"')
    assert checked_for_doubles(body, job(), "Warn") == found
    assert checked_for_doubles(body, job(), "Ignore") == ()
    assert checked_for_doubles(json.dumps(job()).encode(), job(), "Strict") == ()
    with pytest.raises(PortError) as refused:
        checked_for_doubles(body, job(), "Strict")
    assert refused.value.message == (
        'Job in version "v1" cannot be handled as a Job: strict decoding error: ' + ", ".join(found)
    )


def test_a_patch_that_leads_nowhere_is_quoted() -> None:
    with pytest.raises(PortError) as refused:
        accepted_patch({"kind": "Job", "spec": {"foo": 1}}, JOB, "Strict")
    assert refused.value.status == 422
    assert refused.value.message == (
        r' "" is invalid: patch: Invalid value: "{\"kind\":\"Job\",\"spec\":{\"foo\":1}}": '
        'strict decoding error: unknown field "spec.foo"'
    )


def test_an_object_is_written_back_as_the_server_writes_it() -> None:
    sent = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "labels": {}, "annotations": None},
        "spec": {
            "hostNetwork": False,
            "automountServiceAccountToken": False,
            "nodeName": "",
            "tolerations": [],
            "containers": [
                {
                    "name": "c",
                    "resources": {"limits": {"cpu": 0.5, "memory": "1024Mi", "nvidia.com/gpu": 2}},
                    "stdin": False,
                }
            ],
        },
    }
    before = copy.deepcopy(sent)
    assert normal(sent, POD) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {
            "automountServiceAccountToken": False,
            "containers": [
                {
                    "name": "c",
                    "resources": {"limits": {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": "2"}},
                }
            ],
        },
        "status": {},
    }
    assert sent == before


def test_an_empty_object_has_what_is_always_written() -> None:
    assert zero(POD) == {"metadata": {}, "spec": {"containers": None}, "status": {}}


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("0.5", "500m"),
        ("1000m", "1"),
        ("1.5Gi", "1536Mi"),
        ("1024Ki", "1Mi"),
        ("1023Ki", "1023Ki"),
        ("512", "512"),
        ("1000", "1k"),
        ("1e3", "1e3"),
        ("0.1m", "100u"),
        ("-1.5", "-1500m"),
        ("0Gi", "0"),
        (".5", "500m"),
        ("5.", "5."),
        ("12345678", "12345678"),
    ],
)
def test_a_quantity_has_one_form(text: str, written: str) -> None:
    assert canonical(text) == written


@pytest.mark.parametrize("text", ["", "x", "1gi", "1 Gi", "1e", "--1", "1KiB"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a valid quantity"):
        canonical(text)


_AMOUNTS = st.builds(
    lambda number, suffix: f"{number}{suffix}",
    st.integers(-(10**6), 10**6),
    st.sampled_from(["", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "E6", "n", "u"]),
)


@given(_AMOUNTS)
def test_the_form_of_a_quantity_keeps_its_value_and_is_stable(text: str) -> None:
    once = canonical(text)
    assert canonical(once) == once
    assert quantity(once).amount == quantity(text).amount


def test_every_table_can_be_read_to_its_last_line() -> None:
    fields = 0
    for table in TABLES:
        for name, block in blocks(table).items():
            shape = named(table, name)
            assert len(shape.fields) == len(block.lines), name
            fields += len(shape.fields)
    assert fields > 1_400


def test_every_kind_that_is_served_has_a_shape() -> None:
    missing = [kind.resource.label for kind in built_in() if kind.shape is None]
    assert missing == []
    assert ("", "v1", "Pod") in built_in_kinds()


@pytest.fixture(scope="module")
def documents() -> OpenAPI:
    return OpenAPI(built_in(), Storage())


def _references(tree: Any) -> set[str]:
    if isinstance(tree, dict):
        own = {tree["$ref"]} if isinstance(tree.get("$ref"), str) else set()
        return own.union(*(_references(item) for item in tree.values()))
    return set().union(*(_references(item) for item in tree)) if isinstance(tree, list) else set()


def test_every_reference_of_every_document_leads_somewhere(documents: OpenAPI) -> None:
    paths = json.loads(documents.v3_index())["paths"]
    assert {"api/v1", "apis/apps/v1", "apis/batch/v1"} <= paths.keys()
    for path, where in paths.items():
        assert where["serverRelativeURL"].startswith(f"/openapi/v3/{path}?hash=")
        document = json.loads(documents.v3(path) or b"null")
        known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
        assert _references(document) <= known
    assert documents.v3("apis/none/v1") is None


def test_what_kubectl_needs_of_a_list_is_told(documents: OpenAPI) -> None:
    schemas = json.loads(documents.v3("api/v1") or b"")["components"]["schemas"]
    ports = schemas["io.k8s.api.core.v1.Container"]["properties"]["ports"]
    assert ports["x-kubernetes-list-map-keys"] == ["containerPort", "protocol"]
    assert ports["x-kubernetes-patch-merge-key"] == "containerPort"
    assert ports["x-kubernetes-patch-strategy"] == "merge"
    volumes = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["volumes"]
    assert volumes["x-kubernetes-patch-strategy"] == "merge,retainKeys"
    kinds = schemas["io.k8s.api.core.v1.Pod"]["x-kubernetes-group-version-kind"]
    assert kinds == [{"group": "", "version": "v1", "kind": "Pod"}]


def test_a_patch_takes_the_parameters_that_kubectl_looks_for(documents: OpenAPI) -> None:
    paths = json.loads(documents.v3("apis/apps/v1") or b"")["paths"]
    patch = paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    names = {parameter["name"] for parameter in patch["parameters"]}
    assert {"dryRun", "fieldManager", "fieldValidation", "force"} <= names
    assert patch["x-kubernetes-group-version-kind"]["kind"] == "Deployment"


def test_the_documents_follow_the_kinds() -> None:
    kinds = built_in()
    documents = OpenAPI(kinds, Storage())
    before = documents.v3_index()
    assert documents.v3_index() is before
    some = next(iter(kinds))
    kinds.add(
        ServedKind(resource=some.resource.__class__("y.test", "v1", "things", "Thing", True), is_custom=True)
    )
    assert "apis/y.test/v1" in json.loads(documents.v3_index())["paths"]
    schemas = json.loads(documents.v3("apis/y.test/v1") or b"")["components"]["schemas"]
    assert "test.y.v1.Thing" in schemas
