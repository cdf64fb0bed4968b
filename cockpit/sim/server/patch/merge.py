"""JSON merge patch (RFC 7396) as the kube-apiserver applies it."""

from typing import Any

from cockpit.sim.port import Tree


def merge(target: Tree, patch: Tree) -> Tree:
    """`target` with `patch` merged in: null deletes, an object is merged, everything else replaces.

    Where the server differs from the RFC, the server is followed: nulls are also taken out of the objects in
    a list.
    """
    merged = dict(target)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merged(merged.get(key), value)
    return merged


def _merged(current: Any, patch: Any) -> Any:
    if isinstance(current, dict) and isinstance(patch, dict):
        return merge(current, patch)
    return without_nulls(patch)


def without_nulls(value: Any) -> Any:
    """`value` without object members that are null, at any depth; nulls that are list items stay."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value
