"""JSON patch (RFC 6902) as the kube-apiserver applies it, with the habits of its library (json-patch v4).

The package jsonpatch follows the RFC instead: it refuses what the server takes in 5 of the 30 JSON patches of
`tests/differential/patch_cases.py`, and copies without a bound.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from cockpit.sim.port import PortError, Tree
from cockpit.sim.server.json_values import same
from cockpit.sim.server.limits import METER, too_deep

REFUSED = "the server rejected our request due to an error in our request"
"""The one sentence that the server has for every operation that cannot be carried out."""

_NOTHING: Any = object()
_size = msgspec.json.Encoder().encode


def json_patch(target: Tree, ops: Sequence[Tree]) -> Tree:
    """`target` after all operations, or PortError: 422 where one cannot be carried out, 413 for too many, or
    for copies that unfold to too much, 400 where they nest too deep.

    As on the real server, `replace` and a `test` for null accept a member that is not there, and negative
    indices count from the end. The text of a refusal does not say which operation it was; the cause does.
    """
    METER.operate(len(ops))
    document = _Document(target)
    for op in ops:
        try:
            document.carry_out(op)
        except _Refusal as refusal:
            raise PortError(422, "Invalid", REFUSED) from refusal
        except RecursionError:  # copies of copies into themselves
            raise too_deep() from None
    if not isinstance(document.root, dict):
        raise PortError(422, "Invalid", REFUSED)
    METER.measure(document.root)
    return document.root


class _Refusal(Exception):
    """Why an operation cannot be carried out; not told to the client, as on the real server."""


class _Document:
    """What is patched. A container is copied before it is first changed; from then on it is our own.

    Without that ten thousand operations on one long list would copy it ten thousand times.
    """

    def __init__(self, target: Tree) -> None:
        self.root: Any = target
        self._own: dict[int, Any] = {}
        """By id, which holds as long as the container is held here."""

    def carry_out(self, op: Any) -> None:
        """One operation. Raises _Refusal, and PortError for what unfolds to too much."""
        if not isinstance(op, dict):
            raise _Refusal("an operation has to be an object")
        match op.get("op"):
            case "add":
                self._add(_pointer(op, "path"), op.get("value"))
            case "remove":
                self._remove(_pointer(op, "path"))
            case "replace":
                self._replace(_pointer(op, "path"), op.get("value"))
            case "move":
                source = _pointer(op, "from")
                value = self._get(source)
                self._remove(source)
                self._add(_pointer(op, "path"), value)
            case "copy":
                self._copy(_pointer(op, "from"), _pointer(op, "path"))
            case "test":
                if not same(self._tested(_pointer(op, "path")), op.get("value")):
                    raise _Refusal(f"testing value {op.get('path')} failed")
            case other:
                raise _Refusal(f"Unexpected kind: {other}")

    def _copy(self, source: list[str], pointer: list[str]) -> None:
        """Each copy is a tree of its own, and counts with all that is in it."""
        value = self._get(source)
        data = _size(value)
        METER.unfold(len(data))
        self._add(pointer, msgspec.json.decode(data) if isinstance(value, dict | list) else value)

    def _tested(self, pointer: list[str]) -> Any:
        value = self.root
        for depth, key in enumerate(pointer):
            value = _child(value, key)
            if value is _NOTHING and depth < len(pointer) - 1:
                raise _Refusal("doc is missing path")
        return None if value is _NOTHING else value

    def _get(self, pointer: list[str]) -> Any:
        if not pointer:
            raise _Refusal("doc is missing from path")
        return self._tested(pointer)

    def _owned(self, container: Any) -> Any:
        """The container itself if it is ours, else a copy that is."""
        if id(container) in self._own:
            return container
        METER.move(len(container))
        copy = dict(container) if isinstance(container, dict) else list(container)
        self._own[id(copy)] = copy
        return copy

    def _last(self, pointer: list[str]) -> Any:
        """The container that the last key of a pointer is in, ours like all on the way to it."""
        if not pointer or not isinstance(self.root, dict | list):
            raise _Refusal("doc is missing path")
        self.root = container = self._owned(self.root)
        for key in pointer[:-1]:
            inner = _child(container, key)
            if not isinstance(inner, dict | list):
                raise _Refusal("doc is missing path")
            inner = self._owned(inner)
            container[key if isinstance(container, dict) else _index(key, len(container))] = inner
            container = inner
        return container

    def _add(self, pointer: list[str], value: Any) -> None:
        container, key = self._last(pointer), pointer[-1]
        if isinstance(container, dict):
            container[key] = value
            return
        at = len(container) if key == "-" else _index(key, len(container) + 1)
        METER.move(len(container) - at)
        container.insert(at, value)

    def _remove(self, pointer: list[str]) -> None:
        container, key = self._last(pointer), pointer[-1]
        if isinstance(container, dict):
            if key not in container:
                raise _Refusal(f"Unable to remove nonexistent key: {key}")
            del container[key]
            return
        at = _index(key, len(container))
        METER.move(len(container) - at)
        del container[at]

    def _replace(self, pointer: list[str], value: Any) -> None:
        if not pointer:
            self.root = value
            return
        container, key = self._last(pointer), pointer[-1]
        container[key if isinstance(container, dict) else _index(key, len(container))] = value


def _pointer(op: Tree, field: str) -> list[str]:
    text = op.get(field)
    if not isinstance(text, str):
        raise _Refusal(f"{op.get('op')} operation failed to decode {field}")
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


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
