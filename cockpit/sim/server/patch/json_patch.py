"""JSON patch (RFC 6902) as the kube-apiserver applies it, with the habits of its library (json-patch v4)."""

from collections.abc import Sequence
from typing import Any

from cockpit.sim.port import PortError, Tree

MAX_OPERATIONS = 10_000
"""More in one patch are refused with 413 (apiserver: maxJSONPatchOperations)."""

REFUSED = "the server rejected our request due to an error in our request"
"""The one sentence that the server has for every operation that cannot be carried out."""

_NOTHING: Any = object()


def json_patch(target: Tree, ops: Sequence[Tree]) -> Tree:
    """`target` after all operations, or PortError: 422 where one cannot be carried out, 413 for too many.

    As on the real server, `replace` and a `test` for null accept a member that is not there, and negative
    indices count from the end. The text of a refusal does not say which operation it was; the cause does.
    """
    if len(ops) > MAX_OPERATIONS:
        raise PortError(
            413,
            "RequestEntityTooLarge",
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(ops)}",
        )
    document: Any = target
    for op in ops:
        try:
            document = _carried_out(document, op)
        except _Refusal as refusal:
            raise PortError(422, "Invalid", REFUSED) from refusal
    if not isinstance(document, dict):
        raise PortError(422, "Invalid", REFUSED)
    return document


class _Refusal(Exception):
    """Why an operation cannot be carried out; not told to the client, as on the real server."""


def _carried_out(document: Any, op: Tree) -> Any:
    match op.get("op"):
        case "add":
            return _add(document, _pointer(op, "path"), op.get("value"))
        case "remove":
            return _remove(document, _pointer(op, "path"))
        case "replace":
            return _replace(document, _pointer(op, "path"), op.get("value"))
        case "move":
            source = _pointer(op, "from")
            value = _get(document, source)
            return _add(_remove(document, source), _pointer(op, "path"), value)
        case "copy":
            return _add(document, _pointer(op, "path"), _get(document, _pointer(op, "from")))
        case "test":
            if not same(_tested(document, _pointer(op, "path")), op.get("value")):
                raise _Refusal(f"testing value {op.get('path')} failed")
            return document
        case other:
            raise _Refusal(f"Unexpected kind: {other}")


def _pointer(op: Tree, field: str) -> list[str]:
    text = op.get(field)
    if not isinstance(text, str):
        raise _Refusal(f"{op.get('op')} operation failed to decode {field}")
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(item, other[key]) for key, item in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


def _index(text: str, bound: int) -> int:
    """A list index in 0..bound-1; negative ones count from the end."""
    try:
        index = int(text)
    except ValueError:
        raise _Refusal(f"value was not a proper array index: '{text}'") from None
    if index < 0:
        index += bound
    if not 0 <= index < bound:
        raise _Refusal(f"Unable to access invalid index: {text}")
    return index


def _child(container: Any, key: str) -> Any:
    """What `key` names; `_NOTHING` for a member that is not there."""
    if isinstance(container, dict):
        return container.get(key, _NOTHING)
    if isinstance(container, list):
        return container[_index(key, len(container))]
    raise _Refusal("doc is missing path")


def _tested(document: Any, pointer: list[str]) -> Any:
    value = document
    for depth, key in enumerate(pointer):
        value = _child(value, key)
        if value is _NOTHING and depth < len(pointer) - 1:
            raise _Refusal("doc is missing path")
    return None if value is _NOTHING else value


def _get(document: Any, pointer: list[str]) -> Any:
    if not pointer:
        raise _Refusal("doc is missing from path")
    return _tested(document, pointer)


def _changed(document: Any, pointer: list[str], change: Any) -> Any:
    """A copy of the path's containers; `change(container, key)` gives the last one anew."""
    if not pointer:
        raise _Refusal("doc is missing path")
    key = pointer[0]
    if not isinstance(document, dict | list):
        raise _Refusal("doc is missing path")
    if len(pointer) == 1:
        return change(document, key)
    inner = _changed(_child(document, key), pointer[1:], change)
    if isinstance(document, dict):
        return {**document, key: inner}
    at = _index(key, len(document))
    return [*document[:at], inner, *document[at + 1 :]]


def _add(document: Any, pointer: list[str], value: Any) -> Any:
    def change(container: Any, key: str) -> Any:
        if isinstance(container, dict):
            return {**container, key: value}
        at = len(container) if key == "-" else _index(key, len(container) + 1)
        return [*container[:at], value, *container[at:]]

    return _changed(document, pointer, change)


def _remove(document: Any, pointer: list[str]) -> Any:
    def change(container: Any, key: str) -> Any:
        if isinstance(container, dict):
            if key not in container:
                raise _Refusal(f"Unable to remove nonexistent key: {key}")
            return {name: item for name, item in container.items() if name != key}
        at = _index(key, len(container))
        return [*container[:at], *container[at + 1 :]]

    return _changed(document, pointer, change)


def _replace(document: Any, pointer: list[str], value: Any) -> Any:
    def change(container: Any, key: str) -> Any:
        if isinstance(container, dict):
            return {**container, key: value}
        at = _index(key, len(container))
        return [*container[:at], value, *container[at + 1 :]]

    return _changed(document, pointer, change) if pointer else value
