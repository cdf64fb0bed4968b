"""Pools that are kept from look to look are those of a first look, whatever has moved."""

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.model.batch import Batch
from cockpit.model.node import Node
from cockpit.model.pool import PoolObject
from cockpit.model.record import Condition, Kind
from cockpit.pools.match import pool_groups
from cockpit.pools.prospects import prospects
from cockpit.store.store import Store

NAMES, NODES = ("a", "b", "c"), 6
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "replicas": st.integers(0, 9),
    "status_replicas": st.integers(0, 9),
    "max_replicas": st.integers(0, 9),
    "resource_version": st.integers(1, 9).map(str),
    "conditions": st.sampled_from(((), (Condition("Ready", "False", "Stockout", "none left"),))),
    "template_labels": st.sampled_from(((), (("pool", "a"),), (("pool", "b"),), (("pool", "b"), ("x", "y")))),
    "name": st.sampled_from(NAMES),
}


def pool(name: str, api: str) -> PoolObject:
    return PoolObject(
        uid=f"pool-{name}",
        name=name,
        namespace="" if api.startswith("karpenter") else "machines",
        api_version=api,
        kind="NodePool" if api.startswith("karpenter") else "MachineDeployment",
        resource_path="/apis/x/pools",
        template_labels=(("pool", name),),
    )


def node(number: int, labels: tuple[tuple[str, str], ...]) -> Node:
    ready = (Condition("Ready", "True"),)
    of = dict(labels).get("pool", "")
    return Node(
        uid=f"n{number}",
        name=f"n{number}",
        labels=labels,
        pool=of,
        gpu_allocatable=8,
        gpu_capacity=8,
        conditions=ready,
    )


POOLS = [
    pool(name, api)
    for name, api in zip(NAMES, ("karpenter.sh/v1", *2 * ("cluster.x-k8s.io/v1beta1",)), strict=True)
]
LABELS = st.sampled_from(
    (
        (),
        *((("pool", name),) for name in NAMES),
        (("pool", "b"), ("x", "y")),
        (("karpenter.sh/nodepool", "a"), ("pool", "c")),
    )
)
MOVES = st.one_of(
    st.sampled_from(sorted(FIELDS)).flatmap(
        lambda field: st.tuples(st.just(field), st.integers(0, len(POOLS) - 1), FIELDS[field])
    ),
    st.tuples(st.just("pool goes"), st.integers(0, len(POOLS) - 1), st.none()),
    st.tuples(st.just("node"), st.integers(0, NODES - 1), LABELS),
    st.tuples(st.just("node goes"), st.integers(0, NODES - 1), st.none()),
)


def change(store: Store, what: str, number: int, value: Any) -> Batch:
    if what == "node":
        return Batch(kind=Kind.NODE, changed=(node(number, value),))
    if what == "node goes":
        return Batch(kind=Kind.NODE, removed=(f"n{number}",))
    if what == "pool goes":
        return Batch(kind=Kind.POOL, removed=(POOLS[number].uid,))
    held = store.get(Kind.POOL, POOLS[number].uid) or POOLS[number]
    return Batch(kind=Kind.POOL, changed=(msgspec.structs.replace(held, **{what: value}),))


@settings(deadline=None, max_examples=300)
@given(moves=st.lists(MOVES, min_size=1, max_size=14))
def test_kept_pools_are_those_of_a_first_look(moves: list[tuple[str, int, Any]]) -> None:
    kept = Store()
    kept.apply(Batch(kind=Kind.POOL, changed=tuple(POOLS)))
    kept.apply(
        Batch(kind=Kind.NODE, changed=tuple(node(one, (("pool", NAMES[one % 3]),)) for one in range(NODES)))
    )
    for at, (what, number, value) in enumerate(moves):
        kept.apply(change(kept, what, number, value))
        found, told = pool_groups(kept), prospects(kept, float(at))
        first = Store()
        for kind in (Kind.POOL, Kind.NODE):
            first.apply(Batch(kind=kind, changed=tuple(kept.records(kind).values())))
        assert found == pool_groups(first)
        assert told == prospects(first, float(at))


def test_a_pool_that_grows_is_matched_with_no_node_again() -> None:
    store = Store()
    store.apply(Batch(kind=Kind.POOL, changed=tuple(POOLS)))
    store.apply(
        Batch(kind=Kind.NODE, changed=tuple(node(one, (("pool", NAMES[one % 3]),)) for one in range(NODES)))
    )
    before = {one.name: one for one in pool_groups(store)}
    store.apply(change(store, "replicas", 1, 7))
    after = {one.name: one for one in pool_groups(store)}
    assert after["b"].owner is not None and after["b"].owner.replicas == 7
    assert after["b"].nodes == before["b"].nodes and after["a"] is before["a"]
