"""CPU and network of pods by a real Prometheus: scraped twice, with sandboxes and loopback, renamed."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from cockpit.model.metrics_server import NO_METRICS_SERVER
from cockpit.model.pod_use import PodUse
from cockpit.telemetry.endpoint import Endpoint
from cockpit.telemetry.faults import TelemetryError
from cockpit.telemetry.http_client import Direct
from cockpit.telemetry.prometheus import Prometheus
from cockpit.telemetry.uses import query, uses
from tests.bed.distro import ensure_program
from tests.bed.layout import free_ports
from tests.unit.telemetry.builders import pod

pytestmark = pytest.mark.real

PATIENCE_SECONDS = 90.0
WINDOW = "8s"
CORES, RECEIVED, SENT = 3.0, 120e6, 40e6
OF_POD = 'namespace="team-a",pod="w-0"'
PAGE = {
    # two containers, the pod's own cgroup that has both, and the sandbox
    f'container_cpu_usage_seconds_total{{container="main",{OF_POD}}}': 2.5,
    f'container_cpu_usage_seconds_total{{container="side",{OF_POD}}}': 0.5,
    f'container_cpu_usage_seconds_total{{container="",{OF_POD}}}': 3.0,
    f'container_cpu_usage_seconds_total{{container="POD",{OF_POD}}}': 0.1,
    'container_cpu_usage_seconds_total{container="main",namespace="team-b",pod="w-0"}': 9.0,
    f'container_network_receive_bytes_total{{interface="eth0",{OF_POD}}}': 100e6,
    f'container_network_receive_bytes_total{{interface="net1",{OF_POD}}}': 20e6,
    f'container_network_receive_bytes_total{{interface="lo",{OF_POD}}}': 7e9,
    f'container_network_transmit_bytes_total{{interface="eth0",{OF_POD}}}': 40e6,
}
"""Series, and by how much each grows in a second."""


class Kubelet(BaseHTTPRequestHandler):
    """Counters that grow with the clock."""

    def do_GET(self) -> None:
        now = time.time() - 1e9
        body = "".join(f"{series} {now * grows:.3f}\n" for series, grows in PAGE.items()).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Quiet."""


@contextmanager
def kubelet() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Kubelet)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def job(name: str, port: int, labels: dict[str, str], *, honours: bool) -> dict[str, Any]:
    targets = [{"targets": [f"127.0.0.1:{port}"], "labels": labels}]
    path = "/metrics/cadvisor"
    return {"job_name": name, "honor_labels": honours, "static_configs": targets, "metrics_path": path}


RENAMING = {"namespace": "kube-system", "pod": "kubelet-x"}
JOBS: dict[str, list[tuple[str, dict[str, str], bool]]] = {
    "honoured, and by two jobs": [("a", {}, True), ("b", {}, True)],
    "renamed": [("a", RENAMING, False)],
}


@pytest.mark.parametrize("how", sorted(JOBS))
async def test_rates_are_those_of_the_containers(tmp_path: Path, how: str) -> None:
    program = await asyncio.to_thread(ensure_program, "prometheus", print)
    port = free_ports(("prometheus",))["prometheus"]
    file = tmp_path / "prometheus.yaml"
    with kubelet() as page:
        scrapes = [job(name, page, labels, honours=honours) for name, labels, honours in JOBS[how]]
        every = {"scrape_interval": "1s", "scrape_timeout": "1s"}
        file.write_text(yaml.safe_dump({"global": every, "scrape_configs": scrapes}))
        process = await asyncio.create_subprocess_exec(
            str(program),
            f"--config.file={file}",
            f"--storage.tsdb.path={tmp_path / 'tsdb'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--log.level=error",
        )
        asked = Prometheus(Direct(Endpoint("http", "127.0.0.1", port), NO_METRICS_SERVER, "Prometheus"))
        try:
            found = await until_right(asked)
        finally:
            await asked.close()
            process.terminate()
            await process.wait()
    assert is_right(found), found


async def until_right(asked: Prometheus) -> list[PodUse]:
    """The answer once it is right; the last one where it never was."""
    pods = [pod("w-0")]
    found: list[PodUse] = []
    ends = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < ends and not is_right(found):
        await asyncio.sleep(0.5)
        try:
            found = uses(await asked.query(query(pods, WINDOW)), pods)
        except TelemetryError:
            continue  # it has only just started
    return found


def is_right(found: list[PodUse]) -> bool:
    """One pod, and each number within a tenth: scrapes do not begin to the millisecond."""
    if len(found) != 1:
        return False
    one = found[0]
    shown = (one.cpu_cores, one.receive_bytes_per_second, one.transmit_bytes_per_second)
    return all(
        isinstance(number, float) and abs(number - true) <= 0.1 * true
        for number, true in zip(shown, (CORES, RECEIVED, SENT), strict=True)
    )
