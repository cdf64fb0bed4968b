"""Schema tables and custom objects, compared with the real kube-apiserver."""

import json
from typing import Any

import pytest

from cockpit.kube.resource import Resource
from cockpit.sim.port import PortError
from cockpit.sim.server.builtin.table import built_in
from cockpit.sim.server.http.openapi import OpenAPI
from cockpit.sim.server.refusals import invalid
from cockpit.sim.server.schema.custom import custom_schema
from cockpit.sim.server.storage import Storage
from tests.bed.api import Api
from tests.differential.go_phrases import without_go
from tests.differential.schema_cases import OBJECTS

Tree = dict[str, Any]
DRY = (("dryRun", "All"), ("fieldValidation", "Strict"))
_COMPARED = (
    "type",
    "format",
    "additionalProperties",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-patch-strategy",
)


def _told(schema: Tree, definitions: Tree) -> Tree:
    """What is compared of one field: its parts that decide something, references by name."""
    told = {key: schema[key] for key in _COMPARED if key in schema and key != "additionalProperties"}
    if told.get("x-kubernetes-map-type") == "granular":
        # What every map is that does not say.
        del told["x-kubernetes-map-type"]
    if isinstance(schema.get("additionalProperties"), dict):
        told["additionalProperties"] = _told(schema["additionalProperties"], definitions)
    if isinstance(schema.get("items"), dict):
        told["items"] = _told(schema["items"], definitions)
    pointers = [one["$ref"] for one in schema.get("allOf") or () if "$ref" in one]
    if "$ref" in schema:
        pointers.append(schema["$ref"])
    if pointers:
        told["$ref"] = pointers[0].rpartition("/")[2]
    if schema.get("enum"):
        told["enum"] = sorted(schema["enum"])
    if set(told) == {"type"} and told["type"] == "object":
        # An object of any content is told in several ways.
        return {"$ref": "any"}
    return {"$ref": "any"} if told.get("$ref", "").rpartition(".")[2] in _ANY else told


def _ordered(causes: Any) -> list[tuple[str, str, str]]:
    return sorted((one["field"], one["reason"], without_go(one["message"])) for one in causes)


_ANY = (
    "FieldsV1",
    "RawExtension",
    "JSON",
    "JSONSchemaPropsOrArray",
    "JSONSchemaPropsOrBool",
    "JSONSchemaPropsOrStringArray",
)


@pytest.mark.real
@pytest.mark.parametrize("path", sorted(json.loads(OpenAPI(built_in(), Storage()).v3_index())["paths"]))
def test_every_type_has_the_fields_that_the_real_server_says(api: Api, path: str) -> None:
    here = json.loads(OpenAPI(built_in(), Storage()).v3(path) or b"")["components"]["schemas"]
    there = api.get(f"/openapi/v3/{path}")["components"]["schemas"]
    differing: list[str] = []
    for name, mine in here.items():
        real = there.get(name)
        if real is None or "properties" not in mine:
            continue
        if sorted(mine.get("required", [])) != sorted(real.get("required", [])):
            differing.append(f"{name}: required {mine.get('required')} there {real.get('required')}")
        mine_fields, real_fields = mine["properties"], real.get("properties", {})
        for field in sorted(mine_fields.keys() | real_fields.keys()):
            one = _told(mine_fields[field], here) if field in mine_fields else None
            other = _told(real_fields[field], there) if field in real_fields else None
            if one != other:
                differing.append(f"{name}.{field}: here {one} there {other}")
    assert differing == []


@pytest.mark.real
@pytest.mark.parametrize("case", sorted(OBJECTS))
def test_a_custom_object_is_judged_as_there(api: Api, things: tuple[Tree, Resource], case: str) -> None:
    definition, resource = things
    custom = custom_schema(resource.kind, definition["spec"]["versions"][0])
    sent = {"apiVersion": resource.api_version, "kind": "Thing", "metadata": {"name": "t"}, **OBJECTS[case]}
    real = api.request("POST", resource.path("default"), sent, query=DRY).json()
    try:
        known, _ = custom.decode(sent, "Strict")
        if causes := custom.validate(known):
            raise invalid(resource, "t", causes)
    except PortError as refused:
        assert real["kind"] == "Status", refused.message
        there = (real.get("details") or {}).get("causes") or []
        if len(there) < 2:
            assert without_go(refused.message) == without_go(real["message"])
        # The server goes through members in any order.
        assert _ordered(refused.causes) == _ordered(there)
        return
    assert real["kind"] == "Thing", real["message"]
    assert known["spec"] == real["spec"]
