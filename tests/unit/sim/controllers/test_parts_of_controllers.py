"""The small parts: who controls what, differences as merge patches, quantities, sizes of a rollout."""

from hypothesis import given
from hypothesis import strategies as st

from cockpit.kube.resource import PODS
from cockpit.sim.actors.controllers.children import Children
from cockpit.sim.actors.controllers.deployment.sizes import max_surge, max_unavailable, shares
from cockpit.sim.port import ChangeType, ObjectChange, Tree

trees = st.recursive(
    st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


def owned(name: str, uid: str, version: int, owner: str = "o1", kind: str = "Job") -> Tree:
    reference = {"apiVersion": "batch/v1", "kind": kind, "name": "j", "uid": owner, "controller": True}
    metadata = {"namespace": "a", "name": name, "uid": uid, "resourceVersion": str(version)}
    return {"metadata": {**metadata, "ownerReferences": [reference]}}


OWNER: Tree = {"metadata": {"namespace": "a", "name": "j", "uid": "o1"}}


def test_what_was_written_counts_before_the_port_has_said_so() -> None:
    children = Children(("Job",))
    children.put(owned("p", "u1", 5))
    children.take(ObjectChange(ChangeType.ADDED, PODS, owned("p", "u1", 3)))
    assert [pod["metadata"]["resourceVersion"] for pod in children.of(OWNER)] == ["5"]
    children.gone(owned("p", "u1", 5))
    children.take(ObjectChange(ChangeType.MODIFIED, PODS, owned("p", "u1", 6)))
    assert children.of(OWNER) == []
    children.take(ObjectChange(ChangeType.DELETED, PODS, owned("p", "u1", 7)))
    children.take(ObjectChange(ChangeType.ADDED, PODS, owned("p", "u2", 8)))
    assert [pod["metadata"]["uid"] for pod in children.of(OWNER)] == ["u2"]


def deployment(replicas: int, surge: int | str, unavailable: int | str) -> Tree:
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    return {
        "metadata": {"name": "web"},
        "spec": {"replicas": replicas, "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling}},
        "status": {"replicas": replicas},
    }


@given(st.integers(0, 50), st.integers(0, 100), st.integers(0, 100))
def test_a_rollout_can_always_move(replicas: int, surge: int, unavailable: int) -> None:
    tree = deployment(replicas, f"{surge}%", f"{unavailable}%")
    assert max_surge(tree) + max_unavailable(tree) >= min(replicas, 1)
    assert 0 <= max_unavailable(tree) <= replicas


@given(st.integers(0, 40), st.lists(st.integers(1, 20), min_size=2, max_size=4), st.integers(0, 5))
def test_shares_sum_up_to_what_is_allowed(wanted: int, sizes: list[int], surge: int) -> None:
    tree = deployment(wanted, surge, 1)
    sets: list[Tree] = [
        {
            "metadata": {"name": f"web-{n}", "creationTimestamp": "2026-09-21T14:13:20Z"},
            "spec": {"replicas": size},
        }
        for n, size in enumerate(sizes)
    ]
    tree["status"]["replicas"] = sum(sizes)
    found = shares(tree, sets)
    allowed = wanted + surge if wanted else 0
    assert all(size >= 0 for size in found.values())
    # What rounding leaves over goes to the first set, which cannot have less than nothing.
    assert sum(found.values()) == allowed or min(found.values()) == 0
    assert sum(found.values()) >= allowed
