"""A patched object is read only where it differs from the version before: with the same result."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cockpit.sim.port import Tree
from cockpit.sim.server.patch.merge import merge
from cockpit.sim.server.patch.strategic import strategic
from cockpit.sim.server.schema.decode import BadJson, decoded, normal
from cockpit.sim.server.schema.kinds import shape_of
from cockpit.sim.server.schema.shape import SchemaShape


def _pod() -> SchemaShape:
    shape = shape_of("", "v1", "Pod")
    assert shape is not None
    return shape


POD = _pod()
BEFORE: Tree = normal(
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "labels": {"a": "b"}, "finalizers": ["x/y"]},
        "spec": {
            "containers": [
                {
                    "name": "c",
                    "image": "i",
                    "resources": {"limits": {"cpu": "1000m"}},
                    "env": [{"name": "E"}],
                },
                {"name": "d", "image": "i", "ports": [{"containerPort": 80}]},
            ],
            "nodeSelector": {"pool": "h100"},
            "terminationGracePeriodSeconds": 0,
        },
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    },
    POD,
)

SCALARS = st.sampled_from([None, "", "x", 0, 7, 1.5, True, "0.5", "2026-01-02T03:04:05Z"])
CONTAINER = st.fixed_dictionaries(
    {"name": st.sampled_from(["c", "d", "e"])},
    optional={
        "image": SCALARS,
        "resources": st.dictionaries(st.sampled_from(["limits", "requests", "odd"]), SCALARS, max_size=2)
        | st.just({"limits": {"cpu": "0.5"}}),
        "env": st.lists(st.just({"name": "E", "value": "1"}), max_size=2) | SCALARS,
        "unknown": SCALARS,
    },
)
PATCHES = st.fixed_dictionaries(
    {},
    optional={
        "metadata": st.dictionaries(st.sampled_from(["labels", "finalizers", "odd"]), SCALARS, max_size=2),
        "spec": st.fixed_dictionaries(
            {},
            optional={
                "containers": st.lists(CONTAINER, max_size=2) | SCALARS,
                "nodeSelector": st.dictionaries(st.sampled_from(["pool", "zone"]), SCALARS) | SCALARS,
                "terminationGracePeriodSeconds": SCALARS,
                "nodeName": SCALARS,
                "odd": SCALARS,
            },
        ),
        "status": st.dictionaries(st.sampled_from(["phase", "conditions", "odd"]), SCALARS) | SCALARS,
    },
)


def told(tree: Tree, before: Tree | None) -> tuple[Any, Any]:
    """What is understood and what is complained of, or the refusal."""
    try:
        return decoded(tree, POD, before)
    except BadJson as problem:
        return str(problem), ()


@given(PATCHES)
def test_a_merge_patch_leads_to_the_same(patch: Tree) -> None:
    tree = merge(BEFORE, patch)
    assert told(tree, BEFORE) == told(tree, None)


@given(PATCHES)
def test_a_strategic_patch_leads_to_the_same(patch: Tree) -> None:
    assume(isinstance(patch.get("spec", {}).get("containers", []), list))
    tree = strategic(BEFORE, patch, POD)
    assert told(tree, BEFORE) == told(tree, None)


def test_what_is_shared_is_not_read_again() -> None:
    """Told by what a reading would refuse."""
    unreadable = {**BEFORE, "spec": {"terminationGracePeriodSeconds": "soon"}}
    tree = merge(unreadable, {"metadata": {"labels": {"c": "d"}}})
    read, unknown = decoded(tree, POD, unreadable)
    assert unknown == []
    assert read["spec"] is unreadable["spec"]
    assert read["metadata"]["labels"] == {"a": "b", "c": "d"}
    with pytest.raises(BadJson):
        decoded(tree, POD)
