"""A rule in CEL that is not evaluated: every write of such an object says so."""

import pytest

from cockpit.sim.port import Tree
from tests.unit.sim.http.conftest import Client
from tests.unit.sim.schema.test_cel_rules import TEXT, schema

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
THINGS = "/apis/y.test/v1/namespaces/default/things"


def definition(spec: Tree) -> Tree:
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    whole = {"type": "object", "properties": {"spec": spec}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": whole}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.y.test"},
        "spec": {"group": "y.test", "scope": "Namespaced", "names": names, "versions": [version]},
    }


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("self.?a.orValue('x') == 'x'", "unsupported syntax"),
        ("isURL(self.a)", "there is no function isURL here"),
        ("format.dns1123Label().validate(self.a).hasValue()", "there is no function"),
        ("self.a ==", "Failed to parse"),
        ("(" * 400 + "true" + ")" * 400, "Failed to parse"),
        ("true" + " && true" * 2000, "more than 5,000 characters"),
    ],
)
async def test_a_rule_that_is_not_evaluated_is_warned_of_at_every_write(
    client: Client, rule: str, why: str
) -> None:
    await client.make(CRDS, definition(schema(rule, "has(self.a)", a=TEXT)))
    tree: Tree = {"apiVersion": "y.test/v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": {"a": "b"}}
    async with client.open("POST", THINGS, json=tree) as answer:
        assert answer.status == 201
        (warning,) = answer.headers.getall("Warning")
        made = await answer.json()
    assert "a CEL rule of spec is not evaluated by this server: " in warning
    assert why in warning
    async with client.open("PUT", f"{THINGS}/x", json=made | {"spec": {"a": "c"}}) as answer:
        assert (answer.status, len(answer.headers.getall("Warning"))) == (200, 1)
    # the other rule of that place is in force all the same
    status, refused = await client.ask("POST", THINGS, json=tree | {"metadata": {"name": "y"}, "spec": {}})
    assert (status, refused["details"]["causes"][0]["message"]) == (422, "Invalid value: no 1")
