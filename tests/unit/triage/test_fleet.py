"""What the fleet needs, fits and wastes, from objects."""

from typing import Any

from cockpit.triage.fleet import FleetUse, fleet_load, fleet_use
from cockpit.triage.idle_jobs import IdleJobs
from cockpit.triage.packing import Packing
from tests.unit.triage import test_idle_jobs as idle
from tests.unit.triage.objects import NOW, PRODUCT, Tree, job, node, pods_of, view_of


def use(*trees: Tree) -> FleetUse:
    view = view_of(trees)
    return fleet_use(fleet_load(view.store, view.jobs, IdleJobs(), NOW))


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


def of_desk(desk: idle.Desk, now: float = idle.NOW) -> FleetUse:
    known = desk.verdicts.on_demand.idle
    return fleet_use(fleet_load(desk.cluster.store, desk.cluster.index, known, now))


async def test_gpus_of_an_idle_job_are_told_by_owner_with_their_hours() -> None:
    assert (use(node("a")).idle, use(node("a")).unsure) == (None, None), "no card is measured"
    desk = idle.Desk(idle_minutes=60)
    assert (of_desk(desk).idle, of_desk(desk).unsure) == ((), ()), "duty alone says nothing"
    await desk.read()
    (one,) = of_desk(desk).idle or ()
    assert (one.owner, one.gpus, one.jobs, one.gpu_hours) == ("team-a", 2, ("team-a/llm",), 2.0)
    assert of_desk(desk).unsure == () and of_desk(desk).idle_gpu_hours == 2.0
    desk.sample(idle.NOW + 5, 0.9)
    assert of_desk(desk, idle.NOW + 5).idle == (), "it works again"


async def test_gpus_at_rest_of_which_nobody_can_say_are_not_called_idle() -> None:
    desk = idle.Desk(seen_minutes=40)
    desk.without = ("disk",)
    await desk.read()
    assert of_desk(desk).idle == ()
    (one,) = of_desk(desk).unsure or ()
    assert (one.gpus, one.jobs, round(one.gpu_hours, 2)) == (2, ("team-a/llm",), 1.33)


async def test_gpus_of_a_job_that_reads_data_are_not_told() -> None:
    desk = idle.Desk(idle_minutes=20, seen_minutes=40)
    await desk.read()
    assert (of_desk(desk).idle, of_desk(desk).unsure) == ((), ())
