"""RFC 7396 and RFC 6902, with the habits of the real server."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.sim.port import PortError, Tree
from cockpit.sim.server.patch.json_patch import json_patch
from cockpit.sim.server.patch.merge import merge

_SAID = st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "a", "b/c", "d~e"])
_SCALARS = st.none() | _SAID
_KEYS = st.sampled_from(["a", "b", "c/d", "e~f", "0", "-"])


def _values(scalars: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3)
    )


VALUES = _values(_SCALARS)
TREES = st.dictionaries(_KEYS, VALUES, max_size=4)
# A merge patch cannot say null: what it is to make has none.
WITHOUT_NULL = st.dictionaries(_KEYS, _values(_SAID), max_size=4)


def _merge_diff(one: Tree, other: Tree) -> Tree:
    diff: Tree = {key: None for key in one if key not in other}
    for key, value in other.items():
        if key not in one:
            diff[key] = value
        elif isinstance(value, dict) and isinstance(one[key], dict):
            diff[key] = _merge_diff(one[key], value)
        elif json.dumps(one[key]) != json.dumps(value):
            diff[key] = value
    return diff


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _json_diff(one: Any, other: Any, path: str = "") -> list[Tree]:
    if isinstance(one, dict) and isinstance(other, dict):
        ops: list[Tree] = [{"op": "remove", "path": f"{path}/{_escaped(k)}"} for k in one if k not in other]
        for key, value in other.items():
            below = f"{path}/{_escaped(key)}"
            if key in one:
                ops += _json_diff(one[key], value, below)
            else:
                ops.append({"op": "add", "path": below, "value": value})
        return ops
    if isinstance(one, list) and isinstance(other, list) and path:
        removed = [{"op": "remove", "path": f"{path}/{at}"} for at in reversed(range(len(one)))]
        return removed + [{"op": "add", "path": f"{path}/-", "value": item} for item in other]
    return [{"op": "replace", "path": path, "value": other}]


@given(TREES, TREES)
def test_a_merge_is_idempotent_and_changes_nothing_it_was_given(target: Tree, patch: Tree) -> None:
    before = copy.deepcopy((target, patch))
    once = merge(target, patch)
    assert merge(once, patch) == once
    assert (target, patch) == before


@given(WITHOUT_NULL, WITHOUT_NULL)
def test_the_difference_merged_in_gives_the_other(one: Tree, other: Tree) -> None:
    assert json.dumps(merge(one, _merge_diff(one, other)), sort_keys=True) == json.dumps(
        other, sort_keys=True
    )


@given(TREES, TREES)
def test_the_difference_as_json_patch_gives_the_other(one: Tree, other: Tree) -> None:
    before = copy.deepcopy(one)
    assert json_patch(one, _json_diff(one, other)) == other
    assert one == before


@pytest.mark.parametrize(
    "op",
    [
        {"op": "remove", "path": "/b"},
        {"op": "add", "path": "/b/c", "value": 1},
        {"op": "add", "path": "/a/5", "value": 1},
        {"op": "add", "path": "/a/x", "value": 1},
        {"op": "replace", "path": "/a/2", "value": 1},
        {"op": "test", "path": "/a/0", "value": True},
        {"op": "test", "path": "/a", "value": None},
        {"op": "move", "from": "/a/7", "path": "/b"},
        {"op": "copy", "from": "/x/y", "path": "/b"},
        {"op": "shake", "path": "/a"},
        {"op": "add", "value": 1},
        {"op": "replace", "path": "", "value": [1]},
    ],
)
def test_what_cannot_be_carried_out_is_refused_in_the_servers_words(op: Tree) -> None:
    with pytest.raises(PortError) as refused:
        json_patch({"a": [1, 2]}, [op])
    assert refused.value.status == 422
    assert refused.value.reason == "Invalid"
    assert refused.value.message == "the server rejected our request due to an error in our request"
