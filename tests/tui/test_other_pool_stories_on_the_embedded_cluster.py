"""The stories of pools with other names, sizes and driver times, at the ends of what `--speed` takes: what is
told holds for them as well."""

from pathlib import Path

import pytest

from cockpit.model.remembered import Growth
from cockpit.pools.stage import GPUS_LIMIT_SECONDS
from cockpit.views import format as fmt
from tests.tui.stepped import START
from tests.tui.test_pool_stories_on_the_embedded_cluster import (
    JOBS,
    NODES,
    POOLS,
    has_age,
    line_of,
    played,
)

SLOWEST, FASTEST = 0.01, 1_000.0


def driver_story(pool: str, gpus: int, minutes: int) -> str:
    """A node of that pool joins after half a minute and shows its cards so much later."""
    return f"""
name: driver
title: A driver that takes its time
story: A job waits for a node whose driver is being installed.
seconds: 2h
namespaces:
  - {{name: lab}}
pools:
  - {{name: {pool}, nodes: 1, gpus: {gpus}, product: NVIDIA-L40S, cpu: "64", memory: 256Gi}}
steps:
  - {{at: 2s, submit: {{name: first, namespace: lab, gpus: {gpus}, cpu: "2", memory: 8Gi, seconds: 4h}}}}
  - {{at: 20s, submit: {{name: waits, namespace: lab, gpus: {gpus}, cpu: "2", memory: 8Gi, seconds: 4h}}}}
  - {{at: 30s, say: a node joins, node: {{name: {pool}-new, pool: {pool}, gpus-after: {minutes}m}}}}
"""


@pytest.mark.parametrize(
    ("pool", "gpus", "minutes", "speed"),
    [
        ("l40s-spot", 4, 7, SLOWEST),
        ("b200", 8, 12, 7.5),
        ("rtx", 1, 25, FASTEST),
        ("gh200-a", 2, 25, 1.0),
    ],
)
async def test_a_driver_is_waited_for_as_long_as_it_takes(
    tmp_path: Path, pool: str, gpus: int, minutes: int, speed: float
) -> None:
    stages = (("joined", 40.0), ("ready", 45.0), ("GPUs up", 45.0 + minutes * 60))
    grown = Growth(pool_key=pool, asked_seconds=START - 90_000, machine_type="", stages=stages)
    node, end = f"{pool}-new", 30 + minutes * 60
    async with played(tmp_path, "driver", speed, grown, driver_story(pool, gpus, minutes)) as watched:
        for seconds in (61.5, end / 2 + 0.5, end - 20.5):
            await watched.to(seconds)
            waits = await watched.row(JOBS, "lab/waits")
            assert f"waits for the GPU driver on {node}" in waits and has_age(waits, seconds - 20)
            late = await watched.row(NODES, node)
            assert "no GPUs yet" in late and has_age(late, seconds - 30)
            await watched.seen(POOLS)
            page = await watched.seen("enter", until_shown=f"usually {minutes}m")
            assert f"now {fmt.age(seconds - 30)[:2].rstrip('smh')}" in line_of(page, node, "usually")
            now = await watched.seen("1")
            assert "is down" not in now and f"node {node}" not in now, f"not broken before its limit: {now}"
        await watched.to(end + 20.5)
        waits = await watched.row(JOBS, "lab/waits")
        assert "running" in waits and has_age(waits, end + 0.5)
        assert f"{gpus}/{gpus}" in await watched.row(NODES, node)


async def test_a_driver_that_never_comes_is_broken_at_its_limit_everywhere_at_once(tmp_path: Path) -> None:
    async with played(tmp_path, "driver", 60.0, None, driver_story("a10", 1, 90)) as watched:
        before, after = 30 + GPUS_LIMIT_SECONDS - 15, 30 + GPUS_LIMIT_SECONDS + 15
        await watched.to(before)
        assert "waits for the GPU driver on a10-new" in await watched.row(JOBS, "lab/waits")
        assert "node a10-new" not in await watched.seen("1")
        await watched.to(after)
        assert "waits for the GPU driver" not in await watched.row(JOBS, "lab/waits")
        assert "ready, but offers none of its GPUs" in line_of(await watched.seen("1"), "a10-new")
        await watched.seen(POOLS)
        broken = "●●●●●●○○  Ready but advertises no GPU: check the pods of driver and device plugin on it"
        await watched.seen("enter", until_shown=broken)


CROWD = """
name: crowd
title: Three nodes, four jobs
story: The fourth job waits for the fourth node.
seconds: 1h
namespaces:
  - {name: bio}
pools:
  - {name: v100, nodes: 3, gpus: 4, product: Tesla-V100-SXM2-32GB, cpu: "32", memory: 240Gi}
steps:
  - {at: 1s, submit: {name: fold-a, namespace: bio, gpus: 4, cpu: "2", memory: 8Gi, seconds: 2h}}
  - {at: 2s, submit: {name: fold-b, namespace: bio, gpus: 4, cpu: "2", memory: 8Gi, seconds: 2h}}
  - {at: 3s, submit: {name: fold-c, namespace: bio, gpus: 4, cpu: "2", memory: 8Gi, seconds: 2h}}
  - {at: 5s, submit: {name: fold-d, namespace: bio, gpus: 4, cpu: "2", memory: 8Gi, seconds: 2h}}
  - {at: 5m, say: a node joins, node: {name: v100-x, pool: v100, gpus-after: 7m}}
"""


@pytest.mark.parametrize("speed", [SLOWEST, FASTEST])
async def test_three_nodes_and_four_jobs(tmp_path: Path, speed: float) -> None:
    async with played(tmp_path, "crowd", speed, None, CROWD) as watched:
        await watched.to(200.5)
        fourth = await watched.row(JOBS, "bio/fold-d")
        assert "pending" in fourth and "all 12 GPUs on 3 nodes are allocated" in fourth
        assert has_age(fourth, 195.5)
        await watched.to(700.5)
        fourth = await watched.row(JOBS, "bio/fold-d")
        assert "waits for the GPU driver on v100-x" in fourth and has_age(fourth, 695.5)
        assert has_age(await watched.row(NODES, "v100-x"), 400.5)
        await watched.to(760.5)
        assert "running" in await watched.row(JOBS, "bio/fold-d")


WAVE = """
name: wave
title: A pool of 2 grows to 3, then a wave of 11 and back
story: As the wave that is shipped, in another size and with a slower driver.
seconds: 2h
namespaces:
  - {name: vision}
pools:
  - name: h200-eu
    nodes: 2
    gpus: 4
    product: NVIDIA-H200
    cpu: "64"
    memory: 1Ti
    owner: machines
    min: 2
    max: 11
    stages: {launch: 90s, join: 30s, ready: 20s, gpus: 7m}
autoscaler: {scan: 10s, unneeded: 4m, after-add: 3m}
steps:
  - {at: 10m, submit: {name: base, namespace: vision, workers: 2, gpus: 4, seconds: 90m}}
  - {at: 11m, submit: {name: third, namespace: vision, gpus: 4, seconds: 40m}}
  - {at: 23m, submit: {name: wave, namespace: vision, workers: 8, gpus: 4, cpu: "8", seconds: 6m}}
"""


@pytest.mark.parametrize("speed", [7.5, FASTEST])
async def test_two_nodes_become_three_then_eight_more_come_and_go(tmp_path: Path, speed: float) -> None:
    async with played(tmp_path, "wave", speed, None, WAVE) as watched:
        await watched.to(690.5)
        third = await watched.row(JOBS, "vision/third")
        assert "grows" in third and has_age(third, 30.5)
        assert "2→3" in await watched.row(POOLS, "h200-eu")
        await watched.to(1_040.5)
        third = await watched.row(JOBS, "vision/third")
        assert "waits for the GPU driver on h200-eu-" in third and has_age(third, 380.5)
        await watched.to(1_260.5)
        assert "running" in await watched.row(JOBS, "vision/third")
        await watched.to(1_640.5)
        assert "11/11 max" in await watched.row(POOLS, "h200-eu")
        assert has_age(await watched.row(JOBS, "vision/wave"), 260.5)
        await watched.to(1_970.5)
        assert "32/32" in await watched.row(JOBS, "vision/wave")
        await watched.to(3_140.5)
        assert "· 3 nodes ·" in await watched.seen(POOLS)
