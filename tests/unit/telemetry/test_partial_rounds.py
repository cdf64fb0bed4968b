"""A large fleet is read again at a fraction of the cost, and nothing reads differently for it."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from cockpit.model.quantity import Absent
from cockpit.telemetry.cards.register import Register
from cockpit.telemetry.partial_rounds import WHOLE_SECONDS
from cockpit.telemetry.rows import samples, vector
from cockpit.telemetry.sample import from_prometheus
from cockpit.telemetry.source import PrometheusSource
from tests.unit.telemetry.builders import COCKPIT, NOW, A, C, Row, card_a, card_b, family
from tests.unit.telemetry.small_prometheus import CLUSTER, SmallPrometheus, both, read, truth


def moved(values: Mapping[str, float], by: float) -> dict[str, float]:
    """The same families some seconds later; what stands still stands still."""
    still = ("RESERVED", "FREE", "CAPACITY", "total", "XID", "xid", "reserved", "free")
    return {
        name: value if any(word in name for word in still) else value * by for name, value in values.items()
    }


async def test_a_lean_round_reads_what_a_whole_one_reads() -> None:
    def rows(by: float, holder: str) -> list[Row]:
        a = family(
            {**moved(A, by), "DCGM_FI_DEV_FB_FREE": 81_000 - 40_000 * by}, card_a(0, "gpu-1", pod=holder)
        )
        b = family(moved(C, by), card_b(0, "gpu-2", exported_pod="q", exported_namespace="team-a"))
        own = {"uuid": "GPU-own", "gpu": "0", "node": "gpu-3", "model": "H100", "pod": "", "namespace": ""}
        reasons = [
            *family({"cockpit_gpu_throttle": 1.0}, {**own, "reason": "hw_thermal"}),
            *family({"cockpit_gpu_throttle": 0.0}, {**own, "reason": "hw_slowdown"}),
        ]
        return [*a, *b, *family(moved(COCKPIT, by), own), *reasons]

    lean, whole, asked_lean, asked_whole = await both(rows(1.0, "p"), rows(0.5, "other"))
    assert lean == whole
    assert asked_lean < asked_whole
    assert lean["GPU-gpu-1-0"].pod_name == "other"  # who holds it is never taken from before
    assert lean["GPU-gpu-1-0"].duty_ratio == pytest.approx(0.355)
    assert lean["GPU-gpu-2-0"].xid == 0
    assert lean["GPU-own"].throttle


async def test_a_card_that_was_not_known_ends_the_time_of_a_whole_reading() -> None:
    asked = SmallPrometheus(family(A, card_a(0)))
    source = PrometheusSource(asked, many_cards=0)
    await read(source)
    asked.rows = [*asked.rows, *family(A, card_a(1))]
    found = await read(source)
    assert found["GPU-gpu-1-1"].memory_total_bytes == found["GPU-gpu-1-0"].memory_total_bytes
    assert not isinstance(found["GPU-gpu-1-1"].memory_total_bytes, Absent)


async def test_a_card_that_lost_its_duty_is_read_whole() -> None:
    asked = SmallPrometheus(family(A, card_a(0)))
    source = PrometheusSource(asked, many_cards=0)
    await read(source)
    without = {name: value for name, value in A.items() if "UTIL" not in name}
    asked.rows = family({**without, "DCGM_FI_PROF_GR_ENGINE_ACTIVE": 0.4}, card_a(0))
    assert (await read(source))["GPU-gpu-1-0"].duty_ratio == 0.4


async def test_a_whole_reading_has_its_time_and_the_xid_is_seen_at_once() -> None:
    asked = SmallPrometheus(family(A, card_a(0)))
    source = PrometheusSource(asked, many_cards=0)
    await read(source)
    whole = len(asked.asked)
    asked.rows = family({**A, "DCGM_FI_DEV_XID_ERRORS": 79.0}, card_a(0))
    asked.asked.clear()
    assert (await read(source))["GPU-gpu-1-0"].xid == 79
    assert len(asked.asked) < whole
    asked.now_seconds += WHOLE_SECONDS
    asked.asked.clear()
    await read(source)
    assert len(asked.asked) == whole


def sick(*missing: str) -> list[Row]:
    """A card that works, and one of which some quantities cannot be read."""
    left = {name: value for name, value in A.items() if not any(word in name for word in missing)}
    return family(left, card_a(0)) + family(A, card_a(1))


async def test_a_card_whose_memory_cannot_be_read_costs_one_more_quantity_with_labels() -> None:
    asked = SmallPrometheus(sick("FB_USED"))
    source = PrometheusSource(asked, many_cards=0)
    assert await read(source) == truth(asked.rows)
    asked.asked.clear()
    assert await read(source) == truth(asked.rows)
    labelled = [query for query in asked.asked if query.startswith("{")]
    assert len(labelled) == 2
    assert any("max by" in query and "GPU_(UTIL" in query for query in asked.asked)
    asked.now_seconds += WHOLE_SECONDS
    asked.rows = family(A, card_a(0)) + family(A, card_a(1))
    assert await read(source) == truth(asked.rows)
    asked.asked.clear()
    await read(source)
    assert len([query for query in asked.asked if query.startswith("{")]) == 1


async def test_a_card_that_falls_sick_between_two_whole_readings_is_read_as_it_is() -> None:
    asked = SmallPrometheus(sick())
    source = PrometheusSource(asked, many_cards=0)
    await read(source)
    asked.rows = sick("FB_USED")
    assert await read(source) == truth(asked.rows)
    asked.rows = sick("FB_USED", "TEMP")
    assert await read(source) == truth(asked.rows)


async def test_a_fleet_with_a_card_that_tells_too_little_is_read_with_all_labels_every_time() -> None:
    asked = SmallPrometheus(sick("FB_USED", "TEMP"))
    source = PrometheusSource(asked, many_cards=0)
    first = await read(source)
    assert {card.index for card in first.values()} == {0, 1}
    asked.asked.clear()
    assert await read(source) == first == truth(asked.rows)
    assert not any("max by" in query and "timestamp" not in query for query in asked.asked)


async def test_a_card_that_fell_silent_is_missing_from_a_lean_round() -> None:
    lean, whole, _, _ = await both(family(A, card_a(0)) + family(A, card_a(1)), family(A, card_a(1)))
    assert set(lean) == set(whole) == {"GPU-gpu-1-1"}


def own_mig(pod: str, engine: float) -> list[Row]:
    """A card cut in two as our own exporter tells of it: heat once, memory and engine of each instance."""
    card = {"uuid": "GPU-cut", "gpu": "4", "node": "gpu-3", "model": "H100"}
    rows = family(
        {
            "cockpit_gpu_temperature_celsius": 51.0,
            "cockpit_gpu_power_watts": 300.0,
            "cockpit_gpu_sm_clock_hertz": 1.4e9,
            "cockpit_gpu_xid": 0.0,
        },
        card,
    )
    for instance in ("1", "2"):
        held = {"pod": pod if instance == "1" else "", "namespace": "team-a", "container": "c"}
        labels = {**card, "mig_instance": instance, "mig_profile": "3g.40gb", **held}
        rows += family(
            {
                "cockpit_gpu_memory_used_bytes": 2e10,
                "cockpit_gpu_memory_total_bytes": 4e10,
                "cockpit_gpu_engine_active_ratio": engine,
            },
            labels,
        )
        if held["pod"]:
            rows += family({"cockpit_gpu_holder": 1.0}, {**labels, "source": "kubelet"})
    return rows


async def test_instances_of_our_own_exporter_keep_number_profile_and_pod_in_a_lean_round() -> None:
    lean, _, asked_lean, asked_whole = await both(own_mig("p", 0.5), own_mig("q", 0.25))
    assert lean == truth(own_mig("q", 0.25))
    assert asked_lean < asked_whole
    one = lean["GPU-cut/1"]
    assert (one.index, one.mig_profile, one.pod_name, one.duty_ratio) == (4, "3g.40gb", "q", 0.25)
    assert one.temperature_celsius == 51.0


def ordinary(by: float, pod: str) -> list[Row]:
    """Exporters that name hosts: two cards of A, one of C, which speaks ratios, and a cut one of ours."""
    of_a = {**moved(A, by), "DCGM_FI_DEV_FB_FREE": 81_000 - 40_000 * by}
    a = [family(of_a, card_a(index, "gpu-1", pod=pod, namespace="n")) for index in (0, 1)]
    c = family({**C, "DCGM_FI_DEV_GPU_UTIL_RATIO": by}, card_b(0, "gpu-2", pod="", namespace=""))
    return [*a[0], *a[1], *c, *own_mig(pod, by)]


async def test_series_that_were_met_are_not_taken_apart_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = SmallPrometheus(ordinary(1.0, "p"))
    source = PrometheusSource(asked, many_cards=0)
    await read(source)
    await read(source)
    taken: list[Any] = []
    monkeypatch.setattr(Register, "number_of", lambda _, labels: taken.append(labels))
    asked.rows = [{**one, "value": [NOW, one["value"][1]]} for one in ordinary(0.5, "p")]
    assert await read(source) == truth(asked.rows)
    assert taken == []


async def test_pods_that_come_and_go_leave_nothing_behind() -> None:
    asked = SmallPrometheus(ordinary(1.0, "p"))
    source = PrometheusSource(asked, many_cards=0)
    await read(source)
    sizes = []
    for number in range(1_500):
        asked.rows = ordinary(1.0, f"p{number}")
        cards, _ = await source.read(CLUSTER, (), 0)
        sizes.append(len(source._fleet._register.series))
    assert {card.uuid: card for card in cards} == truth(asked.rows)
    assert max(sizes) < 1_200


@pytest.mark.parametrize("odd", ["NaN", "+Inf", "9223372036854775807", "2147483632"])
async def test_a_value_that_is_none_is_no_number_in_a_lean_round_either(odd: str) -> None:
    def rows(power: str) -> list[Row]:
        found = family(A, card_a(0))
        for one in found:
            if "POWER" in one["metric"]["__name__"]:
                one["value"] = [NOW, power]
        return found

    lean, _, _, _ = await both(rows("90"), rows(odd))
    assert lean == truth(rows(odd))
    assert lean["GPU-gpu-1-0"].power_watts is Absent.NOT_COLLECTED


async def test_rows_of_another_shape_are_left_out() -> None:
    asked = SmallPrometheus(family(A, card_a(0)))
    body = msgspec.json.encode({"data": {"result": [{"odd": 1}, *asked.rows, 7, {"metric": {}}]}})
    found = vector(body)
    assert samples(found.rows) == from_prometheus(asked.rows)
    assert found.odd == 3


TILE = {"uuid": "X", "dev_name": "Max", "node": "gpu-1"}
TILES = [
    *family({"xpum_memory_used_bytes": 1e9}, {**TILE, "sub_dev": "0"}),
    *family({"xpum_memory_used_bytes": 2e9}, {**TILE, "sub_dev": "1"}),
]
AMD = {"serial_number": "S", "gpu_id": "0", "node": "gpu-2"}
CLOCKS = [
    *family({"gpu_used_vram": 8_000.0, "gpu_gfx_activity": 50.0}, AMD),
    *family({"gpu_clock": 1_700.0}, {**AMD, "clock_type": "system"}),
    *family({"gpu_clock": 900.0}, {**AMD, "clock_type": "memory"}),
]


@pytest.mark.parametrize("rows", [TILES, CLOCKS], ids=["tiles", "clocks of AMD"])
async def test_sensors_and_tiles_are_read_alike_in_every_way(rows: list[Row]) -> None:
    for _ in range(2):
        lean, whole, _, _ = await both(rows, rows)
        assert lean == whole == truth(rows)
