"""Of a node that is not ready nothing is well, free or at work, wherever it is shown."""

import pytest

from cockpit.model.batch import Batch
from cockpit.model.gpu import Gpu, Mark
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.quantity import Absent
from cockpit.model.record import Condition, Kind
from cockpit.pools.index import pools_of
from cockpit.store.store import Store
from cockpit.views import duty, fleet, gpus, heatmap, node_page, nodes

DIED, NOW = 1_000.0, 4_600.0


def world(ready: str, *, sampled_seconds: float = 900.0) -> tuple[Node, Store]:
    """A node of four GPUs, one of them held, with what was sampled of them then."""
    node = Node(
        uid="n",
        name="n",
        conditions=(Condition("Ready", ready, changed_seconds=DIED),),
        created_seconds=0.0,
        allocatable=(("nvidia.com/gpu", 4),),
        gpu_resource="nvidia.com/gpu",
        gpu_capacity=4,
        gpu_allocatable=4,
        pool="a",
        pool_label="eks.amazonaws.com/nodegroup",
    )
    pod = Pod(uid="p", name="p", namespace="t", node="n", phase="Running", gpus=1)
    cards = tuple(
        Gpu(
            uuid=f"g{index}",
            node="n",
            index=index,
            duty_ratio=0.0 if index else 0.9,
            temperature_celsius=50.0,
            power_watts=300.0,
            xid=0,
            mark=Mark.UNALLOCATED if index else Mark.SURE,
            pod_namespace="" if index else "t",
            pod_name="" if index else "p",
            sampled_seconds=sampled_seconds,
        )
        for index in range(4)
    )
    store = Store()
    store.apply(Batch(kind=Kind.NODE, changed=(node,)))
    store.apply(Batch(kind=Kind.POD, changed=(pod,)))
    store.apply(Batch(kind=Kind.GPU, changed=cards))
    return node, store


@pytest.mark.parametrize("ready", ["False", "Unknown"])
def test_nowhere_is_a_dead_node_well_free_or_at_work(ready: str) -> None:
    node, store = world(ready)
    shown = nodes.NodeRow(node, store, NOW)
    assert (shown.duty, shown.hottest, shown.power) == (Absent.STALE,) * 3
    assert nodes._health(shown, NOW).text != "ok"
    assert nodes._allocated(shown, NOW).text == "1/0 -4"
    page = {pair.name: pair.value for pair in node_page.facts(node, store, NOW)}
    assert "ok" not in page["health"].split() and "90%" not in page["now"]
    assert "none usable: the node is not ready" in page["GPUs"]
    assert set(heatmap.groups(store)[0].blocks[0].levels) == {heatmap.LOST}
    counts = fleet.fleet(store)
    assert (counts.free, counts.lost) == (0, 3)
    (pool,) = pools_of(store)
    assert (pool.gpus_total, pool.gpus_allocated, pool.gpus_idle, pool.idle_nodes) == (1, 1, 0, 0)
    assert [row.is_lost for row in gpus.rows_of(node, store)] == [False, True, True, True]
    told = duty.of_node(node, store, 1)
    assert (told.mean_ratio, told.reason) == (None, "stale")


def test_a_node_that_is_ready_is_as_it_was() -> None:
    node, store = world("True")
    shown = nodes.NodeRow(node, store, NOW)
    assert nodes._health(shown, NOW).text == "ok"
    assert nodes._allocated(shown, NOW).text == "1/4"
    assert duty.of_node(node, store, 1).mean_ratio == 0.9
    assert pools_of(store)[0].gpus_total == 4


def test_what_was_sampled_after_its_kubelet_fell_silent_is_no_memory() -> None:
    node, store = world("Unknown", sampled_seconds=DIED + 60)
    assert duty.of_node(node, store, 1).mean_ratio == 0.9


def test_a_bad_xid_of_a_dead_node_stays() -> None:
    node, store = world("False")
    (first, *_) = store.gpus_on("n")
    sick = Gpu(uuid=first.uuid, node="n", index=0, xid=79, sampled_seconds=900.0)
    store.apply(Batch(kind=Kind.GPU, changed=(sick,)))
    assert "Xid 79" in nodes._health(nodes.NodeRow(node, store, NOW), NOW).text
