"""Rules in CEL: what is evaluated, what is warned of, and what none of them can do to the server."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.kube.resource import Resource
from cockpit.sim.port import Tree
from cockpit.sim.server import custom_kinds
from cockpit.sim.server.schema import patterns
from cockpit.sim.server.schema.cel_cost import CelBudget, Extent, OutOfBudget, RuleCost, cost_of, extent_of
from cockpit.sim.server.schema.cel_rules import cel_rules, escaped, rule_faults


def schema(*rules: str, **properties: Tree) -> Tree:
    found: Tree = {"type": "object", "properties": properties}
    found["x-kubernetes-validations"] = [{"rule": rule, "message": f"no {n}"} for n, rule in enumerate(rules)]
    return found


def told(rules: Tree, tree: Tree, old: Tree | None = None) -> list[tuple[str, str]]:
    found = cel_rules(rules)
    assert found is not None
    return [(one["field"], one["message"]) for one in rule_faults(found, tree, old, [])]


TEXT: Tree = {"type": "string"}
LIST: Tree = {"type": "array", "items": {"type": "integer"}}


FUNCTIONS = [
    ("self.a.split('/')[0] == 'k'", "k/v"),
    ("self.a.lowerAscii() == 'abc'", "ABC"),
    ("self.a.substring(2).startsWith('c')", "abc"),
    ("self.a.find('[0-9]+') == '12'", "x12y3"),
    ("self.a.matches('^[a-z]+$')", "abc"),
    ("isIP(self.a)", "10.0.0.1"),
    ("quantity(self.a).isGreaterThan(quantity('1Mi'))", "1Gi"),
    ("isQuantity(self.a) && quantity(self.a).compareTo(quantity('1000m')) == 0", "1"),
    ("[1, 2, 3].isSorted() && [1, 2, 3].sum() == 6", "x"),
    ("duration(self.a) < duration('2h')", "90m"),
]


@pytest.mark.parametrize(("rule", "value"), FUNCTIONS, ids=[rule for rule, _ in FUNCTIONS])
def test_functions_of_kubernetes(rule: str, value: str) -> None:
    found = cel_rules(schema(rule, a=TEXT))
    assert found is not None
    assert found.unevaluated == ()
    assert told(schema(rule, a=TEXT), {"a": value}) == []
    assert told(schema(f"!({rule})", a=TEXT), {"a": value}) == [("<nil>", "Invalid value: no 0")]


def test_a_rule_that_fails_is_a_refusal() -> None:
    ((field, message),) = told(schema("self.b > 1", a=TEXT), {"a": "x"})
    assert (field, "no such key: b evaluating rule" in message) == ("<nil>", True)


def test_a_pattern_that_would_never_end_ends() -> None:
    assert told(schema("self.a.find('^(x+x+)+y') == ''", a=TEXT), {"a": "x" * 50000}) == []


@pytest.mark.parametrize(
    ("rule", "nesting", "collecting", "additions"),
    [
        ("self.a", 0, 0, 0),
        ("self.all(x, x > 0)", 1, 0, 0),
        ("self.all(x, x > 0) && self.exists(y, y > 1)", 1, 0, 0),
        ("self.all(x, self.exists_one(y, y == x))", 2, 0, 0),
        ("self.filter(i, size(self.filter(j, j == i)) > 1).map(k, k + 1)", 2, 0, 1),
        ("self.all(i, self.map(j, i).size() > 0)", 2, 1, 0),
        ("self.l.map(a, self.l.map(b, b))", 2, 1, 0),
        ("'.all(' + self.a + \".map(\"", 0, 0, 2),
        ("self.a.all (x, (x + 1) > 0)", 1, 0, 1),
    ],
)
def test_loops_within_loops_are_counted(rule: str, nesting: int, collecting: int, additions: int) -> None:
    found = cost_of(rule)
    assert (found.nesting, found.collecting, found.additions) == (nesting, collecting, additions)


@pytest.mark.parametrize(
    ("rule", "size"),
    [
        ("self.l.all(a, self.l.all(b, self.l.all(c, a + b + c >= 0)))", 200),
        ("self.l.map(a, self.l.map(b, self.l + self.l)).size() >= 0", 3000),
        ("self.l.map(a, self.s).size() > 0", 1_000),
        ("self.l.map(a, self.l.map(b, a)).size() > 0", 1_000),
        ("self.l.map(a, self.s).join('') != 'x'", 5_000),
        ("self.l.all(a, self.s.contains('y') == false)", 50_000),
        ("self.l.all(a, self.s.charAt(a) == 'x')", 10_000),
        ("self.l.all(a, self.s.matches('^(x+x+)+y') || true)", 10_000),
        ("self.s.split('').all(a, self.s.split('').all(b, a == b))", 100_000),
        ("self.s.split('').map(a, a).size() > 0", 8_000),
        ("self.l.filter(a, a == 1).size() > 0", 7_000),
        ("self.s.split('').map(a, self.s).size() > 0", 10_000),
        ("self.s.split('').filter(a, a == 'x').size() > 0", 100_000),
        ("self.s.split('').map(a, self.s.split('').join(self.s)).size() > 0", 3_000),
        ("self.s.split('').join(self.s).size() > 0", 100_000),
        ("[self.s + self.s + self.s].all(a, [a + a + a].all(b, [b + b + b + b].all(c, c != 'x')))", 100_000),
    ],
)
def test_a_rule_that_would_cost_too_much_is_refused_before_it_runs(rule: str, size: int) -> None:
    ((_, message),) = told(schema(rule, l=LIST, s=TEXT), {"l": [1] * size, "s": "x" * size})
    assert "running out of cost budget" in message


@pytest.mark.parametrize(
    ("rule", "size"),
    [
        ("self.l.map(a, a + 1).size() == self.l.size()", 500),
        ("self.l.filter(a, a == 1).size() == self.l.size()", 1_000),
        ("self.l.all(a, self.l.exists(b, b == a))", 300),
        ("self.l.all(a, self.s.startsWith('x'))", 1_000),
        ("self.s.split('').all(a, a == 'x')", 10_000),
        ("self.s.split('').map(a, a).join('') == self.s", 1_000),
        ("self.l.all(a, self.s.matches('^x+$'))", 100),
        ("self.s.matches('^x+$') && self.s.lowerAscii() == self.s", 1_000_000),
    ],
)
def test_rules_as_people_write_them_are_evaluated_on_what_people_write(rule: str, size: int) -> None:
    assert told(schema(rule, l=LIST, s=TEXT), {"l": [1] * min(size, 5_000), "s": "x" * size}) == []


def test_what_an_expression_for_a_message_costs_is_counted() -> None:
    rules: Tree = {"type": "object", "properties": {"s": TEXT}}
    message = "self.s.split('').map(a, self.s).join('')"
    rules["x-kubernetes-validations"] = [{"rule": "false", "messageExpression": message, "message": "plain"}]
    ((_, said),) = told(rules, {"s": "x" * 100_000})
    assert "running out of cost budget" in said


def test_what_the_rules_of_all_items_cost_together_is_counted() -> None:
    rules = [{"rule": "self.all(a, self.all(b, a <= b || a > b))"}]
    items = {**LIST, "x-kubernetes-validations": rules}
    lists = {"type": "object", "properties": {"ls": {"type": "array", "items": items}}}
    assert told(lists, {"ls": [[1] * 40] * 1000}) == []
    assert [message for _, message in told(lists, {"ls": [[1] * 900] * 1000})] == [
        "Invalid value: validation failed due to running out of cost budget, "
        "no further validation rules will be run"
    ]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=4), inner, max_size=5),
    max_leaves=20,
)
PIECES = st.sampled_from(
    [
        *("self", "oldSelf", ".", "a", "b", "[", "]", "(", ")", "{", "}", ":", ",", "0", "1", "'x'", '"y"'),
        *("+", "-", "*", "/", "%", "==", "!=", "<", "&&", "||", "!", "?", ".all(", ".map(", ".filter("),
        *("x,", "has(", "size(", "in", "true", "null", "duration('1s')", "timestamp(", ".matches('a+')"),
        *(".find('(a*)*')", "dyn(", ".?", "optional.of("),
    ]
)


@given(st.lists(PIECES, max_size=24).map(" ".join), VALUES, VALUES)
def test_whatever_a_rule_says_of_whatever_is_an_answer(rule: str, value: Any, old: Any) -> None:
    found = cel_rules({"x-kubernetes-validations": [{"rule": rule}]})
    if found is None:
        return
    assert len(found.rules) + len(found.unevaluated) == 1
    for cause in rule_faults(found, value, old, []):
        assert cause.keys() == {"reason", "message", "field"}


@given(VALUES)
def test_the_extent_of_a_value_is_no_less_than_its_longest_part(value: Any) -> None:
    extent = extent_of(value)
    if isinstance(value, list | dict):
        assert extent.longest >= len(value)
    assert extent.bytes >= 16 + extent.text
    with pytest.raises(OutOfBudget):
        CelBudget().spend("", Extent(max(extent.longest, 2), extent.text, extent.bytes), RuleCost(nesting=64))


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("namespace", "__namespace__"),
        ("a-b", "a__dash__b"),
        ("a.b/c", "a__dot__b__slash__c"),
        ("a__b", "a__underscores__b"),
        ("plain", "plain"),
    ],
)
def test_names_as_rules_write_them(name: str, rule: str) -> None:
    assert escaped(name) == rule


@pytest.fixture
def _no_libraries(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As `gpu-cockpit[demo]` alone is installed."""
    monkeypatch.setattr(custom_kinds, "HAS_RULES", False)
    monkeypatch.setattr(patterns, "re2", None)
    patterns.pattern.cache_clear()
    yield
    patterns.pattern.cache_clear()


CUSTOM = Resource("example.com", "v1", "things", "Thing", namespaced=True)
RULED = [
    schema("self.a == 'x'", a=TEXT),
    schema(a={**TEXT, "pattern": "^x$"}),
    schema(a={"anyOf": [{"pattern": "^x$"}]}),
]


def written(rules: Tree, value: str) -> tuple[tuple[str, ...], list[str]]:
    """What a write is warned of, and the fields that it is refused for."""
    version: Tree = {"name": "v1", "served": True, "schema": {"openAPIV3Schema": rules}}
    found = custom_kinds.schema_of(CUSTOM, version)
    (check,) = found.checks
    return found.warnings, [cause["field"] for cause in check({"a": value}, None)]


@pytest.mark.parametrize("rules", RULED, ids=["rule", "pattern", "pattern of a branch"])
def test_with_the_libraries_rules_and_patterns_are_held_without_a_warning(rules: Tree) -> None:
    warnings, fields = written(rules, "y")
    assert (warnings, bool(fields)) == ((), True)


@pytest.mark.usefixtures("_no_libraries")
@pytest.mark.parametrize("rules", RULED, ids=["rule", "pattern", "pattern of a branch"])
def test_without_the_libraries_each_write_is_warned_that_they_are_not_held(rules: Tree) -> None:
    (warning,), fields = written(rules, "y")
    assert (warning.endswith("pip install 'gpu-cockpit[demo-rules]'"), fields) == (True, [])


@pytest.mark.usefixtures("_no_libraries")
@pytest.mark.parametrize("value", ["8", "1.5Gi", "8\n", "eight", "8Q", ""])
def test_quantities_are_held_without_the_libraries_as_with_them(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = schema(a={**TEXT, "pattern": patterns.QUANTITY})
    alone = written(rules, value)
    monkeypatch.undo()
    patterns.pattern.cache_clear()
    assert patterns.HAS_RULES
    assert alone == written(rules, value)
