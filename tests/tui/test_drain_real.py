"""A drain by keys in tmux on the real control plane, whose evictions and budgets decide."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.bed.api import Api
from tests.bed.bed import Bed
from tests.bed.estate import gpu_node
from tests.bed.fixtures import fresh
from tests.tui import drain_play
from tests.tui.on_the_bed import Opened, opened, until

__all__ = ["opened"]
pytestmark = pytest.mark.real

NODES = tuple(f"gpu-{at}" for at in range(4))


@pytest.fixture
def bed(request: pytest.FixtureRequest) -> Iterator[Bed]:
    """API server, controllers, scheduler and kwok's kubelets, with four nodes that are ready."""
    for made in fresh({"kcm", "scheduler", "kwok"}, request, namespace=False):
        api = made.api()
        for index, name in enumerate(NODES):
            api.create("/api/v1/nodes", gpu_node(name, index))
        until("the nodes are ready", lambda: _are_ready(api))  # noqa: B023
        yield made


def _are_ready(api: Api) -> bool | None:
    return None if any(one["spec"].get("taints") for one in api.items("/api/v1/nodes")) else True


def ends(api: Api, pods: list[dict[str, Any]]) -> None:
    """The programs of its pods end, as their kubelets would say it; kwok's let them run for ever."""
    for pod in pods:
        meta = pod["metadata"]
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/status"
        api.merge(path, {"status": {"phase": "Succeeded"}})


def test_a_drain_waits_for_jobs_names_gangs_and_tells_budgets(bed: Bed, opened: Opened) -> None:
    api = bed.api()
    seat = opened(bed.kubeconfig, "--write")
    seat.until("live · rw", "4 nodes")
    drain_play.after_the_job(seat, api, ends)
    drain_play.named(seat, api)
    (node, *_) = [name for name in NODES if not drain_play.cordoned(api, name)]
    drain_play.delayed(seat, api, node)
