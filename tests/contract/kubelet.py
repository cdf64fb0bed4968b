"""The endpoint of a kubelet for one case: it answers what it was asked, over TLS, as a real node would."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from aiohttp import web

PROTOCOL = "v4.channel.k8s.io"
"""What kube-apiserver passes on as it is; of v5 it makes SPDY for the kubelet."""


@dataclass
class Kubelet:
    """`asked` has path and query of each request."""

    port: int = 0
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    async def log(self, request: web.Request) -> web.StreamResponse:
        self._note(request)
        container = request.match_info["container"]
        if container == "starting":
            text = f'container "{container}" in pod "p" is waiting to start: ContainerCreating'
            return web.Response(status=400, text=text)
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await response.prepare(request)
        for line in ("epoch 1\n", "epoch 2\n"):
            await response.write(line.encode())
        if request.query.get("follow") == "true":
            await asyncio.Event().wait()
        return response

    async def run(self, request: web.Request) -> web.WebSocketResponse:
        """Says its input back in capitals until it reads `exit`."""
        self._note(request)
        socket = web.WebSocketResponse(protocols=(PROTOCOL,))
        await socket.prepare(request)
        async for message in socket:
            if message.data[1:] == b"exit":
                break
            if message.data[1:]:
                await socket.send_bytes(b"\x01" + message.data[1:].upper())
        await socket.send_bytes(b"\x03" + json.dumps({"metadata": {}, "status": "Success"}).encode())
        await socket.close()
        return socket

    async def forward(self, request: web.Request) -> web.WebSocketResponse:
        """The number of the port, then every piece back in capitals; port 9 is one where nobody listens, and
        `bye` ends the connection."""
        self._note(request)
        port = int(request.query["port"])
        socket = web.WebSocketResponse(protocols=(PROTOCOL,))
        await socket.prepare(request)
        for channel in (b"\x00", b"\x01"):
            await socket.send_bytes(channel + port.to_bytes(2, "little"))
        if port == 9:
            await socket.send_bytes(b"\x01error forwarding port 9 to pod p: connection \x1b[31mrefused")
            await socket.close()
            return socket
        async for message in socket:
            if message.data[1:] == b"bye":
                break
            await socket.send_bytes(b"\x00" + message.data[1:].upper())
        await socket.close()
        return socket

    def _note(self, request: web.Request) -> None:
        query: dict[str, Any] = dict(request.query)
        if "command" in query:
            query["command"] = request.query.getall("command")
        self.asked.append((request.path, query))

    def node(self, name: str) -> dict[str, Any]:
        """The node whose kubelet this is."""
        return {
            "metadata": {"name": name},
            "status": {
                "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": self.port}},
            },
        }


@asynccontextmanager
async def listening(certificate: tuple[Path, Path]) -> AsyncIterator[Kubelet]:
    """A plain one, on loopback until the block ends."""
    async with serving(Kubelet(), certificate) as made:
        yield made


Made = TypeVar("Made", bound=Kubelet)


@asynccontextmanager
async def serving(made: Made, certificate: tuple[Path, Path]) -> AsyncIterator[Made]:
    """This one, on loopback until the block ends."""
    app = web.Application()
    app.router.add_get("/containerLogs/{namespace}/{pod}/{container}", made.log)
    app.router.add_get("/{verb:exec|attach}/{namespace}/{pod}/{container}", made.run)
    app.router.add_post("/{verb:exec|attach}/{namespace}/{pod}/{container}", made.run)
    app.router.add_get("/portForward/{namespace}/{pod}", made.forward)
    app.router.add_post("/portForward/{namespace}/{pod}", made.forward)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(*certificate)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    made.port = runner.addresses[0][1]
    try:
        yield made
    finally:
        await runner.cleanup()
