"""What the cockpit shows equals what the simulated GPUs truly do, at the time of the sample."""

from random import Random

import pytest

from cockpit.model.gpu import Mark
from cockpit.model.quantity import Absent
from cockpit.model.record import Kind
from cockpit.sim.cluster import EmbeddedCluster
from cockpit.sim.scenarios.loading import find, load
from cockpit.views.fleet import fleet
from tests.unit.telemetry.embedded_truth import Watched, uuid_of, wrong

CHOICES = 200
ROUNDS = 20


@pytest.mark.parametrize(("scenario", "seed"), [("default", 5), ("shared-and-mig", 6)])
async def test_200_seeded_choices_are_true(scenario: str, seed: int) -> None:
    cluster = EmbeddedCluster.stepped(load(find(scenario)), seed)
    watched, random = Watched(cluster), Random(seed)
    await cluster.engine.start()
    await cluster.engine.advance(30.0)
    mistakes: list[str] = []
    marks: set[Mark] = set()
    checked = 0
    for _ in range(ROUNDS):
        await cluster.engine.advance(10.0)
        await watched.look()
        cells = watched.cells()
        for node, one in watched.truth(random, CHOICES // ROUNDS):
            mistakes += wrong(watched, cells, node, one)
            card = watched.store.get(Kind.GPU, uuid_of(one))
            if card is not None:
                marks.add(card.mark)
            checked += 1
    assert mistakes == []
    assert checked == CHOICES
    assert {Mark.SURE, Mark.SHARED, Mark.UNALLOCATED} <= marks, "the choices met every kind of holding"
    assert Mark.GUESSED not in marks


async def test_the_header_counts_the_cards_that_are_there() -> None:
    cluster = EmbeddedCluster.stepped(load(find("shared-and-mig")), 1)
    watched = Watched(cluster)
    await cluster.engine.start()
    await cluster.engine.advance(200.0)
    await watched.look()
    found = fleet(watched.store)
    assert found.gpus == 2 + 4 + 2
    now = cluster.clock.now()
    true = [one for node in cluster.fleet.nodes() for one in cluster.fleet.readings(node, now)]
    assert found.shares == sum(one.slot is not None for one in true) + sum(
        one.card.replicas for one in true if one.card.replicas > 1
    )
    held = {
        device
        for node in cluster.fleet.nodes()
        for one in cluster.kubelets.devices.holders(node)
        for device in one.device_ids
        if "::" in device or device.startswith("MIG-")
    }
    assert found.shares_allocated == len(held)


async def test_a_silent_exporter_turns_stale_and_never_zero() -> None:
    cluster = EmbeddedCluster.stepped(load(find("shared-and-mig")), 2)
    watched = Watched(cluster)
    await cluster.engine.start()
    await cluster.engine.advance(60.0)
    await watched.look()
    silent = cluster.fleet.nodes()[::2]
    for node in silent:
        cluster.silence(node, is_silent=True)
    await cluster.engine.advance(100.0)
    await watched.look()
    for card in watched.store.records(Kind.GPU).values():
        is_stale = {card.duty_ratio, card.power_watts, card.temperature_celsius} == {Absent.STALE}
        assert is_stale == (card.node in silent)
    status = watched.store.status(Kind.GPU)
    assert status is not None
    assert status.message.startswith(f"{len(silent)} of ")
