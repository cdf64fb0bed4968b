"""Objects seen through their shape: which fields they have, how two differ, one merged into another.

The rules are those of structured-merge-diff: objects and maps by key, lists by their list type, everything
else as a whole.
"""

from collections import deque
from collections.abc import Iterator
from typing import Any

import msgspec

from cockpit.sim.server.json_values import same
from cockpit.sim.server.patch.fields import (
    Fields,
    children,
    element,
    is_member,
    key_element,
    node_of,
    value_element,
)
from cockpit.sim.server.schema.shape import SchemaShape

_ZEROS: dict[str, Any] = {"string": "", "int32": 0, "int64": 0}

NOTHING: Any = object()
"""What is not there, as opposed to null."""


class Difference(msgspec.Struct, frozen=True):
    """Fields that only the new object has, only the old one, and both with other values."""

    added: Fields = {}
    removed: Fields = {}
    modified: Fields = {}


def holds(value: Any, shape: SchemaShape) -> str:
    """How `value` is seen: "map" or "list" when its parts count one by one, else "leaf"."""
    if isinstance(value, dict):
        if shape.type in ("object", "map"):
            return "leaf" if shape.atomic else "map"
        return "map" if shape.type == "any" and not shape.atomic else "leaf"
    if isinstance(value, list):
        return "list" if shape.type == "list" and shape.list_type in ("set", "map") else "leaf"
    return "leaf"


def item_element(item: Any, shape: SchemaShape) -> str:
    """The element that names an item of a set or of a list with keys. Raises KeyError without its keys."""
    if shape.list_type == "set" or not isinstance(item, dict):
        return value_element(item)
    keys: dict[str, Any] = {}
    for key in shape.keys:
        if item.get(key) is not None:
            keys[key] = item[key]
            continue
        field = shape.item.fields.get(key)
        if field is not None and field.default is not None:
            keys[key] = field.default
        elif field is not None and field.always and field.shape.type in _ZEROS:
            # A key that is always written has its zero as the default.
            keys[key] = _ZEROS[field.shape.type]
        elif key in item:
            keys[key] = None
    if not keys:
        raise KeyError(shape.keys[0])
    return key_element(keys)


def parts(value: Any, shape: SchemaShape) -> Iterator[tuple[str, Any, SchemaShape]]:
    """Element, value and shape of each part of a map or list (`holds`); of equal items the first."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield element(key), item, shape.below(key)
    else:
        seen: set[str] = set()
        for item in value:
            name = item_element(item, shape)
            if name not in seen:
                seen.add(name)
                yield name, item, shape.item


def field_set(value: Any, shape: SchemaShape) -> Fields:
    """The fields that an object names."""
    return children(_field_set(value, shape))


def _field_set(value: Any, shape: SchemaShape) -> Fields | None:
    if holds(value, shape) == "leaf":
        return {}
    found: Fields = {}
    for name, item, below in parts(value, shape):
        node = _field_set(item, below)
        is_own = isinstance(value, list) or name[2:] not in shape.fields or item is None or item == {}
        kept = node_of(is_own or is_member(node), children(node)) if node is not None or is_own else None
        if kept is not None:
            found[name] = kept
    return node_of(False, found)


def compare(old: Any, new: Any, shape: SchemaShape) -> Difference:
    """How `new` differs from `old`."""
    added, removed, modified = _compare(old, new, shape)
    return Difference(children(added), children(removed), children(modified))


def _compare(old: Any, new: Any, shape: SchemaShape) -> tuple[Fields | None, Fields | None, Fields | None]:
    if old is new:
        return None, None, None
    old_form = holds(old, shape) if old is not NOTHING and old else "leaf"
    new_form = holds(new, shape) if new is not NOTHING and new else "leaf"
    if old_form == new_form == "leaf":
        if old is NOTHING:
            return {}, None, None
        if new is NOTHING:
            return None, {}, None
        return None, None, None if same(old, new) else {}
    if old is NOTHING:
        return _whole(new, shape), None, None
    if new is NOTHING:
        return None, _whole(old, shape), None
    before = _named(old, shape, other=new) if old_form != "leaf" else {}
    after = _named(new, shape, other=old) if new_form != "leaf" else {}
    gathered: tuple[Fields, Fields, Fields] = ({}, {}, {})
    for name in sorted(before.keys() | after.keys()):
        one, below = before.get(name) or (NOTHING, after[name][1])
        other = after[name][0] if name in after else NOTHING
        for node, into in zip(_compare(one, other, below), gathered, strict=True):
            if node is not None:
                into[name] = node
    return node_of(False, gathered[0]), node_of(False, gathered[1]), node_of(False, gathered[2])


def _whole(value: Any, shape: SchemaShape) -> Fields:
    """The node of a value that is there on one side only: itself and all that is in it."""
    if not value or holds(value, shape) == "leaf":
        return {}
    below = {name: _whole(item, inner) for name, item, inner in parts(value, shape)}
    return node_of(True, below) or {}


def _named(value: Any, shape: SchemaShape, *, other: Any) -> dict[str, tuple[Any, SchemaShape]]:
    """The parts of a map or list by their elements, without those members that `other` has the same of.

    Versions of an object share what is equal in them, so this is where most of it is left out.
    """
    if not isinstance(value, dict):
        return {name: (item, below) for name, item, below in parts(value, shape)}
    theirs = other if isinstance(other, dict) else {}
    return {
        element(key): (item, shape.below(key))
        for key, item in value.items()
        if theirs.get(key, NOTHING) is not item
    }


def merged(live: Any, config: Any, shape: SchemaShape) -> Any:
    """`live` with everything that `config` names as `config` has it."""
    if config is NOTHING:
        return live
    form = holds(config, shape)
    if live and not config and holds(live, shape) != "leaf":
        # Nothing, or null, says nothing of the parts that are there.
        return live
    if live is NOTHING or form == "leaf" or not config or holds(live, shape) != form:
        return config
    if form == "map":
        out = dict(live)
        for key, item in config.items():
            out[key] = merged(live.get(key, NOTHING), item, shape.below(key))
        return out
    return _merged_list(live, config, shape)


def _merged_list(live: list[Any], config: list[Any], shape: SchemaShape) -> list[Any]:
    """In the order of `config`; what only `live` has stays in front of what it stood in front of."""
    mine = [(item_element(item, shape), item) for item in live]
    theirs = [(item_element(item, shape), item) for item in config]
    live_by, config_by = dict(reversed(mine)), dict(theirs)
    shared = deque(name for name, _ in theirs if name in live_by)
    done: set[str] = set()
    out: list[Any] = []
    left, right = 0, 0

    def take(name: str) -> None:
        done.add(name)
        out.append(merged(live_by.get(name, NOTHING), config_by[name], shape.item))
        if shared and shared[0] == name:
            shared.popleft()

    while left < len(mine) or right < len(theirs):
        if left < len(mine) and right < len(theirs):
            name = mine[left][0]
            if name == theirs[right][0]:
                take(name)
                left, right = left + 1, right + 1
                continue
            if name in config_by and shared and shared[0] != name:
                left += 1
                continue
        if left < len(mine):
            name = mine[left][0]
            if name not in config_by:
                out.append(mine[left][1])
                left += 1
                continue
            if name in done:
                left += 1
        if right < len(theirs):
            take(theirs[right][0])
            right += 1
    return out


def removed(value: Any, gone: Fields, shape: SchemaShape) -> Any:
    """`value` without the fields of `gone`; what is left empty by it becomes null, as on the server."""
    if holds(value, shape) == "leaf" or not gone:
        return value
    if isinstance(value, dict):
        kept: dict[str, Any] = {}
        for key, item in value.items():
            node = gone.get(element(key))
            if is_member(node):
                continue
            kept[key] = removed(item, children(node), shape.below(key)) if node is not None else item
        return kept or None
    items: list[Any] = []
    for item in value:
        node = gone.get(item_element(item, shape))
        if is_member(node):
            continue
        items.append(removed(item, children(node), shape.item) if node is not None else item)
    return items or None


def with_named_members(fields: Fields, shape: SchemaShape) -> Fields:
    """The set, and in it every named field of an object on the way to what is in it."""
    out: Fields = {}
    for name, node in fields.items():
        if name.startswith("f:"):
            is_named = name[2:] in shape.fields
            below = shape.below(name[2:])
        else:
            is_named, below = False, shape.item
        kept = node_of(is_named or is_member(node), with_named_members(children(node), below))
        if kept is not None:
            out[name] = kept
    return out
