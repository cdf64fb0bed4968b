"""Debian's Prometheus scrapes 250 embedded nodes every 15 s; 2,500 every 60 s where there are cores for it.

What the cockpit shows is what the cards did when they were sampled, not only what Prometheus answers.
"""

import asyncio
import os
import time
from bisect import bisect_left
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest
import yaml

from cockpit.attach import AttachOptions
from cockpit.clock import SystemClock
from cockpit.commands.attached import Live, attached
from cockpit.model.gpu import Gpu, Mark
from cockpit.model.metrics_server import MetricsServer
from cockpit.model.quantity import Absent
from cockpit.model.record import Kind
from cockpit.sim.actors.gpus.exposition import CardReading
from cockpit.sim.actors.gpus.fleet import GpuFleet
from cockpit.sim.cluster import EmbeddedCluster
from cockpit.sim.scenarios.loading import load
from cockpit.sim.serve import Options, running
from cockpit.views.fleet import fleet
from tests.bed.distro import ensure_program
from tests.unit.telemetry.embedded_truth import MIB, differs, uuid_of

pytestmark = pytest.mark.real

CHOICES = 200
PATIENCE_SECONDS = 600.0
SIZES = [(250, 15)]
"""Nodes, and the seconds between two scrapes of one. The large fleet (GPU_COCKPIT_SCRAPED_NODES=2500) lives
in this process with the cockpit that reads it, and Prometheus beside it: that wants cores to itself."""
if os.environ.get("GPU_COCKPIT_SCRAPED_NODES"):
    SIZES.append((int(os.environ["GPU_COCKPIT_SCRAPED_NODES"]), 60))

SCENARIO = """
name: wide
title: Many nodes
story: Nodes of three exporter generations, shared and cut cards among them, all at work.
seconds: 1m
namespaces:
  - {name: work}
pools:
  - {name: a, nodes: {a}, gpus: 8, product: NVIDIA-H100-80GB-HBM3, cpu: "96", memory: 1Ti, exporter: A}
  - {name: b, nodes: {b}, gpus: 8, product: NVIDIA-A100-SXM4-80GB, cpu: "96", memory: 1Ti, exporter: B}
  - {name: c, nodes: {c}, gpus: 8, product: NVIDIA-A100-SXM4-40GB, cpu: "96", memory: 1Ti, exporter: C}
  - {name: shared, nodes: {few}, gpus: 2, product: NVIDIA-A10G, cpu: "32", memory: 128Gi, replicas: 4,
     exporter: B}
  - {name: cut, nodes: {few}, gpus: 2, product: NVIDIA-A100-SXM4-40GB, cpu: "64", memory: 512Gi, exporter: C,
     mig: {1g.5gb: 4, 3g.20gb: 2}}
bulk:
  - {count: {wide}, job: {name: train, namespace: work, kind: pod, gpus: 8, cpu: "8", memory: 8Gi, pool: a,
     load: training, seconds: 10h}}
  - {count: {half}, job: {name: starved, namespace: work, kind: pod, gpus: 4, cpu: "8", memory: 8Gi, pool: b,
     load: data-starved, seconds: 10h}}
  - {count: {net}, job: {name: net, namespace: work, kind: pod, gpus: 4, cpu: "8", memory: 8Gi, pool: c,
     load: network-bound, seconds: 10h}}
  - {count: {shares}, job: {name: note, namespace: work, kind: pod, cpu: "1", memory: 1Gi, pool: shared,
     load: notebook, seconds: 10h}}
  - {count: {shares}, job: {name: serve, namespace: work, kind: pod, resource: nvidia.com/mig-3g.20gb,
     cpu: "1", memory: 1Gi, load: inference, seconds: 10h}}
"""


def scenario(nodes: int) -> str:
    """The scenario with so many nodes, in the same proportions."""
    times = nodes // 250
    counts = {"a": 120, "b": 60, "c": 50, "few": 10, "wide": 100, "half": 80, "net": 60, "shares": 20}
    text = SCENARIO
    for name, count in counts.items():
        text = text.replace(f"{{{name}}}", str(count * times))
    return text


class Witness(GpuFleet):
    """Notes what every card truly did whenever an exporter's page was asked for."""

    def __init__(self, fleet: GpuFleet, scrape_seconds: float) -> None:
        self._fleet = fleet
        self._scrape_seconds = scrape_seconds
        self._clock = SystemClock()
        self._times: dict[str, list[float]] = {}
        self._seen: dict[str, list[list[CardReading]]] = {}

    def nodes(self) -> list[str]:
        return self._fleet.nodes()

    def metrics(self, node: str, at_seconds: float) -> str:
        self._times.setdefault(node, []).append(self._clock.now())
        self._seen.setdefault(node, []).append(self._fleet.readings(node, at_seconds))
        return self._fleet.metrics(node, at_seconds)

    def at(self, node: str, sampled_seconds: float) -> Sequence[CardReading]:
        """What was true on the page of a scrape that began then; empty where no page followed soon."""
        times = self._times.get(node, [])
        place = bisect_left(times, sampled_seconds)
        if place == len(times) or times[place] - sampled_seconds > self._scrape_seconds / 2:
            return ()
        return self._seen[node][place]


@asynccontextmanager
async def prometheus(folder: Path, port: int, targets: str, scrape_seconds: int) -> AsyncIterator[str]:
    """Debian's Prometheus on these targets; answers its URL."""
    program = await asyncio.to_thread(ensure_program, "prometheus", print)
    file = folder / "prometheus.yaml"
    sd = {"url": targets, "refresh_interval": "5s"}
    job = {"job_name": "dcgm", "honor_labels": False, "http_sd_configs": [sd]}
    scrape = {"scrape_interval": f"{scrape_seconds}s", "scrape_timeout": f"{scrape_seconds * 2 // 3}s"}
    file.write_text(yaml.safe_dump({"global": scrape, "scrape_configs": [job]}))
    process = await asyncio.create_subprocess_exec(
        str(program),
        f"--config.file={file}",
        f"--storage.tsdb.path={folder / 'tsdb'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=warn",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        await process.wait()


def free_port() -> int:
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def chosen(cards: Iterable[Gpu], random: Random) -> list[Gpu]:
    """Twenty cards: one of each mark, since only one card in a hundred is shared, and any others."""
    known = sorted(cards, key=lambda card: card.uuid)
    by_mark: dict[Mark, list[Gpu]] = {}
    for card in known:
        by_mark.setdefault(card.mark, []).append(card)
    found = [random.choice(by_mark[mark]) for mark in Mark if mark in by_mark]
    return [*found, *random.sample(known, 20 - len(found))]


def ahead_seconds(live: Live) -> float:
    """How far Prometheus, which goes by this machine, is ahead of the demo, as the cockpit found."""
    status = live.attachment.store.status(Kind.GPU)
    return status.clock_ahead_seconds if status is not None else 0.0


def differs_from_the_client(url: str, cards: Iterable[Gpu], ahead: float) -> list[str]:
    """Cards of which prometheus-api-client, at the time of our sample, reads another use of memory."""
    from prometheus_api_client import PrometheusConnect

    client = PrometheusConnect(url=url)
    named = '__name__=~"DCGM_FI_DEV_FB_USED|DCGM_FI_DEV_FB_USED_BYTES"'
    found = []
    for card in cards:
        at_seconds = str((card.sampled_seconds or 0.0) + ahead + 0.001)
        query = " or ".join(f'{{{named},{label}="{card.uuid}"}}' for label in ("UUID", "uuid"))
        values = {
            float(row["value"][1]) * (1.0 if row["metric"]["__name__"].endswith("_BYTES") else MIB)
            for row in client.custom_query(query, params={"time": at_seconds})
        }
        if card.memory_used_bytes not in values:
            found.append(f"{card.uuid}: {card.memory_used_bytes} bytes here, {values} there")
    return found


async def until_all_are_known(live: Live, cluster: EmbeddedCluster) -> None:
    wanted = sum(len(cluster.fleet.readings(one, cluster.clock.now())) for one in cluster.fleet.nodes())
    ends = time.monotonic() + PATIENCE_SECONDS
    while (known := len(live.attachment.store.records(Kind.GPU))) < wanted:
        assert time.monotonic() < ends, (
            f"{known} of {wanted} cards are known, {live.attachment.store.status(Kind.GPU)}"
        )
        await asyncio.sleep(1.0)


@pytest.mark.parametrize(("nodes", "scrape_seconds"), SIZES)
async def test_200_choices_through_prometheus_are_true_at_the_samples_time(
    tmp_path: Path, nodes: int, scrape_seconds: int
) -> None:
    file = tmp_path / "wide.yaml"
    file.write_text(scenario(nodes))
    random, mistakes, marks = Random(11), list[str](), set[Mark]()
    async with running(load(file), tmp_path / "cluster", Options(seed=11, warm_seconds=60.0)) as (_, cluster):
        witness = Witness(cluster.fleet, scrape_seconds)
        cluster.exporters._fleet = witness
        assert len(cluster.fleet.nodes()) == nodes
        targets = f"http://127.0.0.1:{cluster.exporters.port}/targets"
        kubeconfig = str(tmp_path / "cluster" / "kubeconfig")
        async with prometheus(tmp_path, free_port(), targets, scrape_seconds) as url:
            options = AttachOptions(kubeconfig=kubeconfig, prometheus=MetricsServer(url))
            async with attached(options, SystemClock()) as live:
                await live.settle((Kind.NODE, Kind.POD), PATIENCE_SECONDS)
                await until_all_are_known(live, cluster)
                checked = 0
                while checked < CHOICES:
                    await asyncio.sleep(4.0)
                    for card in chosen(live.attachment.store.records(Kind.GPU).values(), random):
                        sampled_seconds = (card.sampled_seconds or 0.0) + ahead_seconds(live)
                        true = {uuid_of(one): one for one in witness.at(card.node, sampled_seconds)}
                        if card.uuid not in true:
                            continue
                        mistakes += differs(card, true[card.uuid])
                        marks.add(card.mark)
                        checked += 1
                found = fleet(live.attachment.store)
                whole = [
                    card
                    for card in live.attachment.store.records(Kind.GPU).values()
                    if card.mark is Mark.SURE and not card.mig_profile
                ]
                others = await asyncio.to_thread(
                    differs_from_the_client, url, random.sample(whole, 60), ahead_seconds(live)
                )
    assert mistakes == []
    assert others == []
    assert {Mark.SURE, Mark.SHARED, Mark.UNALLOCATED} <= marks
    assert found.gpus == (230 * 8 + 20 * 2) * (nodes // 250)
    assert found.shares == (10 * 8 + 10 * 6) * (nodes // 250)
    assert not isinstance(found.duty, Absent)
