"""A real Prometheus scrapes the exporter: what honorLabels and empty labels become, and no fault is found."""

import json
import re
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from cockpit.model.gpu import Mark
from cockpit.telemetry.cards.round import gpus
from cockpit.telemetry.sample import Sample
from tests.bed.distro import ensure_program
from tests.bed.layout import free_ports
from tests.unit.exporter.fake_kubelet import FakeKubelet
from tests.unit.exporter.standin import Box
from tests.unit.exporter.test_dcgm_types import DECLARED

pytestmark = pytest.mark.real

TARGET = {"namespace": "monitoring", "pod": "cockpit-exporter-x7", "container": "exporter"}


@dataclass
class Scraped:
    """Prometheus with two jobs on one exporter: labels honoured, and not."""

    url: str

    def rows(self, query: str) -> list[dict[str, Any]]:
        address = f"{self.url}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
        with urllib.request.urlopen(address, timeout=10) as answer:
            found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
        return found

    def wait_for(self, query: str, count: int) -> list[dict[str, Any]]:
        patience = time.monotonic() + 60
        while time.monotonic() < patience:
            try:
                found = self.rows(query)
            except OSError:
                continue
            if len(found) >= count:
                return found
        raise AssertionError(f"{query} did not reach {count} rows")


@pytest.fixture
def scraped(box: Box, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Scraped]:
    """A parameter is further flags of the exporter."""
    program = ensure_program("prometheus", print)
    kubelet = FakeKubelet(tmp_path)
    uuids = [f"GPU-{card:08d}-1111-2222-3333-444444444444" for card in range(3)]
    kubelet.holds("team-a/trainer-0", uuids[0])
    kubelet.holds("team-b/note-1", f"{uuids[1]}::0")
    kubelet.holds("team-c/note-2", f"{uuids[1]}::1")
    box.write("gpus 4", "mig 3 0 5 0 1g.10gb 9728", "set util 0 57")
    users = tmp_path / "users"
    users.write_text("prometheus:secret\n")
    command = [sys.executable, "-m", "cockpit_exporter", "--listen", "127.0.0.1:0", "--interval", "1"]
    command += ["--pod-resources", str(kubelet.socket), "--basic-auth-file", str(users), "--node", "node-7"]
    command += getattr(request, "param", ())
    exporter = subprocess.Popen(command, env=box.environment, stderr=subprocess.PIPE, text=True)
    assert exporter.stderr is not None
    match = re.search(r"serving on \S+:(\d+)", exporter.stderr.readline())
    assert match is not None
    jobs = [
        {
            "job_name": name,
            "honor_labels": honours,
            "basic_auth": {"username": "prometheus", "password": "secret"},
            "static_configs": [{"targets": [f"127.0.0.1:{match[1]}"], "labels": TARGET}],
        }
        for name, honours in (("honoured", True), ("renamed", False))
    ]
    file = tmp_path / "prometheus.yaml"
    settings = {"scrape_interval": "1s", "scrape_timeout": "1s"}
    file.write_text(yaml.safe_dump({"global": settings, "scrape_configs": jobs}))
    port = free_ports(["prometheus"])["prometheus"]
    flags = (f"--config.file={file}", f"--storage.tsdb.path={tmp_path / 'data'}", "--log.level=error")
    server = subprocess.Popen([str(program), *flags, f"--web.listen-address=127.0.0.1:{port}"])
    try:
        yield Scraped(f"http://127.0.0.1:{port}")
    finally:
        for process in (server, exporter):
            process.terminate()
            process.wait(timeout=30)
        exporter.stderr.close()
        kubelet.close()


def samples(rows: list[dict[str, Any]]) -> list[Sample]:
    found = []
    for row in rows:
        labels = {name: value for name, value in row["metric"].items() if name != "__name__"}
        found.append(Sample(row["metric"]["__name__"], labels, float(row["value"][1]), None))
    return found


@pytest.mark.parametrize("job", ["honoured", "renamed"])
def test_the_cockpit_reads_the_right_holder_through_either_scrape(scraped: Scraped, job: str) -> None:
    ours = f'{{__name__=~"cockpit_gpu_.*",job="{job}"}}'
    scraped.wait_for(f'cockpit_gpu_holder{{job="{job}"}}', 3)
    scraped.wait_for(f'cockpit_gpu_engine_active_ratio{{job="{job}"}}', 5)
    records = {one.uuid[:12]: one for one in gpus(samples(scraped.rows(ours)))}
    assert {uuid: (one.mark, one.pod_name) for uuid, one in records.items()} == {
        "GPU-00000000": (Mark.GUESSED, "trainer-0"),
        "GPU-00000001": (Mark.SHARED, "note-1"),
        "GPU-00000002": (Mark.UNALLOCATED, ""),
        "GPU-00000003": (Mark.UNALLOCATED, ""),
    }
    assert records["GPU-00000000"].duty_ratio == 0.57
    assert {one.node for one in records.values()} == {"node-7"}


def test_an_empty_label_keeps_the_targets_away_and_no_sample_is_dropped(scraped: Scraped) -> None:
    assert len(scraped.wait_for("up == 1", 2)) == 2  # both jobs, each in its own second
    scraped.wait_for('cockpit_gpu_holder{job="honoured"}', 3)
    power = scraped.rows('cockpit_gpu_power_watts{job="honoured"}')
    pods = {row["metric"]["gpu"]: row["metric"].get("pod", "") for row in power}
    assert pods == {"0": "trainer-0", "1": "", "2": "", "3": ""}
    dropped = "scrape_samples_scraped - scrape_samples_post_metric_relabeling"
    assert [row["value"][1] for row in scraped.rows(dropped)] == ["0", "0"]


@pytest.mark.parametrize("scraped", [("--dcgm-names", "A")], indirect=True)
def test_under_dcgms_names_prometheus_takes_counters_for_counters(scraped: Scraped) -> None:
    energy = scraped.wait_for('DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{job="honoured"}', 4)
    assert {row["metric"]["UUID"][:4] for row in energy} == {"GPU-"}
    with urllib.request.urlopen(f"{scraped.url}/api/v1/metadata", timeout=10) as answer:
        told = {name: one[0]["type"] for name, one in json.load(answer)["data"].items()}
    types = {name: kind for name, kind in told.items() if name.startswith("DCGM_")}
    assert len(types) > 20
    assert types == {name: DECLARED.get(name, "gauge") for name in types}
    assert "counter" in types.values()


@pytest.mark.parametrize("page", ["own", "own_without_attribution", "dcgm_a", "dcgm_c"])
def test_promtool_finds_no_fault_in_our_names(page: str) -> None:
    wrapper = ensure_program("prometheus", print)
    tool = wrapper.parents[1] / "root/usr/bin/promtool"
    if not tool.exists():
        pytest.skip("promtool is not beside this prometheus")
    golden = Path(__file__).with_name("golden") / f"{page}.txt"
    with golden.open() as file:
        done = subprocess.run(
            [str(tool), "check", "metrics"],
            stdin=file,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    complaints = [line for line in done.stderr.splitlines() if "DCGM_" not in line]
    assert complaints == []
