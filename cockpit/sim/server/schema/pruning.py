"""Defaults and pruning of custom objects by their structural schema (apiextensions: pkg/apiserver/schema)."""

import copy
from typing import Any

from cockpit.sim.port import Tree

_EVERY_OBJECT = frozenset(("apiVersion", "kind", "metadata"))


def pruned(tree: Any, schema: Tree) -> tuple[Any, list[str]]:
    """`tree` without fields that the schema does not know, and the paths of what was dropped, in order."""
    dropped: list[Where] = []
    kept = _pruned(tree, schema, None, dropped, is_root=True)
    return kept, [path_of(where) for where in dropped]


Where = tuple[Any, str] | None
"""Where a value is: what it is in, and the member or [index] there. A path is made only where it is told."""


def path_of(where: Where) -> str:
    """`spec.items[0].name`."""
    keys: list[str] = []
    while where is not None:
        where, key = where
        keys.append(key)
    return ".".join(reversed(keys)).replace(".[", "[")


def _pruned(tree: Any, schema: Tree, where: Where, dropped: list[Where], *, is_root: bool = False) -> Any:
    if isinstance(tree, list):
        return _pruned_list(tree, schema, where, dropped)
    if not isinstance(tree, dict):
        return tree
    is_object = is_root or bool(schema.get("x-kubernetes-embedded-resource"))
    is_open = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    properties = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    kept: Tree = {}
    for key in sorted(tree):
        inner = properties.get(key)
        if inner is None and isinstance(others, dict):
            inner = others
        if is_object and key in _EVERY_OBJECT:
            kept[key] = tree[key]
        elif inner is not None:
            kept[key] = _pruned(tree[key], inner, (where, key), dropped)
        elif is_open or others is True:
            kept[key] = tree[key]
        else:
            dropped.append((where, key))
    if len(kept) == len(tree) and all(kept[key] is tree[key] for key in tree):
        return tree
    return {key: kept[key] for key in tree if key in kept}


def _pruned_list(items: list[Any], schema: Tree, where: Where, dropped: list[Where]) -> Any:
    inner = schema.get("items")
    if not isinstance(inner, dict):
        return items
    kept = [_pruned(item, inner, (where, f"[{at}]"), dropped) for at, item in enumerate(items)]
    return items if all(one is item for one, item in zip(kept, items, strict=True)) else kept


def defaulted(tree: Any, schema: Tree) -> Any:
    """`tree` with the schema's defaults; nulls where none may be are dropped, or replaced by the default."""
    if isinstance(tree, list):
        inner = schema.get("items")
        if not isinstance(inner, dict):
            return tree
        items = [defaulted(item, inner) for item in tree]
        return tree if all(a is b for a, b in zip(items, tree, strict=True)) else items
    if not isinstance(tree, dict):
        return tree
    properties = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    filled: Tree = {}
    for key, value in tree.items():
        inner = properties.get(key)
        if inner is None and isinstance(others, dict):
            inner = others
        if inner is None:
            filled[key] = value
        elif value is not None or inner.get("nullable"):
            filled[key] = defaulted(value, inner)
    for key, inner in properties.items():
        if key not in filled and inner.get("default") is not None:
            filled[key] = defaulted(copy.deepcopy(inner["default"]), inner)
    if filled.keys() == tree.keys() and all(filled[key] is tree[key] for key in tree):
        return tree
    return filled
