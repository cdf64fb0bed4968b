"""JSON values as such: what they are called, and when two are the same."""

from typing import Any


def json_type(value: Any) -> str:
    """What JSON calls a value: `object`, `array`, `string`, `number`, `bool` or `null`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(item, other[key]) for key, item in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


def identity(value: Any) -> Any:
    """What two values share where they are the same as JSON, to be looked up by."""
    if isinstance(value, dict):
        return frozenset((key, identity(item)) for key, item in value.items())
    if isinstance(value, list):
        return tuple(identity(item) for item in value)
    return value.__class__ is bool, value
