"""What the server understands of an object that was sent: types checked, unknown fields dropped.

The outcome has the form in which the server writes the object back: nulls and empty values left out where
its types leave them out, quantities in their canonical form.
"""

from typing import Any

import msgspec

from cockpit.k8s.quantity import canonical
from cockpit.sim.port import PortError, Tree
from cockpit.sim.server.json_values import json_type
from cockpit.sim.server.refusals import wrong
from cockpit.sim.server.schema.notation import named
from cockpit.sim.server.schema.shape import SchemaField, SchemaShape
from cockpit.sim.times import rfc3339, rfc3339_micro, seconds_of

_QUANTITIES_MUST_MATCH = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_INT_BITS = {"int32": 31, "int64": 63}
_ZEROS: dict[str, Any] = {
    "string": "",
    "bool": False,
    "int32": 0,
    "int64": 0,
    "double": 0,
    "quantity": "0",
    "intorstr": 0,
}


class BadJson(Exception):
    """A value of a wrong type; the sentence says where, what is expected there and what was sent."""


def decoded(tree: Tree, shape: SchemaShape, before: Tree | None = None) -> tuple[Tree, list[str]]:
    """The object as understood, and `unknown field "PATH"` for each field dropped. Raises BadJson.

    `before` is the version that is stored, of this shape: what `tree` shares with it is not read again, also
    where an actor's status was taken as it is.
    """
    reading = _Reading()
    return reading.object(tree, shape, None, before), reading.unknown


def normal(tree: Tree, shape: SchemaShape) -> Tree:
    """The object as the server writes it back. Raises BadJson."""
    return decoded(tree, shape)[0]


def zero(shape: SchemaShape) -> Tree:
    """An object of this shape with nothing in it, as the server would write it."""
    return _Reading().object({}, shape, None) if shape.type == "object" else {}


def accepted(
    tree: Tree, shape: SchemaShape, validation: str = "", before: Tree | None = None
) -> tuple[Tree, tuple[str, ...]]:
    """The object of a POST or PUT as understood, and warnings; `before` as in `decoded`.

    `validation` is "Strict", "Warn", or anything else to ignore unknown fields. Raises PortError 400.
    """
    try:
        understood, unknown = decoded(tree, shape, before)
    except BadJson as problem:
        raise _cannot_be_handled(tree, str(problem)) from problem
    if unknown and validation == "Strict":
        raise _cannot_be_handled(tree, strict(unknown))
    return understood, tuple(unknown) if validation == "Warn" else ()


def accepted_patch(
    tree: Tree, shape: SchemaShape, validation: str, before: Tree | None = None
) -> tuple[Tree, tuple[str, ...]]:
    """The object that a JSON, merge or strategic patch led to, as understood, and warnings.

    `validation` as in `accepted`, `before` as in `decoded`. Raises PortError 422.
    """
    try:
        understood, unknown = decoded(tree, shape, before)
    except BadJson as problem:
        raise _bad_patch(tree, str(problem)) from problem
    if unknown and validation == "Strict":
        raise _bad_patch(tree, strict(unknown))
    return understood, tuple(unknown) if validation == "Warn" else ()


def strict(problems: list[str]) -> str:
    """`strict decoding error: unknown field "spec.foo", duplicate field "metadata.name"`."""
    return "strict decoding error: " + ", ".join(problems)


def _cannot_be_handled(tree: Tree, why: str) -> PortError:
    kind, version = tree.get("kind"), str(tree.get("apiVersion", "")).rpartition("/")[2]
    return PortError(400, "BadRequest", f'{kind} in version "{version}" cannot be handled as a {kind}: {why}')


def _bad_patch(tree: Tree, why: str) -> PortError:
    cause = wrong("patch", msgspec.json.encode(tree).decode(), why)
    return PortError(422, "Invalid", f' "" is invalid: patch: {cause["message"]}', [cause])


_EXPECTED = {
    "map": "object",
    "list": "array",
    "bytes": "string",
    "time": "string",
    "microtime": "string",
    "intorstr": "integer or string",
    "double": "number",
}


_Where = tuple[Any, str] | None
"""Where a value is: what it is in, and the member or [index] there. Made into a path only for a complaint."""


def _path(where: _Where) -> str:
    keys: list[str] = []
    while where is not None:
        where, key = where
        keys.append(key)
    return ".".join(reversed(keys)).replace(".[", "[")


_NOTHING: Tree = {}
_NO_IDS: frozenset[int] = frozenset()


class _Reading:
    def __init__(self) -> None:
        self.unknown: list[str] = []

    def object(self, tree: Any, shape: SchemaShape, path: _Where, before: Any = None) -> Tree:
        """What is understood already is answered as it is, so that versions go on sharing it."""
        out: Tree = {}
        fields = shape.fields
        is_same = True
        had = before if isinstance(before, dict) else _NOTHING
        for key, value in tree.items():
            field = fields.get(key)
            if field is not None and value is not None and had.get(key) is value:
                out[key] = value
                continue
            if field is None:
                if shape.open or shape.items is not None:
                    out[key] = value
                else:
                    self.unknown.append(f'unknown field "{_path((path, key))}"')
                continue
            if value is None:
                continue
            read = self.value(value, field.shape, (path, key), had.get(key))
            if field.always or field.pointer or read not in _EMPTY or _is_number(read):
                out[key] = read
                is_same = is_same and read is value
        for key, field in fields.items():
            if field.always and key not in out:
                out[key] = _empty(field)
                is_same = False
        return tree if is_same and len(out) == len(tree) else out

    def value(self, value: Any, shape: SchemaShape, path: _Where, before: Any = None) -> Any:
        match shape.type:
            case "any":
                return self._schemas(value, path) if shape.name else value
            case "object" if isinstance(value, dict):
                return self.object(value, shape, path, before)
            case "map" if isinstance(value, dict):
                return self._map(value, shape.item, path)
            case "list" if isinstance(value, list):
                return self._list(value, shape.item, path, before)
            case "object" | "map" | "list":
                raise _wrong(value, shape.type, path)
            case _:
                return self.scalar(value, shape, path)

    def _schemas(self, value: Any, path: _Where) -> Any:
        """What a definition has below `items` and its like."""
        schema = named("apiextensions", "JSONSchemaProps")
        if isinstance(value, dict):
            return self.object(value, schema, path)
        if isinstance(value, list):
            return self._list(value, schema, path)
        if isinstance(value, bool):
            return value
        raise _wrong(value, "object", path)

    def _map(self, value: Tree, item: SchemaShape, path: _Where) -> Tree:
        if item.type == "string":
            for text in value.values():
                if not isinstance(text, str) and text is not None:
                    raise _wrong(text, "string", path)
            return value if None not in value.values() else {k: v or "" for k, v in value.items()}
        read = {
            key: self.value(inner, item, (path, key)) if inner is not None else _zero_of(item)
            for key, inner in value.items()
        }
        return value if all(read[key] is inner for key, inner in value.items()) else read

    def _list(self, value: list[Any], item: SchemaShape, path: _Where, before: Any = None) -> list[Any]:
        if item.type == "string" and all(isinstance(text, str) for text in value):
            return value
        # `before` holds on to its items, so an identity among them is theirs
        known = {id(one) for one in before} if isinstance(before, list) else _NO_IDS
        read = [
            inner
            if id(inner) in known
            else self.value(inner, item, (path, f"[{at}]"))
            if inner is not None
            else _zero_of(item)
            for at, inner in enumerate(value)
        ]
        return value if all(one is inner for one, inner in zip(read, value, strict=True)) else read

    def scalar(self, value: Any, shape: SchemaShape, path: _Where) -> Any:
        """A value that has no parts, in the form in which it is written back."""
        kind = shape.type
        if kind == "quantity":
            return _quantity(value)
        if kind in ("time", "microtime") and isinstance(value, str):
            return _time(value, kind, path)
        if kind == "intorstr" and isinstance(value, str):
            return value
        if kind == "double" and not isinstance(value, bool) and isinstance(value, int | float):
            return value
        if kind in _INT_BITS or kind == "intorstr":
            return _integer(value, shape, path)
        if kind == "bool" and isinstance(value, bool):
            return value
        if kind in ("string", "bytes", "time", "microtime") and isinstance(value, str):
            return value
        raise _wrong(value, shape.type, path)


def _integer(value: Any, shape: SchemaShape, path: _Where) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(value, shape.type, path)
    bits = _INT_BITS.get(shape.type, 31)
    if isinstance(value, float) or not -(2**bits) <= value < 2**bits:
        raise _wrong(value, shape.type, path, str(value))
    return value


def _wrong(value: Any, type_: str, path: _Where, what: str = "") -> BadJson:
    return BadJson(f"{_path(path)}: expected {_EXPECTED.get(type_, type_)}, got {what or json_type(value)}")


_EMPTY: tuple[Any, ...] = ("", False, None, [], {})


def _is_number(value: Any) -> bool:
    return value.__class__ in (int, float) and value != 0


def _empty(field: SchemaField) -> Any:
    return None if field.pointer else _zero_of(field.shape)


def _zero_of(shape: SchemaShape) -> Any:
    return zero(shape) if shape.type == "object" else _ZEROS.get(shape.type)


def _quantity(value: Any) -> str:
    text = value if isinstance(value, str) else "?" if isinstance(value, bool) else str(value)
    try:
        written = canonical(text)
    except ValueError as problem:
        raise BadJson(_QUANTITIES_MUST_MATCH) from problem
    return text if written == text else written


def _time(text: str, kind: str, path: _Where) -> str:
    try:
        seconds = seconds_of(text)
        written = rfc3339(seconds) if kind == "time" else rfc3339_micro(seconds)
    except (ValueError, OverflowError):
        raise BadJson(f'{_path(path)}: expected a time in RFC 3339, got "{text}"') from None
    return text if written == text else written
