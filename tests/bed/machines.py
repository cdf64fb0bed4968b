"""A test controller that makes nodes for MachineDeployments in the stages a real pool goes through.

A node joins not ready and without GPUs; after `bed/ready-after` seconds (an annotation of the deployment) it
has booted, and kwok makes it Ready; after `bed/gpus-after` more its GPUs are advertised. On the way down it
is cordoned, its pods are deleted, and after `bed/drain-after` seconds the node is. Deciding (`plan`) is pure;
`Controller` looks at the cluster twice a second and carries out; less often while there is no deployment.
"""

import asyncio
import hashlib
import json
import ssl
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from tests.bed import machine_objects as names
from tests.bed.api import MERGE, Tree
from tests.bed.estate import GPU, gpu_node
from tests.bed.layout import Layout

JOINED_AT = "bed/joined-at"  # seconds since the epoch
READY_AT = "bed/ready-at"
LEAVING_AT = "bed/leaving-at"
BOOTING = "bed/booting"  # while it is there, kwok leaves the node as it is
_LOOK_SECONDS = 0.5
_IDLE_SECONDS = 2.0
_DEFAULT_DELAYS = {"bed/ready-after": 3.0, "bed/gpus-after": 3.0, "bed/drain-after": 2.0}


@dataclass(frozen=True)
class Step:
    """One request to the API server. `body` None is a DELETE of `path`."""

    method: str
    path: str
    body: Tree | None = None


def _annotations(tree: Tree) -> Mapping[str, str]:
    found: Mapping[str, str] = tree["metadata"].get("annotations") or {}
    return found


def _delay(deployment: Tree, name: str) -> float:
    return float(_annotations(deployment).get(name, _DEFAULT_DELAYS[name]))


def is_ready(node: Tree) -> bool:
    conditions = node.get("status", {}).get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def has_gpus(node: Tree) -> bool:
    return int(node.get("status", {}).get("allocatable", {}).get(GPU, 0)) > 0


def gpus_each(deployment: Tree) -> int:
    """GPUs a node, from `spec.template.spec.gpus`, else 8."""
    spec = deployment["spec"].get("template", {}).get("spec", {})
    return int(spec.get("gpus", 8))


def new_node(deployment: Tree, number: int, now_seconds: float) -> Tree:
    """A node that has just joined: not ready, no GPUs."""
    metadata = deployment["metadata"]
    owner = metadata["name"]
    suffix = hashlib.sha256(f"{metadata['uid']}/{number}".encode()).hexdigest()[:5]
    node = gpu_node(f"{owner}-{suffix}", number, gpus=0, pool=owner)
    node["metadata"]["labels"][names.DEPLOYMENT_LABEL] = owner
    node["metadata"]["labels"]["nvidia.com/gpu.count"] = str(gpus_each(deployment))
    node["metadata"]["annotations"] = {
        names.OWNER_KIND: "MachineSet",
        names.OWNER_NAME: f"{owner}-set",
        names.MACHINE: f"{owner}-set-{suffix}",
        names.CLUSTER_NAMESPACE: metadata["namespace"],
        JOINED_AT: f"{now_seconds:.3f}",
        BOOTING: "yes",
        "kwok.x-k8s.io/node": "fake",
    }
    node["spec"] = {"providerID": f"bed:///{owner}/{suffix}"}
    node["status"]["conditions"] = [
        {
            "type": "Ready",
            "status": "False",
            "reason": "KubeletNotReady",
            "message": "container runtime network not ready: cni plugin not initialized",
        }
    ]
    return node


def plan(deployment: Tree, nodes: Sequence[Tree], pods: Sequence[Tree], now_seconds: float) -> list[Step]:
    """What to do now for one deployment; `nodes` are its own, `pods` those on any node."""
    wanted = int(deployment["spec"].get("replicas", 0))
    leaving = [node for node in nodes if LEAVING_AT in _annotations(node)]
    staying = [node for node in nodes if LEAVING_AT not in _annotations(node)]
    steps: list[Step] = []
    taken = {node["metadata"]["name"] for node in nodes}
    number = 0
    for _ in range(wanted - len(staying)):
        while (fresh := new_node(deployment, number, now_seconds))["metadata"]["name"] in taken:
            number += 1
        taken.add(fresh["metadata"]["name"])
        steps.append(Step("POST", "/api/v1/nodes", fresh))
    if len(staying) > wanted:
        # The least useful first: not ready, then the youngest.
        order = sorted(staying, key=lambda node: (is_ready(node), -float(_annotations(node)[JOINED_AT])))
        doomed = order[: len(staying) - wanted]
        staying = order[len(doomed) :]
        for node in doomed:
            body: Tree = {
                "metadata": {"annotations": {LEAVING_AT: f"{now_seconds:.3f}"}},
                "spec": {"unschedulable": True},
            }
            steps.append(Step("PATCH", _path(node), body))
    for node in staying:
        steps += _grow(deployment, node, now_seconds)
    for node in leaving:
        steps += _shrink(deployment, node, pods, now_seconds)
    return steps


def _path(node: Tree) -> str:
    return f"/api/v1/nodes/{node['metadata']['name']}"


def _grow(deployment: Tree, node: Tree, now_seconds: float) -> list[Step]:
    said = _annotations(node)
    if BOOTING in said:
        if now_seconds - float(said[JOINED_AT]) < _delay(deployment, "bed/ready-after"):
            return []
        return [Step("PATCH", _path(node), {"metadata": {"annotations": {BOOTING: None}}})]
    if not is_ready(node) or has_gpus(node):
        return []
    if READY_AT not in said:
        body: Tree = {"metadata": {"annotations": {READY_AT: f"{now_seconds:.3f}"}}}
        return [Step("PATCH", _path(node), body)]
    if now_seconds - float(said[READY_AT]) < _delay(deployment, "bed/gpus-after"):
        return []
    count = {GPU: str(gpus_each(deployment))}
    status = {"status": {"capacity": count, "allocatable": count}}
    return [Step("PATCH", f"{_path(node)}/status", status)]


def _shrink(deployment: Tree, node: Tree, pods: Sequence[Tree], now_seconds: float) -> list[Step]:
    name = node["metadata"]["name"]
    there = [pod for pod in pods if pod["spec"].get("nodeName") == name]
    if there:
        return [
            Step(
                "DELETE", f"/api/v1/namespaces/{one['metadata']['namespace']}/pods/{one['metadata']['name']}"
            )
            for one in there
            if "deletionTimestamp" not in one["metadata"]
        ]
    if now_seconds - float(_annotations(node)[LEAVING_AT]) < _delay(deployment, "bed/drain-after"):
        return []
    return [Step("DELETE", _path(node))]


def status_of(deployment: Tree, nodes: Sequence[Tree]) -> Tree:
    """The status a MachineDeployment shows; a node that leaves still counts until it is gone."""
    wanted, there = int(deployment["spec"].get("replicas", 0)), len(nodes)
    ready = sum(1 for node in nodes if is_ready(node) and LEAVING_AT not in _annotations(node))
    phase = "ScalingUp" if ready < wanted else "ScalingDown" if there > wanted else "Running"
    return {
        "replicas": there,
        "updatedReplicas": there,
        "readyReplicas": ready,
        "availableReplicas": ready,
        "unavailableReplicas": there - ready,
        "observedGeneration": deployment["metadata"].get("generation", 0),
        "phase": phase,
        "selector": f"{names.DEPLOYMENT_LABEL}={deployment['metadata']['name']}",
    }


class Controller:
    """Carries out plans through one HTTP session."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def _items(self, path: str, **query: str) -> list[Tree]:
        async with self._session.get(path, params=query) as answer:
            answer.raise_for_status()
            found: list[Tree] = (await answer.json())["items"]
            return found

    async def _send(self, step: Step) -> None:
        headers = {"Content-Type": MERGE if step.method == "PATCH" else "application/json"}
        data = None if step.body is None else json.dumps(step.body)
        async with self._session.request(step.method, step.path, data=data, headers=headers) as answer:
            # 404 and 409: somebody was quicker; the next look decides anew.
            if answer.status >= 400 and answer.status not in (404, 409):
                print(f"{step.method} {step.path}: {answer.status} {await answer.text()}", flush=True)

    async def look(self, now_seconds: float) -> bool:
        """One look at everything, and what follows from it; False where there is nothing to look after."""
        base = f"/apis/{names.GROUP}/{names.VERSION}"
        deployments = await self._items(f"{base}/{names.PLURAL}")
        if not deployments:
            return False
        nodes = await self._items("/api/v1/nodes", labelSelector=names.DEPLOYMENT_LABEL)
        leaving = any(LEAVING_AT in _annotations(node) for node in nodes)
        pods = await self._items("/api/v1/pods", resourceVersion="0") if leaving else []
        for deployment in deployments:
            metadata = deployment["metadata"]
            own = [
                node
                for node in nodes
                if node["metadata"]["labels"][names.DEPLOYMENT_LABEL] == metadata["name"]
            ]
            for step in plan(deployment, own, pods, now_seconds):
                await self._send(step)
            status = status_of(deployment, own)
            if deployment.get("status") != status:
                path = f"{base}/namespaces/{metadata['namespace']}/{names.PLURAL}/{metadata['name']}/status"
                await self._send(Step("PATCH", path, {"status": status}))
        return True


async def serve(layout: Layout, port: int) -> None:
    """Answers /healthz and looks at the cluster until killed."""

    async def healthz(request: web.Request) -> web.Response:
        del request
        return web.Response(text="ok")

    app = web.Application()
    app.router.add_get("/healthz", healthz)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    tokens: dict[str, Any] = json.loads((layout.run_dir / "tokens.json").read_text())
    context = ssl.create_default_context(cafile=str(layout.ca_file))
    async with aiohttp.ClientSession(
        layout.server,
        headers={"Authorization": f"Bearer {tokens['controllers']}"},
        connector=aiohttp.TCPConnector(ssl=context),
        timeout=aiohttp.ClientTimeout(total=20),
    ) as session:
        controller = Controller(session)
        while True:
            is_busy = True
            try:
                is_busy = await controller.look(time.time())
            except (aiohttp.ClientError, TimeoutError) as error:
                print(f"cannot look at the cluster: {error}", flush=True)
            await asyncio.sleep(_LOOK_SECONDS if is_busy else _IDLE_SECONDS)


if __name__ == "__main__":
    asyncio.run(serve(Layout.load(Path(sys.argv[1])), int(sys.argv[2])))
