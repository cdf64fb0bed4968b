"""Filling in what a tree leaves out, without changing the tree."""

from collections.abc import Callable, Iterable
from typing import Any

from cockpit.sim.port import Tree


def filled(tree: Tree, **defaults: Any) -> Tree:
    """`tree` with what is missing; the same tree when nothing is."""
    if all(key in tree for key in defaults):
        return tree
    return {**defaults, **tree}


def within(tree: Tree, path: Iterable[str], change: Callable[[Tree], Tree]) -> Tree:
    """`tree` with `change` of the object at `path` (as if empty where there is none)."""
    keys = list(path)
    if not keys:
        return change(tree)
    inner = tree.get(keys[0])
    held: Tree = inner if isinstance(inner, dict) else {}
    fresh = within(held, keys[1:], change)
    return tree if fresh is inner else {**tree, keys[0]: fresh}


def each(tree: Tree, key: str, change: Callable[[Tree], Tree]) -> Tree:
    """`tree` with `change` of every object in the list at `key`; the same tree when nothing changes."""
    items = tree.get(key)
    if not items:
        return tree
    fresh = [change(item) for item in items]
    if all(one is other for one, other in zip(fresh, items, strict=True)):
        return tree
    return {**tree, key: fresh}
