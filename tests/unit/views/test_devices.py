"""The page of one node: limits, throttle reasons, memory errors, XIDs with meaning and advice."""

from typing import Any

import pytest
from cockpit_widgets.types import Cell

from cockpit.model.batch import Batch
from cockpit.model.gpu import Mark
from cockpit.model.gpu_detail import GpuDetail, ProcessUse
from cockpit.model.node import Node
from cockpit.model.quantity import Absent
from cockpit.model.record import Kind
from cockpit.store.store import Store
from cockpit.views import devices, node_page
from cockpit.views.view_state import ViewState
from tests.unit.views.builders import GIB, NOW, card, node, store

WHOLE: dict[str, Any] = {
    "uuid": "GPU-gpu-1-0",
    "node": "gpu-1",
    "power_cap_watts": 700.0,
    "slowdown_celsius": 87.0,
    "sm_clock_max_hertz": 1.98e9,
    "throttle": 0,
    "ecc_double": 0.0,
    "remapped_rows": 0.0,
    "remap_failed": 0.0,
}


def detailed(made: Store, **more: Any) -> Store:
    made.apply(Batch(kind=Kind.GPU_DETAIL, changed=(GpuDetail(**{**WHOLE, **more}),)))
    return made


def the_node(made: Store) -> Node:
    found = made.by_key(Kind.NODE, "gpu-1")
    assert isinstance(found, Node)
    return found


def cell(made: Store, column: str, row: int = 0) -> Cell:
    found = devices.table(devices.rows(the_node(made), made), ViewState(), NOW)
    return found.cells(row)[[one.id for one in found.columns].index(column)]


def test_readings_stand_beside_the_cards_own_limits() -> None:
    made = detailed(store(node(gpus=1), card(0, "w", temperature_celsius=83.0)))
    assert cell(made, "temperature") == Cell("83/87°C", "warn")
    assert cell(made, "power").text == "412/700W"
    assert cell(made, "clock").text == "1410/1980MHz"


def test_without_details_readings_stand_alone_and_the_rest_is_not_collected() -> None:
    made = store(node(gpus=1), card(0, "w"))
    assert cell(made, "temperature").text == "64°C"
    assert {cell(made, one).text for one in ("throttle", "ecc", "tensor", "nvlink", "energy")} == {"n/c"}


@pytest.mark.parametrize(
    ("bits", "text", "tone"),
    [
        (0, "none", "dim"),
        (0x1, "idle", "dim"),
        (0x4, "cap", ""),
        (0x48, "hw hot", "bad"),
        (0x84, "brake", "bad"),
        (None, "n/c", "dim"),
    ],
)
def test_throttle_reasons_in_a_word(bits: int | None, text: str, tone: str) -> None:
    made = detailed(store(node(gpus=1), card(0, "w")), throttle=bits)
    assert cell(made, "throttle") == Cell(text, tone)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("told", "text", "tone"),
    [
        ({}, "ok", "good"),
        ({"ecc_double": Absent.NOT_COLLECTED}, "no remaps", "dim"),
        ({"ecc_double": 2.0}, "× 2 double-bit", "bad"),
        ({"remap_failed": 1.0, "ecc_double": 2.0}, "× remap failed", "bad"),
        ({"remap_pending": 1.0}, "▲ remap pending", "warn"),
        ({"remapped_rows": 3.0}, "▲ 3 remapped", "warn"),
        (dict.fromkeys(("ecc_double", "remapped_rows", "remap_failed"), Absent.NOT_COLLECTED), "n/c", "dim"),
    ],
)
def test_memory_errors_are_ok_only_where_somebody_counts_them(
    told: dict[str, Any], text: str, tone: str
) -> None:
    made = detailed(store(node(gpus=1), card(0, "w")), **told)
    assert cell(made, "ecc") == Cell(text, tone)  # type: ignore[arg-type]


def test_an_instance_has_what_its_card_tells() -> None:
    made = store(node(gpus=1), card(0, "w", uuid="GPU-gpu-1-0/3", mig_profile="1g.10gb"))
    detailed(made)
    made.apply(
        Batch(
            kind=Kind.GPU_DETAIL,
            changed=(GpuDetail(uuid="GPU-gpu-1-0/3", node="gpu-1", tensor_ratio=0.25),),
        )
    )
    assert cell(made, "tensor").text == "25%"
    assert cell(made, "power").text == "412/700W"
    assert cell(made, "gpu").text == "0/3"


def test_what_is_to_be_said_of_a_card() -> None:
    made = detailed(
        store(node(gpus=1), card(0, "w", xid=79, mark=Mark.SHARED)),
        throttle=0x40,
        recovery="reset_gpu",
        processes=(ProcessUse(4711, "python3", "uid", 37 * GIB),),
    )
    said = node_page.said(the_node(made), made, "GPU-gpu-1-0")
    assert said.startswith(
        "GPU 0: Xid 79: the card fell off the bus; drain the node, then reboot it · throttled"
    )
    assert "too hot: the hardware slows it" in said
    assert "the driver advises: reset gpu" in said
    assert "python3 4711 37Gi" in said
    assert "the GPU is shared" in said


def test_nothing_is_said_of_a_card_that_is_well() -> None:
    made = detailed(store(node(gpus=1), card(0, "w")))
    assert node_page.said(the_node(made), made, "GPU-gpu-1-0") == ""


def test_health_names_what_nobody_collects() -> None:
    made = store(node(gpus=1), card(0, "w"))
    pairs = {one.name: one for one in node_page.facts(the_node(made), made, NOW)}
    assert pairs["health"].value == "ok · not collected: ECC, throttle"
    detailed(made, ecc_double=1.0)
    pairs = {one.name: one for one in node_page.facts(the_node(made), made, NOW)}
    assert (pairs["health"].value, pairs["health"].tone) == ("× 1 double-bit on GPU 0", "bad")


def test_shared_cards_read_as_what_they_are() -> None:
    made = store(node(gpus=8, gpu_replicas=4, gpus_expected=2, gpu_model="NVIDIA-A10G"), card(0, "w"))
    pairs = {one.name: one.value for one in node_page.facts(the_node(made), made, NOW)}
    assert pairs["GPUs"] == "2 A10G · each shared by 4 · 8 shares allocatable, 0 allocated"
