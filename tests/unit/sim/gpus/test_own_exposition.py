"""Our own exporter's page as the simulator prints it: the exporter's names, and read back as what is so."""

import pytest
from cockpit_exporter.families import CARD_FAMILIES, DEVICE_LABELS, HOLDER_LABELS, MIG_LABELS, PREFIX

from cockpit.kube.resource import NODES, PODS
from cockpit.model.gpu import Mark
from cockpit.sim.actors.gpus.exposition import Generation
from cockpit.sim.actors.gpus.physics import Faults
from cockpit.sim.devices import cards_of
from cockpit.telemetry import detail_names
from cockpit.telemetry.cards.round import gpus
from cockpit.telemetry.labels import NodeNames
from cockpit.telemetry.sample import parse_exposition
from tests.unit.sim.gpus.test_fleet_exposition import NOW, check, hold, node, pod, read_back, running

OURS = Generation.COCKPIT


async def test_every_family_is_one_of_the_exporters_with_its_kind_and_its_labels() -> None:
    cut = node("n1", 1)
    cut["status"]["capacity"] = {"nvidia.com/mig-3g.40gb": "1"}
    _, fleet, table, _ = await running(
        (NODES, node("n0", 2)), (NODES, cut), (PODS, pod("a")), generation=OURS
    )
    hold(table, "n0", "a", cards_of(node("n0", 2))[0].uuid)
    known = {one.name: one for one in CARD_FAMILIES.values()}
    seen = set()
    for name in ("n0", "n1"):
        page = fleet.metrics(name, NOW + 60)
        for line in page.splitlines():
            if line.startswith("# TYPE"):
                _, _, family, kind = line.split()
                assert known[family].kind == kind
        for one in parse_exposition(page, NOW):
            more = known[one.name].labels
            allowed = {*DEVICE_LABELS, *MIG_LABELS, *HOLDER_LABELS, *more}
            assert set(one.labels) <= allowed, one
            assert set(DEVICE_LABELS) | set(more) <= set(one.labels), one
            seen.add(one.name.removeprefix(PREFIX))
    assert {
        "duty_ratio",
        "holder",
        "up",
        "throttle",
        "temperature_limit_celsius",
        "engine_active_ratio",
    } <= seen


async def test_a_shared_card_has_all_its_pods_and_its_numbers_once() -> None:
    tree = node("n0", 2, **{"nvidia.com/gpu.replicas": "4"})
    _, fleet, table, _ = await running((NODES, tree), (PODS, pod("a")), (PODS, pod("b")), generation=OURS)
    uuid = cards_of(tree)[0].uuid
    hold(table, "n0", "a", f"{uuid}::0")
    hold(table, "n0", "b", f"{uuid}::1")
    at = NOW + 600
    page = fleet.metrics("n0", at)
    shared, free = (read_back(page, "n0")[index, ""] for index in (0, 1))
    assert shared.mark is Mark.SHARED
    assert (free.mark, free.pod_name) == (Mark.UNALLOCATED, "")
    assert {line.split('pod="')[1].split('"')[0] for line in page.splitlines() if "_holder{" in line} == {
        "a",
        "b",
    }
    assert sum(line.startswith(f"{PREFIX}memory_used_bytes") for line in page.splitlines()) == 2
    truth = fleet.readings("n0", at)[0]
    assert shared.memory_used_bytes == pytest.approx(truth.memory_used_bytes)
    assert shared.source == "cockpit"


async def test_instances_have_memory_and_engine_of_their_own_and_their_cards_heat() -> None:
    tree = node("n0", 1)
    tree["status"]["capacity"] = {"nvidia.com/mig-3g.40gb": "1", "nvidia.com/mig-1g.10gb": "2"}
    _, fleet, table, _ = await running((NODES, tree), (PODS, pod("a", "steady")), generation=OURS)
    slots = cards_of(tree)[0].slots
    hold(table, "n0", "a", next(slot.uuid for slot in slots if slot.profile == "3g.40gb"))
    at = NOW + 900
    found = read_back(fleet.metrics("n0", at), "n0")
    truth = fleet.readings("n0", at)
    assert len(found) == len(truth) == 3
    for one in truth:
        assert one.slot is not None
        card = found[(0, str(one.slot.instance))]
        check(one, card)
        assert card.mig_profile == one.slot.profile
        assert card.memory_total_bytes == one.memory_total_bytes


async def test_a_lost_card_says_so_and_has_no_numbers() -> None:
    _, fleet, _, _ = await running((NODES, node("n0", 2)), generation=OURS)
    fleet.break_card("n0", 1, Faults(is_lost=True, xid=79))
    page = fleet.metrics("n0", NOW)
    lost = [line for line in page.splitlines() if 'gpu="1"' in line]
    assert len(lost) == 2
    assert lost[1].startswith(f"{PREFIX}lost")
    assert lost[1].endswith(" 1")
    assert set(read_back(page, "n0")) == {(0, "")}


async def test_details_of_the_node_page_come_with_it() -> None:
    _, fleet, _, _ = await running((NODES, node("n0", 1)), generation=OURS)
    fleet.break_card("n0", 0, Faults(heat_celsius=80.0, ecc_double=2, has_remap_failed=True, xid=64))
    samples = parse_exposition(fleet.metrics("n0", NOW + 1200), NOW)
    (detail,) = detail_names.details(samples, NodeNames(nodes=frozenset({"n0"})))
    truth = fleet.readings("n0", NOW + 1200)[0]
    assert detail.slowdown_celsius == truth.model.slowdown_celsius
    assert detail.power_cap_watts == truth.model.cap_watts
    assert (detail.ecc_double, detail.remap_failed) == (2.0, 1.0)
    assert detail.throttle == int(truth.state.throttle)
    assert detail.throttle
    (card,) = gpus(samples, NodeNames(nodes=frozenset({"n0"})))
    assert card.xid == 64
