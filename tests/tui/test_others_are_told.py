"""A priority that evicts others, on the embedded cluster: told before yes by key and command; so it comes."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cockpit.app import AppOptions, CockpitApp
from cockpit.attach import AttachOptions
from cockpit.kube.resource import WORKLOADS
from tests.tui.embedded import embedded
from tests.tui.on_the_bed import Headless, Shell, until
from tests.tui.test_life_on_the_embedded_cluster import Cluster

pytestmark = pytest.mark.waits

SCENARIO = """
name: full-queue
title: A full queue
story: Two jobs hold all quota, one waits.
seconds: 30m
namespaces:
  - {name: team-a, queue: shared}
priorities:
  - {name: high, value: 1000}
  - {name: low, value: 10}
pools:
  - {name: h100, nodes: 2, gpus: 8, product: NVIDIA-H100-80GB-HBM3, cpu: "96", memory: 1Ti}
queues:
  - {name: shared, flavors: [{pool: h100, gpus: 8}], preemption: {within: LowerPriority}}
steps:
  - {at: 1s, submit: {name: holds, namespace: team-a, gpus: 4, queue: main, priority: low}}
  - {at: 4s, submit: {name: newer, namespace: team-a, gpus: 4, queue: main, priority: low}}
  - {at: 7s, submit: {name: waits, namespace: team-a, gpus: 4, queue: main, priority: low}}
"""
TOLD = "preempts 1 job with 4 GPUs: team-a/newer (4 GPUs)"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    scenario = tmp_path / "full-queue.yaml"
    scenario.write_text(SCENARIO)
    with embedded(tmp_path / "embedded", scenario, 30) as kubeconfig:
        yield Cluster(kubeconfig)


def evicted(cluster: Cluster) -> list[str]:
    found: list[dict[str, Any]] = cluster.items(WORKLOADS, "team-a")
    return [
        tree["metadata"]["ownerReferences"][0]["name"]
        for tree in found
        for one in tree.get("status", {}).get("conditions") or ()
        if (one["type"], one["status"]) == ("Preempted", "True")
    ]


def as_told(cluster: Cluster) -> None:
    until("the one is evicted that was named", lambda: True if evicted(cluster) == ["newer"] else None)


@pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=["80x24", "200x60"])
async def test_by_key_it_is_typed_and_then_it_is_so(
    cluster: Cluster, tmp_path: Path, size: tuple[int, int]
) -> None:
    options = AttachOptions(kubeconfig=str(cluster.kubeconfig), write=True)
    app = CockpitApp(AppOptions(options, first_place="jobs", state_folder=tmp_path))
    async with app.run_test(size=size) as pilot:
        screen = Headless(app, pilot)
        await screen.press("slash", *"waits", "enter")
        await screen.until_text("team-a/waits", "queued")
        await screen.press("I")
        await screen.until_text("Priority or queue of team-a/waits")
        await screen.press(*"priority high", "enter")
        await screen.until_text(TOLD, "team-a/newer: 4 GPUs, running for", "the cluster would accept it")
        await screen.press("y", "enter")
        await screen.until_text(TOLD, "that is another name")
        assert await asyncio.to_thread(evicted, cluster) == []
        await screen.press("backspace", *"team-a/newer", "enter")
        await screen.until_text("team-a/waits", without=("Prioritise job",))
    await asyncio.to_thread(as_told, cluster)
    lines = [json.loads(one) for one in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert {one["foretold"] for one in lines} == {TOLD}


def test_by_command_yes_is_not_enough(cluster: Cluster, tmp_path: Path) -> None:
    shell = Shell(cluster.kubeconfig, tmp_path)
    words = ("job", "prioritise", "team-a/waits", "--priority", "high")
    shown = shell.run(*words, "--dry-run")
    assert shown.returncode == 0 and f"! {TOLD}" in shown.stdout, shown
    done = shell.run(*words, "--write", "--yes")
    assert done.returncode == 2 and done.stderr.endswith("add --confirm team-a/newer\n"), done
    assert evicted(cluster) == []
    done = shell.run(*words, "--write", "--yes", "--confirm", "team-a/newer")
    assert done.returncode == 0, done
    as_told(cluster)
