"""Pods of people's own images run as processes on simulated nodes; nothing else ever does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest

from cockpit.clock import SystemClock
from cockpit.kube.resource import PODS
from cockpit.sim.actors.kubelet.actor import Kubelets
from cockpit.sim.actors.kubelet.behaviour import Habits
from cockpit.sim.actors.kubelet.local_images import Local
from cockpit.sim.actors.kubelet.process import ProcessRuntime
from cockpit.sim.engine import ActorEngine
from cockpit.sim.port import Tree
from tests.adapters.memory_port import MemoryPort
from tests.unit.sim.kubelet.small_cluster import SmallCluster, pod_tree

QUICK = Habits(sandbox_seconds=(0.0, 0.01), create_seconds=(0.0, 0.01), pull_bytes_per_second=(1e12, 1e12))


class Demo(SmallCluster):
    """Kubelets by the wall's clock, with a runtime for local images, as the demo has them."""

    def __init__(self, folder: Path) -> None:
        clock = SystemClock()
        self.port = MemoryPort(clock)  # type: ignore[arg-type]  # it only reads the time
        self.folder = folder
        self.kubelets = Kubelets(
            random=Random(7), habits=QUICK, local=Local(ProcessRuntime(folder, clock.now))
        )
        self.engine = ActorEngine(self.port, clock, Random(7), [self.kubelets])

    async def until_phase(self, name: str, *phases: str) -> None:
        async with asyncio.timeout(20):
            while self.status(name).get("phase") not in phases:  # noqa: ASYNC110 - processes are watched
                await asyncio.sleep(0.01)


@asynccontextmanager
async def demo(folder: Path) -> AsyncIterator[Demo]:
    """A running cluster of one simulated node that is ended."""
    cluster = Demo(folder)
    await cluster.engine.start()
    cluster.node()
    running = asyncio.create_task(cluster.engine.run())
    try:
        yield cluster
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await cluster.engine.stop()


def images(*names: str, init: tuple[str, ...] = ()) -> Tree:
    """A pod with containers of these images."""

    def containers(given: tuple[str, ...]) -> list[Tree]:
        return [{"name": f"c{index}", "image": one} for index, one in enumerate(given)]

    return {"spec": {"containers": containers(names), "initContainers": containers(init)}}


@pytest.mark.parametrize(
    ("pod", "is_local"),
    [
        (images("local/shell"), True),
        (images("local/a:1", "local/b", init=("local/c",)), True),
        (images("local/a", "pytorch/pytorch:2.9"), False),
        (images("local/a", init=("busybox",)), False),
        (images("registry.example/local/a"), False),
        (images("localhost/a"), False),
        (images("local"), False),
        (images(""), False),
        (images(), False),
    ],
)
def test_every_image_has_to_say_so(tmp_path: Path, pod: Tree, is_local: bool) -> None:
    assert Local(ProcessRuntime(tmp_path, lambda: 0.0)).plays(pod) is is_local


async def test_a_local_image_runs_beside_simulated_pods_on_one_node(tmp_path: Path) -> None:
    async with demo(tmp_path / "pods") as cluster:
        marker = tmp_path / "was-run"
        command: Tree = {"command": ["bash", "-c", f"touch {marker}; exit 3"]}
        cluster.pod("simulated", container=command, duration="forever")
        cluster.pod("local", container={**command, "image": "local/shell"}, gpus=1)
        await cluster.until_phase("local", "Failed")
        assert cluster.main("local")["state"]["terminated"]["exitCode"] == 3
        assert cluster.main("local")["containerID"].startswith("process://")
        assert marker.exists()

        marker.unlink()
        await cluster.until_phase("simulated", "Running")
        assert cluster.main("simulated")["containerID"].startswith("simulated://")
        assert not marker.exists()


async def test_a_mark_on_a_node_cannot_choose_the_runtime_of_local_images(tmp_path: Path) -> None:
    async with demo(tmp_path / "pods") as cluster:
        marker = tmp_path / "was-run"
        cluster.node("other", runtime="process")
        cluster.pod("p", node="other", container={"command": ["touch", str(marker)]})
        cluster.pod("done", container={"image": "local/x", "command": ["true"]})
        await cluster.until_phase("done", "Succeeded")
        assert cluster.status("p") == {**cluster.status("p"), "phase": "Pending"}
        assert not marker.exists()


async def test_an_image_that_is_changed_later_runs_nothing(tmp_path: Path) -> None:
    async with demo(tmp_path / "pods") as cluster:
        marker = tmp_path / "was-run"
        command: Tree = {"command": ["touch", str(marker)]}
        pod = cluster.pod("p", container=command, restart="Always", duration="0.05s")
        await cluster.until_phase("p", "Running")
        changed = pod_tree("p", container={**command, "image": "local/x"}, restart="Always")
        now = cluster.port.objects[(PODS, "a", "p")]
        cluster.port.put(PODS, {**now, "spec": changed["spec"]})
        async with asyncio.timeout(20):
            while cluster.main("p")["restartCount"] < 1:  # noqa: ASYNC110 - time passes by the wall
                await asyncio.sleep(0.02)
        assert pod["metadata"]["uid"] == cluster.port.objects[(PODS, "a", "p")]["metadata"]["uid"]
        assert not marker.exists()
