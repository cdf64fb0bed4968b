"""Server-side apply and managed fields, in the real server's encoding and words."""

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cockpit.sim.port import Tree
from cockpit.sim.server.patch.apply import apply
from cockpit.sim.server.patch.fields import difference, intersection, paths, union
from cockpit.sim.server.patch.managed import update_managed
from cockpit.sim.server.schema.kinds import shape_of
from cockpit.sim.server.schema.shape import SchemaShape

NOW = 1_790_000_000.0


def _shape(group: str, kind: str) -> SchemaShape:
    shape = shape_of(group, "v1", kind)
    assert shape is not None
    return shape


DEPLOYMENT, CONFIG_MAP = _shape("apps", "Deployment"), _shape("", "ConfigMap")


def _config(data: dict[str, str], uid: str = "") -> Tree:
    metadata: Tree = {"name": "c", "namespace": "n"}
    if uid:
        metadata["uid"] = uid
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def _owners(tree: Tree) -> dict[str, Tree]:
    return {entry["manager"]: entry["fieldsV1"] for entry in tree["metadata"].get("managedFields", [])}


def test_a_creation_is_recorded_without_what_every_object_has() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "n", "labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]},
    }
    done = update_managed(None, pod, "kubectl", "Update", "", NOW, _shape("", "Pod"))
    (entry,) = done["metadata"]["managedFields"]
    assert entry["fieldsV1"] == {
        "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
        "f:spec": {
            "f:containers": {
                'k:{"name":"c"}': {
                    ".": {},
                    "f:image": {},
                    "f:name": {},
                    "f:ports": {
                        ".": {},
                        'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}},
                    },
                }
            }
        },
    }


def test_a_set_and_a_list_with_keys_are_merged_item_by_item() -> None:
    pod = _shape("", "Pod")

    def wanting(finalizer: str, name: str) -> Tree:
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "n", "finalizers": [finalizer]},
            "spec": {"containers": [{"name": name, "image": "i"}]},
        }

    live = apply(None, wanting("a/one", "x"), "one", False, pod, NOW)
    both = apply(live, wanting("a/two", "y"), "two", False, pod, NOW)
    assert both["metadata"]["finalizers"] == ["a/one", "a/two"]
    assert [c["name"] for c in both["spec"]["containers"]] == ["x", "y"]
    assert _owners(both)["two"]["f:metadata"] == {"f:finalizers": {'v:"a/two"': {}}}


def test_what_was_there_before_the_first_apply_has_an_owner() -> None:
    done = apply(_config({"a": "1", "b": "2"}, "u"), _config({"a": "1"}), "one", False, CONFIG_MAP, NOW)
    assert _owners(done)["before-first-apply"] == {"f:data": {".": {}, "f:a": {}, "f:b": {}}}


def test_an_eleventh_updater_makes_the_oldest_ancient() -> None:
    live: Tree = update_managed(None, _config({"k": "0"}, "u"), "m00", "Update", "", NOW, CONFIG_MAP)
    for number in range(1, 12):
        new = {**live, "data": {**live["data"], f"k{number}": "1"}}
        live = update_managed(live, new, f"m{number:02}", "Update", "", NOW + number, CONFIG_MAP)
    names = list(_owners(live))
    assert len(names) == 10
    assert names[0] == "ancient-changes"
    assert "f:k2" in _owners(live)["ancient-changes"]["f:data"]


_NAMES = st.sampled_from("abcdef")
_DATA = st.dictionaries(_NAMES, st.sampled_from(["1", "2"]), min_size=1, max_size=4)


@given(_DATA, _DATA)
def test_applying_twice_changes_nothing(first: dict[str, str], second: dict[str, str]) -> None:
    live = apply(None, _config(first), "one", True, CONFIG_MAP, NOW)
    done = apply(live, _config(second), "two", True, CONFIG_MAP, NOW + 1)
    before = copy.deepcopy(done)
    assert apply(done, _config(second), "two", False, CONFIG_MAP, NOW + 99) is done
    assert done == before


@given(_DATA, _DATA)
def test_disjoint_appliers_never_conflict(first: dict[str, str], second: dict[str, str]) -> None:
    other = {f"x{key}": value for key, value in second.items()}
    live = apply(None, _config(first), "one", False, CONFIG_MAP, NOW)
    done = apply(live, _config(other), "two", False, CONFIG_MAP, NOW)
    assert done.get("data", {}) == {**first, **other}


@given(_DATA, _DATA, st.sets(_NAMES))
def test_a_field_no_longer_applied_goes_only_if_nobody_else_owns_it(
    first: dict[str, str], second: dict[str, str], gone: set[str]
) -> None:
    live = apply(None, _config(first), "one", False, CONFIG_MAP, NOW)
    shared = {key: first.get(key, value) for key, value in second.items()}
    live = apply(live, _config(shared), "two", False, CONFIG_MAP, NOW)
    left = {key: value for key, value in first.items() if key not in gone}
    done = apply(live, _config(left), "one", False, CONFIG_MAP, NOW)
    assert done.get("data", {}) == {**left, **shared}


_SETS: st.SearchStrategy[Any] = st.recursive(
    st.just({}),
    lambda inner: st.dictionaries(
        st.sampled_from(["f:a", "f:b", "f:c"]), inner, min_size=1, max_size=3
    ).flatmap(lambda below: st.sampled_from([below, {".": {}, **below}])),
    max_leaves=8,
)
_ROOTS = st.dictionaries(st.sampled_from(["f:a", "f:b", "f:c"]), _SETS, max_size=3)


@given(_ROOTS, _ROOTS)
def test_sets_of_fields_are_sets(one: Tree, other: Tree) -> None:
    before = copy.deepcopy((one, other))
    a, b = set(paths(one)), set(paths(other))
    assert set(paths(union(one, other))) == a | b
    assert set(paths(difference(one, other))) == a - b
    assert set(paths(intersection(one, other))) == a & b
    assert (one, other) == before
