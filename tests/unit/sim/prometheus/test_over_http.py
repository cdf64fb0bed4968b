"""The embedded Prometheus as its clients reach it: prometheus-api-client by its URL, the cockpit through the
API server to the Service that it finds by itself."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest

from cockpit.attach import AttachOptions
from cockpit.clock import SystemClock
from cockpit.commands.live import attached
from cockpit.model.metrics_server import MetricsServer
from cockpit.model.record import Kind
from cockpit.sim.scenarios.loading import find, load
from cockpit.sim.serve import Options, running
from cockpit.telemetry.source import PrometheusSource
from cockpit.triage.attention import needs_human
from tests.unit.sim.prometheus.remembering import begun, labels_of, told

PATIENCE_SECONDS = 120.0


async def test_the_usual_client_library_reads_instant_and_range_answers() -> None:
    from prometheus_api_client import PrometheusConnect

    cluster = await begun()
    await cluster.exporters.start(more=cluster.prometheus.add_to)
    try:
        client = PrometheusConnect(url=f"http://127.0.0.1:{cluster.exporters.port}/prometheus")
        now = cluster.clock.now()
        rows = await asyncio.to_thread(client.custom_query, "DCGM_FI_DEV_GPU_TEMP", {"time": now})
        pages = told(cluster)
        found = {("DCGM_FI_DEV_GPU_TEMP", labels_of(row["metric"])): float(row["value"][1]) for row in rows}
        assert found == {key: value for key, value in pages.items() if key[0] == "DCGM_FI_DEV_GPU_TEMP"}
        start, end = datetime.fromtimestamp(now - 3_600, UTC), datetime.fromtimestamp(now, UTC)
        lines = await asyncio.to_thread(
            client.custom_query_range, 'DCGM_FI_DEV_GPU_UTIL{pod=~"captions.*"}', start, end, "30"
        )
        assert [len(row["values"]) for row in lines] == [121] * 4
        url = f"http://127.0.0.1:{cluster.exporters.port}/prometheus/api/v1/query"
        async with aiohttp.ClientSession() as http:
            answer = await http.post(url, data={"query": "topk(1, up)"})
            tree = await answer.json()
            assert (answer.status, tree["status"], tree["errorType"]) == (400, "error", "bad_data")
            answer = await http.get(url, params={"query": 'timestamp({__name__=~"DCGM_FI_DEV_FB_.*"})'})
            assert (answer.status, (await answer.json())["errorType"]) == (422, "execution")
    finally:
        await cluster.exporters.stop()


@pytest.mark.waits
async def test_a_fresh_cockpit_finds_it_and_sees_an_idle_and_a_starved_job_at_once(tmp_path: Path) -> None:
    async with running(load(find("default")), tmp_path / "cluster", Options(warm_seconds=30.0)):
        clock = SystemClock()
        options = AttachOptions(kubeconfig=str(tmp_path / "cluster" / "kubeconfig"))
        async with attached(options, clock) as live:
            await live.settle((Kind.NODE, Kind.POD), PATIENCE_SECONDS, with_gpus=True)
            source = live.attachment._source
            assert isinstance(source, PrometheusSource)
            assert "monitoring/prometheus" in source.who
            await live.judge_idle_jobs()
            one = live.attachment
            rows = needs_human(one.store, one.jobs, clock.cluster_now(), verdicts=one.verdicts)
    found = {row.subject: row.sentence for row in rows if "students/" in row.subject}
    sentences = " / ".join(f"{subject} {sentence}" for subject, sentence in found.items())
    assert "folding-0 4 GPUs at 0% duty, no CPU, network or disk for at least 3 h" in sentences
    assert "captions-0 4 GPUs underutilised: duty" in sentences


async def test_the_configured_url_reaches_the_same(tmp_path: Path) -> None:
    options = Options(warm_seconds=30.0)
    async with running(load(find("default")), tmp_path / "cluster", options) as (_, cluster):
        url = f"http://127.0.0.1:{cluster.exporters.port}/prometheus"
        chosen = AttachOptions(
            kubeconfig=str(tmp_path / "cluster" / "kubeconfig"), prometheus=MetricsServer(url=url)
        )
        async with attached(chosen, SystemClock()) as live:
            await live.settle((Kind.NODE, Kind.POD), PATIENCE_SECONDS, with_gpus=True)
            source = live.attachment._source
            assert isinstance(source, PrometheusSource)
            assert url in source.who
            assert live.attachment.store.records(Kind.GPU)
