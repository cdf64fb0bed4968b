"""Exporters of all vendors are found by their pods' labels; of one that is not understood it is said."""

from typing import Any

import pytest

from cockpit.clock import ManualClock
from cockpit.telemetry.exporters import ACCELERATORS, ExporterPages, exporters_of, selectors
from cockpit.telemetry.faults import TelemetryError
from cockpit.telemetry.names import MEANINGS, TABLE
from cockpit.telemetry.promql import UNKNOWN
from cockpit.telemetry.source import PrometheusSource
from tests.unit.telemetry.builders import NOW, SmallCluster
from tests.unit.telemetry.small_prometheus import SmallPrometheus
from tests.unit.telemetry.test_exporters import Cluster, pod

_FOREIGN = '# HELP acme_gpu_load load\nacme_gpu_load{card="0"} 3\nacme_gpu_load{card="1"} 4\nup 1\n'


@pytest.mark.parametrize("section", [one for one in TABLE.values() if "pods" in one])
def test_a_vendors_pod_is_asked_at_its_own_port_where_it_names_none(section: dict[str, Any]) -> None:
    for name in section["pods"]:
        item = pod("a", ports=[])
        item["metadata"]["labels"] = {"app": name}
        assert [exporter.port for exporter in exporters_of({"items": [item]})] == [section["port"]]
        assert all(name in selector for selector in selectors())


async def test_a_page_of_unknown_names_is_told_and_no_silence() -> None:
    cluster = Cluster(pod("a"))
    cluster.body = _FOREIGN
    pages = ExporterPages(cluster.read, ManualClock(NOW))
    cards, _ = await pages.read(SmallCluster(), (), 0)
    assert cards == []
    assert pages.nothing == "The exporter gpu/a answers; none of its 2 GPU series is known."
    cluster.body = "up 1\n"
    await pages.read(SmallCluster(), (), 0)
    assert pages.nothing == "The exporters answer but print no GPU whose names are known."


async def test_a_known_page_beside_an_unknown_one_is_read_and_the_other_told() -> None:
    class Mixed(Cluster):
        async def read(self, path: str, query: Any, most_bytes: int) -> bytes:
            return _FOREIGN.encode() if "/pods/b:" in path else await super().read(path, query, most_bytes)

    pages = ExporterPages(Mixed(pod("a"), pod("b")).read, ManualClock(NOW))
    cards, _ = await pages.read(SmallCluster(), (), 0)
    assert [card.node for card in cards] == ["node-of-a"]
    assert "gpu/b answers; none of its 2 GPU series" in pages.complaint


@pytest.mark.parametrize("is_denied", [False, True])
async def test_a_prometheus_with_unknown_names_alone_says_whose(is_denied: bool) -> None:
    class Foreign(SmallPrometheus):
        async def query(self, promql: str, at_seconds: float | None = None) -> list[Any]:
            if promql != UNKNOWN:
                return await super().query(promql, at_seconds)
            if is_denied:
                raise TelemetryError("that is too much")
            return [{"metric": {"job": "acme"}, "value": [NOW, "16"]}]

    source = PrometheusSource(Foreign())
    assert (await source.read(SmallCluster(), (), 0))[0] == []
    wanted = "it has 16 GPU series of job acme, none of whose names is known"
    assert (wanted in source.nothing) is not is_denied
    assert is_denied == ("no GPU series" in source.nothing)


def test_names_that_are_known_look_like_an_accelerators() -> None:
    """What is not known is found by words in names: they are those of the known ones, too."""
    odd = {name for name in MEANINGS if not ACCELERATORS.search(f"{name} 1")}
    assert odd == {
        "duty_cycle",
        "memory_used",
        "memory_total",
        "tensorcore_utilization",
        "HostCoreUtilization",
        *(f"hw_{name}" for name in ("memory_size_bytes", "memory_usage_bytes", "power_watts")),
        *("hw_frequency_hertz", "hw_temperature_celsius"),
    }
