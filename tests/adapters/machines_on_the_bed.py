"""Our actors of Cluster API and simulated kubelets on a real API server, in a thread with a loop of its own.

How far a machine gets is said by annotations of its MachineDeployment (`cockpit.sim.actors.common.
machine_template`); `let_on` takes one of them back.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random

import yaml

from cockpit.clock import SystemClock
from cockpit.kube.session import SessionOptions, open_session
from cockpit.sim.actors.kubelet.actor import Kubelets
from cockpit.sim.actors.pools.machines import Machines
from cockpit.sim.cluster import definitions
from cockpit.sim.engine import ActorEngine
from tests.adapters.kube_port import KubePort
from tests.bed.api import Api, Tree
from tests.bed.setup import apply_all, wait_established

GROUP = "cluster.x-k8s.io"
BASE = f"/apis/{GROUP}/v1beta1"
BEGIN_SECONDS, END_SECONDS = 120.0, 30.0
STAGES = ("launch", "join", "ready", "gpus")
HELD = "86400"
"""Seconds that a stage takes which is held."""


def serve_kinds(api: Api) -> None:
    """The kinds of Cluster API, MachineSets in the shape of MachineDeployments."""
    trees: list[Tree] = [
        tree
        for file in definitions()
        if file.parent.name == "cluster-api"
        for tree in yaml.safe_load_all(file.read_text())
    ]
    (deployments,) = [one for one in trees if one["spec"]["names"]["kind"] == "MachineDeployment"]
    names = {
        "plural": "machinesets",
        "singular": "machineset",
        "kind": "MachineSet",
        "listKind": "MachineSetList",
    }
    trees.append(
        {
            **deployments,
            "metadata": {"name": f"machinesets.{GROUP}"},
            "spec": {**deployments["spec"], "names": names},
        }
    )
    apply_all(api, trees, fresh=True)
    wait_established(api, [one["metadata"]["name"] for one in trees])


@contextmanager
def machines_at_work(kubeconfig: Path) -> Iterator[None]:
    """Machines and their nodes come and go by the sizes of MachineDeployments."""
    begun = threading.Event()
    faults: list[BaseException] = []
    enders: list[Callable[[], object]] = []

    async def work() -> None:
        over = asyncio.Event()
        enders.append(partial(asyncio.get_running_loop().call_soon_threadsafe, over.set))
        clock = SystemClock()
        session = await open_session(SessionOptions(kubeconfig=str(kubeconfig), read_only=False), clock)
        engine = ActorEngine(
            KubePort(session, clock, Random(4)), clock, Random(3), (Machines(), Kubelets(random=Random(5)))
        )
        await engine.start()
        running = asyncio.create_task(engine.run())
        begun.set()
        try:
            await over.wait()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await engine.stop()
            await session.close()

    def body() -> None:
        try:
            asyncio.run(work())
        except BaseException as fault:
            faults.append(fault)
        finally:
            begun.set()

    thread = threading.Thread(target=body, name="machines", daemon=True)
    thread.start()
    assert begun.wait(BEGIN_SECONDS), "the actors did not start"
    try:
        if faults:
            raise faults[0]
        yield
    finally:
        for end in enders:
            end()
        thread.join(END_SECONDS)
    if faults:
        raise faults[0]


def pool(
    name: str, replicas: int, *, gpus: int = 8, notes: Mapping[str, str] = {}, namespace: str = "default"
) -> list[Tree]:
    """A MachineDeployment and its MachineSet; `notes` are annotations of the deployment."""
    own = f"{name}-7d9f8"
    at_once = {f"cockpit.dev/{stage}-seconds": "0" for stage in STAGES}
    marks = {f"{GROUP}/deployment-name": name}
    room = {"cpu": "96", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": str(gpus)}
    labels = {
        "node.kubernetes.io/instance-type": "a100.large",
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB",
        "nvidia.com/gpu.count": str(gpus),
        "nvidia.com/gpu.memory": "81920",
    }
    node = {"labels": labels, "annotations": {f"{GROUP}/owner-name": own}, "capacity": room}
    spec = {
        "clusterName": "bed",
        "replicas": replicas,
        "selector": {"matchLabels": marks},
        "template": {"metadata": {"labels": marks}, "spec": {"node": node}},
    }
    kinds: tuple[tuple[str, str, Tree, Tree], ...] = (
        ("MachineDeployment", name, {}, {**at_once, **notes}),
        ("MachineSet", own, marks, {}),
    )
    return [
        {
            "apiVersion": f"{GROUP}/v1beta1",
            "kind": kind,
            "metadata": {"name": called, "namespace": namespace, "labels": label, "annotations": said},
            "spec": spec,
        }
        for kind, called, label, said in kinds
    ]


def hold(api: Api, name: str, *stages: str, namespace: str = "default") -> None:
    """Machines that come from now on stay before each of these stages."""
    _say(api, name, namespace, dict.fromkeys(stages, HELD))


def let_on(api: Api, name: str, stage: str, machine: str, namespace: str = "default") -> None:
    """That stage takes no time any more; the machine is looked at again."""
    _say(api, name, namespace, {stage: "0"})
    path = f"{BASE}/namespaces/{namespace}/machines/{machine}"
    looks = int((api.get(path)["metadata"].get("annotations") or {}).get("bed/looks", "0"))
    api.merge(path, {"metadata": {"annotations": {"bed/looks": str(looks + 1)}}})


def _say(api: Api, name: str, namespace: str, seconds: Mapping[str, str]) -> None:
    said = {f"cockpit.dev/{stage}-seconds": value for stage, value in seconds.items()}
    path = f"{BASE}/namespaces/{namespace}/machinedeployments/{name}"
    api.merge(path, {"metadata": {"annotations": said}})
