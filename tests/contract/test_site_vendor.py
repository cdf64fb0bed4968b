"""Accelerators of an invented vendor, known by the configuration alone: every command speaks of them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cockpit.commands.settings import declared
from cockpit.local_state.config import Settings
from tests.bed.api import Api
from tests.unit.telemetry.test_site_vendors import CONFIG

CHIP = "tensorwave.example/chip"
NODE = "tw-node"


@pytest.fixture
def estate(admin: Api, space: str, is_configured: bool) -> Iterator[str]:
    """A node with six chips of eight, and a pod that has two or three of them."""
    labels = {
        "tensorwave.example/model": "TW-9",
        "tensorwave.example/count": "8",
        "eks.amazonaws.com/nodegroup": "tw",
    }
    admin.create("/api/v1/nodes", {"metadata": {"name": NODE, "labels": labels}})
    amounts = {"cpu": "64", "memory": "256Gi", "pods": "110", CHIP: "6"}
    status = {
        "capacity": amounts,
        "allocatable": amounts,
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
    }
    path = f"/api/v1/nodes/{NODE}"
    admin.merge(f"{path}/status", {"status": status})
    taints = {"spec": {"taints": None}}
    admin.merge(path, taints)
    # what pods of one shape are is remembered for as long as a process lives, and it reads its settings once
    chips = {CHIP: "2" if is_configured else "3"}
    resources = {"limits": chips, "requests": chips}
    spec = {"nodeName": NODE, "containers": [{"name": "main", "image": "i.test/a:1", "resources": resources}]}
    admin.create(f"/api/v1/namespaces/{space}/pods", {"metadata": {"name": "train"}, "spec": spec})
    yield space
    admin.delete(f"/api/v1/namespaces/{space}/pods/train", {"gracePeriodSeconds": 0})
    admin.delete(path)
    declared(Settings())


def configured(folder: Path) -> None:
    path = folder / "CONFIG" / "gpu-cockpit" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(CONFIG)


async def rows(said: Any, *words: str) -> list[dict[str, Any]]:
    code, text = await said(*words, "-o", "json")
    assert code == 0, text
    document, _ = json.JSONDecoder().raw_decode(text, text.index("{"))
    items: list[dict[str, Any]] = document["items"]
    return items


@pytest.mark.parametrize("is_configured", [False, True])
async def test_a_node_a_pod_a_pool_and_a_job_to_come(
    said: Any, estate: str, tmp_path: Path, is_configured: bool
) -> None:
    if is_configured:
        configured(tmp_path)
    nodes = {item["name"]: item for item in await rows(said, "get", "nodes")}
    pods = {item["name"]: item for item in await rows(said, "get", "pods", "-n", estate)}
    jobs = {item["name"]: item for item in await rows(said, "get", "jobs", "-n", estate)}
    pools = {item["name"]: item for item in await rows(said, "get", "pools")}
    node, pod = nodes[NODE], pods["train"]
    told = (node["gpu_model"], node["gpu_resource"], node.get("gpu_allocatable"), node.get("gpus_expected"))
    _, text = await said(
        "job", "submit", "job", "-n", estate, "--name", "more", "--image", "i.test/a:1", "--gpus", "5",
        "--set", f"gpu-resource={CHIP}", "--dry-run", "--write",
    )  # fmt: skip
    if not is_configured:
        assert told == ("", "", None, None) and pod["gpus"] == 0 and "tw" not in pools and not jobs
        assert f"the cluster has no {CHIP}" in text and "0 GPUs in total" in text
        return
    assert told == ("TW-9", CHIP, 6, 8) and (node["gpus_allocated"], pod["gpus"]) == (2, 2)

    assert (pools["tw"]["gpu_model"], pools["tw"]["gpus_total"]) == ("TW-9", 6) and jobs["train"][
        "gpus_allocated"
    ] == 2
    assert f"the cluster has no {CHIP}" not in text and "5 GPUs in total" in text
    assert "needs 5 GPUs as 1 x 5, 4 free, largest free block 4" in text
