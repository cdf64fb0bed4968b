"""Rules of a schema in CEL (`x-kubernetes-validations`), evaluated by the library common-expression-language.

A rule that the library cannot read, or that calls what is missing here (`url`, `ip`, `format`, optional
fields), is not evaluated: `CelRules.unevaluated` names it, and every write of such an object warns of it.
Facts: apiextensions-apiserver 1.36 pkg/apiserver/schema/cel/validation.go, apiserver pkg/cel/escaping.go.
Other than there lists of type set are compared in their order, and what a rule costs is estimated beforehand.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from cockpit.sim.port import Tree
from cockpit.sim.server.refusals import Cause, banned, duplicate, required, wrong
from cockpit.sim.server.schema.cel_cost import CelBudget, OutOfBudget, RuleCost, cost_of, extent_of, wider
from cockpit.sim.server.schema.cel_functions import MATCHES, counted, counting

if TYPE_CHECKING:
    import cel

_MOST_RULE_CHARACTERS = 5_000
"""Longer ones are not read: the library reads them by recursion."""
_BLOCKING = frozenset({
    "FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany",
    "FieldValueTypeInvalid",
})  # fmt: skip
_BLOCKED = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)
_RESERVED = frozenset(
    {
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if"),
        *("import", "let", "loop", "package", "namespace", "return", "var", "void", "while"),
    }
)
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_ESCAPED = re.compile(r"__|[./-]")
_HIDDEN = re.compile(
    r""""{3}.*?"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*\'|\b(?P<matches>matches)(?=\s*\()""",
    re.DOTALL,
)
"""The library's own `matches` compiles its pattern with every call; ours stands in its place."""
_BUILT_IN = frozenset(
    {
        *(
            "size",
            "contains",
            "startsWith",
            "endsWith",
            "int",
            "uint",
            "double",
            "string",
            "bytes",
        ),
        *("timestamp", "duration", "dyn", "type", "getFullYear", "getMonth", "getDate", "getDayOfMonth"),
        *("getDayOfWeek", "getDayOfYear", "getHours", "getMinutes", "getSeconds", "getMilliseconds"),
    }
)
"""What the library has without being given it; operators (`_+_`, `@in`, `!_`) have names of their own."""


class CelRule(msgspec.Struct, frozen=True, eq=False):
    """One rule, read. `text` is how it is written, `cost` how it grows, its message's likewise."""

    text: str
    program: "cel.Program"
    message: str
    message_program: "cel.Program | None"
    reason: str
    field_path: str
    uses_old: bool
    cost: RuleCost
    message_cost: RuleCost


class CelRules(msgspec.Struct, frozen=True, eq=False):
    """The rules of one place of a schema and of all below it. None stands for a place without any."""

    schema: Tree
    rules: tuple[CelRule, ...]
    unevaluated: tuple[str, ...]
    """A sentence for each rule, here and below, that is not evaluated."""
    properties: Mapping[str, "CelRules"]
    items: "CelRules | None"
    others: "CelRules | None"
    branches: tuple["CelRules", ...]


def cel_rules(schema: Tree, path: str = "") -> CelRules | None:
    """The rules in a schema, `path` being its place in an object; None where it has none."""
    rules: list[CelRule] = []
    unevaluated: list[str] = []
    for one in schema.get("x-kubernetes-validations") or ():
        try:
            rules.append(_rule(one))
        except ValueError as problem:
            where = path or "the object"
            unevaluated.append(f"a CEL rule of {where} is not evaluated by this server: {problem}")
    properties = {
        name: found
        for name, inner in (schema.get("properties") or {}).items()
        if (found := cel_rules(inner, f"{path}.{name}" if path else name)) is not None
    }
    items, others = schema.get("items"), schema.get("additionalProperties")
    below_items = cel_rules(items, f"{path}[]") if isinstance(items, dict) else None
    below_others = cel_rules(others, f"{path}[*]") if isinstance(others, dict) else None
    branches = tuple(
        # typed by the place that they stand at: a branch says nothing of types
        msgspec.structs.replace(found, schema=schema)
        for one in schema.get("allOf") or ()
        if (found := cel_rules(one, path)) is not None
    )
    below = [*properties.values(), *branches]
    below += [one for one in (below_items, below_others) if one is not None]
    if not rules and not unevaluated and not below:
        return None
    unevaluated += [text for one in below for text in one.unevaluated]
    return CelRules(schema, tuple(rules), tuple(unevaluated), properties, below_items, below_others, branches)


def rule_faults(rules: CelRules, tree: Tree, old: Tree | None, found: list[Cause]) -> Iterator[Cause]:
    """What the rules forbid of an object; `found` is what its schema forbids: some of it hides the rules."""
    if any(one["reason"] in _BLOCKING for one in found):
        yield wrong("<nil>", None, _BLOCKED)
        return
    try:
        yield from _faults(rules, tree, old, "", CelBudget(), is_same=old is not None and tree == old)
    except OutOfBudget as stop:
        yield {"reason": "FieldValueInvalid", "message": f"Invalid value: {stop}", "field": stop.field}


def _faults(
    rules: CelRules, value: Any, old: Any, path: str, budget: CelBudget, *, is_same: bool
) -> Iterator[Cause]:
    """`is_same`: this value, or one that it is a part of, is what it was; faults of such are let be."""
    if value is None:
        return
    is_same = is_same or (old is not None and value == old)
    if rules.rules:
        yield from _own_faults(rules, value, old, path, budget, is_same=is_same)
    for branch in rules.branches:
        yield from _faults(branch, value, old, path, budget, is_same=False)
    if isinstance(value, dict):
        before = old if isinstance(old, dict) else {}
        for key, inner in value.items():
            below = rules.properties.get(key)
            place = f"{path}.{key}" if path else key
            if below is None:
                below, place = rules.others, f"{path}[{key}]"
            if below is not None:
                yield from _faults(below, inner, before.get(key), place, budget, is_same=is_same)
    elif isinstance(value, list) and rules.items is not None:
        earlier = _by_keys(rules.schema, old)
        for at, inner in enumerate(value):
            held = earlier.get(_key(rules.schema, inner))
            yield from _faults(rules.items, inner, held, f"{path}[{at}]", budget, is_same=is_same)


def _own_faults(
    rules: CelRules, value: Any, old: Any, path: str, budget: CelBudget, *, is_same: bool
) -> Iterator[Cause]:
    import cel

    names: dict[str, Any] = {"self": _as_cel(value, rules.schema)}
    if old is not None:
        names["oldSelf"] = _as_cel(old, rules.schema)
    extent = extent_of(value) if old is None else wider(extent_of(value), extent_of(old))
    for rule in rules.rules:
        if rule.uses_old and old is None:
            continue
        budget.spend(path, extent, rule.cost)
        context = cel.Context(variables=names, functions=counted())
        try:
            with counting(budget):
                is_kept = rule.program.execute(context)
            budget.check(path)
        except OutOfBudget:
            raise
        except Exception as error:  # noqa: BLE001 - the rule's own: a missing key, an overflow, other types
            budget.check(path)
            why = f"{_told(error)} evaluating rule: {rule.message or rule.text}"
            yield {**wrong(path or "<nil>", rules.schema.get("type", ""), why)}
            continue
        if is_kept is True or (is_same and not rule.uses_old):
            continue
        budget.spend(path, extent, rule.message_cost)
        with counting(budget):
            message = _message(rule, context)
        budget.check(path)
        yield _cause(rule, value, path, message)


def _cause(rule: CelRule, value: Any, path: str, message: str) -> Cause:
    field = f"{path}{rule.field_path}" if path else rule.field_path.removeprefix(".") or "<nil>"
    if rule.reason == "FieldValueForbidden":
        return banned(field, message)
    if rule.reason == "FieldValueRequired":
        return required(field, message)
    if rule.reason == "FieldValueDuplicate":
        return duplicate(field, value)
    if isinstance(value, dict | list):
        return {"reason": "FieldValueInvalid", "message": f"Invalid value: {message}", "field": field}
    return wrong(field, value, message)


def _message(rule: CelRule, context: "cel.Context") -> str:
    if rule.message_program is not None:
        try:
            said = rule.message_program.execute(context)
        except Exception:  # noqa: BLE001 - as there: a message that fails gives way to the fixed one
            said = None
        if isinstance(said, str) and said.strip() and "\n" not in said.strip():
            return said.strip()
    return rule.message or f"failed rule: {rule.text.strip()}"


def _told(error: Exception) -> str:
    return f"no such key: {error.args[0]}" if isinstance(error, KeyError) else str(error)


def _rule(one: Tree) -> CelRule:
    """One entry of `x-kubernetes-validations`. Raises ValueError for what cannot be evaluated here."""
    if one.get("optionalOldSelf"):
        raise ValueError("optionalOldSelf needs optional values, which it does not have")
    text = str(one.get("rule") or "true")
    program = _program(text)
    message = one.get("messageExpression")
    return CelRule(
        text=text,
        program=program,
        message=str(one.get("message") or "").strip(),
        message_program=_program(str(message)) if message else None,
        reason=str(one.get("reason") or ""),
        field_path=str(one.get("fieldPath") or ""),
        uses_old="oldSelf" in program.variables(),
        cost=cost_of(text),
        message_cost=cost_of(str(message or "")),
    )


def _program(text: str) -> "cel.Program":
    import cel

    if len(text) > _MOST_RULE_CHARACTERS:
        raise ValueError(f"it has more than {_MOST_RULE_CHARACTERS:,} characters")
    try:
        program = cel.compile(_HIDDEN.sub(lambda found: MATCHES if found["matches"] else found[0], text))
    except ValueError as problem:
        raise ValueError(str(problem).splitlines()[0]) from None
    known = _BUILT_IN | counted().keys()
    missing = [name for name in program.functions() if name.isidentifier() and name not in known]
    if missing:
        raise ValueError(f"there is no function {missing[0]} here")
    return program


def _by_keys(schema: Tree, old: Any) -> dict[Any, Any]:
    """The items of an earlier list by their keys: only lists with keys are held against each other."""
    if schema.get("x-kubernetes-list-type") != "map" or not isinstance(old, list):
        return {}
    return {_key(schema, one): one for one in old}


def _key(schema: Tree, item: Any) -> Any:
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    if not isinstance(item, dict) or not keys:
        return None
    return tuple(str(item.get(key)) for key in keys)


def escaped(name: str) -> str:
    """The name of a property as a rule writes it."""
    if name in _RESERVED:
        return f"__{name}__"
    return _ESCAPED.sub(lambda found: _ESCAPES[found.group(0)], name)


def _as_cel(value: Any, schema: Tree) -> Any:
    """A value as rules see it: names escaped, numbers and times typed by the schema."""
    if isinstance(value, dict):
        properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
        inner = others if isinstance(others, dict) else {}
        return {
            escaped(key) if key in properties else key: _as_cel(one, properties.get(key, inner))
            for key, one in value.items()
        }
    if isinstance(value, list):
        items = schema.get("items")
        return [_as_cel(one, items if isinstance(items, dict) else {}) for one in value]
    if isinstance(value, int) and not isinstance(value, bool) and schema.get("type") == "number":
        return float(value)
    if isinstance(value, str):
        return _timed(value, schema.get("format", ""))
    return value


def _timed(text: str, form: str) -> Any:
    import cel

    try:
        if form == "date-time":
            return datetime.fromisoformat(text)
        if form == "duration":
            return cel.evaluate("duration(text)", {"text": text})
    except (ValueError, RuntimeError):
        pass  # the schema has said already that it is none
    return text
