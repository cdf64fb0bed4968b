"""Pools of one name but of different kinds, owners or namespaces: each has its own row, hold and follower."""

import re
from itertools import chain, combinations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.actions.pool_follow import End, bad_end, standing
from cockpit.actions.pool_lease import lease_name
from cockpit.errors import BadInput
from cockpit.model.plan import PoolLeaseHandle
from cockpit.model.pool import Pool, PoolObject
from cockpit.pools.capacity import demand_name
from cockpit.pools.index import pool_again, pool_keyed, pool_named, pools_of
from tests.unit.actions.builders import Line
from tests.unit.pools.builders import deployment, node, store_of

_RFC_1123_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def _owner(kind: str, api_version: str, namespace: str = "", replicas: int = 2) -> PoolObject:
    made = deployment(kind=kind, api_version=api_version, replicas=replicas, template_labels=())
    uid = f"uid-{kind}-{api_version}-{namespace}"
    return msgspec.structs.replace(made, namespace=namespace, uid=uid)


OWNERS = (
    _owner("MachineDeployment", "cluster.x-k8s.io/v1beta1", "a"),
    _owner("MachineDeployment", "cluster.x-k8s.io/v1beta1", "b"),
    _owner("MachinePool", "cluster.x-k8s.io/v1beta1", "a"),
    _owner("NodePool", "karpenter.sh/v1"),
    _owner("NodePool", "compute.coreweave.com/v1alpha1"),
    _owner("NodeGroup", "eks.amazonaws.com/v1"),
)
ONLY_LABELLED = node("n1", pool="h100", pool_label="cloud.google.com/gke-nodepool")


def test_each_has_a_name_a_key_and_a_hold_of_its_own() -> None:
    pools = pools_of(store_of([ONLY_LABELLED], pools=OWNERS))
    assert sorted(one.name for one in pools) == [
        "b/h100",
        "h100",
        "machinedeployment/a/h100",
        "machinepool/a/h100",
        "nodegroup/h100",
        "nodepool.compute.coreweave.com/h100",
        "nodepool.karpenter.sh/h100",
    ]
    for own in (lambda one: one.key, lease_name, demand_name):
        assert len(set(map(own, pools))) == len(pools)
    assert all(lease_name(one).startswith("gpu-cockpit-h100-") for one in pools), "a person finds it"


def test_what_a_row_is_called_finds_it_and_nothing_else() -> None:
    store = store_of([ONLY_LABELLED], pools=OWNERS)
    for one in pools_of(store):
        assert pool_named(store, one.name) == pool_named(store, one.key) == one
    with pytest.raises(BadInput, match="is ambiguous: machinedeployment/a/h100, machinepool/a/h100; choose"):
        pool_named(store, "a/h100")
    with pytest.raises(BadInput, match=r"nodepool\.compute\.coreweave\.com/h100, nodepool\.karp"):
        pool_named(store, "nodepool/h100")


def test_a_cockpit_that_sees_fewer_of_them_takes_the_same_lease() -> None:
    whole = {one.owner_uid: lease_name(one) for one in pools_of(store_of(pools=OWNERS))}
    some = chain.from_iterable(combinations(OWNERS, count) for count in (1, 2, 3))
    for seen in some:
        for one in pools_of(store_of(pools=seen)):
            assert lease_name(one) == whole[one.owner_uid]


def test_another_version_of_its_interface_is_the_same_pool() -> None:
    newer = msgspec.structs.replace(OWNERS[0], api_version="cluster.x-k8s.io/v1beta2")
    (old,), (new,) = pools_of(store_of(pools=OWNERS[:1])), pools_of(store_of(pools=[newer]))
    assert lease_name(old) == lease_name(new)


@given(st.text(max_size=300), st.sampled_from(["", "NodePool", "MachineDeployment", "Pool"]))
@settings(max_examples=200)
def test_the_name_of_the_hold_is_allowed_for_any_pool(name: str, kind: str) -> None:
    pool = Pool(name=name, owner_kind=kind, owner_key=f"ns/{name}")
    for made in (lease_name(pool), demand_name(pool)):
        assert _RFC_1123_LABEL.fullmatch(made)


def _hold(pool: Pool, to: int) -> PoolLeaseHandle:
    return PoolLeaseHandle(pool=pool.name, pool_key=pool.key, to=to)


async def test_a_change_is_followed_though_another_pool_of_that_name_comes() -> None:
    (before,) = pools_of(store_of(pools=OWNERS[:1]))
    assert before.name == "h100"
    hold, both = _hold(before, 2), store_of(pools=OWNERS[:2])
    found = standing(both, hold, was_told=True)
    assert (found.end, found.target) == (End.GOING, 2)
    gone = standing(store_of(pools=OWNERS[1:2]), hold, was_told=True)
    assert gone.end is End.GONE, "the other one is not it"
    assert await bad_end(gone, hold, Line(), store_of()) == "pool h100 is gone"


async def test_the_size_of_the_other_one_does_not_end_it() -> None:
    other = msgspec.structs.replace(OWNERS[1], replicas=9)
    store = store_of(pools=[OWNERS[0], other])
    pool = pool_keyed(store, "MachineDeployment.cluster.x-k8s.io/a/h100")
    assert pool is not None
    assert standing(store, _hold(pool, 2), was_told=True).end is End.GOING
    back = store_of(pools=[msgspec.structs.replace(OWNERS[0], replicas=1), other])
    found = standing(back, _hold(pool, 2), was_told=True)
    assert (found.end, found.target) == (End.SET_BACK, 1)
    told = await bad_end(found, _hold(pool, 2), Line(), back)
    assert told.startswith("MachineDeployment a/h100 was set from 2 to 1 by another client")


def test_a_pool_known_by_its_nodes_is_found_once_its_owner_is_read() -> None:
    group = deployment(kind="NodeGroup", api_version="eks.amazonaws.com/v1", template_labels=())
    some = node("n1", pool="h100", pool_label="example.com/pool")
    twin = _owner("NodePool", "karpenter.sh/v1")
    before = pool_named(store_of([some], pools=[twin]), "h100")
    assert not before.owner_kind
    assert before.node_names == ("n1",)
    by_label = msgspec.structs.replace(group, template_labels=(("example.com/pool", "h100"),))
    after = pool_again(store_of([some], pools=[twin, by_label]), before)
    assert (after.owner_kind, after.node_names) == ("NodeGroup", ("n1",))
