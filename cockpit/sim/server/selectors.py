"""Label and field selectors, compiled once: text of a query -> question about a tree.

Grammar and texts of refusal are those of apimachinery's pkg/labels and pkg/fields.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from cockpit.k8s.selectors import LabelSelector, all_of, int64, requirement_test, selector_of
from cockpit.sim.port import Tree
from cockpit.sim.server.kinds import ServedKind
from cockpit.sim.server.names import label_key_faults, label_value_faults
from cockpit.sim.server.refusals import bad_request

Labels = Mapping[str, str]
LabelTest = Callable[[Labels], bool]
TreeTest = Callable[[Tree], bool]

_TOKEN = re.compile(r"\s*(!=|==|=|!|\(|\)|,|<|>|[^\s!=(),<>]+)")
_SYMBOLS = frozenset(("!=", "==", "=", "!", "(", ")", ",", "<", ">"))
_OPERATORS = "in, notin, =, ==, !=, gt, lt"
_WORDS = {
    **{"exists": "Exists", "!": "DoesNotExist", "in": "In", "=": "In", "==": "In", "notin": "NotIn"},
    **{"!=": "NotIn", ">": "Gt", "<": "Lt"},
}
"""The operators of a query, as selectors in objects call them."""
_NO_LABELS: Labels = {}


def _holds(key: str, word: str, values: Iterable[str] = ()) -> LabelTest:
    return requirement_test(key, _WORDS[word], tuple(values))


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
            return _holds(key, "!")
        if self.peek() in ("", ","):
            return _holds(key, "exists")
        operator = self.next()
        if operator in ("in", "notin"):
            return _holds(key, operator, self._values(key))
        if operator not in ("=", "==", "!=", ">", "<"):
            raise ValueError(f"found '{operator}', expected: {_OPERATORS}")
        value = "" if self.peek() in ("", ",") else self.next()
        _refuse(f"values[0][{key}]", value, label_value_faults(value))
        if operator in (">", "<") and int64(value) is None:
            why = "for 'Gt', 'Lt' operators, the value must be an integer"
            raise ValueError(f'values[0]: Invalid value: "{value}": {why}')
        return _holds(key, operator, (value,))

    def _values(self, key: str) -> list[str]:
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
        return values


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
    return all_of(tests)


def object_selector(selector: Tree | None) -> LabelTest:
    """The question of a `metav1.LabelSelector`; None matches nothing, an empty one everything."""
    return LabelSelector(selector_of(selector)).matches


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


def _field_test(kind: ServedKind, label: str, operator: str, value: str) -> TreeTest:
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


def _unknown_field(kind: ServedKind, label: str) -> str:
    if kind.resource.group == "batch":
        return f'field label "{label}" not supported for {kind.resource.kind}'
    if not kind.fields and not kind.is_custom:
        return f'"{label}" is not a known field selector: only "metadata.name", "metadata.namespace"'
    return f"field label not supported: {label}"


@lru_cache(maxsize=1024)
def selector(kind: ServedKind, labels: str, fields: str) -> TreeTest | None:
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
