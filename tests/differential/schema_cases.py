"""Definitions and custom objects, right and wrong, for the comparison with the real server."""

from pathlib import Path
from typing import Any

import yaml

Tree = dict[str, Any]

_HERE = Path(__file__).parent
THINGS: Tree = yaml.safe_load((_HERE / "schema_things.yaml").read_text())
OBJECTS: dict[str, Tree] = yaml.safe_load((_HERE / "schema_objects.yaml").read_text())

GONE = object()
"""Stands for a key that is left out."""
FIELDS: Tree = {"type": "object", "properties": {"n": {"type": "integer"}}}
ROOT: Tree = {"type": "object", "properties": {"spec": FIELDS}}
BARE: Tree = {"openAPIV3Schema": {"type": "object"}}
VERSION: Tree = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": ROOT}}
NAMES: Tree = {"plural": "jobs2", "kind": "Job2"}
SPEC: Tree = {"group": "x.test", "scope": "Namespaced", "names": NAMES, "versions": [VERSION]}


def but(tree: Tree, **changes: Any) -> Tree:
    """The tree with other values, without those that are GONE."""
    return {key: value for key, value in {**tree, **changes}.items() if value is not GONE}


def definition(name: str = "jobs2.x.test", **spec: Any) -> Tree:
    """The one that is all right, with another name or parts of its spec."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": but(SPEC, **spec),
    }


def named(**names: Any) -> Tree:
    return definition(names=but(NAMES, **names))


def version(**changes: Any) -> Tree:
    return definition(versions=[but(VERSION, **changes)])


def root(**changes: Any) -> Tree:
    return version(schema={"openAPIV3Schema": but(ROOT, **changes)})


def fields(tree: Tree) -> Tree:
    return root(properties={"spec": tree})


def field(tree: Tree) -> Tree:
    """One field `a` of this schema."""
    return fields({"type": "object", "properties": {"a": tree}})


def scaled(**paths: str) -> Tree:
    return version(subresources={"scale": paths})


TEXT: Tree = {"type": "string"}
PAIRS: Tree = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "items": {"type": "object", "properties": {"k": TEXT}},
}

DEFINITIONS: dict[str, Tree] = {
    "all right": definition(),
    "another name": definition("foo"),
    "group without a dot": definition("jobs2.x", group="x"),
    "no schema": version(schema=GONE),
    "no versions": definition(versions=[]),
    "no version is stored": version(storage=False),
    "two versions are stored": definition(
        versions=[but(VERSION, schema=BARE), but(VERSION, name="v2", schema=BARE)]
    ),
    "a version twice": definition(
        versions=[but(VERSION, schema=BARE), but(VERSION, storage=False, schema=BARE)]
    ),
    "name of a version": version(name="V_1"),
    "unknown scope": definition(scope="Global"),
    "no scope": definition(scope=GONE),
    "no kind": named(kind=GONE),
    "no plural": named(plural=GONE),
    "kind with an underscore": named(kind="job_x"),
    "field without type": fields({"properties": {"a": TEXT}}),
    "root is a text": root(type="string"),
    "root without type": root(type=GONE),
    "unknown type": field({"type": "text"}),
    "array without items": field({"type": "array"}),
    "list of maps without keys": field(PAIRS),
    "key that is not required": field({**PAIRS, "x-kubernetes-list-map-keys": ["k"]}),
    "unknown list type": field({"type": "array", "x-kubernetes-list-type": "bag", "items": TEXT}),
    "list type of a text": field({**TEXT, "x-kubernetes-list-type": "set"}),
    "additional and named properties": field(
        {"type": "object", "properties": {"x": TEXT}, "additionalProperties": TEXT}
    ),
    "additional false": field({"type": "object", "additionalProperties": False}),
    "pattern that is none": field({**TEXT, "pattern": "("}),
    "default of another type": field({"type": "integer", "default": "x"}),
    "preserve false": field({"type": "object", "x-kubernetes-preserve-unknown-fields": False}),
    "integer and int-or-string": field({"type": "integer", "x-kubernetes-int-or-string": True}),
    "unique items": field({"type": "array", "uniqueItems": True, "items": TEXT}),
    "reference": field({"$ref": "#/x"}),
    "scale without paths": scaled(),
    "scale paths in wrong halves": scaled(specReplicasPath=".status.x", statusReplicasPath=".spec.y"),
    "scale paths that are none": scaled(
        specReplicasPath="spec.replicas",
        statusReplicasPath=".status.replicas",
        labelSelectorPath=".status[0]",
    ),
    "printer columns": version(
        additionalPrinterColumns=[
            {"name": "A", "type": "text", "jsonPath": ".a"},
            {"name": "B", "type": "string"},
            {"type": "string", "jsonPath": "a"},
        ]
    ),
    "schema of labels": root(
        properties={"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}
    ),
    "schema of the name": root(
        properties={"metadata": {"type": "object", "properties": {"name": {**TEXT, "pattern": "^a"}}}}
    ),
    "webhook": definition(conversion={"strategy": "Webhook"}),
    "unknown conversion": definition(conversion={"strategy": "Foo"}),
    "preserve unknown fields": definition(preserveUnknownFields=True),
    "protected group": definition("jobs2.x.k8s.io", group="x.k8s.io"),
    "rule in CEL": field({"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0"}]}),
    "short name in capitals": named(shortNames=["J2"]),
    "required": field({"type": "object", "required": ["q"], "properties": {"q": TEXT}}),
    "format": field({**TEXT, "format": "date-time"}),
    "empty enum": field({**TEXT, "enum": []}),
}
