"""Does a value fit an openAPIV3Schema? In the words of the validator of kube-openapi (pkg/validation)."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from cockpit.sim.port import Tree
from cockpit.sim.server.json_values import identity, same
from cockpit.sim.server.refusals import Cause, duplicate, required, too_long, unsupported, wrong
from cockpit.sim.times import seconds_of

_FORMATS = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}


def faults(value: Any, schema: Tree, path: str = "") -> Iterator[Cause]:
    """Every fault of `value`, with the paths and sentences of the server; properties in order of name."""
    if value is None and schema.get("nullable"):
        return
    wrong_type = _type_fault(value, schema, path)
    if wrong_type is not None:
        yield wrong_type
        if not isinstance(value, float):
            return
    yield from _combined(value, schema, path)
    if isinstance(value, str):
        yield from _text_faults(value, schema, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _number_faults(value, schema, path)
    elif isinstance(value, list):
        yield from _list_faults(value, schema, path)
    enum = schema.get("enum")
    if enum is not None and enum and not any(same(value, one) for one in enum):
        yield unsupported(path, value, [str(one) if isinstance(one, str) else _plain(one) for one in enum])
    if isinstance(value, dict):
        yield from _object_faults(value, schema, path)


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def _type_fault(value: Any, schema: Tree, path: str) -> Cause | None:
    kind, wanted = _kind(value), schema.get("type", "")
    if schema.get("x-kubernetes-int-or-string"):
        wanted = "integer,string"
        fits = kind in ("integer", "string")
    else:
        fits = not wanted or kind == wanted or (wanted == "number" and kind == "integer")
    if fits:
        return None
    form = schema.get("format", "")
    if isinstance(value, float) and form in _FORMATS:
        wanted, kind = form, "float64"
    where = path or "<nil>"
    return {
        "reason": "FieldValueTypeInvalid",
        "message": f'Invalid value: "{kind}": {path} in body must be of type {wanted}: "{kind}"',
        "field": where,
    }


def _nowhere(why: str) -> Cause:
    return wrong("<nil>", "", why)


def _combined(value: Any, schema: Tree, path: str) -> Iterator[Cause]:
    """`anyOf`, `oneOf`, `allOf` and `not`."""
    for word in ("anyOf", "oneOf"):
        branches = schema.get(word)
        if not branches:
            continue
        found = [list(faults(value, branch, path)) for branch in branches]
        valid = sum(1 for one in found if not one)
        if word == "anyOf" and valid == 0:
            yield _nowhere(f'"{path}" must validate at least one schema (anyOf)')
            yield from found[0]
        elif word == "oneOf" and valid == 0:
            yield _nowhere(f'"{path}" must validate one and only one schema (oneOf). Found none valid')
            yield from found[0]
        elif word == "oneOf" and valid > 1:
            said = f'"{path}" must validate one and only one schema (oneOf). Found {valid} valid alternatives'
            yield _nowhere(said)
    if branches := schema.get("allOf"):
        found = [list(faults(value, branch, path)) for branch in branches]
        for one in found:
            yield from one
        if any(found):
            none = ". None validated" if all(found) else ""
            yield _nowhere(f'"{path}" must validate all the schemas (allOf){none}')
    banned = schema.get("not")
    if banned is not None and not list(faults(value, banned, path)):
        yield _nowhere(f'"{path}" must not validate the schema (not)')


def _text_faults(value: str, schema: Tree, path: str) -> Iterator[Cause]:
    most, least = schema.get("maxLength"), schema.get("minLength")
    if most is not None and len(value) > most:
        yield too_long(path, most)
    if least is not None and len(value) < least:
        yield wrong(path, value, f"{path} in body should be at least {least} chars long")
    wanted = schema.get("pattern")
    if wanted and not re.search(wanted, value):
        yield wrong(path, value, f"{path} in body should match '{wanted}'")
    form = schema.get("format", "")
    if form in _TEXT_FORMATS and not _TEXT_FORMATS[form](value):
        yield {
            **wrong(path, value, f'{path} in body must be of type {form}: "{value}"'),
            "reason": "FieldValueTypeInvalid",
        }


def _is_time(text: str) -> bool:
    try:
        seconds_of(text)
    except ValueError:
        return False
    return "T" in text.upper()


_DURATION = re.compile(r"[+-]?(0|(\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+")
_TEXT_FORMATS: dict[str, Callable[[str], bool]] = {
    "date-time": _is_time,
    "date": lambda text: re.fullmatch(r"\d{4}-\d\d-\d\d", text) is not None,
    "duration": lambda text: _DURATION.fullmatch(text) is not None,
    "uuid": lambda text: (
        re.fullmatch(r"[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}", text) is not None
    ),
    "byte": lambda text: re.fullmatch(r"[A-Za-z0-9+/]*={0,2}", text) is not None and len(text) % 4 == 0,
    "ipv4": lambda text: re.fullmatch(r"(\d{1,3}\.){3}\d{1,3}", text) is not None,
}


def _number_faults(value: float, schema: Tree, path: str) -> Iterator[Cause]:
    form = schema.get("format", "")
    if form in _FORMATS:
        low, high = _FORMATS[form]
        if (isinstance(value, float) and not value.is_integer()) or not low <= value <= high:
            kind = schema.get("type", "integer")
            yield _nowhere(f"Checked value must be of type {kind} with format {form} in {path}")
    step = schema.get("multipleOf")
    if step and value % step:
        yield wrong(path, value, f"{path} in body should be a multiple of {_number(step)}")
    most, least = schema.get("maximum"), schema.get("minimum")
    if most is not None:
        is_strict = schema.get("exclusiveMaximum", False)
        if value > most or (is_strict and value == most):
            relation = "less than" if is_strict else "less than or equal to"
            yield wrong(path, value, f"{path} in body should be {relation} {_number(most)}")
    if least is not None:
        is_strict = schema.get("exclusiveMinimum", False)
        if value < least or (is_strict and value == least):
            relation = "greater than" if is_strict else "greater than or equal to"
            yield wrong(path, value, f"{path} in body should be {relation} {_number(least)}")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else str(value)


def _too_many(path: str, count: int, most: int) -> Cause:
    message = f"Too many: {count}: must have at most {most} items"
    return {"reason": "FieldValueTooMany", "message": message, "field": path}


def _list_faults(value: list[Any], schema: Tree, path: str) -> Iterator[Cause]:
    items = schema.get("items")
    if isinstance(items, dict):
        for at, item in enumerate(value):
            yield from faults(item, items, f"{path}[{at}]")
    least, most = schema.get("minItems"), schema.get("maxItems")
    if least is not None and len(value) < least:
        yield wrong(path, len(value), f"{path} in body should have at least {least} items")
    if most is not None and len(value) > most:
        yield _too_many(path, len(value), most)
    yield from _double_faults(value, schema, path)


def _double_faults(value: list[Any], schema: Tree, path: str) -> Iterator[Cause]:
    """Items that stand twice in a set or in a list with keys."""
    kind = schema.get("x-kubernetes-list-type", "atomic")
    if kind == "atomic":
        return
    keys = schema.get("x-kubernetes-list-map-keys") or []
    seen: set[Any] = set()
    for at, item in enumerate(value):
        name = (
            {key: item[key] for key in keys if key in item}
            if kind == "map" and isinstance(item, dict)
            else item
        )
        if kind == "map" and not name:
            continue
        known = identity(name)
        if known in seen:
            yield duplicate(f"{path}[{at}]", name)
        seen.add(known)


def _object_faults(value: Tree, schema: Tree, path: str) -> Iterator[Cause]:
    least, most = schema.get("minProperties"), schema.get("maxProperties")
    if least is not None and len(value) < least:
        yield wrong(path, len(value), f"{path} in body should have at least {least} properties")
    if most is not None and len(value) > most:
        yield _too_many(path, len(value), most)
    below = f"{path}." if path else ""
    for name in schema.get("required") or ():
        if name not in value:
            yield required(f"{below}{name}")
    if schema.get("x-kubernetes-embedded-resource"):
        for name in ("apiVersion", "kind"):
            if not value.get(name):
                yield required(f"{below}{name}")
    properties = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    for name in sorted(value):
        inner = properties.get(name)
        if inner is None and isinstance(others, dict):
            inner = others
        if inner is not None:
            yield from faults(value[name], inner, f"{below}{name}")
