"""Patterns of schemas: Go's syntax and sentences, and never more than linear time."""

from cockpit.kube.resource import Resource
from cockpit.sim.port import Tree
from cockpit.sim.server.custom_kinds import schema_of
from cockpit.sim.server.schema.crd_check import crd_faults

THING = Resource("y.test", "v1", "things", "Thing", namespaced=True)


def definition(**schema: object) -> Tree:
    """A definition whose `spec.s` has this schema."""
    spec = {"type": "object", "properties": {"s": schema}}
    whole = {"type": "object", "properties": {"spec": spec}}
    return {
        "metadata": {"name": "things.y.test"},
        "spec": {
            "group": "y.test",
            "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": whole}}
            ],
        },
    }


def said_of(text: str, wanted: str) -> list[str]:
    """The messages about an object whose `spec.s` is this text."""
    schema = schema_of(THING, definition(type="string", pattern=wanted)["spec"]["versions"][0])
    tree: Tree = {"apiVersion": "y.test/v1", "kind": "Thing", "metadata": {}, "spec": {"s": text}}
    return [cause["message"] for check in schema.checks for cause in check(tree, None)]


def test_nested_repetition_takes_linear_time() -> None:
    assert len(said_of("a" * 100_000 + "!", "^(a+)+$")) == 1
    assert said_of("a" * 100_000, "^(a+)+$") == []


def test_a_bad_pattern_below_any_of_is_refused() -> None:
    told = list(crd_faults(definition(type="string", anyOf=[{"pattern": "("}]), None))
    assert ["anyOf[0].pattern" in cause["field"] for cause in told] == [True]
