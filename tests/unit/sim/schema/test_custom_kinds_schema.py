"""Custom resource definitions and their objects, in the real server's words (recorded from 1.36)."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.kube.resource import Resource
from cockpit.sim.port import Tree
from cockpit.sim.server.custom_kinds import schema_of
from cockpit.sim.server.schema.custom import CustomKind, definition_of
from cockpit.sim.server.schema.pruning import defaulted, pruned
from tests.differential.schema_cases import THINGS as FULL

THING = Resource("y.test", "v1", "things", "Thing", namespaced=True)
SPEC: Tree = FULL["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]


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


def test_what_was_wrong_before_may_stay() -> None:
    rules = schema_of(THING, FULL["spec"]["versions"][0])
    (check,) = rules.checks
    old = thing(s="a")
    assert list(check({**old, "metadata": {"name": "t", "labels": {"x": "y"}}}, old)) == []
    assert [cause["field"] for cause in check(thing(s="b"), old)] == ["spec.s"]


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
