"""What the embedded kubelets tell of CPU and network, and the way to it through the API server."""

import asyncio
import re
from pathlib import Path

import pytest

from cockpit.attach import AttachOptions
from cockpit.clock import SystemClock
from cockpit.commands.attached import attached
from cockpit.errors import CockpitError
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.sim.actors.kubelet.metrics import cadvisor_metrics
from cockpit.sim.scenarios.loading import load
from cockpit.sim.serve import Options, running
from cockpit.telemetry.focus import Focus
from cockpit.views.worker_use import DATA, NETWORK, fact, use_of
from tests.unit.sim.kubelet.small_cluster import SmallCluster

SCENARIO = """
name: waits
title: What GPUs wait for
story: One job waits for the network, one for data, one for nothing.
seconds: 10m
warm-most: 2m
namespaces:
  - {name: work}
pools:
  - {name: a, nodes: 3, gpus: 8, product: NVIDIA-H100-80GB-HBM3, cpu: "96", memory: 1Ti, exporter: A}
bulk:
  - {count: 1, job: {name: net, namespace: work, kind: pod, gpus: 8, cpu: "32", memory: 8Gi, pool: a,
     load: network-bound, seconds: 10h}}
  - {count: 1, job: {name: data, namespace: work, kind: pod, gpus: 8, cpu: "8", memory: 8Gi, pool: a,
     load: data-starved, seconds: 10h}}
  - {count: 1, job: {name: busy, namespace: work, kind: pod, gpus: 8, cpu: "8", memory: 8Gi, pool: a,
     load: steady, seconds: 10h}}
"""
PATIENCE_SECONDS = 120.0


async def test_counters_rise_with_the_load() -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    cluster.pod(duration="forever", image_size="1Mi", cpu="2")
    await cluster.pass_(30)

    def counters() -> dict[str, float]:
        text = cadvisor_metrics(cluster.kubelets, "gpu-0")
        return {
            name: float(value)
            for name, value in re.findall(r"^(\w+_total)\{[^}]*\} (\S+)", text, re.MULTILINE)
        }

    before = counters()
    await cluster.pass_(10)
    after = counters()
    assert set(before) == {
        "container_cpu_usage_seconds_total",
        "container_fs_reads_bytes_total",
        "container_fs_writes_bytes_total",
        "container_network_receive_bytes_total",
        "container_network_transmit_bytes_total",
    }
    assert after["container_cpu_usage_seconds_total"] - before[
        "container_cpu_usage_seconds_total"
    ] == pytest.approx(20, abs=0.1)
    assert all(after[name] > before[name] for name in before)
    assert cadvisor_metrics(cluster.kubelets, "gpu-9").count("{") == 0


async def test_what_gpus_wait_for_is_told_without_a_prometheus(tmp_path: Path) -> None:
    file = tmp_path / "waits.yaml"
    file.write_text(SCENARIO)
    clock = SystemClock()
    async with running(load(file), tmp_path / "cluster", Options(seed=3, warm_seconds=60.0)):
        kubeconfig = str(tmp_path / "cluster" / "kubeconfig")
        options = AttachOptions(kubeconfig=kubeconfig, write=True, telemetry_seconds=1.0)
        async with attached(options, clock) as live:
            await live.settle((Kind.NODE, Kind.POD), PATIENCE_SECONDS)
            store = live.attachment.store
            pods: dict[str, Pod] = {
                name: next(one for one in store.records(Kind.POD).values() if one.name.startswith(name))
                for name in ("net", "data", "busy")
            }
            live.attachment.look_at(Focus(pods=tuple(one.uid for one in pods.values())))
            said: dict[str, str] = {}
            ends = clock.monotonic() + PATIENCE_SECONDS
            wanted = {"net": NETWORK, "data": DATA}
            while clock.monotonic() < ends and not _says(said, wanted):
                await asyncio.sleep(0.5)
                for name, one in pods.items():
                    pair = fact([one], store)
                    said[name] = pair.value if pair is not None else ""
            assert _says(said, wanted), said
            assert "wait" not in said["busy"]
            assert use_of(pods["net"], store).receive_bytes_per_second == pytest.approx(1.16e9, rel=0.1)


def _says(said: dict[str, str], wanted: dict[str, str]) -> bool:
    return all(f"GPUs wait for {what} " in said.get(name, "") for name, what in wanted.items())


async def test_a_kubelets_other_paths_and_other_peoples_rights_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "waits.yaml"
    file.write_text(SCENARIO)
    path = "/api/v1/nodes/{}/proxy/{}"
    async with running(load(file), tmp_path / "cluster", Options(seed=3)):
        kubeconfig = str(tmp_path / "cluster" / "kubeconfig")
        for write in (True, False):
            options = AttachOptions(kubeconfig=kubeconfig, write=write)
            async with attached(options, SystemClock()) as live:
                await live.settle((Kind.NODE,), PATIENCE_SECONDS)
                session = live.attachment.session
                assert session is not None
                node = next(iter(live.attachment.store.records(Kind.NODE).values())).name
                cadvisor = path.format(node, "metrics/cadvisor")
                if write:
                    answer = await session.request("GET", cadvisor)
                    assert answer.ok and b"container_cpu_usage_seconds_total" in answer.body
                    for other in ("exec/work/net/main", "run/work/net/main", "containerLogs/work/net/main"):
                        assert (await session.request("GET", path.format(node, other))).status == 403
                    assert (await session.request("GET", path.format("nobody", "metrics"))).status == 404
                else:
                    with pytest.raises(CockpitError, match="Read-only"):
                        await session.request("GET", cadvisor)
