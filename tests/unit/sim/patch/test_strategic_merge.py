"""Strategic merge patches: lists by key, and what the directives say."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.sim.port import PortError, Tree
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


SPECS: list[tuple[Tree, Tree, Tree]] = [
    # Values, nulls, maps.
    ({"nodeName": "a"}, {"nodeName": "b"}, {"nodeName": "b"}),
    ({"nodeName": "a"}, {"nodeName": None}, {}),
    ({"nodeSelector": {"a": "1"}}, {"nodeSelector": {"a": None, "b": "2"}}, {"nodeSelector": {"b": "2"}}),
    (
        {"nodeSelector": {"a": "1"}},
        {"nodeSelector": {"$patch": "replace", "b": "2"}},
        {"nodeSelector": {"b": "2"}},
    ),
    ({"nodeSelector": {"a": "1"}}, {"nodeSelector": {"$patch": "delete"}}, {"nodeSelector": {}}),
    # A list without a key is replaced as a whole.
    ({"tolerations": [{"key": "a"}]}, {"tolerations": [{"key": "b"}]}, {"tolerations": [{"key": "b"}]}),
    # A list with a key is merged item by item.
    (
        {"volumes": [{"name": "a", "emptyDir": {}}]},
        {"volumes": [{"name": "b", "emptyDir": {}}]},
        {"volumes": [{"name": "b", "emptyDir": {}}, {"name": "a", "emptyDir": {}}]},
    ),
    (
        {"volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "emptyDir": {}}]},
        {"volumes": [{"name": "a", "$patch": "delete"}]},
        {"volumes": [{"name": "b", "emptyDir": {}}]},
    ),
    (
        {"volumes": [{"name": "a", "emptyDir": {}}]},
        {"volumes": [{"name": "b", "emptyDir": {}}, {"$patch": "replace"}]},
        {"volumes": [{"name": "b", "emptyDir": {}}]},
    ),
    (
        {"volumes": [{"name": "a", "emptyDir": {}}]},
        {"volumes": [{"name": "a", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}]},
        {"volumes": [{"name": "a", "hostPath": {"path": "/x"}}]},
    ),
    # Directives do not stay in what is new.
    (
        {},
        {
            "volumes": [
                {"name": "a", "$retainKeys": ["name"], "emptyDir": None},
                {"name": "b", "$patch": "delete"},
            ]
        },
        {"volumes": [{"name": "a"}]},
    ),
]


@pytest.mark.parametrize(("before", "patch", "after"), SPECS)
def test_a_patch_of_a_spec(before: Tree, patch: Tree, after: Tree) -> None:
    target, sent = {"spec": before}, {"spec": patch}
    kept = copy.deepcopy((target, sent))
    assert strategic(target, sent, POD) == {"spec": after}
    assert (target, sent) == kept


def test_a_set_of_texts_is_joined_and_taken_from() -> None:
    target = {"metadata": {"finalizers": ["a/b"]}}
    joined = strategic(target, {"metadata": {"finalizers": ["c/d", "a/b"]}}, POD)
    assert joined["metadata"]["finalizers"] == ["c/d", "a/b"]
    left = strategic(joined, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/b"]}}, POD)
    assert left["metadata"]["finalizers"] == ["c/d"]


def test_an_order_is_set_and_what_only_the_server_has_keeps_its_place() -> None:
    patch = {
        "spec": {
            "$setElementOrder/containers": [{"name": "c"}, {"name": "a"}],
            "containers": [{"name": "a", "image": "new"}],
        }
    }
    done = strategic(pod("a", "b", "c"), patch, POD)
    assert _names(done) == ["b", "c", "a"]
    assert done["spec"]["containers"][2]["image"] == "new"


def test_a_selector_that_is_replaced_is_not_merged() -> None:
    target = {"spec": {"selector": {"matchLabels": {"a": "1"}}}}
    patch: Tree = {"spec": {"selector": {"matchExpressions": []}}}
    assert strategic(target, patch, BUDGET) == patch


@pytest.mark.parametrize(
    ("patch", "status", "sentence"),
    [
        (
            {"containers": [{"image": "x"}]},
            500,
            "an item does not contain declared merge key: name",
        ),
        (
            {"containers": [{"name": "a", "$patch": "shake"}]},
            500,
            "unknown patch type: shake",
        ),
        ({"nodeSelector": {"$retainKeys": ["a"], "b": "1"}}, 400, "invalid patch format of retainKeys"),
        (
            {"$setElementOrder/containers": [{"name": "a"}], "containers": [{"name": "x"}]},
            500,
            "the order of the patch does not match its $setElementOrder list",
        ),
    ],
)
def test_a_patch_without_sense_is_refused(patch: Tree, status: int, sentence: str) -> None:
    with pytest.raises(PortError) as refused:
        strategic(pod("a", nodeSelector={"a": "1"}), {"spec": patch}, POD)
    assert (refused.value.status, refused.value.message) == (status, sentence)


def test_custom_kinds_have_no_strategic_patches() -> None:
    with pytest.raises(PortError) as refused:
        strategic({}, {}, None)
    assert refused.value.status == 415


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
