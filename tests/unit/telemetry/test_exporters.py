"""Samples straight from the exporters' pods: who they are, what is asked, what is said when one is silent."""

import json
from typing import Any

import pytest

from cockpit.clock import ClusterTime, ManualClock
from cockpit.errors import Refused
from cockpit.model.batch import Phase
from cockpit.model.gpu import Gpu
from cockpit.model.metrics_server import NO_METRICS_SERVER
from cockpit.model.quantity import Absent
from cockpit.telemetry.discovery import Service
from cockpit.telemetry.exporters import MOST_PAGES, Exporter, ExporterPages, exporters_of
from cockpit.telemetry.faults import TelemetryError
from cockpit.telemetry.poller import Poller
from cockpit.telemetry.start import find_source
from tests.unit.telemetry.builders import NOW, SmallCluster

Query = tuple[tuple[str, str], ...]


def pod(name: str, node: str = "", **more: Any) -> dict[str, Any]:
    return {
        "metadata": {"namespace": "gpu", "name": name},
        "spec": {
            "nodeName": node or f"node-of-{name}",
            "containers": [{"ports": more.get("ports", [{"name": "metrics", "containerPort": 9400}])}],
        },
        "status": {"phase": more.get("phase", "Running")},
    }


class Cluster:
    """An API server with exporter pods, as far as proxy reads go."""

    def __init__(self, *pods: dict[str, Any]) -> None:
        self.pods = list(pods)
        self.asked: list[str] = []
        self.silent: dict[str, str] = {}
        self.body: str | None = None

    async def read(self, path: str, query: Query, most_bytes: int) -> bytes:
        self.asked.append(path)
        if path == "/api/v1/pods":
            is_app = query[0][1].startswith("app in")
            return json.dumps({"items": self.pods if is_app else []}).encode()
        name = path.split("/pods/")[1].split("/", maxsplit=1)[0].split(":", maxsplit=1)[0]
        if name in self.silent:
            raise Refused(self.silent[name])
        if self.body is not None:
            return self.body.encode()
        return (
            f'DCGM_FI_DEV_GPU_UTIL{{gpu="0",UUID="GPU-{name}",Hostname="node-of-{name}"}} 57\n'
            f'DCGM_FI_DEV_GPU_TEMP{{gpu="0",UUID="GPU-{name}",Hostname="node-of-{name}"}} 61\n'
            "node_cpu_seconds_total 3\n"
        ).encode()


async def read(pages: ExporterPages, *nodes: str) -> dict[str, Any]:
    cards, now = await pages.read(SmallCluster(), nodes, 0)
    assert now == NOW
    return {card.node: card for card in cards}


def test_only_running_pods_on_a_node_are_exporters() -> None:
    leaving = pod("d")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    unbound = pod("e")
    del unbound["spec"]["nodeName"]
    tree = {"items": [pod("a"), pod("b", phase="Pending"), leaving, unbound, "junk"]}
    assert exporters_of(tree) == [Exporter("node-of-a", "gpu", "a", 9400)]
    assert exporters_of([]) == []


@pytest.mark.parametrize(
    ("ports", "path"),
    [
        ([{"containerPort": 9401}], "/api/v1/namespaces/gpu/pods/a:9401/proxy/metrics"),
        ([], "/api/v1/namespaces/gpu/pods/a:9400/proxy/metrics"),
        (
            [{"name": "health", "containerPort": 1}, {"name": "gpu-metrics", "containerPort": 2}],
            "/api/v1/namespaces/gpu/pods/a:2/proxy/metrics",
        ),
        (
            [{"name": "https-metrics", "containerPort": 9443}],
            "/api/v1/namespaces/gpu/pods/https:a:9443/proxy/metrics",
        ),
    ],
)
def test_the_path_names_the_port_that_the_pod_announces(ports: list[Any], path: str) -> None:
    first, *_ = exporters_of({"items": [pod("a", ports=ports)]})
    assert first.path == path


async def test_every_page_is_read_and_joined() -> None:
    cluster = Cluster(pod("a"), pod("b"))
    pages = ExporterPages(cluster.read, ManualClock(NOW))
    assert await pages.find() == 2
    found = await read(pages)
    assert found["node-of-a"].duty_ratio == 0.57
    assert found["node-of-b"].temperature_celsius == 61.0
    assert found["node-of-a"].sampled_seconds == NOW
    assert pages.complaint == ""


async def test_what_is_on_screen_is_asked_for_in_every_round_and_others_in_turn() -> None:
    cluster = Cluster(*(pod(f"p{number:03}") for number in range(250)))
    pages = ExporterPages(cluster.read, ManualClock(NOW))
    await pages.find()
    seen: set[str] = set()
    for _ in range(3):
        found = await read(pages, "node-of-p249", "no-such-node")
        assert len(found) == MOST_PAGES
        assert "node-of-p249" in found
        assert pages.asked == frozenset(found)
        seen |= set(found)
    assert len(seen) == 250


async def test_cards_whose_turn_has_not_come_keep_their_numbers() -> None:
    clock, shown = ManualClock(NOW), dict[str, Gpu]()
    cluster = Cluster(*(pod(f"p{number:03}") for number in range(150)))
    pages = ExporterPages(cluster.read, clock)
    poller = Poller(
        pages, lambda batch: shown.update((one.uuid, one) for one in batch.changed), clock, SmallCluster()
    )
    for _ in range(4):
        await poller.poll()
        clock.advance(5.0)
    assert len(shown) == 150
    assert {one.duty_ratio for one in shown.values()} == {0.57}


async def test_a_page_that_is_too_long_is_a_silent_exporter_and_no_zero() -> None:
    cluster = Cluster(pod("a"), pod("b"))
    cluster.silent["b"] = "the answer is larger than 4 MiB"
    pages = ExporterPages(cluster.read, ManualClock(NOW))
    assert set(await read(pages)) == {"node-of-a"}
    assert "larger than 4 MiB" in pages.complaint


async def test_a_large_fleet_is_read_in_turn() -> None:
    cluster = Cluster(*(pod(f"p{number:03}") for number in range(250)))
    pages = ExporterPages(cluster.read, ManualClock(NOW))
    await pages.find()
    seen: list[str] = []
    for _ in range(3):
        found = await read(pages)
        assert len(found) == MOST_PAGES
        seen += found
    assert len(set(seen)) == 250


async def test_one_silent_exporter_is_told_and_the_others_are_shown() -> None:
    cluster = Cluster(pod("a"), pod("b"))
    cluster.silent["a"] = "no route to host"
    pages = ExporterPages(cluster.read, ManualClock(NOW))
    assert set(await read(pages)) == {"node-of-b"}
    assert pages.complaint == "1 of 2 nodes have no exporter that answers: gpu/a: no route to host"
    cluster.silent.clear()
    assert len(await read(pages)) == 2
    assert pages.complaint == ""


async def test_when_none_answers_there_is_no_round() -> None:
    cluster = Cluster(pod("a"))
    cluster.body = "<html>log in</html>"
    pages = ExporterPages(cluster.read, ManualClock(NOW))
    with pytest.raises(TelemetryError, match="web page"):
        await read(pages)


async def test_exporters_that_came_later_are_found_and_gone_ones_forgotten() -> None:
    clock = ManualClock(NOW)
    cluster = Cluster(pod("a"))
    pages = ExporterPages(cluster.read, clock)
    await pages.find()
    cluster.pods = [pod("b")]
    assert set(await read(pages)) == {"node-of-a"}
    clock.advance(31)
    cards, _ = await pages.read(SmallCluster(), (), 0)
    assert [card.node for card in cards] == ["node-of-b"]
    cluster.pods = []
    clock.advance(31)
    with pytest.raises(TelemetryError, match="No exporter pod"):
        await pages.read(SmallCluster(), (), 0)


# ---- several exporters on a node


DCGM_PAGE = (
    'DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-0",Hostname="n"} 57\n'
    'DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-0",Hostname="n"} 61\n'
)
NO_DRIVER_PAGE = 'cockpit_nvml_up{reason="driver-not-loaded"} 0\n'
HOLDERS_PAGE = "".join(
    f'cockpit_gpu_holder{{gpu="0",uuid="GPU-0",node="n",namespace="a",pod="p{n}"}} 1\n' for n in range(9)
)
BLANKS_PAGE = "".join(
    f'{name}{{gpu="0",UUID="GPU-0",Hostname="n"}} NaN\n'
    for name in ("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_POWER_USAGE")
)
FULL_PAGE = "".join(
    f'{name}{{gpu="0",uuid="GPU-0",node="n"}} {value}\n'
    for name, value in (
        ("cockpit_gpu_duty_ratio", 0.5),
        ("cockpit_gpu_power_watts", 300),
        ("cockpit_gpu_temperature_celsius", 60),
    )
)


class Pages:
    """A node with several exporters: each prints its page, or refuses."""

    def __init__(self, **pages: str | Refused) -> None:
        self.pages = pages
        self.asked: list[str] = []

    async def read(self, path: str, query: Query, most_bytes: int) -> bytes:
        if path == "/api/v1/pods":
            return json.dumps({"items": [pod(name, "n") for name in self.pages]}).encode()
        name = path.split("/pods/")[1].partition(":")[0]
        self.asked.append(name)
        page = self.pages[name]
        if isinstance(page, Refused):
            raise page
        return page.encode()


@pytest.mark.parametrize("poor", [NO_DRIVER_PAGE, HOLDERS_PAGE, BLANKS_PAGE, "<html>", Refused("no route")])
@pytest.mark.parametrize("is_first", [True, False])
async def test_the_exporter_with_readings_is_taken_and_remembered(
    poor: str | Refused, is_first: bool
) -> None:
    rich: dict[str, str | Refused] = {"dcgm": DCGM_PAGE}
    server = Pages(**({"cockpit": poor} | rich if is_first else rich | {"cockpit": poor}))
    pages = ExporterPages(server.read, ManualClock(NOW))
    assert (await read(pages))["n"].duty_ratio == 0.57
    assert sorted(server.asked) == ["cockpit", "dcgm"]
    for _ in range(3):
        server.asked.clear()
        assert (await read(pages))["n"].duty_ratio == 0.57
        assert server.asked == ["dcgm"]
    assert pages.complaint == ""


@pytest.mark.parametrize("broken", [NO_DRIVER_PAGE, "<html>", Refused("no route")])
async def test_the_other_exporter_is_asked_in_the_round_in_which_the_remembered_one_fails(
    broken: str | Refused,
) -> None:
    server = Pages(dcgm=DCGM_PAGE, cockpit=FULL_PAGE)
    pages = ExporterPages(server.read, ManualClock(NOW))
    assert (await read(pages))["n"].duty_ratio == 0.5
    server.pages["cockpit"] = broken
    assert (await read(pages))["n"].duty_ratio == 0.57
    server.pages["dcgm"], server.pages["cockpit"] = Refused("gone"), FULL_PAGE
    assert (await read(pages))["n"].duty_ratio == 0.5


async def test_an_exporter_that_comes_later_is_compared() -> None:
    clock, server = ManualClock(NOW), Pages(cockpit=NO_DRIVER_PAGE)
    pages = ExporterPages(server.read, clock)
    assert await read(pages) == {}
    server.pages["dcgm"] = DCGM_PAGE
    clock.advance(31.0)
    cards, _ = await pages.read(SmallCluster(), (), 0)
    assert [card.duty_ratio for card in cards] == [0.57]


async def test_every_port_of_a_pod_is_tried() -> None:
    class OnePort(Pages):
        async def read(self, path: str, query: Query, most_bytes: int) -> bytes:
            if path == "/api/v1/pods":
                ports = [{"name": "health", "containerPort": 1}, {"containerPort": 9401}]
                return json.dumps({"items": [pod("a", "n", ports=ports)]}).encode()
            if ":9401/" not in path:
                raise Refused("not found")
            return DCGM_PAGE.encode()

    assert (await read(ExporterPages(OnePort().read, ManualClock(NOW))))["n"].duty_ratio == 0.57


# ---- which source is taken


async def no_services() -> list[Service]:
    return []


def never(target: Any) -> Any:
    raise AssertionError(f"nothing to open, got {target}")


async def test_without_a_prometheus_the_exporters_are_asked() -> None:
    cluster = Cluster(pod("a"))
    pages = ExporterPages(cluster.read, ManualClock(NOW))
    assert await find_source(NO_METRICS_SERVER, no_services, never, pages) is pages


async def test_with_neither_the_sentence_is_about_prometheus() -> None:
    pages = ExporterPages(Cluster().read, ManualClock(NOW))
    with pytest.raises(TelemetryError, match="No Prometheus found") as caught:
        await find_source(NO_METRICS_SERVER, no_services, never, pages)
    assert caught.value.phase is Phase.ABSENT


class Fake:
    """A Prometheus that answers every query with the same rows."""

    def __init__(self, *rows: Any) -> None:
        self.rows = list(rows)
        self.is_closed = False
        self.who = "Prometheus at test"

    async def query(self, promql: str) -> list[Any]:
        return [{"value": [NOW, "1"]}] if promql.startswith("vector") else self.rows

    async def close(self) -> None:
        self.is_closed = True


async def one_service() -> list[Service]:
    return [Service("m", "prometheus", (), (("web", 9090),))]


@pytest.mark.parametrize("has_exporters", [True, False])
@pytest.mark.parametrize("has_gpus", [True, False])
async def test_a_prometheus_that_knows_gpus_goes_first_one_that_does_not_goes_last(
    has_gpus: bool, has_exporters: bool
) -> None:
    fake: Any = Fake(*([{"value": [NOW, "8"]}] if has_gpus else []))
    pages = ExporterPages(Cluster(*([pod("a")] if has_exporters else [])).read, ManualClock(NOW))
    source = await find_source(NO_METRICS_SERVER, one_service, lambda target: fake, pages)
    assert (source is pages) == (has_exporters and not has_gpus)
    assert fake.is_closed == (source is pages)
    if source is not pages:
        assert source.who == "Prometheus at test"


async def test_cards_that_wait_for_their_turn_stay_fresh_where_the_clusters_time_runs_faster() -> None:
    nodes = [pod(f"p{number:03}") for number in range(2 * MOST_PAGES)]
    cluster, clock, cards = Cluster(*nodes), ManualClock(NOW), dict[str, Gpu]()
    clock.hear(ClusterTime(NOW - 7_200.0, 0.0, 60.0), NOW, NOW)
    poller = Poller(
        ExporterPages(cluster.read, clock),
        lambda batch: cards.update((one.uuid, one) for one in batch.changed),
        clock,
        SmallCluster(),
    )
    for _ in range(3):  # five minutes of the cluster's time lie between two rounds
        await poller.poll()
        clock.advance(5.0)
    assert len(cards) == 2 * MOST_PAGES
    assert {card.duty_ratio for card in cards.values()} == {0.57}
    newest = max(card.sampled_seconds or 0.0 for card in cards.values())
    assert newest == pytest.approx(NOW - 7_200.0 + 600.0), "sampled by the cluster's clock"
    cluster.silent = {one["metadata"]["name"]: "timed out" for one in nodes}
    await poller.poll()
    assert {card.duty_ratio for card in cards.values()} == {0.57}, "a round without answers makes none old"
    clock.advance(91.0)
    await poller.poll()
    assert {card.duty_ratio for card in cards.values()} == {Absent.STALE}
