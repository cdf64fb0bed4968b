"""JSON patch (RFC 6902) as the kube-apiserver applies it, with the habits of its library (json-patch v4).

The package jsonpatch follows the RFC instead: it refuses what the server takes in 5 of the 30 JSON patches of
`tests/differential/patch_cases.py`.
"""

import copy
from collections.abc import Sequence
from typing import Any

from cockpit.sim.port import PortError, Tree
from cockpit.sim.server.json_values import same

REFUSED = "the server rejected our request due to an error in our request"
"""The one sentence that the server has for every operation that cannot be carried out."""

_NOTHING: Any = object()


def json_patch(target: Tree, ops: Sequence[Tree]) -> Tree:
    """`target` after all operations, or PortError 422 where one cannot be carried out.

    As on the real server, `replace` and a `test` for null accept a member that is not there, and negative
    indices count from the end. The text of a refusal does not say which operation it was; the cause does.
    """
    document = _Document(target)
    for op in ops:
        try:
            document.carry_out(op)
        except _Refusal as refusal:
            raise PortError(422, "Invalid", REFUSED) from refusal
    if not isinstance(document.root, dict):
        raise PortError(422, "Invalid", REFUSED)
    return document.root


class _Refusal(Exception):
    """Why an operation cannot be carried out; not told to the client, as on the real server."""


class _Document:
    """What is patched: a copy of the target."""

    def __init__(self, target: Tree) -> None:
        self.root: Any = copy.deepcopy(target)

    def carry_out(self, op: Any) -> None:
        """One operation. Raises _Refusal."""
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
                self._add(_pointer(op, "path"), copy.deepcopy(self._get(_pointer(op, "from"))))
            case "test":
                if not same(self._tested(_pointer(op, "path")), op.get("value")):
                    raise _Refusal(f"testing value {op.get('path')} failed")
            case other:
                raise _Refusal(f"Unexpected kind: {other}")

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

    def _last(self, pointer: list[str]) -> Any:
        """The container that the last key of a pointer is in."""
        container = self.root if pointer else None
        for key in pointer[:-1]:
            container = _child(container, key) if isinstance(container, dict | list) else None
        if not isinstance(container, dict | list):
            raise _Refusal("doc is missing path")
        return container

    def _add(self, pointer: list[str], value: Any) -> None:
        container, key = self._last(pointer), pointer[-1]
        if isinstance(container, dict):
            container[key] = value
            return
        at = len(container) if key == "-" else _index(key, len(container) + 1)
        container.insert(at, value)

    def _remove(self, pointer: list[str]) -> None:
        container, key = self._last(pointer), pointer[-1]
        if isinstance(container, dict):
            if key not in container:
                raise _Refusal(f"Unable to remove nonexistent key: {key}")
            del container[key]
            return
        at = _index(key, len(container))
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
