"""Custom resource definitions and their objects, in the real server's words (recorded from 1.36)."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.kube.resource import Resource
from cockpit.sim.port import PortError, Tree
from cockpit.sim.server.custom_kinds import schema_of
from cockpit.sim.server.schema.crd_check import crd_faults
from cockpit.sim.server.schema.custom import CustomKind, definition_of
from cockpit.sim.server.schema.pruning import defaulted, pruned
from tests.differential.schema_cases import THINGS as FULL

THING = Resource("y.test", "v1", "things", "Thing", namespaced=True)
SPEC: Tree = FULL["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]


def crd(schema: Tree | None = None, **version: Any) -> Tree:
    """A definition that is right, but for what is said."""
    given = {"openAPIV3Schema": schema} if schema is not None else None
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.y.test"},
        "spec": {
            "group": "y.test",
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": given, **version}],
        },
    }


def with_spec(**properties: Tree) -> Tree:
    return crd(
        {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}},
    )


@pytest.fixture(scope="module")
def things() -> CustomKind:
    return definition_of(FULL)


def thing(**spec: Any) -> Tree:
    return {
        "apiVersion": "y.test/v1",
        "kind": "Thing",
        "metadata": {"name": "t"},
        "spec": {"n": 1, **spec},
    }


REFUSED: list[tuple[Tree, str]] = [
    *(({"n": value}, "spec.n") for value in (0, 11, None)),
    *(({"s": value}, "spec.s") for value in ("a", "abcde", "A1")),
    ({"n": "x"}, "spec.n .spec.n"),
    ({"n": 1.5}, "spec.n <nil> .spec.n"),
    ({"n": 1099511627776}, "<nil> spec.n .spec.n"),
    ({"e": "C"}, "spec.e"),
    ({"b": "x"}, "spec.b"),
    ({"f": 0.3}, "spec.f"),
    ({"i": True}, "spec.i"),
    ({"arr": []}, "spec.arr"),
    ({"arr": ["a", "b", "c"]}, "spec.arr"),
    ({"arr": [1]}, "spec.arr[0]"),
    ({"set": ["a", "a"]}, "spec.set[1]"),
    ({"lm": [{"k": "a"}, {"k": "a"}]}, "spec.lm[1]"),
    ({"lm": [{"v": 1}]}, "spec.lm[0].k"),
    ({"m": {"a": "x"}}, "spec.m.a"),
    ({"dt": "x"}, "spec.dt"),
    ({"one": 3}, "<nil> spec.one"),
    ({"anyof": {}}, "<nil> spec.anyof.p"),
    ({"allof": 3}, "spec.allof spec.allof <nil>"),
    ({"nt": 7}, "<nil>"),
    ({"quan": "x"}, "spec.quan"),
    ({"tmpl": {}}, "spec.tmpl.apiVersion spec.tmpl.kind"),
]
"""A spec, and the fields of the causes; tests/differential compares their wording with the real server's."""


@pytest.mark.parametrize(("spec", "fields"), REFUSED)
def test_an_object_that_does_not_fit_is_refused(things: CustomKind, spec: Tree, fields: str) -> None:
    known, _ = things.decode(thing(**spec), "Strict")
    assert [cause["field"] for cause in things.validate(known)] == fields.split()


@pytest.mark.parametrize(
    ("spec", "stored"),
    [
        ({}, {}),
        ({"i": "5"}, {"i": "5"}),
        ({"any": {"q": {"r": None}}}, {"any": {"q": {"r": None}}}),
        ({"any": None, "b": None, "d": None}, {}),
        ({"nul": None}, {"nul": None}),
        ({"dn": None}, {"dn": None}),
        ({"lm": [{"k": "a"}]}, {"lm": [{"k": "a", "v": 3}]}),
        ({"m": {"a": None}}, {"m": {}}),
        ({"o": {}}, {"o": {"x": "q", "y": {"z": 7}}}),
        ({"quan": "5Gi", "one": 7}, {"quan": "5Gi", "one": 7}),
    ],
)
def test_an_object_is_stored_with_defaults(things: CustomKind, spec: Tree, stored: Tree) -> None:
    sent = thing(**spec)
    before = copy.deepcopy(sent)
    known, warnings = things.decode(sent, "Strict")
    assert things.validate(known) == []
    assert known["spec"] == {"d": "dd", "dn": "dd", "n": 1, **stored}
    assert warnings == ()
    assert sent == before


def test_unknown_fields_are_refused_warned_of_or_dropped(things: CustomKind) -> None:
    sent = thing(foo=1, bar={"x": 1}, o={"z": 1})
    unknown = ('unknown field "spec.bar"', 'unknown field "spec.foo"', 'unknown field "spec.o.z"')
    with pytest.raises(PortError) as refused:
        things.decode(sent, "Strict")
    assert refused.value.status == 400
    assert refused.value.message == (
        'Thing in version "v1" cannot be handled as a Thing: strict decoding error: ' + ", ".join(unknown)
    )
    known, warnings = things.decode(sent, "Warn")
    assert warnings == unknown
    assert known["spec"].keys() == {"n", "d", "dn", "o"}
    assert things.decode(sent, "Ignore")[1] == ()


def test_metadata_is_what_it_is_everywhere(things: CustomKind) -> None:
    wrong = {**thing(), "metadata": {"name": "t", "labels": {"a": 1}}}
    with pytest.raises(PortError) as refused:
        things.decode(wrong)
    assert refused.value.message == (
        'Thing in version "v1" cannot be handled as a Thing: metadata.labels: expected string, got number'
    )
    with pytest.raises(PortError) as refused:
        things.decode({**thing(), "metadata": {"name": "t", "foo": 1}}, "Strict")
    assert 'unknown field "metadata.foo"' in refused.value.message


def test_what_was_wrong_before_may_stay() -> None:
    rules = schema_of(THING, FULL["spec"]["versions"][0])
    (check,) = rules.checks
    old = thing(s="a")
    assert list(check({**old, "metadata": {"name": "t", "labels": {"x": "y"}}}, old)) == []
    assert [cause["field"] for cause in check(thing(s="b"), old)] == ["spec.s"]


_ROOT = "spec.validation.openAPIV3Schema"
_FIELD = f"{_ROOT}.properties[spec].properties[a]"
DEFINITIONS: list[tuple[Tree, str]] = [
    (crd(None), "spec.versions[0].schema.openAPIV3Schema"),
    (crd({"type": "string"}), f"{_ROOT}.type"),
    (with_spec(a={"type": "text"}), f"{_FIELD}.type"),
    (with_spec(a={"properties": {}}), f"{_FIELD}.type"),
    (with_spec(a={"type": "array"}), f"{_FIELD}.items"),
    (with_spec(a={"type": "integer", "default": "x"}), f"{_FIELD}.default"),
    (with_spec(a={"type": "string", "pattern": "("}), f"{_FIELD}.pattern"),
    (
        crd({"type": "object"}, subresources={"scale": {}}),
        "spec.subresources.scale.specReplicasPath spec.subresources.scale.statusReplicasPath",
    ),
    (
        crd({"type": "object"}, additionalPrinterColumns=[{"name": "A", "type": "text", "jsonPath": ".a"}]),
        "spec.additionalPrinterColumns[0].type",
    ),
    ({**crd({"type": "object"}), "metadata": {"name": "foo"}}, "metadata.name"),
]


@pytest.mark.parametrize(("definition", "fields"), DEFINITIONS)
def test_a_definition_that_is_none_is_refused(definition: Tree, fields: str) -> None:
    assert [cause["field"] for cause in crd_faults(definition)] == fields.split()


def test_a_definition_that_is_right_has_no_faults() -> None:
    assert list(crd_faults(FULL)) == []


def test_group_and_scope_stay() -> None:
    moved = {**FULL, "spec": {**FULL["spec"], "scope": "Cluster"}}
    assert [cause["field"] for cause in crd_faults(moved, FULL)] == ["spec.scope"]


_VALUES = st.recursive(
    st.none() | st.integers(-3, 20) | st.sampled_from(["", "ab", "A"]) | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["k", "v", "x", "y", "z"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*SPEC, "stranger"]), _VALUES, max_size=5))
def test_defaulting_and_pruning_settle_and_change_nothing_they_were_given(spec: Tree) -> None:
    schema = FULL["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    sent = thing(**spec)
    before = copy.deepcopy((sent, schema))
    once = defaulted(pruned(sent, schema)[0], schema)
    assert defaulted(pruned(once, schema)[0], schema) == once
    assert pruned(once, schema)[1] == []
    assert (sent, schema) == before
    list(definition_of(FULL).validate(once))
