"""Sets of fields in the encoding of managed fields (`fieldsV1`).

A set is a tree. Each key is an element of a path: `f:NAME` a member, `k:{...}` a list item by its keys,
`v:VALUE` one by its value, `i:N` one by its index. An empty tree below an element says that the path ends
there, a "." that it ends there and goes on too. Sets are never changed in place and share what they can.
"""

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

Fields = dict[str, Any]
"""A set; as a node below an element, {} means that the element itself is in the set."""

Path = tuple[str, ...]

_SELF = "."
_REMEMBERED_LETTERS = 400
_NONE: Fields = {}


def is_set(node: Any) -> bool:
    """Whether something from outside is a set: elements and, below them, sets."""
    return isinstance(node, dict) and all(_is_element(key) and is_set(below) for key, below in node.items())


def _is_element(text: str) -> bool:
    kind, _, rest = text.partition(":")
    if kind not in ("k", "v"):
        return text == _SELF or kind in ("f", "i")
    try:
        value = json.loads(rest)
    except (ValueError, RecursionError):
        return False
    return kind == "v" or isinstance(value, dict)


def is_member(node: Fields | None) -> bool:
    """True when the path of `node` is itself in the set."""
    return node is not None and (not node or _SELF in node)


def children(node: Fields | None) -> Fields:
    """What goes on below."""
    if not node:
        return _NONE
    return {key: item for key, item in node.items() if key != _SELF} if _SELF in node else node


def node_of(member: bool, below: Fields) -> Fields | None:
    """A node; None when nothing is in it."""
    if not below:
        return {} if member else None
    ordered = {key: below[key] for key in sorted(below)}
    return {_SELF: {}, **ordered} if member else ordered


def element(name: str) -> str:
    """The element of a member."""
    return f"f:{name}"


def key_element(values: dict[str, Any]) -> str:
    """The element of a list item known by its keys."""
    ordered = tuple((key, values[key]) for key in sorted(values))
    if all(isinstance(item, str) and len(item) <= _REMEMBERED_LETTERS for _, item in ordered):
        return _text_keys(ordered)
    return "k:" + _json(dict(ordered))


@lru_cache(4096)
def _text_keys(ordered: tuple[tuple[str, str], ...]) -> str:
    """Conditions, addresses and containers are named alike in every object."""
    return "k:" + _json(dict(ordered))


def value_element(value: Any) -> str:
    """The element of an item of a set."""
    return "v:" + _json(value)


def _json(value: Any) -> str:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    # As Go writes JSON.
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def union(one: Fields, other: Fields) -> Fields:
    """Both sets, as roots."""
    return children(_union({_SELF: {}, **one}, {_SELF: {}, **other}))


def _union(one: Fields, other: Fields) -> Fields:
    if one is other:
        return one
    below, more = children(one), children(other)
    merged = dict(below)
    for key, node in more.items():
        merged[key] = _union(merged[key], node) if key in merged else node
    joined = node_of(is_member(one) or is_member(other), merged)
    return joined if joined is not None else {}


def difference(one: Fields, other: Fields) -> Fields:
    """What is in `one` and not in `other`, as roots."""
    kept = dict(one)
    for key, node in other.items():
        if key in kept:
            left = _difference(kept[key], node)
            if left is None:
                del kept[key]
            else:
                kept[key] = left
    return kept


def _difference(one: Fields, other: Fields) -> Fields | None:
    member = is_member(one) and not is_member(other)
    return node_of(member, difference(children(one), children(other)))


def intersection(one: Fields, other: Fields) -> Fields:
    """What is in both, as roots."""
    kept: Fields = {}
    for key in sorted(one.keys() & other.keys()):
        both = _intersection(one[key], other[key])
        if both is not None:
            kept[key] = both
    return kept


def _intersection(one: Fields, other: Fields) -> Fields | None:
    below = intersection(children(one), children(other))
    return node_of(is_member(one) and is_member(other), below)


def without_below(one: Fields, paths: Sequence[Path]) -> Fields:
    """`one` without the paths and everything below them."""
    for path in paths:
        one = _without(one, path)
    return one


def _without(one: Fields, path: Path) -> Fields:
    head, rest = path[0], path[1:]
    if head not in one:
        return one
    left = node_of(is_member(one[head]), _without(children(one[head]), rest)) if rest else None
    kept = dict(one)
    if left is None:
        del kept[head]
    else:
        kept[head] = left
    return kept


def paths(fields: Fields, before: Path = ()) -> Iterator[Path]:
    """Every path of the set: first those that end at a level, then what lies below."""
    for key, node in fields.items():
        if is_member(node):
            yield (*before, key)
    for key, node in fields.items():
        yield from paths(children(node), (*before, key))


def text_of(path: Path) -> str:
    """A path as conflicts name it: `.spec.containers[name="c"].image`."""
    return "".join(_text(part) for part in path)


def _text(part: str) -> str:
    kind, _, rest = part.partition(":")
    match kind:
        case "f":
            return f".{rest}"
        case "k":
            pairs = json.loads(rest)
            return "[" + ",".join(f"{key}={json.dumps(pairs[key])}" for key in sorted(pairs)) + "]"
        case "v":
            return f"[={rest}]"
        case _:
            return f"[{rest}]"
