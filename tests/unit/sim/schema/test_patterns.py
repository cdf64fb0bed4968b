"""Patterns of schemas: Go's syntax and sentences, and never more than linear time."""

import pytest

from cockpit.kube.resource import Resource
from cockpit.sim.port import PortError, Tree
from cockpit.sim.server.custom_kinds import schema_of
from cockpit.sim.server.limits import METER
from cockpit.sim.server.schema.crd_check import crd_faults
from cockpit.sim.server.schema.patterns import BadPattern, pattern

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


@pytest.mark.parametrize(
    "wanted",
    [
        "^(?i)[a-z]([-a-z0-9]*[a-z0-9])?$",  # of Kueue's AdmissionCheck
        r"^\pL+\z",
        "(?U)a+b",
        "(?<name>a)",
    ],
)
def test_what_go_takes_is_taken(wanted: str) -> None:
    assert list(crd_faults(definition(type="string", pattern=wanted), None)) == []


def test_flags_behind_an_anchor_hold() -> None:
    assert said_of("AdmissionCheck", "^(?i)[a-z]([-a-z0-9]*[a-z0-9])?$") == []
    assert said_of("1x", "^(?i)[a-z]([-a-z0-9]*[a-z0-9])?$") != []


def test_a_pattern_without_anchors_is_looked_for_anywhere() -> None:
    assert said_of("xxbyy", "b") == []


def test_the_end_is_the_end_of_the_text_and_not_of_a_line() -> None:
    assert said_of("ab\n", "^ab$") != []


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ("(?=a)", "invalid perl operator: (?="),
        (r"(a)\1", r"invalid escape sequence: \1"),
        (r"a\Z", r"invalid escape sequence: \Z"),
        (r"\C", r"invalid escape sequence: `\C`"),
        ("a{1001}", "invalid repetition size: {1001}"),
        ("a**", "bad repetition operator: **"),
        ("a*+", "bad repetition operator: *+"),
        ("[a", "missing ]: [a"),
        ("*a", "no argument for repetition operator: *"),
        ("\\", "trailing \\"),
        ("(?<ä>a)", "invalid named capture: `(?<ä>`"),
        ("(" * 1001 + ")" * 1001, "expression nests too deeply: `" + "(" * 1001 + ")" * 1001 + "`"),
    ],
)
def test_what_go_refuses_is_refused(wanted: str, why: str) -> None:
    with pytest.raises(BadPattern) as refusal:
        pattern(wanted)
    assert str(refusal.value) == f"error parsing regexp: {why}"
    told = list(crd_faults(definition(type="string", pattern=wanted), None))
    assert len(told) == 1
    assert why in told[0]["message"] or len(wanted) > 1000


def test_a_quoted_letter_is_no_operator() -> None:
    assert pattern(r"\\C").is_in("\\C")
    assert pattern(r"\Q\C\E").is_in("\\C")


def test_a_bad_pattern_below_any_of_is_refused() -> None:
    told = list(crd_faults(definition(type="string", anyOf=[{"pattern": "("}]), None))
    assert ["anyOf[0].pattern" in cause["field"] for cause in told] == [True]


def test_steps_over_one_object_are_bounded() -> None:
    thrashing = "(a|b)*a(a|b){500}c"
    with METER.request(), pytest.raises(PortError) as refusal:
        said_of("ab" * 300_000, thrashing)
    assert refusal.value.status == 413
