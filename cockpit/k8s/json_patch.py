"""JSON patches (RFC 6902), as far as the cockpit writes them: add, remove, replace."""

import copy
from collections.abc import Iterable, Mapping
from typing import Any

Operation = Mapping[str, Any]
"""One of RFC 6902: add, remove or replace."""
Operations = Iterable[Operation]


def pointed(*keys: str) -> str:
    """The part of a JSON pointer that leads through these keys."""
    return "".join(f"/{key.replace('~', '~0').replace('/', '~1')}" for key in keys)


def edited(tree: Mapping[str, Any], operations: Operations) -> dict[str, Any]:
    """A copy of the object with the operations done. Raises KeyError, IndexError, TypeError or ValueError
    where a place is not there."""
    made: dict[str, Any] = copy.deepcopy(dict(tree))
    for step in operations:
        *path, last = (key.replace("~1", "/").replace("~0", "~") for key in step["path"].split("/")[1:])
        node: Any = made
        for key in path:
            node = node[int(key)] if isinstance(node, list) else node[key]
        _do(node, step, last)
    return made


def _do(node: Any, step: Operation, last: str) -> None:
    if isinstance(node, list):
        if step["op"] == "add":
            node.insert(len(node) if last == "-" else int(last), step["value"])
        elif step["op"] == "remove":
            del node[int(last)]
        else:
            node[int(last)] = step["value"]
    elif step["op"] == "remove":
        del node[last]
    elif step["op"] == "replace" and last not in node:
        raise KeyError(last)
    else:
        node[last] = step["value"]
