"""JSON patches (RFC 6902), as far as the cockpit writes them: add, remove, replace."""

import copy
from collections.abc import Iterable, Mapping
from typing import Any, Final

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


_PAIR: Final = {"name", "value"}


def difference(before: Any, after: Any, at: str = "") -> tuple[Operation, ...]:
    """The operations that make `after` of `before`, () where they are alike.

    A list with more or fewer items, a list of words and a pair of name and value are replaced whole: what is
    secret in them is known by what stands beside it.
    """
    if before == after and type(before) is type(after):
        return ()
    if isinstance(before, Mapping) and isinstance(after, Mapping) and not (after.keys() >= _PAIR and at):
        found: list[Operation] = []
        for key in (*before, *(key for key in after if key not in before)):
            here = f"{at}{pointed(key)}"
            if key not in after:
                found.append({"op": "remove", "path": here})
            elif key not in before:
                found.append({"op": "add", "path": here, "value": after[key]})
            else:
                found += difference(before[key], after[key], here)
        return tuple(found)
    are_lists = isinstance(before, list) and isinstance(after, list) and len(before) == len(after)
    if are_lists and not all(isinstance(item, str) for item in after):
        pairs = enumerate(zip(before, after, strict=True))
        return tuple(step for index, pair in pairs for step in difference(*pair, f"{at}/{index}"))
    return ({"op": "replace", "path": at, "value": after},)


def merge_patch(before: Any, after: Any) -> dict[str, Any]:
    """The merge patch (RFC 7396) that makes `after` of `before`: null for each leaf that `after` lacks, so
    that what others wrote beside it stays. A list is replaced whole."""
    found: dict[str, Any] = {}
    for key in (*before, *(key for key in after if key not in before)):
        old, new = before.get(key), after.get(key)
        if isinstance(old, Mapping) and (isinstance(new, Mapping) or key not in after):
            if inner := merge_patch(old, new or {}):
                found[key] = inner
        elif key not in after or old != new or type(old) is not type(new):
            found[key] = new
    return found


def merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Two merge patches of one object as one; where both set a field the second does."""
    made = dict(first)
    for key, value in second.items():
        old = made.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        made[key] = merged(old, value) if both else value  # type: ignore[arg-type]
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
