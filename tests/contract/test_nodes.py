"""What the server fetches from a node: logs, commands, and pods behind the proxy."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from cockpit.errors import Refused
from cockpit.kube.logs import follow
from tests.bed.api import Api
from tests.contract.asking import in_space
from tests.contract.conftest import Connect, needs
from tests.contract.kubelet import PROTOCOL, Kubelet, listening
from tests.contract.server import Capability, Server
from tests.contract.shapes import pod


@pytest.fixture
async def kubelet(space: str, admin: Api, own_certificate: tuple[Path, Path]) -> AsyncIterator[Kubelet]:
    """A node of the case's name whose kubelet answers, and the pod `p` on it with two containers."""
    async with listening(own_certificate) as made:
        await asyncio.to_thread(admin.create, "/api/v1/nodes", made.node(space))
        tree = pod("p", node=space)
        tree["spec"]["containers"].append({"name": "starting", "image": "registry.test/side:1"})
        await asyncio.to_thread(admin.create, in_space(space, "pods"), tree)
        yield made
        await asyncio.to_thread(admin.delete, in_space(space, "pods", "p"), {"gracePeriodSeconds": 0})
        await asyncio.to_thread(admin.delete, f"/api/v1/nodes/{space}")


# ---- logs


async def test_a_log_comes_from_the_node_of_the_pod(space: str, kubelet: Kubelet, connect: Connect) -> None:
    session = await connect("viewer")
    lines = [
        line
        async for line in follow(
            session, space, "p", container="main", previous=True, tail=7, since_seconds=9
        )
    ]
    assert lines == ["epoch 1", "epoch 2"]
    ((path, query),) = kubelet.asked
    assert path == f"/containerLogs/{space}/p/main"
    assert query == {"previous": "true", "tailLines": "7", "sinceSeconds": "9"}


async def test_a_followed_log_streams(space: str, kubelet: Kubelet, connect: Connect) -> None:
    session = await connect("viewer")
    lines = follow(session, space, "p", container="main")
    assert [await asyncio.wait_for(anext(lines), 10) for _ in range(2)] == ["epoch 1", "epoch 2"]
    await lines.aclose()  # type: ignore[attr-defined]


async def test_a_log_of_two_containers_asks_which(space: str, kubelet: Kubelet, connect: Connect) -> None:
    with pytest.raises(Refused, match=r"a container name must be specified for pod p, choose one of: \[main"):
        async for _ in follow(await connect("viewer"), space, "p"):
            pass
    assert kubelet.asked == []


async def test_a_container_that_has_not_begun_is_the_kubelets_sentence(
    space: str, kubelet: Kubelet, connect: Connect
) -> None:
    with pytest.raises(Refused, match=r"is waiting to start: ContainerCreating"):
        async for _ in follow(await connect("viewer"), space, "p", container="starting"):
            pass


# ---- commands


def _socket(http: aiohttp.ClientSession, server: Server, who: str, path: str) -> Any:
    return http.ws_connect(
        server.url + path,
        headers={"Authorization": f"Bearer {server.tokens[who]}"},
        ssl=ssl.create_default_context(cafile=str(server.ca_file)),
        protocols=(PROTOCOL,),
    )


@pytest.mark.parametrize("verb", ["exec", "attach"])
async def test_a_command_runs_on_the_node_of_the_pod(
    space: str, kubelet: Kubelet, server: Server, verb: str
) -> None:
    query = (
        "container=main&stdin=true&stdout=true&command=sh&command=-c"
        if verb == "exec"
        else ("container=main&stdin=true&stdout=true")
    )
    path = f"{in_space(space, 'pods', 'p')}/{verb}?{query}"
    async with aiohttp.ClientSession() as http, _socket(http, server, "admin", path) as socket:
        assert socket.protocol == PROTOCOL
        await socket.send_bytes(b"\x00hello")
        said = b""
        while not said:
            message = await socket.receive(10)
            assert message.type is aiohttp.WSMsgType.BINARY
            said = message.data[1:] if message.data[:1] == b"\x01" else b""
        assert said == b"HELLO"
        await socket.send_bytes(b"\x00exit")
        while (message := await socket.receive(10)).type is aiohttp.WSMsgType.BINARY:
            last = message.data
        assert last[:1] == b"\x03"
        assert b"Success" in last
    ((asked, options),) = kubelet.asked
    assert asked == f"/{verb}/{space}/p/main"
    assert options.get("command") == (["sh", "-c"] if verb == "exec" else None)
    assert (options["input"], options["output"]) == ("1", "1")


@pytest.mark.parametrize("who", ["viewer", "engineer", "nobody"])
async def test_a_command_takes_a_right_of_its_own(
    space: str, kubelet: Kubelet, server: Server, who: str
) -> None:
    path = f"{in_space(space, 'pods', 'p')}/exec?container=main&stdout=true&command=sh"
    async with aiohttp.ClientSession() as http:
        with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
            async with _socket(http, server, who, path):
                pass
    assert caught.value.status == 403
    assert kubelet.asked == []


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("command=sh&stdout=1&container=gone", "container gone is not valid for pod p"),
        ("command=sh&stdout=1&container=main", "Upgrade request required"),
    ],
    ids=["container", "no socket"],
)
def test_a_command_that_cannot_be_is_refused(
    space: str, server: Server, admin: Api, query: str, words: str
) -> None:
    node = f"n-{space}"
    admin.create("/api/v1/nodes", Kubelet(port=1).node(node))
    admin.create(in_space(space, "pods"), pod("p", node=node))
    reply = admin.request("GET", f"{in_space(space, 'pods', 'p')}/exec?{query}")
    admin.delete(in_space(space, "pods", "p"), {"gracePeriodSeconds": 0})
    admin.delete(f"/api/v1/nodes/{node}")
    assert (reply.status, reply.json()["message"]) == (400, words)


# ---- behind the proxy


def _on_this_host(admin: Api, space: str, port: int) -> str:
    tree = pod("exporter")
    tree["spec"]["containers"][0]["ports"] = [{"name": "metrics", "containerPort": port}]
    admin.create(in_space(space, "pods"), tree)
    status = {"status": {"podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}], "phase": "Running"}}
    admin.merge(f"{in_space(space, 'pods', 'exporter')}/status", status)
    return f"{in_space(space, 'pods', f'exporter:{port}')}/proxy/metrics?a=b"


@needs(Capability.LOOPBACK_PODS)
async def test_a_pod_on_this_host_is_reached_through_the_proxy(space: str, admin: Api) -> None:
    async def metrics(request: web.Request) -> web.Response:
        return web.Response(text=f"{request.path_qs} {'Authorization' in request.headers}")

    app = web.Application()
    app.router.add_get("/metrics", metrics)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    path = await asyncio.to_thread(_on_this_host, admin, space, runner.addresses[0][1])
    reply = await asyncio.to_thread(admin.request, "GET", path)
    await runner.cleanup()
    assert (reply.status, reply.body) == (200, b"/metrics?a=b False")


@needs(Capability.NO_LOOPBACK)
def test_a_pod_on_this_host_is_not_dialled(space: str, admin: Api) -> None:
    reply = admin.request("GET", _on_this_host(admin, space, 9400))
    assert reply.status == 400
    assert "address not allowed" in reply.json()["message"]
