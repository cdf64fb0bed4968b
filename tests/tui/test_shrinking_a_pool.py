"""A pool made smaller by key: what goes is cordoned, looked at again, and goes or is given back.

On the embedded cluster.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cockpit.kube import calls
from cockpit.kube.resource import NODES, PODS
from cockpit.local_state.audit import Audit
from cockpit.model.plan import Call
from cockpit.pools.idle import RECLAIM
from cockpit.screens.pools import PoolsScreen
from tests.tui.embedded import embedded
from tests.tui.on_the_bed import until
from tests.tui.test_busy_on_the_embedded_cluster import HERE, SPACE, Seen, opened
from tests.tui.test_life_on_the_embedded_cluster import Cluster

pytestmark = pytest.mark.waits

OWNERS = "/apis/cluster.x-k8s.io/v1beta1/machinedeployments"


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A child process that ends with this test."""
    with embedded(tmp_path_factory.mktemp("shrinking"), HERE / "busy.yaml", 60) as kubeconfig:
        yield Cluster(kubeconfig)


async def ask_for_one_node(screen: Seen) -> str:
    """From two to one, by key, up to the question; the answer is what stands there."""
    await screen.until_text("gpu", "MachineDeployment")
    await screen.press("S")
    await screen.until_text("Nodes of gpu")
    await screen.press("ctrl+u", "1")
    await screen.until_text("Shrink pool gpu from 2 to 1")
    await screen.press("ctrl+s")
    return await screen.until_text("cordoned first:", "The same from a shell")


async def nodes_of(cluster: Cluster) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await asyncio.to_thread(cluster.ask, "GET", NODES.path()))["items"]
    return found


async def size_of(cluster: Cluster) -> int:
    (owner,) = (await asyncio.to_thread(cluster.ask, "GET", OWNERS))["items"]
    return int(owner["spec"]["replicas"])


async def test_what_is_cordoned_and_still_empty_goes_under_one_yes(cluster: Cluster, tmp_path: Path) -> None:
    async with opened(cluster, tmp_path, "pools") as screen:
        shown = await ask_for_one_node(screen)
        assert "removed 10 s later if still empty" in shown
        await screen.press("y")
        await screen.until("the form is left", lambda _: isinstance(screen.app.screen, PoolsScreen) or None)
        assert len(screen.remarks) == 1, "not only once it is over"
        await screen.until("it goes", lambda _: len(screen.remarks) > 1 or None)
        first, last = screen.remarks
        assert first.startswith("Cordoned gpu-") and first.endswith("of pool gpu; checking again in 10 s")
        assert last == "Shrinking pool gpu from 2 to 1" and await size_of(cluster) == 1
        name = first.split()[1]
    await asyncio.to_thread(until, "its node goes", lambda: name not in names_in(cluster) or None)
    lines = [one for one in Audit(tmp_path / "audit.jsonl").entries() if one.step == "outcome"]
    sent = [one.target.split()[0] for one in lines]
    assert sent[:6] == ["lease", "node", "lease", "node", "machine", "machinedeployment"]
    assert {one.state for one in lines[:6]} == {"done"} and {one.verb for one in lines[:6]} == {"scale"}


async def test_a_pod_that_comes_onto_it_meanwhile_keeps_it(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was placed before the cordon, and is bound after it."""
    send = calls.perform

    async def binding(session: Any, call: Call, *, dry_run: bool = False) -> Any:
        answer = await send(session, call, dry_run=dry_run)
        if not dry_run and call.path.startswith(NODES.path()) and call.body["spec"].get("unschedulable"):
            node = call.path.rpartition("/")[2]
            pod = {
                "metadata": {"name": "late", "namespace": SPACE},
                "spec": {"nodeName": node, "containers": [{"name": "main", "image": "train"}]},
            }
            made = await session.request("POST", PODS.path(SPACE), body=pod)
            assert made.status in (201, 409), made.message()
        return answer

    monkeypatch.setattr(calls, "perform", binding)
    async with opened(cluster, tmp_path, "pools") as screen:
        await ask_for_one_node(screen)
        await screen.press("y")
        await screen.until("it has begun", lambda _: screen.remarks or None)
        await screen.press("3")  # the person goes on with something else
        await screen.until("it is told", lambda _: len(screen.remarks) > 1 or None)
        node = screen.remarks[0].split()[1]
        told = f"nothing was removed: team-a/late was scheduled onto {node}; uncordoned {node}"
        assert screen.remarks[1] == told
    assert await size_of(cluster) == 2
    for one in await nodes_of(cluster):
        assert not one["spec"].get("unschedulable") and RECLAIM not in one["metadata"].get("annotations", {})


def names_in(cluster: Cluster) -> set[str]:
    return {one["metadata"]["name"] for one in cluster.ask("GET", NODES.path())["items"]}
