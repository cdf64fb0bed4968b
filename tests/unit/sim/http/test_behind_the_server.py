"""Logs, commands and proxies: what the server passes on to kubelets and pods, and what it refuses to."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import aiohttp
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


async def test_a_log_comes_from_the_node(client: Client, kubelet: Kubelet) -> None:
    await client.make(PODS, pod("p", nodeName="n"))
    query = {"tailLines": "7", "timestamps": "true", "nonsense": "1"}
    assert await client.ask("GET", f"{PODS}/p/log", params=query) == (200, "one\ntwo\n")
    assert kubelet.asked == [("/containerLogs/team-a/p/main", {"tailLines": "7", "timestamps": "true"})]
    assert kubelet.callers == ["kube-apiserver-kubelet-client"]


async def test_a_followed_log_streams(client: Client, kubelet: Kubelet) -> None:
    await client.make(PODS, pod("p", nodeName="n"))
    async with client.open("GET", f"{PODS}/p/log", params={"follow": "true"}) as answer:
        assert await asyncio.wait_for(answer.content.readexactly(8), 5) == b"one\ntwo\n"


async def test_a_pod_without_a_node_has_an_empty_log(client: Client) -> None:
    await client.make(PODS, pod("p"))
    assert await client.ask("GET", f"{PODS}/p/log") == (204, "")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({}, "a container name must be specified for pod p, choose one of: [main side]"),
        ({"container": "x"}, "container x is not valid for pod p"),
    ],
)
async def test_a_container_must_be_meant(client: Client, query: dict[str, str], words: str) -> None:
    tree = pod("p", nodeName="n")
    tree["spec"]["containers"].append({"name": "side", "image": "registry.test/x:1"})
    await client.make(PODS, tree)
    status, told = await client.ask("GET", f"{PODS}/p/log", params=query)
    assert (status, told["message"]) == (400, words)


async def test_a_node_that_is_gone_or_silent_is_said(client: Client) -> None:
    await client.make(PODS, pod("p", nodeName="n"))
    status, told = await client.ask("GET", f"{PODS}/p/log")
    assert (status, told["message"]) == (404, 'nodes "n" not found')
    node = {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}]}
    endpoint = {"daemonEndpoints": {"kubeletEndpoint": {"Port": 1}}}
    await client.make("/api/v1/nodes", {"metadata": {"name": "n"}, "status": {**node, **endpoint}})
    status, told = await client.ask("GET", f"{PODS}/p/log")
    assert status == 500
    assert told["message"] == (
        'Get "https://127.0.0.1:1/containerLogs/team-a/p/main": '
        "dial tcp 127.0.0.1:1: connect: connection refused"
    )


async def test_what_the_kubelet_refuses_is_passed_on(client: Client, kubelet: Kubelet) -> None:
    await client.make(PODS, pod("gone", nodeName="n"))
    status, told = await client.ask("GET", f"{PODS}/gone/log")
    assert (status, told["reason"]) == (404, "NotFound")


# ---- commands


async def test_a_command_runs_on_the_node(client: Client, kubelet: Kubelet) -> None:
    await client.make(PODS, pod("p", nodeName="n"))
    path = f"{PODS}/p/exec?command=sh&command=-c&stdin=true&stdout=true&tty=true"
    async with client.connect(path, "admin", PROTOCOLS) as socket:
        assert socket.protocol == "v5.channel.k8s.io"
        await socket.send_bytes(b"\x00hello")
        assert (await socket.receive(5)).data == b"\x01HELLO"
        await socket.send_bytes(b"\x00exit")
        assert (await socket.receive(5)).data.startswith(b"\x03")
        assert (await socket.receive(5)).type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED)
    wanted = {"input": "1", "output": "1", "tty": "1", "command": ["sh", "-c"]}
    assert kubelet.asked == [("/exec/team-a/p/main", wanted)]


async def test_the_shells_protocol_is_the_one_that_both_know(client: Client, kubelet: Kubelet) -> None:
    await client.make(PODS, pod("p", nodeName="n"))
    async with client.connect(f"{PODS}/p/attach?stdout=1", "admin", PROTOCOLS[1:]) as socket:
        assert socket.protocol == "v4.channel.k8s.io"
    assert kubelet.asked[0][0] == "/attach/team-a/p/main"


@pytest.mark.parametrize("who", ["viewer", "nobody"])
async def test_a_command_takes_the_right_to_create(client: Client, kubelet: Kubelet, who: str) -> None:
    await client.make(PODS, pod("p", nodeName="n"))
    with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
        async with client.connect(f"{PODS}/p/exec?command=sh&stdout=1", who, PROTOCOLS):
            pass
    assert caught.value.status == 403
    assert kubelet.asked == []


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


@pytest.mark.parametrize("name", ["exporter", "exporter:metrics", "http:exporter:{port}", "exporter:{port}"])
async def test_a_pod_behind_the_proxy(client: Client, serve: Serve, name: str) -> None:
    port = await _exporter(client, serve)
    path = f"{PODS}/{name.format(port=port)}/proxy/metrics/a%2Fb?q=1%202"
    assert await client.ask("GET", path) == (200, "GET /metrics/a%2Fb?q=1%202 ")
    assert await client.ask("POST", path, data=b"body") == (200, "POST /metrics/a%2Fb?q=1%202 body")


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


async def test_the_proxy_takes_a_right_of_its_own(client: Client, serve: Serve) -> None:
    await _exporter(client, serve)
    status, told = await client.ask("GET", f"{PODS}/exporter/proxy/metrics", who="nobody")
    assert status == 403
    assert 'cannot get resource "pods/proxy"' in told["message"]


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
