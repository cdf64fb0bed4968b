"""What the embedded Prometheus answers is what its exporters told then, hours back and without storing it."""

import gc
from typing import Any

import pytest

from cockpit.kube.resource import PODS
from cockpit.sim.actors.kubelet.metrics import cadvisor_samples
from cockpit.sim.cluster import REMEMBERS_SECONDS, EmbeddedCluster
from cockpit.sim.prometheus.evaluate import Unanswerable
from cockpit.sim.prometheus.promql import BadQuery
from tests.unit.sim.prometheus.remembering import answered, begun, lived

HOUR = 3_600.0


async def ranged(cluster: EmbeddedCluster, query: str, hours: float, step: str = "60s") -> list[Any]:
    now = cluster.clock.now()
    asked = {"query": query, "start": f"{now - hours * HOUR:.3f}", "end": f"{now:.3f}", "step": step}
    rows: list[Any] = (await cluster.prometheus.query_range(asked))["result"]
    return rows


@pytest.mark.parametrize(("scenario", "seed"), [("default", 1), ("default", 2), ("night-shift", 3)])
async def test_every_moment_is_told_later_as_its_pages_told_it(scenario: str, seed: int) -> None:
    cluster = await begun(scenario, seed)
    noted = await lived(cluster, seed, 12)
    await cluster.engine.advance(300.0)
    for at, pages in noted.items():
        assert await answered(cluster, at) == pages, at
    assert len({len(pages) for pages in noted.values()}) > 3, "exporters and cards came and went"
    holders = [{labels for _, labels in pages} for pages in noted.values()]
    assert holders[0] - holders[-1], "pods ended meanwhile, and were still told of"


async def test_two_clusters_of_one_seed_answer_the_same() -> None:
    first, second = await begun(), await begun()
    query = '{__name__="DCGM_FI_DEV_POWER_USAGE",pod!=""}'
    assert await ranged(first, query, 3.0) == await ranged(second, query, 3.0)


async def test_hours_are_there_at_once_of_what_was_there_before() -> None:
    cluster = await begun()
    duty = await ranged(cluster, '{__name__="DCGM_FI_DEV_GPU_UTIL",pod=~"folding.*|captions.*"}', 3.0, "30s")
    assert len(duty) == 8
    for row in duty:
        values = [float(value) for _, value in row["values"]]
        assert len(values) == 361
        is_idle = row["metric"]["pod"].startswith("folding")
        assert (set(values) == {0.0}) == is_idle
        assert is_idle or 10 < sum(values) / len(values) < 30
    (energy, power) = [
        (await ranged(cluster, f'{name}{{pod=~"captions.*",gpu="0"}}', 3.0, "15s"))[0]["values"]
        for name in ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "DCGM_FI_DEV_POWER_USAGE")
    ]
    joules = (float(energy[-1][1]) - float(energy[0][1])) / 1000
    watts = sum(float(value) for _, value in power[1:]) / (len(power) - 1)
    assert joules == pytest.approx(watts * 3 * HOUR, rel=0.02)
    joules_rise = [float(value) for _, value in energy]
    assert joules_rise == sorted(joules_rise)


async def test_nothing_is_told_of_a_time_before_the_cluster_or_beyond_what_is_kept() -> None:
    cluster = await begun()
    early = cluster.clock.now() - REMEMBERS_SECONDS - 600.0
    assert await answered(cluster, early) == {}
    rows = await ranged(cluster, '{__name__="DCGM_FI_DEV_GPU_UTIL",pod=~"bert-large.*"}', 3.0)
    assert rows
    assert all(len(row["values"]) <= 2 for row in rows), "it began half a minute ago"


async def test_rates_of_counters_are_the_model_s_rates() -> None:
    cluster = await begun()
    await cluster.engine.advance(300.0)
    by = "max by (namespace, pod, container)"
    rows = await cluster.prometheus.query(
        {"query": f'sum by (pod) ({by} (rate(container_cpu_usage_seconds_total{{container!=""}}[3m])))'}
    )
    rates = {row["metric"]["pod"]: float(row["value"][1]) for row in rows["result"]}
    now = cluster.clock.now()
    runs = {
        run.name: run
        for run in cluster.kubelets.pods.values()
        if run.start_time and now - run.start_time > 250 and sum(1 for _ in cadvisor_samples(run, now)) == 6
    }
    assert len(runs) > 10
    for name, run in runs.items():
        counters = [value for metric, _, value in cadvisor_samples(run, now) if "cpu" in metric]
        earlier = [value for metric, _, value in cadvisor_samples(run, now - 60) if "cpu" in metric]
        assert rates[name] == pytest.approx((counters[0] - earlier[0]) / 60, rel=1e-3, abs=1e-4), name


async def test_a_kubelet_that_is_silent_tells_nothing_of_its_pods_meanwhile() -> None:
    cluster = await begun()
    query = {"query": 'container_network_receive_bytes_total{pod=~"folding.*"}'}
    assert (await cluster.prometheus.query(query))["result"]
    (pod,) = [tree for tree in cluster.engine.cache(PODS) if tree["metadata"]["name"].startswith("folding")]
    cluster.outage(pod["spec"]["nodeName"], is_out=True)
    await cluster.engine.advance(15.0)
    assert (await cluster.prometheus.query(query))["result"] == []


async def test_memory_is_bounded_however_long_it_lives_and_is_asked() -> None:
    cluster = await begun()
    query = '{__name__=~"DCGM_FI_DEV_POWER_USAGE|DCGM_FI_DEV_GPU_UTIL"}'
    counts = []
    for _ in range(3):
        await cluster.engine.advance(REMEMBERS_SECONDS / 2)
        await ranged(cluster, query, 3.0, "300s")
        gc.collect()
        marks = sum(len(life._marks) for lives in cluster.fleet._lives.values() for life in lives)
        cards = sum(map(len, cluster.fleet._lives.values()))
        counts.append(marks / cards)
        held = cluster.fleet._holders
        assert sum(map(len, held._tenures.values())) < 3_000
        assert len(held._loads) + len(held._noted) < 400
    assert max(counts) <= REMEMBERS_SECONDS / 300.0 + 2


# ---- what it does not answer


BAD = (
    "",
    "up{",
    "rate(up)",
    "up[5m]",
    "avg_over_time(up[5m])",
    "histogram_quantile(0.9, up)",
    "sum without (pod) (up)",
    "topk(3, up)",
    "up + 1",
    "up and up",
    "up offset 5m",
    "up @ 1",
    '{pod=~"("}',
    '{pod=~"(?=x)"}',
    '{pod=""}',
    "{}",
    'label_replace(up, "a", "b")',
    "vector(up)",
    "1",
    "(" * 200 + "up" + ")" * 200,
    "up\x00",
)


@pytest.mark.parametrize("query", BAD)
async def test_what_the_cockpit_does_not_ask_is_bad_data(query: str) -> None:
    cluster = await begun()
    with pytest.raises(BadQuery, match=r'^invalid parameter "query": '):
        await cluster.prometheus.query({"query": query})


@pytest.mark.parametrize(
    ("more", "about"),
    [
        ({"time": "soon"}, '"time"'),
        ({"start": "1", "end": "0", "step": "1"}, '"end"'),
        ({"start": "0", "end": "1", "step": "0"}, '"step"'),
        ({"start": "0", "end": "1", "step": "x"}, '"step"'),
        ({"start": "0", "end": "20000", "step": "1"}, "11,000 points"),
        ({"end": "1", "step": "1"}, '"start"'),
    ],
)
async def test_a_parameter_that_is_none_is_named(more: dict[str, str], about: str) -> None:
    cluster = await begun()
    asked = {"query": "vector(1)", **more}
    answer = cluster.prometheus.query if "time" in more else cluster.prometheus.query_range
    with pytest.raises(BadQuery, match=about):
        await answer(asked)


async def test_two_series_that_are_one_without_their_names_are_refused() -> None:
    cluster = await begun()
    with pytest.raises(Unanswerable, match="same labelset"):
        await cluster.prometheus.query({"query": 'timestamp({__name__=~"DCGM_FI_DEV_(GPU_UTIL|FB_USED)"})'})
