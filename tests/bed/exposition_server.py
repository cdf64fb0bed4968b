"""Serves the exposition of every GPU node of a bed, and obeys tests.

GET /nodes/NODE/metrics is what Prometheus scrapes, GET /targets its discovery, GET /expected what is being
said about every GPU (JSON). POST /control takes any of
    {"tick": 3}                                 the values move on
    {"silence": [["gpu-000", 3]]}               that GPU stops reporting; "speak" undoes it
    {"stop": ["gpu-001"], "start": [...]}       that node's exporter answers 503
    {"xid": [["gpu-000", 2, 79]]}               its last XID becomes 79
"""

import argparse
import asyncio
import json
import ssl
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from tests.bed.api import Tree
from tests.bed.estate import GPU
from tests.bed.exposition import Reading, reading, text
from tests.bed.gpu_holders import GpuHolders, gpu_pod
from tests.bed.layout import Layout
from tests.bed.noticing import notice

_LOOK_SECONDS = 1.0


class Cards:
    """What the cluster's GPUs are and what tests asked of them."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.tick = 0
        self.gpus_on: dict[str, int] = {}
        self.holders = GpuHolders()
        self.silent: set[tuple[str, int]] = set()
        self.stopped: set[str] = set()
        self.xids: dict[tuple[str, int], int] = {}

    def see(self, nodes: list[Tree], pods: list[Tree]) -> None:
        """One look at the cluster."""
        counts = {
            node["metadata"]["name"]: int(node.get("status", {}).get("allocatable", {}).get(GPU, 0))
            for node in nodes
        }
        self.gpus_on = {name: count for name, count in counts.items() if count > 0}
        self.holders.update(self.gpus_on, (one for one in map(gpu_pod, pods) if one is not None))

    def readings(self, node: str) -> list[Reading]:
        """Of every GPU of a node, silent or not."""
        held = self.holders.on(node)
        return [
            reading(
                node,
                gpu,
                seed=self.seed,
                tick=self.tick,
                held=gpu in held,
                xid=self.xids.get((node, gpu), 0),
            )
            for gpu in range(self.gpus_on.get(node, 0))
        ]

    def page(self, node: str) -> str:
        silent = [gpu for where, gpu in self.silent if where == node]
        return text(self.readings(node), self.holders.on(node), silent)

    def expected(self) -> dict[str, dict[str, Any]]:
        """UUID -> reading, holder (or null) and whether it is being reported."""
        said: dict[str, dict[str, Any]] = {}
        for node in self.gpus_on:
            held = self.holders.on(node)
            for one in self.readings(node):
                holder = held.get(one.gpu)
                reported = (node, one.gpu) not in self.silent and node not in self.stopped
                said[one.uuid] = {
                    **asdict(one),
                    "holder": asdict(holder) if holder else None,
                    "reported": reported,
                }
        return said

    def obey(self, asked: Mapping[str, Any]) -> None:
        """Raises ValueError for a word it does not know."""
        known = {"tick", "silence", "speak", "stop", "start", "xid"}
        if unknown := set(asked) - known:
            raise ValueError(f"{', '.join(sorted(unknown))} is not one of {', '.join(sorted(known))}")
        self.tick = int(asked.get("tick", self.tick))
        self.silent |= {(node, int(gpu)) for node, gpu in asked.get("silence", ())}
        self.silent -= {(node, int(gpu)) for node, gpu in asked.get("speak", ())}
        self.stopped |= set(asked.get("stop", ()))
        self.stopped -= set(asked.get("start", ()))
        self.xids |= {(node, int(gpu)): int(code) for node, gpu, code in asked.get("xid", ())}


def targets(nodes: list[str], address: str) -> list[dict[str, Any]]:
    """Prometheus's HTTP discovery: the labels that a ServiceMonitor gives each exporter pod."""
    return [
        {
            "targets": [address],
            "labels": {
                "__metrics_path__": f"/nodes/{node}/metrics",
                "instance": f"{node}:9400",
                "namespace": "gpu-operator",
                "service": "nvidia-dcgm-exporter",
                "pod": f"nvidia-dcgm-exporter-{node}",
                "container": "nvidia-dcgm-exporter",
                "node": node,
            },
        }
        for node in nodes
    ]


def application(cards: Cards, address: str) -> web.Application:
    """The routes named at the top of this file."""

    async def metrics(request: web.Request) -> web.Response:
        node = request.match_info["node"]
        if node not in cards.gpus_on:
            raise web.HTTPNotFound(text=f"no GPU node {node}")
        if node in cards.stopped:
            raise web.HTTPServiceUnavailable(text="stopped by a test")
        return web.Response(text=cards.page(node), content_type="text/plain", charset="utf-8")

    async def discovery(request: web.Request) -> web.Response:
        del request
        return web.json_response(targets(sorted(cards.gpus_on), address))

    async def expected(request: web.Request) -> web.Response:
        del request
        return web.json_response(cards.expected())

    async def control(request: web.Request) -> web.Response:
        try:
            cards.obey(await request.json())
        except (ValueError, TypeError) as error:
            raise web.HTTPBadRequest(text=str(error)) from error
        return web.json_response({"tick": cards.tick, "silent": sorted(cards.silent)})

    async def healthz(request: web.Request) -> web.Response:
        del request
        return web.Response(text="ok")

    app = web.Application()
    app.add_routes(
        [
            web.get("/nodes/{node}/metrics", metrics),
            web.get("/targets", discovery),
            web.get("/expected", expected),
            web.post("/control", control),
            web.get("/healthz", healthz),
        ]
    )
    return app


async def follow(cards: Cards, layout: Layout) -> None:
    """Looks at the cluster when it changed, once a second at most; a failed look is tried again."""
    token = json.loads((layout.run_dir / "tokens.json").read_text())["controllers"]
    context = ssl.create_default_context(cafile=str(layout.ca_file))
    async with aiohttp.ClientSession(
        layout.server,
        headers={"Authorization": f"Bearer {token}"},
        connector=aiohttp.TCPConnector(ssl=context),
        timeout=aiohttp.ClientTimeout(total=20),
    ) as session:

        async def items(path: str) -> list[Tree]:
            async with session.get(path, params={"resourceVersion": "0"}) as answer:
                answer.raise_for_status()
                found: list[Tree] = (await answer.json())["items"]
                return found

        changed = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for path in ("/api/v1/nodes", "/api/v1/pods"):
                group.create_task(notice(session, path, changed))
            while True:
                await changed.wait()
                changed.clear()
                try:
                    cards.see(await items("/api/v1/nodes"), await items("/api/v1/pods"))
                except (aiohttp.ClientError, TimeoutError) as error:
                    print(f"cannot look at the cluster: {error}", flush=True)
                    changed.set()
                await asyncio.sleep(_LOOK_SECONDS)


async def serve(layout: Layout, port: int, seed: int) -> None:
    cards = Cards(seed)
    runner = web.AppRunner(application(cards, f"127.0.0.1:{port}"), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    await follow(cards, layout)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--run-dir", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    asyncio.run(serve(Layout.load(options.run_dir), options.port, options.seed))


if __name__ == "__main__":
    main()
