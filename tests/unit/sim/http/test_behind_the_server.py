"""Logs, commands and proxies: what the server passes on to kubelets and pods, and what it refuses to."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from tests.unit.sim.http.conftest import Client, pod

PODS = "/api/v1/namespaces/team-a/pods"
PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")


class Kubelet:
    """A kubelet's endpoint that answers what it was asked, and knows its caller by certificate."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.callers: list[str] = []

    async def log(self, request: web.Request) -> web.StreamResponse:
        self._note(request)
        if request.match_info["pod"] == "gone":
            return web.Response(status=404, text="no such pod")
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await response.prepare(request)
        for line in ("one\n", "two\n"):
            await response.write(line.encode())
        if request.query.get("follow"):
            await asyncio.Event().wait()
        return response

    async def run(self, request: web.Request) -> web.WebSocketResponse:
        self._note(request)
        socket = web.WebSocketResponse(protocols=PROTOCOLS)
        await socket.prepare(request)
        async for message in socket:
            if message.data[1:] == b"exit":
                break
            await socket.send_bytes(b"\x01" + message.data[1:].upper())
        await socket.send_bytes(b"\x03" + json.dumps({"status": "Success"}).encode())
        await socket.close()
        return socket

    def _note(self, request: web.Request) -> None:
        peer = request.transport.get_extra_info("peercert") if request.transport else {}
        self.callers += [text for part in peer.get("subject", ()) for kind, text in part]
        query: dict[str, Any] = dict(request.query)
        if "command" in query:
            query["command"] = request.query.getall("command")
        self.asked.append((request.path, query))


Serve = Callable[[web.Application, ssl.SSLContext | None], Awaitable[int]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Serves an application on loopback; answers its port."""
    runners: list[web.AppRunner] = []

    async def one(app: web.Application, tls: ssl.SSLContext | None) -> int:
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        runners.append(runner)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        port: int = runner.addresses[0][1]
        return port

    yield one
    for runner in runners:
        await runner.cleanup()


@pytest.fixture
async def kubelet(client: Client, serve: Serve) -> Kubelet:
    """A node `n` with a kubelet that accepts the API server alone."""
    made, pki = Kubelet(), client.server.certificates
    app = web.Application()
    app.router.add_get("/containerLogs/{namespace}/{pod}/{container}", made.log)
    app.router.add_get("/{verb:exec|attach}/{namespace}/{pod}/{container}", made.run)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(pki.ca_file))
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.load_cert_chain(pki.server.certificate_file, pki.server.key_file)
    port = await serve(app, tls)
    status = {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
    }
    await client.make("/api/v1/nodes", {"metadata": {"name": "n"}, "status": status})
    return made


# ---- logs


# ---- commands


@pytest.mark.parametrize(
    ("query", "words"),
    [("command=sh&stdout=1", "Upgrade request required")],
)
async def test_a_command_without_a_socket_is_refused(
    client: Client, kubelet: Kubelet, query: str, words: str
) -> None:
    await client.make(PODS, pod("p", nodeName="n"))
    status, told = await client.ask("GET", f"{PODS}/p/exec?{query}")
    assert (status, told["message"]) == (400, words)


# ---- proxies


async def _metrics(request: web.Request) -> web.Response:
    assert "Authorization" not in request.headers, "the token stays here"
    return web.Response(text=f"{request.method} {request.path_qs} {await request.text()}")


async def _exporter(client: Client, serve: Serve, *, announces: bool = True) -> int:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", _metrics)
    port = await serve(app, None)
    tree = pod("exporter")
    tree["metadata"]["labels"] = {"app": "exporter"}
    if announces:
        tree["spec"]["containers"][0]["ports"] = [{"name": "metrics", "containerPort": port}]
    await client.make(PODS, tree)
    ready = {"podIP": "127.0.0.1", "conditions": [{"type": "Ready", "status": "True"}]}
    headers = {"Content-Type": "application/merge-patch+json"}
    body = json.dumps({"status": ready})
    status, told = await client.ask("PATCH", f"{PODS}/exporter/status", headers=headers, data=body)
    assert status == 200, told
    return port


async def test_a_service_behind_the_proxy(client: Client, serve: Serve) -> None:
    await _exporter(client, serve)
    ports = [{"name": "web", "port": 9090, "targetPort": "metrics"}]
    service: dict[str, Any] = {
        "metadata": {"name": "prom"},
        "spec": {"selector": {"app": "exporter"}, "ports": ports},
    }
    services = "/api/v1/namespaces/team-a/services"
    await client.make(services, service)
    for name in ("prom", "prom:web", "prom:9090"):
        assert await client.ask("GET", f"{services}/{name}/proxy/x") == (200, "GET /x ")
    status, told = await client.ask("GET", f"{services}/prom:other/proxy/x")
    assert (status, told["message"]) == (503, 'no service port "other" found for service "prom"')
    service["metadata"]["name"] = "empty"
    service["spec"]["selector"] = {"app": "nothing"}
    await client.make(services, service)
    status, told = await client.ask("GET", f"{services}/empty:9090/proxy/x")
    assert (status, told["message"]) == (503, 'no endpoints available for service "empty"')


async def test_a_loopback_port_that_no_pod_announces_is_not_dialled(client: Client, serve: Serve) -> None:
    port = await _exporter(client, serve, announces=False)
    status, told = await client.ask("GET", f"{PODS}/exporter:{port}/proxy/metrics")
    assert (status, told["message"]) == (400, "address not allowed")


async def test_a_client_that_falls_back_to_spdy_hears_that_the_node_is_silent(client: Client) -> None:
    await client.make(PODS, pod("p", nodeName="n"))
    node = {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}]}
    endpoint = {"daemonEndpoints": {"kubeletEndpoint": {"Port": 1}}}
    await client.make("/api/v1/nodes", {"metadata": {"name": "n"}, "status": {**node, **endpoint}})
    path = f"{PODS}/p/exec?command=sh&stdout=1"
    spdy = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}
    status, told = await client.ask("POST", path, headers=spdy)
    assert status == 500
    assert told["message"] == "error dialing backend: dial tcp 127.0.0.1:1: connect: connection refused"


async def test_warnings_come_in_headers(client: Client) -> None:
    tree = pod("odd")
    tree["spec"]["nonsense"] = 1
    async with client.open("POST", PODS, json=tree, params={"fieldValidation": "Warn"}) as answer:
        assert answer.status == 201
        assert answer.headers.getall("Warning") == ['299 - "unknown field \\"spec.nonsense\\""']
