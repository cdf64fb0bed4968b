"""Definitions and custom objects, right and wrong, for the comparison with the real server."""

from typing import Any

Tree = dict[str, Any]

THINGS: Tree = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.y.test"},
    "spec": {
        "group": "y.test",
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "required": ["spec"],
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["n"],
                                "properties": {
                                    "n": {"type": "integer", "minimum": 1, "maximum": 10, "format": "int32"},
                                    "s": {
                                        "type": "string",
                                        "minLength": 2,
                                        "maxLength": 4,
                                        "pattern": "^[a-z]+$",
                                    },
                                    "e": {"type": "string", "enum": ["A", "B"]},
                                    "b": {"type": "boolean"},
                                    "f": {
                                        "type": "number",
                                        "exclusiveMinimum": True,
                                        "minimum": 0,
                                        "multipleOf": 0.5,
                                    },
                                    "i": {"x-kubernetes-int-or-string": True},
                                    "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                                    "nul": {"type": "string", "nullable": True},
                                    "d": {"type": "string", "default": "dd"},
                                    "dn": {"type": "string", "nullable": True, "default": "dd"},
                                    "arr": {
                                        "type": "array",
                                        "minItems": 1,
                                        "maxItems": 2,
                                        "items": {"type": "string"},
                                    },
                                    "set": {
                                        "type": "array",
                                        "x-kubernetes-list-type": "set",
                                        "items": {"type": "string"},
                                    },
                                    "lm": {
                                        "type": "array",
                                        "x-kubernetes-list-type": "map",
                                        "x-kubernetes-list-map-keys": ["k"],
                                        "items": {
                                            "type": "object",
                                            "required": ["k"],
                                            "properties": {
                                                "k": {"type": "string"},
                                                "v": {"type": "integer", "default": 3},
                                            },
                                        },
                                    },
                                    "m": {"type": "object", "additionalProperties": {"type": "integer"}},
                                    "o": {
                                        "type": "object",
                                        "minProperties": 1,
                                        "maxProperties": 2,
                                        "properties": {
                                            "x": {"type": "string", "default": "q"},
                                            "y": {
                                                "type": "object",
                                                "default": {},
                                                "properties": {"z": {"type": "integer", "default": 7}},
                                            },
                                        },
                                    },
                                    "dt": {"type": "string", "format": "date-time"},
                                    "one": {"type": "integer", "oneOf": [{"minimum": 5}, {"maximum": 2}]},
                                    "anyof": {
                                        "type": "object",
                                        "properties": {"p": {"type": "string"}, "q": {"type": "string"}},
                                        "anyOf": [{"required": ["p"]}, {"required": ["q"]}],
                                    },
                                    "allof": {"type": "integer", "allOf": [{"minimum": 5}, {"maximum": 2}]},
                                    "nt": {"type": "integer", "not": {"minimum": 5}},
                                    "quan": {
                                        "anyOf": [{"type": "integer"}, {"type": "string"}],
                                        "pattern": "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$",
                                        "x-kubernetes-int-or-string": True,
                                    },
                                    "tmpl": {
                                        "type": "object",
                                        "x-kubernetes-embedded-resource": True,
                                        "x-kubernetes-preserve-unknown-fields": True,
                                    },
                                },
                            },
                            "status": {
                                "type": "object",
                                "properties": {
                                    "ready": {"type": "integer"},
                                    "replicas": {"type": "integer"},
                                    "selector": {"type": "string"},
                                },
                            },
                        },
                    }
                },
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.n",
                        "statusReplicasPath": ".status.replicas",
                        "labelSelectorPath": ".status.selector",
                    },
                },
            }
        ],
    },
}

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

OBJECTS: dict[str, Tree] = {
    "00 n": {"spec": {"n": 1}},
    "01 n": {"spec": {"n": "x"}},
    "02 n": {"spec": {"n": 0}},
    "03 n": {"spec": {"n": 11}},
    "04 n": {"spec": {"n": 1.5}},
    "05 n": {"spec": {"n": 2.0}},
    "06 n": {"spec": {"n": 1099511627776}},
    "07 n": {"spec": {"n": None}},
    "08 n s": {"spec": {"n": 1, "s": "a"}},
    "09 n s": {"spec": {"n": 1, "s": "abcde"}},
    "10 n s": {"spec": {"n": 1, "s": "A1"}},
    "11 e n": {"spec": {"n": 1, "e": "C"}},
    "12 b n": {"spec": {"n": 1, "b": "x"}},
    "14 f n": {"spec": {"n": 1, "f": 0.3}},
    "15 f n": {"spec": {"n": 1, "f": "x"}},
    "16 i n": {"spec": {"n": 1, "i": True}},
    "17 i n": {"spec": {"n": 1, "i": 1.5}},
    "18 i n": {"spec": {"n": 1, "i": "5"}},
    "19 any n": {"spec": {"n": 1, "any": {"q": {"r": None}}}},
    "20 any n": {"spec": {"n": 1, "any": None}},
    "21 n nul": {"spec": {"n": 1, "nul": None}},
    "22 d n": {"spec": {"n": 1, "d": None}},
    "23 dn n": {"spec": {"n": 1, "dn": None}},
    "24 b n": {"spec": {"n": 1, "b": None}},
    "25 arr n": {"spec": {"n": 1, "arr": []}},
    "26 arr n": {"spec": {"n": 1, "arr": ["a", "b", "c"]}},
    "27 arr n": {"spec": {"n": 1, "arr": [1]}},
    "28 arr n": {"spec": {"n": 1, "arr": "x"}},
    "29 n set": {"spec": {"n": 1, "set": ["a", "a"]}},
    "30 lm n": {"spec": {"n": 1, "lm": [{"k": "a"}, {"k": "a"}]}},
    "31 lm n": {"spec": {"n": 1, "lm": [{"v": 1}]}},
    "32 lm n": {"spec": {"n": 1, "lm": [{"k": "a"}]}},
    "33 m n": {"spec": {"n": 1, "m": {"a": 1}}},
    "34 m n": {"spec": {"n": 1, "m": {"a": "x"}}},
    "35 m n": {"spec": {"n": 1, "m": {"a": None}}},
    "36 n o": {"spec": {"n": 1, "o": {}}},
    "37 n o": {"spec": {"n": 1, "o": {"x": "1", "y": {}}}},
    "38 n o": {"spec": {"n": 1, "o": {"x": "1", "y": {}, "z": 1}}},
    "39 dt n": {"spec": {"n": 1, "dt": "x"}},
    "40 dt n": {"spec": {"n": 1, "dt": "2020-01-01T00:00:00Z"}},
    "41 n one": {"spec": {"n": 1, "one": 3}},
    "42 n one": {"spec": {"n": 1, "one": 7}},
    "43 anyof n": {"spec": {"n": 1, "anyof": {}}},
    "44 anyof n": {"spec": {"n": 1, "anyof": {"p": "1"}}},
    "45 allof n": {"spec": {"n": 1, "allof": 3}},
    "46 n nt": {"spec": {"n": 1, "nt": 7}},
    "47 n quan": {"spec": {"n": 1, "quan": "x"}},
    "48 n quan": {"spec": {"n": 1, "quan": "5Gi"}},
    "49 n tmpl": {"spec": {"n": 1, "tmpl": {}}},
    "50 n tmpl": {"spec": {"n": 1, "tmpl": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "A_"}}}},
    "51 bar foo n": {"spec": {"n": 1, "foo": 1, "bar": {"x": 1}}},
    "52 spec": {"spec": None},
    "53 spec": {"spec": "x"},
    "54 n": {"spec": {"n": 1}, "extra": 1, "status": {"ready": 1}},
    "55 empty": {"spec": {}},
    "56 n s": {"spec": {"n": "x", "s": 1}},
    "57 n": {"spec": {"n": 1}, "metadata": {"name": "t", "foo": 1}},
    "58 n": {"spec": {"n": 1}, "metadata": {"name": "t", "labels": {"a": 1}}},
}
