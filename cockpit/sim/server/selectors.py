"""Label and field selectors, compiled once: text of a query -> question about a tree.

Grammar and texts of refusal are those of apimachinery's pkg/labels and pkg/fields.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from cockpit.sim.port import Tree
from cockpit.sim.server.kinds import Kind
from cockpit.sim.server.names import label_key_faults, label_value_faults
from cockpit.sim.server.refusals import bad_request

Labels = Mapping[str, str]
LabelTest = Callable[[Labels], bool]
TreeTest = Callable[[Tree], bool]

_TOKEN = re.compile(r"\s*(!=|==|=|!|\(|\)|,|<|>|[^\s!=(),<>]+)")
_SYMBOLS = frozenset(("!=", "==", "=", "!", "(", ")", ",", "<", ">"))
_OPERATORS = "in, notin, =, ==, !=, gt, lt"
_NO_LABELS: Labels = {}


def _holds(key: str, operator: str, values: frozenset[str]) -> LabelTest:
    if operator == "exists":
        return lambda labels: key in labels
    if operator == "!":
        return lambda labels: key not in labels
    if operator == "in":
        return lambda labels: labels.get(key) in values
    if operator == "notin":
        return lambda labels: labels.get(key) not in values
    return _compares(key, operator, next(iter(values)))


def _compares(key: str, operator: str, value: str) -> LabelTest:
    bound = int(value)

    def test(labels: Labels) -> bool:
        try:
            found = int(labels[key])
        except (KeyError, ValueError):
            return False
        return found > bound if operator == ">" else found < bound

    return test


class _Parser:
    """Reads `a=b,c in (d,e),!f`."""

    def __init__(self, text: str) -> None:
        self.tokens = _TOKEN.findall(text)
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def tests(self) -> list[LabelTest]:
        tests: list[LabelTest] = []
        if self.peek() in _SYMBOLS and self.peek() != "!":
            raise ValueError(f"found '{self.peek()}', expected: !, identifier, or 'end of string'")
        while self.peek():
            tests.append(self.requirement())
            token = self.next()
            if not token:
                break
            if token != ",":
                raise ValueError(f"found '{token}', expected: ',' or 'end of string'")
            if not self.peek() or (self.peek() in _SYMBOLS and self.peek() != "!"):
                raise ValueError(f"found '{self.peek()}', expected: identifier after ','")
        return tests

    def requirement(self) -> LabelTest:
        try:
            return self._requirement()
        except ValueError as error:
            raise ValueError(f"unable to parse requirement: {error}") from error

    def _requirement(self) -> LabelTest:
        key = self.next()
        is_absent = key == "!"
        if is_absent:
            key = self.next()
        if key in _SYMBOLS:
            raise ValueError(f"found '{key}', expected: identifier")
        _refuse("<nil>", key, label_key_faults(key))
        if is_absent:
            return _holds(key, "!", frozenset())
        if self.peek() in ("", ","):
            return _holds(key, "exists", frozenset())
        operator = self.next()
        if operator in ("in", "notin"):
            return _holds(key, operator, self._values(key))
        if operator not in ("=", "==", "!=", ">", "<", "gt", "lt"):
            raise ValueError(f"found '{operator}', expected: {_OPERATORS}")
        value = "" if self.peek() in ("", ",") else self.next()
        _refuse(f"values[0][{key}]", value, label_value_faults(value))
        if operator in (">", "<", "gt", "lt"):
            if not re.fullmatch(r"[+-]?\d+", value):
                why = "for 'Gt', 'Lt' operators, the value must be an integer"
                raise ValueError(f'values[0]: Invalid value: "{value}": {why}')
            return _holds(key, ">" if operator in (">", "gt") else "<", frozenset((value,)))
        return _holds(key, "notin" if operator == "!=" else "in", frozenset((value,)))

    def _values(self, key: str) -> frozenset[str]:
        if (token := self.next()) != "(":
            raise ValueError(f"found '{token}' expected: '('")
        values: list[str] = []
        expects = True
        while (token := self.next()) != ")":
            if not token or (token in _SYMBOLS and token != ","):
                raise ValueError(f"found '{token}', expected: ',' or ')'")
            if token == ",":
                if expects:
                    values.append("")
                expects = True
            elif expects:
                values.append(token)
                expects = False
            else:
                raise ValueError(f"found '{token}', expected: ',', or ')'")
        if expects:
            values.append("")
        for index, value in enumerate(values):
            _refuse(f"values[{index}][{key}]", value, label_value_faults(value))
        return frozenset(values)


def _refuse(field: str, value: str, faults: list[str]) -> None:
    if faults:
        raise ValueError(f'{field}: Invalid value: "{value}": {"; ".join(faults)}')


@lru_cache(maxsize=1024)
def label_selector(text: str) -> LabelTest | None:
    """The question that a label selector asks of labels; None for one that asks nothing.

    Raises PortError 400 for what is no selector.
    """
    try:
        tests = _Parser(text).tests()
    except ValueError as error:
        raise bad_request(str(error)) from error
    if not tests:
        return None
    if len(tests) == 1:
        return tests[0]
    return lambda labels: all(test(labels) for test in tests)


def object_selector(selector: Tree | None) -> LabelTest:
    """The question of a `metav1.LabelSelector`; None matches nothing, an empty one everything."""
    if selector is None:
        return lambda labels: False
    wanted: dict[str, str] = selector.get("matchLabels") or {}
    tests = [_holds(key, "in", frozenset((value,))) for key, value in wanted.items()]
    names = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
    tests.extend(
        _holds(one["key"], names[one["operator"]], frozenset(one.get("values") or ()))
        for one in selector.get("matchExpressions") or ()
    )
    return lambda labels: all(test(labels) for test in tests)


def _terms(text: str) -> list[tuple[str, str, str]]:
    """`a=b,c!=d` -> (path, operator, value); a backslash takes the meaning from `,`, `=` and itself."""
    terms = []
    for term in re.findall(r"(?:\\.|[^,\\])+", text):
        found = re.fullmatch(r"((?:\\.|[^=!\\])*?)(!=|==|=)((?:\\.|[^=\\])*)", term)
        if found is None:
            raise bad_request(f"invalid selector: '{term}'; can't understand '{term}'")
        terms.append((found[1], found[2], re.sub(r"\\(.)", r"\1", found[3])))
    return terms


def _text_at(tree: Any, path: tuple[str, ...]) -> str:
    for key in path:
        tree = tree.get(key) if isinstance(tree, dict) else None
    if tree is None:
        return ""
    if isinstance(tree, bool):
        return "true" if tree else "false"
    return str(tree)


def _field_test(kind: Kind, label: str, operator: str, value: str) -> TreeTest:
    path: tuple[str, ...] | None
    if label in ("metadata.name", "metadata.namespace"):
        path = tuple(label.split("."))
    else:
        path = kind.fields.get(label)
    if path is None:
        raise bad_request(_unknown_field(kind, label))
    absent = kind.absent_fields.get(label, "")
    if operator == "!=":
        return lambda tree: (_text_at(tree, path) or absent) != value
    return lambda tree: (_text_at(tree, path) or absent) == value


def _unknown_field(kind: Kind, label: str) -> str:
    if kind.resource.group == "batch":
        return f'field label "{label}" not supported for {kind.resource.kind}'
    if not kind.fields and not kind.is_custom:
        return f'"{label}" is not a known field selector: only "metadata.name", "metadata.namespace"'
    return f"field label not supported: {label}"


@lru_cache(maxsize=1024)
def selector(kind: Kind, labels: str, fields: str) -> TreeTest | None:
    """Both selectors of a list or watch in one question; None for everything. Raises PortError 400."""
    label_test = label_selector(labels)
    tests = [_field_test(kind, *term) for term in _terms(fields)]
    if label_test is not None:
        asked = label_test

        def by_labels(tree: Tree) -> bool:
            return asked(tree["metadata"].get("labels") or _NO_LABELS)

        tests.append(by_labels)
    if not tests:
        return None
    if len(tests) == 1:
        return tests[0]
    return lambda tree: all(test(tree) for test in tests)
