"""Every generation, every trap: the same card comes out."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.model.gpu import Gpu, Mark
from cockpit.model.quantity import Absent
from cockpit.telemetry.cards.round import gpus
from cockpit.telemetry.cards.stamps import stamps_of
from cockpit.telemetry.cards.units import scaled
from cockpit.telemetry.labels import NodeNames
from cockpit.telemetry.sample import from_prometheus, parse_exposition
from tests.unit.telemetry.builders import ARENA, COCKPIT, MIB, NOW, A, C, Row, card_a, card_b, family, row


def cards(rows: list[Row], places: NodeNames | None = None) -> list[Gpu]:
    return gpus(from_prometheus(rows), places)


@pytest.mark.parametrize("percent", range(101))
def test_percent_are_exact_ratios(percent: int) -> None:
    assert scaled(float(percent), 0.01) == percent / 100


def one(rows: list[Row], places: NodeNames | None = None) -> Gpu:
    found = cards(rows, places)
    assert len(found) == 1
    return found[0]


GENERATIONS = {
    "dcgm A": family(A, card_a(pod="llm-0", namespace="team-a", container="main")),
    "dcgm B": family(A, card_b(pod="llm-0", namespace="team-a", container="main")),
    "dcgm C": family(C, card_b(pod="llm-0", namespace="team-a", container="main")),
    "cockpit": family(
        COCKPIT,
        {
            "uuid": "GPU-gpu-1-0",
            "index": "0",
            "node": "gpu-1",
            "model": "NVIDIA A100-SXM4-80GB",
            "exported_pod": "llm-0",
            "exported_namespace": "team-a",
            "exported_container": "main",
        },
    ),
    "arena": family(
        ARENA,
        {
            "uuid": "GPU-gpu-1-0",
            "minor_number": "0",
            "node_name": "gpu-1",
            "model": "NVIDIA A100-SXM4-80GB",
            "pod_name": "llm-0",
            "namespace_name": "team-a",
            "container_name": "main",
        },
    ),
}


@pytest.mark.parametrize("generation", GENERATIONS)
def test_every_generation_gives_the_same_card(generation: str) -> None:
    card = one(GENERATIONS[generation])
    assert card.source == generation
    assert (card.uuid, card.node, card.index) == ("GPU-gpu-1-0", "gpu-1", 0)
    assert card.model == "NVIDIA-A100-SXM4-80GB"
    assert card.duty_ratio == pytest.approx(0.71)
    assert card.memory_used_bytes == 40_000 * MIB
    assert card.memory_total_bytes == 81_559 * MIB
    assert card.temperature_celsius == 64.0
    assert card.power_watts == pytest.approx(412.5)
    assert (card.pod_namespace, card.pod_name, card.container) == ("team-a", "llm-0", "main")
    assert card.mark is Mark.GUESSED  # labels alone never make it sure
    assert card.sampled_seconds == NOW
    if generation == "arena":  # the family has neither clock nor XID
        assert card.sm_clock_hertz is Absent.NOT_COLLECTED
        assert card.xid is None
    else:
        assert card.sm_clock_hertz == pytest.approx(1.41e9)
        assert card.xid == 0


def test_exported_labels_win_over_the_exporters_own_pod() -> None:
    labels = card_a(
        pod="nvidia-dcgm-exporter-x7k2p",
        namespace="gpu-operator",
        container="nvidia-dcgm-exporter",
        exported_pod="llm-0",
        exported_namespace="team-a",
        exported_container="main",
    )
    card = one(family(A, labels))
    assert (card.pod_namespace, card.pod_name) == ("team-a", "llm-0")


@pytest.mark.parametrize(
    ("labels", "mark"),
    [
        (
            card_a(exported_pod="", exported_namespace="", pod="dcgm-exporter-1", namespace="mon"),
            Mark.UNALLOCATED,
        ),
        (card_a(pod="", namespace="", container=""), Mark.UNALLOCATED),
        (card_a(pod="dcgm-exporter-1", namespace="mon", container="exporter"), Mark.NOT_COLLECTED),
        (card_a(), Mark.NOT_COLLECTED),
    ],
    ids=["exported and empty", "empty", "only the exporter's pod", "no labels at all"],
)
def test_nobody_on_the_card(labels: dict[str, str], mark: Mark) -> None:
    card = one(family(A, labels))
    assert card.mark is mark
    assert card.pod_name == ""


def test_missing_labels_mean_free_where_the_exporter_names_pods_of_other_cards() -> None:
    first, second = cards(family(A, card_a(0, pod="llm-0", namespace="team-a")) + family(A, card_a(1)))
    assert first.mark is Mark.GUESSED
    assert second.mark is Mark.UNALLOCATED


def test_a_card_repeated_for_each_pod_is_one_shared_card() -> None:
    rows = family(A, card_a(pod="b", namespace="t")) + family(A, card_a(pod="a", namespace="t"))
    card = one(rows)
    assert card.mark is Mark.SHARED
    assert card.pod_name == "a"
    assert card.memory_used_bytes == 40_000 * MIB  # not twice


def test_two_prometheus_replicas_and_two_exporters_are_one_card() -> None:
    rows = [
        *family(A, card_a(replica="0")),
        *family(A, card_a(replica="1")),
        *family(C, card_b()),
    ]
    card = one(rows)
    assert card.source == "dcgm C"


def test_the_newer_sample_wins() -> None:
    rows = [
        row("DCGM_FI_DEV_GPU_UTIL", card_a(pod="old", namespace="t"), 90, NOW - 30),
        row("DCGM_FI_DEV_GPU_UTIL", card_a(pod="old", namespace="t"), 10, NOW),
    ]
    assert one(rows).duty_ratio == pytest.approx(0.10)


@pytest.mark.parametrize(
    "value",
    ["NaN", "+Inf", "-Inf", 2**31 - 16, 2**31 - 13, 9_223_372_036_854_775_794, 2**47, 2**47 + 3],
)
def test_blank_readings_are_not_collected(value: float | str) -> None:
    rows = [row(name, card_a(), value) for name in A]
    card = one(rows)
    assert card.duty_ratio is Absent.NOT_COLLECTED
    assert card.memory_used_bytes is Absent.NOT_COLLECTED
    assert card.memory_total_bytes is Absent.NOT_COLLECTED
    assert card.temperature_celsius is Absent.NOT_COLLECTED
    assert card.power_watts is Absent.NOT_COLLECTED
    assert card.sm_clock_hertz is Absent.NOT_COLLECTED
    assert card.xid is None


def test_an_honest_large_number_is_no_blank() -> None:
    card = one([row("DCGM_FI_DEV_FB_USED_BYTES", card_b(), 2**31)])
    assert card.memory_used_bytes == 2**31


def test_integer_percent_under_a_ratio_name() -> None:
    # DCGM 4.6 serves GPU_UTIL_RATIO as an alias of the integer percent
    rows = [row("DCGM_FI_DEV_GPU_UTIL_RATIO", card_b(index), value) for index, value in enumerate((1, 0, 97))]
    assert [card.duty_ratio for card in cards(rows)] == [pytest.approx(0.01), 0.0, pytest.approx(0.97)]


def test_true_ratios_stay_ratios() -> None:
    rows = [
        row("DCGM_FI_DEV_GPU_UTIL_RATIO", card_b(index), value)
        for index, value in enumerate((1.0, 0.5, 1.004))
    ]
    assert [card.duty_ratio for card in cards(rows)] == [1.0, 0.5, 1.0]


@pytest.mark.parametrize("percent", [-1, 106, 4000])
def test_a_percent_out_of_range_is_no_duty(percent: float) -> None:
    assert one([row("DCGM_FI_DEV_GPU_UTIL", card_a(), percent)]).duty_ratio is Absent.IMPLAUSIBLE


def test_mig_uses_the_engine_counter_and_drops_the_parent() -> None:
    parent = card_a()
    slices = [card_a(GPU_I_PROFILE="1g.10gb", GPU_I_ID=str(number)) for number in (7, 8)]
    rows = [
        row("DCGM_FI_DEV_GPU_TEMP", parent, 50),
        row("DCGM_FI_DEV_GPU_UTIL", slices[0], 0),
        row("DCGM_FI_PROF_GR_ENGINE_ACTIVE", slices[0], 0.6),
        row("DCGM_FI_DEV_FB_USED", slices[0], 100),
        row("DCGM_FI_DEV_FB_FREE", slices[0], 900),
        row("DCGM_FI_DEV_GPU_UTIL", slices[1], 0),
    ]
    first, second = cards(rows)
    assert (first.uuid, first.mig_profile) == ("GPU-gpu-1-0/7", "1g.10gb")
    assert first.duty_ratio == 0.6
    assert first.memory_total_bytes == 1_000 * MIB
    assert first.temperature_celsius == 50
    assert second.duty_ratio is Absent.NOT_COLLECTED  # a constant 0 of GPU_UTIL is no duty


def test_total_needs_used_and_free() -> None:
    assert one([row("DCGM_FI_DEV_FB_USED", card_a(), 10)]).memory_total_bytes is Absent.NOT_COLLECTED
    card = one([row("DCGM_FI_DEV_FB_USED", card_a(), 10), row("DCGM_FI_DEV_FB_FREE", card_a(), 5)])
    assert card.memory_total_bytes == 15 * MIB


def test_the_same_uuid_on_two_nodes_is_two_cards() -> None:
    rows = [
        row("DCGM_FI_DEV_GPU_TEMP", card_a(node=name) | {"UUID": "GPU-same"}, 40)
        for name in ("gpu-1", "gpu-2")
    ]
    assert [card.uuid for card in cards(rows)] == ["GPU-same@gpu-1", "GPU-same@gpu-2"]


def test_cards_without_an_index_are_numbered() -> None:
    rows = [
        row("nvidia_gpu_duty_cycle", {"uuid": uuid, "node": "gpu-1"}, 5)
        for uuid in ("GPU-b", "GPU-a", "GPU-c")
    ]
    assert [(card.uuid, card.index) for card in cards(rows)] == [("GPU-a", 0), ("GPU-b", 1), ("GPU-c", 2)]


def test_series_of_no_card_and_unknown_names_are_left_out() -> None:
    rows = [row("DCGM_FI_DEV_GPU_UTIL", {"Hostname": "gpu-1"}, 5), row("up", card_a(), 1)]
    assert cards(rows) == []


def test_the_time_of_the_answer_is_no_sample_time() -> None:
    rows = family(A, card_a(0)) + family(A, card_a(1))
    times = stamps_of(from_prometheus([{"metric": card_a(0), "value": [NOW, str(NOW - 40)]}]))
    first, second = gpus(from_prometheus(rows), None, times)
    assert first.sampled_seconds == NOW - 40
    assert second.sampled_seconds is None  # not 0 s old: nobody tells


PLACES = NodeNames(
    nodes=frozenset({"gpu-1", "gpu-2"}),
    node_by_ip={"10.0.0.2": "gpu-2"},
    pod_node={"mon/dcgm-exporter-abc": "gpu-2"},
)


@pytest.mark.parametrize(
    ("labels", "node"),
    [
        ({"Hostname": "gpu-1"}, "gpu-1"),
        ({"hostname": "gpu-1"}, "gpu-1"),
        ({"Hostname": "gpu-1.example.org"}, "gpu-1"),
        ({"Hostname": "dcgm-exporter-abc", "namespace": "mon", "pod": "dcgm-exporter-abc"}, "gpu-2"),
        ({"Hostname": "dcgm-exporter-zzz", "instance": "10.0.0.2:9400"}, "gpu-2"),
        ({"Hostname": "dcgm-exporter-zzz", "node": "gpu-1"}, "gpu-1"),
        ({"instance": "gpu-2:9400"}, "gpu-2"),
        ({"Hostname": "elsewhere"}, "elsewhere"),
    ],
)
def test_the_node_is_found_through_whatever_names_it(labels: dict[str, str], node: str) -> None:
    card = one([row("DCGM_FI_DEV_GPU_TEMP", {"UUID": "GPU-1", **labels}, 40)], PLACES)
    assert card.node == node


EXPOSITION = r"""
# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).
# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-1",modelName="NVIDIA \"A100\"",Hostname="gpu-1",pod="",} 35
DCGM_FI_DEV_FB_USED{gpu="0", UUID="GPU-1", Hostname="gpu-1"} 1024 1790000000500
DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-1",Hostname="gpu-1} 60
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-1",Hostname="gpu-1"} much
nonsense here
"""


def test_exposition_text() -> None:
    samples = parse_exposition(EXPOSITION, NOW)
    assert [(one.name, one.value, one.sampled_seconds) for one in samples] == [
        ("DCGM_FI_DEV_GPU_UTIL", 35.0, NOW),
        ("DCGM_FI_DEV_FB_USED", 1024.0, 1_790_000_000.5),
    ]
    assert samples[0].labels["modelName"] == 'NVIDIA "A100"'
    assert gpus(samples)[0].duty_ratio == pytest.approx(0.35)


@pytest.mark.parametrize(
    "bad",
    [
        None,
        3,
        {},
        {"metric": {}},
        {"metric": {}, "value": [1]},
        {"metric": [], "value": [1, "2"]},
        {"metric": {}, "value": [1, "x"]},
    ],
)
def test_malformed_rows_are_left_out(bad: object) -> None:
    assert from_prometheus([bad]) == []


def test_the_newest_value_of_a_matrix_row_counts() -> None:
    assert from_prometheus([{"metric": {"__name__": "x"}, "values": [[1, "5"], [2, "6"]]}])[0].value == 6.0


numbers = st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from(
    [0.0, 1.0, 100.0, 2.0**31 - 15, 2.0**47]
)


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.tuples(st.sampled_from([*A, *C, *COCKPIT, *ARENA]), st.integers(0, 3), numbers), max_size=30)
)
def test_whatever_is_scraped_numbers_stay_in_range(series: list[tuple[str, int, float]]) -> None:
    rows = [row(name, card_a(index), value) for name, index, value in series]
    found = cards(rows)
    assert len({card.uuid for card in found}) == len(found)
    for card in found:
        for reading, most in (
            (card.duty_ratio, 1.0),
            (card.memory_used_bytes, 2.0**50),
            (card.temperature_celsius, 250.0),
            (card.power_watts, 1e5),
            (card.sm_clock_hertz, 1e11),
        ):
            assert isinstance(reading, Absent) or (math.isfinite(reading) and 0 <= reading <= most)
        assert card.xid is None or card.xid >= 0
