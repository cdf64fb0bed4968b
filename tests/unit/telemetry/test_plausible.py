"""What no card can have reads *implausible*: it is no number, and not *not collected* either."""

import pytest

from cockpit.model.gpu import Doubt, DoubtKind, Gpu
from cockpit.model.quantity import Absent
from cockpit.telemetry.cards.round import gpus
from cockpit.telemetry.sample import from_prometheus
from cockpit.telemetry.source import places_of
from tests.unit.telemetry.builders import COCKPIT, MIB, A, C, Row, card_a, card_b, family
from tests.unit.telemetry.small_prometheus import CLUSTER, both, truth

TEBI = 2.0**40


def one(rows: list[Row]) -> Gpu:
    (card,) = gpus(from_prometheus(rows), places_of(CLUSTER))
    return card


def changed(values: dict[str, float], word: str, value: float) -> dict[str, float]:
    """The family with another value of the names that hold this word."""
    return {name: value if word in name else of for name, of in values.items()}


CASES = {
    "a duty of 4100 %": (changed(A, "GPU_UTIL", 4_100.0), "duty_ratio", 41.0),
    "a ratio of 2.5": (changed(C, "GPU_UTIL_RATIO", 2.5), "duty_ratio", 2.5),
    "a ratio of 2.5 of our exporter": (changed(COCKPIT, "duty_ratio", 2.5), "duty_ratio", 2.5),
    "a duty below 0": (changed(A, "GPU_UTIL", -1.0), "duty_ratio", -0.01),
    "used above total": (changed(C, "FB_USED", 90_000.0 * MIB), "memory_used_bytes", 90_000.0 * MIB),
    "954 TiB": (changed(C, "CAPACITY", 954 * TEBI), "memory_total_bytes", 954 * TEBI),
    "954 TiB used": (changed(C, "FB_USED", 954 * TEBI), "memory_used_bytes", 954 * TEBI),
    "954 TiB free": (changed(A, "FB_FREE", 954 * 2.0**20), "memory_total_bytes", 954 * TEBI),
    "3,000 degrees": (changed(A, "GPU_TEMP", 3_000.0), "temperature_celsius", 3_000.0),
    "-40 degrees": (changed(A, "GPU_TEMP", -40.0), "temperature_celsius", -40.0),
    "a megawatt": (changed(A, "POWER", 1e6), "power_watts", 1e6),
    "watts below 0": (changed(A, "POWER", -7.0), "power_watts", -7.0),
    "a terahertz": (changed(A, "SM_CLOCK", 1e6), "sm_clock_hertz", 1e12),
}


@pytest.mark.parametrize("name", CASES)
async def test_what_no_card_can_have_is_implausible_by_both_ways(name: str) -> None:
    values, field, told = CASES[name]
    labels = card_b() if "CAPACITY" in " ".join(values) else card_a()
    if "cockpit_gpu_duty_ratio" in values:
        labels = {"uuid": "GPU-own", "gpu": "0", "node": "gpu-3", "pod": ""}
    rows = family(values, labels)
    card = one(rows)
    assert getattr(card, field) is Absent.IMPLAUSIBLE
    (doubt,) = card.doubts
    assert (doubt.quantity, doubt.kind) == (field, DoubtKind.IMPLAUSIBLE)
    assert doubt.told == pytest.approx(told)
    lean, whole, _, _ = await both(rows, rows)
    assert lean == whole == truth(rows)


async def test_a_code_that_is_none_is_not_collected_and_never_0() -> None:
    rows = family(changed(A, "XID", 1e12), card_a())
    lean, whole, _, _ = await both(family(A, card_a()), rows)
    assert lean == whole == truth(rows)
    (card,) = lean.values()
    assert card.xid is None
    assert card.doubts == (Doubt("xid", DoubtKind.IMPLAUSIBLE, 1e12, "dcgm A"),)


async def test_a_card_that_uses_more_than_it_has_is_found_between_whole_readings() -> None:
    later = family(changed(C, "FB_USED", 90_000.0 * MIB), card_b())
    lean, whole, _, _ = await both(family(C, card_b()), later)
    assert lean == whole == truth(later)
    (card,) = lean.values()
    assert card.memory_used_bytes is Absent.IMPLAUSIBLE
    assert card.memory_total_bytes == 81_559 * MIB


async def test_a_duty_that_becomes_implausible_costs_one_whole_reading_only() -> None:
    later = family(changed(A, "GPU_UTIL", 4_100.0), card_a())
    lean, whole, _, _ = await both(family(A, card_a()), later)
    assert lean == whole == truth(later)


def test_a_plausible_number_of_another_exporter_is_shown_before_an_implausible_one() -> None:
    own = {"uuid": "GPU-gpu-1-0", "gpu": "0", "node": "gpu-1"}
    card = one([*family(A, card_a()), *family({"cockpit_gpu_duty_ratio": 2.5}, own)])
    assert card.duty_ratio == pytest.approx(0.71)
    assert card.doubts == (Doubt("duty_ratio", DoubtKind.IMPLAUSIBLE, 2.5, "cockpit"),)


def test_zero_degrees_is_how_drivers_say_that_they_do_not_know() -> None:
    card = one(family(changed(A, "GPU_TEMP", 0.0), card_a()))
    assert card.temperature_celsius is Absent.NOT_COLLECTED
    assert card.doubts == ()


def test_one_impossible_ratio_does_not_make_percents_of_its_neighbours() -> None:
    rows = [
        *family({"DCGM_FI_DEV_GPU_UTIL_RATIO": 0.71}, card_b(0)),
        *family({"DCGM_FI_DEV_GPU_UTIL_RATIO": 7.0}, card_b(1)),
    ]
    first, second = gpus(from_prometheus(rows))
    assert first.duty_ratio == 0.71
    assert second.duty_ratio is Absent.IMPLAUSIBLE
