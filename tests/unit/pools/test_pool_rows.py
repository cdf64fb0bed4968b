"""Pools as rows: which node belongs where, who may resize, and how many GPUs are allocated."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.errors import BadInput
from cockpit.model.node import Node
from cockpit.model.price import MachinePrice, Prices
from cockpit.pools.cluster_api import AUTOSCALER_MAXIMUM, AUTOSCALER_MINIMUM, GPUS_HINT, TOPOLOGY_OWNED
from cockpit.pools.index import gpus_per_node, pool_named, pool_object, pools_of
from cockpit.pools.price import node_hourly, nodes_hourly, pool_hourly, types_unpriced
from tests.unit.pools.builders import deployment, node, pod, store_of


def test_a_pool_with_an_owner() -> None:
    store = store_of(
        [node("a", pool="h100"), node("b", pool="h100"), node("c", pool="h100", gpus=None, expected=8)],
        [pod("p", "a", 6)],
        [deployment(replicas=4)],
    )
    (pool,) = pools_of(store)
    assert (pool.name, pool.owner_kind, pool.owner_key, pool.why_not) == (
        "h100",
        "MachineDeployment",
        "capi/h100",
        "",
    )
    assert (pool.nodes_now, pool.nodes_ready, pool.target) == (3, 3, 4)
    assert (pool.gpus_total, pool.gpus_allocated, pool.idle_nodes) == (16, 6, 1)
    assert pool.nodes_joining == 2  # one without GPUs yet, one that never came
    assert pool.machine == "p5.48xlarge"
    assert pool_object(store, pool) is not None
    assert gpus_per_node(pool, store) == 8


def test_a_lost_card_that_a_pod_still_holds_is_not_over_the_whole() -> None:
    lost = msgspec.structs.replace(node("a", pool="h100"), gpu_allocatable=7)
    store = store_of([lost, node("b", pool="h100")], [pod("p", "a", 8), pod("q", "b", 8)], [deployment()])
    (pool,) = pools_of(store)
    assert (pool.gpus_allocated, pool.gpus_total, pool.gpus_idle) == (16, 16, 0)
    gone = msgspec.structs.replace(lost, gpu_allocatable=None, gpu_capacity=None)
    (pool,) = pools_of(store_of([gone], [pod("p", "a", 8)], [deployment()]))
    assert (pool.gpus_allocated, pool.gpus_total) == (8, 8)


def test_finished_pods_hold_nothing() -> None:
    done = msgspec.structs.replace(pod("p", "a", 8), phase="Succeeded")
    store = store_of([node("a", pool="h100")], [done], [deployment()])
    assert pools_of(store)[0].gpus_allocated == 0


def test_an_empty_pool_is_a_row_and_its_hint_tells_the_gpus() -> None:
    store = store_of(pools=[deployment("a100", replicas=0, annotations=((GPUS_HINT, "4"),))])
    (pool,) = pools_of(store)
    assert (pool.nodes_now, pool.target, pool.gpus_total) == (0, 0, 0)
    assert gpus_per_node(pool, store) == 4


def test_nodes_without_gpus_and_without_owner_are_no_pool() -> None:
    assert pools_of(store_of([node("cpu", pool="system", gpus=None)])) == ()


@pytest.mark.parametrize(
    ("label", "word"),
    [
        ("eks.amazonaws.com/nodegroup", "AWS"),
        ("cloud.google.com/gke-nodepool", "Google"),
        ("kubernetes.azure.com/agentpool", "Azure"),
        ("agentpool", "Azure"),
        ("compute.coreweave.com/node-pool", "CoreWeave"),
        ("example.com/pool", "known only from the label example.com/pool"),
    ],
)
def test_a_pool_known_from_labels_says_who_must_resize_it(label: str, word: str) -> None:
    (pool,) = pools_of(store_of([node("a", pool="gpu", pool_label=label)]))
    assert pool.name == "gpu"
    assert pool.owner_kind == ""
    assert word in pool.why_not


def test_nodes_without_a_pool_label() -> None:
    (pool,) = pools_of(store_of([node("a")]))
    assert (pool.name, pool.nodes_now) == ("(no pool) p5.48xlarge", 1)
    assert "where they were created" in pool.why_not
    (pool,) = pools_of(store_of([node("a", provider_id="aws:///eu-1a/i-1")]))
    assert pool.why_not == "machines of an auto scaling group: AWS has not been asked for it yet"


def test_nodes_that_no_label_puts_in_a_pool_are_a_row_a_shape() -> None:
    def like(name: str, **fields: object) -> Node:
        return msgspec.structs.replace(node(name), **fields)

    nodes = [
        like("a", instance_type="g5.12xlarge", gpu_model="A10G"),
        like("b", instance_type="g5.12xlarge", gpu_model="A10G", gpu_capacity=3, gpu_allocatable=3),
        like("c", instance_type="", gpu_model="H100"),
        like("d", instance_type="", gpu_model="", gpu_capacity=4, gpu_allocatable=4),
        like(
            "e", instance_type="", gpu_model="", gpu_capacity=None, gpu_allocatable=None, is_gpu_labelled=True
        ),
    ]
    assert [(pool.name, pool.nodes_now) for pool in pools_of(store_of(nodes))] == [
        ("(no pool)", 1),
        ("(no pool) 4 x GPU", 1),
        ("(no pool) 8 x H100", 1),
        ("(no pool) g5.12xlarge", 2),
    ]


def test_a_pool_of_two_kinds_of_machine_counts_both_and_their_money() -> None:
    spot = (("karpenter.sh/capacity-type", "spot"),)
    small = {"instance_type": "g5.12xlarge", "gpu_model": "A10G"}
    nodes = [
        node("a", pool="mixed"),
        msgspec.structs.replace(node("b", pool="mixed"), **small),
        msgspec.structs.replace(node("c", pool="mixed", labels=spot), **small),
    ]
    (pool,) = pools_of(store_of(nodes))
    assert (pool.machine, pool.gpu_model, pool.nodes_spot) == ("", "", 1)
    assert [(kind.machine, kind.nodes, kind.spot) for kind in pool.kinds] == [
        ("g5.12xlarge", 2, 1),
        ("p5.48xlarge", 1, 0),
    ]
    priced = {
        "g5.12xlarge": MachinePrice(hourly=6.0, spot_hourly=2.0),
        "p5.48xlarge": MachinePrice(hourly=50.0),
    }
    prices = Prices(machines=tuple(priced.items()))
    assert (pool_hourly(pool, prices), node_hourly(pool, prices)) == (58.0, None)
    assert nodes_hourly(nodes[1:], prices) == 8.0
    half = Prices(machines=(("g5.12xlarge", MachinePrice(hourly=6.0)),))
    assert pool_hourly(pool, half) is None, "a spot machine without a spot price is not free"
    assert types_unpriced(pool, half) == "p5.48xlarge"


def test_a_cluster_api_owner_in_another_cluster() -> None:
    marks = (("cluster.x-k8s.io/cluster-name", "prod"), ("cluster.x-k8s.io/owner-name", "md-0-x"))
    (pool,) = pools_of(store_of([node("a", annotations=marks)]))
    assert pool.why_not == "Cluster API owner md-0-x of cluster prod: resize it in the management cluster"


def test_the_owners_mark_goes_through_the_machine_set() -> None:
    marks = (("cluster.x-k8s.io/owner-kind", "MachineSet"), ("cluster.x-k8s.io/owner-name", "h100-abcde"))
    machine_set = deployment(
        "h100-abcde",
        kind="MachineSet",
        labels=(("cluster.x-k8s.io/deployment-name", "h100"),),
        template_labels=(),
    )
    owner = deployment(template_labels=())
    for objects in ([owner, machine_set], [owner]):
        (pool,) = pools_of(store_of([node("a", annotations=marks)], pools=objects))
        assert (pool.owner_kind, pool.nodes_now) == ("MachineDeployment", 1)


def test_the_most_specific_template_wins_and_equal_ones_do_not_guess() -> None:
    wide = deployment("wide", template_labels=(("gpu", "yes"),))
    narrow = deployment("narrow", template_labels=(("gpu", "yes"), ("rack", "1")))
    some = node("a", labels=(("gpu", "yes"), ("rack", "1")))
    pools = {one.name: one for one in pools_of(store_of([some], pools=[wide, narrow]))}
    assert (pools["narrow"].nodes_now, pools["wide"].nodes_now) == (1, 0)
    twin = deployment("twin", template_labels=(("gpu", "yes"), ("rack", "1")))
    pools = {one.name: one for one in pools_of(store_of([some], pools=[narrow, twin]))}
    assert (pools["narrow"].nodes_now, pools["twin"].nodes_now, pools["(no pool) p5.48xlarge"].nodes_now) == (
        0,
        0,
        1,
    )


def test_karpenter_static_may_be_scaled_and_dynamic_says_why_not() -> None:
    def karpenter(size: int | None) -> tuple[str, int]:
        owner = deployment("gp", kind="NodePool", api_version="karpenter.sh/v1", replicas=size, maximum=10)
        some = node("a", labels=(("karpenter.sh/nodepool", "gp"),))
        (pool,) = pools_of(store_of([some], pools=[owner]))
        assert pool.maximum == 10
        return pool.why_not, pool.nodes_now

    assert karpenter(3) == ("", 1)
    assert "Karpenter sizes it from pending pods" in karpenter(None)[0]


def test_topology_and_autoscaler_own_the_size() -> None:
    topology = deployment(labels=((TOPOLOGY_OWNED, ""), ("cluster.x-k8s.io/cluster-name", "prod")))
    (pool,) = pools_of(store_of(pools=[topology]))
    assert "topology of cluster prod" in pool.why_not
    bounds = ((AUTOSCALER_MAXIMUM, "40"), (AUTOSCALER_MINIMUM, "2"))
    (pool,) = pools_of(store_of(pools=[deployment(annotations=bounds)]))
    assert "autoscaler controls the size, between 2 and 40" in pool.why_not
    assert (pool.minimum, pool.maximum) == (2, 40)
    (pool,) = pools_of(store_of(pools=[deployment(annotations=bounds[:1])]))
    assert pool.why_not == ""
    (pool,) = pools_of(store_of(pools=[deployment(annotations=((AUTOSCALER_MAXIMUM, "many"), bounds[1]))]))
    assert "is 'many', no whole number" in pool.why_not
    assert pool.maximum is None


def test_names() -> None:
    store = store_of(pools=[deployment("h100"), deployment("a100"), deployment("a100", kind="MachinePool")])
    assert pool_named(store, "h100").name == "h100"
    assert pool_named(store, "machinepool/capi/a100").owner_kind == "MachinePool"
    with pytest.raises(BadInput, match="is ambiguous: machinedeployment/capi/a100, machinepool/capi/a100"):
        pool_named(store, "capi/a100")
    with pytest.raises(BadInput, match="there is no pool 'v100'; did you mean h100"):
        pool_named(store, "v100")


@given(
    st.lists(
        st.tuples(st.sampled_from(["h100", "a100", "gone", ""]), st.sampled_from([0, 4, 8, None])),
        max_size=12,
    )
)
@settings(deadline=None, max_examples=60)
def test_every_gpu_node_is_in_exactly_one_pool(shape: list[tuple[str, int | None]]) -> None:
    nodes = [node(f"n{at}", pool=pool, gpus=gpus) for at, (pool, gpus) in enumerate(shape)]
    pools = pools_of(store_of(nodes, pools=[deployment("h100"), deployment("a100")]))
    names = [name for pool in pools for name in pool.node_names]
    assert len(names) == len(set(names))
    assert {one.name for one in nodes if one.has_gpus} <= set(names)
    assert sum(pool.gpus_total for pool in pools) == sum(one.gpu_allocatable or 0 for one in nodes)
    assert all(pool.nodes_joining >= 0 for pool in pools)


def test_a_pool_of_several_machines_is_not_shown_as_the_commonest() -> None:
    """Neither by type nor by card; one of which the type is not known makes no difference."""
    kinds = (("ecs.gn7i", "A10"), ("ecs.gn7i", "A10"), ("g5.12xlarge", "T4"), ("", ""))
    for number, expected in ((2, kinds[0]), (3, ("", "")), (4, ("", ""))):
        nodes = [
            msgspec.structs.replace(node(f"n{at}", pool="some"), instance_type=machine, gpu_model=model)
            for at, (machine, model) in enumerate(kinds[:number])
        ]
        (pool,) = pools_of(store_of(nodes))
        assert (pool.machine, pool.gpu_model) == expected
