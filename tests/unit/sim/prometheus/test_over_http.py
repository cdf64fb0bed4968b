"""The embedded Prometheus as its clients reach it: prometheus-api-client by its URL, the cockpit through the
API server to the Service that it finds by itself."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest

from cockpit.attach import AttachOptions
from cockpit.clock import SystemClock
from cockpit.commands.attached import Live, attached
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


async def asked_by(live: Live) -> PrometheusSource:
    """Whom it asks, once samples came."""
    await live.settle((Kind.NODE, Kind.POD), PATIENCE_SECONDS)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not live.attachment.store.records(Kind.GPU):
            await live._next(1.0)
    live.attachment.jobs.catch_up()
    assert isinstance(live.attachment._source, PrometheusSource)
    return live.attachment._source


@pytest.mark.waits
async def test_a_cockpit_finds_the_service_by_itself_and_is_told_who_idles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cockpit.actions.idle_reads.ONCE_SECONDS", PATIENCE_SECONDS)
    async with running(load(find("default")), tmp_path / "cluster", Options(warm_seconds=30.0)):
        clock = SystemClock()
        options = AttachOptions(kubeconfig=str(tmp_path / "cluster" / "kubeconfig"))
        async with attached(options, clock) as live:
            source = await asked_by(live)
            assert "monitoring/prometheus" in source.who
            await live.judge_idle_jobs()
            one = live.attachment
            rows = needs_human(one.store, one.jobs, clock.cluster_now(), verdicts=one.verdicts)
    found = {row.title.rpartition("/")[2]: row.sentence for row in rows}
    assert found["folding-0"].startswith("4 GPUs at 0% duty, no CPU, network or disk for at least 3 h")


async def test_the_configured_url_reaches_the_same(tmp_path: Path) -> None:
    options = Options(warm_seconds=30.0)
    async with running(load(find("default")), tmp_path / "cluster", options) as (_, cluster):
        url = f"http://127.0.0.1:{cluster.exporters.port}/prometheus"
        chosen = AttachOptions(
            kubeconfig=str(tmp_path / "cluster" / "kubeconfig"), prometheus=MetricsServer(url=url)
        )
        async with attached(chosen, SystemClock()) as live:
            source = await asked_by(live)
            assert url in source.who
            assert live.attachment.store.records(Kind.GPU)
