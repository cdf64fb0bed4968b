"""The fleet: what the exporter's page says, read back by the cockpit's telemetry, is what the cards do."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from cockpit.clock import ManualClock
from cockpit.kube.resource import NODES, PODS, Resource
from cockpit.model.gpu import Gpu
from cockpit.model.quantity import Absent
from cockpit.sim.actors.gpus.exposition import CardReading, Generation
from cockpit.sim.actors.gpus.fleet import GpuFleet, slot_share
from cockpit.sim.actors.gpus.physics import Faults
from cockpit.sim.actors.kubelet.devices import ContainerDevices as Held
from cockpit.sim.devices import Slot, cards_of
from cockpit.sim.engine import ActorEngine
from cockpit.sim.port import ChangeType, ObjectChange, Sink, Tree
from cockpit.sim.times import rfc3339
from cockpit.telemetry.cards.round import gpus
from cockpit.telemetry.labels import NodeNames
from cockpit.telemetry.sample import parse_exposition

NOW = ManualClock().now()


class Table:
    """Which container holds which devices, as the test says."""

    def __init__(self) -> None:
        self.held: dict[str, list[Held]] = {}

    def holders(self, node: str) -> Sequence[Held]:
        return self.held.get(node, [])


class _Feed:
    """A port that only follows."""

    def __init__(self, trees: Sequence[tuple[Resource, Tree]]) -> None:
        self.trees = trees
        self.sinks: dict[Resource, Sink] = {}

    async def follow(self, resource: Resource, sink: Sink) -> None:
        self.sinks[resource] = sink
        for own, tree in self.trees:
            if own == resource:
                sink(ObjectChange(ChangeType.ADDED, resource, tree))


def node(name: str, count: int, product: str = "NVIDIA-H100-80GB-HBM3", **labels: str) -> Tree:
    own = {"nvidia.com/gpu.product": product, "nvidia.com/gpu.count": str(count), **labels}
    return {"metadata": {"name": name, "labels": own}, "status": {"capacity": {"nvidia.com/gpu": str(count)}}}


def pod(name: str, load: str = "training") -> Tree:
    return {
        "metadata": {
            "namespace": "team", "name": name, "uid": f"uid-{name}",
            "annotations": {"cockpit.dev/gpu-load": load},
        },
        "status": {"phase": "Running", "startTime": rfc3339(NOW - 3600)},
    }  # fmt: skip


async def running(
    *trees: tuple[Resource, Tree], generation: Generation = Generation.A
) -> tuple[ActorEngine, GpuFleet, Table, _Feed]:
    table = Table()
    fleet = GpuFleet(table, lambda _: generation)
    feed = _Feed(trees)
    port: Any = feed
    engine = ActorEngine(port, ManualClock(), Random(1), [fleet])
    await engine.start()
    return engine, fleet, table, feed


def hold(table: Table, on: str, name: str, *devices: str) -> None:
    table.held.setdefault(on, []).append(Held("team", name, f"uid-{name}", "main", "nvidia.com/gpu", devices))


def read_back(page: str, on: str) -> dict[tuple[int | None, str], Gpu]:
    places = NodeNames(nodes=frozenset({on}), node_by_ip={}, pod_node={})
    found = gpus(parse_exposition(page, NOW), places)
    return {(card.index, card.uuid.partition("/")[2]): card for card in found}


def check(one: CardReading, card: Gpu) -> None:
    """What the cockpit reads is the ground truth, as far as the exporter's own rounding lets it."""
    assert card.temperature_celsius == round(one.state.temperature_celsius)
    assert card.power_watts == pytest.approx(one.state.power_watts)
    assert not isinstance(card.memory_used_bytes, Absent)
    assert abs(card.memory_used_bytes - one.memory_used_bytes) < 2**20
    assert not isinstance(card.duty_ratio, Absent)
    expected = one.state.duty_ratio if one.slot is None else one.engine_ratio
    assert card.duty_ratio == pytest.approx(expected, abs=0.0051)
    assert card.pod_name == (one.holder.pod if one.holder else "")


@pytest.mark.parametrize("generation", list(Generation))
async def test_what_is_printed_in_each_generation_reads_back_as_what_the_cards_do(
    generation: Generation,
) -> None:
    tree = node("n0", 4)
    engine, fleet, table, _ = await running(
        (NODES, tree), (PODS, pod("a")), (PODS, pod("b", "data-starved")), generation=generation
    )
    cards = cards_of(tree)
    hold(table, "n0", "a", cards[0].uuid, cards[2].uuid)
    hold(table, "n0", "b", cards[1].uuid)
    for seconds in (0, 30, 600):
        at = engine.now() + seconds
        truth = fleet.readings("n0", at)
        found = read_back(fleet.metrics("n0", at), "n0")
        assert len(found) == len(truth) == 4
        for one in truth:
            check(one, found[(one.card.index, "")])
    assert {one.holder.pod if one.holder else "" for one in truth} == {"a", "b", ""}
    assert truth[3].state.duty_ratio == 0.0
    assert truth[0].state.duty_ratio > 0.0


async def test_mig_instances_have_their_own_engine_and_memory_and_their_cards_heat() -> None:
    tree = node("n0", 1)
    tree["status"]["capacity"] = {"nvidia.com/mig-3g.40gb": "1", "nvidia.com/mig-1g.10gb": "2"}
    engine, fleet, table, _ = await running((NODES, tree), (PODS, pod("a", "steady")))
    slots = cards_of(tree)[0].slots
    hold(table, "n0", "a", next(slot.uuid for slot in slots if slot.profile == "3g.40gb"))
    at = engine.now() + 900
    truth = fleet.readings("n0", at)
    assert [one.slot.profile for one in truth if one.slot] == ["1g.10gb", "1g.10gb", "3g.40gb"]
    assert [one.engine_ratio for one in truth] == [0.0, 0.0, 1.0]
    assert truth[0].state.duty_ratio == pytest.approx(3 / 7)
    page = fleet.metrics("n0", at)
    assert "DCGM_FI_DEV_GPU_UTIL{" not in page
    found = read_back(page, "n0")
    assert len(found) == 3
    for one in truth:
        assert one.slot is not None
        check(one, found[(0, str(one.slot.instance))])


async def test_a_shared_card_names_one_pod_and_holds_the_memory_of_both() -> None:
    tree = node("n0", 1, **{"nvidia.com/gpu.replicas": "2"})
    engine, fleet, table, _ = await running(
        (NODES, tree), (PODS, pod("a", "notebook")), (PODS, pod("b", "idle"))
    )
    uuid = cards_of(tree)[0].uuid
    hold(table, "n0", "a", f"{uuid}::0")
    alone = fleet.readings("n0", engine.now())[0].memory_used_bytes
    hold(table, "n0", "b", f"{uuid}::1")
    both = fleet.readings("n0", engine.now())[0]
    assert both.memory_used_bytes > alone > 0
    assert both.holder is not None
    assert both.holder.pod == "b"


async def test_a_lost_card_is_silent_and_an_xid_stays_written() -> None:
    tree = node("n0", 3)
    engine, fleet, _, _ = await running((NODES, tree))
    fleet.break_card("n0", 1, Faults(is_lost=True, xid=79))
    fleet.break_card("n0", 2, Faults(xid=48, ecc_double=1))
    page = fleet.metrics("n0", engine.now())
    assert 'gpu="1"' not in page
    found = read_back(page, "n0")
    assert sorted(index for index, _ in found if index is not None) == [0, 2]
    assert (found[(0, "")].xid, found[(2, "")].xid) == (0, 48)
    with pytest.raises(KeyError):
        fleet.break_card("n0", 9, Faults())


async def test_a_pod_that_ends_frees_its_cards_and_a_node_that_goes_takes_them_along() -> None:
    tree = node("n0", 1)
    engine, fleet, table, feed = await running((NODES, tree), (PODS, pod("a", "steady")))
    hold(table, "n0", "a", cards_of(tree)[0].uuid)
    assert fleet.readings("n0", engine.now() + 60)[0].state.duty_ratio == 1.0
    ended = pod("a")
    ended["status"]["phase"] = "Succeeded"
    feed.sinks[PODS](ObjectChange(ChangeType.MODIFIED, PODS, ended))
    await engine.advance(0)
    assert fleet.readings("n0", engine.now() + 120)[0].state.duty_ratio == 0.0
    feed.sinks[NODES](ObjectChange(ChangeType.DELETED, NODES, tree))
    await engine.advance(0)
    assert fleet.nodes() == []
    with pytest.raises(KeyError):
        fleet.readings("n0", engine.now())


def test_slot_shares() -> None:
    assert slot_share(Slot(1, "7g.80gb", "x")) == 1.0
    assert slot_share(Slot(1, "2g.20gb", "x")) == pytest.approx(2 / 7)
    assert slot_share(Slot(1, "odd", "x")) == pytest.approx(1 / 7)
