"""Whole pages against golden files, and the exporter's names against the cockpit's table of names.

A golden file is renewed by deleting it: the test writes it anew and fails once.
"""

from pathlib import Path

import pytest
from cockpit_exporter import dcgm_names, exposition
from cockpit_exporter.attribution import Assignment, join
from cockpit_exporter.families import FAMILIES
from cockpit_exporter.model import Card, Device, Failure, Instance, Process, Snapshot, Value, Versions, Xid
from cockpit_exporter.seen import AttributionState, Seen
from cockpit_exporter.web import PageCollector
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric

from cockpit.model.gpu import Mark
from cockpit.telemetry.cards.round import gpus
from cockpit.telemetry.detail_names import NAMES as DETAILS
from cockpit.telemetry.names import MEANINGS, ExporterFamily
from cockpit.telemetry.sample import Sample
from tests.unit.exporter.standin import Box, parsed

GOLDEN = Path(__file__).with_name("golden")
GIB = 2.0**30


def card(index: int, *values: Value, **more: object) -> Card:
    device = Device(
        f"GPU-{index}", index, index, "NVIDIA H100 80GB HBM3", f"16{index}", f"00000000:{index:02x}:00.0"
    )
    return Card(device, 995.0, values=values, **more)  # type: ignore[arg-type]


def numbers(duty: float) -> tuple[Value, ...]:
    return (
        Value("duty_ratio", duty),
        Value("memory_used_bytes", 40 * GIB),
        Value("memory_free_bytes", 39 * GIB),
        Value("memory_reserved_bytes", 1 * GIB),
        Value("memory_total_bytes", 80 * GIB),
        Value("temperature_celsius", 61.0),
        Value("power_watts", 412.5),
        Value("energy_joules_total", 123456.789),
        Value("sm_clock_hertz", 1.41e9),
        Value("throttle", 1.0, (("reason", "power_cap"),)),
        Value("throttle_seconds_total", 2.5, (("policy", "power"),)),
        Value("remapped_rows_total", 3.0, (("kind", "uncorrected"),)),
        Value("engine_active_ratio", 0.75),
        Value("tensor_active_ratio", 0.5),
    )


def seen(*, is_attributed: bool = True) -> Seen:
    """A node with everything: an allocated card, a shared one, a cut one, a lost one."""
    slice_values = (Value("memory_used_bytes", 4 * GIB), Value("engine_active_ratio", 0.3))
    instance = Instance("MIG-2-0", 3, 0, "1g.10gb", slice_values)
    free = Instance("MIG-2-1", 4, 0, "1g.10gb", slice_values)
    process = Process(4242, "compute", 39 * GIB, duty_ratio=0.9, name="python3")
    cards = (
        card(0, *numbers(0.57), processes=(process,), mig_mode="disabled"),
        card(1, *numbers(0.11), failures=(Failure("nvmlDeviceGetEccMode", "no-permission"),)),
        card(2, *numbers(0.0)[1:], instances=(instance, free), mig_mode="enabled"),
        Card(card(3).device, 900.0, down="gpu-is-lost", is_lost=True),
    )
    told = [
        Assignment("team-a", "trainer-0", "main", "nvidia.com/gpu", "GPU-0"),
        Assignment("team-b", "note-1", "main", "nvidia.com/gpu", "GPU-1::0"),
        Assignment("team-c", "note-2", "main", "nvidia.com/gpu", "GPU-1::1"),
        Assignment("team-d", "slice-0", "main", "nvidia.com/mig-1g.10gb", "MIG-2-0"),
        Assignment("team-d", "elsewhere", "main", "nvidia.com/gpu", "GPU-9"),
    ]
    snapshot = Snapshot(
        taken_seconds=995.0,
        reason="",
        versions=Versions("580.95.05", "13.580.95.05", "13.0"),
        cards=cards,
        rounds=7,
        round_seconds=0.012,
        failure_counts={("nvmlDeviceGetEccMode", "no-permission"): 1},
    )
    return Seen(
        now_seconds=1000.0,
        snapshot=snapshot,
        node="node-7",
        joined=join(cards, told, ["GPU-0", "GPU-1::0", "MIG-2-0", "MIG-2-1"]) if is_attributed else None,
        attribution=AttributionState("pod-resources", "", 4.0) if is_attributed else AttributionState(),
        xids={"GPU-0": Xid(31, 940.0, {31: 2, 13: 1})},
        is_xid_watched=True,
        version="1.2.3",
    )


def text(page: "list[Metric]") -> str:
    return generate_latest(PageCollector(lambda: page)).decode()


PAGES = {
    "own": lambda: exposition.page(seen()),
    "own_without_attribution": lambda: exposition.page(seen(is_attributed=False)),
    "dcgm_a": lambda: dcgm_names.page(seen(), "A"),
    "dcgm_c": lambda: dcgm_names.page(seen(), "C"),
}


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_the_golden_one(name: str) -> None:
    page = list(PAGES[name]())
    encode = dcgm_names.encoding("")[0] if name.startswith("dcgm") else generate_latest
    found = encode(PageCollector(lambda: page)).decode()
    golden = GOLDEN / f"{name}.txt"
    if not golden.exists():
        golden.write_text(found, encoding="utf-8")
        pytest.fail(f"{golden.name} was not there and has been written: look at it and run again")
    assert found == golden.read_text(encoding="utf-8")


def samples(page_text: str) -> list[Sample]:
    return [Sample(name, labels, value, 1.0) for name, labels, value in parsed(page_text)]


def test_the_cockpit_reads_every_card_of_our_page_with_the_right_mark() -> None:
    records = {one.uuid: one for one in gpus(samples(text(list(PAGES["own"]()))))}
    marks = {uuid: (one.mark, one.pod_name) for uuid, one in records.items()}
    assert marks == {
        "GPU-0": (Mark.GUESSED, "trainer-0"),
        "GPU-1": (Mark.SHARED, "note-1"),
        "GPU-2/3": (Mark.GUESSED, "slice-0"),
        "GPU-2/4": (Mark.UNALLOCATED, ""),
        "GPU-3": (Mark.UNALLOCATED, ""),
    }
    first = records["GPU-0"]
    assert (first.duty_ratio, first.memory_used_bytes, first.power_watts) == (0.57, 40 * GIB, 412.5)
    assert (first.xid, first.node, first.source) == (31, "node-7", "cockpit")
    assert records["GPU-2/3"].duty_ratio == 0.3


def test_without_attribution_the_cockpit_says_that_pods_were_not_collected() -> None:
    records = gpus(samples(text(list(PAGES["own_without_attribution"]()))))
    assert {one.mark for one in records} == {Mark.NOT_COLLECTED}


@pytest.mark.parametrize(("name", "source"), [("dcgm_a", "dcgm A"), ("dcgm_c", "dcgm C")])
def test_the_cockpit_reads_the_same_numbers_under_dcgms_names(name: str, source: str) -> None:
    own = {one.uuid: one for one in gpus(samples(text(list(PAGES["own"]()))))}
    told = {one.uuid: one for one in gpus(samples(text(list(PAGES[name]()))))}
    assert set(told) == {"GPU-0", "GPU-1", "GPU-2/3", "GPU-2/4"}
    for uuid, one in told.items():
        assert one.source.startswith(source[:4])
        same = ("duty_ratio", "memory_used_bytes", "memory_total_bytes", "temperature_celsius", "power_watts")
        for field in (*same, "pod_name", "mark", "node", "sm_clock_hertz"):
            assert getattr(one, field) == getattr(own[uuid], field), (uuid, field)


def test_every_name_of_ours_that_the_cockpit_reads_is_one_that_the_exporter_has() -> None:
    wanted = {name for name, meaning in MEANINGS.items() if meaning.source is ExporterFamily.COCKPIT}
    wanted |= {name for name in DETAILS if name.startswith("cockpit_")}
    assert wanted - set(FAMILIES) == set()


@pytest.mark.parametrize(
    ("generation", "source"), [("A", ExporterFamily.DCGM_AB), ("C", ExporterFamily.DCGM_C)]
)
def test_every_dcgm_name_that_the_cockpit_reads_of_a_card_is_emitted(
    generation: dcgm_names.Generation, source: ExporterFamily
) -> None:
    wanted = {name for name, meaning in MEANINGS.items() if meaning.source is source and name.isupper()}
    # masks and events of DCGM's own, which its default set does not have either
    wanted -= {name for name in wanted if "REASONS" in name or "EVENTS" in name}
    assert wanted - dcgm_names.names(generation) == set()


def test_families_are_documented_in_base_units_and_named_by_the_rules() -> None:
    for name, family in FAMILIES.items():
        assert family.help, name
        assert name.endswith("_total") == (family.kind == "counter"), name
        assert not any(word in name for word in ("percent", "_mib", "milliwatts", "_mhz")), name


def test_a_driver_of_today_gives_every_family_that_is_not_of_old_or_ill_cards(box: Box) -> None:
    box.write(
        "gpus 2",
        "mig 1 0 3 0 1g.10gb 9728",
        "process 0 compute 7 5 -1",
        "busy 0 7 5 9",
        "xid 0 79 1",
        "set retired_double 0 0",
        "set retired_single 0 0",
        "fail nvmlDeviceGetPowerUsage 1 4",
    )
    box.step()
    box.ask("xid")
    box.ask("xid")
    names = box.step().names()
    never_here = {
        "cockpit_gpu_memory_used_holds_reserved",  # an old driver
        *("cockpit_gpu_holder", "cockpit_gpu_allocatable"),  # of the kubelet
        *("cockpit_attribution_age_seconds", "cockpit_attribution_unmatched"),
        "cockpit_attribution_slices_up",
    }
    assert names == set(FAMILIES) - never_here


LABEL = st.text(max_size=12)


@given(LABEL, LABEL, LABEL, st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_any_text_of_a_driver_or_kubelet_survives_the_page(
    model: str, pod: str, node: str, value: float
) -> None:
    one = Card(Device("GPU-0", 0, 0, model), 0.0, values=(Value("power_watts", value),))
    joined = join((one,), [Assignment("ns", pod, "c", "nvidia.com/gpu", "GPU-0")])
    page = text(list(exposition.page(Seen(1.0, Snapshot(0.0, "", cards=(one,)), node, joined))))
    found = [sample for sample in parsed(page) if sample[0] == "cockpit_gpu_power_watts"]
    read = [(one[1]["model"], one[1]["pod"], one[1]["node"], one[2]) for one in found]
    assert read == [(model, pod, node, value)]
