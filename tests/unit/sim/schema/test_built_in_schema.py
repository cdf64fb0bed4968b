"""What the server understands of built-in kinds, in its own words (recorded from 1.36), and its OpenAPI."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.k8s.quantity import canonical, quantity
from cockpit.sim.server.builtin.table import built_in
from cockpit.sim.server.http.openapi import OpenAPI
from cockpit.sim.server.kinds import ServedKind
from cockpit.sim.server.schema.custom import custom_schema
from cockpit.sim.server.schema.kinds import built_in_kinds, shape_of
from cockpit.sim.server.schema.notation import TABLES, blocks, named
from cockpit.sim.server.schema.shape import SchemaShape
from cockpit.sim.server.storage import Storage


def _shape(group: str, kind: str) -> SchemaShape:
    shape = shape_of(group, "v1", kind)
    assert shape is not None
    return shape


JOB, POD = _shape("batch", "Job"), _shape("", "Pod")


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


def test_a_write_of_a_kind_with_rules_warns_that_none_is_evaluated() -> None:
    text = {"type": "string", "x-kubernetes-validations": [{"rule": "self != ''"}]}
    tree: dict[str, Any] = {"metadata": {"name": "x"}, "name": ""}
    for field, wanted in ((text, 1), ({"type": "string"}, 0)):
        version = {"schema": {"openAPIV3Schema": {"type": "object", "properties": {"name": field}}}}
        schema = custom_schema("Thing", version)
        _, warnings = schema.decode(tree, "Warn")
        assert (len(warnings), schema.check(tree, None)) == (wanted, [])
