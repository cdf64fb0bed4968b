"""Defaults and pruning of custom objects by their structural schema (apiextensions: pkg/apiserver/schema)."""

import copy
from typing import Any

from cockpit.sim.port import Tree

_EVERY_OBJECT = frozenset(("apiVersion", "kind", "metadata"))


def pruned(tree: Any, schema: Tree, *, is_root: bool = True, path: str = "") -> tuple[Any, list[str]]:
    """`tree` without fields that the schema does not know, and the paths of what was dropped, in order."""
    if isinstance(tree, list):
        return _pruned_list(tree, schema, path)
    if not isinstance(tree, dict):
        return tree, []
    is_object = is_root or bool(schema.get("x-kubernetes-embedded-resource"))
    is_open = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    properties = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    kept: Tree = {}
    dropped: list[str] = []
    for key in sorted(tree):
        below = f"{path}.{key}" if path else key
        inner = properties.get(key)
        if inner is None and isinstance(others, dict):
            inner = others
        if is_object and key in _EVERY_OBJECT:
            kept[key] = tree[key]
        elif inner is not None:
            kept[key], more = pruned(tree[key], inner, is_root=False, path=below)
            dropped += more
        elif is_open or others is True:
            kept[key] = tree[key]
        else:
            dropped.append(below)
    if not dropped and all(kept[key] is tree[key] for key in tree):
        return tree, dropped
    return {key: kept[key] for key in tree if key in kept}, dropped


def _pruned_list(items: list[Any], schema: Tree, path: str) -> tuple[Any, list[str]]:
    inner = schema.get("items")
    if not isinstance(inner, dict):
        return items, []
    kept: list[Any] = []
    dropped: list[str] = []
    for at, item in enumerate(items):
        one, more = pruned(item, inner, is_root=False, path=f"{path}[{at}]")
        kept.append(one)
        dropped += more
    return (kept if dropped else items), dropped


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
