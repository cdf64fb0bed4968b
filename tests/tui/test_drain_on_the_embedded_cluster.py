"""A drain by keys on the embedded cluster: after its jobs, by name, under a budget."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bed.api import Api
from tests.tui import drain_play
from tests.tui.embedded import embedded
from tests.tui.emulated import Emulated
from tests.tui.engine_ground import api_of

pytestmark = pytest.mark.waits

HERE = Path(__file__).parent


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    with embedded(tmp_path / "cluster", HERE / "drain.yaml", 30) as path:
        yield path


def ends(api: Api, pods: list[dict[str, Any]]) -> None:
    """Its kubelets run programs without an end: the job is taken away."""
    (owner,) = pods[0]["metadata"]["ownerReferences"]
    path = f"/apis/batch/v1/namespaces/team-a/jobs/{owner['name']}"
    api.delete(path, {"propagationPolicy": "Background"})


def test_a_drain_waits_for_jobs_names_gangs_and_tells_budgets(kubeconfig: Path, tmp_path: Path) -> None:
    api = api_of(kubeconfig)
    with Emulated(tmp_path, ["--write"], {"KUBECONFIG": str(kubeconfig)}) as seat:
        seat.until("live · rw", "4 nodes")
        drain_play.after_the_job(seat, api, ends)
        drain_play.named(seat, api)
        free = [
            one["metadata"]["name"]
            for one in api.items("/api/v1/nodes")
            if not one["spec"].get("unschedulable") and one["metadata"]["name"].startswith("h100")
        ]
        drain_play.delayed(seat, api, free[0])
        seat.keys("q")
    lines = (tmp_path / "state" / "gpu-cockpit" / "audit.jsonl").read_text()
    assert lines.count('"target":"node ') == 6 and lines.count("/eviction") == 8
