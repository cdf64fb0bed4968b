"""Strategic merge patch: lists are merged by key, and directives say what merging cannot.

Order and refusals are those of apimachinery's strategicpatch package.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from cockpit.sim.port import PortError, Tree
from cockpit.sim.server.json_values import identity, same
from cockpit.sim.server.schema.shape import ANY, SchemaField, SchemaShape

DIRECTIVE = "$patch"
RETAIN = "$retainKeys"
DELETE_FROM = "$deleteFromPrimitiveList/"
ORDER = "$setElementOrder/"

_BAD_RETAIN = "invalid patch format of retainKeys"


def strategic(target: Tree, patch: Tree, kind_schema: SchemaShape | None) -> Tree:
    """`target` with `patch` merged in as the shape says. PortError 400 or 500 for a patch without sense.

    Without a schema (custom kinds) the server has no strategic patches: PortError 415.
    """
    if kind_schema is None:
        raise PortError(
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml, "
            "application/apply-patch+cbor",
        )
    return _merged(target, patch, kind_schema)


def _invalid(message: str) -> PortError:
    # strategicpatch's own sentences reach the client as an internal error (apiserver: applyPatchToObject).
    return PortError(500, "", message)


def _bad_format(message: str) -> PortError:
    return PortError(400, "BadRequest", message)


def _merged(original: Tree, patch: Tree, shape: SchemaShape) -> Tree:
    if DIRECTIVE in patch:
        return _directed(patch)
    merged = dict(original)
    patch = dict(patch)
    _retain(merged, patch)
    _reorder(merged, patch, shape)
    for key, value in patch.items():
        if key.startswith(DELETE_FROM):
            name = key.removeprefix(DELETE_FROM)
            if isinstance(merged.get(name), list) and isinstance(value, list):
                gone = {identity(item) for item in value}
                merged[name] = [item for item in merged[name] if identity(item) not in gone]
        elif value is None:
            merged.pop(key, None)
        else:
            _merge_member(merged, key, value, shape)
    return merged


def _directed(patch: Tree) -> Tree:
    match patch[DIRECTIVE]:
        case "replace":
            return {key: value for key, value in patch.items() if key != DIRECTIVE}
        case "delete":
            return {}
        case other:
            raise _invalid(f"unknown patch type: {other}")


def _merge_member(merged: Tree, key: str, value: Any, shape: SchemaShape) -> None:
    current = merged.get(key)
    field = shape.fields.get(key)
    if isinstance(current, dict) and isinstance(value, dict):
        is_whole = field is not None and field.replaces
        merged[key] = value if is_whole else _merged(current, value, shape.below(key))
    elif isinstance(current, list) and isinstance(value, list) and field is not None and field.merges:
        merged[key] = _merged_list(current, value, field)
    elif isinstance(current, list) and isinstance(value, list):
        merged[key] = value
    else:
        plain, kept = _plain(value)
        if kept:
            merged[key] = plain
        else:
            merged.pop(key, None)


def _plain(value: Any) -> tuple[Any, bool]:
    """`value` without directives and nulls, and whether anything is to be kept of it."""
    if isinstance(value, dict):
        if value.get(DIRECTIVE) == "delete":
            return None, False
        plain: Tree = {}
        for key, item in value.items():
            if key in (DIRECTIVE, RETAIN) or key.startswith((DELETE_FROM, ORDER)) or item is None:
                continue
            inner, kept = _plain(item)
            if kept:
                plain[key] = inner
        return plain, True
    if isinstance(value, list):
        pairs = [_plain(item) for item in value]
        return [inner for inner, kept in pairs if kept], True
    return value, True


def _retain(merged: Tree, patch: Tree) -> None:
    keys = patch.pop(RETAIN, None)
    if keys is None:
        return
    if not isinstance(keys, list):
        raise _bad_format(_BAD_RETAIN)
    kept = {key for key in keys if isinstance(key, str)}
    for key, value in patch.items():
        if value is not None and not key.startswith((DELETE_FROM, ORDER)) and key not in kept:
            raise _bad_format(_BAD_RETAIN)
    for key in [key for key in merged if key not in kept]:
        del merged[key]


def _reorder(merged: Tree, patch: Tree, shape: SchemaShape) -> None:
    """Work off `$setElementOrder/...` together with the lists that they order."""
    for directive in [key for key in patch if key.startswith(ORDER)]:
        order = patch.pop(directive)
        name = directive.removeprefix(ORDER)
        if not isinstance(order, list):
            raise _bad_format("invalid patch format of setElementOrder list")
        field = shape.fields.get(name) or SchemaField(name, ANY)
        current, change = merged.get(name), patch.pop(name, None)
        if isinstance(change, list):
            _check_order(change, order, field)
        if current is None and change is None:
            continue
        if change is None:
            both = current
        elif current is None:
            both = _plain(change)[0]
        else:
            both = _merged_list(current, change, field) if field.merges else change
        if not isinstance(both, list):
            raise _bad_format("invalid patch format of setElementOrder list")
        merged[name] = _ordered(both, order, current or [], field)


def _check_order(change: list[Any], order: list[Any], field: SchemaField) -> None:
    if not change or not order:
        return
    at = 0
    wanted = [item for item in change if not (isinstance(item, dict) and DIRECTIVE in item)]
    key = _key_of(field)
    for item in order:
        if at < len(wanted) and same(key(wanted[at]), key(item)):
            at += 1
    if at < len(wanted):
        raise _invalid("the order of the patch does not match its $setElementOrder list")


def _key_of(field: SchemaField) -> Callable[[Any], Any]:
    if not field.merge_key:
        return lambda item: item
    return lambda item: item.get(field.merge_key) if isinstance(item, dict) else item


def _merged_list(current: list[Any], change: list[Any], field: SchemaField) -> list[Any]:
    if not current and not change:
        return current
    if not field.merge_key:
        both = list({identity(item): item for item in [*current, *change]}.values())
        return _ordered(both, change, current, field)
    current, change = _without_special(current, change, field)
    merged = list(current)
    key = field.merge_key
    places = _places(other.get(key) for other in merged)
    for item in change:
        if key not in item:
            raise _invalid(f"an item does not contain declared merge key: {key}")
        at = places.get(identity(item[key]))
        if at is None:
            places[identity(item[key])] = len(merged)
            merged.append(_plain(item)[0])
        else:
            merged[at] = _merged(merged[at], item, field.shape.item)
    return _ordered(merged, change, current, field)


def _without_special(
    current: list[Any], change: list[Any], field: SchemaField
) -> tuple[list[Any], list[Any]]:
    """Work off items that are directives: delete one, or replace the whole list."""
    plain: list[Any] = []
    key = field.merge_key
    is_replaced = False
    gone: set[Any] = set()
    for item in change:
        if not isinstance(item, dict) or not all(isinstance(other, dict) for other in current):
            raise _bad_format("expected a list of objects")
        match item.get(DIRECTIVE, ""):
            case "":
                plain.append(item)
            case "delete":
                if key not in item:
                    raise _invalid(f"an item does not contain declared merge key: {key}")
                gone.add(identity(item[key]))
            case "replace":
                is_replaced = True
            case "merge":
                raise _invalid("merging lists cannot yet be specified in the patch")
            case other:
                raise _invalid(f"unknown patch type: {other}")
    if is_replaced:
        return plain, []
    return [other for other in current if identity(other.get(key)) not in gone], plain


def _places(values: Iterable[Any]) -> dict[Any, int]:
    """Where each value stands first."""
    found: dict[Any, int] = {}
    for at, value in enumerate(values):
        found.setdefault(identity(value), at)
    return found


def _ordered(both: list[Any], order: list[Any], before: list[Any], field: SchemaField) -> list[Any]:
    """What the patch names in its order, in between what only the server has, in the order it had there."""
    key = _key_of(field)
    wanted = _places(key(item) for item in order)
    had = _places(key(item) for item in before)
    placed = [(item, wanted.get(identity(key(item)), -1), had.get(identity(key(item)), -1)) for item in both]
    named = deque(sorted((one for one in placed if one[1] >= 0), key=lambda one: one[1]))
    others = deque(sorted((one for one in placed if one[1] < 0), key=lambda one: one[2]))
    merged: list[Any] = []
    while named and others:
        left, right = others[0][2], named[0][2]
        source = others if left >= 0 and right >= 0 and left < right else named
        merged.append(source.popleft()[0])
    return merged + [one[0] for one in (*named, *others)]
