"""A large fleet is read again at a fraction of the cost, and nothing reads differently for it."""

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.model.gpu import Gpu, Mark
from cockpit.model.quantity import Absent
from cockpit.telemetry.lean import WHOLE_SECONDS
from cockpit.telemetry.names import SAMPLED_AT
from cockpit.telemetry.normalise import ages, gpus
from cockpit.telemetry.promql import PROBE
from cockpit.telemetry.register import Register
from cockpit.telemetry.rows import Row as RowOfBytes
from cockpit.telemetry.rows import answer, samples
from cockpit.telemetry.sample import from_prometheus
from cockpit.telemetry.source import LAG_SECONDS, PrometheusSource, places_of
from tests.unit.telemetry.builders import COCKPIT, NOW, A, C, Row, SmallCluster, card_a, card_b, family, node

T = TypeVar("T")


class SmallPrometheus:
    """Evaluates the queries that the source asks, as the real one does."""

    who = "Prometheus at test"

    def __init__(self, rows: list[Row] = []) -> None:  # noqa: B006 - never changed
        self.rows = rows
        self.now_seconds = NOW + LAG_SECONDS
        self.sampled_seconds = NOW - 7.0
        self.asked: list[str] = []
        self.bytes = 0

    async def query(self, promql: str, at_seconds: float | None = None) -> list[Any]:
        if promql == PROBE:
            return [{"metric": {}, "value": [self.now_seconds, "1"]}]
        self.asked.append(promql)
        found = [msgspec.json.decode(msgspec.json.encode(one)) for one in self._rows(promql)]
        self.bytes += len(msgspec.json.encode(found))
        return found

    async def series(self, promql: str, at_seconds: float | None = None) -> list[RowOfBytes]:
        body = msgspec.json.encode({"data": {"result": await self.query(promql, at_seconds)}})
        found: list[RowOfBytes] = answer(body)["data"]["result"]
        return found

    def _rows(self, promql: str) -> list[Row]:
        if " == 1" in promql:
            reasons = re.findall(r'(\w+){reason=~"([^"]*)"', promql)
            return [
                one
                for name, pattern in reasons
                for one in self._named(name)
                if re.fullmatch(pattern, one["metric"].get("reason", "")) and float(one["value"][1]) == 1
            ]
        if "timestamp(" in promql:
            times = [one for name in re.findall(r"timestamp\((\w+)\)", promql) for one in self._named(name)]
            return _by(promql, [{**one, "value": [NOW, str(self.sampled_seconds)]} for one in times])
        match = re.search(r'__name__=~"([^"]*)"', promql)
        assert match is not None
        rows = self._named(match[1])
        if promql.startswith("max by"):
            rows = _by(promql, rows)
        return [one for one in rows if float(one["value"][1]) != 0] if promql.endswith("!= 0") else rows

    def _named(self, pattern: str) -> list[Row]:
        return [one for one in self.rows if re.fullmatch(pattern, one["metric"]["__name__"])]

    async def query_range(
        self, promql: str, start_seconds: float, end_seconds: float, step_seconds: int
    ) -> list[Any]:
        return []

    async def apart(self, work: Callable[[], T]) -> T:
        return work()

    def close(self) -> None:
        """Nothing to let go of."""


def _by(promql: str, rows: list[Row]) -> list[Row]:
    """`max by (...)`: labels that are not named go, the largest of equals stays."""
    match = re.match(r"max by \(([^)]*)\)", promql)
    assert match is not None
    labels = [one.strip() for one in match[1].split(",")]
    found: dict[tuple[tuple[str, str], ...], Row] = {}
    for row in rows:
        kept = {name: row["metric"][name] for name in labels if row["metric"].get(name)}
        key = tuple(sorted(kept.items()))
        old = found.get(key)
        if old is None or float(old["value"][1]) < float(row["value"][1]):
            found[key] = {"metric": kept, "value": row["value"]}
    return list(found.values())


NAMES = ("gpu-1", "gpu-2", "gpu-3")
CLUSTER = SmallCluster([node(name) for name in NAMES])


async def read(source: PrometheusSource) -> dict[str, Gpu]:
    return {card.uuid: card for card in (await source.read(CLUSTER, (), 0))[0]}


async def both(rows: list[Row], later: list[Row]) -> tuple[dict[str, Gpu], dict[str, Gpu], int, int]:
    """What a lean round and a whole one make of the later rows, and how many queries each asked."""
    asked = SmallPrometheus(rows)
    source = PrometheusSource(asked, many_cards=0)
    await read(source)
    asked.rows = later
    asked.asked.clear()
    lean = await read(source)
    count = len(asked.asked)
    fresh = SmallPrometheus(later)
    whole = await read(PrometheusSource(fresh, many_cards=0))
    return lean, whole, count, len(fresh.asked)


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
    assert any("max by" in query and "GPU_UTIL" in query for query in asked.asked)
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


def truth(rows: list[Row]) -> dict[str, Gpu]:
    """What all labels of all series say, by the slow way."""
    times = [one for one in rows if one["metric"]["__name__"] in SAMPLED_AT]
    stamps = [{**one, "value": [NOW, str(NOW - 7.0)]} for one in times]
    places = places_of(CLUSTER)
    cards = gpus(from_prometheus(rows), places, ages(from_prometheus(stamps), places))
    return {card.uuid: card for card in cards}


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
        sizes.append(len(source._fleet._register.notes))
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
    found = answer(body)["data"]["result"]
    assert samples(found) == from_prometheus(asked.rows)


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
async def test_what_the_quick_way_does_not_know_goes_the_slow_one(rows: list[Row]) -> None:
    for _ in range(2):
        lean, whole, _, _ = await both(rows, rows)
        assert lean == whole == truth(rows)


SOURCES = {"A": (A, card_a), "B": (A, card_b), "C": (C, card_b)}


@st.composite
def fleets(draw: st.DrawFn) -> tuple[list[Row], list[Row]]:
    """Two readings of the same cards: generations, cloned UUIDs, MIG, hosts that name no node, sharing."""
    first: list[Row] = []
    later: list[Row] = []
    for name in NAMES:
        values, labels_of = SOURCES[draw(st.sampled_from(sorted(SOURCES)))]
        is_hidden = draw(st.booleans())  # an exporter without NODE_NAME tells its own pod
        for index in range(draw(st.integers(0, 2))):
            labels = labels_of(index, name)
            host = "hostname" if "hostname" in labels else "Hostname"
            if draw(st.booleans()):
                labels["UUID"] = f"GPU-clone-{index}"
            if is_hidden:
                labels |= {host: "dcgm-x7", "instance": f"{name}:9400"}
            if draw(st.booleans()):
                labels |= {"GPU_I_ID": "3", "GPU_I_PROFILE": "1g.10gb"}
            for reading in (first, later):
                of = {**values, "DCGM_FI_PROF_GR_ENGINE_ACTIVE": draw(st.sampled_from([0.0, 0.25, 1.0]))}
                for duty in ("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_GPU_UTIL_RATIO"):
                    if duty in of:
                        of[duty] = draw(st.sampled_from([0.0, 0.5, 1.0]))
                for pod in draw(
                    st.lists(st.sampled_from(["", "p", "q"]), min_size=1, max_size=2, unique=True)
                ):
                    holder = {"exported_pod": pod, "exported_namespace": "team-a"}
                    reading.extend(family(of, {**labels, **holder}))
    return first, later


@settings(deadline=None, max_examples=150)
@given(fleets())
def test_lean_and_whole_agree_on_any_fleet(rows: tuple[list[Row], list[Row]]) -> None:
    lean, whole, _, _ = asyncio.run(both(*rows))
    assert lean == whole == truth(rows[1])
    assert all(card.sampled_seconds == NOW - 7.0 for card in lean.values())
    assert {card.mark for card in lean.values()} <= set(Mark)
