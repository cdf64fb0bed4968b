"""Accelerators of a vendor that only the site's configuration knows: nodes, series, exporters, sentences."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cockpit.clock import ManualClock
from cockpit.commands.settings import declared
from cockpit.errors import BadInput
from cockpit.k8s.gpu_resources import is_gpu_resource, resource_word
from cockpit.kube.decode import decoders
from cockpit.local_state.config import Settings, read_settings
from cockpit.model.node import Node
from cockpit.model.quantity import Absent
from cockpit.telemetry import promql
from cockpit.telemetry.cards.round import gpus
from cockpit.telemetry.exporters import ExporterPages, exporters_of, selectors
from cockpit.telemetry.names import MEANINGS, SAMPLED_AT
from cockpit.telemetry.sample import parse_exposition
from tests.unit.kube.builders import meta
from tests.unit.telemetry.builders import NOW, SmallCluster
from tests.unit.telemetry.test_exporters import Cluster, pod

CONFIG = """
[accelerators.Tensorwave]
resource = "tensorwave.example/chip"
model-label = "tensorwave.example/model"
count-label = "tensorwave.example/count"
exporter = "tw-agent"
exporter-port = 9111
card-label = "chip"
duty = "tw_busy %"
memory-used = "tw_used MiB"
memory-total = "tw_total GiB"
temperature = "tw_heat mC"
power = "tw_draw mW"
"""
PAGE = """
tw_busy{chip="0",pod="tw-agent-x7",namespace="chips"} 62
tw_used{chip="0"} 1024
tw_total{chip="0"} 64
tw_heat{chip="0"} 41500
tw_draw{chip="0"} 75500
tw_busy{chip="1"} 250
acme_other{chip="1"} 3
"""


def settings(text: str) -> Settings:
    return read_settings(text, "c.toml", Path("/home/ann"))


@pytest.fixture(autouse=True)
def undone() -> Iterator[None]:
    before = (dict(MEANINGS), list(SAMPLED_AT), selectors())
    yield
    declared(Settings())
    assert (dict(MEANINGS), list(SAMPLED_AT), selectors()) == before


def test_a_node_has_its_model_and_its_devices() -> None:
    tree = {
        "metadata": meta("n1", namespace="")
        | {"labels": {"tensorwave.example/model": "TW-9", "tensorwave.example/count": "8"}},
        "status": {part: {"tensorwave.example/chip": "6"} for part in ("capacity", "allocatable")},
    }
    raw = json.dumps(tree).encode()
    unknown = decoders.NODE.from_json(raw)
    declared(settings(CONFIG))
    known = decoders.NODE.from_json(raw)
    assert isinstance(unknown, Node) and isinstance(known, Node)
    assert (unknown.gpu_model, unknown.gpu_allocatable, unknown.gpus_expected) == ("", None, None)
    assert (known.gpu_model, known.gpu_allocatable, known.gpus_expected) == ("TW-9", 6, 8)
    assert known.gpu_resource == "tensorwave.example/chip" and known.is_gpu_labelled
    assert is_gpu_resource("tensorwave.example/chip") and resource_word("tensorwave.example/chip") == "GPUs"
    declared(Settings())
    assert not is_gpu_resource("tensorwave.example/chip")


def test_its_series_are_read_in_base_units_and_what_cannot_be_is_told() -> None:
    declared(settings(CONFIG))
    first, second = gpus(parse_exposition(PAGE, NOW))
    assert (first.uuid, first.index, first.source) == ("card-0", 0, "configured")
    assert first.duty_ratio == pytest.approx(0.62) and first.power_watts == pytest.approx(75.5)
    assert (first.memory_used_bytes, first.memory_total_bytes) == (2**30, 64 * 2**30)
    assert first.temperature_celsius == pytest.approx(41.5)
    assert first.sm_clock_hertz is Absent.NOT_COLLECTED
    assert first.throttle is None and first.pod_name == ""  # the agent holds no card
    assert second.duty_ratio not in (2.5, 250.0)  # 250 % is no duty
    assert "chip" in promql.by_card() and "tw_busy" in promql.sample_times()


async def test_its_exporter_is_found_and_asked_at_its_port() -> None:
    declared(settings(CONFIG))
    item = pod("tw-agent-x7", ports=[])
    item["metadata"]["labels"] = {"app": "tw-agent"}
    assert [exporter.port for exporter in exporters_of({"items": [item]})] == [9111]
    assert all("tw-agent" in selector for selector in selectors())
    cluster = Cluster(item)
    cluster.body = PAGE
    cards, _ = await ExporterPages(cluster.read, ManualClock(NOW)).read(SmallCluster(), (), 0)
    assert [card.uuid for card in cards] == ["card-0", "card-1"]


def test_every_wrong_setting_is_named() -> None:
    text = """
[accelerators.A]
resource = "chip"
duty = "tw_busy"
memory-used = "tw_used MB"
exporter-port = 0
model-label = "two words"
colour = "red"
[accelerators.B]
power = "b_draw W"
[accelerators.C]
resource = "nvidia.com/gpu"
[accelerators.D]
resource = "d.example/chip"
power = "d_draw W"
[accelerators.E]
resource = "d.example/chip"
temperature = "d_draw C"
"""
    with pytest.raises(BadInput) as caught:
        settings(text)
    told = "\n".join(caught.value.sentences)
    for part in (
        'accelerators."A".resource: give the extended resource that counts its devices, such as'
        " vendor.example/chip, not 'chip'",
        'accelerators."A".duty: give the name of a series and its unit, as in "chip_x %"; units: %, ratio',
        'accelerators."A".memory-used: give the name of a series and its unit',
        'accelerators."A".exporter-port: give a port from 1 to 65535, not 0',
        "accelerators.\"A\".model-label: give the name of a node's label, not 'two words'",
        'accelerators."A".colour: unknown key',
        'accelerators."B".resource: give the extended resource that counts its devices',
        'accelerators."C".resource: nvidia.com/gpu is built in; leave the table out',
        'accelerators."E".resource: d.example/chip is named by another vendor above',
    ):
        assert part in told, told


def test_a_series_that_is_known_as_something_else_is_refused_and_nothing_changes() -> None:
    before = dict(MEANINGS)
    with pytest.raises(BadInput, match=r"DCGM_FI_DEV_GPU_UTIL is read as duty, 0\.\.1 of dcgm A already"):
        declared(settings('[accelerators.A]\nresource = "a.example/c"\nduty = "DCGM_FI_DEV_GPU_UTIL %"\n'))
    assert before == MEANINGS
    twice = CONFIG + '[accelerators.Z]\nresource = "z.example/c"\npower = "tw_draw W"\n'
    with pytest.raises(BadInput, match="tw_draw is read as something else already"):
        settings(twice)
