"""What the fleet needs, fits and wastes, from objects."""

from typing import Any

import msgspec

from cockpit.model.batch import Batch
from cockpit.model.gpu import Gpu, Mark
from cockpit.model.record import Kind
from cockpit.store.store import Store
from cockpit.triage.fleet import FleetUse, fleet_load, fleet_use
from cockpit.triage.packing import Packing
from tests.unit.triage.objects import NOW, PRODUCT, Tree, job, node, pods_of, view_of


def use(*trees: Tree) -> FleetUse:
    view = view_of(trees)
    return fleet_use(fleet_load(view.store, view.jobs, NOW))


def running(name: str, gpus: int, *places: str, **spec: Any) -> list[Tree]:
    one = job(name, len(places), gpus, **spec)
    return [one, *pods_of(one, places)]


def test_what_is_scattered_would_fit_fewer_nodes() -> None:
    found = use(node("a"), node("b"), node("c"), *running("x", 2, "a", "b", "c"))
    assert (found.nodes, found.needed, found.at_least) == (3, 1, 1)
    (one,) = found.models
    assert (one.gpus, one.allocated, one.free, one.scattered) == (24, 6, 18, 18)
    assert one.gangs == ((4, 3), (2, 9), (1, 18))


def test_cpu_decides_as_well_as_gpus() -> None:
    wants = {"name": "main", "resources": {"requests": {"cpu": "40"}, "limits": {"nvidia.com/gpu": "1"}}}
    found = use(node("a"), node("b"), *running("x", 1, "a", "b", containers=[wants]))
    assert found.needed == 2


def test_a_pod_stays_on_its_kind_of_card_and_behind_its_taint() -> None:
    taint = {"key": "team", "value": "b", "effect": "NoSchedule"}
    by_card = use(
        node("a", labels={PRODUCT: "H100"}), node("b", labels={PRODUCT: "A100"}), *running("x", 1, "a", "b")
    )
    assert [one.packing for one in by_card.models] == [Packing(1, 1), Packing(1, 1)]
    tolerant = [{"key": "team", "operator": "Exists"}]
    kept = [node("a", taints=[taint]), node("b"), *running("y", 1, "b")]
    assert use(*kept, *running("x", 1, "a", tolerations=tolerant)).needed == 1
    # it is there though it does not tolerate the taint: nothing else may go there
    assert use(*kept, *running("x", 8, "a")).needed == 2


def test_members_that_keep_apart_take_a_node_each() -> None:
    mine = {"labelSelector": {"matchLabels": {"job-name": "x"}}, "topologyKey": "kubernetes.io/hostname"}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [mine]}}
    assert use(node("a"), node("b"), *running("x", 1, "a", "b", affinity=apart)).needed == 2


def test_what_waits_is_counted_apart() -> None:
    found = use(node("a"), node("b"), *running("x", 4, "a"), *running("w", 8, ""))
    (one,) = found.models
    assert one.packing == Packing(1, 1)
    assert one.with_waiting == Packing(2, 2)
    (full,) = use(node("a"), *running("x", 4, "a"), *running("w", 8, "")).models
    assert full.with_waiting is not None
    assert full.with_waiting.unplaced == 1


def test_nodes_that_take_no_pods_offer_no_gang() -> None:
    (one,) = use(node("a", unschedulable=True), node("b"), *running("x", 1, "b")).models
    assert one.gangs == ((4, 1), (2, 3), (1, 7))
    assert one.nodes == 2


def test_as_things_lie_is_never_beaten_by_a_worse_packing() -> None:
    wants = {"name": "main", "resources": {"requests": {"cpu": "600"}, "limits": {"nvidia.com/gpu": "1"}}}
    found = use(node("a"), node("b"), *running("x", 1, "a", containers=[wants]))
    assert found.needed == 1  # more CPU than there is, and yet it runs


def test_idle_gpus_are_told_by_owner_with_their_hours() -> None:
    trees = [node("a", 2), *running("x", 1, "a", "a")]
    view = view_of(trees)
    store = view.store
    assert isinstance(store, Store)
    assert fleet_use(fleet_load(store, view.jobs, NOW)).idle is None
    for seconds in (NOW - 7_200.0, NOW):
        cards = (
            Gpu(
                uuid=f"g{at}",
                node="a",
                index=at,
                duty_ratio=0.0,
                pod_namespace="team-a",
                pod_name=f"x-{at}",
                mark=Mark.SURE,
                sampled_seconds=seconds,
            )
            for at in range(2)
        )
        store.apply(Batch(kind=Kind.GPU, changed=tuple(cards)))
    (one,) = fleet_use(fleet_load(store, view.jobs, NOW)).idle or ()
    assert (one.owner, one.gpus, one.jobs) == ("team-a", 2, ("team-a/x",))
    assert one.gpu_hours == 4.0
    busy = msgspec.structs.replace(store.records(Kind.GPU)["g0"], duty_ratio=0.9)
    store.apply(Batch(kind=Kind.GPU, changed=(busy,)))
    (one,) = fleet_use(fleet_load(store, view.jobs, NOW)).idle or ()
    assert one.gpus == 1
