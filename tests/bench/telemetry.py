"""`python -m tests.bench.telemetry`: what a refresh of the numbers of 20,000 GPUs costs the cockpit.

Debian's Prometheus scrapes 2,500 exporters (`tests.bench.gpu_pages`). The poller reads it into a store that
holds the nodes and pods, as the app does. Prints processor time (all threads) and bytes on the wire of a
refresh of the whole fleet, and of one with a page of nodes in sight, beside the goals and the yardstick, and
writes bench-out/telemetry.json. A refresh is all that the cockpit does for it: queries, join, store, trends,
and then the sums of the header, the rows of the pools and a heatmap of every card. The exit code is 0 also
where a goal is missed.
"""

import argparse
import asyncio
import json
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from cockpit import gc_tuning
from cockpit.clock import SystemClock
from cockpit.model.batch import Batch
from cockpit.model.gpu import Mark
from cockpit.model.metrics_server import MetricsServer
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.quantity import Absent
from cockpit.model.record import Condition, Kind
from cockpit.pools.index import pools_of
from cockpit.store.store import Store
from cockpit.store.trends import Trends
from cockpit.telemetry.endpoint import Endpoint, configured
from cockpit.telemetry.focus import Focus
from cockpit.telemetry.http_client import Direct, DirectAnswer
from cockpit.telemetry.http_protocol import Query
from cockpit.telemetry.poller import Poller
from cockpit.telemetry.prometheus import Prometheus
from cockpit.telemetry.source import PrometheusSource
from cockpit.views import heatmap
from cockpit.views.fleet import fleet
from tests.bed.distro import ensure_program
from tests.bench.gpu_pages import GPUS_EACH, node_name, pod_name
from tests.bench.measure import yardstick_seconds
from tests.bench.report import aligned

OUT = Path(__file__).resolve().parents[2] / "bench-out"
GOAL_CPU_SECONDS = 1.0
GOAL_WIRE_BYTES = 10e6
SCRAPE_SECONDS = 30
IN_SIGHT = 40
_PATIENCE_SECONDS = 300.0


class Counting(Direct):
    """Counts what comes over the wire: the kernel's own count of the bytes that a connection received."""

    _TCP_INFO_BYTES_RECEIVED = 128  # offset of tcpi_bytes_received, linux/tcp.h

    def __init__(self, url: str) -> None:
        target = configured(MetricsServer(url))
        assert isinstance(target.place, Endpoint)
        super().__init__(target.place, target.login, target.who)
        self._seen: dict[Any, int] = {}
        self._asked = self._size = 0

    async def get(self, path: str, query: Query, limit_bytes: int) -> DirectAnswer:
        answer = await super().get(path, query, limit_bytes)
        connector: Any = (await self._open()).connector
        # now, while they are open: a connection that nobody uses is closed after some seconds
        for kept in connector._conns.values():
            for protocol, _ in kept:
                self._count(protocol.transport.get_extra_info("socket"))
        self._asked += 1
        return answer

    def _count(self, one: Any) -> None:
        info = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        now = struct.unpack_from("=Q", info, self._TCP_INFO_BYTES_RECEIVED)[0]
        self._size += now - self._seen.get(one, 0)
        self._seen[one] = now

    def taken(self) -> tuple[int, int]:
        """(requests, bytes of their answers) since the last call."""
        asked, size, self._asked, self._size = self._asked, self._size, 0, 0
        return asked, size


@dataclass(frozen=True)
class Round:
    """One refresh."""

    name: str
    cpu_seconds: float
    wall_seconds: float
    wire_bytes: int
    requests: int


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def scraped(nodes: int, folder: Path) -> Iterator[str]:
    """Prometheus on the pages of so many nodes; its URL, once every card was scraped."""
    pages, port = _free_port(), _free_port()
    file = folder / "prometheus.yaml"
    sd = {"url": f"http://127.0.0.1:{pages}/targets", "refresh_interval": "1h"}
    scrape = {"scrape_interval": f"{SCRAPE_SECONDS}s", "scrape_timeout": "10s"}
    job = {"job_name": "dcgm", "honor_labels": False, "http_sd_configs": [sd]}
    file.write_text(yaml.safe_dump({"global": scrape, "scrape_configs": [job]}))
    server = [sys.executable, "-m", "tests.bench.gpu_pages", "--port", str(pages), "--nodes", str(nodes)]
    program = ensure_program("prometheus", print)
    asked = [str(program), f"--config.file={file}", f"--storage.tsdb.path={folder / 'tsdb'}"]
    asked += [f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"]
    children: list[subprocess.Popen[bytes]] = []
    try:
        children.append(subprocess.Popen(server))
        _until(lambda: bool(_json(f"http://127.0.0.1:{pages}/targets")))
        children.append(subprocess.Popen(asked, stderr=subprocess.DEVNULL))
        url = f"http://127.0.0.1:{port}"
        # as of the moment that the cockpit looks at, a little before now; a card that it does not know yet
        # would cost it a second whole reading (22 requests instead of 9)
        query = urllib.parse.quote("count(DCGM_FI_DEV_GPU_UTIL offset 2s)")

        def all_are_there() -> bool:
            found = _json(f"{url}/api/v1/query?query={query}")["data"]["result"]
            return bool(found) and int(found[0]["value"][1]) >= nodes * GPUS_EACH

        _until(all_are_there)
        yield url
    finally:
        for child in reversed(children):
            child.terminate()
            child.wait(30)


def _json(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return json.loads(answer.read())


def _until(is_true: Any) -> None:
    ends = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < ends:
        try:
            if is_true():
                return
        except (OSError, ValueError, KeyError):
            pass
        time.sleep(0.5)
    raise RuntimeError("Prometheus did not come to know every card")


def filled(nodes: int) -> Store:
    """Nodes of eight cards and the pods on them."""
    store = Store()
    ready = (Condition(type="Ready", status="True"),)
    store.apply(
        Batch(
            kind=Kind.NODE,
            changed=tuple(
                Node(
                    uid=node_name(number), name=node_name(number), conditions=ready, gpu_capacity=GPUS_EACH,
                    gpu_allocatable=GPUS_EACH, gpu_resource="nvidia.com/gpu", pool=f"pool-{number % 8}",
                )
                for number in range(nodes)
            ),
        )
    )  # fmt: skip
    store.apply(
        Batch(
            kind=Kind.POD,
            changed=tuple(
                Pod(
                    uid=f"pod-{number}", namespace="research", name=pod_name(number), phase="Running",
                    node=node_name(number), gpus=GPUS_EACH, gpu_resource="nvidia.com/gpu",
                )
                for number in range(nodes)
                if pod_name(number)
            ),
        )
    )  # fmt: skip
    return store


def drawn(store: Store) -> None:
    """What pages make of the numbers: the sums of the header, rows of pools, a heatmap of every card."""
    sums, pools = fleet(store), pools_of(store)
    cells = sum(len(block.levels) for group in heatmap.groups(store) for block in group.blocks)
    if cells < sums.gpus or not pools:
        raise RuntimeError(f"{cells} cells of {sums.gpus} cards in {len(pools)} pools: not what was planted")


async def measured(url: str, nodes: int, rounds: int) -> list[Round]:
    """Refreshes of the fleet, then of one screen of nodes; the first whole one is for nothing."""
    store, trends, clock = filled(nodes), Trends(), SystemClock()
    counting = Counting(url)
    source = PrometheusSource(Prometheus(counting))
    look = Focus()
    poller = Poller(
        source,
        store.apply,
        clock,
        store,
        looking=lambda: look,
        after_round=lambda seconds: trends.note(store, seconds),
    )
    found: list[Round] = []

    async def one(name: str) -> None:
        wall, cpu = time.perf_counter(), time.process_time()
        await poller.poll()
        drawn(store)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        asked, size = counting.taken()
        found.append(Round(name, cpu, wall, size, asked))

    await one("first")
    for _ in range(rounds):
        await asyncio.sleep(SCRAPE_SECONDS)  # another scrape: every number moved
        await one("fleet")
    look = Focus(nodes=tuple(node_name(number) for number in range(IN_SIGHT)))
    for _ in range(rounds):
        await one(f"{IN_SIGHT} nodes in sight")
    cards = store.records(Kind.GPU)
    sure = sum(card.mark is Mark.SURE for card in cards.values())
    known = sum(not isinstance(card.duty_ratio, Absent) for card in cards.values())
    wanted = sum(bool(pod_name(number)) for number in range(nodes)) * GPUS_EACH
    if (len(cards), sure, known) != (nodes * GPUS_EACH, wanted, nodes * GPUS_EACH):
        raise RuntimeError(f"{len(cards)} cards, {sure} sure, {known} with duty: not what was planted")
    await source.close()
    return found


def table(found: Sequence[Round], yardstick: float) -> list[str]:
    """Medians by kind of refresh."""
    rows = [("refresh", "CPU s", "wall s", "MB on the wire", "requests", "CPU / yardstick", "goals")]
    for name in dict.fromkeys(one.name for one in found):
        own = [one for one in found if one.name == name]
        cpu = statistics.median(one.cpu_seconds for one in own)
        wire = statistics.median(one.wire_bytes for one in own)
        goals = ""
        if name == "fleet":
            goals = f"{GOAL_CPU_SECONDS:.1f} s: {'met' if cpu <= GOAL_CPU_SECONDS else 'missed'}, "
            goals += f"{GOAL_WIRE_BYTES / 1e6:.0f} MB: {'met' if wire <= GOAL_WIRE_BYTES else 'missed'}"
        wall = statistics.median(one.wall_seconds for one in own)
        rows.append(
            (name, f"{cpu:.2f}", f"{wall:.2f}", f"{wire / 1e6:.2f}", str(max(one.requests for one in own)),
             f"{cpu / yardstick:.2f}", goals)
        )  # fmt: skip
    return aligned(rows)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.telemetry")
    parser.add_argument("--nodes", type=int, default=2_500)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    gc_tuning.expect_many()
    before = yardstick_seconds()
    with (
        tempfile.TemporaryDirectory(prefix="gpu-cockpit-bench-") as folder,
        scraped(options.nodes, Path(folder)) as url,
    ):
        found = asyncio.run(measured(url, options.nodes, options.rounds))
    yardstick = (before + yardstick_seconds()) / 2
    print(f"{options.nodes * GPUS_EACH:,} GPUs on {options.nodes:,} nodes; yardstick {yardstick:.3f} s")
    for line in table(found, yardstick):
        print(line)
    OUT.mkdir(exist_ok=True)
    rows = [{name: getattr(one, name) for name in Round.__dataclass_fields__} for one in found]
    (OUT / "telemetry.json").write_text(
        json.dumps({"yardstick_seconds": yardstick, "rounds": rows}, indent=1)
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
