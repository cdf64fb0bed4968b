"""The recording rules that ship with the exporter, taken by promtool and evaluated by Debian's Prometheus:
they record the sum of the parts, and the cockpit draws the last hour of pools and fleet from them."""

import asyncio
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from cockpit.model.metrics_server import NO_METRICS_SERVER
from cockpit.sim.scenarios.loading import load
from cockpit.sim.serve import Options, running
from cockpit.telemetry.endpoint import Endpoint
from cockpit.telemetry.history import Past
from cockpit.telemetry.http_client import Direct
from cockpit.telemetry.pool_history import CARDS_COUNT, DUTY_COUNT, DUTY_SUM, computed, duty_line, recorded
from cockpit.telemetry.prometheus import Prometheus
from tests.bed.distro import ensure_program
from tests.bed.layout import free_ports

pytestmark = pytest.mark.real

RULES = (
    Path(__file__).resolve().parents[2]
    / "deploy/chart/cockpit-exporter/files/recording-rules/prometheusrule.yaml"
)
PATIENCE_SECONDS = 180.0
SCENARIO = """
name: rules
title: Nodes of our own exporter
story: Whole cards, shared ones and cut ones, held and free.
seconds: 10m
warm-most: 2m
namespaces:
  - {name: work}
pools:
  - {name: own, nodes: 4, gpus: 8, product: NVIDIA-H100-80GB-HBM3, cpu: "96", memory: 1Ti, exporter: cockpit}
  - {name: few, nodes: 1, gpus: 2, product: NVIDIA-A10G, cpu: "32", memory: 128Gi, replicas: 4,
     exporter: cockpit}
  - {name: cut, nodes: 1, gpus: 2, product: NVIDIA-A100-SXM4-40GB, cpu: "64", memory: 512Gi,
     exporter: cockpit, mig: {1g.5gb: 4, 3g.20gb: 2}}
bulk:
  - {count: 3, job: {name: train, namespace: work, kind: pod, gpus: 8, cpu: "8", memory: 8Gi, pool: own,
     load: training, seconds: 10h}}
  - {count: 3, job: {name: note, namespace: work, kind: pod, cpu: "1", memory: 1Gi, pool: few,
     load: steady, seconds: 10h}}
  - {count: 2, job: {name: serve, namespace: work, kind: pod, resource: nvidia.com/mig-3g.20gb,
     cpu: "1", memory: 1Gi, load: steady, seconds: 10h}}
"""


def rules_file(folder: Path) -> Path:
    """The rules as a Prometheus without the operator takes them, evaluated every second."""
    groups = yaml.safe_load(RULES.read_text())["spec"]["groups"]
    for one in groups:
        one["interval"] = "1s"
    file = folder / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": groups}))
    return file


def test_promtool_takes_the_rules(tmp_path: Path) -> None:
    program = ensure_program("prometheus", print)
    beside = (program.with_name("promtool"), program.parents[1] / "root/usr/bin/promtool")
    promtool = next((one for one in beside if one.exists()), None)
    assert promtool is not None, f"promtool is not beside {program}"
    done = subprocess.run(
        [promtool, "check", "rules", rules_file(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "6 rules found" in done.stdout


async def answered(prometheus: Prometheus, query: str, at: float | None = None) -> list[Any]:
    """Rows, once there are any."""
    ends = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < ends:
        rows = await prometheus.query(query, at)
        if rows:
            return rows
        await asyncio.sleep(0.5)
    raise AssertionError(f"nothing is told for {query}")


async def number(prometheus: Prometheus, query: str, at: float | None = None) -> float:
    return float((await answered(prometheus, query, at))[0]["value"][1])


async def test_what_is_recorded_is_the_sum_of_the_parts(tmp_path: Path) -> None:
    program = await asyncio.to_thread(ensure_program, "prometheus", print)
    scenario = tmp_path / "rules-scenario.yaml"
    scenario.write_text(SCENARIO)
    options = Options(seed=5, warm_seconds=60.0)
    async with running(load(scenario), tmp_path / "cluster", options) as (_, cluster):
        port = free_ports(["prometheus"])["prometheus"]
        sd = {"url": f"http://127.0.0.1:{cluster.exporters.port}/targets", "refresh_interval": "5s"}
        job = {"job_name": "gpus", "honor_labels": True, "http_sd_configs": [sd]}
        settings = {
            "global": {"scrape_interval": "2s", "scrape_timeout": "2s"},
            "rule_files": [str(rules_file(tmp_path))],
            "scrape_configs": [job],
        }
        (tmp_path / "prometheus.yaml").write_text(yaml.safe_dump(settings))
        process = await asyncio.create_subprocess_exec(
            str(program),
            f"--config.file={tmp_path / 'prometheus.yaml'}",
            f"--storage.tsdb.path={tmp_path / 'tsdb'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--log.level=error",
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        prometheus = Prometheus(Direct(Endpoint("http", "127.0.0.1", port), NO_METRICS_SERVER, "Prometheus"))
        try:
            await until_it_listens(port)
            nodes = tuple(cluster.fleet.nodes())
            await answered(prometheus, f"count({CARDS_COUNT}) == {len(nodes)} and count({DUTY_SUM}) >= 5")
            await check_parts(prometheus, nodes)
            await check_lines(prometheus, nodes)
        finally:
            await prometheus.close()
            process.terminate()
            await process.wait()


async def until_it_listens(port: int) -> None:
    ends = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            assert time.monotonic() < ends, "Prometheus does not listen"
            await asyncio.sleep(0.2)
            continue
        writer.close()
        return


async def check_parts(prometheus: Prometheus, nodes: tuple[str, ...]) -> None:
    """At the moment of an evaluation the cards' own series add up to what was recorded."""
    at = await number(prometheus, f"min(timestamp({CARDS_COUNT}))")
    cards = await answered(prometheus, "cockpit_gpu_up", at)
    assert await number(prometheus, f"sum({CARDS_COUNT})", at) == len(cards) == 4 * 8 + 2 + 2
    watts = [float(row["value"][1]) for row in await answered(prometheus, "cockpit_gpu_power_watts", at)]
    told = await number(prometheus, "sum(node:cockpit_gpu_power_watts:sum)", at)
    assert told == pytest.approx(sum(watts))
    holders = await answered(prometheus, "cockpit_gpu_holder", at)
    held = {(row["metric"]["uuid"], row["metric"].get("mig_instance", "")) for row in holders}
    duties: dict[tuple[str, str], float] = {}
    for name in ("cockpit_gpu_engine_active_ratio", "cockpit_gpu_duty_ratio"):
        for row in await answered(prometheus, name, at):
            key = (row["metric"]["uuid"], row["metric"].get("mig_instance", ""))
            if name.endswith("duty_ratio") or key[1]:
                duties[key] = float(row["value"][1])
    mine = [duties[key] for key in held if key in duties]
    assert await number(prometheus, f"sum({DUTY_COUNT})", at) == len(mine) >= 3 * 8 + 1 + 2
    assert await number(prometheus, f"sum({DUTY_SUM})", at) == pytest.approx(sum(mine))
    used = await answered(prometheus, "cockpit_gpu_memory_used_bytes", at)
    told = await number(prometheus, "sum(node:cockpit_gpu_memory_used_bytes:sum)", at)
    assert told == pytest.approx(sum(float(row["value"][1]) for row in used))
    one = await number(prometheus, recorded((nodes[0],))[1], at)
    assert one <= await number(prometheus, recorded(nodes)[1], at)


async def check_lines(prometheus: Prometheus, nodes: tuple[str, ...]) -> None:
    """What the cockpit asks for an hour's line: recorded for all nodes, else of the cards themselves."""
    end = await number(prometheus, "vector(time())")
    asked: list[str] = []

    class Listening:
        async def query(self, promql: str, at_seconds: float | None = None) -> list[Any]:
            return await prometheus.query(promql, at_seconds)

        async def query_range(self, promql: str, start: float, end: float, step: int) -> list[Any]:
            asked.append(promql)
            return await prometheus.query_range(promql, start, end, step)

    line = await duty_line(Listening(), Past(key="fleet/duty", gpu_nodes=len(nodes)), end)
    assert asked == list(recorded())
    own = tuple(name for name in nodes if name.startswith("own"))
    pool = await duty_line(Listening(), Past(key="pool/own/duty", nodes=own), end)
    assert asked[2:] == list(recorded(own))
    more = await duty_line(Listening(), Past(key="pool/own/duty", nodes=(*own, "silent")), end)
    assert asked[4:] == list(computed((*own, "silent")))
    for one in (line, pool, more):
        assert one[-1] is not None and 0.1 < one[-1] <= 1.0
    assert more[-1] == pytest.approx(pool[-1], abs=0.2)
