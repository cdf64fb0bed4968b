"""Kubelets as actors on a real control plane: kubectl's logs, exec and delete against both runtimes."""

import asyncio
import contextlib
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest

from cockpit.clock import SystemClock
from cockpit.kube.exec import Command, open_exec
from cockpit.kube.logs import follow
from cockpit.kube.resource import NODES, PODS
from cockpit.kube.session import SessionOptions, open_session
from cockpit.sim.actors.kubelet.actor import MARK, Kubelets
from cockpit.sim.actors.kubelet.endpoint import KubeletServer, server_context
from cockpit.sim.actors.kubelet.local_images import Local
from cockpit.sim.actors.kubelet.process import ProcessRuntime
from cockpit.sim.engine import ActorEngine
from cockpit.sim.port import PortError, Tree
from tests.adapters.kube_port import KubePort
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
    kubelets = Kubelets(
        random=Random(3),
        runtimes=[ProcessRuntime(folder / "marked", clock.now)],
        local=Local(ProcessRuntime(folder / "local", clock.now)),
    )
    server = KubeletServer(kubelets, server_context(*pki, pki[0]))
    await server.start()
    engine = ActorEngine(port, clock, Random(3), [kubelets])
    await engine.start()
    running = asyncio.create_task(engine.run())
    room = {"cpu": "8", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": "4"}
    for runtime in ("simulated", "process"):
        metadata = {"name": runtime, "labels": {"runtime": runtime}, "annotations": {MARK: runtime}}
        status = {"capacity": room, "allocatable": room}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}
        with contextlib.suppress(PortError):  # a test before us has made it
            await port.create(NODES, node)
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


async def create(port: KubePort, tree: Tree) -> None:
    """The first pod of a namespace: its service account comes from the controller manager."""
    async with asyncio.timeout(60):
        while True:
            try:
                await port.create(PODS, tree, "default")
                return
            except PortError:
                await asyncio.sleep(0.2)


async def test_kubectl_sees_reads_enters_and_ends_pods_of_both_runtimes(
    bed: Bed, pki: tuple[Path, Path], tmp_path: Path
) -> None:
    async with kubelets_on(bed, pki, tmp_path) as port:
        script = "echo on $CUDA_VISIBLE_DEVICES; while :; do sleep 0.1; echo tick; done"
        await create(port, pod("real", "process", "sh", "-c", script))
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


async def test_the_cockpits_own_shell_in_a_pod_of_a_local_image(
    bed: Bed, pki: tuple[Path, Path], tmp_path: Path
) -> None:
    """Real kube-apiserver in the middle: a simulated node runs what says that it is local."""
    tree = pod("mine", "simulated", "bash", "-c", "echo begun; sleep 600")
    tree["spec"]["containers"][0]["image"] = "local/shell"
    async with kubelets_on(bed, pki, tmp_path) as port:
        await create(port, tree)
        await until_phase(port, "mine", "Running")
        session = await open_session(
            SessionOptions(kubeconfig=str(bed.kubeconfig), read_only=False), SystemClock()
        )
        lines = follow(session, "default", "mine")
        assert await asyncio.wait_for(anext(lines), 20) == "begun"
        words = ("sh", "-c", "command -v bash >/dev/null 2>&1 && exec bash || exec sh")
        wanted = Command(namespace="default", pod="mine", words=words, is_tty=True, has_stdin=True)
        said = b""
        async with asyncio.timeout(30), open_exec(session, wanted) as shell:
            await shell.resize(100, 30)
            await shell.write(b"stty size; echo on-$HOSTNAME; exit 4\r")
            while (piece := await shell.read()) is not None:
                said += piece[1]
            assert shell.exit_code == 4
        assert b"30 100\r\n" in said and b"on-mine\r\n" in said
        await session.close()
        await port.delete(PODS, "default", "mine", grace_seconds=0)
