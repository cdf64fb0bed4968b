"""Commands in containers, as the cockpit runs them: through the server to a node's kubelet and back."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from cockpit.errors import NoConnection, Refused
from cockpit.kube.exec import STDERR, STDOUT, Command, open_exec
from cockpit.kube.session import ApiSession
from tests.bed.api import Api
from tests.contract.asking import in_space
from tests.contract.conftest import Connect
from tests.contract.kubelet import Kubelet, serving
from tests.contract.shapes import pod
from tests.reliability.figures import Tell

SECONDS = 10
PROTOCOL = "v5.channel.k8s.io"
FEATURES = {"declaredFeatures": ["ExtendWebSocketsToKubelet"]}
"""With it kube-apiserver hands v5 through as it is (KEP-4006); without it makes SPDY of it."""


class Node(Kubelet):
    """Its commands do what their first word says."""

    async def run(self, request: web.Request) -> web.WebSocketResponse:
        self._note(request)
        socket = web.WebSocketResponse(protocols=(PROTOCOL,))
        await socket.prepare(request)
        await socket.send_bytes(b"\x01")  # as a kubelet says that the streams stand
        words = request.query.getall("command")
        match words[0]:
            case "fail":
                await socket.send_bytes(b"\x01out")
                await socket.send_bytes(b"\x02err")
                await socket.send_bytes(b"\x03" + json.dumps(_failure(int(words[1]))).encode())
            case "missing":
                status = {"status": "Failure", "reason": "InternalError", "message": "no such \x1b[31mfile"}
                await socket.send_bytes(b"\x03" + json.dumps(status).encode())
            case "die":
                transport = request.transport
                assert transport is not None
                transport.abort()
                return socket
            case _:
                await self._talk(socket)
        await socket.close()
        return socket

    async def _talk(self, socket: web.WebSocketResponse) -> None:
        """Says its input back in capitals, sizes as they are, and ends with its input."""
        async for message in socket:
            channel, data = message.data[0], message.data[1:]
            if channel == 0:
                await socket.send_bytes(b"\x01" + data.upper())
            elif channel == 4:
                size = json.loads(data)
                await socket.send_bytes(f"\x01{size['Width']}x{size['Height']}".encode())
            elif (channel, data) == (255, b"\x00"):
                break
        await socket.send_bytes(b"\x03" + json.dumps({"metadata": {}, "status": "Success"}).encode())


def _failure(code: int) -> dict[str, Any]:
    causes = [{"reason": "ExitCode", "message": str(code)}]
    return {"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": causes}}


@pytest.fixture
async def node(space: str, admin: Api, own_certificate: tuple[Path, Path]) -> AsyncIterator[Node]:
    """A node of the case's name, and the pod `p` on it with the containers `main` and `side`."""
    async with serving(Node(), own_certificate) as made:
        tree = made.node(space)
        tree["status"] |= FEATURES
        await asyncio.to_thread(admin.create, "/api/v1/nodes", tree)
        wanted = pod("p", node=space)
        wanted["spec"]["containers"].append({"name": "side", "image": "registry.test/side:1"})
        await asyncio.to_thread(admin.create, in_space(space, "pods"), wanted)
        yield made
        await asyncio.to_thread(admin.delete, in_space(space, "pods", "p"), {"gracePeriodSeconds": 0})
        await asyncio.to_thread(admin.delete, f"/api/v1/nodes/{space}")


def command(space: str, *words: str, **more: Any) -> Command:
    return Command(namespace=space, pod="p", container=more.pop("container", "main"), words=words, **more)


@asynccontextmanager
async def bounded() -> AsyncIterator[None]:
    async with asyncio.timeout(SECONDS):
        yield


async def test_input_output_size_and_a_good_end(space: str, node: Node, session: ApiSession) -> None:
    wanted = command(space, "sh", "-c", "a b & c=d", is_tty=True, has_stdin=True)
    async with bounded(), open_exec(session, wanted) as running:
        await running.resize(80, 24)
        assert await running.read() == (STDOUT, b"80x24")
        await running.write(b"hello")
        assert await running.read() == (STDOUT, b"HELLO")
        assert running.exit_code is None
        await running.close_input()
        assert await running.read() is None
        assert running.exit_code == 0
        assert await running.read() is None
    ((path, query),) = node.asked
    assert path == f"/exec/{space}/p/main"
    assert query == {"command": ["sh", "-c", "a b & c=d"], "input": "1", "output": "1", "tty": "1"}


async def test_a_long_input_arrives_whole(space: str, node: Node, session: ApiSession) -> None:
    data = bytes(range(97, 123)) * 20_000
    async with bounded(), open_exec(session, command(space, "cat", has_stdin=True)) as running:
        sending = asyncio.create_task(running.write(data))
        said = b""
        while len(said) < len(data) and (piece := await running.read()) is not None:
            said += piece[1]
        await sending
        assert said == data.upper()


@pytest.mark.parametrize("code", [1, 137, 255])
async def test_both_streams_and_the_exit_code(space: str, node: Node, session: ApiSession, code: int) -> None:
    async with bounded(), open_exec(session, command(space, "fail", str(code), container="side")) as running:
        pieces = [await running.read(), await running.read()]
        assert sorted(one for one in pieces if one) == [(STDERR, b"err"), (STDOUT, b"out")]
        assert await running.read() is None
        assert running.exit_code == code
    ((path, query),) = node.asked
    assert path == f"/exec/{space}/p/side"
    assert (query.get("error"), query.get("tty"), query.get("input")) == ("1", None, None)


async def test_a_command_that_is_not_there_is_the_nodes_sentence(
    space: str, node: Node, session: ApiSession
) -> None:
    async with bounded(), open_exec(session, command(space, "missing")) as running:
        with pytest.raises(Refused, match=r"could not be run: no such .*file") as caught:
            await running.read()
    assert "\x1b" not in caught.value.sentence


async def test_a_connection_that_breaks_is_told(space: str, node: Node, session: ApiSession) -> None:
    async with bounded(), open_exec(session, command(space, "die")) as running:
        with pytest.raises(NoConnection):
            await running.read()


async def test_closing_the_session_ends_the_command(space: str, node: Node, session: ApiSession) -> None:
    async with bounded(), open_exec(session, command(space, "sh", has_stdin=True)) as running:
        reading = asyncio.create_task(running.read())
        await asyncio.sleep(0)
        await session.close()
        with pytest.raises(NoConnection):
            await reading


@pytest.mark.row(47, "requests to the node in read-only mode", most=0)
async def test_read_only_sends_nothing(space: str, node: Node, connect: Connect, figure: Tell) -> None:
    session = await connect("admin")
    with pytest.raises(Refused, match="Read-only: exec on pods"):
        async with open_exec(session, command(space, "sh")):
            pass
    figure("requests to the node in read-only mode", len(node.asked))


@pytest.mark.parametrize("who", ["viewer", "engineer", "nobody"])
async def test_who_may_not_is_told_in_the_servers_words(
    space: str, node: Node, connect: Connect, who: str
) -> None:
    session = await connect(who, write=True)
    with pytest.raises(Refused, match=r'cannot (get|create) resource "pods/exec" in API group ""') as caught:
        async with open_exec(session, command(space, "sh")):
            pass
    assert caught.value.sentence.startswith(f"No command runs in {space}/p: ")
    assert node.asked == []


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"container": "gone"}, "container gone is not valid for pod p"),
        ({"container": ""}, r"a container name must be specified for pod p, choose one of: \[main side\]"),
    ],
    ids=["unknown", "several"],
)
async def test_a_container_has_to_be_named(
    space: str, node: Node, session: ApiSession, more: dict[str, Any], words: str
) -> None:
    with pytest.raises(Refused, match=words):
        async with open_exec(session, command(space, "sh", **more)):
            pass
    assert node.asked == []


async def test_a_pod_that_is_not_there(space: str, session: ApiSession) -> None:
    with pytest.raises(Refused, match=f'No command runs in {space}/p: pods "p" not found'):
        async with open_exec(session, command(space, "sh")):
            pass


async def test_a_pod_without_a_node(space: str, admin: Api, session: ApiSession) -> None:
    await asyncio.to_thread(admin.create, in_space(space, "pods"), pod("p"))
    with pytest.raises(Refused, match="pod p does not have a host assigned"):
        async with open_exec(session, command(space, "sh", container="")):
            pass


async def test_a_node_that_is_silent_is_told(space: str, admin: Api, session: ApiSession) -> None:
    silent = Kubelet(port=1).node(space)
    silent["status"] |= FEATURES
    await asyncio.to_thread(admin.create, "/api/v1/nodes", silent)
    await asyncio.to_thread(admin.create, in_space(space, "pods"), pod("p", node=space))
    with pytest.raises(Refused, match=r"dial tcp 127\.0\.0\.1:1: connect: connection refused"):
        async with open_exec(session, command(space, "sh", container="")):
            pass
    await asyncio.to_thread(admin.delete, in_space(space, "pods", "p"), {"gracePeriodSeconds": 0})
    await asyncio.to_thread(admin.delete, f"/api/v1/nodes/{space}")
