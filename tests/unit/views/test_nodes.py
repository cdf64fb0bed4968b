"""The nodes table, the page of one node, GPUs as rows."""

import pytest

from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.gpu import Gpu, Mark
from cockpit.model.node import Node, Taint
from cockpit.model.quantity import Absent
from cockpit.model.record import Condition, Kind
from cockpit.store.store import Store
from cockpit.views import cards, gpus, node_page, nodes
from cockpit.views.view_state import ViewState
from tests.unit.views.builders import NOW, card, cells, line, node, pod, store, texts


def busy_node() -> Store:
    return store(
        node(gpus=4, gpus_expected=4),
        pod("w-0", gpus=2),
        card(0, "w-0", duty=1.0, temperature_celsius=81.0),
        card(1, "w-0", duty=0.5),
        card(2, duty=0.0, power_watts=60.0),
    )


def test_a_node_that_works() -> None:
    made = nodes.table(busy_node(), ViewState(), NOW)
    assert line(made) == {
        "name": "gpu-1",
        "pool": "h100",
        "model": "H100-80GB-HBM3",
        "gpus": "2/4",
        "bars": "█▄·?",
        "duty": "50%",
        "temperature": "81°C",
        "power": "884W",
        "memory": "120Gi/240Gi",
        "health": "ok",
        "state": "● ready",
        "age": "24h",
        "machine": "",
        "zone": "",
        "kubelet": "",
    }


JUST_READY = Condition("Ready", "True", "", "", NOW - 60)


@pytest.mark.parametrize(
    ("record", "allocated", "state"),
    [
        (node(gpus=None, gpus_expected=8, conditions=(JUST_READY,)), "0/?", "▲ no GPUs yet"),
        (node(gpus=None, gpus_expected=8), "0/?", "× GPUs never came"),
        (node(gpu_allocatable=6), "0/6 -2", "● ready"),
        (node(ready="Unknown"), "0/0 -8", "× not ready"),
        (node(unschedulable=True), "0/8", "‖ cordoned"),
        (node(gpus=None, gpus_expected=8, conditions=()), "0/?", "◔ joining"),
        (node(gpus=None), "none", "● ready"),
    ],
)
def test_where_a_node_stands(record: Node, allocated: str, state: str) -> None:
    shown = line(nodes.table(store(record), ViewState(), NOW))
    assert (shown["gpus"], shown["state"]) == (allocated, state)


def test_a_node_without_gpus_has_no_readings_and_stands_last() -> None:
    made = nodes.table(store(node("a-cpu", None), node("gpu-10"), node("gpu-9")), ViewState(), NOW)
    assert texts(made, "name") == ["gpu-9", "gpu-10", "a-cpu"]
    assert texts(made, "duty") == ["n/c", "n/c", ""]
    assert texts(made, "health") == ["n/c", "n/c", ""]
    assert texts(made, "bars") == ["????????", "????????", ""]


def test_nodes_can_be_narrowed_filtered_and_sorted() -> None:
    made = store(node("a"), node("b", pool="a100"), card(0, "x", on="b", duty=0.9))
    assert texts(nodes.table(made, ViewState(filter="pool:a100"), NOW), "name") == ["b"]
    assert texts(nodes.table(made, ViewState(filter="duty>50%"), NOW), "name") == ["b"]
    assert texts(nodes.table(made, ViewState(sort="duty"), NOW), "name") == ["b", "a"]
    assert texts(nodes.table(made, ViewState(), NOW, nodes=[node("a")]), "name") == ["a"]


@pytest.mark.parametrize(
    ("codes", "text", "tone"),
    [
        ((0, 0), "ok", "good"),
        ((0, None), "n/c", "dim"),
        ((0, 79), "× Xid 79", "bad"),
        ((31, 0), "▲ Xid 31", "warn"),
        ((31, 79), "× Xid 79", "bad"),
        ((9_999, None), "▲ Xid 9999", "warn"),
        ((), "n/c", "dim"),
    ],
)
def test_health_is_never_read_from_silence(codes: tuple[int | None, ...], text: str, tone: str) -> None:
    assert cards.health_cell([card(index, xid=code) for index, code in enumerate(codes)]) == (text, tone)


@pytest.mark.parametrize(
    ("record", "known", "bars"),
    [
        (node(gpus=2), [], "??"),
        (node(gpus=4, gpu_allocatable=2), [card(0, duty=0.0), card(1, "x", duty=0.3)], "·▃××"),
        (node(gpus=2), [card(0, duty=Absent.STALE), card(1, duty=0.0, mark=Mark.NOT_COLLECTED)], "~▁"),
    ],
)
def test_mini_bars(record: Node, known: list[Gpu], bars: str) -> None:
    assert cards.mini_bars(known, record.gpu_allocatable, record.gpu_capacity) == bars


def test_power_of_mig_instances_counts_their_card_once() -> None:
    slices = [card(0, uuid=f"GPU-1/{number}", mig_profile="1g.10gb", power_watts=300.0) for number in (7, 8)]
    assert cards.power_sum([*slices, card(1, power_watts=100.0)]) == 400.0


def test_short_model() -> None:
    assert cards.short_model("NVIDIA-H100-80GB-HBM3") == cards.short_model("NVIDIA H100 80GB HBM3")
    assert cards.short_model("Tesla-V100") == "V100"


def test_devices_without_telemetry_and_lost_ones_are_rows_too() -> None:
    record = node(gpus=4, gpu_allocatable=3)
    made = node_page.devices_table(record, store(record, card(1, "w-0")), ViewState(), NOW)
    assert texts(made, "gpu") == ["3", "0", "1", "2"], "the lost one first"
    assert texts(made, "duty") == ["×", "n/c", "71%", "n/c"]
    assert texts(made, "holder") == ["lost: not advertised by the node", "n/c", "team-a/w-0", "n/c"]
    assert texts(made, "mark") == ["", "n/c", "sure", "n/c"]
    assert texts(made, "sampled") == ["", "n/c", "10s", "n/c"]
    assert made.key(1) == "gpu-1/0"
    assert made.key(2) == "GPU-gpu-1-1"


def test_a_free_card_and_a_stale_one() -> None:
    record = node(gpus=2)
    made = node_page.devices_table(
        record,
        store(record, card(0, duty=0.0), card(1, "w", duty=Absent.STALE, sampled_seconds=NOW - 300)),
        ViewState(),
        NOW,
    )
    assert texts(made, "holder") == ["free", "team-a/w"]
    assert texts(made, "duty") == ["0%", "stale"]
    assert cells(made, "sampled")[1] == ("5m00s", "warn")


def test_the_slices_of_a_card_are_its_devices() -> None:
    record = node(gpus=2, gpus_expected=1)
    slices = [card(0, uuid=f"GPU-1/{number}", mig_profile="1g.10gb") for number in (7, 8)]
    made = node_page.devices_table(record, store(record, *slices), ViewState(), NOW)
    assert len(made) == 2
    assert texts(made, "model") == ["H100-80GB-HBM3 1g.10gb"] * 2


def test_time_sliced_cards_are_counted_as_cards() -> None:
    record = node(gpus=8, gpu_replicas=4)
    assert len(gpus.rows_of(record, store(record))) == 2


def test_every_gpu_of_the_cluster() -> None:
    made = gpus.table(store(node(gpus=2), card(0, "w"), card(0, on="gone")), ViewState(), NOW)
    assert list(zip(texts(made, "node"), texts(made, "gpu"), strict=True)) == [
        ("gone", "0"),
        ("gpu-1", "0"),
        ("gpu-1", "1"),
    ]
    assert texts(gpus.table(store(node(gpus=2), card(0, "w")), ViewState(filter="duty>1"), NOW), "gpu") == [
        "0"
    ]


def test_the_holder_of_a_device() -> None:
    record, holder = node(), pod("w-0")
    made = store(record, holder, card(0, "w-0"), card(1), card(2, "elsewhere"))
    assert node_page.holder_of(record, made, "GPU-gpu-1-0") == holder
    assert node_page.holder_of(record, made, "GPU-gpu-1-1") is None
    assert node_page.holder_of(record, made, "GPU-gpu-1-2") is None
    assert node_page.holder_of(record, made, "gpu-1/7") is None
    assert node_page.holder_of(None, made, "GPU-gpu-1-0") is None
    assert len(node_page.devices_table(None, made, ViewState(), NOW)) == 0


def test_facts_of_a_node() -> None:
    made = busy_node()
    record = made.records(Kind.NODE)["uid-gpu-1"]
    found = {pair.name: pair.value for pair in node_page.facts(record, made, NOW)}
    assert found["state"] == "● ready"
    assert found["GPUs"] == "4 H100-80GB-HBM3 · 4 allocatable, 2 allocated"
    assert found["now"] == "duty 50% · hottest 81°C · power 884W"
    assert found["health"].startswith("ok")
    assert found["age"] == "24h"


def test_troubles_of_a_node_are_told_in_its_own_words() -> None:
    record = node(
        gpus=None,
        gpus_expected=8,
        conditions=(
            Condition("Ready", "False", "KubeletNotReady", "container runtime is down", NOW - 300),
            Condition("MemoryPressure", "False", "Fine", "", NOW),
            Condition("DiskPressure", "True", "Full", "", NOW - 60),
        ),
        taints=tuple(Taint(f"key{number}", "", "NoSchedule") for number in range(6)),
        pool="",
    )
    found = {pair.name: pair for pair in node_page.facts(record, store(record), NOW)}
    assert found["Ready"].value == "False for 5m00s: container runtime is down"
    assert found["DiskPressure"].value == "True for 1m00s: Full"
    assert "MemoryPressure" not in found
    assert found["GPUs"].value == "8 H100-80GB-HBM3 · not advertised yet"
    assert found["taints"].value.endswith("key3:NoSchedule and 2 more")
    assert found["pool"].value == "none: no label names a pool"


def test_a_node_is_only_called_gone_where_nodes_are_read() -> None:
    read = StreamStatus(kind=Kind.NODE, phase=Phase.LIVE)
    assert node_page.gone("x", read)[1].value == "not in the cluster"
    denied = StreamStatus(kind=Kind.NODE, phase=Phase.DENIED, message="You cannot list nodes.")
    assert node_page.gone("x", denied)[1].value == "not known: You cannot list nodes."
    assert "not known" in node_page.gone("x", None)[1].value


def test_the_page_says_why_readings_are_missing() -> None:
    made = store(node())
    made.apply(
        Batch(
            kind=Kind.GPU,
            status=StreamStatus(kind=Kind.GPU, phase=Phase.ABSENT, message="No Prometheus found."),
        )
    )
    found = {pair.name: pair.value for pair in node_page.facts(node(), made, NOW)}
    assert found["telemetry"] == "No Prometheus found."
    assert "telemetry" not in {pair.name for pair in node_page.facts(node(), store(node()), NOW)}
