"""Strategic merge patches: lists by key, and what the directives say."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cockpit.sim.port import Tree
from cockpit.sim.server.patch.strategic import strategic
from cockpit.sim.server.schema.kinds import shape_of
from cockpit.sim.server.schema.shape import SchemaShape


def _shape(group: str, kind: str) -> SchemaShape:
    shape = shape_of(group, "v1", kind)
    assert shape is not None
    return shape


POD, BUDGET = _shape("", "Pod"), _shape("policy", "PodDisruptionBudget")


def pod(*names: str, **spec: Any) -> Tree:
    return {"spec": {"containers": [{"name": name, "image": f"{name}:1"} for name in names], **spec}}


def _names(tree: Tree) -> list[str]:
    return [item["name"] for item in tree["spec"]["containers"]]


_CONTAINERS = st.lists(st.sampled_from("abcd"), unique=True, min_size=1, max_size=4)


@given(_CONTAINERS, _CONTAINERS)
def test_merging_by_key_joins_and_settles(before: list[str], sent: list[str]) -> None:
    patch = pod(*sent)
    once = strategic(pod(*before), patch, POD)
    assert sorted(_names(once)) == sorted({*before, *sent})
    assert [name for name in _names(once) if name in sent] == sent
    assert strategic(once, patch, POD) == once


@given(_CONTAINERS, _CONTAINERS)
def test_a_replacement_leaves_what_was_sent(before: list[str], sent: list[str]) -> None:
    patch = pod(*sent)
    patch["spec"]["containers"].insert(0, {"$patch": "replace"})
    assert strategic(pod(*before), patch, POD) == pod(*sent)
