"""Kubelets as actors on a real control plane: kubectl's logs, exec and delete against both runtimes."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest

from cockpit.clock import SystemClock
from cockpit.kube.resource import NODES, PODS
from cockpit.kube.session import SessionOptions, open_session
from cockpit.sim.actors.kubelet.actor import MARK, Kubelets
from cockpit.sim.actors.kubelet.endpoint import KubeletServer, server_context
from cockpit.sim.actors.kubelet.process import ProcessRuntime
from cockpit.sim.engine import Engine
from cockpit.sim.kube_port import KubePort
from cockpit.sim.port import PortError, Tree
from tests.bed.bed import Bed
from tests.unit.sim.kubelet.test_kubelet_endpoint import make_pair

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """What the API server shows to kubelets, and they to it."""
    return make_pair(tmp_path_factory.mktemp("pki"))


@pytest.fixture(scope="module")
def bed(pki: tuple[Path, Path]) -> Iterator[Bed]:
    """A control plane that dials kubelets with our certificate."""
    flags = ("--kubelet-client-certificate", str(pki[0]), "--kubelet-client-key", str(pki[1]))
    with Bed({"apiserver", "kcm", "scheduler"}, namespace=False, apiserver_flags=flags) as bed:
        yield bed


@asynccontextmanager
async def kubelets_on(bed: Bed, pki: tuple[Path, Path], folder: Path) -> AsyncIterator[KubePort]:
    """A simulated and a process node on the bed."""
    clock = SystemClock()
    options = SessionOptions(kubeconfig=str(bed.kubeconfig), read_only=False)
    session = await open_session(options, clock)
    port = KubePort(session, clock, Random(4))
    kubelets = Kubelets(random=Random(3), runtimes=[ProcessRuntime(folder, clock.now)])
    server = KubeletServer(kubelets, server_context(*pki, pki[0]))
    await server.start()
    engine = Engine(port, clock, Random(3), [kubelets])
    await engine.start()
    running = asyncio.create_task(engine.run())
    room = {"cpu": "8", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": "4"}
    for runtime in ("simulated", "process"):
        metadata = {"name": runtime, "labels": {"runtime": runtime}, "annotations": {MARK: runtime}}
        status = {"capacity": room, "allocatable": room}
        await port.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status})
    try:
        yield port
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await server.stop()
        await engine.stop()
        await session.close()


def pod(name: str, runtime: str, *command: str, **marks: str) -> Tree:
    """A pod for the node of a runtime, on one GPU."""
    main = {"name": "main", "image": "busybox:1", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    if command:
        main["command"] = list(command)
    spec = {
        "nodeSelector": {"runtime": runtime},
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 5,
        "containers": [main],
    }
    annotations = {f"cockpit.dev/{key.replace('_', '-')}": value for key, value in marks.items()}
    metadata = {"name": name, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


async def kubectl(bed: Bed, *arguments: str, sent: bytes = b"") -> tuple[int, str]:
    """Exit code and output of the real kubectl."""
    process = await asyncio.create_subprocess_exec(
        bed.layout.programs["kubectl"],
        *("--kubeconfig", os.fspath(bed.kubeconfig), *arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    async with asyncio.timeout(60):
        output, _ = await process.communicate(sent)
    assert process.returncode is not None
    return process.returncode, output.decode()


async def until_phase(port: KubePort, name: str, phase: str) -> Tree:
    """The pod once it is in a phase."""
    async with asyncio.timeout(60):
        while True:
            tree = await port.get(PODS, "default", name)
            if tree["status"].get("phase") == phase:
                return tree
            await asyncio.sleep(0.1)


async def test_kubectl_sees_reads_enters_and_ends_pods_of_both_runtimes(
    bed: Bed, pki: tuple[Path, Path], tmp_path: Path
) -> None:
    async with kubelets_on(bed, pki, tmp_path) as port:
        script = "echo on $CUDA_VISIBLE_DEVICES; while :; do sleep 0.1; echo tick; done"
        async with asyncio.timeout(60):
            while True:  # the namespace's service account comes from the controller manager
                try:
                    await port.create(PODS, pod("real", "process", "sh", "-c", script), "default")
                    break
                except PortError:
                    await asyncio.sleep(0.2)
        await port.create(PODS, pod("told", "simulated", duration="forever"), "default")
        await port.create(PODS, pod("short", "simulated", duration="1s"), "default")
        await until_phase(port, "short", "Succeeded")
        await until_phase(port, "told", "Running")
        await until_phase(port, "real", "Running")
        code, text = await kubectl(bed, "get", "nodes")
        assert code == 0 and text.count(" Ready ") == 2
        code, text = await kubectl(bed, "logs", "real", "--limit-bytes=7")
        assert (code, text) == (0, "on GPU-")
        code, text = await kubectl(bed, "logs", "told", "--tail=1")
        assert code == 0 and text.startswith(("simulated training: 1 GPU(s)", "epoch 1 step "))
        code, text = await kubectl(bed, "exec", "real", "--", "sh", "-c", "echo in; exit 3")
        assert code == 3 and text.startswith("in\n")
        code, text = await kubectl(bed, "exec", "-i", "real", "--", "cat", sent=b"through\n")
        assert (code, text) == (0, "through\n")
        code, text = await kubectl(bed, "exec", "told", "--", "nvidia-smi", "-L")
        assert code == 0 and text.startswith("GPU 0: simulated (UUID: GPU-")
        code, text = await kubectl(bed, "logs", "short", "-p")
        assert code == 1 and 'previous terminated container "main" in pod "short" not found' in text
        code, text = await kubectl(bed, "describe", "pod", "told")
        assert "Container started" in text and ("Successfully pulled" in text or "already present" in text)
        code, text = await kubectl(bed, "delete", "pod", "real", "told", "short", "--timeout=30s")
        assert code == 0
        assert (await port.list(PODS, "default")) == []
